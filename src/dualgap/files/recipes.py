"""The part of a model file that tells what was done to the columns: written, and read with suspicion.

A formula is kept as terms taken apart, and numbers; nothing that could run.
"""

from __future__ import annotations

import math
from datetime import date
from typing import Any

import numpy as np

from dualgap.errors import DataError
from dualgap.files.fields import Fields
from dualgap.tables.formula import LONGEST, Formula, FormulaRecipe
from dualgap.tables.recipe import MISSING_RULES, Recipe, Rule
from dualgap.tables.safe_formula import refuse_code, refuse_terms
from dualgap.tables.written import ORDERS

DEEPEST = 4  # dicts and lists of numbers within each other: a basis has three
MOST_VALUES = 100_000  # in all of them, a choice: knots, centres and norms are few
MOST_LEVELS = 100_000  # of a factor: as many columns would be made


def formula_fields(recipe: FormulaRecipe, rules: list[dict[str, Any]]) -> dict[str, Any]:
    """What the formula says and has learnt; `rules` are its inputs, written already."""
    parts = recipe.parts
    return {
        "formula": parts.text,
        "target": parts.target,
        "terms": [list(term) for term in parts.terms],
        "constant": parts.constant,
        "missing": recipe.missing,
        "absent": list(recipe.absent),
        "rules": rules,
        "learnt": [[factor, _stored(state, factor)] for factor, state in recipe.transform_state.items()],
        "levels": [[factor, _stored(found, factor)] for factor, found in recipe.levels.items()],
    }


def read_formula(part: Fields, names: tuple[str, ...] | None, rules: tuple[Rule, ...]) -> FormulaRecipe:
    """The recipe, every factor looked at as if a stranger had written it."""
    if names is None:
        raise part.refuse("formula", "there only where columns have names")
    text, target = part.text("formula"), part.text("target")
    terms = []
    for one in part.items("terms"):
        good = isinstance(one, list) and one and all(isinstance(f, str) and len(f) <= LONGEST for f in one)
        if not good:
            raise part.refuse("terms", "lists of factors")
        terms.append(tuple(one))
    if not terms or len(terms) > len(names):
        raise part.refuse("terms", "one or more, and no more than columns")
    for term in terms:
        refuse_terms(term)
    refuse_code(target)
    parts = Formula(text, target, tuple(terms), part.flag("constant"))
    levels = {}
    for factor, found in _pairs(part, "levels"):
        if not isinstance(found, list) or not 1 <= len(found) <= MOST_LEVELS or not all(map(_plain, found)):
            raise part.refuse("levels", "words or numbers")
        levels[factor] = found
    budget = [MOST_VALUES]
    learnt = {factor: _restored(part, state, DEEPEST, budget) for factor, state in _pairs(part, "learnt")}
    if not all(isinstance(state, dict) for state in learnt.values()):
        raise part.refuse("learnt", "pairs of a factor and what it learnt")
    missing = part.one_of("missing", MISSING_RULES)
    return FormulaRecipe(parts, rules, learnt, levels, names, missing, part.texts("absent"))


def _pairs(part: Fields, name: str) -> list[tuple[str, Any]]:
    found = part.items(name)
    if not all(isinstance(one, list) and len(one) == 2 and isinstance(one[0], str) for one in found):
        raise part.refuse(name, "pairs of a factor and what it learnt")
    return [(one[0], one[1]) for one in found]


def _is_pair(one: Any) -> bool:
    return isinstance(one, list) and len(one) == 2 and isinstance(one[0], str | int)


def _stored(value: Any, factor: str) -> Any:
    """Numbers, words, lists; a dict as pairs, for JSON has no numbers as keys."""
    if isinstance(value, dict):
        return {"pairs": [[_stored(key, factor), _stored(one, factor)] for key, one in value.items()]}
    if isinstance(value, np.ndarray | np.generic):
        return _stored(value.tolist(), factor)
    if isinstance(value, list | tuple):
        return [_stored(one, factor) for one in value]
    if not _plain(value):
        raise DataError(f"A model file has no place for what {factor!r} learnt: {value!r}.")
    return value


def _restored(part: Fields, value: Any, depth: int, budget: list[int]) -> Any:
    budget[0] -= 1
    if budget[0] < 0 or depth < 0:
        raise part.refuse("learnt", "a few numbers")
    if isinstance(value, dict):
        pairs = value.get("pairs")
        if len(value) != 1 or not isinstance(pairs, list):
            raise part.refuse("learnt", "pairs, lists, words and finite numbers")
        if not all(map(_is_pair, pairs)):
            raise part.refuse("learnt", "pairs, lists, words and finite numbers")
        return {key: _restored(part, one, depth - 1, budget) for key, one in pairs}
    if isinstance(value, list):
        return [_restored(part, one, depth - 1, budget) for one in value]
    if not _plain(value):
        raise part.refuse("learnt", "pairs, lists, words and finite numbers")
    return value


def _plain(value: Any) -> bool:
    return (
        value is None
        or isinstance(value, str | bool | int)
        or (isinstance(value, float) and math.isfinite(value))
    )


def read_recipe(part: Fields, names: tuple[str, ...] | None) -> Recipe | FormulaRecipe:
    """The recipe, every rule of a known kind; `names` are those of the model's columns."""
    if part.has("formula"):
        return read_formula(part, names, _rules(part))
    left_out = part.items("left_out")
    pairs = [pair for pair in left_out if isinstance(pair, list) and len(pair) == 2]
    if len(pairs) != len(left_out) or not all(isinstance(text, str) for pair in pairs for text in pair):
        raise part.refuse("left_out", "pairs of a name and a reason")
    return Recipe(
        _rules(part),
        part.one_of("missing", MISSING_RULES),
        part.text("target"),
        part.flag("sparse"),
        tuple((name, why) for name, why in pairs),
        part.texts("absent"),
    )


def _rules(part: Fields) -> tuple[Rule, ...]:
    rules = tuple(_rule(one) for one in part.parts("rules"))
    if not rules or len({(rule.name, rule.part) for rule in rules}) != len(rules):
        raise part.refuse("rules", "one or more, with different names")
    return rules


def _rule(part: Fields) -> Rule:
    kind, more = part.one_of("kind", ("number", "boolean", "levels")), _reading(part)
    if kind != "levels":
        return Rule(part.text("name"), kind, part.optional(part.number, "fill"), **more)
    levels, reference = part.texts("levels"), part.text("reference")
    if len({reference, *levels}) != 1 + len(levels):
        raise part.refuse("levels", "different words, the reference not among them")
    return Rule(part.text("name"), kind, None, levels, reference, **more)


def _reading(part: Fields) -> dict[str, Any]:
    """How text is read, and which part of a date."""
    of_date = part.has("part")
    found = {"part": part.one_of("part", ("year", "month", "weekday", "days"))} if of_date else {}
    if part.has("written"):
        found["written"] = part.one_of("written", tuple(ORDERS) if of_date else (".", ","))
    if found.get("part") == "days":
        found["since"] = part.text("since")
        if not _is_day(found["since"]):
            raise part.refuse("since", "a day such as 2024-03-01")
    return found


def _is_day(text: str) -> bool:
    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


def recipe_fields(recipe: Recipe | FormulaRecipe) -> dict[str, Any]:
    """What was done to the columns."""
    rules = []
    for rule in recipe.inputs:
        found: dict[str, Any] = {"name": rule.name, "kind": rule.kind}
        found |= {key: getattr(rule, key) for key in ("part", "since", "written") if getattr(rule, key)}
        if rule.fill is not None:
            found["fill"] = rule.fill
        if rule.kind == "levels":
            found |= {"reference": rule.reference, "levels": list(rule.levels)}
        rules.append(found)
    if recipe.formula:
        return formula_fields(recipe, rules)  # type: ignore[arg-type]
    return {
        "target": recipe.target,
        "missing": recipe.missing,
        "sparse": recipe.sparse,
        "absent": list(recipe.absent),
        "left_out": [list(pair) for pair in recipe.left_out],
        "rules": rules,
    }
