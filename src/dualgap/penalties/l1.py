"""l1: h(w) = Σ ω_j |w_j|. The lasso."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dualgap.arrays import Vector
from dualgap.penalties.base import Penalty
from dualgap.penalties.separable import Separable


@dataclass(frozen=True)
class L1(Penalty):
    """Sum of absolute weights: sparse answers."""

    name = "l1"
    formula = "sum |w_j|"
    takes_factors = True
    even = True

    def gauge(self, factors: Vector, scale: Vector) -> Separable:
        return Separable(factors * scale, np.zeros_like(scale))
