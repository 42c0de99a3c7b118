"""A model file together with the rows of another file."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from dualgap.errors import DataError
from dualgap.fitting.solution import Solution
from dualgap.tables.columns import RawTable
from dualgap.tables.formula import FormulaRecipe
from dualgap.tables.recipe import Recipe, Rule

if TYPE_CHECKING:
    from dualgap.tables.prepare import Prepared


def opened(args: argparse.Namespace) -> tuple[Solution, RawTable]:
    """The model, and the rows as they stand in the file."""
    import dualgap as dg
    from dualgap.tables.sources import read_rows

    solution = dg.load(args.model)
    absent = solution.recipe.absent if solution.recipe is not None else ()
    return solution, read_rows(args.rows, absent=absent, form=args.format)


def repeated(solution: Solution, raw: RawTable, target: str | None) -> Prepared:
    """The rows treated as in the fit, target included."""
    from dualgap.tables.prepare import default_target, repeat

    if solution.recipe is not None and target is None and solution.recipe.target:
        return repeat(raw, solution.recipe)
    target = target or default_target(raw)
    return repeat(raw, recipe_for(solution, raw, target).aimed(target))


def recipe_for(solution: Solution, raw: RawTable, target: str | None) -> Recipe | FormulaRecipe:
    """The model's own recipe; for a model without one, its columns by name, or all of them in order."""
    if solution.recipe is not None:
        return solution.recipe
    names = solution.names
    if names is None:
        names = tuple(name for name in raw.names if name != target)
        if len(names) != solution.coef.shape[-1]:
            raise DataError(
                f"The model has {solution.coef.shape[-1]} nameless columns, {raw.source} has {len(names)}; "
                "say which is the target (--target), or fit with `dualgap fit`, which keeps names."
            )
    return Recipe(tuple(Rule(name, "number") for name in names), "refuse", target or raw.target_name or "")
