"""none: h(w) = 0."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dualgap.arrays import Vector
from dualgap.penalties.base import Penalty
from dualgap.penalties.separable import Separable


@dataclass(frozen=True)
class Unpenalised(Penalty):
    """No penalty; takes no strength."""

    name = "none"
    formula = "0"
    takes_strength = False

    def gauge(self, factors: Vector, scale: Vector) -> Separable:
        zero = np.zeros_like(scale)
        return Separable(zero, zero)
