"""The two forms of regularisation: λ h(w) added to the loss, and h(w) ≤ c beside it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dualgap.arrays import Mask, Vector
from dualgap.penalties.base import Gauge, Projection
from dualgap.penalties.separable import Separable
from dualgap.traits import Trait

LOST = 2.0**-46  # 128 roundings: what a norm and its dual may lose


@dataclass(frozen=True, eq=False)
class DualProx:
    """v = s − σ prox(s/σ) with g*(v), and dv/ds = diag(diagonal) + sign·rank_one·rank_oneᵀ."""

    v: Vector
    conjugate: float
    diagonal: Vector
    rank_one: Vector | None
    sign: float


@dataclass(frozen=True, eq=False)
class Penalised:
    """g = strength · h."""

    gauge: Gauge
    strength: float
    constrained = False

    @property
    def traits(self) -> Trait:
        """The facts of h."""
        return self.gauge.traits

    @property
    def free(self) -> Mask:
        """Coordinates without a price."""
        return self.gauge.free

    def value(self, w: Vector) -> float:
        """g(w)."""
        return self.strength * self.gauge.value(w)

    def conjugate(self, v: Vector) -> float:
        """g*(v) for v in its domain, free coordinates not looked at."""
        return self.gauge.penalised_conjugate(v, self.strength)

    def dual_scale(self, v: Vector) -> float:
        """The largest t in [0, 1] with g*(t v) finite."""
        return self.gauge.penalised_scale(v, self.strength)

    def feasible(self, w: Vector) -> Vector:
        """w, moved into the domain of g."""
        return w

    def fenchel_young(self, w: Vector, v: Vector, reach: Vector) -> tuple[float, float]:
        """See Gauge: g(w) + g*(v) − w·v from above, and by what share v is too long."""
        return self.gauge.fenchel_young(w, v, reach, self.strength)

    def prox(self, point: Vector, step: float) -> Vector:
        """argmin of step·g(w) + ½‖w − point‖²."""
        return self.gauge.prox(point, step * self.strength)

    def dual_prox(self, s: Vector, sigma: float) -> DualProx:
        """See DualProx."""
        half = self.gauge.penalised_dual_prox(s, sigma, self.strength)
        conjugate = self.conjugate(half.point)
        return DualProx(half.point, conjugate, half.diagonal, half.rank_one, -1.0)

    def substituted(self, factor: Vector, multiplier: float) -> Penalised:
        """multiplier · g(factor ∘ u), as a function of u."""
        return Penalised(self.gauge.substituted(factor), self.strength * multiplier)

    def with_gauge(self, gauge: Gauge) -> Penalised:
        """The same strength on another gauge."""
        return Penalised(gauge, self.strength)

    def with_strength(self, strength: float) -> Penalised:
        """Another strength on the same gauge."""
        return Penalised(self.gauge, strength)

    def strong_convexity(self) -> float:
        """m with g(w) − m‖w‖² convex."""
        return self.strength * self.gauge.strong_convexity()


@dataclass(frozen=True, eq=False)
class Constrained:
    """g = 0 where h ≤ radius, infinite elsewhere."""

    gauge: Gauge
    radius: float
    constrained = True

    @property
    def traits(self) -> Trait:
        """The facts of h; a ball is never strongly convex as a function."""
        return self.gauge.traits & ~Trait.STRONGLY_CONVEX

    @property
    def free(self) -> Mask:
        """Coordinates without a bound."""
        return self.gauge.free

    def value(self, w: Vector) -> float:
        """0, or infinity outside (up to rounding)."""
        return 0.0 if self.gauge.value(w) <= self.radius * (1 + 1e-12) else np.inf

    def conjugate(self, v: Vector) -> float:
        """The support function of the ball."""
        return self.gauge.support(v, self.radius)

    def dual_scale(self, v: Vector) -> float:
        """Always 1: the support function is finite."""
        return 1.0

    def feasible(self, w: Vector) -> Vector:
        """w, shrunk into the ball."""
        return self.gauge.shrink(w, self.radius)

    def fenchel_young(self, w: Vector, v: Vector, reach: Vector) -> tuple[float, float]:
        """See Gauge; at any price μ, g*(v) ≤ μ·radius + (μh)*(v), so that none is ever too long."""
        if self.radius == 0.0:
            return 0.0, 0.0
        price = self.gauge.price(np.abs(v) + reach, self.radius)
        if price == 0.0:
            return 0.0, 0.0
        for _ in range(3):  # the rounding of the price
            bracket, excess = self.gauge.fenchel_young(w, v, reach, price)
            if excess <= 0.0:
                break
            price *= 1.0 + 2.0 * excess + LOST
        unused = self.radius - self.gauge.value(w) * (1.0 - LOST - len(w) * 2.0**-52)  # the sum over the columns
        return bracket + price * unused, excess

    def prox(self, point: Vector, step: float) -> Vector:
        """The nearest point of the ball."""
        return self.gauge.project(point, self.radius).point

    def dual_prox(self, s: Vector, sigma: float) -> DualProx:
        """See DualProx."""
        half: Projection = self.gauge.project(s / sigma, self.radius)
        v = s - sigma * half.point
        v[self.free] = 0.0
        conjugate = float(v @ half.point)  # the support function, exactly: half.point is its maximiser
        return DualProx(v, conjugate, 1.0 - half.diagonal, half.rank_one, 1.0)

    def substituted(self, factor: Vector, multiplier: float) -> Constrained:
        """The ball in the coordinates u, w = factor ∘ u."""
        return Constrained(self.gauge.substituted(factor), self.radius)

    def with_gauge(self, gauge: Gauge) -> Constrained:
        """The same radius on another gauge."""
        return Constrained(gauge, self.radius)

    def with_strength(self, strength: float) -> Constrained:
        """Another radius on the same gauge."""
        return Constrained(self.gauge, strength)

    def strong_convexity(self) -> float:
        """0."""
        return 0.0


Regulariser = Penalised | Constrained


def unregularised(p: int) -> Penalised:
    """g = 0 on p free coordinates."""
    return Penalised(Separable(np.zeros(p), np.zeros(p)), 1.0)
