"""Dual coordinate ascent over rows, for losses that are sums of terms d·(z − kink) − softness·d²/2."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dualgap.arrays import Matrix, Vector
from dualgap.compiled.layout import Lines
from dualgap.compiled.lines import add, dot
from dualgap.compiled.mechanism import compiled
from dualgap.compiled.model_sweeps import shuffle

BLOCK = 16  # rows visited together: their order is random, what they share stays in the cache
# places in the window of projected slopes: of the last sweep, beyond which rows are dropped, and of this one
HIGHEST, LOWEST, TOP, BOTTOM = 0, 1, 2, 3


@compiled
def hopeless(slope: float, here: float, low: float, high: float, window: Vector) -> bool:
    """Is the variable at a bound, and pushed against it harder than anything was moved in the last sweep?"""
    if here == low:
        return bool(slope > window[HIGHEST])
    return bool(here == high and slope < window[LOWEST])


@compiled
def projected(slope: float, here: float, low: float, high: float) -> float:
    """The slope along which the variable can still move down."""
    if here == low:
        return min(slope, 0.0)
    return max(slope, 0.0) if here == high else slope


@compiled
def visit(
    rows: Lines,
    terms: tuple[Matrix, Matrix, Matrix, float],
    row: tuple[Vector, Vector, Vector],
    dual: Matrix,
    w: Vector,
    i: int,
    window: Vector,
) -> bool:
    """Maximise over the variables of row i, one term after the other; True if none of them is worth it."""
    kink, lower, upper, softness = terms
    weight, square, offset = row
    stiff = weight[i] * square[i]
    z = dot(rows, i, w) + offset[i]
    move, idle = 0.0, True
    for k in range(dual.shape[1]):
        here, low, high = dual[i, k], lower[i, k], upper[i, k]
        slope = kink[i, k] + softness * here - z  # of the negated dual
        if hopeless(slope, here, low, high, window):
            continue
        idle = False
        free = projected(slope, here, low, high)
        window[TOP], window[BOTTOM] = max(window[TOP], free), min(window[BOTTOM], free)
        if abs(free) > 1e-15:
            bend = softness + stiff
            ahead = here - slope / bend if bend > 0.0 else np.copysign(np.inf, -slope)
            ahead = min(max(ahead, low), high)
            dual[i, k] = ahead
            move += ahead - here
            z -= stiff * (ahead - here)
    if move != 0.0:
        add(rows, i, -weight[i] * move, w)
    return idle


@compiled
def without(index: NDArray[np.int64], drop: NDArray[np.bool_], active: int) -> int:
    """Remove the marked places among the first `active` ones, keeping the order; how many are left."""
    kept = 0
    for s in range(active):
        if drop[s]:
            drop[s] = False
        else:
            index[kept] = index[s]
            kept += 1
    return kept


@compiled
def ascend(
    rows: Lines,
    terms: tuple[Matrix, Matrix, Matrix, float],
    row: tuple[Vector, Vector, Vector],
    dual: Matrix,
    w: Vector,
    watch: tuple[NDArray[np.int64], Vector, NDArray[np.int64]],
    stop: tuple[float, int],
) -> tuple[float, int]:
    """Sweeps with shrinking (Hsieh et al., 2008, algorithm 3), rows in blocks and the blocks in random order.

    `terms` is (kink, lower, upper, softness); `row` is (weight, square norm, offset of the prediction);
    `watch` is (active rows, window of slopes, state of the random numbers). Keeps w = −Σ weight_i Σ_k
    dual_ik line_i. Ends when the projected slopes of a sweep span no more than stop[0], or after stop[1]
    sweeps; returns their span and the number of active rows left, which are put first.
    """
    index, window, random = watch
    active, span = index.shape[0], np.inf
    drop = np.zeros(active, dtype=np.bool_)
    for sweep in range(stop[1]):
        window[TOP], window[BOTTOM] = 0.0, 0.0
        blocks = (active + BLOCK - 1) // BLOCK
        order = np.arange(blocks)
        shuffle(order, blocks, random)
        for b in range(blocks):
            first = order[b] * BLOCK
            last = min(first + BLOCK, active)
            for place in range(first, last):
                s = place if sweep % 2 == 0 else first + last - 1 - place
                drop[s] = visit(rows, terms, row, dual, w, index[s], window)
        active = without(index, drop, active)
        span = window[TOP] - window[BOTTOM]
        window[HIGHEST] = window[TOP] if window[TOP] > 0.0 else np.inf
        window[LOWEST] = window[BOTTOM] if window[BOTTOM] < 0.0 else -np.inf
        if span <= stop[0]:
            break
    return span, active
