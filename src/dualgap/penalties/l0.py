"""l0: h(w) = #{w_j ≠ 0}.   l0_l2(α): the same with α Σ w_j² added. Best subset."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dualgap.arrays import Mask, Vector, positive
from dualgap.errors import DataError
from dualgap.penalties.base import LEAST, LOST, Counted, Gauge, Penalty, Projection
from dualgap.penalties.forms import Constrained, DualProx
from dualgap.traits import Trait


@dataclass(frozen=True, eq=False)
class Count(Gauge):
    """#{j counted, w_j ≠ 0} + Σ l2_j w_j². What is neither counted nor squared is free.

    Not convex. The conjugates below are exact all the same, so that every dual value bounds the optimum.
    """

    counted: Mask
    l2: Vector
    traits = Trait.SEPARABLE

    @property
    def count(self) -> Counted:
        return Counted(self.counted, self.l2)

    @property
    def free(self) -> Mask:
        return np.asarray(~self.counted & (self.l2 == 0.0))

    def value(self, w: Vector) -> float:
        return self.size(w) + float(self.l2 @ (w * w))

    def doubt(self, w: Vector, value: float) -> float:
        faint = LEAST * float(np.count_nonzero(self.l2) + self.l2.sum())
        return (LOST + len(w) * 2.0**-52) * value + faint

    def size(self, w: Vector) -> float:
        """How many of the counted weights are not zero."""
        return float(np.count_nonzero(w[self.counted]))

    def substituted(self, factor: Vector) -> Count:
        return Count(self.counted, self.l2 * factor * factor)

    def extended(self) -> Count:
        return Count(np.append(self.counted, False), np.append(self.l2, 0.0))

    def restricted(self, keep: Mask) -> Count:
        return Count(self.counted[keep], self.l2[keep])

    def shrink(self, w: Vector, radius: float) -> Vector:
        return w if self.size(w) <= radius else self.project(w, radius).point

    def project(self, point: Vector, radius: float) -> Projection:
        """The nearest point with at most `radius` counted weights: the largest stay."""
        stays = ~self.counted
        kept = np.flatnonzero(self.counted & (point != 0.0))
        order = np.argsort(-np.abs(point[kept]), kind="stable")
        stays[kept[order[: int(radius)]]] = True
        return Projection(np.where(stays, point, 0.0), stays.astype(np.float64), None)

    def prox(self, point: Vector, step: float) -> Vector:
        """Shrunk by the square; zero where what is left is worth less than its count."""
        damped = 1.0 + 2.0 * step * self.l2
        worth = point * point / (2.0 * damped) > step
        return np.asarray(np.where(worth | ~self.counted, point / damped, 0.0))

    def penalised_conjugate(self, v: Vector, strength: float) -> float:
        squared = self.l2 > 0.0
        gain = v[squared] ** 2 / (4.0 * strength * self.l2[squared])
        counted = self.counted[squared]
        return float(np.where(counted, np.maximum(gain - strength, 0.0), gain).sum())

    def penalised_scale(self, v: Vector, strength: float) -> float:
        return 0.0 if np.any(v[self.counted & (self.l2 == 0.0)] != 0.0) else 1.0

    def support(self, v: Vector, radius: float) -> float:
        """Without the square: 0 or infinite."""
        return 0.0 if radius < 1.0 or not np.any(v[self.counted]) else np.inf

    def smallest_strength_at_zero(self, v: Vector) -> float:
        return np.inf if np.any(v[~self.free] != 0.0) else 0.0


@dataclass(frozen=True, eq=False)
class AtMost(Constrained):
    """g(w) = Σ l2_j w_j² where at most `radius` counted weights are not zero, infinite elsewhere."""

    gauge: Count

    def value(self, w: Vector) -> float:
        return float(self.gauge.l2 @ (w * w)) if self.within(w) else np.inf

    def priced(self, w: Vector) -> tuple[float, float]:
        value = self.value(w)
        return value, self.gauge.doubt(w, value) if w[~self.free].any() else 0.0

    def size(self, w: Vector) -> float:
        return self.gauge.size(w)

    def within(self, w: Vector) -> bool:
        return self.size(w) <= self.radius

    def kept(self, w: Vector) -> Vector:
        return self.feasible(w)

    def conjugate(self, v: Vector) -> float:
        """Σ v_j²/(4 l2_j) over the `radius` counted columns where it is largest, and the uncounted ones."""
        squared = self.gauge.l2 > 0.0
        gain = np.zeros_like(v)
        gain[squared] = v[squared] ** 2 / (4.0 * self.gauge.l2[squared])
        counted = np.sort(gain[self.gauge.counted])[::-1]
        return float(counted[: int(self.radius)].sum() + gain[~self.gauge.counted].sum())

    def dual_scale(self, v: Vector) -> float:
        if self.radius < 1.0:
            return 1.0
        return self.gauge.penalised_scale(v, 1.0)

    def prox(self, point: Vector, step: float) -> Vector:
        """The counted weights that gain most from being there stay, shrunk by the square."""
        damped = 1.0 + 2.0 * step * self.gauge.l2
        worth = self.gauge.project(point / np.sqrt(damped), self.radius)
        return point / damped * worth.diagonal

    def dual_prox(self, s: Vector, sigma: float) -> DualProx:
        raise NotImplementedError("l0 is not convex")

    def substituted(self, factor: Vector, multiplier: float) -> AtMost:
        gauge = self.gauge.substituted(factor)
        return AtMost(Count(gauge.counted, gauge.l2 * multiplier), self.radius)


@dataclass(frozen=True)
class L0(Penalty):
    """The number of weights that are not zero: best subset."""

    name = "l0"
    formula = "#{w_j != 0}"
    takes_factors = takes_sizes = True

    def gauge(self, factors: Vector, scale: Vector) -> Count:
        if not np.all((factors == 0.0) | (factors == 1.0)):
            raise DataError(
                f"penalty_factors of {self.name} must be 0 (always in) or 1 (counted); a column is in or it "
                "is not."
            )
        return Count(factors == 1.0, np.zeros_like(scale))

    def within(self, gauge: Gauge, budget: float) -> Constrained:
        assert isinstance(gauge, Count)
        return AtMost(gauge, budget)


@dataclass(frozen=True)
class L0L2(L0):
    """`lam`: λ (#{w_j ≠ 0} + α Σ w_j²). `budget`: at most so many weights, α Σ w_j² added to the loss."""

    alpha: float = 0.1
    name = "l0_l2"
    formula = "#{w_j != 0} + alpha sum w_j^2"

    def __post_init__(self) -> None:
        positive("The alpha of l0_l2(alpha)", self.alpha)

    def gauge(self, factors: Vector, scale: Vector) -> Count:
        counted = super().gauge(factors, scale).counted
        return Count(counted, np.where(counted, self.alpha * scale * scale, 0.0))

    def subject(self, budget: float) -> str:
        return f" + {self.alpha:g} * (sum w_j^2) subject to #{{w_j != 0}} <= {budget:g}"
