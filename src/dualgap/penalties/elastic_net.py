"""elastic_net(α): h(w) = Σ ω_j (|w_j| + α w_j²)."""

from __future__ import annotations

from dataclasses import dataclass

from dualgap.arrays import Vector, positive
from dualgap.penalties.base import Penalty
from dualgap.penalties.separable import Separable


@dataclass(frozen=True)
class ElasticNet(Penalty):
    """Sparse and strongly convex; α weighs the square against the absolute value."""

    alpha: float = 0.5
    name = "elastic_net"
    formula = "sum |w_j| + alpha w_j^2"
    takes_factors = True
    even = True

    def __post_init__(self) -> None:
        positive("The alpha of elastic_net(alpha)", self.alpha)

    def gauge(self, factors: Vector, scale: Vector) -> Separable:
        return Separable(factors * scale, self.alpha * factors * scale * scale)
