"""A matrix seen through centred and scaled columns, (X − 1·centreᵀ)/scale, without a copy of it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dualgap.arrays import Index, Mask, Matrix, Vector
from dualgap.design.base import Design, ScaledSparse, Wrapped
from dualgap.design.compressed import Compressed


@dataclass(frozen=True, eq=False)
class Standardised(Wrapped):
    """Products cost one pass over X and O(n + p) more.

    Gram matrices are corrected by rank two, which loses (centre/scale)² digits: `precondition` uses
    this class only where that ratio is small, and copies the matrix where it is not.
    """

    inner: Design
    centre: Vector
    scale: Vector

    @property
    def shape(self) -> tuple[int, int]:
        return self.inner.shape

    @property
    def sparse(self) -> ScaledSparse | None:
        found = None if self.centred else self.inner.sparse
        if found is None or len(found.scale) > len(self.scale):
            return None
        return ScaledSparse(found.matrix, found.scale / self.scale)

    @property
    def stored(self) -> int:
        return self.inner.stored

    @cached_property
    def centred(self) -> bool:
        """Is any column moved?"""
        return bool(self.centre.any())

    def matvec(self, w: Vector) -> Vector:
        inside = w / self.scale
        along = self.inner.matvec(inside)
        return np.asarray(along - self.centre @ inside) if self.centred else along

    def matvecs(self, weights: Matrix) -> Matrix:
        inside = weights / self.scale
        along = self.inner.matvecs(inside)
        if self.centred:
            along -= (inside @ self.centre)[:, None]
        return along

    def transpose_matvec(self, theta: Vector) -> Vector:
        pull = self.inner.transpose_matvec(theta)
        if self.centred:
            pull = pull - self.centre * theta.sum()
        return np.asarray(pull / self.scale)

    def transpose_matvecs(self, thetas: Matrix) -> Matrix:
        pulls = self.inner.transpose_matvecs(thetas)
        if self.centred:
            pulls -= thetas.sum(axis=1)[:, None] * self.centre
        pulls /= self.scale
        return pulls

    def curved(self, h: Vector, w: Vector, shift: float = 0.0) -> tuple[Vector, float]:
        inside = w / self.scale
        pull, total = self.inner.curved(h, inside, shift - float(self.centre @ inside))
        if self.centred:
            pull = pull - total * self.centre
        return np.asarray(pull / self.scale), total

    def across(self, d: Vector, theta: Vector) -> Vector:
        if self.centred:
            return super().across(d, theta)
        return self.inner.across(d / (self.scale * self.scale), theta)

    def absolute_transpose_matvec(self, theta: Vector) -> Vector:
        size = self.inner.absolute_transpose_matvec(theta) + np.abs(self.centre) * theta.sum()
        return np.asarray(size / self.scale)

    def weighted_gram(self, h: Vector, *, single: bool = False) -> Matrix:
        gram = self.inner.weighted_gram(h, single=single)
        if self.centred:
            along = self.inner.transpose_matvec(h) - 0.5 * h.sum() * self.centre
            gram -= np.outer(self.centre, along)
            gram -= np.outer(along, self.centre)
        gram /= self.scale
        gram /= self.scale[:, None]
        return gram

    def weighted_outer(self, d: Vector, *, single: bool = False) -> Matrix:
        inside = d / (self.scale * self.scale)
        outer = self.inner.weighted_outer(inside, single=single)
        if self.centred:
            pull = inside * self.centre
            along = self.inner.matvec(pull) - 0.5 * float(pull @ self.centre)
            outer -= along
            outer -= along[:, None]
        return outer

    def weighted_square_norms(self, a: Vector) -> Vector:
        square = self.inner.weighted_square_norms(a)
        if self.centred:
            square = square - self.centre * (2 * self.inner.transpose_matvec(a) - a.sum() * self.centre)
        return np.asarray(np.maximum(square, 0.0) / (self.scale * self.scale))

    def row_square_norms(self) -> Vector:
        if isinstance(self.inner, Compressed) and not self.centred:
            return self.inner.scaled(1.0 / self.scale).row_square_norms()
        return super().row_square_norms()

    def rough(self) -> Standardised:
        return Standardised(self.inner.rough(), self.centre, self.scale)

    def rows(self, which: Index | Mask) -> Standardised:
        return Standardised(self.inner.rows(which), self.centre, self.scale)

    def columns(self, which: Index | Mask) -> Standardised:
        return Standardised(self.inner.columns(which), self.centre[which], self.scale[which])

    def fill_transposed(self, out: Matrix) -> None:
        self.inner.fill_transposed(out)
        for line, centre, scale in zip(out, self.centre, self.scale, strict=True):  # stays in the cache
            line -= centre
            line /= scale

    def toarray(self) -> Matrix:
        array = self.inner.toarray() - self.centre
        array /= self.scale
        return array
