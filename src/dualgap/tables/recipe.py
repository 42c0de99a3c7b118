"""What was done to the columns, kept so that it can be done again to the next file."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from dualgap.arrays import Mask, Vector
from dualgap.errors import DataError
from dualgap.tables.columns import Column, Dates, Numbers, RawTable, Words
from dualgap.tables.written import ORDERS, moments, numbers, order_of

MISSING_RULES = ("mean", "median", "drop", "refuse")
MISSING_LEVEL = "(missing)"


@dataclass(frozen=True)
class Rule:
    """How one column of the file becomes columns of the matrix.

    A number stays as it is, `fill` standing in for a missing one; words become a column of 0 and 1 for each
    of `levels`, none for the `reference` level. Of a date it takes a `part`: the year, the month, the
    weekday, or the days `since` some day. `written` says how text is read: the sign before a fraction, or
    the order of day, month and year.
    """

    name: str
    kind: str  # "number", "boolean" or "levels"
    fill: float | None = None
    levels: tuple[str, ...] = ()
    reference: str | None = None
    part: str = ""
    since: str = ""
    written: str = ""

    @property
    def label(self) -> str:
        """The column, or the part of it."""
        since = f" since {self.since}" if self.since else ""
        return f"{self.name} {self.part}{since}" if self.part else self.name

    @property
    def outputs(self) -> tuple[str, ...]:
        """The names of the columns it makes."""
        return (self.label,) if self.kind != "levels" else tuple(f"{self.label}={lv}" for lv in self.levels)

    def column(self, raw: RawTable) -> Column:
        """What it is made of, as this file has it."""
        column = raw.column(self.name)
        if not self.part:
            return column if self.kind == "levels" else _as_numbers(self, column, raw.source)
        dates = _as_dates(self, column, raw.source)
        return dates.part(self.part, self.since, words=self.kind == "levels")

    def plain(self, raw: RawTable, unseen: str) -> NDArray[Any]:
        """Its numbers, or its words as text, as a formula wants them; gaps filled as in the fit."""
        column = self.column(raw)
        if self.kind != "levels":
            return _block(self, column, raw.source, unseen)[0]
        words = _as_words(self, column, raw.source)
        text = np.array([*words.levels, MISSING_LEVEL], dtype=object)[words.codes]
        strange = ~np.isin(text, self.known)
        if strange.any() and unseen == "refuse":
            raise _stranger(self, words, int(np.argmax(strange)), raw.source)
        return np.where(strange, self.known[0], text)

    @property
    def known(self) -> tuple[str, ...]:
        """Every level of the fit, the reference first."""
        return (*(() if self.reference is None else (self.reference,)), *self.levels)


@dataclass(frozen=True, eq=False)
class Encoded:
    """The matrix, and which rows of the file are its rows."""

    matrix: Any
    rows: Mask


@dataclass(frozen=True)
class Recipe:
    """Rules in the order of the matrix; the target, and what was left out and why."""

    rules: tuple[Rule, ...]
    missing: str
    target: str
    sparse: bool = False
    left_out: tuple[tuple[str, str], ...] = ()
    absent: tuple[str, ...] = field(default=())  # words that mean a missing value
    formula: ClassVar[str] = ""
    constant: ClassVar[bool] = True  # whether a fit may have an intercept

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of the columns of the matrix."""
        return tuple(name for rule in self.rules for name in rule.outputs)

    @property
    def sources(self) -> tuple[str, ...]:
        """Of each column of the matrix the column of the table."""
        return tuple(rule.name for rule in self.rules for _ in rule.outputs)

    @property
    def inputs(self) -> tuple[Rule, ...]:
        """How the columns of a file are read."""
        return self.rules

    def as_levels(self, column: str) -> bool:
        """Are the values of this column told apart one by one, though they may be numbers?"""
        return any(rule.name == column and rule.kind == "levels" and not rule.part for rule in self.rules)

    def aimed(self, target: str) -> Recipe:
        """The same for another target."""
        return replace(self, target=target)

    def target_column(self, raw: RawTable) -> Column:
        """What is predicted, of these rows."""
        return raw.column(self.target)

    def encode(self, raw: RawTable, unseen: str = "refuse") -> Encoded:
        """The matrix of these rows; columns are found by name, in whatever order they stand."""
        if raw.columns is None and all(rule.kind == "number" and not rule.part for rule in self.rules):
            return self._encode_matrix(raw)
        self._refuse_absent(raw)
        rows = np.ones(raw.n, dtype=bool)
        columns = [rule.column(raw) for rule in self.rules]
        if self.missing == "drop":
            for column in columns:
                rows &= ~column.missing
        blocks: list[Any] = []
        for rule, column in zip(self.rules, columns, strict=True):
            blocks += _block(rule, column if rows.all() else column.take(rows), raw.source, unseen)
        return Encoded(self._joined(blocks, int(rows.sum())), rows)

    def _refuse_absent(self, raw: RawTable) -> None:
        absent = list(dict.fromkeys(rule.name for rule in self.rules if rule.name not in raw.names))
        if absent:
            others = f" and {len(absent) - 1} more" if len(absent) > 1 else ""
            raise DataError(f"{raw.source} has no column {absent[0]!r}{others}, which the fit used.")

    def _joined(self, blocks: list[Any], n: int) -> Any:
        if self.sparse:
            return sp.csc_array(sp.hstack([sp.csc_array(block.reshape(-1, 1)) for block in blocks]))
        matrix = np.empty((n, len(blocks)), order="F")
        for j, block in enumerate(blocks):
            matrix[:, j] = block
        return matrix

    def _encode_matrix(self, raw: RawTable) -> Encoded:
        """All columns at once, where the file is a matrix already."""
        matrix = _named_columns(raw, tuple(rule.name for rule in self.rules))
        if sp.issparse(matrix):
            _refuse_nan(np.isnan(matrix.data).any(), raw.source)
            return Encoded(matrix, np.ones(raw.n, dtype=bool))
        gaps = np.isnan(matrix)
        rows = np.ones(raw.n, dtype=bool)
        if gaps.any():
            if self.missing == "drop":
                rows = ~gaps.any(axis=1)
                return Encoded(matrix[rows], rows)
            i, j = (int(k[0]) for k in np.nonzero(gaps))
            if self.rules[j].fill is None:
                raise _no_value(self.rules[j].name, i, raw.source)
            fill = np.array([np.nan if rule.fill is None else rule.fill for rule in self.rules])
            matrix = np.where(gaps, fill, matrix)
        return Encoded(np.asfortranarray(matrix), rows)

    def read(self, X: Any) -> Any:
        """What a caller of `predict` hands over: a frame as the file was, or columns made already."""
        return encoded_frame(self, X)


def encoded_frame(recipe: Any, X: Any) -> Any:
    """The matrix of a frame that is as the file was, no row left out; anything else as it is."""
    if not hasattr(X, "columns") or not hasattr(X, "__getitem__"):
        return X
    if tuple(map(str, X.columns)) == recipe.names:
        return X
    from dualgap.tables.frames import from_frame

    frame, used = (X if hasattr(X, "iloc") else X.to_pandas()), {rule.name for rule in recipe.inputs}
    encoded = recipe.encode(from_frame(frame[[name for name in frame.columns if str(name) in used]], "X"))
    if not encoded.rows.all():
        raise DataError(f"X has a missing value in row {int(np.argmin(encoded.rows)) + 1}; drop that row.")
    return encoded.matrix


def _named_columns(raw: RawTable, names: tuple[str, ...]) -> Any:
    if raw.names == names:
        return raw.matrix
    where = {name: j for j, name in enumerate(raw.names)}
    absent = [name for name in names if name not in where]
    if absent and not raw.zeros_elsewhere:
        raise DataError(f"{raw.source} has no column {absent[0]!r}, which the fit used.")
    if not absent:
        return raw.matrix[:, [where[name] for name in names]]
    empty = sp.csc_array((raw.n, 1))
    padded = sp.csc_array(sp.hstack([raw.matrix, empty]))
    return padded[:, [where.get(name, raw.matrix.shape[1]) for name in names]]


def _refuse_nan(found: bool, source: str) -> None:
    if found:
        raise DataError(f"{source} is sparse and holds NaN; write the missing values out or drop the rows.")


def _block(rule: Rule, column: Column, source: str, unseen: str) -> list[Vector]:
    if rule.kind == "levels":
        return _indicators(rule, _as_words(rule, column, source), source, unseen)
    assert isinstance(column, Numbers)
    endless = np.isinf(column.values)
    if endless.any():
        i = int(np.argmax(endless))
        raise DataError(
            f"Column {rule.name!r} of {source} holds {column.values[i]:g} in row {i + 1}: mend it, or say "
            "--na inf if it means that the value is missing."
        )
    gaps = column.missing
    if not gaps.any():
        return [column.values]
    if rule.fill is None:
        raise _no_value(rule.name, int(np.argmax(gaps)), source)
    return [np.where(gaps, rule.fill, column.values)]


def _as_numbers(rule: Rule, column: Column, source: str) -> Numbers:
    """Numbers, read from text as in the fit; the cell that is none is named."""
    if isinstance(column, Dates):
        raise DataError(
            f"Column {rule.name!r} of {source} holds {column.example!r}, where the fit had numbers."
        )
    decimal = rule.written or "."
    text = column if isinstance(column, Words) else column.text
    if text is None or (isinstance(column, Numbers) and column.decimal == decimal):
        assert isinstance(column, Numbers)
        return column
    values, bad = numbers(text, decimal)
    if bad.any():
        raise _misplaced(rule, text, bad, source, "numbers")
    return Numbers(values)


def _as_dates(rule: Rule, column: Column, source: str) -> Dates:
    """Dates, read from text in the order of the fit; the cell that is none is named."""
    if isinstance(column, Dates) and (column.text is None or column.order == rule.written):
        return column
    text = column if isinstance(column, Words) else column.text
    if text is None:
        raise DataError(f"Column {rule.name!r} of {source} holds numbers, where the fit had dates.")
    values, bad = moments(text, rule.written or order_of(text.levels))
    if bad.any():
        raise _misplaced(rule, text, bad, source, f"dates ({ORDERS[rule.written or 'ymd']})")
    return Dates(values)


def _misplaced(rule: Rule, text: Words, bad: Mask, source: str, what: str) -> DataError:
    i = int(np.argmax(bad))
    return DataError(
        f"Column {rule.name!r} of {source} holds {text.levels[text.codes[i]]!r} in row {i + 1}, "
        f"where the fit had {what}."
    )


def _no_value(name: str, i: int, source: str) -> DataError:
    return DataError(
        f"Column {name!r} of {source} has no value in row {i + 1}, and the rule for missing values is "
        "to refuse; mend the file, or fit with --missing mean."
    )


def _as_words(rule: Rule, column: Column, source: str) -> Words:
    """Words, also where a file has only such levels as read as numbers, or none at all."""
    if isinstance(column, Words):
        return column
    if column.text is not None:
        return column.text
    if isinstance(column, Dates):
        raise DataError(f"Column {rule.name!r} of {source} holds dates, where the fit had words.")
    known = {_plain(level): level for level in rule.known}
    values, codes = np.unique(column.values, return_inverse=True)
    levels = tuple(known.get(_plain(str(value)), f"{value:g}") for value in values.tolist())
    gaps = column.missing
    return Words(np.where(gaps, -1, codes).astype(np.intp), levels)


def _plain(text: str) -> str:
    try:
        return f"{float(text):.17g}"
    except ValueError:
        return text


def _indicators(rule: Rule, words: Words, source: str, unseen: str) -> list[Vector]:
    known = {level: k for k, level in enumerate(rule.known)}
    place = np.array([known.get(level, -1) for level in words.levels] + [known.get(MISSING_LEVEL, -1)])
    found: NDArray[np.intp] = place[words.codes]  # code −1 takes the last entry, that of a missing value
    strange = found < 0
    if strange.any():
        if unseen == "refuse":
            raise _stranger(rule, words, int(np.argmax(strange)), source)
        found = np.where(strange, 0, found)
    first = len(rule.known) - len(rule.levels)
    return [(found == k).astype(np.float64) for k in range(first, len(rule.known))]


def _stranger(rule: Rule, words: Words, i: int, source: str) -> DataError:
    if words.codes[i] < 0:
        what = f"no value in row {i + 1}, and none was missing in the fit"
    else:
        what = f"the level {words.levels[words.codes[i]]!r} in row {i + 1}, which the fit never saw"
    shown = ", ".join(repr(level) for level in rule.known[:8]) + (", …" if len(rule.known) > 8 else "")
    return DataError(
        f"Column {rule.label!r} of {source} has {what} (it saw {shown}); "
        "--unseen reference treats such rows as the reference level."
    )
