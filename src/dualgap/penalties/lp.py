"""lp(p): h(w) = (Σ |w_j|^p)^(1/p), p > 0.   linf: h(w) = max |w_j|."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dualgap.arrays import Vector
from dualgap.errors import DataError
from dualgap.penalties.base import Gauge, Penalty, refuse_factors
from dualgap.penalties.bridge import QuasiNorm
from dualgap.penalties.l1 import L1
from dualgap.penalties.norm import Norm


@dataclass(frozen=True)
class Lp(Penalty):
    """The norm of order p; below 1 it is none, and not convex."""

    p: float = 1.5
    name = "lp"
    formula = "(sum |w_j|^p)^(1/p)"

    def __post_init__(self) -> None:
        if not 0.0 < self.p < np.inf:
            raise DataError(f"lp(p) needs a positive finite p, not {self.p!r}; p = inf is linf, p = 0 is l0.")

    def gauge(self, factors: Vector, scale: Vector) -> Gauge:
        refuse_factors(self.name, factors)
        if self.p < 1.0:
            return QuasiNorm(self.p, scale)
        return L1().gauge(factors, scale) if self.p == 1.0 else Norm(self.p, scale)


@dataclass(frozen=True)
class Linf(Penalty):
    """The largest weight: all weights equal in size where it binds."""

    name = "linf"
    formula = "max |w_j|"

    def gauge(self, factors: Vector, scale: Vector) -> Gauge:
        refuse_factors(self.name, factors)
        return Norm(np.inf, scale)
