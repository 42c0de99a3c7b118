"""Passes of stochastic (sub)gradient over rows, w kept as scale·v so that shrinking it costs nothing."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from dualgap.arrays import Matrix, Vector
from dualgap.compiled.lines import Lines, add, dot
from dualgap.compiled.mechanism import compiled

CLIPPED = 0  # the slope of a loss that is a sum of terms
SIGMOID = 1  # −y/(1 + e^m)
EXPONENTIAL = 2  # −y e^−m
BLOCK = 1 << 12  # numbers copied together, so that they stay in the nearest cache
TINY = 1e-9  # v is multiplied out when its scale has shrunk to this


@compiled
def slope_at(shape: int, y: float, terms: tuple[Matrix, Matrix, Matrix, float], i: int, z: float) -> float:
    """dL/dz in row i at the prediction z; at a kink the subgradient nearest to zero."""
    if shape == SIGMOID:
        return -y / (1.0 + math.exp(min(y * z, 700.0)))
    if shape == EXPONENTIAL:
        return -y * math.exp(min(-y * z, 700.0))
    kink, lower, upper, softness = terms
    total = 0.0
    for k in range(kink.shape[1]):
        away = z - kink[i, k]
        if softness > 0.0:
            total += min(max(away / softness, lower[i, k]), upper[i, k])
        elif away > 0.0:
            total += upper[i, k]
        elif away < 0.0:
            total += lower[i, k]
        else:
            total += min(max(0.0, lower[i, k]), upper[i, k])
    return total


Data = tuple[int, Vector, tuple[Matrix, Matrix, Matrix, float], Vector]
Draws = tuple[NDArray[np.int64], int, Vector]
State = tuple[Vector, Vector, Vector, Vector]
Price = tuple[Vector, float, bool, bool]


@compiled
def shrink(eta: float, price: Price, state: State) -> None:
    """w ← w − η (l1·sign(w) + ridge·w): the ridge goes into the scale alone, the l1 part column by column."""
    l1, ridge = price[0], price[1]
    v, numbers, total, parts = state
    factor = 1.0 - eta * ridge
    before = numbers[0]
    signs = np.sign(before * v) if l1.shape[0] > 0 else v
    if factor != 1.0 and abs(before * factor) < TINY:
        for j in range(v.shape[0]):
            total[j] += parts[0] * v[j]
            v[j] *= before * factor
        parts[0] = 0.0
        numbers[0] = 1.0
    else:
        numbers[0] = before * factor
    scale = numbers[0]
    if l1.shape[0] > 0:
        for j in range(v.shape[0]):
            change = eta * l1[j] * signs[j] / scale
            v[j] -= change
            total[j] += parts[0] * change


@compiled
def _steps(
    lines: Lines, span: tuple[int, int, int], problem: Data, draws: Draws, price: Price, state: State
) -> None:
    """Steps first … last − 1; row r of the order is line r − offset, or line order[r] where offset is −1."""
    start, stop, offset = span
    shape, y, terms, weights = problem
    order, batch, lengths = draws
    v, numbers, total, parts = state
    slopes = np.empty(batch)
    for t in range(start, stop):
        first = t * batch
        last = min(first + batch, order.shape[0])
        for r in range(first, last):
            i = order[r]
            z = numbers[0] * dot(lines, i if offset < 0 else r - offset, v) + numbers[1]
            slopes[r - first] = weights[i] * slope_at(shape, y[i], terms, i, z)
        shrink(lengths[t], price, state)
        for r in range(first, last):
            step = lengths[t] / (last - first) * slopes[r - first]
            if step != 0.0:
                k = order[r] if offset < 0 else r - offset
                add(lines, k, -step / numbers[0], v)
                if parts[0] != 0.0:
                    add(lines, k, parts[0] * step / numbers[0], total)
                if price[2]:
                    numbers[1] -= step
        if price[3]:
            numbers[2] += 1.0
            parts[0] += numbers[0]
            parts[1] += numbers[1]


@compiled
def stochastic_pass(rows: Lines, problem: Data, draws: Draws, price: Price, state: State) -> None:
    """One step w ← w − η (mean of weight·L'·x over the batch + l1·sign(w) + ridge·w) per batch of the order.

    `problem` is (shape, y, terms, weights with mean 1); `draws` is (order of the rows, batch, η of each
    step); `price` is (l1 per column or nothing, ridge, is there an intercept, is the average wanted); `state`
    is (v, [scale, b, steps averaged], sum of v for the average, [its scale part, its b part]), changed in
    place. Σ scale_t v_t is kept as total + part·v (Xu, 2011), so that averaging costs as much as stepping.

    Rows drawn at random lie far apart; dense ones are copied together a block at a time, when the processor
    can wait for many at once (half the time of fetching each when its turn comes).
    """
    order, batch, lengths = draws
    count, width = lengths.shape[0], state[0].shape[0]
    if not rows.dense:
        _steps(rows, (0, count, -1), problem, draws, price, state)
        return
    many = max(1, BLOCK // max(width * batch, 1))
    starts = np.arange(many * batch + 1) * width
    near = np.empty(many * batch * width)
    for t in range(0, count, many):
        end, first = min(t + many, count), t * batch
        for r in range(first, min(end * batch, order.shape[0])):
            line = rows.values[rows.starts[order[r]] : rows.starts[order[r] + 1]]
            place = near[starts[r - first] : starts[r - first] + width]
            for j in range(width):
                place[j] = line[j]
        _steps(Lines(True, starts, rows.indices, near), (t, end, first), problem, draws, price, state)


@compiled
def perceptron_pass(
    rows: Lines,
    y: Vector,
    step: float,
    intercept: bool,
    state: tuple[Vector, Vector, Vector],
    averaging: bool,
) -> int:
    """One cycle of w ← w + step·y·x on every row with y(w·x + b) ≤ 0; returns the mistakes.

    `state` is (w, [b, rows seen, its b part], total), changed in place; `total` weighs each change by the
    rows seen before it, so that the average of all w is w − total/seen.
    """
    w, numbers, total = state
    mistakes = 0
    for i in range(y.shape[0]):
        if y[i] * (dot(rows, i, w) + numbers[0]) <= 0.0:
            mistakes += 1
            add(rows, i, step * y[i], w)
            if averaging:
                add(rows, i, numbers[1] * step * y[i], total)
            if intercept:
                numbers[0] += step * y[i]
                numbers[2] += numbers[1] * step * y[i]
        numbers[1] += 1.0
    return mistakes
