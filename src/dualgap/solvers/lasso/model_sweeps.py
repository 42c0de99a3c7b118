"""Minimising the quadratic model of a loss with an l1 part, the matrix itself at hand, not its Gram matrix.

The model's columns are copies, √h ∘ x_j in 4-byte numbers: a sweep reads half as much and multiplies once
less. What their rounding costs, the next model repairs.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dualgap.arrays import Mask, Vector
from dualgap.compiled.layout import Lines
from dualgap.compiled.lines import BLOCK, add_in, combination, dot_in, dots, shuffle, without
from dualgap.compiled.mechanism import compiled
from dualgap.solvers.lasso.gram_sweeps import soft


@compiled
def off_by(slope: float, here: float, price: float) -> float:
    """How far a coordinate is from optimal; below zero, how far inside its price one at zero is."""
    if here > 0.0:
        return abs(slope + price)
    if here < 0.0:
        return abs(slope - price)
    return abs(slope) - price


@compiled
def fill_model(
    source: Lines,
    which: NDArray[np.int64],
    scale: Vector,
    root: Vector,
    out: tuple[NDArray[np.int64], NDArray[Any], NDArray[Any]],
) -> Vector:
    """Copy root ∘ x_j scale_j for j in `which`, line after line; their square norms.

    `out` is (starts, indices, values), to be filled. A line beyond the last one stored is all ones.
    """
    dense, starts, indices, values = source
    at, copied, scaled = out
    norms = np.zeros(which.shape[0])
    place = 0
    for k in range(which.shape[0]):
        j, share, at[k] = which[k], scale[k], place
        if dense:
            line, target = values[starts[j] : starts[j + 1]], scaled[place : place + root.shape[0]]
            for i in range(root.shape[0]):
                target[i] = line[i] * share * root[i]
        elif j + 1 >= starts.shape[0]:
            target, there = scaled[place : place + root.shape[0]], copied[place : place + root.shape[0]]
            for i in range(root.shape[0]):
                target[i], there[i] = share * root[i], i
        else:
            line, where = values[starts[j] : starts[j + 1]], indices[starts[j] : starts[j + 1]]
            target, there = scaled[place : place + line.shape[0]], copied[place : place + line.shape[0]]
            for m in range(line.shape[0]):
                row = np.uint32(where[m])  # needs no check of its sign
                target[m], there[m] = line[m] * share * root[row], row
        norms[k] = _square(target)
        place += target.shape[0]
    at[which.shape[0]] = place
    return norms


@compiled(reassociate=True)
def _square(line: NDArray[Any]) -> float:
    total = 0.0
    for m in range(line.shape[0]):
        total += float(line[m]) * float(line[m])
    return total


@compiled
def combine(columns: Lines, which: NDArray[np.int64], amounts: Vector, size: int) -> Vector:
    """Σ_k amounts_k x_j for j = which_k; a line beyond the last one stored is all ones."""
    dense, starts, indices, values = columns
    total = np.zeros(size)
    for k in range(which.shape[0]):
        j = which[k]
        if j + 1 >= starts.shape[0]:
            total += amounts[k]
        elif amounts[k] != 0.0:
            add_in(dense, starts, indices, values, j, amounts[k], total)
    return total


@compiled
def _sweep(
    columns: Lines,
    model: tuple[Vector, Vector],
    penalty: tuple[Vector, Vector, Vector],
    state: tuple[Vector, Vector],
    active: tuple[NDArray[np.int64], NDArray[np.bool_]],
    slack: float,
    random: NDArray[np.int64],
) -> tuple[float, float]:
    """One sweep of `descend_model`; the sum of the violations met, and the largest."""
    dense, starts, indices, values = columns
    gradient, curvature = model
    w, price, ridge = penalty
    change, bend = state
    index, drop = active
    worst, total = 0.0, 0.0
    blocks = (index.shape[0] + BLOCK - 1) // BLOCK
    order = np.arange(blocks)
    shuffle(order, blocks, random)
    for b in range(blocks):
        for s in range(order[b] * BLOCK, min((order[b] + 1) * BLOCK, index.shape[0])):
            j = index[s]
            here = w[j] + change[j]
            slope = gradient[j] + ridge[j] * change[j] + dot_in(dense, starts, indices, values, j, bend)
            off = off_by(slope, here, price[j])
            drop[s] = off < -slack
            if off > 0.0:
                worst = max(worst, off)
                total += off
                if curvature[j] > 0.0:
                    step = soft(here - slope / curvature[j], price[j] / curvature[j]) - here
                    change[j] += step
                    add_in(dense, starts, indices, values, j, step, bend)
    return total, worst


@compiled
def descend_model(
    columns: Lines,
    model: tuple[Vector, Vector],
    penalty: tuple[Vector, Vector, Vector],
    state: tuple[Vector, Vector],
    stop: tuple[float, int],
    random: NDArray[np.int64],
) -> int:
    """Minimise over d  gradientᵀd + ½ |Xd|² + ½ dᵀ diag(ridge) d + Σ price |w + d|.

    `model` is (gradient, diagonal), `penalty` (w, price, ridge), `state` (d, Xd) at the start and, then, the
    end. Blocks of columns come in random order; columns at zero well inside their price are left out until
    the others have settled (Yuan, Ho and Lin, 2012, algorithm 3). Ends when the violations of a sweep sum to
    stop[0], or after stop[1] sweeps; returns the number of sweeps.
    """
    size, rows = state[0].shape[0], state[1].shape[0]
    index, drop = np.arange(size), np.zeros(size, dtype=np.bool_)
    active, slack = size, np.inf
    for sweep in range(stop[1]):
        left = (index[:active], drop[:active])
        total, worst = _sweep(columns, model, penalty, state, left, slack, random)
        active = without(index, drop, active)
        if total > stop[0]:
            slack = worst / rows
        elif active == size:
            return sweep + 1
        else:
            index, active, slack = np.arange(size), size, np.inf
    return stop[1]


@compiled
def conjugate_model(
    columns: Lines,
    live: Mask,
    model: tuple[Vector, Vector, Vector],
    residual: Vector,
    rows: int,
    stop: tuple[float, int],
) -> tuple[Vector, int]:
    """d with (XᵀX + ridge) d ≈ residual on the live columns, zero elsewhere, by conjugate gradients.

    `model` is (diagonal, ridge, unit). What is left in `residual`, which must be zero where nothing lives, is
    at most stop[0] units, or what stop[1] gradients leave; how many there were is returned too.
    """
    diagonal, ridge, unit = model
    size = live.shape[0]
    d, direction = np.zeros(size), residual / diagonal
    power = float(residual @ direction)
    for count in range(stop[1]):
        if not np.max(np.abs(residual) / unit) > stop[0]:
            return d, count
        image = dots(columns, combination(columns, direction, rows)) + ridge * direction
        curved = float(direction @ image)
        if not curved > 0.0:
            return d, count
        step = power / curved
        ahead = 0.0
        for k in range(size):
            if live[k]:
                d[k] += step * direction[k]
                residual[k] -= step * image[k]
                ahead += residual[k] * residual[k] / diagonal[k]
        for k in range(size):
            direction[k] = residual[k] / diagonal[k] + (ahead / power) * direction[k]
        power = ahead
    return d, stop[1]
