"""Unknowns beside those of the weights and rows: a row below the design, or columns beside it."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any, Protocol, cast

import numpy as np

from dualgap.arrays import Index, Matrix, Vector
from dualgap.design import Design

TOGETHER = 16  # groups in a product: their columns are few, and only those are read
Unknown = Any  # a regulariser's own: a number, or a vector of them


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


@dataclass(frozen=True, eq=False)
class ColumnsBeside:
    """[X, −X S], S being `share` in the rows of each group, a column a group."""

    inner: Design
    share: Vector
    group: Index
    count: int

    @property
    def shape(self) -> tuple[int, int]:
        n, p = self.inner.shape
        return n, p + self.count

    def _within(self, w: Vector) -> Vector:
        p = len(self.share)
        return w[:p] - self.share * w[p:][self.group]

    def _beside(self, v: Vector) -> Vector:
        return np.append(v, -np.bincount(self.group, self.share * v, self.count))

    def _shares(self, first: int, last: int) -> Matrix:
        """The lines of −Sᵀ for these groups."""
        out = np.zeros((last - first, len(self.share)))
        mine = np.flatnonzero((self.group >= first) & (self.group < last))
        out[self.group[mine] - first, mine] = -self.share[mine]
        return out

    def matvec(self, w: Vector) -> Vector:
        return self.inner.matvec(self._within(w))

    def transpose_matvec(self, theta: Vector) -> Vector:
        return self._beside(self.inner.transpose_matvec(theta))

    def curved(self, h: Vector, w: Vector) -> tuple[Vector, float]:
        pull, total = self.inner.curved(h, self._within(w))
        return self._beside(pull), total

    def across(self, d: Vector, theta: Vector) -> Vector:
        return self.matvec(d * self.transpose_matvec(theta))

    def weighted_gram(self, h: Vector) -> Matrix:
        block, shares = self.inner.weighted_gram(h), self._shares(0, self.count)
        below = shares @ block
        return np.block([[block, below.T], [below, below @ shares.T]])

    def weighted_outer(self, d: Vector) -> Matrix:
        p, ends = len(self.share), [*range(0, self.count, TOGETHER), self.count]
        lines = np.vstack([self.inner.matvecs(self._shares(*pair)) for pair in itertools.pairwise(ends)])
        return self.inner.weighted_outer(d[:p]) + (lines.T * d[p:]) @ lines


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

    def right(self, k: Vector, rho: Vector, value: Unknown) -> tuple[Vector, Vector]:
        """(k, rho), `value` being the right side of the unknown's own equation."""
        return k, rho

    def split(self, delta: Vector, dw: Vector) -> tuple[Vector, Vector, Unknown]:
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


@dataclass(frozen=True, eq=False)
class SizeColumns(Extension):
    """The same with a size for each group."""

    share: Vector
    group: Index
    corner: Vector

    def equations(self, design: Linear, h: Vector, diagonal: Vector) -> Equations:
        beside = ColumnsBeside(cast(Design, design), self.share, self.group, len(self.corner))
        return Equations(beside, h, np.concatenate((diagonal, self.corner)))

    def right(self, k: Vector, rho: Vector, value: Vector) -> tuple[Vector, Vector]:
        moved = np.bincount(self.group, self.share * rho, len(self.corner))
        return k, np.concatenate((rho, value - moved))

    def split(self, delta: Vector, dw: Vector) -> tuple[Vector, Vector, Vector]:
        p = len(self.share)
        return delta, dw[:p], dw[p:]


@dataclass(frozen=True, eq=False)
class PricedSizes(SizeColumns):
    """A price beside the sizes, behind them: `row` over Δw, in those coordinates, and over the sizes."""

    row: Vector
    softness: float

    def equations(self, design: Linear, h: Vector, diagonal: Vector) -> Equations:
        inner = super().equations(design, h, diagonal)
        below = RowBelow(inner.design, self.row)
        return Equations(below, np.append(h, 1.0 / self.softness), inner.diagonal)

    def right(self, k: Vector, rho: Vector, value: Vector) -> tuple[Vector, Vector]:
        k, rho = super().right(k, rho, value[:-1])
        return np.append(k, -value[-1]), rho

    def split(self, delta: Vector, dw: Vector) -> tuple[Vector, Vector, Vector]:
        _, dw, ds = super().split(delta, dw)
        return delta[:-1], dw, np.append(ds, delta[-1])
