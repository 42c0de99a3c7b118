"""fused(k): h(w) = Σ |Δᵏ w|, neighbours in the order of the columns: steps, kinks or bends are few."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dualgap.arrays import Vector
from dualgap.errors import DataError
from dualgap.penalties.base import Gauge, Penalty, refuse_factors
from dualgap.penalties.differences import Differences
from dualgap.penalties.separable import Separable


@dataclass(frozen=True)
class Fused(Penalty):
    """Weights that are piecewise constant (k = 1), linear (2) or quadratic (3) along the columns."""

    k: int = 1
    name: ClassVar[str] = "fused"
    formula: ClassVar[str] = "sum |D^k w|"
    ordered: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.k not in (1, 2, 3):
            raise DataError(
                f"fused(k) takes differences once, twice or three times: k is 1, 2 or 3, not {self.k!r}."
            )
        object.__setattr__(self, "k", int(self.k))

    def tiled(self, times: int, intercept: bool) -> Fused:
        if times == 1:
            return self
        raise DataError(f'{self} takes no classes jointly; say multiclass="one_vs_rest".')

    def gauge(self, factors: Vector, scale: Vector) -> Gauge:
        refuse_factors(self.name, factors)
        if np.count_nonzero(scale) <= self.k:  # nothing to take that many differences of
            return Separable(np.zeros(len(scale)), np.zeros(len(scale)))
        return Differences(self.k, scale)
