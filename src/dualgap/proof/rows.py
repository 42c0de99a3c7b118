"""The rows as they were given, NumPy's array or SciPy's sparse matrix, and products that know their error."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from dualgap.arrays import Index, Matrix, Vector
from dualgap.proof.rounding import FEW, LEAST, gamma, lost, summed, two_product

BLOCK = 4096  # rows a partial sum runs over: the bound on its rounding stays below 1e-12 for any number of rows
FEWER = 3  # where one weight in so many is not zero, those columns alone are read
CELLS = 1 << 17  # numbers split at a time: what is made of them stays in the cache


class Rows:
    """X. Every product comes with a number that its error is at most."""

    def __init__(self, matrix: Any) -> None:
        self.matrix = matrix
        self.sparse = hasattr(matrix, "indptr")
        self.n, self.p = int(matrix.shape[0]), int(matrix.shape[1])

    @cached_property
    def tops(self) -> Vector:
        """The largest |x| of each column."""
        if not self.sparse:
            if not self.n:
                return np.zeros(self.p)
            return np.maximum(self.matrix.max(axis=0), -self.matrix.min(axis=0)).astype(np.float64)
        tops, size = np.zeros(self.p), np.abs(self.matrix.data)
        if self.matrix.format == "csc":
            some = np.flatnonzero(np.diff(self.matrix.indptr))
            if len(some):
                tops[some] = np.maximum.reduceat(size, self.matrix.indptr[some])
        else:
            np.maximum.at(tops, self.matrix.indices, size)
        return tops

    @cached_property
    def widest(self) -> int:
        """The most terms of a row."""
        if not self.sparse or self.matrix.format == "csc":
            return self.p
        return int(np.diff(self.matrix.indptr).max(initial=0))

    def times(self, w: Vector, *, exact: bool = False) -> tuple[Vector, Vector, float]:
        """Xw as a value and a correction, and the error of their sum."""
        support = np.flatnonzero(w)
        terms, size = min(self.widest, len(support)), float(self.tops[support] @ np.abs(w[support]))
        if exact:
            value, low, share = self._times_exactly(support, w[support])
            return value, low, (share * size + terms * 8.0 * LEAST) * (1.0 + FEW)
        if FEWER * len(support) <= len(w) and (not self.sparse or self.matrix.format == "csc"):
            value = self.matrix[:, support] @ w[support]
        else:
            value = self.matrix @ w
        error = (gamma(terms + 1) * size + terms * LEAST) * (1.0 + FEW)
        return np.asarray(value, dtype=np.float64), np.zeros(1), error

    def against(self, theta: Vector, *, exact: bool = False) -> tuple[Vector, Vector]:
        """Xᵀθ, and the error of each of its entries."""
        live = np.flatnonzero(theta)
        size = float(np.abs(theta).sum())
        if exact:
            value, share = self._against_exactly(live, theta[live])
            error = share * size * self.tops + FEW * np.abs(value) + len(live) * 8.0 * LEAST
            return value, error * (1.0 + FEW)
        if self.sparse:
            value, terms = self.matrix.T @ theta, len(live)
        else:
            value, terms = self._against_blocks(live, theta)
        error = (gamma(terms + 1) * size * self.tops + terms * LEAST) * (1.0 + FEW)
        return np.asarray(value, dtype=np.float64), error

    def _against_blocks(self, live: Index, theta: Vector) -> tuple[Vector, int]:
        X = self.matrix
        if FEWER * len(live) <= self.n:
            X, theta = X[live], theta[live]
        if len(theta) <= BLOCK:
            return theta @ X, len(live)
        starts = range(0, len(theta), BLOCK)
        parts = np.array([theta[i : i + BLOCK] @ X[i : i + BLOCK] for i in starts])
        return parts.sum(axis=0), BLOCK + len(starts)

    def times_many(self, weights: Matrix) -> tuple[Matrix, Vector]:
        """Xw for every row of weights, a row each, and the error of each row."""
        value = np.asarray((self.matrix @ weights.T).T, dtype=np.float64)
        terms = min(self.widest, weights.shape[1])
        size = np.abs(weights) @ self.tops * (1.0 + gamma(self.p))
        return value, (gamma(terms + 1) * size + terms * LEAST) * (1.0 + FEW)

    def against_many(self, thetas: Matrix) -> tuple[Matrix, Matrix]:
        """Xᵀθ for every row of θ, a row each, and the error of each entry."""
        size = np.abs(thetas).sum(axis=1)[:, None] * (1.0 + FEW)
        if self.sparse:
            value, terms = (self.matrix.T @ thetas.T).T, self.n
        else:
            starts = range(0, self.n, BLOCK)
            parts = [thetas[:, i : i + BLOCK] @ self.matrix[i : i + BLOCK] for i in starts]
            value, terms = np.sum(parts, axis=0), min(BLOCK, self.n) + len(parts)
        error = (gamma(terms + 1) * size * self.tops + terms * LEAST) * (1.0 + FEW)
        return np.asarray(value, dtype=np.float64), error

    def lengths(self, a: Vector) -> Vector:
        """√(Σ a x²) of each column, from above."""
        if not self.sparse:
            squares = np.einsum("ij,ij,i->j", self.matrix, self.matrix, a)
        else:
            squares = self.matrix.multiply(self.matrix).T @ a
        return np.asarray(np.sqrt(squares * (1.0 + gamma(self.n + 4)) + self.n * LEAST), dtype=np.float64)

    def columns(self, which: Index) -> Matrix:
        """Some columns as an array."""
        part = self.matrix[:, which]
        return np.asarray(part.toarray() if self.sparse else part, dtype=np.float64)

    def _times_exactly(self, support: Index, w: Vector) -> tuple[Vector, Vector, float]:
        if self.sparse:
            value = _extended(self.matrix[:, support].tocsr(), w)
            high = value.astype(np.float64)
            return high, (value - high).astype(np.float64), _extended_share(self.widest)
        high, low = np.zeros(self.n), np.zeros(self.n)
        for part in _parts(self.n, len(support)):
            high[part], low[part] = _dots(self.matrix[part][:, support].T, w)
        return high, low, lost(len(support))

    def _against_exactly(self, live: Index, theta: Vector) -> tuple[Vector, float]:
        if self.sparse:
            value = _extended(self.matrix.tocsr()[live].T.tocsr(), theta)
            return value.astype(np.float64), _extended_share(len(live))
        value = np.zeros(self.p)
        for part in _parts(self.p, len(live)):
            high, low = _dots(self.matrix[:, part][live], theta)
            value[part] = high + low
        return value, lost(len(live))


def _dots(table: Matrix, w: Vector) -> tuple[Vector, Vector]:
    """wᵀ table as a value and a correction."""
    value, error = two_product(np.asarray(table, dtype=np.float64), w[:, None])
    high, low = summed(value)
    return high, low + error.sum(axis=0)


def _parts(count: int, terms: int) -> list[slice]:
    step = max(1, CELLS // max(terms, 1))
    return [slice(i, i + step) for i in range(0, count, step)]


def _extended(matrix: Any, w: Vector) -> Any:
    """Row by row Σ x w in the longest format of the machine."""
    value = np.zeros(matrix.shape[0], dtype=np.longdouble)
    some = np.flatnonzero(np.diff(matrix.indptr))
    if len(some):
        terms = matrix.data.astype(np.longdouble) * w[matrix.indices]
        value[some] = np.add.reduceat(terms, matrix.indptr[some])
    return value


def _extended_share(terms: int) -> float:
    return 2.0 * (terms + 2) * float(np.finfo(np.longdouble).eps)
