"""A dense matrix."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from dualgap.arrays import Index, Mask, Matrix, Vector, few, once
from dualgap.design.base import Design
from dualgap.design.blas import narrow
from dualgap.design.line_products import weighted_square
from dualgap.proof.rows import Rows

# where one number of a vector in so many is not zero, read those lines alone: along the storage, across it
ALONG, ACROSS = 3, 16
MARKS = (1.0, 0.7310585, 1.2641766)  # factors that no data know
FILLED = 0.2  # with this share of numbers stored, products of dense blocks are faster
LEAST = 100_000  # numbers: fewer are not worth a second look
SEEN, MANY = 32, 128  # rows or columns that show how many zeros there are, and numbers of each
MOSTLY = 0.7  # share of lines with a weight from which on those without are not left out
BLOCK = 1 << 18  # numbers per block of rows: 2 MiB, so that a scaled copy stays in the cache
HALVES = 1 << 20  # the same in 4-byte numbers, which are read twice as fast: 4 to 8 % less time than 1 << 18


@dataclass(frozen=True, eq=False)
class Dense(Design):
    """Products by BLAS; Gram matrices block by block, without a scaled copy of the whole."""

    array: Matrix
    known: Rows | None = None  # this very array with what proofs ask of it, where that is at hand

    @property
    def measured(self) -> Rows | None:
        return self.known

    @property
    def shape(self) -> tuple[int, int]:
        return self.array.shape[0], self.array.shape[1]

    @property
    def stored(self) -> int:
        return self.array.size

    @once
    def mostly_zeros(self) -> bool:
        array = self.array
        if not (array.flags.forc and LEAST < array.size < 1 << 31):
            return False
        lines = array if array.flags.c_contiguous else array.T
        some = lines[:: max(1, len(lines) // SEEN), :: max(1, lines.shape[1] // MANY)]
        return bool(np.count_nonzero(some) <= FILLED * some.size)

    def thinned(self) -> Design:
        from dualgap.design.compressed import Compressed  # which is stored otherwise, and made of this

        return Compressed.of(self) or self

    def _blocks(self, count: int) -> Iterator[slice]:
        """So many rows in parts of BLOCK numbers each."""
        step = max(1, BLOCK // max(self.shape[1], 1))
        return (slice(i, i + step) for i in range(0, count, step))

    def remembering(self) -> Design:
        from dualgap.design.remembered import Remembered  # which is one of these

        return Remembered(self.array, self.known)

    def matvec(self, w: Vector) -> Vector:
        if few(w, ALONG if self.array.flags.f_contiguous else ACROSS):
            support = np.flatnonzero(w)
            return self.array[:, support] @ w[support]
        return self.array @ w

    def matvecs(self, weights: Matrix) -> Matrix:
        support = np.flatnonzero(weights.any(axis=0))
        many = self.array.flags.f_contiguous or len(weights) > ALONG  # which read each column taken again
        if (ALONG if many else ACROSS) * len(support) <= weights.shape[1]:
            return weights[:, support] @ self.array[:, support].T
        return weights @ self.array.T

    def transpose_matvec(self, theta: Vector) -> Vector:
        if few(theta, ALONG if self.array.flags.c_contiguous else ACROSS):
            live = np.flatnonzero(theta)
            return self.array[live].T @ theta[live]
        return self.array.T @ theta

    def transpose_matvecs(self, thetas: Matrix) -> Matrix:
        return thetas @ self.array

    def curved(self, h: Vector, w: Vector, shift: float = 0.0) -> tuple[Vector, float]:
        pull, total = np.zeros(self.shape[1]), 0.0
        for block in self._blocks(len(h)):  # in the cache when it is read again
            part = self.array[block]
            t = h[block] * (part @ w + shift)
            pull += part.T @ t
            total += float(t.sum())
        return pull, total

    def absolute_transpose_matvec(self, theta: Vector) -> Vector:
        total = np.zeros(self.shape[1])
        for block in self._blocks(len(theta)):
            total += np.abs(self.array[block]).T @ theta[block]
        return total

    def weighted_gram(self, h: Vector, *, single: bool = False) -> Matrix:
        n, p = self.shape
        if self._by_lines(h):
            return weighted_square(self.array, h, single=single)
        even = bool(n) and bool((h == h[0]).all())
        if not single and even and self.array.dtype == np.float64:
            return np.asarray(h[0] * (self.array.T @ self.array))  # nothing to copy
        array, root = self.array, np.sqrt(h)
        live = np.flatnonzero(h)
        if len(live) < MOSTLY * n:
            array, root, n = array[live], root[live], len(live)
        step = max(1, min(n, max(p, (HALVES if single else BLOCK) // max(p, 1))))
        total, scaled = np.zeros((p, p)), self._room((step, p), single=single)
        root = root.astype(scaled.dtype)
        for i in range(0, n, step):
            part = scaled[: min(step, n - i)]
            part[...] = array[i : i + step]
            if not even:
                part *= root[i : i + step, None]
            total += part.T @ part
        return h[0] * total if even else total

    def _by_lines(self, h: Vector) -> bool:
        """Are columns multiplied by a loop of ours, all rows of each?"""
        array = self.array
        if array.size < LEAST or not array.flags.forc or array.dtype != np.float64 or not narrow():
            return False
        return not few(h, 1.0 / MOSTLY)

    def weighted_outer(self, d: Vector, *, single: bool = False) -> Matrix:
        n, p = self.shape
        array, root = self.array, np.sqrt(d)
        live = np.flatnonzero(d)
        if len(live) < MOSTLY * p:
            array, root, p = array[:, live], root[live], len(live)
        step = max(1, min(p, max(n, 4 * BLOCK // max(n, 1))))
        total, scaled = np.zeros((n, n)), self._room((n, step), single=single)
        root = root.astype(scaled.dtype)
        for j in range(0, p, step):
            part = scaled[:, : min(step, p - j)]
            part[...] = array[:, j : j + step]
            part *= root[j : j + step]
            total += part @ part.T
        return total

    def _room(self, shape: tuple[int, int], *, single: bool) -> Matrix:
        """For a copy that is stored like the array: across its lines a copy took a third longer."""
        order: Literal["F", "C"] = "F" if self.array.flags.f_contiguous else "C"
        return np.empty(shape, dtype=np.float32 if single else np.float64, order=order)

    def weighted_square_norms(self, a: Vector) -> Vector:
        if a.size and np.all(a == a[0]):  # a third faster, and the usual case
            return np.asarray(np.einsum("ij,ij->j", self.array, self.array) * a[0])
        return np.asarray(np.einsum("ij,ij,i->j", self.array, self.array, a))

    def rows(self, which: Index | Mask) -> Dense:
        numbers = isinstance(which, np.ndarray) and which.dtype != bool  # else a mask, or a slice
        if self.array.flags.f_contiguous and numbers:  # column by column, half the time
            return Dense(np.take(self.array.T, which, axis=1).T)
        return Dense(self.array[which])

    def row_marks(self) -> Vector:
        n, p = self.shape
        marks = np.zeros(n)
        # sums of single numbers, not a product: equal rows get equal marks to the last bit
        for factor, j in zip(MARKS, np.linspace(0, p - 1, num=min(len(MARKS), p)).astype(int), strict=False):
            marks += factor * self.array[:, j]
        return marks

    def same_rows(self, left: Index, right: Index) -> Mask:
        same = np.ones(len(left), dtype=bool)
        for part in self._blocks(len(left)):
            same[part] = (self.array[left[part]] == self.array[right[part]]).all(axis=1)
        return same

    def columns(self, which: Index | Mask) -> Dense:
        return Dense(self.array[:, which])

    def toarray(self) -> Matrix:
        return self.array
