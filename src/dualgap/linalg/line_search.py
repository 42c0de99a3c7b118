"""How far to go along a line on which the objective is convex."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

ENOUGH = 0.25  # stop where the slope has fallen to this share of the slope at the start
FARTHEST = 2.0**40


def convex_step(slope: Callable[[float], float]) -> float:
    """s near the minimiser of a convex function with this derivative: 1 if that will do, 0 if it rises.

    Doubles while the function falls, then narrows the bracket. Only slopes are compared, so nothing is
    lost to rounding near the optimum; a slope that overflows counts as rising. At a jump of the slope the
    bracket closes on the kink.
    """
    start = slope(0.0)
    if not start < 0.0:
        return 0.0
    enough = ENOUGH * -start
    low, below, high, above = 0.0, start, 1.0, slope(1.0)
    while above < -enough and high < FARTHEST:
        low, below, high = high, above, 2.0 * high
        above = slope(high)
    if abs(above) <= enough or above < 0.0:
        return high
    if low > 0.0 and -below <= enough:
        return low
    return _narrow(slope, (low, below), (high, above), enough)


def _narrow(
    slope: Callable[[float], float], left: tuple[float, float], right: tuple[float, float], enough: float
) -> float:
    """A root between the two points (s, slope), by false position with bisection as the guard."""
    (low, below), (high, above) = left, right
    for turn in range(60):
        share = below / (below - above) if np.isfinite(above) and turn % 3 < 2 else 0.5
        middle = low + min(max(share, 0.02), 0.98) * (high - low)
        at = slope(middle)
        if abs(at) <= enough or high - low <= 1e-12 * high:
            return middle
        if at < 0.0:
            low, below = middle, at
        else:
            high, above = middle, at
    return low
