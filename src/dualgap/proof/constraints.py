"""lower ≤ Aw ≤ upper beside the bounds of single weights: what they add to the gap, and how far w is off.

A multiplier μ_k > 0 belongs to the lower end, μ_k < 0 to the upper one. For every w' that meets all of them,

    P(w) − P(w') ≤ … + Σ μ⁺ (Aw − lower) + μ⁻ (upper − Aw),      v = Xᵀθ + Aᵀμ,

whether w meets them or not. Terms below zero, which only a w outside can have, count as zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from dualgap.arrays import Mask, Matrix, Vector
from dualgap.losses.base import FAINT
from dualgap.proof.rounding import FEW, LEAST, U, gamma, total
from dualgap.proof.rows import Rows

KEPT = 1e-9  # of the size of a row's terms: weights that miss a constraint by more do not count as an answer


@dataclass(frozen=True, eq=False)
class Constraints:
    """A over the columns, without the intercept; an end may be infinite, equal ends make an equation."""

    matrix: Matrix
    lower: Vector
    upper: Vector

    def __len__(self) -> int:
        return len(self.lower)

    @cached_property
    def rows(self) -> Rows:
        """A, with products that know their error."""
        return Rows(self.matrix)

    @property
    def domain(self) -> tuple[Vector, Vector]:
        """The multipliers that an end allows."""
        return np.where(np.isinf(self.upper), 0.0, -np.inf), np.where(np.isinf(self.lower), 0.0, np.inf)

    @cached_property
    def ends(self) -> Vector:
        """The larger of the finite ends of each row."""
        low = np.where(np.isinf(self.lower), 0.0, np.abs(self.lower))
        return np.maximum(low, np.where(np.isinf(self.upper), 0.0, np.abs(self.upper)))

    def missed(self, coef: Vector, *, exact: bool = False) -> tuple[Vector, Vector, Vector]:
        """Aw and its error, and by how much each row is missed at most."""
        value, low, error = self.rows.times(coef, exact=exact)
        sizes, terms = np.abs(self.matrix) @ np.abs(coef), self.matrix.shape[1]
        own = (gamma(terms + 2) * sizes + 8.0 * terms * LEAST) * (1.0 + FEW)
        used = (self.matrix != 0.0) @ (coef != 0.0)  # a row without terms is zero, and nothing is lost
        doubt = np.where(used > 0, np.minimum(error, own), 0.0)
        away = value + low
        doubt = (doubt + 2.0 * U * (np.abs(away) + self.ends)) * (1.0 + FEW)
        beyond = np.maximum(self.lower - away, away - self.upper)
        clear = beyond + doubt <= 0.0
        return away, doubt, np.where(clear, 0.0, np.maximum(beyond + doubt, 0.0))

    def sizes(self, coef: Vector) -> Vector:
        """What the terms and ends of each row add up to."""
        return np.asarray(np.abs(self.matrix) @ np.abs(coef) + self.ends)

    def kept(self, coef: Vector) -> tuple[float, bool]:
        """How far any row is missed at most, and whether that is no more than KEPT allows."""
        if not len(self):
            return 0.0, True
        beyond = self.missed(coef)[2]
        return float(beyond.max(initial=0.0)), bool(np.all(beyond <= KEPT * self.sizes(coef) + FAINT))

    def terms(self, coef: Vector, mu: Vector, reach: Vector, *, exact: bool) -> float:
        """Σ μ⁺ (Aw − lower) + μ⁻ (upper − Aw) from above, for every multiplier within reach of μ."""
        away, doubt, _ = self.missed(coef, exact=exact)
        plus, minus = np.maximum(mu + reach, 0.0), np.maximum(reach - mu, 0.0)
        below, above = ~np.isinf(self.lower), ~np.isinf(self.upper)
        over = np.where(below, away - np.where(below, self.lower, 0.0) + doubt, 0.0)
        under = np.where(above, np.where(above, self.upper, 0.0) - away + doubt, 0.0)
        return total(plus * np.maximum(over, 0.0)) + total(minus * np.maximum(under, 0.0))

    def beside(self, other: Constraints) -> Constraints:
        """Both."""
        lower, upper = np.append(self.lower, other.lower), np.append(self.upper, other.upper)
        return Constraints(np.vstack([self.matrix, other.matrix]), lower, upper)

    def restricted(self, keep: Mask) -> Constraints:
        """Over some of the columns, the others being zero."""
        return Constraints(np.ascontiguousarray(self.matrix[:, keep]), self.lower, self.upper)

    def substituted(self, factor: Vector, unit: float) -> Constraints:
        """In the coordinates u, w = unit·factor ∘ u, both ends and rows divided by the unit."""
        return Constraints(self.matrix * factor, self.lower / unit, self.upper / unit)

    def against(self, mu: Vector, *, exact: bool) -> tuple[Vector, Vector]:
        """Aᵀμ, and the error of each of its entries."""
        found: tuple[Any, Any] = self.rows.against(mu, exact=exact)
        return found


def contradicts(constraints: Constraints, low: Vector, high: Vector, mu: Sequence[Fraction]) -> bool:
    """Do these multipliers show, in exact arithmetic, that no weights meet bounds and constraints together?

    Whoever meets lower ≤ Aw ≤ upper has μ·Aw ≥ Σ lower μ⁺ − upper μ⁻. Whoever meets low ≤ w ≤ high has
    v·w ≤ Σ high v⁺ − low v⁻, v = Aᵀμ. Where the second number is below the first nobody meets both (Farkas).
    """
    asked, pull = Fraction(0), [Fraction(0)] * len(low)
    for k, price in enumerate(mu):
        end = constraints.lower[k] if price > 0 else constraints.upper[k]
        if not price:
            continue
        if not np.isfinite(end):
            return False
        asked += price * Fraction(float(end))
        for column in np.flatnonzero(constraints.matrix[k]):
            j = int(column)
            pull[j] += price * Fraction(float(constraints.matrix[k, j]))
    most = Fraction(0)
    for i, v in enumerate(pull):
        end = high[i] if v > 0 else low[i]
        if not v:
            continue
        if not np.isfinite(end):
            return False
        most += v * Fraction(float(end))
    return most < asked
