"""The rows as they were given, NumPy's array or SciPy's sparse matrix, and products that know their error."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dualgap.arrays import Index, Matrix, Vector, once, sampled
from dualgap.proof.rounding import FEW, LEAST, U, gamma, lost, summed, two_product

BLOCK = 1024  # rows of a partial sum: with 4096 rounding alone was 1e-6 of huber with l1, a column times 100
FEWER = 3  # where one weight in so many is not zero, those columns alone are read
SHORT = 1 << 15  # rows up to which those of a sparse column are not counted, which takes as long as θX
WIDE = 1024  # numbers: a maximum over the rows of a table with rows this long loses no time between rows
CELLS = 1 << 17  # numbers split at a time: what is made of them stays in the cache


class Rows:
    """X, in 8-byte numbers. Every product comes with a number that its error is at most.

    That is gamma of the roundings a term sees (`exact`: far less) times Σ|x||y|, for which the largest |x| of
    each column stands, and LEAST for every product that may underflow; FEW covers its own rounding.
    """

    def __init__(self, matrix: Any) -> None:
        self.sparse = hasattr(matrix, "indptr")
        self.matrix: Any = _stored_once(matrix) if self.sparse else np.asarray(matrix, dtype=np.float64)
        self.n, self.p = int(matrix.shape[0]), int(matrix.shape[1])
        self._ahead: list[tuple[Vector, Vector]] = []
        self._back: list[tuple[Vector, Vector]] = []
        self._last: list[tuple[Vector, Vector]] = []

    @once
    def tops(self) -> Vector:
        """The largest |x| of each column."""
        if not self.sparse:
            tops = np.zeros(self.p)
            along = self.matrix.flags.c_contiguous
            for part in _parts(self.n, self.p) if along else _parts(self.p, self.n):
                where = (part, slice(None)) if along else (slice(None), part)
                most, some = tops[where[1]], self.matrix[where]
                np.maximum(most, _largest(np.abs(some)) if along else _farthest(some), out=most)
            return tops
        tops, size = np.zeros(self.p), np.abs(self.matrix.data)
        if self.matrix.format == "csc":
            some = np.flatnonzero(np.diff(self.matrix.indptr))
            tops[some] = np.maximum.reduceat(size, self.matrix.indptr[some])
        else:
            np.maximum.at(tops, self.matrix.indices, size)
        return tops

    @property
    def stored(self) -> int:
        """How many numbers there are."""
        return int(self.matrix.size)

    @once
    def size(self) -> float:
        """‖X‖ = √(Σ x²) over all numbers, from above: one pass; `tops` take as long as three products."""
        return norm(self.matrix)

    @once
    def widest(self) -> int:
        """The most terms of a row."""
        return int(_filled(self.matrix, "csr").max(initial=0)) if self.sparse else self.p

    @once
    def tallest(self) -> int:
        """The most terms of a column."""
        return int(_filled(self.matrix, "csc").max(initial=0)) if self.sparse else self.n

    def times(self, w: Vector, *, exact: bool = False) -> tuple[Vector, Vector, float]:
        """Xw as a value and a correction, and the error of their sum."""
        support = w.nonzero()[0]
        size = float(self.tops[support] @ np.abs(w[support])) * (1.0 + gamma(len(support)))
        terms = min(self.widest, len(support))
        if exact:
            value, low, share = self._times_exactly(support, w[support])
            return value, low, (share * size + 8.0 * terms * LEAST) * (1.0 + FEW)
        error = (gamma(terms) * size + terms * LEAST) * (1.0 + FEW)
        return self._product(support, w), np.zeros(1), error

    def times_roughly(self, w: Vector) -> tuple[Vector, Vector, float]:
        """The same, where ‖x_i‖‖w‖ ≤ ‖X‖‖w‖ stands for Σ|x||w|, for the columns read: no look at each."""
        support, known = w.nonzero()[0], _known(self._ahead, w)
        terms, some = min(self.widest, len(support)), None if known is not None else self._read_apart(support)
        if some is None:
            value, size = self._kept_product(w) if known is None else known, self.size
        else:
            value, size = some @ w[support], norm(some)
        error = (gamma(terms) * (size * length(w)) + terms * LEAST) * (1.0 + FEW)
        return value, np.zeros(1), error

    def _product(self, support: Index, w: Vector) -> Any:
        some = self._read_apart(support)
        return self._times_all(w) if some is None else some @ w[support]

    def times_ahead(self, weights: Matrix) -> Matrix:
        """Xw for every row of weights, a row each, for who needs it before a proof does.

        It is kept in place of what was, and given out for the very numbers that it was made of.
        """
        own = weights.copy()
        value: Matrix = np.asarray(own @ self.matrix.T)
        value.flags.writeable = False
        self._ahead = list(zip(own, value, strict=True))
        return value

    def against_ahead(self, thetas: Matrix) -> None:
        """Xᵀθ for every row of θ, kept likewise."""
        own = thetas.copy()
        value = _in_blocks(own, self.matrix)[0]
        value.flags.writeable = False  # whoever is given it could change what the next one is given
        self._back = list(zip(own, value, strict=True))

    def foreseen(self, theta: Vector) -> Vector:
        """Xᵀθ of a dense table, kept likewise."""
        self.against_ahead(theta[None])
        return self._back[0][1]

    def _times_all(self, w: Vector) -> Any:
        known = _known(self._ahead, w)
        return self._kept_product(w) if known is None else known

    def _kept_product(self, w: Vector) -> Any:
        value = self.matrix @ w
        value.flags.writeable = False
        self._last = [(w.copy(), value)]
        return value

    def given_last(self, w: Vector) -> Vector | None:
        """Xw, where it was asked for last."""
        return _known(self._last, w)

    def _read_apart(self, support: Index) -> Any:
        """The columns of weights that are not zero, where these are few; None where all are read."""
        if FEWER * len(support) <= self.p and (not self.sparse or self.matrix.format == "csc"):
            return self.matrix[:, support]
        return None

    def against(self, theta: Vector, *, exact: bool = False) -> tuple[Vector, Vector]:
        """Xᵀθ, and the error of each of its entries."""
        live, size = _live(theta), float(np.abs(theta).sum()) * self.tops
        if exact:
            some = theta.nonzero()[0]
            value, share = self._against_exactly(some, theta[some])
            error = share * size + U * np.abs(value) + 8.0 * live * LEAST
            return value, error * (1.0 + FEW)
        value, roundings = self._products_with(live, theta)
        return value, (gamma(roundings) * size + min(self.tallest, live) * LEAST) * (1.0 + FEW)

    def against_roughly(self, theta: Vector) -> tuple[Vector, Vector]:
        """The same, where ‖X‖‖θ‖ stands for Σ|x||θ|, and some rows for those of a column: no look at each."""
        live = _live(theta)
        value, roundings = self._products_with(live, theta, rough=True)
        error = (gamma(roundings) * (self.size * length(theta)) + live * LEAST) * (1.0 + FEW)
        return value, np.full(self.p, error)

    def _products_with(self, live: int, theta: Vector, *, rough: bool = False) -> tuple[Vector, int]:
        """Xᵀθ, of which so many entries are not zero, and how often a term is rounded."""
        counted = not rough or not self.sparse or self.matrix.format == "csc" or self.n > SHORT
        terms, known = min(self.tallest, live) if counted else live, _known(self._back, theta)
        if known is not None:
            return known, min(self.n, BLOCK) + len(range(BLOCK, self.n, BLOCK))
        if self.sparse:
            return self.matrix.T @ theta, terms
        some: Any = theta.nonzero()[0] if FEWER * live <= self.n else slice(None)
        value, more = _in_blocks(theta[some], self.matrix[some])
        return value, min(terms, BLOCK) + more

    def times_many(self, weights: Matrix) -> tuple[Matrix, Vector]:
        """Xw for every row of weights, a row each, and the error of each row."""
        support = np.flatnonzero(weights.any(axis=0))
        if FEWER * len(support) <= self.p and len(weights) > FEWER and not self.sparse:
            value = np.asarray((self.matrix[:, support] @ weights[:, support].T).T)
        else:
            value = np.asarray((self.matrix @ weights.T).T)
        size = np.abs(weights) @ self.tops * (1.0 + gamma(self.p))
        return value, (gamma(self.widest) * size + self.widest * LEAST) * (1.0 + FEW)

    def against_many(self, thetas: Any) -> tuple[Matrix, Matrix]:
        """Xᵀθ for every row of θ, a row each, and the error of each entry."""
        thetas = np.asarray(thetas)
        size = np.abs(thetas).sum(axis=1)[:, None] * (1.0 + gamma(self.n)) * self.tops
        if self.sparse:
            value, roundings = np.asarray((self.matrix.T @ thetas.T).T), self.tallest
        else:
            value, more = _in_blocks(thetas, self.matrix)
            roundings = min(self.n, BLOCK) + more
        return value, (gamma(roundings) * size + self.tallest * LEAST) * (1.0 + FEW)

    def lengths(self, a: Vector, which: Index) -> Vector:
        """√(Σ a x²) of some columns in their order, from above, for weights a up to one.

        The sum rounds n + 1 times, what is made of it here at most seven times more.
        """
        part = self.matrix if len(which) == self.p else self.matrix[:, which]
        squares = part.multiply(part).T @ a if self.sparse else np.einsum("ij,ij,i->j", part, part, a)
        return np.asarray(np.sqrt(squares * (1.0 + gamma(self.n + 8)) + self.n * LEAST))

    def cells(self, run: slice, j: int) -> Any:
        """Some rows of a column."""
        part = self.matrix[run]
        return part[:, [j]].toarray()[:, 0] if self.sparse else part[:, j]

    def taken(self, run: slice) -> Rows:
        """Some rows."""
        return Rows(self.matrix[run])

    def columns(self, which: Index) -> Matrix:
        """Some columns as an array."""
        part = self.matrix[:, which]
        return np.asarray(part.toarray() if self.sparse else part)

    def _times_exactly(self, support: Index, w: Vector) -> tuple[Vector, Vector, float]:
        if self.sparse:
            value = _extended(self.matrix[:, support].tocsr(), w)
            high = value.astype(np.float64)
            return high, (value - high).astype(np.float64), _extended_share(self.widest)
        high, low = np.empty(self.n), np.empty(self.n)
        for part in _parts(self.n, len(support)):
            high[part], low[part] = _dots(self.matrix[part][:, support].T, w)
        return high, low, lost(len(support))

    def _against_exactly(self, live: Index, theta: Vector) -> tuple[Vector, float]:
        if self.sparse:
            value = _extended(self.matrix.tocsr()[live].T.tocsr(), theta)
            return value.astype(np.float64), _extended_share(len(live))
        value = np.empty(self.p)
        for part in _parts(self.p, len(live)):
            high, low = _dots(self.matrix[:, part][live], theta)
            value[part] = high + low
        return value, lost(len(live))


def _live(theta: Vector) -> int:
    """No more entries than that are not zero; they are counted where a sample has zeros."""
    some = sampled(theta)
    return len(theta) if np.count_nonzero(some) == len(some) else int(np.count_nonzero(theta))


def _known(kept: list[tuple[Vector, Vector]], asked: Vector) -> Vector | None:
    """What was made of the same numbers."""
    for own, made in kept:
        if own[0] == asked[0] and bool((own == asked).all()):
            return made
    return None


def _filled(matrix: Any, lines: str) -> Index:
    """How many places each row ("csr") or column ("csc") of a sparse matrix has."""
    counts = np.diff(matrix.indptr) if matrix.format == lines else np.bincount(matrix.indices)
    return np.asarray(counts)


def length(values: Vector) -> float:
    """√(Σ x²), from above."""
    return _root(float(values.dot(values)), len(values))  # `@` takes a microsecond longer


def norm(matrix: Any) -> float:
    """√(Σ x²) over all numbers, from above."""
    stored = matrix.data if hasattr(matrix, "indptr") else matrix
    if not stored.flags.forc:
        return _root(float(np.einsum("ij,ij->", stored, stored)), stored.size)
    flat = stored.ravel(order="K")
    return _root(float(flat.dot(flat)), stored.size)


def _root(squares: float, count: int) -> float:
    """The root of so many squares, added in any order, from above: they round once more, or underflow.

    A sum that is off by γ_k of the true one is off by no more than γ_2k of itself.
    """
    return math.sqrt(squares * (1.0 + gamma(2 * count + 8)) + count * LEAST)


def with_products(matrix: Any) -> Any:
    """The rows; those on a device come with products of their own that know their error."""
    return matrix if hasattr(matrix, "against_many") else Rows(matrix)


def last_product(rows: Any, w: Vector) -> Vector | None:
    """Xw, where a proof asked for it last, on a host; of its error nothing is said."""
    return rows.given_last(w) if hasattr(rows, "given_last") else None


def _stored_once(matrix: Any) -> Any:
    """A sparse matrix in 8-byte numbers, no place stored twice: or the largest |x| might be that of a sum."""
    matrix = matrix.astype(np.float64, copy=False)
    if not matrix.has_canonical_format:
        matrix = matrix.copy()
        matrix.sum_duplicates()
    return matrix


def _in_blocks(thetas: Matrix, X: Matrix) -> tuple[Matrix, int]:
    """θX by blocks of rows, and how often a term is rounded once its block is summed."""
    value, others = thetas[..., :BLOCK] @ X[:BLOCK], range(BLOCK, len(X), BLOCK)
    for i in others:
        value = value + thetas[..., i : i + BLOCK] @ X[i : i + BLOCK]
    return value, len(others)


def _farthest(table: Matrix) -> Matrix:
    """The largest |x| of each column, which lies in one piece: both ends, and no copy."""
    return np.asarray(np.maximum(table.max(axis=0, initial=0.0), -table.min(axis=0, initial=0.0)))


def _largest(table: Matrix) -> Vector:
    """The largest number ≥ 0 of each column: of narrow rows several at once, as one row of WIDE numbers."""
    n, p = table.shape
    several = min(WIDE // p, n) if p and table.flags.c_contiguous else 0
    if several > 1:
        whole = n // several * several
        wide = table[:whole].reshape(-1, several * p).max(axis=0)
        table = np.concatenate((wide.reshape(several, p), table[whole:]))
    return np.asarray(table.max(axis=0, initial=0.0))


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
    value[some] = np.add.reduceat(matrix.data.astype(np.longdouble) * w[matrix.indices], matrix.indptr[some])
    return value


def _extended_share(terms: int) -> float:
    """What that sum may be off by beside Σ|x||w|, kept as two doubles: twice a rounding a term, and U²."""
    return terms * float(np.finfo(np.longdouble).eps) + U * U
