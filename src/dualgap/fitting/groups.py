"""From what users say about groups of columns to a number for each column."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from dualgap.arrays import Index
from dualgap.errors import DataError
from dualgap.fitting.inputs import Table
from dualgap.penalties import Penalty
from dualgap.tables.columns import by_column
from dualgap.tables.formula import FormulaRecipe
from dualgap.tables.recipe import Recipe


def read_groups(penalty: Penalty, groups: Any, table: Table) -> Penalty:
    """The penalty for columns of these groups; as it is where it takes none and none are given."""
    if groups is None:
        if penalty.takes_groups and penalty.parts is None:
            raise DataError(
                f"{penalty.name} needs groups=: one label for each column, a list of lists of columns, or "
                "'columns' for one group for each column of the table."
            )
        return penalty
    return penalty.grouped(numbered(groups, table))


def refuse_groups(penalty: Penalty) -> None:
    """Where columns that belong together cannot be had."""
    if penalty.takes_groups or penalty.ordered:
        raise DataError(f"{penalty.name} needs all rows in memory: give X and y as arrays or a frame.")


def numbered(groups: Any, table: Table) -> Index:
    """The group of each column, numbered in the order in which they appear."""
    p = table.design.shape[1]
    if isinstance(groups, str):
        if groups != "columns":
            raise DataError(f"groups must be labels, lists of columns or 'columns', not {groups!r}.")
        return _by_rule(table)
    if not isinstance(groups, Iterable) or isinstance(groups, dict):
        raise DataError(f"groups must be labels, lists of columns or 'columns', not {type(groups).__name__}.")
    if isinstance(groups, np.ndarray) and groups.shape == (p,) and groups.dtype.kind in "iu":
        _, first, which = np.unique(groups, return_index=True, return_inverse=True)
        return np.asarray(np.argsort(np.argsort(first))[which], dtype=np.intp)
    given = list(by_column(groups, table.names))
    if given and all(isinstance(one, list | tuple | set | frozenset | range | np.ndarray) for one in given):
        return _by_lists(given, table)
    if len(given) != p:
        raise DataError(
            f"groups has {len(given)} labels, X has {p} columns: give one label for each column, or a list "
            "of lists of columns."
        )
    for j, label in enumerate(given):
        if label is None or (isinstance(label, float | np.floating) and not np.isfinite(label)):
            raise DataError(f"groups has no label for {table.label(j)}, but {label!r}.")
    seen: dict[Any, int] = {}
    try:
        return np.array([seen.setdefault(label, len(seen)) for label in given], dtype=np.intp)
    except TypeError:
        raise DataError("A label in groups is neither a text nor a number.") from None


def of_recipe(recipe: Recipe | FormulaRecipe) -> Index:
    """One group for all that the recipe made of a column of the table, or of a term of a formula."""
    place = {name: g for g, name in enumerate(dict.fromkeys(recipe.sources))}
    return np.array([place[name] for name in recipe.sources], dtype=np.intp)


def _by_rule(table: Table) -> Index:
    if table.recipe is not None:
        return of_recipe(table.recipe)
    if table.names is None:
        raise DataError(
            "groups='columns' is one group for each column of a table, and X is a matrix: give one label for "
            "each of its columns."
        )
    return np.arange(table.design.shape[1])


def _by_lists(given: list[Any], table: Table) -> Index:
    """Columns that no list names are groups of their own."""
    p = table.design.shape[1]
    place = {name: j for j, name in enumerate(table.names or ())}
    group = np.full(p, -1, dtype=np.intp)
    for g, members in enumerate(given):
        for member in members:
            j = _column(member, place, p)
            if group[j] >= 0 and group[j] != g:
                raise DataError(f"groups names {table.label(j)} twice; a column belongs to one group.")
            group[j] = g
    alone = np.flatnonzero(group < 0)
    group[alone] = len(given) + np.arange(len(alone))
    first = {g: k for k, g in enumerate(dict.fromkeys(group.tolist()))}
    return np.array([first[g] for g in group.tolist()], dtype=np.intp)


def _column(member: Any, place: dict[str, int], p: int) -> int:
    if isinstance(member, str):
        if member not in place:
            raise DataError(f"groups names {member!r}, which is not a column of X.")
        return place[member]
    if (
        isinstance(member, bool | np.bool_)
        or not isinstance(member, int | np.integer)
        or not -p <= member < p
    ):
        raise DataError(f"groups names {member!r}: a column is its name or a number from 0 to {p - 1}.")
    return int(member) % p
