"""A model file together with the rows of another file."""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import TYPE_CHECKING

from dualgap.arrays import Mask, Vector
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
    """The rows treated as in the fit, target and offset included."""
    from dualgap.tables.prepare import default_target, repeat

    if solution.recipe is not None and target is None and solution.recipe.target:
        rows = repeat(raw, solution.recipe)
    else:
        target = target or default_target(raw)
        rows = repeat(raw, recipe_for(solution, raw, target).aimed(target))
    named = solution.terms.offset_name is not None
    return replace(rows, offset=offset_in(solution, raw, rows.rows) if named else None)


def offset_in(solution: Solution, raw: RawTable, rows: Mask, named: str | None = None) -> Vector | None:
    """The offset of these rows, where the model has one: of the column that the fit named, or this one."""
    from dualgap.tables.offsets import offset_of

    name = named or solution.terms.offset_name
    if solution.terms.offset is None:
        if named is not None:
            raise DataError("This model was fitted without an offset; leave --offset out.")
        return None
    if name is None:
        raise DataError("This model was fitted with an offset; say which column holds it: --offset COLUMN.")
    return offset_of(raw, name, rows)


def recipe_for(solution: Solution, raw: RawTable, target: str | None) -> Recipe | FormulaRecipe:
    """The model's own recipe; for a model without one, its columns by name, or all of them in order."""
    if solution.recipe is not None:
        return solution.recipe
    names = solution.names
    if names is None:
        names = tuple(name for name in raw.names if name not in (target, _offset_column(solution, raw)))
        if len(names) != solution.coef.shape[-1]:
            raise DataError(
                f"The model has {solution.coef.shape[-1]} nameless columns, {raw.source} has {len(names)}; "
                "say which is the target (--target), or fit with `dualgap fit`, which keeps names."
            )
    return Recipe(tuple(Rule(name, "number") for name in names), "refuse", target or raw.target_name or "")


def _offset_column(solution: Solution, raw: RawTable) -> str | None:
    from dualgap.tables.offsets import column_behind

    name = solution.terms.offset_name
    return None if name is None else column_behind(name, raw.names)
