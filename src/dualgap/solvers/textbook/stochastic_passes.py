"""Passes of stochastic (sub)gradient over rows, w kept as scale·v so that shrinking it costs nothing.

What is called in every step is given the line it needs and no more: a call with a whole problem in its
arguments costs as much as the step.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from dualgap.arrays import Matrix, Vector
from dualgap.compiled.layout import Lines
from dualgap.compiled.mechanism import compiled

LINE = 64  # bytes that come together


def _asking(typing_context: Any, array: Any, index: Any) -> Any:
    """Ask for array[index]."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        view = context.make_array(signature.args[0])(context, builder, arguments[0])
        byte = builder.bitcast(builder.gep(view.data, [arguments[1]]), ir.IntType(8).as_pointer())
        number = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [byte.type, number, number, number])
        function = builder.module.declare_intrinsic("llvm.prefetch", (byte.type,), kind)
        builder.call(function, [byte, number(0), number(3), number(1)])  # to read, to keep, data
        return context.get_dummy_value()

    return types.void(array, types.intp), generate


_ask: Any = intrinsic(_asking)


@compiled
def fetch(array: Vector, first: int, last: int) -> None:
    """Ask for array[first:last]."""
    for place in range(first, last, LINE // array.itemsize):
        _ask(array, place)


CLIPPED = 0  # the slope of a loss that is a sum of terms
SIGMOID = 1  # −y/(1 + e^m)
EXPONENTIAL = 2  # −y e^−m
AHEAD = 4  # rows are asked for this long before they are read: rows drawn at random lie far apart
TINY = 1e-9  # v is multiplied out when its scale has shrunk to this

Terms = tuple[Matrix, Matrix, Matrix, float]
Data = tuple[int, Vector, Terms, Vector]
Draws = tuple[NDArray[np.int64], int, Vector]
Price = tuple[Vector, float, float, float]
State = tuple[Vector, Vector, Vector, Vector]
Places = NDArray[np.uint32]


@compiled
def _curved(shape: int, y: float, z: float) -> float:
    """dL/dz of a loss that is no sum of terms."""
    if shape == SIGMOID:
        return -y / (1.0 + math.exp(min(y * z, 700.0)))
    return -y * math.exp(min(-y * z, 700.0))


@compiled
def _clipped(away: float, lower: float, upper: float, softness: float) -> float:
    """The slope of one term `away` from its kink; at the kink the subgradient nearest to zero."""
    if softness > 0.0:
        return min(max(away / softness, lower), upper)
    if away > 0.0:
        return upper
    if away < 0.0:
        return lower
    return min(max(0.0, lower), upper)


@compiled(reassociate=True)
def _dot(line: Vector, x: Vector) -> float:
    """line · x."""
    total = 0.0
    for j in range(x.shape[0]):
        total += line[j] * x[j]
    return total


@compiled
def _gathered(indices: Places, line: Vector, x: Vector) -> float:
    """line · x for a line at `indices`."""
    total = 0.0
    for m in range(indices.shape[0]):
        total += line[m] * x[indices[m]]
    return total


@compiled(reassociate=True)
def _add(amount: float, line: Vector, x: Vector) -> None:
    """x += amount·line."""
    for j in range(x.shape[0]):
        x[j] += amount * line[j]


@compiled
def _scatter(amount: float, indices: Places, line: Vector, x: Vector) -> None:
    """x += amount·line for a line at `indices`."""
    for m in range(indices.shape[0]):
        x[indices[m]] += amount * line[m]


@compiled
def _put(amount: float, dense: bool, indices: Places, line: Vector, x: Vector) -> None:
    """x += amount·line of either kind: for sums that are kept beside the steps."""
    if dense:
        _add(amount, line, x)
    else:
        _scatter(amount, indices, line, x)


@compiled
def _span(dense: bool, starts: NDArray[np.int64], i: int, width: int) -> tuple[int, int]:
    """Where line i lies; dense ones without a wait for `starts`."""
    if dense:
        return i * width, (i + 1) * width
    return starts[i], starts[i + 1]


@compiled
def _written_out(
    change: tuple[float, float], l1: Vector, scales: tuple[float, float], v: Vector, total: Vector
) -> None:
    """v ← factor·w − η l1·sign(w) for w = scale·v; what the average has of the old v joins its sum."""
    (factor, eta), (scale, part) = change, scales
    for j in range(v.shape[0]):
        w = scale * v[j]
        total[j] += part * v[j]
        v[j] = factor * w - (eta * l1[j] * np.sign(w) if l1.shape[0] > 0 else 0.0)


@compiled
def stochastic_pass(rows: Lines, problem: Data, draws: Draws, price: Price, state: State) -> None:
    """One step w ← w − η (mean of weight·L'·x over the batch + l1·sign(w) + ridge·w) per batch of the order.

    `problem` is (shape, y, terms, weights with mean 1); `draws` is (order of the rows, batch, η of each
    step); `price` is (l1 per column or nothing, ridge, what b moves of η, 1 for an average or 0); `state` is
    (v, [scale, b, steps averaged], sum of v for the average, [its scale part, its b part]), changed in
    place. Σ scale_t v_t is kept as total + part·v (Xu, 2011), so that averaging costs as much as stepping.
    """
    dense, starts, indices, values = rows
    shape, y, (kink, lower, upper, softness), weights = problem
    order, batch, lengths = draws
    l1, ridge, lift, averaging = price
    v, numbers, total, parts = state
    scale, b, seen, part, part_b = numbers[0], numbers[1], numbers[2], parts[0], parts[1]
    width = v.shape[0]
    slopes = np.empty(batch)
    for t in range(lengths.shape[0]):
        eta, first = lengths[t], t * batch
        last = min(first + batch, order.shape[0])
        for r in range(first, last):
            i = order[r]
            start, stop = _span(dense, starts, order[min(r + AHEAD, order.shape[0] - 1)], width)
            fetch(values, start, stop)
            fetch(indices, start, 0 if dense else stop)
            start, stop = _span(dense, starts, i, width)
            line = values[start:stop]
            z = scale * (_dot(line, v) if dense else _gathered(indices[start:stop], line, v)) + b
            slope = 0.0 if shape == CLIPPED else _curved(shape, y[i], z)
            if shape == CLIPPED:
                for k in range(kink.shape[1]):
                    slope += _clipped(z - kink[i, k], lower[i, k], upper[i, k], softness)
            slopes[r - first] = weights[i] * slope
        factor = 1.0 - eta * ridge
        if l1.shape[0] > 0 or abs(scale * factor) < TINY:
            _written_out((factor, eta), l1, (scale, part), v, total)
            scale, part = 1.0, 0.0
        else:
            scale *= factor
        share = eta / (last - first)
        forward = -share / scale
        for r in range(first, last):
            slope = slopes[r - first]
            if slope != 0.0:
                start, stop = _span(dense, starts, order[r], width)
                line = values[start:stop]
                if dense:
                    _add(forward * slope, line, v)
                else:
                    _scatter(forward * slope, indices[start:stop], line, v)
                if part != 0.0:
                    _put(-part * forward * slope, dense, indices[start:stop], line, total)
                b -= lift * share * slope
        seen += averaging
        part += averaging * scale
        part_b += averaging * b
    numbers[0], numbers[1], numbers[2], parts[0], parts[1] = scale, b, seen, part, part_b


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
    dense, starts, indices, values = rows
    w, numbers, total = state
    b, seen, part_b = numbers[0], numbers[1], numbers[2]
    mistakes = 0
    for i in range(y.shape[0]):
        start, stop = starts[i], starts[i + 1]
        line = values[start:stop]
        z = (_dot(line, w) if dense else _gathered(indices[start:stop], line, w)) + b
        if y[i] * z <= 0.0:
            mistakes += 1
            change = step * y[i]
            _put(change, dense, indices[start:stop], line, w)
            if averaging:
                _put(seen * change, dense, indices[start:stop], line, total)
            if intercept:
                b += change
                part_b += seen * change
        seen += 1.0
    numbers[0], numbers[1], numbers[2] = b, seen, part_b
    return mistakes
