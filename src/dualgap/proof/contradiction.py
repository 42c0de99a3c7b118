"""Farkas: multipliers that show, in exact arithmetic, that no weights meet bounds and constraints together.

Whoever meets lower ≤ Aw ≤ upper has μ·Aw ≥ Σ lower μ⁺ − upper μ⁻. Whoever meets low ≤ w ≤ high has
v·w ≤ Σ high v⁺ − low v⁻, v = Aᵀμ. Where the second number is below the first nobody meets both.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from dualgap.arrays import Vector
from dualgap.proof.constraints import Constraints


def contradicts(constraints: Constraints, low: Vector, high: Vector, mu: Sequence[Fraction]) -> bool:
    """Do these multipliers show it?"""
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
