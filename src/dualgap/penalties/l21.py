"""l21: h(w) = Σ_j ω_j ‖W_j·‖₂, W_j· the weights of column j in all outputs: one group."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import ClassVar, Self

import numpy as np

from dualgap.arrays import Vector
from dualgap.errors import DataError
from dualgap.penalties.base import Gauge, Penalty
from dualgap.penalties.grouped import Grouped
from dualgap.penalties.separable import Separable


@dataclass(frozen=True)
class L21(Penalty):
    """A column comes in for all outputs, or for none; of a single output it is the l1 norm."""

    copies: int = field(default=1, kw_only=True)  # of the columns: one for each output
    name: ClassVar[str] = "l21"
    formula: ClassVar[str] = "sum over columns of ||W_j||"
    takes_factors = True
    joint = True

    def tiled(self, times: int, intercept: bool) -> Self:
        return replace(self, copies=times)

    def gauge(self, factors: Vector, scale: Vector) -> Gauge:
        width, rest = divmod(len(scale), self.copies)
        if rest:
            raise DataError(f"l21 sees {len(scale)} weights, which are not {self.copies} for each column.")
        if self.copies == 1:
            return Separable(factors * scale, np.zeros(width))
        prices = factors * scale
        return Grouped(np.zeros(len(scale)), prices, np.tile(np.arange(width), self.copies))
