"""Coordinate descent on the quadratic model of a loss, the matrix itself at hand, not its Gram matrix."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dualgap.arrays import Vector
from dualgap.compiled.gram import soft
from dualgap.compiled.layout import Lines
from dualgap.compiled.lines import add_weighted_in, dot_in, draw
from dualgap.compiled.mechanism import compiled

BLOCK = 16  # lines visited together: their order is random, what they share stays in the cache


@compiled
def shuffle(order: NDArray[np.int64], active: int, random: NDArray[np.int64]) -> None:
    """The first `active` entries in random order."""
    for b in range(active):
        other = b + draw(random, active - b)
        order[b], order[other] = order[other], order[b]


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
def off_by(slope: float, here: float, price: float) -> float:
    """How far a coordinate is from optimal; below zero, how far inside its price one at zero is."""
    if here > 0.0:
        return abs(slope + price)
    if here < 0.0:
        return abs(slope - price)
    return abs(slope) - price


@compiled
def descend_model(
    columns: Lines,
    model: tuple[Vector, Vector, Vector],
    penalty: tuple[Vector, Vector, Vector],
    change: Vector,
    stop: tuple[float, int],
    random: NDArray[np.int64],
) -> int:
    """Minimise over d  gradientᵀd + ½ (Xd)ᵀ diag(h) (Xd) + ½ dᵀ diag(ridge) d + Σ price |w + d|.

    `model` is (h, gradient, diagonal), `penalty` (w, price, ridge); d is left in `change`. Blocks of
    columns come in random order; columns at zero well inside their price are left out until the others have
    settled (Yuan, Ho and Lin, 2012, algorithm 3). Ends when the violations of a sweep sum to stop[0], or
    after stop[1] sweeps; returns the number of sweeps.
    """
    dense, starts, indices, values = columns
    h, gradient, curvature = model
    w, price, ridge = penalty
    size, rows = w.shape[0], h.shape[0]
    bend = np.zeros(rows)  # h ∘ Xd
    index, drop = np.arange(size), np.zeros(size, dtype=np.bool_)
    active, slack = size, np.inf
    for sweep in range(stop[1]):
        worst, total = 0.0, 0.0
        blocks = (active + BLOCK - 1) // BLOCK
        order = np.arange(blocks)
        shuffle(order, blocks, random)
        for b in range(blocks):
            for s in range(order[b] * BLOCK, min((order[b] + 1) * BLOCK, active)):
                j = index[s]
                here = w[j] + change[j]
                slope = gradient[j] + ridge[j] * change[j] + dot_in(dense, starts, indices, values, j, bend)
                off = off_by(slope, here, price[j])
                drop[s] = off < -slack
                if off > 0.0:
                    worst = max(worst, off)
                    total += off
                if off > 0.0 and curvature[j] > 0.0:
                    step = soft(here - slope / curvature[j], price[j] / curvature[j]) - here
                    change[j] += step
                    add_weighted_in(dense, starts, indices, values, j, (step, h), bend)
        active = without(index, drop, active)
        if total > stop[0]:
            slack = worst / rows
        elif active == size:
            return sweep + 1
        else:
            index, active, slack = np.arange(size), size, np.inf
    return stop[1]
