"""The part of a model file that tells what was done to the columns: written, and read with suspicion."""

from __future__ import annotations

from datetime import date
from typing import Any

from dualgap.files.fields import Fields
from dualgap.files.formulas import formula_fields, read_formula
from dualgap.tables.formula import FormulaRecipe
from dualgap.tables.recipe import MISSING_RULES, Recipe, Rule
from dualgap.tables.written import ORDERS


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
