"""Σ_g l1_g ‖w_g‖ + l2_g ‖w_g‖²: a sum over the lengths of groups, each seen by one `Separable` coordinate."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dualgap.arrays import Index, Mask, Vector
from dualgap.penalties.base import LEAST, BlockSum, Gauge, Lengths, Projection
from dualgap.penalties.separable import Separable
from dualgap.traits import Trait

EACH = 2.0**-51  # what one more term may cost a length, in shares of it: two roundings
FEW = 16.0  # terms more, for the root, the quotients and what is made of them
UNIT = 2.0**-48  # what a direction of length one may be off by beside that, entry by entry


@dataclass(frozen=True, eq=False)
class Radial(Gauge):
    """`inner` prices the lengths; `group` numbers the groups, none of which is empty."""

    inner: Separable
    group: Index

    @cached_property
    def traits(self) -> Trait:
        return (Trait.CONVEX | (Trait.STRONGLY_CONVEX & self.inner.traits)).closure()

    @property
    def lengths(self) -> Lengths:
        return Lengths(*self.inner.elastic, self.group)

    @cached_property
    def free(self) -> Mask:
        return self.inner.free[self.group]

    @property
    def least(self) -> float:
        return self.inner.least

    @cached_property
    def _order(self) -> Index:
        return np.argsort(self.group, kind="stable")

    @cached_property
    def _starts(self) -> Index:
        """Where each group begins in that order."""
        return np.flatnonzero(np.diff(self.group[self._order], prepend=-1))

    @cached_property
    def _share(self) -> float:
        """What a length may be off by, in shares of it."""
        longest = float(np.bincount(self.group).max(initial=0))
        return EACH * (longest + FEW)

    def _norms(self, values: Vector) -> Vector:
        """‖values_g‖ of each group, each beside its own largest entry: nothing over- or underflows."""
        if not len(self._starts):
            return np.zeros(0)
        size = np.abs(values)[self._order]
        top = np.maximum.reduceat(size, self._starts)
        plain = (top > 0.0) & (top < np.inf)
        share = size / np.where(plain, top, 1.0)[self.group[self._order]]
        with np.errstate(over="ignore", invalid="ignore"):
            return np.where(plain, top * np.sqrt(np.add.reduceat(share * share, self._starts)), top)

    def _along(self, values: Vector, norms: Vector) -> Vector:
        """Of length one in every group, or zero."""
        length = norms[self.group]
        return np.divide(values, length, out=np.zeros_like(values), where=length > 0.0)

    def value(self, w: Vector) -> float:
        return self.inner.value(self._norms(w))

    def doubt(self, w: Vector, value: float) -> float:
        own: float = self.inner.doubt(self.inner.l1, value)
        return own + 4.0 * self._share * value + 4.0 * LEAST * (1.0 + float(self.inner.l1.sum()))

    def slope(self, w: Vector) -> Vector:
        norms = self._norms(w)
        return np.asarray(self.inner.slope(norms)[self.group] * self._along(w, norms))

    def substituted(self, factor: Vector) -> Radial:
        """Factors of a group are one: columns of all outputs are scaled together."""
        return Radial(self.inner.substituted(factor[self._order[self._starts]]), self.group)

    def extended(self) -> Radial:
        return Radial(self.inner.extended(), np.append(self.group, len(self.inner.l1)))

    def restricted(self, keep: Mask) -> Radial:
        kept, group = np.unique(self.group[keep], return_inverse=True)
        return Radial(Separable(self.inner.l1[kept], self.inner.l2[kept]), group)

    def stretch(self, w: Vector, radius: float) -> float:
        return self.inner.stretch(self._norms(w), radius)

    # -- proximal maps: of the lengths, whose directions stay --------------------------------------------

    def prox(self, point: Vector, step: float) -> Vector:
        norms = self._norms(point)
        share = np.divide(self.inner.prox(norms, step), norms, out=np.zeros_like(norms), where=norms > 0.0)
        return np.where(self.free, point, share[self.group] * point)

    def project(self, point: Vector, radius: float) -> Projection:
        norms = self._norms(point)
        return self._turned(point, norms, self.inner.project(norms, radius))

    def _turned(self, point: Vector, norms: Vector, found: Projection) -> Projection:
        """What became of the lengths as what becomes of the point: c on its group, and more along itself."""
        share = np.divide(found.point, norms, out=found.diagonal.copy(), where=norms > 0.0)
        along = self._along(point, norms)
        blocks = np.sqrt(np.maximum(found.diagonal - share, 0.0))[self.group] * along
        rank_one = None if found.rank_one is None else found.rank_one[self.group] * along
        w = np.where(self.free, point, share[self.group] * point)
        return Projection(w, share[self.group], rank_one, BlockSum(self.group, blocks))

    def penalised_dual_prox(self, s: Vector, sigma: float, strength: float) -> Projection:
        norms = self._norms(s)
        half = self.inner.penalised_dual_prox(norms, sigma, strength)
        share = np.divide(half.point, norms, out=half.diagonal.copy(), where=norms > 0.0)
        blocks = np.sqrt(np.maximum(share - half.diagonal, 0.0))[self.group] * self._along(s, norms)
        v = np.where(self.free, 0.0, share[self.group] * s)
        return Projection(v, share[self.group], None, BlockSum(self.group, blocks))

    # -- conjugates --------------------------------------------------------------------------------------

    def penalised_conjugate(self, v: Vector, strength: float) -> float:
        return self.inner.penalised_conjugate(self._norms(v), strength)

    def penalised_scale(self, v: Vector, strength: float) -> float:
        return self.inner.penalised_scale(self._norms(v), strength)

    def support(self, v: Vector, radius: float) -> float:
        return self.inner.support(self._norms(v), radius)

    def price(self, v: Vector, radius: float) -> float:
        return self.inner.price(self._norms(v), radius)

    def smallest_strength_at_zero(self, v: Vector) -> float:
        return self.inner.smallest_strength_at_zero(self._norms(v) * (1.0 + self._share))

    def shares_of_price(self, v: Vector) -> Vector | None:
        found = self.inner.shares_of_price(self._norms(v) * (1.0 + self._share))
        return None if found is None else found[self.group]

    def strong_convexity(self) -> float:
        return self.inner.strong_convexity()

    def fenchel_young(self, w: Vector, v: Vector, reach: Vector, strength: float) -> tuple[float, float]:
        """That of the lengths, and ‖w_g‖‖v_g‖ − w_g·v_g = ½‖w_g‖‖v_g‖ ‖ŵ_g − v̂_g‖², which cancels nothing.

        Lengths that are off by a share make the latter larger, never smaller: x + 1/x ≥ 2.
        """
        w, v, reach = (np.where(self.free, 0.0, part) for part in (w, v, reach))
        length, pull, loose = self._norms(w), self._norms(v), self._norms(reach)
        loose = loose * (1.0 + self._share) + self._share * pull
        bracket, excess = self.inner.fenchel_young(length, pull, loose, strength)
        apart = self._norms(self._along(w, length) - self._along(v, pull)) + self._share + UNIT
        both = np.where((length > 0.0) & (pull > 0.0), 0.5 * length * pull * (apart * apart), 0.0)
        size = strength * self.inner.value(length)
        rounded = 4.0 * self._share * (size + float((length * pull).sum())) + strength * self.doubt(w, 0.0)
        return bracket + float(both.sum()) + 2.0 * float((length * loose).sum()) + rounded, excess
