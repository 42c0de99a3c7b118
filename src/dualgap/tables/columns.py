"""Columns as they stand in a file, before anything is done to them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dualgap.arrays import Mask, Vector
from dualgap.errors import DataError


@dataclass(frozen=True, eq=False)
class Numbers:
    """Numbers, NaN where one is missing; a boolean column is 0 and 1."""

    values: Vector
    boolean: bool = False

    @property
    def missing(self) -> Mask:
        """Rows without a value."""
        return np.asarray(np.isnan(self.values))

    def take(self, rows: Mask) -> Numbers:
        """These rows alone."""
        return Numbers(self.values[rows], self.boolean)


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
    """Points in time, which no linear model can take as they are."""

    example: str
    missing: Mask

    def take(self, rows: Mask) -> Dates:
        """These rows alone."""
        return Dates(self.example, self.missing[rows])


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
            raise DataError(f"{self.source} has no column {name!r}. {self._names_it_has()}")
        if self.columns is not None:
            return self.columns[name]
        j = self.names.index(name)
        values = self.matrix[:, [j]]
        return Numbers(np.asarray(values.toarray() if hasattr(values, "toarray") else values).ravel())

    def _names_it_has(self) -> str:
        shown = ", ".join(repr(name) for name in self.names[:12])
        more = f" and {len(self.names) - 12} more" if len(self.names) > 12 else ""
        return f"It has {shown}{more}."


def numbered(count: int, first: int = 0) -> tuple[str, ...]:
    """x0, x1, …"""
    return tuple(f"x{j}" for j in range(first, first + count))


def rows_in_words(count: int) -> str:
    """1 row, 2 rows."""
    return f"{count} row" if count == 1 else f"{count} rows"
