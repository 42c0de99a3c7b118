"""l21: h(w) = Σ_j ω_j ‖W_j·‖₂, W_j· the weights of column j in all outputs.   l21_l2(α): with α ‖W_j·‖₂²."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import ClassVar, Self

import numpy as np

from dualgap.arrays import Vector, positive
from dualgap.errors import DataError
from dualgap.penalties.base import Gauge, Penalty
from dualgap.penalties.grouped import Grouped
from dualgap.penalties.radial import Radial
from dualgap.penalties.separable import Separable


@dataclass(frozen=True)
class JointPenalty(Penalty):
    """What both share: a price for the weights of a column in all outputs."""

    copies: int = field(default=1, kw_only=True)  # of the columns: one for each output
    takes_factors = True
    joint = True

    def tiled(self, times: int, intercept: bool) -> Self:
        return replace(self, copies=times)

    def width(self, scale: Vector) -> int:
        """How many columns there are."""
        width, rest = divmod(len(scale), self.copies)
        if rest:
            raise DataError(
                f"{self.name} sees {len(scale)} weights, which are not {self.copies} for each column."
            )
        return width


@dataclass(frozen=True)
class L21(JointPenalty):
    """A column comes in for all outputs, or for none; of a single output it is the l1 norm."""

    name: ClassVar[str] = "l21"
    formula: ClassVar[str] = "sum over columns of ||W_j||"

    def gauge(self, factors: Vector, scale: Vector) -> Gauge:
        width = self.width(scale)
        if self.copies == 1:
            return Separable(factors * scale, np.zeros(width))
        prices = factors * scale
        return Grouped(np.zeros(len(scale)), prices, np.tile(np.arange(width), self.copies))


@dataclass(frozen=True)
class L21L2(JointPenalty):
    """The elastic net of several outputs: α weighs the square of a column's weights against their length."""

    alpha: float = 0.5
    name: ClassVar[str] = "l21_l2"
    formula: ClassVar[str] = "sum over columns of ||W_j|| + alpha ||W_j||^2"

    def __post_init__(self) -> None:
        positive("The alpha of l21_l2(alpha)", self.alpha)

    def gauge(self, factors: Vector, scale: Vector) -> Gauge:
        width = self.width(scale)  # factors and scales are the same for all outputs
        one, unit = factors[:width], scale[:width]
        inner = Separable(one * unit, self.alpha * one * unit * unit)
        return inner if self.copies == 1 else Radial(inner, np.tile(np.arange(width), self.copies))
