"""bridge(p): h(w) = Σ ω_j |w_j|^p, 0 < p < 1; and the gauge of lp(p) below 1, (Σ |w_j|^p)^(1/p)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dualgap.arrays import Vector
from dualgap.errors import DataError
from dualgap.penalties.base import FAINT, LEAST, LOST, Concave, Penalty, ScaledGauge
from dualgap.penalties.norm import norm
from dualgap.traits import Trait


@dataclass(frozen=True, eq=False)
class QuasiNorm(ScaledGauge, Concave):
    """(Σ |scale_j w_j|^order)^(1/order), order < 1: concave in |w|, never below the l1 norm."""

    traits = Trait.NONE

    def value(self, w: Vector) -> float:
        return norm(self.scale * w, self.order)

    def doubt(self, w: Vector, value: float) -> float:
        """The root multiplies what the sum is off by; a weight that underflows beside another may count."""
        size = np.abs(self.scale * w)
        faint = (size < FAINT * float(size.max(initial=1.0))) & (w != 0.0) & ~self.free
        return np.inf if faint.any() else LOST / self.order * value

    def tangent(self, w: Vector, smoothing: float) -> Vector:
        seen = ~self.free
        slopes = np.zeros_like(w)
        size = self.scale[seen] * (np.abs(w[seen]) + smoothing)
        slopes[seen] = self.scale[seen] * (size / norm(size, self.order)) ** (self.order - 1.0)
        return slopes

    def chord(self, reach: float) -> Vector:
        return self.scale

    def smallest_strength_at_zero(self, v: Vector) -> float:
        seen = ~self.free
        return float(np.max(np.abs(v[seen]) / self.scale[seen], initial=0.0))


@dataclass(frozen=True, eq=False)
class Powers(ScaledGauge, Concave):
    """Σ scale_j |w_j|^order, order < 1."""

    traits = Trait.NONE

    def value(self, w: Vector) -> float:
        return float(self.scale @ np.abs(w) ** self.order)

    def doubt(self, w: Vector, value: float) -> float:
        faint = LEAST * float(np.count_nonzero(self.scale) + self.scale.sum())
        return (LOST + len(w) * 2.0**-52) * value + faint

    def substituted(self, factor: Vector) -> Powers:
        return Powers(self.order, self.scale * np.abs(factor) ** self.order)

    def stretch(self, w: Vector, radius: float) -> float:
        return float((radius / self.value(w)) ** (1.0 / self.order))

    def tangent(self, w: Vector, smoothing: float) -> Vector:
        return self.order * self.scale * (np.abs(w) + smoothing) ** (self.order - 1.0)

    def chord(self, reach: float) -> Vector:
        slopes = np.zeros_like(self.scale)
        seen = ~self.free
        if reach > 0.0:
            slopes[seen] = self.scale[seen] ** (1.0 / self.order) * reach ** (1.0 - 1.0 / self.order)
        return slopes

    def penalised_scale(self, v: Vector, strength: float) -> float:
        return 0.0 if np.any(v[~self.free] != 0.0) else 1.0

    def support(self, v: Vector, radius: float) -> float:
        """The hull of the ball is that of its corners on the axes."""
        seen = ~self.free
        corners = (radius / self.scale[seen]) ** (1.0 / self.order)
        return float(np.max(np.abs(v[seen]) * corners, initial=0.0))

    def smallest_strength_at_zero(self, v: Vector) -> float:
        return 0.0  # the slope at zero is infinite, whatever the strength


@dataclass(frozen=True)
class Bridge(Penalty):
    """Sum of powers below one: sparser than l1, not convex."""

    p: float = 0.5
    name = "bridge"
    formula = "sum |w_j|^p"
    takes_factors = True

    def __post_init__(self) -> None:
        if not 0.0 < self.p < 1.0:
            raise DataError(f"bridge(p) needs p strictly between 0 and 1, not {self.p!r}.")

    def gauge(self, factors: Vector, scale: Vector) -> Powers:
        return Powers(self.p, factors * scale**self.p)
