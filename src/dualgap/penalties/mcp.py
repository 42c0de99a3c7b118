"""mcp(γ): λ h(w) = Σ λ|w_j| − w_j²/2γ, flat from γλ on.   scad(γ): λ h(w) = Σ λ|w_j|, bent from λ to γλ."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import ClassVar, NoReturn, Self

import numpy as np

from dualgap.arrays import Vector
from dualgap.errors import DataError
from dualgap.penalties.base import Gauge, Penalty
from dualgap.penalties.folded import Folded


@dataclass(frozen=True)
class FoldedPenalty(Penalty):
    """What both share: λ is inside h, since it says where h bends; `strength` is that λ."""

    strength: float = field(default=1.0, kw_only=True, compare=False, repr=False)
    takes_factors: ClassVar[bool] = True
    slope_at_zero: ClassVar[str | None] = "l1"

    def at(self, lam: float) -> Self:
        return replace(self, strength=lam)

    def within(self, gauge: Gauge, budget: float) -> NoReturn:
        raise DataError(f"{self.name} has λ inside: give lam= or C=, not budget=.")


@dataclass(frozen=True)
class Mcp(FoldedPenalty):
    """The minimax concave penalty (Zhang, 2010): zeros as those of l1, large weights without a price."""

    gamma: float = 3.0
    name: ClassVar[str] = "mcp"
    formula: ClassVar[str] = "sum m_j - m_j^2 / (2*gamma*lam), m_j = min(|w_j|, gamma*lam)"

    def __post_init__(self) -> None:
        if not 1.0 < self.gamma < np.inf:
            raise DataError(f"mcp(gamma) needs a finite gamma above 1, not {self.gamma!r}.")

    def gauge(self, factors: Vector, scale: Vector) -> Folded:
        seen = factors * scale > 0.0
        bend = np.where(seen, scale * scale / (self.gamma * self.strength), 0.0)
        return Folded(factors * scale, bend, np.zeros(len(scale)))


@dataclass(frozen=True)
class Scad(FoldedPenalty):
    """Smoothly clipped absolute deviation (Fan and Li, 2001): l1 up to λ, flat from γλ on."""

    gamma: float = 3.7
    name: ClassVar[str] = "scad"
    formula: ClassVar[str] = "sum |w_j| up to lam, less beyond, flat from gamma*lam on"

    def __post_init__(self) -> None:
        if not 2.0 < self.gamma < np.inf:
            raise DataError(f"scad(gamma) needs a finite gamma above 2, not {self.gamma!r}.")

    def gauge(self, factors: Vector, scale: Vector) -> Folded:
        seen = factors * scale > 0.0
        bend = np.where(seen, scale * scale / ((self.gamma - 1.0) * self.strength), 0.0)
        start = np.divide(factors * self.strength, scale, out=np.zeros(len(scale)), where=seen)
        return Folded(factors * scale, bend, start)
