"""Σ l1_j |w_j| + Σ_g ‖(scale ∘ w)_g‖₂: the gauge behind group_lasso and sparse_group."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from dualgap.arrays import Index, Mask, Vector
from dualgap.penalties.base import LEAST, LOST, BlockSum, Groups, Projection, Seminorm
from dualgap.traits import Trait

ROUNDS = 60  # of Newton, each doubling the digits once near: 4 to 9 were counted
CLOSE = 4e-16  # a change by this share is rounding
APART = 8.0  # scales within a group that differ by more stay: one for all would be far off for some
EACH = 2.0**-51  # what one more term may cost a sum, in shares of it: two roundings


@dataclass(frozen=True, eq=False)
class Grouped(Seminorm):
    """`group` numbers the groups; both weights zero make a coordinate free, whatever its group."""

    l1: Vector
    scale: Vector
    group: Index

    traits = Trait.CONVEX

    @property
    def groups(self) -> Groups:
        return Groups(self.l1, self.scale, self.group)

    @cached_property
    def free(self) -> Mask:
        return np.asarray((self.l1 == 0.0) & (self.scale == 0.0))

    @cached_property
    def least(self) -> float:
        prices = np.where(self.scale > 0.0, self.scale, self.l1)[~self.free]
        return float(prices.min(initial=np.inf))

    @cached_property
    def _count(self) -> int:
        return int(self.group.max(initial=-1)) + 1

    @cached_property
    def _inverse(self) -> Vector:
        """1/scale, 0 where there is none."""
        return np.divide(1.0, self.scale, out=np.zeros_like(self.scale), where=self.scale > 0.0)

    @cached_property
    def _longest(self) -> float:
        """The most coordinates that a group has."""
        return float(np.bincount(self.group).max(initial=0))

    @cached_property
    def _alone(self) -> Mask:
        """Coordinates with a price of their own alone: the prox of |w_j|."""
        return np.asarray((self.scale == 0.0) & (self.l1 > 0.0))

    def _norms(self, values: Vector) -> Vector:
        """‖values_g‖₂ of each group, without overflow."""
        top = float(np.abs(values).max(initial=0.0))
        if not 0.0 < top < np.inf:
            return np.full(self._count, top)
        share = values / top
        return top * np.sqrt(np.bincount(self.group, share * share, self._count))

    def value(self, w: Vector) -> float:
        return float(self.l1 @ np.abs(w)) + float(self._norms(self.scale * w).sum())

    def doubt(self, w: Vector, value: float) -> float:
        return (LOST + EACH * len(w)) * value + (2 * len(w) + 1) * LEAST

    def slope(self, w: Vector) -> Vector:
        inside = self.scale * w
        length = self._norms(inside)[self.group]
        share = np.divide(inside, length, out=np.zeros_like(w), where=length > 0.0)
        return np.asarray(self.l1 * np.sign(w) + self.scale * share)

    def substituted(self, factor: Vector) -> Grouped:
        return replace(self, l1=self.l1 * np.abs(factor), scale=self.scale * np.abs(factor))

    def extended(self) -> Grouped:
        return Grouped(
            np.append(self.l1, 0.0), np.append(self.scale, 0.0), np.append(self.group, self._count)
        )

    def restricted(self, keep: Mask) -> Grouped:
        group = np.unique(self.group[keep], return_inverse=True)[1] if np.any(keep) else self.group[:0]
        return Grouped(self.l1[keep], self.scale[keep], group)

    def levelled(self, scale: Vector) -> Vector:
        """Within a group as `scale` of the penalty says, on the whole as large as those given.

        Where those given differ much they stay: good coordinates are worth more than even prices.
        """
        level = np.bincount(self.group, np.log2(scale), self._count)
        level = np.exp2(np.round(level / np.maximum(np.bincount(self.group, minlength=self._count), 1)))
        priced = np.flatnonzero(self.scale > 0.0)
        first = np.ones(self._count)
        first[self.group[priced[::-1]]] = self.scale[priced[::-1]]
        even = level[self.group] * (self.scale / first[self.group])
        low, high = np.full(self._count, np.inf), np.zeros(self._count)
        np.minimum.at(low, self.group[priced], scale[priced])
        np.maximum.at(high, self.group[priced], scale[priced])
        near = (high <= APART * low)[self.group]
        return np.asarray(np.where((self.scale > 0.0) & near, even, scale))

    # -- proximal maps -------------------------------------------------------------------------------

    def prox(self, point: Vector, step: float) -> Vector:
        return self._shrunken(point, step)[0]

    def _shrunken(self, point: Vector, step: float) -> tuple[Vector, Vector]:
        """The prox, and for each coordinate s with w = q/(1 + s), q softened by l1; ∞ where w is 0."""
        if step == 0.0:
            return point, np.zeros_like(point)
        q = np.copysign(np.maximum(np.abs(point) - step * self.l1, 0.0), point)
        b = q * self._inverse
        length = self._norms(b)
        alive = length > step
        stiff = np.full(len(point), np.inf)
        stiff[self.free] = 0.0
        stiff[self._alone & (q != 0.0)] = 0.0
        if alive.any():
            mu = self._multipliers(b, length, alive, step)
            live = alive[self.group] & (self.scale > 0.0) & (q != 0.0)
            stiff[live] = mu[self.group[live]] * self.scale[live] ** 2
        return np.where(self.free, point, q / (1.0 + stiff)), stiff

    def _multipliers(self, b: Vector, length: Vector, alive: Mask, step: float) -> Vector:
        """μ ≥ 0 of each living group with μ ‖b/(scale⁻² + μ)‖ = step.

        1/‖b/(scale⁻² + μ)‖ is concave in μ, linear where the scales of a group are one: Newton comes down to
        the root from the right, in one step then.
        """
        A = self._inverse * self._inverse
        widest = np.zeros(self._count)
        np.maximum.at(widest, self.group, A)
        low = np.full(self._count, np.inf)
        seen = self.scale > 0.0
        np.minimum.at(low, self.group[seen], A[seen])
        even = low >= widest * (1.0 - 1e-15)
        mu = np.zeros(self._count)
        mu[alive] = widest[alive] * step / (length[alive] - step)
        if not np.any(alive & ~even):
            return mu
        for _ in range(ROUNDS):
            part = np.divide(b, A + mu[self.group], out=np.zeros_like(b), where=seen)
            size = self._norms(part)
            cubed = np.bincount(
                self.group,
                np.divide(part * part, A + mu[self.group], out=np.zeros_like(b), where=seen),
                self._count,
            )
            with np.errstate(divide="ignore", invalid="ignore"):
                miss = 1.0 / size - mu / step
                change = miss / (cubed / size**3 - 1.0 / step)
            change = np.where(alive & ~even & np.isfinite(change), change, 0.0)
            mu = np.maximum(mu - change, 0.0)
            if np.all(np.abs(change) <= CLOSE * mu):
                break
        return mu

    def _derivative(self, w: Vector, stiff: Vector) -> tuple[Vector, BlockSum]:
        """diag + Σ_g c_g c_gᵀ of the prox that led to w."""
        diagonal = 1.0 / (1.0 + stiff)
        bent = (stiff > 0.0) & (stiff < np.inf)
        square = np.where(bent, (self.scale * w) ** 2, 0.0)
        whole = np.bincount(self.group, square * diagonal, self._count)
        mu = np.zeros(self._count)
        mu[self.group[bent]] = stiff[bent] / self.scale[bent] ** 2
        root = np.sqrt(np.divide(mu, whole, out=np.zeros_like(mu), where=whole > 0.0))
        along = np.where(bent, diagonal * self.scale**2 * w, 0.0) * root[self.group]
        return diagonal, BlockSum(self.group, along)

    def project(self, point: Vector, radius: float) -> Projection:
        if self.value(point) <= radius:
            return Projection(point, np.ones_like(point), None)
        if radius == 0.0:
            return Projection(np.where(self.free, point, 0.0), self.free.astype(float), None)
        w, stiff = self._shrunken(point, self._price_of(point, radius))
        diagonal, blocks = self._derivative(w, stiff)
        normal = np.where(self.free, 0.0, self.slope(w))
        bent = diagonal * normal + blocks.times(normal)
        along = float(normal @ bent)
        rank_one = bent / np.sqrt(along) if along > 0.0 else None
        return Projection(w, diagonal, rank_one, blocks)

    def _price_of(self, point: Vector, radius: float) -> float:
        """The step at which h(prox(point, step)) = radius: falling in it, Newton within a bracket."""
        low, high = 0.0, self.smallest_strength_at_zero(point)
        step = 0.0
        for _ in range(3 * ROUNDS):
            w, stiff = self._shrunken(point, step)
            miss = self.value(w) - radius
            if abs(miss) <= 1e-15 * radius:
                break
            low, high = (step, high) if miss > 0.0 else (low, step)
            diagonal, blocks = self._derivative(w, stiff)
            normal = np.where(self.free, 0.0, self.slope(w))
            fall = float(normal @ (diagonal * normal + blocks.times(normal)))
            ahead = step + miss / fall if fall > 0.0 else np.inf
            if not low < ahead < high:
                ahead = 0.5 * (low + high)
            if abs(ahead - step) <= CLOSE * step or high - low <= CLOSE * high:
                break
            step = ahead
        return step

    def penalised_dual_prox(self, s: Vector, sigma: float, strength: float) -> Projection:
        w, stiff = self._shrunken(s, strength)
        _, blocks = self._derivative(w, stiff)
        with np.errstate(invalid="ignore"):
            diagonal = np.where(stiff < np.inf, stiff / (1.0 + stiff), 1.0)
        v = np.where(self.free, 0.0, s - w)
        return Projection(v, diagonal, None, blocks)

    # -- conjugates ----------------------------------------------------------------------------------

    def price(self, v: Vector, radius: float) -> float:
        return self.smallest_strength_at_zero(v)

    def smallest_strength_at_zero(self, v: Vector) -> float:
        return float(self.strengths_at_zero(v).max(initial=0.0))

    def strengths_at_zero(self, v: Vector) -> Vector:
        """For each group, the t with ‖((|v| − t l1)₊/scale)_g‖ = t, from above, rounding included.

        Convex and falling in t, with a slope of −1 at least beside the norm: Newton climbs to the root from
        0, and what is left of the equation is at most what is left of the way.
        """
        size = np.where(self.free, 0.0, np.abs(v))
        alone = np.zeros(self._count)
        if self._alone.any():
            np.maximum.at(alone, self.group[self._alone], size[self._alone] / self.l1[self._alone])
        a, own = size * self._inverse, self.l1 * self._inverse
        t = np.zeros(self._count)
        if not own.any():
            t = self._norms(a)
        else:
            for _ in range(ROUNDS):
                left = np.maximum(a - t[self.group] * own, 0.0)
                norm = self._norms(left)
                turn = np.bincount(self.group, left * own, self._count)
                fall = 1.0 + np.divide(turn, norm, out=np.zeros_like(norm), where=norm > 0.0)
                miss = np.maximum(norm - t, 0.0)
                t = t + miss / fall
                if np.all(miss <= CLOSE * t):
                    break
            t = t + np.maximum(self._norms(np.maximum(a - t[self.group] * own, 0.0)) - t, 0.0)
        return np.maximum(t * (1.0 + EACH * (self._longest + 4.0)), alone)

    def shares_of_price(self, v: Vector) -> Vector | None:
        """The group's as a whole, or that of the l1 part alone."""
        alone = np.divide(v, self.l1, out=np.full(len(v), np.inf), where=self.l1 > 0.0)
        group = np.where(self.scale > 0.0, self.strengths_at_zero(v)[self.group], np.inf)
        return np.asarray(np.minimum(alone, group))

    def fenchel_young(self, w: Vector, v: Vector, reach: Vector, strength: float) -> tuple[float, float]:
        w, v, reach = (np.where(self.free, 0.0, part) for part in (w, v, reach))
        size, along = self.value(w), float((w * v).sum())
        polar = self.smallest_strength_at_zero(np.abs(v) + reach)
        bracket = max(strength * size - along, 0.0) + strength * self.doubt(w, size)
        return bracket + float((np.abs(w) * reach).sum()), max(polar / strength - 1.0, 0.0)
