"""Σ l1_j |w_j| + l2_j w_j²: the gauge behind none, l1, l2 and elastic_net."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dualgap.arrays import Mask, Vector, once
from dualgap.penalties.base import LEAST, LOST, Elastic, Gauge, Projection
from dualgap.traits import Trait


@dataclass(frozen=True, eq=False)
class Separable(Gauge):
    """Both weights zero make a coordinate free."""

    l1: Vector
    l2: Vector

    @once
    def elastic(self) -> Elastic:
        return Elastic(self.l1, self.l2)

    @once
    def traits(self) -> Trait:
        facts = Trait.CONVEX | Trait.SEPARABLE
        if not self.l2.any():
            facts |= Trait.POLYHEDRAL
        if not self.l1.any():
            facts |= Trait.QUADRATIC
        if np.all((self.l2 > 0) | self.free):
            facts |= Trait.STRONGLY_CONVEX  # in the penalised coordinates
        return facts.closure()

    @once
    def free(self) -> Mask:
        return np.asarray((self.l1 == 0) & (self.l2 == 0))

    @once
    def _sharp(self) -> Mask:
        """Where the conjugate is infinite beyond the price."""
        return np.asarray((self.l2 == 0) & (self.l1 > 0))

    @once
    def _kinds(self) -> tuple[Any, Any]:
        """Where the conjugate is infinite beyond the price, and where the penalty bends; None for nowhere."""
        return _where(self._sharp), _where(self.l2 > 0.0)

    @once
    def least(self) -> float:
        prices = np.where(self.l2 > 0.0, self.l2, self.l1)[~self.free]
        return float(prices.min(initial=np.inf))

    @once
    def _faint(self) -> float:
        """What underflow takes from h: of each product half of LEAST, of squares times their weight."""
        return LEAST * (float(np.count_nonzero(~self.free)) + float(self.l2.sum()))

    def value(self, w: Vector) -> float:
        return float(self.l1 @ np.abs(w) + self.l2 @ (w * w))

    def slope(self, w: Vector) -> Vector:
        return np.asarray(self.l1 * np.sign(w) + 2.0 * self.l2 * w)

    def doubt(self, w: Vector, value: Any) -> Any:
        return (LOST + len(w) * 2.0**-52) * value + self._faint  # two sums over the columns

    def substituted(self, factor: Vector) -> Separable:
        return Separable(self.l1 * np.abs(factor), self.l2 * factor * factor)

    def extended(self) -> Separable:
        return Separable(np.append(self.l1, 0.0), np.append(self.l2, 0.0))

    def restricted(self, keep: Mask) -> Separable:
        return Separable(self.l1[keep], self.l2[keep])

    def stretch(self, w: Vector, radius: float) -> float:
        """k·linear + k²·square = radius, in the form without cancellation."""
        linear, square = float(self.l1 @ np.abs(w)), float(self.l2 @ (w * w))
        whole = linear + np.sqrt(linear * linear + 4.0 * square * radius)
        return float(2.0 * radius / whole) if whole > 0.0 else 0.0

    def prox(self, point: Vector, step: float) -> Vector:
        size = np.maximum(np.abs(point) - step * self.l1, 0.0) / (1.0 + 2.0 * step * self.l2)
        return np.copysign(size, point)

    def project(self, point: Vector, radius: float) -> Projection:
        if self.value(point) <= radius:
            return Projection(point, np.ones_like(point), None)
        if radius == 0.0:
            return Projection(np.where(self.free, point, 0.0), self.free.astype(float), None)
        a = np.abs(point)
        mu = self._multiplier(a, radius)
        damping = 1.0 + 2.0 * mu * self.l2
        size = np.maximum(a - mu * self.l1, 0.0) / damping
        size[self.free] = a[self.free]
        alive = (size > 0) | self.free
        diagonal = alive / damping
        normal = np.where(alive & ~self.free, self.l1 + 2.0 * self.l2 * size, 0.0)
        normal = np.copysign(normal, point)
        along = float(normal @ (diagonal * normal))
        rank_one = diagonal * normal / np.sqrt(along) if along > 0 else None
        return Projection(np.copysign(size, point), diagonal, rank_one)

    def _multiplier(self, a: Vector, radius: float) -> float:
        """The root of h(prox(a, μ)) = radius: convex and falling in μ, so Newton climbs to it from 0."""
        mu = 0.0
        for _ in range(200):
            damping = 1.0 + 2.0 * mu * self.l2
            size = np.maximum(a - mu * self.l1, 0.0) / damping
            excess = float(self.l1 @ size + self.l2 @ (size * size)) - radius
            if excess <= 1e-15 * radius:
                break
            slope = np.where(size > 0, self.l1 + 2.0 * self.l2 * size, 0.0)
            fall = float(slope @ (slope / damping))
            if fall <= 0.0:
                break
            ahead = mu + excess / fall
            if ahead == mu:
                break
            mu = ahead
        return mu

    def penalised_conjugate(self, v: Vector, strength: float) -> float:
        if not self.l2.any():
            return 0.0
        curved = self.l2 > 0
        excess = np.maximum(np.abs(v[curved]) - strength * self.l1[curved], 0.0)
        return float((excess * excess / (4.0 * strength * self.l2[curved])).sum())

    def penalised_scale(self, v: Vector, strength: float) -> float:
        size, limit = np.abs(v), strength * self.l1
        beyond = np.flatnonzero((size > limit) & self._sharp)
        return float(np.min(limit[beyond] / size[beyond], initial=1.0))

    def penalised_dual_prox(self, s: Vector, sigma: float, strength: float) -> Projection:
        stiff = sigma + 2.0 * strength * self.l2
        size = np.maximum(np.abs(s) - strength * self.l1, 0.0) / stiff
        # v is the slope of the penalty at the weight `size`, or s itself while that weight is zero
        v = np.minimum(np.abs(s), strength * (self.l1 + 2.0 * self.l2 * size))
        alive = (size > 0) | self.free
        return Projection(np.copysign(v, s), np.where(alive, 2.0 * strength * self.l2 / stiff, 1.0), None)

    def fenchel_young(self, w: Vector, v: Vector, reach: Vector, strength: Any) -> tuple[Any, Any]:
        """Coordinate by coordinate |w|(l1 ∓ v) up to the kink, and (2 l2 w − ρ)²/(4 l2), ρ = v beyond it.

        Rows of w, v and reach, with a column of strengths, give an entry each.
        """
        l1, l2 = strength * self.l1, strength * self.l2
        (sharp, curved), total, excess = self._kinds, 0.0, 0.0
        if sharp is not None:
            price = l1[..., sharp]
            beyond = (np.abs(v[..., sharp]) + reach[..., sharp]) / price
            excess = np.maximum(beyond.max(axis=-1) - 1.0, 0.0)
            slack = price - np.sign(w[..., sharp]) * v[..., sharp] + reach[..., sharp]
            total = (np.abs(w[..., sharp]) * np.maximum(slack, 0.0)).sum(axis=-1)
        if curved is not None:
            v, w, reach = v[..., curved], w[..., curved], reach[..., curved]
            l1, l2 = l1[..., curved], l2[..., curved]
            beyond = v
            if Trait.QUADRATIC not in self.traits and l1.any():
                near = np.clip(v, -l1, l1)
                kinked = np.abs(w) * (l1 - np.sign(w) * near + reach * (l1 > 0.0))
                total, beyond = total + kinked.sum(axis=-1), v - near
            miss = np.abs(2.0 * l2 * w - beyond) + reach
            total = total + (miss * (miss / (4.0 * l2))).sum(axis=-1)
        return total, excess

    def support(self, v: Vector, radius: float) -> float:
        """μ·radius + Σ (|v| − μ l1)₊²/(4 μ l2) at the best price μ; any price gives a valid bound."""
        mu = self.price(v, radius)
        if mu == 0.0 or radius == 0.0:
            return 0.0
        curved = self.l2 > 0.0
        excess = np.maximum(np.abs(v[curved]) / mu - self.l1[curved], 0.0)
        return mu * (radius + float((excess * excess / (4.0 * self.l2[curved])).sum()))

    def price(self, v: Vector, radius: float) -> float:
        """1/x for the x at which radius = Σ ((|v|x)² − l1²)₊/(4 l2), not beyond the least l1/|v| alone."""
        seen = ~self.free & (v != 0.0)
        a, l1, l2 = np.abs(v[seen]), self.l1[seen], self.l2[seen]
        sharp, curved = l2 == 0, l2 > 0
        x = float(np.min(l1[sharp] / a[sharp])) if sharp.any() else np.inf
        ac, c1, c2 = a[curved], l1[curved], l2[curved]
        if ac.size:
            with np.errstate(over="ignore"):
                x = min(x, float(np.min(np.sqrt(4.0 * c2 * radius + c1 * c1) / ac)))
            # convex and rising in x: Newton descends to the root from above
            for _ in range(100 if x < np.inf else 0):
                live = ac * x > c1
                miss = float((((ac * x) ** 2 - c1 * c1) / (4.0 * c2))[live].sum()) - radius
                slope = float((ac * ac * x / (2.0 * c2))[live].sum())
                if miss <= 1e-15 * radius or slope == 0.0:  # a slope that underflows: any x gives a bound
                    break
                x -= miss / slope
        return 1.0 / x if x > 0.0 else np.inf

    def smallest_strength_at_zero(self, v: Vector) -> float:
        seen = ~self.free & (np.abs(v) > 0)
        if not seen.any():
            return 0.0
        with np.errstate(divide="ignore"):
            return float(np.max(np.abs(v[seen]) / self.l1[seen]))

    def shares_of_price(self, v: Vector) -> Vector | None:
        if Trait.QUADRATIC in self.traits:
            return None
        return np.asarray(np.divide(v, self.l1, out=np.full(len(v), np.inf), where=self.l1 > 0.0))

    def strong_convexity(self) -> float:
        return self._strong

    @once
    def _strong(self) -> float:
        seen = ~self.free
        return float(self.l2[seen].min()) if seen.any() else 0.0


def _where(mask: Mask) -> Any:
    """An index of the places; a slice, which copies nothing, where they are the first ones; None for none."""
    count = int(np.count_nonzero(mask))
    return slice(0, count) if count and mask[:count].all() else mask if count else None
