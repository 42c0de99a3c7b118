"""A matrix with a column of ones behind it, not stored."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dualgap.arrays import Index, Mask, Matrix, Vector
from dualgap.design.base import Design, ScaledSparse, Wrapped
from dualgap.proof.rows import Rows


@dataclass(frozen=True, eq=False)
class WithOnes(Wrapped):
    """[X, 1]: the last coordinate of w is the intercept."""

    inner: Design

    @property
    def shape(self) -> tuple[int, int]:
        n, p = self.inner.shape
        return n, p + 1

    @property
    def matrix(self) -> Any:
        return self.inner.matrix

    @property
    def measured(self) -> Rows | None:
        return self.inner.measured

    @property
    def features(self) -> Design:
        return self.inner

    @property
    def sparse(self) -> ScaledSparse | None:
        found = self.inner.sparse
        if found is None or len(found.scale) > found.matrix.shape[1]:
            return None
        return ScaledSparse(found.matrix, np.append(found.scale, 1.0))

    def thinned(self) -> Design:
        return WithOnes(self.inner.thinned())

    @property
    def stored(self) -> int:
        return self.inner.stored + self.inner.shape[0]

    def matvec(self, w: Vector) -> Vector:
        return np.asarray(self.inner.matvec(w[:-1]) + w[-1])

    def matvecs(self, weights: Matrix) -> Matrix:
        found = self.inner.matvecs(weights[:, :-1])
        found += weights[:, -1:]
        return found

    def transpose_matvec(self, theta: Vector) -> Vector:
        return np.append(self.inner.transpose_matvec(theta), theta.sum())

    def transpose_matvecs(self, thetas: Matrix) -> Matrix:
        return np.column_stack([self.inner.transpose_matvecs(thetas), thetas.sum(axis=1)])

    def curved(self, h: Vector, w: Vector, shift: float = 0.0) -> tuple[Vector, float]:
        pull, total = self.inner.curved(h, w[:-1], shift + float(w[-1]))
        return np.append(pull, total), total

    def across(self, d: Vector, theta: Vector) -> Vector:
        return np.asarray(self.inner.across(d[:-1], theta) + d[-1] * theta.sum())

    def absolute_transpose_matvec(self, theta: Vector) -> Vector:
        return np.append(self.inner.absolute_transpose_matvec(theta), theta.sum())

    def weighted_gram(self, h: Vector, *, single: bool = False) -> Matrix:
        p = self.inner.shape[1]
        total = np.empty((p + 1, p + 1))
        total[:p, :p] = self.inner.weighted_gram(h, single=single)
        total[:p, p] = total[p, :p] = self.inner.transpose_matvec(h)
        total[p, p] = h.sum()
        return total

    def weighted_outer(self, d: Vector, *, single: bool = False) -> Matrix:
        return np.asarray(self.inner.weighted_outer(d[:-1], single=single) + d[-1])

    def weighted_square_norms(self, a: Vector) -> Vector:
        return np.append(self.inner.weighted_square_norms(a), a.sum())

    def row_square_norms(self) -> Vector:
        return self.inner.row_square_norms() + 1.0

    def rough(self) -> WithOnes:
        return WithOnes(self.inner.rough())

    def rows(self, which: Index | Mask) -> WithOnes:
        return WithOnes(self.inner.rows(which))

    def columns(self, which: Index | Mask) -> Design:
        p = self.inner.shape[1]
        index = np.arange(p + 1)[which]
        if len(index) and index[-1] == p:
            return WithOnes(self.inner.columns(index[:-1]))
        if np.any(index == p):
            raise ValueError("the column of ones must stay the last one")
        return self.inner.columns(index)

    def fill_transposed(self, out: Matrix) -> None:
        self.inner.fill_transposed(out[:-1])
        out[-1] = 1.0

    def toarray(self) -> Matrix:
        inner = self.inner.toarray()
        return np.column_stack([inner, np.ones(len(inner))])
