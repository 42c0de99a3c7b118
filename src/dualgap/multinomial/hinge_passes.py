"""Dual steps for the joint hinge, row by row: shares of the classes go to the best point of their simplex."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dualgap.arrays import Matrix, Vector
from dualgap.compiled.mechanism import compiled


@compiled(inner=True)
def _projected(point: Vector, sizes: Vector, share: Vector) -> None:
    """The nearest point with entries ≥ 0 that add up to one, into `share`."""
    count = point.shape[0]
    for k in range(count):  # the largest first, by insertion: classes are few
        here, m = point[k], k
        while m > 0 and sizes[m - 1] < here:
            sizes[m] = sizes[m - 1]
            m -= 1
        sizes[m] = here
    total, level = -1.0, 0.0
    for k in range(count):
        total += sizes[k]
        if sizes[k] * (k + 1) <= total:
            break
        level = total / (k + 1)
    for k in range(count):
        share[k] = max(point[k] - level, 0.0)


@compiled(reassociate=True, inner=True)
def _scores(W: Matrix, row: Vector, z: Vector) -> None:
    """Wx."""
    for k in range(z.shape[0]):
        total = 0.0
        for j in range(row.shape[0]):
            total += W[k, j] * row[j]
        z[k] = total


@compiled(reassociate=True, inner=True)
def _moved(weights: Vector, row: Vector, inverse: Vector, step: float) -> None:
    for j in range(row.shape[0]):
        weights[j] -= step * row[j] * inverse[j]


@compiled(inner=True)
def _shuffled(order: NDArray[np.int64], count: int, state: int) -> int:
    """The first entries in another order, by numbers of a linear congruence."""
    for last in range(count - 1, 0, -1):
        state = (state * 1103515245 + 12345) % 2147483648
        other = (state >> 8) % (last + 1)
        order[last], order[other] = order[other], order[last]
    return state


@compiled(inner=True)
def _pass(
    X: Matrix,
    rows: tuple[NDArray[np.int64], Vector, Vector],
    shares: Matrix,
    W: Matrix,
    inverse: Vector,
    order: NDArray[np.int64],
    moved: tuple[NDArray[np.bool_], Matrix],
) -> tuple[float, float]:
    """One pass over these rows, in place: the gap they had when they were met, and their loss.

    `moved` tells afterwards which shares did; behind that there is room for numbers of the classes.
    """
    own, a, square = rows
    count = W.shape[0]
    live, room = moved
    z, point, sizes, share = room
    gap, loss = 0.0, 0.0
    for i in order:
        row, mine = X[i], own[i]
        _scores(W, row, z)
        base, most, mean = z[mine] - 1.0, 0.0, 0.0
        for k in range(count):
            z[k] -= base
        z[mine] -= 1.0
        for k in range(count):
            most = max(most, z[k])
            mean += shares[i, k] * z[k]
        gap += a[i] * (most - mean)
        loss += a[i] * most
        live[i] = False
        if square[i] <= 0.0:
            for k in range(count):
                shares[i, k] = 1.0 if z[k] == most else 0.0
            continue
        for k in range(count):
            point[k] = shares[i, k] + z[k] / (a[i] * square[i])
        _projected(point, sizes, share)
        for k in range(count):
            step = share[k] - shares[i, k]
            if step != 0.0:
                live[i] = True
                shares[i, k] = share[k]
                _moved(W[k], row, inverse, a[i] * step)
    return gap, loss


@compiled
def ascend(
    X: Matrix,
    rows: tuple[NDArray[np.int64], Vector, Vector],
    shares: Matrix,
    W: Matrix,
    inverse: Vector,
    order: NDArray[np.int64],
    again: tuple[int, float],
) -> tuple[float, float, float]:
    """A pass over all rows, in place, and some over those that moved. Returned are the gap and the loss that
    the first met, and how many passes over all the others are worth.

    `rows` are the class of each, its weight and Σ x²·inverse; `inverse` is that of the ridge of each column,
    `order` all rows in any order. There are at most again[0] more passes, down to again[1] of the gap.
    """
    live = np.zeros(order.shape[0], dtype=np.bool_)
    state = _shuffled(order, order.shape[0], order[0] + 1)
    moved = live, np.empty((4, W.shape[0]))
    whole, loss = _pass(X, rows, shares, W, inverse, order, moved)
    some, spent = order.copy(), 0.0
    for _ in range(again[0]):
        count = 0
        for i in order:
            if live[i]:
                some[count] = i
                count += 1
        state = _shuffled(some, count, state)
        gap, _ = _pass(X, rows, shares, W, inverse, some[:count], moved)
        spent += count / order.shape[0]
        if gap <= again[1] * whole:
            break
    return whole, loss, spent
