"""The rows as Newton steps read them: in 4-byte numbers, classes along the first axis.

W is classes × columns; Z, P and T are classes × rows, so that a softmax runs along rows of numbers (with the
classes last it took twice as long at 20000 × 20 × 20). Steps are rounded to 1e-7, and corrected by gradients
in 8-byte numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp
from scipy.linalg import blas

from dualgap.arrays import Index, Mask, Matrix, Vector
from dualgap.design import Design
from dualgap.linalg.cholesky import rough_cholesky

BLOCK = 1 << 16  # numbers of a block of rows: with what is made of them they stay in the cache
FEW, BROAD = 6, 50  # lines that are multiplied one by one with so many columns or more
LEAST = 256  # rows of a block: shorter ones cost more calls than they save reads
PER_COLUMN, FEWEST = 8, 1500  # rows that a metric is made of: more changed no count of products on digits
MOVED = (
    1.35  # a metric is made anew when the mean curvature is this many times what it was, or less: a choice
)
ALIKE, RAREST = 2.0, 1e-3  # times that curvatures between classes differ within a group; their least
EXPONENTIALS = 100  # columns of which a product costs more than the exponentials: with 50 it was even
WIDEST = 3000  # columns, or rows, up to which a metric is factored: 9e9 operations, a second
FLOOR = 1e-6  # share of the mean diagonal added to a factored metric: 4-byte products round to 1e-7
FAINT = 1e-12  # of a diagonal: no division by zero where a row's class is sure

Metric = Callable[[Any], Any]


class RoughTable(Protocol):
    """What a Newton step asks of the rows."""

    @property
    def shape(self) -> tuple[int, int]:
        """Rows, and columns with that of ones."""

    def scores(self, W: Any) -> Any:
        """W Xᵀ."""

    def pull(self, T: Any) -> Any:
        """T X."""

    def curved(self, P: Any, weighted: Any, V: Any) -> Any:
        """(T ∘ weighted) X for T = V Xᵀ less its mean under P, row by row: a Hessian times V."""

    @property
    def broad(self) -> bool:
        """Does a product cost more than the exponentials of its scores?"""

    def columns(self, which: Index) -> Any:
        """Some columns as an array."""

    def every(self, step: int) -> RoughTable:
        """One row in `step`."""

    def metric(self, P: Any, a: Any, R: Any) -> Metric:
        """Nearly the inverse of the Hessian and R: r, classes × columns, to what a step is made of."""


def table_of(design: Design) -> RoughTable:
    """The design, copied once."""
    found = design.sparse
    if found is None:
        return DenseTable(_single(design))
    matrix = found.matrix.scaled(found.scale[: found.matrix.shape[1]]).by_rows
    if len(found.scale) > matrix.shape[1]:
        matrix = sp.hstack([matrix, np.full((matrix.shape[0], 1), found.scale[-1])], format="csr")
    return SparseTable(sp.csr_array(matrix, dtype=np.float32))


def _single(design: Design) -> Any:
    n, q = design.shape
    copy = np.empty((n, q), dtype=np.float32)
    for part in blocks(n, q):
        copy[part] = design.rows(part).toarray()  # type: ignore[arg-type]  # a slice is an index
    return copy


def blocks(n: int, width: int) -> Iterator[slice]:
    """Rows in parts that stay in the cache."""
    step = max(LEAST, BLOCK // max(width, 1))
    return (slice(i, min(i + step, n)) for i in range(0, n, step))


def mean_curvature(P: Any, a: Any) -> Any:
    """(1 − Σ_k p²)/(K − 1), row by row: the mean over the classes' curvature that one metric has for all."""
    spread = 1.0 - np.einsum("kn,kn->n", P, P)
    return np.maximum(a * spread / (len(P) - 1), 0.0)


@dataclass(frozen=True, eq=False)
class DenseTable(RoughTable):
    """Products by BLAS, a block of rows at a time."""

    X: Any
    _kept: dict[str, Any] = field(default_factory=dict)  # the last metric's matrix, for other strengths

    @property
    def shape(self) -> tuple[int, int]:
        return self.X.shape[0], self.X.shape[1]

    def scores(self, W: Any) -> Any:
        return _across(W, self.X, np.empty((len(W), len(self.X)), dtype=np.float32))

    def pull(self, T: Any) -> Any:
        return _along(T, self.X)

    def curved(self, P: Any, weighted: Any, V: Any) -> Any:
        out = np.zeros_like(V)
        parts = list(blocks(len(self.X), max(V.shape)))
        room = np.empty((2, len(V), parts[0].stop if parts else 0), dtype=np.float32)
        for part in parts:
            X, Q = self.X[part], P[:, part]
            T, U = room[0, :, : Q.shape[1]], room[1, :, : Q.shape[1]]
            _across(V, X, T)
            np.multiply(T, Q, out=U)
            T -= U.sum(axis=0)
            T *= weighted[:, part]
            out += _along(T, X)
        return out

    @property
    def broad(self) -> bool:
        return bool(self.X.shape[1] >= EXPONENTIALS)

    def columns(self, which: Index) -> Any:
        return self.X[:, which]

    def every(self, step: int) -> DenseTable:
        return DenseTable(self.X[::step])

    def metric(self, P: Any, a: Any, R: Any) -> Metric:
        n, q = self.shape
        if min(n, q) > WIDEST:
            return _diagonal(self._squares(P, a), R)
        h = mean_curvature(P, a)
        level = float(h.sum(dtype=np.float64))
        kept = self._kept
        if not kept or not 1.0 / MOVED <= level / max(kept["level"], 1e-300) <= MOVED:
            kept.update(level=level, gram=self._gram(h) if q <= n else None, h=h)
        if q > n:
            return self._through_rows(kept["h"], R)
        return _by_classes(kept["gram"], np.asarray(P @ a, dtype=np.float64), R)

    def _gram(self, h: Any) -> Any:
        n, q = self.shape
        step = max(1, n // max(PER_COLUMN * q, FEWEST))
        X, root = self.X[::step], np.sqrt(h[::step] * step)
        total = np.zeros((q, q), dtype=np.float32)
        for part in blocks(len(X), q // 4):
            scaled = X[part] * root[part, None]
            total += scaled.T @ scaled
        return total

    def _through_rows(self, h: Any, R: Any) -> Metric:
        """(XᵀhX + R)⁻¹ by the matrix of the rows, where these are fewer; what is free gets a small price."""
        root = np.sqrt(h)
        free = R <= 0.0
        size = float(h.sum()) or 1.0
        price = np.where(free, FLOOR * size, R).astype(np.float32)
        scaled = self.X * root[:, None]
        inner = scaled / price @ scaled.T
        inner.flat[:: len(inner) + 1] += 1.0
        solve = _by_rows(rough_cholesky(inner))

        def apply(r: Any) -> Any:
            first = r / price
            return first - solve(first @ scaled.T) @ scaled / price

        return apply

    def _squares(self, P: Any, a: Any) -> Any:
        weights = P * (1.0 - P) * a
        out = np.zeros((len(P), self.shape[1]), dtype=np.float32)
        for part in blocks(len(self.X), self.shape[1]):
            out += weights[:, part] @ np.square(self.X[part])
        return out


@dataclass(frozen=True, eq=False)
class SparseTable(RoughTable):
    """Products row by row; W and what is like it is kept a column's classes together."""

    X: sp.csr_array

    @property
    def shape(self) -> tuple[int, int]:
        return self.X.shape[0], self.X.shape[1]

    @cached_property
    def _turned(self) -> Any:
        return self.X.T

    def scores(self, W: Any) -> Any:
        return np.ascontiguousarray((self.X @ np.ascontiguousarray(W.T)).T)

    def pull(self, T: Any) -> Any:
        return (self._turned @ np.ascontiguousarray(T.T)).T

    def curved(self, P: Any, weighted: Any, V: Any) -> Any:
        T = self.scores(V)
        T -= (T * P).sum(axis=0)
        T *= weighted
        return self.pull(T)

    @property
    def broad(self) -> bool:
        return False

    def columns(self, which: Index) -> Any:
        return self.X[:, which].toarray()

    def every(self, step: int) -> SparseTable:
        return SparseTable(sp.csr_array(self.X[::step]))

    def metric(self, P: Any, a: Any, R: Any) -> Metric:
        squared = sp.csr_array((self.X.data**2, self.X.indices, self.X.indptr), shape=self.X.shape)
        weights = np.ascontiguousarray((P * (1.0 - P) * a).T)
        return _diagonal((squared.T @ weights).T, R)


def _across(V: Any, X: Any, out: Any) -> Any:
    """V Xᵀ; of few lines one by one, which is twice as fast as together."""
    if len(V) > FEW or X.shape[1] < BROAD:
        return np.matmul(V, X.T, out=out)
    for v, line in zip(V, out, strict=True):
        np.dot(X, v, out=line)
    return out


def _along(T: Any, X: Any) -> Any:
    """T X, likewise."""
    if len(T) > FEW or X.shape[1] < BROAD:
        return T @ X
    out = np.empty((len(T), X.shape[1]), dtype=X.dtype)
    for t, line in zip(T, out, strict=True):
        np.dot(t, X, out=line)
    return out


def _diagonal(squares: Any, R: Any) -> Metric:
    squares += R
    squares += FAINT * float(squares.max(initial=1.0))
    return lambda r: r / squares


def _by_classes(gram: Any, shares: Vector, R: Any) -> Metric:
    """(Σ_j s_j u_j u_jᵀ ⊗ gram + R)⁻¹ for the eigenvalues s and vectors u of diag c − ccᵀ, the curvature
    between classes with shares c: that of rare ones is little. Where s are alike they share a factor. What
    moves all classes alike has none, and takes the mean.
    """
    sizes, turn = np.linalg.eigh(np.diag(shares) - np.outer(shares, shares))
    sizes *= (len(sizes) - 1) / max(float(sizes.sum()), 1e-300)
    sizes[0] = 1.0
    q, floor = len(gram), FLOOR * float(np.trace(gram)) / len(gram)
    parts = []
    for group in _alike(sizes):
        size = max(float(sizes[group].mean()), RAREST)
        matrix = np.float32(size) * gram
        matrix.flat[:: q + 1] += R + size * floor
        parts.append((turn[:, group].astype(np.float32), _by_rows(rough_cholesky(matrix))))
    if len(parts) == 1:
        return parts[0][1]

    def apply(r: Any) -> Any:
        total = np.zeros_like(r)
        for U, solve in parts:
            total += U @ solve(U.T @ r)
        return total

    return apply


def _alike(sizes: Any) -> list[Index]:
    """Where the sizes are, by size, those together that are within a factor ALIKE."""
    groups: list[list[int]] = []
    for k in np.argsort(sizes).tolist():
        if not groups or sizes[k] > ALIKE * max(sizes[groups[-1][0]], RAREST):
            groups.append([])
        groups[-1].append(k)
    return [np.array(group) for group in groups]


def _by_rows(solve: Metric) -> Metric:
    return lambda r: solve(r.T).T


SMALL = 5000  # numbers [p_k ∘ x_j] made at once: 2250 (iris) in six tenths of the time, 7500 in all of it
PAIRS = 1 << 19  # numbers of a block of [p_k ∘ x_j]: 2 MiB in 4-byte numbers


def hessian(X: Any, a: Vector, P: Matrix, classes: Index | None = None, columns: Index | None = None) -> Any:
    """On the coordinates (class, column) given, sorted by class, or on all; in the precision of X.

    −BᵀB for B = [√a p_k ∘ x_j] by one product of a matrix with itself; the blocks of a class with itself
    anew, from p(1 − p) in 8-byte numbers: where a row's class is nearly sure, p − p² would be rounding.
    """
    n, q = X.shape
    K = len(P)
    if classes is None or columns is None:
        if n * K * q <= SMALL:
            return _in_one(X, a, P)
        classes, columns = np.repeat(np.arange(K), q), np.tile(np.arange(q), K)
    size, bounds = len(classes), np.searchsorted(classes, np.arange(K + 1))
    total = np.zeros((size, size), dtype=X.dtype, order="F")
    own = [np.zeros((high - low,) * 2, dtype=X.dtype) for low, high in pairwise(bounds)]
    syrk = blas.ssyrk if X.dtype == np.float32 else blas.dsyrk
    root = np.sqrt(a).astype(X.dtype)
    step = max(LEAST, PAIRS // max(size, 1))
    for i in range(0, n, step):
        part = slice(i, i + step)
        scaled, p = np.ascontiguousarray(X[part].T * root[part]), P[:, part]
        B = scaled[columns]
        curved = (p * (1.0 - p)).astype(X.dtype)
        for k, (low, high) in enumerate(pairwise(bounds)):
            own[k] += (B[low:high] * curved[k]) @ B[low:high].T
        B *= p.astype(X.dtype)[classes]
        total = syrk(-1.0, B.T, beta=1.0, c=total, trans=1, lower=1, overwrite_c=1)
    for block, (low, high) in zip(own, pairwise(bounds), strict=True):
        total[low:high, low:high] = block
    total = np.tril(total)
    total += np.tril(total, -1).T
    return total


def _in_one(X: Any, a: Vector, P: Matrix) -> Any:
    """The same of all coordinates, few rows in few calls."""
    columns, K, q = X.T, len(P), X.shape[1]
    B = (P[:, None, :] * columns).reshape(K * q, -1)
    total = (B * -a) @ B.T
    own = ((a * P * (1.0 - P))[:, None, :] * columns) @ X
    total.reshape(K, q, K, q)[np.arange(K), :, np.arange(K), :] = own
    return total.astype(X.dtype, copy=False)


def pin_shift(system: Any, classes: int, free: Mask) -> None:
    """The same shift of a free column in all classes changes nothing; give it curvature, so that it stays."""
    blocks = system.reshape(classes, -1, classes, len(system) // classes)
    mean = system.diagonal().reshape(classes, -1).mean(axis=0)
    for j in np.flatnonzero(free.reshape(classes, -1)[0]):
        blocks[:, j, :, j] += mean[j] / classes
