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


@compiled
def stochastic_pass(
    rows: Lines,
    problem: tuple[int, Vector, tuple[Matrix, Matrix, Matrix, float], Vector],
    order: NDArray[np.int64],
    batch: int,
    lengths: Vector,
    price: tuple[Vector, float, bool],
    state: tuple[Vector, Vector, Vector, Vector],
) -> None:
    """One step w ← w − η (mean of weight·L'·x over the batch + l1·sign(w) + ridge·w) per batch of `order`.

    `problem` is (shape, y, terms, weights with mean 1); `price` is (l1 per column, ridge, intercept there);
    `state` is (v, [scale, b, steps averaged], sum of v for the average, [its scale part, its b part]),
    changed in place. The average over steps is kept as Σ scale_t v_t by the two-vector device of Xu (2011):
    mean w = (total + part·v)/steps.
    """
    shape, y, terms, weights = problem
    l1, ridge, intercept = price
    v, numbers, total, parts = state
    slopes = np.empty(batch)
    count = order.shape[0] // batch if order.shape[0] % batch == 0 else order.shape[0] // batch + 1
    priced = l1.any()
    for t in range(count):
        first = t * batch
        last = min(first + batch, order.shape[0])
        eta = lengths[t]
        scale, b = numbers[0], numbers[1]
        for r in range(first, last):
            i = order[r]
            slopes[r - first] = weights[i] * slope_at(shape, y[i], terms, i, scale * dot(rows, i, v) + b)
        shrink = 1.0 - eta * ridge
        if shrink != 1.0:
            if abs(scale * shrink) < TINY:
                for j in range(v.shape[0]):
                    total[j] += parts[0] * v[j]
                    v[j] *= scale * shrink
                parts[0] = 0.0
                scale = 1.0
            else:
                scale *= shrink
        if priced:
            for j in range(v.shape[0]):
                change = eta * l1[j] * np.sign(scale * v[j]) / scale
                v[j] -= change
                total[j] += parts[0] * change
        share = eta / (last - first)
        for r in range(first, last):
            step = share * slopes[r - first]
            if step != 0.0:
                add(rows, order[r], -step / scale, v)
                if parts[0] != 0.0:
                    add(rows, order[r], parts[0] * step / scale, total)
                if intercept:
                    b -= step
        numbers[0], numbers[1] = scale, b
        numbers[2] += 1.0
        parts[0] += scale
        parts[1] += b


@compiled
def perceptron_pass(
    rows: Lines, y: Vector, step: float, intercept: bool, w: Vector, numbers: Vector, total: Vector
) -> int:
    """One cycle of w ← w + step·y·x on every row with y(w·x + b) ≤ 0; returns the mistakes.

    `numbers` is (b, steps seen, sum of steps·b changes); `total` weighs each change by the steps before it,
    so that the average of all w seen is w − total/steps.
    """
    mistakes = 0
    for i in range(y.shape[0]):
        if y[i] * (dot(rows, i, w) + numbers[0]) <= 0.0:
            mistakes += 1
            add(rows, i, step * y[i], w)
            add(rows, i, numbers[1] * step * y[i], total)
            if intercept:
                numbers[0] += step * y[i]
                numbers[2] += numbers[1] * step * y[i]
        numbers[1] += 1.0
    return mistakes
