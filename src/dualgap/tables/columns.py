"""Columns as they stand in a file, before anything is done to them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dualgap.arrays import Mask, Vector
from dualgap.errors import DataError

DAY = 86_400.0  # seconds
MONTHS: tuple[str, ...] = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
WEEKDAYS: tuple[str, ...] = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")


@dataclass(frozen=True, eq=False)
class Numbers:
    """Numbers, NaN where one is missing; a boolean column is 0 and 1.

    `text` is how the file has them, where signs stand beside the digits, and `decimal` what was taken for
    the sign before the fraction.
    """

    values: Vector
    boolean: bool = False
    text: Words | None = None
    decimal: str = "."

    @property
    def missing(self) -> Mask:
        """Rows without a value."""
        return np.asarray(np.isnan(self.values))

    def take(self, rows: Mask) -> Numbers:
        """These rows alone."""
        return replace(self, values=self.values[rows], text=self.text and self.text.take(rows))


@dataclass(frozen=True, eq=False)
class Words:
    """Levels and the number of each row's level, −1 where it is missing."""

    codes: NDArray[np.intp]
    levels: tuple[str, ...]

    @property
    def missing(self) -> Mask:
        """Rows without a value."""
        return np.asarray(self.codes < 0)

    def take(self, rows: Mask) -> Words:
        """These rows alone; levels that no longer occur are kept."""
        return Words(self.codes[rows], self.levels)

    def counts(self) -> NDArray[np.intp]:
        """How often each level occurs."""
        return np.bincount(self.codes[self.codes >= 0], minlength=len(self.levels))


@dataclass(frozen=True, eq=False)
class Dates:
    """Seconds of the calendar, NaT where one is missing; `order` says how the `text` was read."""

    values: NDArray[np.datetime64]
    text: Words | None = None
    order: str = "ymd"  # or "dmy", "mdy"

    @property
    def missing(self) -> Mask:
        """Rows without a value."""
        return np.asarray(np.isnat(self.values))

    @property
    def example(self) -> str:
        """The first, as the file has it."""
        there = np.flatnonzero(~self.missing)
        if not len(there):
            return ""
        return (
            str(self.values[there[0]]) if self.text is None else self.text.levels[self.text.codes[there[0]]]
        )

    def take(self, rows: Mask) -> Dates:
        """These rows alone."""
        return replace(self, values=self.values[rows], text=self.text and self.text.take(rows))

    def part(self, name: str, since: str, *, words: bool) -> Numbers | Words:
        """The year, the month or the weekday (as words or as numbers), or the days since a day."""
        days, gaps = self.values.astype("datetime64[D]"), self.missing
        if name == "days":
            passed = self.values - np.datetime64(since, "s")
            return Numbers(np.where(gaps, np.nan, passed.astype(np.float64) / DAY))
        if name == "year":
            return Numbers(np.where(gaps, np.nan, days.astype("datetime64[Y]").astype(np.float64) + 1970))
        if name == "month":
            codes, levels = days.astype("datetime64[M]").astype(np.int64) % 12, MONTHS
        else:
            codes, levels = (days.astype(np.int64) + 3) % 7, WEEKDAYS  # the first day of 1970 was a Thursday
        if words:
            return Words(np.where(gaps, -1, codes).astype(np.intp), levels)
        return Numbers(np.where(gaps, np.nan, codes + 1.0))


Column: TypeAlias = Numbers | Words | Dates


@dataclass(frozen=True, eq=False)
class RawTable:
    """What a file holds: named columns, or a matrix of numbers whose columns have made-up names.

    `target` is there where the format keeps it apart (libsvm, npz, data sets). In a libsvm file a column
    that is not mentioned is zero (`zeros_elsewhere`).
    """

    source: str
    n: int
    names: tuple[str, ...]
    columns: dict[str, Column] | None = None
    matrix: Any = None
    target: Column | None = None
    target_name: str | None = None
    zeros_elsewhere: bool = False
    notes: tuple[str, ...] = ()

    def column(self, name: str) -> Column:
        """The column of that name."""
        if self.target is not None and name == self.target_name and name not in self.names:
            return self.target
        if name not in self.names:
            raise DataError(f"{self.source} has no column {name!r}. It has {self.listed()}.")
        if self.columns is not None:
            return self.columns[name]
        j = self.names.index(name)
        values = self.matrix[:, [j]]
        return Numbers(np.asarray(values.toarray() if hasattr(values, "toarray") else values).ravel())

    def targets(self, said: str) -> tuple[str, ...]:
        """The columns that are predicted: the one of that name, or several, separated by commas."""
        parts = tuple(part.strip() for part in said.split(","))
        several = len(parts) > 1 and said not in self.names and said != self.target_name
        return tuple(dict.fromkeys(parts)) if several else (said,)

    def listed(self, most: int = 12) -> str:
        """Its names, or the first of them."""
        shown = ", ".join(repr(name) for name in self.names[:most])
        return f"{shown} and {len(self.names) - most} more" if len(self.names) > most else shown

    def with_target(self, y: NDArray[Any], name: str) -> RawTable:
        """The table beside a vector to predict."""
        if y.shape not in ((self.n,), (self.n, 1)):
            raise DataError(f"{self.source}: X has {self.n} rows, y the shape {y.shape}.")
        return replace(self, target=as_column(y.ravel()), target_name=name)

    def take(self, rows: Mask) -> RawTable:
        """These rows alone, without the target."""
        if rows.all():
            return self
        columns = self.columns and {name: column.take(rows) for name, column in self.columns.items()}
        matrix = None if self.matrix is None else self.matrix[rows]
        return replace(self, n=int(rows.sum()), columns=columns, matrix=matrix)


def as_column(values: NDArray[Any]) -> Column:
    """An array of numbers or strings as a column."""
    if values.dtype.kind in "biuf":
        return Numbers(values.astype(np.float64), boolean=values.dtype.kind == "b")
    levels, codes = np.unique(values.astype(str), return_inverse=True)
    return Words(codes.astype(np.intp), tuple(levels.tolist()))


def as_table(matrix: Any, source: str, names: tuple[str, ...] | None = None, **more: Any) -> RawTable:
    """A matrix of numbers, its columns called x0, x1, … where they have no names."""
    return RawTable(source, matrix.shape[0], names or numbered(matrix.shape[1]), matrix=matrix, **more)


def numbered(count: int, first: int = 0) -> tuple[str, ...]:
    """x0, x1, …"""
    return tuple(f"x{j}" for j in range(first, first + count))


def rows_in_words(count: int) -> str:
    """1 row, 2 rows."""
    return f"{count} row" if count == 1 else f"{count} rows"


def by_column(values: Any, names: Sequence[str] | None) -> Any:
    """A Series whose index holds these names of columns, in their order; anything else as it is."""
    index = getattr(values, "index", None)
    if names is None or index is None or callable(index):
        return values
    place = {str(name): k for k, name in enumerate(index)}
    if len(place) != len(index) or place.keys() != set(names):
        return values
    return np.asarray(values)[[place[name] for name in names]]
