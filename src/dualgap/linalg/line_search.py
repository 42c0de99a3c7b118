"""How far to go along a line on which a function is convex.

Only slopes are compared: near the optimum values have no digits left. One that is not finite lies too far.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import numpy as np

T = TypeVar("T")
ENOUGH = 0.25  # share of the first slope that may remain
TRIALS = 60  # enough to halve a bracket down to rounding
FARTHEST = 2.0**40  # a function that still falls there has no minimum worth finding
CLOSED = 1e-14  # of its upper end: a bracket around a kink that is as narrow as rounding
HALF = 0.5 + 1e-6  # of a bracket that was just halved, so that rounding does not decide


def convex_step(slope: Callable[[float], float]) -> float:
    """s near the minimiser of a convex function with this derivative: 1 if that will do, 0 if it rises."""
    first = slope(0.0)
    return search(lambda t: (slope(t), np.nan, None), first)[0] if first < 0.0 else 0.0


def search(
    along: Callable[[float], tuple[float, float, T]], first: float, enough: float = ENOUGH
) -> tuple[float, T | None]:
    """A t > 0 where the slope is down to the share `enough` of `first` < 0, and what is there.

    `along(t)` gives slope, second derivative (nan if it is not known) and a payload. The step grows while the
    function falls; inside a bracket Newton, or false position where there is no second derivative. Without
    such a t (a kink) the last point on the way down is taken; with none, (0, None).
    """
    low, below, high, above, t = 0.0, first, np.inf, np.inf, 1.0
    kept: tuple[float, T | None] = (0.0, None)
    for trial in range(TRIALS):
        slope, bend, payload = along(t)
        if abs(slope) <= enough * abs(first):
            return t, payload
        width, newton = high - low, t - slope / bend if bend > 0.0 else np.nan
        if slope < 0.0:
            low, below, kept = t, slope, (t, payload)
        else:
            high, above = t, slope
        if high - low <= CLOSED * min(high, FARTHEST) or low > FARTHEST:
            break
        if high == np.inf:
            t = float(np.clip(newton, 2.0 * t, 16.0 * t)) if np.isfinite(newton) else 2.0 * t
        elif bend > 0.0 and high - low <= HALF * width and low < newton < high:
            t = newton  # on an exponential Newton walks down in steps of one unit: only while it halves
        else:
            t = _inside((low, below), (high, above), secant=not bend > 0.0 and trial % 3 < 2)
    return kept


def _inside(left: tuple[float, float], right: tuple[float, float], *, secant: bool) -> float:
    """A point between two (t, slope): where a line through both has its root, or the middle."""
    (low, below), (high, above) = left, right
    if secant and np.isfinite(above):
        return low + min(max(below / (below - above), 0.02), 0.98) * (high - low)
    return 0.5 * (low + high) if low > 0.0 else 0.2 * high  # a first step is more often far too long
