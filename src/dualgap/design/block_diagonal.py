"""Several matrices along the diagonal: the rows of each see its own columns alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from dualgap.arrays import Index, Mask, Matrix, Vector
from dualgap.design.base import Design
from dualgap.design.dense import Dense


@dataclass(frozen=True, eq=False)
class BlockDiagonal(Design):
    """diag(X₁, …, X_m). Where all are the same matrix, `alike`, products with it are made at once."""

    parts: tuple[Design, ...]

    @cached_property
    def alike(self) -> Design | None:
        """The matrix of which all are the same, if there is one."""
        first = self.parts[0]
        return first if all(part is first for part in self.parts) else None

    @cached_property
    def _ends(self) -> tuple[Index, Index]:
        """Where the rows and the columns of each part end."""
        shapes = np.array([part.shape for part in self.parts])
        return np.cumsum(shapes[:, 0]), np.cumsum(shapes[:, 1])

    @property
    def shape(self) -> tuple[int, int]:
        rows, columns = self._ends
        return int(rows[-1]), int(columns[-1])

    @property
    def stored(self) -> int:
        return sum(part.stored for part in self.parts)

    def _by_rows(self, values: Vector) -> list[Vector]:
        return np.split(values, self._ends[0][:-1])

    def _by_columns(self, values: Vector) -> list[Vector]:
        return np.split(values, self._ends[1][:-1])

    def _each(self, product: Callable[[Design, Vector], Vector], values: list[Vector]) -> Vector:
        return np.concatenate([product(part, own) for part, own in zip(self.parts, values, strict=True)])

    def matvec(self, w: Vector) -> Vector:
        if self.alike is not None:
            return self.alike.matvecs(w.reshape(len(self.parts), -1)).ravel()
        return self._each(lambda part, own: part.matvec(own), self._by_columns(w))

    def matvecs(self, weights: Matrix) -> Matrix:
        return np.array([self.matvec(w) for w in weights]).reshape(len(weights), self.shape[0])

    def transpose_matvec(self, theta: Vector) -> Vector:
        if self.alike is not None:
            return self.alike.transpose_matvecs(theta.reshape(len(self.parts), -1)).ravel()
        return self._each(lambda part, own: part.transpose_matvec(own), self._by_rows(theta))

    def transpose_matvecs(self, thetas: Matrix) -> Matrix:
        return np.array([self.transpose_matvec(one) for one in thetas]).reshape(len(thetas), self.shape[1])

    def absolute_transpose_matvec(self, theta: Vector) -> Vector:
        return self._each(lambda part, own: part.absolute_transpose_matvec(own), self._by_rows(theta))

    def weighted_gram(self, h: Vector, *, single: bool = False) -> Matrix:
        blocks = zip(self.parts, self._by_rows(h), strict=True)
        return _along([part.weighted_gram(own, single=single) for part, own in blocks])

    def weighted_outer(self, d: Vector, *, single: bool = False) -> Matrix:
        blocks = zip(self.parts, self._by_columns(d), strict=True)
        return _along([part.weighted_outer(own, single=single) for part, own in blocks])

    def weighted_square_norms(self, a: Vector) -> Vector:
        return self._each(lambda part, own: part.weighted_square_norms(own), self._by_rows(a))

    def row_square_norms(self) -> Vector:
        return np.concatenate([part.row_square_norms() for part in self.parts])

    def rough(self) -> Design:
        if self.alike is not None:
            return BlockDiagonal((self.alike.rough(),) * len(self.parts))
        return BlockDiagonal(tuple(part.rough() for part in self.parts))

    def rows(self, which: Index | Mask) -> Design:
        return self._some(which, self._ends[0], lambda part, own: part.rows(own))

    def columns(self, which: Index | Mask) -> Design:
        return self._some(which, self._ends[1], lambda part, own: part.columns(own))

    def _some(self, which: Index | Mask, ends: Index, taken: Callable[[Design, Index], Design]) -> Design:
        """Lines in their order stay in their parts."""
        index = np.arange(ends[-1])[which]
        if np.any(np.diff(index) < 0):
            array = self.toarray()
            return Dense(array[index] if ends is self._ends[0] else array[:, index])
        cuts = np.searchsorted(index, ends)
        own = np.split(index, cuts[:-1])
        begins = np.append(0, ends[:-1])
        return BlockDiagonal(
            tuple(taken(part, k - begin) for part, k, begin in zip(self.parts, own, begins, strict=True))
        )

    def row_marks(self) -> Vector:
        return np.concatenate([part.row_marks() + 0.5772157 * k for k, part in enumerate(self.parts)])

    def same_rows(self, left: Index, right: Index) -> Mask:
        ends = self._ends[0]
        block, other = (np.searchsorted(ends, rows, side="right") for rows in (left, right))
        same = np.zeros(len(left), dtype=bool)
        for k, part in enumerate(self.parts):
            here, begin = (block == k) & (other == k), ends[k] - part.shape[0]
            same[here] = part.same_rows(left[here] - begin, right[here] - begin)
        apart = np.flatnonzero(block != other)  # rows of two parts are the same where both are zero
        for i in apart:
            same[i] = not any(self.rows(np.array([row])).toarray().any() for row in (left[i], right[i]))
        return same

    def toarray(self) -> Matrix:
        return _along([part.toarray() for part in self.parts])


def _along(blocks: list[Any]) -> Matrix:
    """Arrays along the diagonal of one."""
    shapes = np.array([block.shape for block in blocks])
    whole, corner = np.zeros(shapes.sum(axis=0)), np.zeros(2, dtype=np.intp)
    for block in blocks:
        end = corner + block.shape
        whole[corner[0] : end[0], corner[1] : end[1]] = block
        corner = end
    return whole
