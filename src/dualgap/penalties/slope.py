"""slope(q): h(w) = Σ λ_i |w|_(i), the largest weight at the highest price, λ_i = Φ⁻¹(1 − i q / 2p)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from dualgap.arrays import Vector
from dualgap.errors import DataError
from dualgap.penalties.base import Penalty, refuse_factors
from dualgap.penalties.sorted import Sorted


@dataclass(frozen=True)
class Slope(Penalty):
    """Sorted prices: false discoveries are held to a share q, and like weights come out equal.

    `sequence` gives other prices, falling, one for each column.
    """

    q: float = 0.1
    sequence: tuple[float, ...] | None = field(default=None, kw_only=True)
    name: ClassVar[str] = "slope"
    formula: ClassVar[str] = "sum lambda_i |w|_(i)"

    def __post_init__(self) -> None:
        if not 0.0 < self.q <= 1.0:
            raise DataError(f"slope(q) needs a q above 0 and up to 1, not {self.q!r}.")
        if self.sequence is not None:
            object.__setattr__(self, "sequence", tuple(float(price) for price in self.sequence))
            prices = np.array(self.sequence)
            sound = len(prices) and np.all(np.isfinite(prices)) and prices[0] > 0.0 and prices[-1] >= 0.0
            if not sound or np.any(np.diff(prices) > 0.0):
                raise DataError("The sequence of slope must fall from a positive number, and not below 0.")

    def gauge(self, factors: Vector, scale: Vector) -> Sorted:
        refuse_factors(self.name, factors)
        p = max(int(np.count_nonzero(scale)), 1)
        if self.sequence is None:
            from scipy.special import ndtri  # here: most penalties never need it

            prices = -ndtri(np.arange(1, p + 1) * (self.q / (2.0 * p)))
            if not prices[0] > 0.0:
                raise DataError("slope(1) has a price of 0 for a single column; give q below 1.")
            return Sorted(prices, scale)
        if len(self.sequence) < p:
            raise DataError(f"The sequence of slope has {len(self.sequence)} prices for {p} columns.")
        return Sorted(np.array(self.sequence), scale)
