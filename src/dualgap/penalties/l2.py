"""l2: h(w) = Σ ω_j w_j², squared as everybody means it.   l2_norm: h(w) = ‖w‖₂."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dualgap.arrays import Vector
from dualgap.penalties.base import Penalty, refuse_factors
from dualgap.penalties.norm import Norm
from dualgap.penalties.separable import Separable


@dataclass(frozen=True)
class L2(Penalty):
    """Sum of squared weights: ridge."""

    name = "l2"
    formula = "sum w_j^2"
    takes_factors = True
    even = True

    def gauge(self, factors: Vector, scale: Vector) -> Separable:
        return Separable(np.zeros_like(scale), factors * scale * scale)


@dataclass(frozen=True)
class L2Norm(Penalty):
    """Euclidean norm, not squared: all weights or none."""

    name = "l2_norm"
    formula = "sqrt(sum w_j^2)"

    def gauge(self, factors: Vector, scale: Vector) -> Norm:
        refuse_factors(self.name, factors)
        return Norm(2.0, scale)
