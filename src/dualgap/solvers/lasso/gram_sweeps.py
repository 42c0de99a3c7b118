"""Coordinate descent on  ½ wᵀGw − cᵀw + Σ price_j |w_j|  with the matrix G at hand, and what goes with it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dualgap.arrays import Matrix, Vector
from dualgap.compiled.mechanism import compiled

INNER = 20  # sweeps over what is not zero between two over all coordinates, at most


@compiled
def soft(point: float, threshold: float) -> float:
    """argmin over x of threshold |x| + ½ (x − point)²."""
    if point > threshold:
        return point - threshold
    if point < -threshold:
        return point + threshold
    return 0.0


@compiled(reassociate=True)
def descend(gram: Matrix, w: Vector, residual: Vector, price: Vector, sweeps: int) -> None:
    """Sweeps over all coordinates, in place; `residual` is c − Gw and is kept so.

    They end early when two in a row have changed no sign: the support is then worth a step of Newton.
    """
    size = w.shape[0]
    settled = 0
    for _ in range(sweeps):
        signs = 0
        for j in range(size):
            curvature = gram[j, j]
            if curvature <= 0.0:
                continue
            ahead = soft(residual[j] + curvature * w[j], price[j]) / curvature
            step = ahead - w[j]
            if step != 0.0:
                if ahead * w[j] <= 0.0:
                    signs += 1
                w[j] = ahead
                for k in range(size):
                    residual[k] -= step * gram[j, k]
        settled = settled + 1 if signs == 0 else 0
        if settled == 2:
            break


@compiled(reassociate=True, inner=True)
def _sweep(
    gram: Matrix, w: Vector, residual: Vector, price: Vector, live: NDArray[np.int64], count: int
) -> tuple[int, float]:
    """One sweep over the first `count` of `live`, where those that are not zero then come first."""
    left, largest = 0, 0.0
    for k in range(count):
        j = live[k]
        curvature, here = gram[j, j], w[j]
        if curvature <= 0.0 or (here == 0.0 and abs(residual[j]) <= price[j]):
            continue
        ahead = soft(residual[j] + curvature * here, price[j]) / curvature
        step = ahead - here
        if step != 0.0:
            largest = max(largest, abs(step) * curvature / price[j])
            w[j] = ahead
            row = gram[j]
            for i in range(residual.shape[0]):
                residual[i] -= step * row[i]
        if ahead != 0.0:
            live[left] = j
            left += 1
    return left, largest


@compiled(reassociate=True)
def settle(gram: Matrix, w: Vector, residual: Vector, price: Vector, tolerance: float, most: int) -> float:
    """Sweeps over all coordinates, each followed by some over those that are not zero, in place.

    They end when no coordinate of a full sweep moves its gradient by more than `tolerance` of its price, or
    when `most` coordinates were seen; the largest move of the last full sweep is returned.
    """
    size = w.shape[0]
    live = np.arange(size)
    worst, seen = np.inf, 0
    while seen < most:
        count, worst = _sweep(gram, w, residual, price, live, size)
        seen += size
        if worst <= tolerance:
            break
        for _ in range(INNER):
            seen += count
            count, largest = _sweep(gram, w, residual, price, live, count)
            if largest <= max(tolerance, 0.1 * worst):
                break
        for j in range(size):
            live[j] = j
    return worst


@compiled
def gather(gram: Matrix, which: NDArray[np.int64], out: Matrix) -> None:
    """out = gram[which, which]."""
    for a in range(which.shape[0]):
        row = gram[which[a]]
        for b in range(which.shape[0]):
            out[a, b] = row[which[b]]


@compiled(reassociate=True)
def subtract_rows(gram: Matrix, which: NDArray[np.int64], amount: Vector, residual: Vector) -> None:
    """residual −= Σ amount_a · gram[which_a], on as many entries as residual has."""
    for a in range(which.shape[0]):
        if amount[a] != 0.0:
            row = gram[which[a]]
            for k in range(residual.shape[0]):
                residual[k] -= amount[a] * row[k]
