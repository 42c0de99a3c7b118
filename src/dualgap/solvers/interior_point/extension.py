"""One unknown more than the weights and rows have: a row below the design, or a column beside it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from dualgap.arrays import Matrix, Vector


class Linear(Protocol):
    """What the linear system asks of the design."""

    @property
    def shape(self) -> tuple[int, int]:
        """(n, p)."""

    def matvec(self, w: Vector) -> Vector:
        """X w."""

    def transpose_matvec(self, theta: Vector) -> Vector:
        """Xᵀ θ."""

    def curved(self, h: Vector, w: Vector) -> tuple[Vector, float]:
        """Xᵀt and Σt for t = h ∘ Xw."""

    def across(self, d: Vector, theta: Vector) -> Vector:
        """X (d ∘ Xᵀθ)."""

    def weighted_gram(self, h: Vector) -> Matrix:
        """Xᵀ diag(h) X."""

    def weighted_outer(self, d: Vector) -> Matrix:
        """X diag(d) Xᵀ."""


@dataclass(frozen=True, eq=False)
class RowBelow:
    """[X; rᵀ]."""

    inner: Linear
    row: Vector

    @property
    def shape(self) -> tuple[int, int]:
        n, p = self.inner.shape
        return n + 1, p

    def matvec(self, w: Vector) -> Vector:
        return np.concatenate((self.inner.matvec(w), (self.row @ w,)))

    def transpose_matvec(self, theta: Vector) -> Vector:
        return self.inner.transpose_matvec(theta[:-1]) + float(theta[-1]) * self.row

    def curved(self, h: Vector, w: Vector) -> tuple[Vector, float]:
        pull, total = self.inner.curved(h[:-1], w)
        last = float(h[-1] * (self.row @ w))
        return pull + last * self.row, total + last

    def across(self, d: Vector, theta: Vector) -> Vector:
        return self.matvec(d * self.transpose_matvec(theta))

    def weighted_gram(self, h: Vector) -> Matrix:
        return self.inner.weighted_gram(h[:-1]) + np.outer(h[-1] * self.row, self.row)

    def weighted_outer(self, d: Vector) -> Matrix:
        scaled = d * self.row
        return _bordered(self.inner.weighted_outer(d), self.inner.matvec(scaled), float(self.row @ scaled))


@dataclass(frozen=True, eq=False)
class ColumnBeside:
    """[X, c]."""

    inner: Linear
    column: Vector

    @property
    def shape(self) -> tuple[int, int]:
        n, p = self.inner.shape
        return n, p + 1

    def matvec(self, w: Vector) -> Vector:
        return self.inner.matvec(w[:-1]) + float(w[-1]) * self.column

    def transpose_matvec(self, theta: Vector) -> Vector:
        return np.concatenate((self.inner.transpose_matvec(theta), (self.column @ theta,)))

    def curved(self, h: Vector, w: Vector) -> tuple[Vector, float]:
        t = h * self.matvec(w)
        return self.transpose_matvec(t), float(t.sum())

    def across(self, d: Vector, theta: Vector) -> Vector:
        return self.inner.across(d[:-1], theta) + float(d[-1] * (self.column @ theta)) * self.column

    def weighted_gram(self, h: Vector) -> Matrix:
        scaled = h * self.column
        side = self.inner.transpose_matvec(scaled)
        return _bordered(self.inner.weighted_gram(h), side, float(self.column @ scaled))

    def weighted_outer(self, d: Vector) -> Matrix:
        return self.inner.weighted_outer(d[:-1]) + np.outer(d[-1] * self.column, self.column)


def _bordered(block: Matrix, side: Vector, corner: float) -> Matrix:
    m = len(block)
    whole = np.empty((m + 1, m + 1))
    whole[:m, :m] = block
    whole[:m, m] = whole[m, :m] = side
    whole[m, m] = corner
    return whole


@dataclass(frozen=True, eq=False)
class Equations:
    """X Δw − δ/h = k and Xᵀδ + D Δw = rho, the extra unknown being among δ or Δw."""

    design: Linear
    h: Vector
    diagonal: Vector


class Extension:
    """How a regulariser's own unknown s enters the equations; as it is here, there is none."""

    def equations(self, design: Linear, h: Vector, diagonal: Vector) -> Equations:
        """The left side."""
        return Equations(design, h, diagonal)

    def right(self, k: Vector, rho: Vector, value: float) -> tuple[Vector, Vector]:
        """(k, rho), `value` being the right side of the unknown's own equation."""
        return k, rho

    def split(self, delta: Vector, dw: Vector) -> tuple[Vector, Vector, float]:
        """δ and Δw without it, and Δs."""
        return delta, dw, 0.0


@dataclass(frozen=True, eq=False)
class PriceRow(Extension):
    """s is a price:  rowᵀΔw − softness·Δs = −value, and Δr has the term row·Δs."""

    row: Vector
    softness: float

    def equations(self, design: Linear, h: Vector, diagonal: Vector) -> Equations:
        return Equations(RowBelow(design, self.row), np.concatenate((h, (1.0 / self.softness,))), diagonal)

    def right(self, k: Vector, rho: Vector, value: float) -> tuple[Vector, Vector]:
        return np.concatenate((k, (-value,))), rho

    def split(self, delta: Vector, dw: Vector) -> tuple[Vector, Vector, float]:
        return delta[:-1], dw, float(delta[-1])


@dataclass(frozen=True, eq=False)
class SizeColumn(Extension):
    """s is a size: eᵀΔw + T·Δs = value, and Δr has the term e·Δs.

    In the coordinates Δw + share·Δs, share = D⁻¹e, the block of Δw and Δs is diagonal, `corner` being
    T − eᵀD⁻¹e, which the regulariser knows without cancellation. Δw is left in those coordinates.
    """

    share: Vector
    corner: float

    def equations(self, design: Linear, h: Vector, diagonal: Vector) -> Equations:
        beside = ColumnBeside(design, -design.matvec(self.share))
        return Equations(beside, h, np.concatenate((diagonal, (self.corner,))))

    def right(self, k: Vector, rho: Vector, value: float) -> tuple[Vector, Vector]:
        return k, np.concatenate((rho, (value - self.share @ rho,)))

    def split(self, delta: Vector, dw: Vector) -> tuple[Vector, Vector, float]:
        return delta, dw[:-1], float(dw[-1])
