"""The two forms of regularisation: λ h(w) added to the loss, and h(w) ≤ c beside it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Literal, Self

import numpy as np

from dualgap.arrays import Mask, Vector
from dualgap.penalties.base import FAINT, LEAST, BlockSum, Gauge, Projection
from dualgap.penalties.separable import Separable
from dualgap.penalties.weight_bounds import Bracket, WeightBounds
from dualgap.traits import Trait


@dataclass(frozen=True, eq=False)
class DualProx:
    """v = s − σ prox(s/σ) with g*(v), and dv/ds = diag(diagonal) + rank_one·rank_oneᵀ − blocks.

    Of each block b, Σ c_b²/diagonal = 1: along it v does not move.
    """

    v: Vector
    conjugate: float
    diagonal: Vector
    rank_one: Vector | None
    blocks: BlockSum | None
    point: Vector | None = None  # prox(s/σ), where it is known better than (s − v)/σ: at the ends of bounds

    def times(self, x: Vector) -> Vector:
        """dv/ds times x."""
        found = self.diagonal * x
        if self.rank_one is not None:
            found = found + float(self.rank_one @ x) * self.rank_one
        return found if self.blocks is None else found - self.blocks.times(x)


@dataclass(frozen=True, eq=False)
class Penalised:
    """g = strength · h."""

    gauge: Gauge
    strength: float
    constrained: ClassVar[Literal[False]] = False

    @property
    def box(self) -> WeightBounds | None:
        """The bounds of the weights; None where there are none."""
        return None

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

    def priced(self, w: Vector) -> tuple[float, float]:
        """g(w), and how far off that may be."""
        size = self.gauge.value(w)
        if not size > 0.0 and not w[~self.free].any():  # what is tiny may have underflown
            return 0.0, 0.0
        return self.strength * size, self.strength * self.gauge.doubt(w, size) + LEAST

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
        """See Gauge: g(w) + g*(v) − w·v from above, by what share v is too long; ∞ if a price underflows.

        And where w is free along more than coordinates: of v there `bracket` alone may take care.
        """
        return self._young(w, v, reach) if self.gauge.sums is None else (np.inf, np.inf)

    def _young(self, w: Vector, v: Vector, reach: Vector) -> tuple[float, float]:
        if self.strength * self.gauge.least < FAINT:
            return np.inf, np.inf
        return self.gauge.fenchel_young(w, v, reach, self.strength)

    def kept(self, w: Vector) -> Vector:
        """w, moved into the domain of g as real numbers."""
        return w

    def bracket(self, w: Vector, v: Vector, reach: Vector) -> Bracket:
        """`fenchel_young`, with what of v no price holds: nothing, where there are no bounds.

        v is orthogonal to all along which w is free but for coordinates: see Gauge.sums.
        """
        young = self.fenchel_young if self.gauge.sums is None else self._young
        return Bracket(*young(w, v, reach), None)

    @property
    def half_open(self) -> Mask | None:
        """Coordinates with one end and no price; None where there are no bounds."""
        return None

    def bound_multipliers(self, w: Vector, v: Vector) -> Vector | None:
        """What of v belongs to the bounds, with the sign that lower ends have; None without bounds."""
        return None

    def prox(self, point: Vector, step: float) -> Vector:
        """argmin of step·g(w) + ½‖w − point‖²."""
        return self.gauge.prox(point, step * self.strength)

    def dual_prox(self, s: Vector, sigma: float) -> DualProx:
        """See DualProx."""
        half = self.gauge.penalised_dual_prox(s, sigma, self.strength)
        conjugate = self.conjugate(half.point)
        blocks = half.blocks
        if half.rank_one is not None:  # one block of all coordinates
            blocks = BlockSum(np.zeros(len(s), dtype=np.intp), half.rank_one)
        return DualProx(half.point, conjugate, half.diagonal, None, blocks)

    def substituted(self, factor: Vector, multiplier: float) -> Penalised:
        """multiplier · g(factor ∘ u), as a function of u."""
        return Penalised(self.gauge.substituted(factor), self.strength * multiplier)

    def restricted(self, keep: Mask) -> Penalised:
        """The same on a subset of the coordinates, the others being zero."""
        return self.with_gauge(self.gauge.restricted(keep))

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
    constrained: ClassVar[Literal[True]] = True

    @property
    def box(self) -> WeightBounds | None:
        """The bounds of the weights; None where there are none."""
        return None

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

    def priced(self, w: Vector) -> tuple[float, float]:
        """g(w), and how far off that may be; w is within."""
        return 0.0, 0.0

    def size(self, w: Vector) -> float:
        """What the radius bounds."""
        return self.gauge.value(w)

    def within(self, w: Vector) -> bool:
        """Is h(w) ≤ radius, as real numbers? False where rounding cannot tell."""
        size = self.gauge.value(w)
        return size + self.gauge.doubt(w, size) <= self.radius or not w[~self.free].any()

    def kept(self, w: Vector) -> Vector:
        """w, if need be shrunk until it is within."""
        if self.within(w):
            return w
        shrunk = self.gauge.shrink(w, self.radius - 2.0 * self.gauge.doubt(w, self.radius))
        return shrunk if self.within(shrunk) else np.where(self.free, w, 0.0)

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
        """See Gauge; w is within. At any price μ, g*(v) ≤ μ·radius + (μh)*(v): none is ever too long."""
        return self._young(w, v, reach) if self.gauge.sums is None else (np.inf, np.inf)

    def _young(self, w: Vector, v: Vector, reach: Vector) -> tuple[float, float]:
        if self.radius == 0.0 or bool(self.gauge.free.all()):  # all weights that have a price are zero
            return 0.0, 0.0
        price = max(self.gauge.price_near(v, reach, self.radius), FAINT / self.gauge.least)
        if price * self.gauge.least < 0.5 * FAINT:  # it has underflown, and its roundings with it
            return np.inf, 0.0
        bracket, excess = self.gauge.fenchel_young(w, v, reach, price)
        size = self.gauge.value(w)
        unused = self.radius - size + self.gauge.doubt(w, size)
        return bracket + price * (unused + excess * self.radius), 0.0

    def bracket(self, w: Vector, v: Vector, reach: Vector) -> Bracket:
        """`fenchel_young`, with what of v no price holds: nothing, where there are no bounds; as above."""
        young = self.fenchel_young if self.gauge.sums is None else self._young
        return Bracket(*young(w, v, reach), None)

    @property
    def half_open(self) -> Mask | None:
        """Coordinates with one end and no price; None where there are no bounds."""
        return None

    def bound_multipliers(self, w: Vector, v: Vector) -> Vector | None:
        """What of v belongs to the bounds, with the sign that lower ends have; None without bounds."""
        return None

    def prox(self, point: Vector, step: float) -> Vector:
        """The nearest point of the ball."""
        return self.gauge.project(point, self.radius).point

    def dual_prox(self, s: Vector, sigma: float) -> DualProx:
        """See DualProx."""
        half: Projection = self.gauge.project(s / sigma, self.radius)
        v = s - sigma * half.point
        v[self.free] = 0.0
        conjugate = float(v @ half.point)  # the support function, exactly: half.point is its maximiser
        return DualProx(v, conjugate, 1.0 - half.diagonal, half.rank_one, half.blocks)

    def substituted(self, factor: Vector, multiplier: float) -> Constrained:
        """The ball in the coordinates u, w = factor ∘ u."""
        return Constrained(self.gauge.substituted(factor), self.radius)

    def restricted(self, keep: Mask) -> Constrained:
        """The same on a subset of the coordinates, the others being zero."""
        return self.with_gauge(self.gauge.restricted(keep))

    def with_gauge(self, gauge: Gauge) -> Self:
        """The same radius on another gauge."""
        return replace(self, gauge=gauge)

    def with_strength(self, strength: float) -> Self:
        """Another radius on the same gauge."""
        return replace(self, radius=strength)

    def strong_convexity(self) -> float:
        """0."""
        return 0.0


Regulariser = Penalised | Constrained


def unregularised(p: int) -> Penalised:
    """g = 0 on p free coordinates."""
    return Penalised(Separable(np.zeros(p), np.zeros(p)), 1.0)
