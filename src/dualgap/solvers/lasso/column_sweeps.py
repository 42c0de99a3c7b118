"""Coordinate descent on a quadratic loss with prices, over columns that lie in one piece each."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dualgap.arrays import Matrix, Vector
from dualgap.compiled.mechanism import compiled
from dualgap.solvers.lasso.gram_sweeps import soft

CONSTANT = 1e-12  # a column whose centred square is this share of its own is constant
LESS = 0.3  # sweeps over what is not zero go on while they move more than this share of the full one


@compiled(reassociate=True, inner=True)
def _measure(line: Vector, h: Vector, total: float) -> tuple[float, float]:
    """The mean of a column, and what is left of its square; a total of 0 says that it stays where it is."""
    first, second = 0.0, 0.0
    for i in range(h.shape[0]):
        part = float(h[i]) * line[i]
        first += part
        second += part * line[i]
    if total == 0.0:
        return 0.0, second
    left = second - first * first / total
    return first / total, left if left > CONSTANT * second else 0.0


@compiled(reassociate=True, inner=True)
def _pull(line: Vector, theta: Vector) -> float:
    found = theta.dtype.type(0.0)
    for i in range(theta.shape[0]):
        found += line[i] * theta[i]
    return float(found)


@compiled(reassociate=True, inner=True)
def _move(line: Vector, centre: float, step: float, h: Vector, theta: Vector) -> None:
    share, middle = theta.dtype.type(step), theta.dtype.type(centre)
    for i in range(theta.shape[0]):
        theta[i] -= share * h[i] * (line[i] - middle)


@compiled(inner=True)
def _sweep(
    table: tuple[Matrix, Vector, float],
    known: tuple[Vector, Vector],
    penalty: tuple[Vector, Vector],
    state: tuple[Vector, Vector],
    live: NDArray[np.int64],
    count: int,
) -> tuple[int, float]:
    """One sweep over the first `count` of `live`, where those that are not zero then come first."""
    lines, h, total = table
    centre, square = known
    price, ridge = penalty
    w, theta = state
    left, largest = 0, 0.0
    for k in range(count):
        j = live[k]
        line, here = lines[j], w[j]
        pull = _pull(line, theta)
        if here == 0.0 and abs(pull) <= price[j]:
            continue
        if square[j] < 0.0:  # most columns never count
            centre[j], square[j] = _measure(line, h, total)
        if square[j] == 0.0:
            continue
        curvature = square[j] + ridge[j]
        ahead = soft(pull + square[j] * here, price[j]) / curvature
        step = ahead - here
        if step != 0.0:
            largest = max(largest, abs(step) * curvature / price[j])
            w[j] = ahead
            _move(line, centre[j], step, h, theta)
        if ahead != 0.0:
            live[left] = j
            left += 1
    return left, largest


@compiled(allocates=True)
def sweep_columns(
    table: tuple[Matrix, Vector, float],
    penalty: tuple[Vector, Vector],
    state: tuple[Vector, Vector],
    columns: tuple[NDArray[np.int64], NDArray[np.int64]],
    sweeps: tuple[int, int],
    enough: float,
) -> Vector:
    """Improve  ½ (Xw)ᵀH(Xw) − tᵀXw + Σ price_j |w_j| + ½ ridge_j w_j²  from w = 0; the means of the columns.

    `table` is (Xᵀ, h, Σh), the last 0 where columns are not to be centred; `penalty` (price, ridge); `state`
    (w, t), then t − HXw. At most sweeps[0] times a sweep over many columns, the first of `columns` and then
    always the others, and some over those that are not zero. They end when one moves no gradient by more than
    `enough` of its price.
    """
    size = table[0].shape[0]
    known = np.zeros(size), np.full(size, -1.0)
    live, count = np.empty(size, np.int64), columns[0].shape[0]
    live[:count] = columns[0]
    for _ in range(sweeps[0]):
        count, worst = _sweep(table, known, penalty, state, live, count)
        if worst <= enough:
            break
        for _ in range(sweeps[1]):
            count, largest = _sweep(table, known, penalty, state, live, count)
            if largest <= LESS * worst:
                break
        count = columns[1].shape[0]
        live[:count] = columns[1]
    return known[0]
