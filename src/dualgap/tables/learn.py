"""Look at the columns of a file and decide what to do with each, in words that are printed and kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from dualgap.arrays import Mask
from dualgap.errors import DataError
from dualgap.tables.columns import Column, Dates, Numbers, RawTable, Words, rows_in_words
from dualgap.tables.recipe import MISSING_LEVEL, MISSING_RULES, Recipe, Rule
from dualgap.tables.written import DATE, MOSTLY, ORDERS, doubtful, numeric_levels

SPARSE_FROM = 64  # as many columns of 0 and 1, and the matrix is kept sparse
FEW_LEVELS = 20  # a choice: beyond so many words an identifier repeats some, as a comment does
ALONE = 0.8  # a choice: up to there it hardly ever repeats one
SMALLEST = 5  # rows, a choice: of fewer nothing is known
PER_PART = {"month": 60, "weekday": 35}  # rows, a choice: five to a column, below which one number must do
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
    skip = {*raw.targets(wishes.target), *wishes.drop}
    names = [name for name in raw.names if name not in skip]
    if raw.columns is None:
        rules, notes = _matrix_rules(raw, names, wishes, rows)
    else:
        rules, notes = [], []
        for name in names:
            column = raw.column(name)
            if isinstance(column, Words):
                _refuse_slips(name, column)
            said = _useless(column if rows.all() else column.take(rows))
            if said:
                left_out.append((name, said))
                continue
            made, remarks = _rules(name, column, wishes, rows)
            rules += made
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
    if isinstance(column, Words):
        return _useless_words(column, int(present.sum()))
    values = column.values[present]
    if present.all() and values.min() == values.max():
        return f"it is constant ({values[0]:g})" if isinstance(column, Numbers) else "it is constant"
    return ""


def _useless_words(column: Words, present: int) -> str:
    occurring = int(np.count_nonzero(column.counts()))
    if occurring == 1 and present == len(column.codes):
        return f"it is constant ({column.levels[int(column.codes[0])]!r})"
    most = 0.5 if occurring > FEW_LEVELS else ALONE
    if occurring > most * present and present >= SMALLEST:
        return f"its {occurring} different words in {present} rows look like an identifier or free text"
    return ""


def _rules(name: str, column: Column, wishes: Wishes, rows: Mask) -> tuple[list[Rule], list[str]]:
    if isinstance(column, Dates):
        return _date_rules(name, column, wishes, rows)
    if isinstance(column, Words):
        rule, notes = _level_rule(Rule(name, "levels"), column, wishes, rows)
        return [rule], notes
    fill, notes = _fill(name, column, wishes, rows)
    if column.boolean:
        notes = [f"{name!r} is true or false: 1 or 0", *notes]
    elif _running(column):
        notes = [f"{name!r} looks like a row number; --drop {name!r} leaves it out", *notes]
    written = "" if column.text is None else column.decimal
    return [Rule(name, "boolean" if column.boolean else "number", fill, written=written)], notes


def _date_rules(name: str, dates: Dates, wishes: Wishes, rows: Mask) -> tuple[list[Rule], list[str]]:
    """The year, the month, the weekday and the days since the first day, as far as they differ."""
    if not rows.all():
        dates = dates.take(rows)
    used = np.ones(len(dates.values), dtype=bool)
    since = str(dates.values[~dates.missing].min().astype("datetime64[D]"))
    count = int((~dates.missing).sum())
    made: list[Rule] = []
    told: list[str] = []
    for part in ("year", "month", "weekday", "days"):
        words = part in PER_PART and count >= PER_PART[part]
        column = dates.part(part, since, words=words)
        if isinstance(column, Numbers) and np.nanmin(column.values) == np.nanmax(column.values):
            continue
        written = dates.order if dates.text is not None else ""
        rule = Rule(name, "levels" if words else "number", part=part, written=written)
        if isinstance(column, Words):
            if np.count_nonzero(column.counts()) < 2:
                continue
            rule, _ = _level_rule(rule, column, wishes, used)
            told.append(f"{part} (a column each, the reference is {rule.reference!r})")
        else:
            rule = replace(rule, since=since if part == "days" else "")
            rule = replace(rule, fill=_fill(name, column, wishes, used)[0])
            told.append(f"days since {since}" if part == "days" else f"{part} (a number)")
        made.append(rule)
    how = f", read as {ORDERS[dates.order]}" if dates.text is not None and dates.order != "ymd" else ""
    doubt = ", which is a guess: 2024-03-01 leaves no doubt" if doubtful(dates) else ""
    notes = [f"{name!r} holds dates (such as {dates.example!r}{how}{doubt}): {', '.join(told)}"]
    gaps = int(dates.missing.sum())
    if gaps and wishes.missing not in ("refuse", "drop"):
        notes.append(
            f"{name!r} has no value in {rows_in_words(gaps)}: the {wishes.missing} of its numbers stands in"
        )
    return made, notes


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


def _level_rule(rule: Rule, words: Words, wishes: Wishes, rows: Mask) -> tuple[Rule, list[str]]:
    words = words if rows.all() else words.take(rows)
    gaps = int(words.missing.sum())
    if gaps and wishes.missing == "refuse":
        i = int(np.argmax(words.missing))
        raise DataError(f"Column {rule.name!r} has no value in row {i + 1}, and --missing is refuse.")
    return level_rule(rule, dict(zip(words.levels, words.counts().tolist(), strict=True)), gaps, wishes)


def level_rule(rule: Rule, counts: Mapping[str, int], gaps: int, wishes: Wishes) -> tuple[Rule, list[str]]:
    """A column for each level but the most frequent, which is the reference; `counts` in their order."""
    name, levels = rule.name, [level for level, count in counts.items() if count]
    if len(levels) > MOST_LEVELS:
        raise DataError(
            f"Column {name!r} has {len(levels)} levels, more than {MOST_LEVELS}: group them, "
            f"or --drop {name!r}."
        )
    reference = max(levels, key=lambda level: counts[level])
    count = "one level" if len(levels) == 1 else f"{len(levels)} levels"
    others = tuple(level for level in levels if level != reference)
    notes = [f"{name!r} has {count}: a column each, the reference is {reference!r}"] if others else []
    if gaps and wishes.missing != "drop":
        others = (*others, MISSING_LEVEL)
        beside = f" beside {reference!r}" if len(levels) == 1 else ""
        notes.append(
            f"{name!r} has no value in {rows_in_words(gaps)}: a level of its own, {MISSING_LEVEL!r}{beside}"
        )
    return replace(rule, levels=others, reference=reference), notes


def _refuse_slips(name: str, words: Words) -> None:
    """Numbers or dates with a few words among them are slips, or words for a missing value."""
    counts = words.counts()
    dates = np.array([bool(DATE.fullmatch(level)) for level in words.levels], dtype=bool)
    for what, fits in (("numbers", numeric_levels(words)), ("dates", dates)):
        if counts[fits].sum() < MOSTLY * counts.sum() or fits.all():
            continue
        strange = int(np.argmin(fits))
        i = int(np.argmax(words.codes == strange))
        level = words.levels[strange]
        raise DataError(
            f"Column {name!r} holds {what}, but {level!r} in row {i + 1}: mend it, say --na {level!r} if it "
            f"means that the value is missing, or leave the column out with --drop {name!r}."
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


def date_rules(name: str, dates: Dates, wishes: Wishes) -> tuple[list[Rule], list[str]]:
    """The rules of dates that were gathered piece by piece."""
    return _date_rules(name, dates, wishes, np.ones(len(dates.values), dtype=bool))
