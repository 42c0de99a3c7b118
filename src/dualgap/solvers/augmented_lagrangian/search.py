"""A step length from slopes alone: near the optimum the values have no digits left to compare."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import numpy as np

T = TypeVar("T")
ENOUGH = 0.1  # share of the first slope that may remain
TRIALS = 40

HALF = 0.5 + 1e-6  # of a bracket that was just halved, so that rounding does not decide


def search(along: Callable[[float], tuple[float, float, T]], first: float) -> tuple[float, T | None]:
    """A t > 0 where the slope of a convex function is down to a tenth of `first` < 0, and what is there.

    `along(t)` gives slope, second derivative and a payload. Newton inside a bracket; the step grows while
    the function falls; what is not finite lies too far. Without such a t (a kink) the last point on the way
    down is taken; with none, nothing.
    """
    low, high, t = 0.0, np.inf, 1.0
    kept: tuple[float, T | None] = (0.0, None)
    for _ in range(TRIALS):
        slope, bend, payload = along(t)
        if abs(slope) <= ENOUGH * abs(first):
            return t, payload
        width = high - low
        if slope < 0.0:
            low, kept = t, (t, payload)
        else:
            high = t
        if high < np.inf and high - low <= 1e-14 * high:
            break
        # On an exponential, Newton walks down in steps of one unit: halve what it does not
        newton = t - slope / bend if bend > 0.0 and high - low <= HALF * width else np.nan
        t = _next(newton, t, low, high)
    return kept


def _next(newton: float, t: float, low: float, high: float) -> float:
    if high == np.inf:
        return float(np.clip(newton, 2.0 * t, 16.0 * t)) if np.isfinite(newton) else 4.0 * t
    if low < newton < high:
        return newton
    return 0.5 * (low + high) if low > 0.0 else 0.2 * high
