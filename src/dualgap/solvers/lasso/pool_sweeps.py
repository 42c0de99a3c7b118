"""Coordinate descent on squares with an l1 part, over columns kept in 4-byte numbers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dualgap.arrays import Vector
from dualgap.compiled.mechanism import compiled
from dualgap.solvers.lasso.gram_sweeps import soft

INNER = 10  # sweeps over the support between two over all columns, at most


@compiled(reassociate=True)
def sweep_pool(
    columns: NDArray[np.float32],
    moved: NDArray[np.float32],
    w: Vector,
    pull: Vector,
    penalty: tuple[Vector, Vector, Vector, Vector],
    order: NDArray[np.int64],
) -> tuple[float, int]:
    """One sweep over the columns in `order`; those that are not zero then come first in it.

    Returns the largest move and how many they are; otherwise as `descend_pool`.
    """
    price, ridge, curvature, unit = penalty
    rows, largest, live = moved.shape[0], 0.0, 0
    for b in range(order.shape[0]):
        j = order[b]
        column, here = columns[j], w[j]
        along = np.float32(0.0)
        for i in range(rows):
            along += column[i] * moved[i]
        if curvature[j] <= 0.0:
            continue
        slope = pull[j] + along - ridge[j] * here
        ahead = soft(slope + curvature[j] * here, price[j]) / curvature[j]
        step = ahead - here
        if step != 0.0:
            largest = max(largest, abs(step) * curvature[j] / unit[j])
            w[j] = ahead
            single = np.float32(step)
            for i in range(rows):
                moved[i] -= single * column[i]
        if ahead != 0.0:
            order[live] = j
            live += 1
    return largest, live


@compiled(reassociate=True)
def descend_pool(
    columns: NDArray[np.float32],
    moved: NDArray[np.float32],
    w: Vector,
    pull: Vector,
    penalty: tuple[Vector, Vector, Vector, Vector],
    stop: tuple[float, int],
) -> float:
    """Minimise  ½ |r|² + Σ price_j |w_j| + ½ ridge_j w_j²  in place, r being what the columns leave.

    `pull` is x_j·r where the weights were when `moved`, the change of r since then, was zero: rounding is
    relative to that change, not to r. `penalty` is (price, ridge, curvature, unit); a step counts by what
    it changes the gradient, in units. Sweeps over all columns alternate with some over the support. They
    end when no column moves by more than stop[0], or when stop[1] columns have been seen; the largest move
    of the last sweep over all columns is returned.
    """
    size = w.shape[0]
    worst, seen = np.inf, 0
    while seen < stop[1] and worst > stop[0]:
        order = np.arange(size)
        worst, live = sweep_pool(columns, moved, w, pull, penalty, order)
        seen += size
        for _ in range(INNER):
            seen += live
            largest, live = sweep_pool(columns, moved, w, pull, penalty, order[:live])
            if largest <= max(stop[0], 0.1 * worst) or seen >= stop[1]:
                break
    return worst
