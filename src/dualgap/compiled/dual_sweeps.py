"""Dual coordinate ascent over rows, for losses that are sums of terms d·(z − kink) − softness·d²/2."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dualgap.arrays import Matrix, Vector
from dualgap.compiled.lines import Lines, add, dot
from dualgap.compiled.mechanism import compiled
from dualgap.compiled.model_sweeps import shuffle

BLOCK = 16  # rows visited together: their order is random, what they share stays in the cache


@compiled
def ascend(
    rows: Lines,
    terms: tuple[Matrix, Matrix, Matrix, float],
    row: tuple[Vector, Vector, Vector],
    dual: Matrix,
    w: Vector,
    stop: tuple[float, int],
    random: NDArray[np.int64],
) -> tuple[float, int]:
    """Sweeps with shrinking (Hsieh et al., 2008, algorithm 3), rows in blocks and the blocks in random order.

    `terms` is (kink, lower, upper, softness); `row` is (weight, square norm, offset of the prediction).
    Keeps w = −Σ weight_i Σ_k dual_ik line_i. Ends when the projected gradients of a sweep over all rows
    span no more than stop[0], or after stop[1] sweeps; returns their span and the number of sweeps.
    """
    kink, lower, upper, softness = terms
    weight, square, offset = row
    n, parts = dual.shape
    index = np.arange(n)
    drop = np.zeros(n, dtype=np.bool_)
    active, highest, lowest = n, np.inf, -np.inf
    span = np.inf
    for sweep in range(stop[1]):
        top, bottom = -np.inf, np.inf
        blocks = (active + BLOCK - 1) // BLOCK
        order = np.arange(blocks)
        shuffle(order, blocks, random)
        dropped = 0
        for b in range(blocks):
            first = order[b] * BLOCK
            last = min(first + BLOCK, active)
            for place in range(first, last):
                s = place if sweep % 2 == 0 else first + last - 1 - place
                i = index[s]
                z = dot(rows, i, w) + offset[i]
                move, bound = 0.0, 0
                stiff = weight[i] * square[i]
                for k in range(parts):
                    here = dual[i, k]
                    slope = kink[i, k] + softness * here - z  # of the negated dual
                    if here == lower[i, k]:
                        if slope > highest:
                            bound += 1
                            continue
                        projected = min(slope, 0.0)
                    elif here == upper[i, k]:
                        if slope < lowest:
                            bound += 1
                            continue
                        projected = max(slope, 0.0)
                    else:
                        projected = slope
                    top, bottom = max(top, projected), min(bottom, projected)
                    if abs(projected) > 1e-15:
                        bend = softness + stiff
                        far = np.copysign(np.inf, -slope) if bend <= 0.0 else here - slope / bend
                        ahead = min(max(far, lower[i, k]), upper[i, k])
                        dual[i, k] = ahead
                        move += ahead - here
                        z -= stiff * (ahead - here)
                if bound == parts:
                    drop[s] = True
                    dropped += 1
                elif move != 0.0:
                    add(rows, i, -weight[i] * move, w)
        whole = active == n and dropped == 0
        if dropped > 0:
            kept = 0
            for s in range(active):
                if drop[s]:
                    drop[s] = False
                else:
                    index[kept] = index[s]
                    kept += 1
            active = kept
        span = top - bottom
        if span <= stop[0]:
            if whole:
                return span, sweep + 1
            active, highest, lowest = n, np.inf, -np.inf
            for i in range(n):
                index[i] = i
        else:
            highest = top if top > 0.0 else np.inf
            lowest = bottom if bottom < 0.0 else -np.inf
    return span, stop[1]
