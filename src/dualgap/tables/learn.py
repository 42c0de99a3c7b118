"""Look at the columns of a file and decide what to do with each, in words that are printed and kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from dualgap.arrays import Mask
from dualgap.errors import DataError
from dualgap.tables.columns import Column, Dates, Numbers, RawTable, Words, rows_in_words
from dualgap.tables.frames import number_levels
from dualgap.tables.recipe import MISSING_LEVEL, MISSING_RULES, Recipe, Rule

SPARSE_FROM = 64  # as many columns of 0 and 1, and the matrix is kept sparse
FEW_LEVELS = 20  # up to here a column of words is never taken for an identifier
MOST_LEVELS = 2000  # a choice: columns of words with more levels are names, and want grouping


@dataclass(frozen=True)
class Wishes:
    """What the user says of the columns: the rule for missing values, and columns not to use."""

    target: str
    missing: str = "mean"
    drop: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.missing not in MISSING_RULES:
            raise DataError(
                f"There is no rule {self.missing!r} for missing values. Known: {', '.join(MISSING_RULES)}."
            )


def learn(raw: RawTable, wishes: Wishes, rows: Mask) -> tuple[Recipe, tuple[str, ...]]:
    """Rules for every column but the target, and what a person should know of them.

    `rows` are those that have a target.
    """
    for name in wishes.drop:
        raw.column(name)  # refuses a name that is not there
    left_out = [(name, "as asked") for name in wishes.drop]
    skip = {wishes.target, *wishes.drop}
    names = [name for name in raw.names if name not in skip]
    if raw.columns is None:
        rules, notes = _matrix_rules(raw, names, wishes, rows)
    else:
        rules, notes = [], []
        for name in names:
            column = raw.column(name)
            said = _useless(column if rows.all() else column.take(rows))
            if said:
                left_out.append((name, said))
                continue
            rule, remarks = _rule(name, column, wishes, rows)
            rules.append(rule)
            notes += remarks
    if not rules:
        raise DataError(f"{raw.source} has no column to predict from beside {wishes.target!r}.")
    notes += [f"{name!r} is left out: {why}" for name, why in left_out if why != "as asked"]
    sparse = sum(len(rule.levels) for rule in rules) >= SPARSE_FROM
    recipe = Recipe(tuple(rules), wishes.missing, wishes.target, sparse, tuple(left_out), wishes.absent)
    return recipe, (*raw.notes, *notes)


def _useless(column: Column) -> str:
    """Why a column cannot help, or nothing."""
    present = ~column.missing
    if not present.any():
        return "it is empty"
    if isinstance(column, Numbers):
        values = column.values[present]
        return f"it is constant ({values[0]:g})" if present.all() and values.min() == values.max() else ""
    if isinstance(column, Words):
        occurring = int(np.count_nonzero(column.counts()))
        if occurring == 1 and present.all():
            return f"it is constant ({column.levels[int(column.codes[0])]!r})"
        if occurring > FEW_LEVELS and occurring > 0.5 * present.sum():
            return f"its {occurring} different words look like an identifier or free text"
    return ""


def _rule(name: str, column: Column, wishes: Wishes, rows: Mask) -> tuple[Rule, list[str]]:
    if isinstance(column, Dates):
        raise DataError(
            f"Column {name!r} holds dates (such as {column.example!r}), which are no numbers: put the year, "
            "the month or the days since some day in columns of their own, or leave it out with "
            f"--drop {name!r}."
        )
    if isinstance(column, Words):
        return _level_rule(name, column, wishes, rows)
    fill, notes = _fill(name, column, wishes, rows)
    if column.boolean:
        notes = [f"{name!r} is true or false: 1 or 0", *notes]
    elif _running(column):
        notes = [f"{name!r} looks like a row number; --drop {name!r} leaves it out", *notes]
    return Rule(name, "boolean" if column.boolean else "number", fill), notes


def _running(column: Numbers) -> bool:
    """1, 2, 3, … in the order of the rows."""
    values = column.values
    return len(values) > 2 and bool(np.all(np.diff(values) == 1.0))


def _fill(name: str, column: Numbers, wishes: Wishes, rows: Mask) -> tuple[float | None, list[str]]:
    """The stand-in for a missing value: kept even where the fit needs none, for later files may."""
    if wishes.missing in ("refuse", "drop"):
        return None, []
    column = column if rows.all() else column.take(rows)
    gaps = column.missing
    centre = np.mean if wishes.missing == "mean" else np.median
    fill = float(centre(column.values[~gaps]))
    count = int(gaps.sum())
    if not count:
        return fill, []
    return fill, [
        f"{name!r} has no value in {rows_in_words(count)}: the {wishes.missing}, {fill:.6g}, stands in"
    ]


def _level_rule(name: str, words: Words, wishes: Wishes, rows: Mask) -> tuple[Rule, list[str]]:
    _refuse_slips(name, words)
    words = words if rows.all() else words.take(rows)
    counts = words.counts()
    order = [int(k) for k in np.argsort(-counts, kind="stable") if counts[k]]
    if len(order) > MOST_LEVELS:
        raise DataError(
            f"Column {name!r} has {len(order)} levels, more than {MOST_LEVELS}: group them, "
            f"or --drop {name!r}."
        )
    reference = words.levels[order[0]]
    levels = tuple(sorted(words.levels[k] for k in order[1:]))
    gaps = int(words.missing.sum())
    notes = [f"{name!r} has {len(order)} levels: a column each, the reference is {reference!r}"]
    if gaps and wishes.missing == "refuse":
        i = int(np.argmax(words.missing))
        raise DataError(f"Column {name!r} has no value in row {i + 1}, and --missing is refuse.")
    if gaps and wishes.missing != "drop":
        levels = (*levels, MISSING_LEVEL)
        notes.append(f"{name!r} has no value in {rows_in_words(gaps)}: a level of its own, {MISSING_LEVEL!r}")
    return Rule(name, "levels", None, levels, reference), notes


def _refuse_slips(name: str, words: Words) -> None:
    """Numbers with a few words among them are a slip, or a word for a missing value."""
    numeric = number_levels(words)
    counts = words.counts()
    if counts[numeric].sum() < 0.8 * counts.sum() or numeric.all():
        return
    strange = int(np.argmin(numeric))
    i = int(np.argmax(words.codes == strange))
    level = words.levels[strange]
    raise DataError(
        f"Column {name!r} holds numbers, but {level!r} in row {i + 1}: mend it, or say --na {level!r} if it "
        "means that the value is missing."
    )


def _matrix_rules(
    raw: RawTable, names: Sequence[str], wishes: Wishes, rows: Mask
) -> tuple[list[Rule], list[str]]:
    """Numbers alone: a stand-in for each column, all columns at once."""
    if sp.issparse(raw.matrix):
        return [Rule(name, "number") for name in names], []
    where = {name: j for j, name in enumerate(raw.names)}
    matrix = raw.matrix[rows][:, [where[name] for name in names]]
    if wishes.missing in ("refuse", "drop"):
        return [Rule(name, "number") for name in names], []
    gaps = np.isnan(matrix)
    empty = gaps.all(axis=0)
    if empty.any():
        raise DataError(
            f"Column {names[int(np.argmax(empty))]!r} of {raw.source} is empty; leave it out (--drop)."
        )
    fills = np.nanmean(matrix, axis=0) if wishes.missing == "mean" else np.nanmedian(matrix, axis=0)
    notes = []
    if gaps.any():
        count, columns = int(gaps.sum()), int(gaps.any(axis=0).sum())
        notes = [
            f"{count} values in {columns} columns are missing: the {wishes.missing} of the column stands in"
        ]
    return [Rule(name, "number", float(fill)) for name, fill in zip(names, fills, strict=True)], notes
