"""A piecewise linear loss on some columns, from vertex to vertex of its dual: every one of them is a bound.

    maximise over δ of  −kᵀδ,   lower ≤ δ ≤ upper,   Xᵀδ = 0,

whose multipliers w minimise Σ sup over δ_i of δ_i (x_i·w − k_i). As many rows as columns are basic; w puts
those on their kinks, and r = Xw − k says where the others want to go. (The simplex method with bounds, rows
off both bounds among those that are not basic.) Taking a column out leaves δ feasible, with one row too many.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dualgap.arrays import Matrix, Vector
from dualgap.compiled.mechanism import compiled
from dualgap.compiled.small_vectors import NONE, ZERO, copy

Whole = NDArray[np.int64]
FLAT = 1e-9  # pivots below this, rows of length about one, are not taken


class Kinks(NamedTuple):
    """One row per kink: x, k and the slopes on either side, times the weight of the row."""

    X: Matrix
    kink: Vector
    lower: Vector
    upper: Vector


@compiled(reassociate=True, inner=True)
def _residuals(kinks: Kinks, rows: Whole, inverted: Matrix, w: Vector, r: Vector) -> float:
    """w with the basic rows on their kinks, r = Xw − k; what the loss is there."""
    m = rows.shape[0]
    for j in range(m):
        total = 0.0
        for a in range(m):
            total += inverted[j, a] * kinks.kink[rows[a]]
        w[j] = total
    value = 0.0
    for i in range(r.shape[0]):
        total = -kinks.kink[i]
        for j in range(m):
            total += kinks.X[i, j] * w[j]
        r[i] = total
        value += max(kinks.lower[i] * total, kinks.upper[i] * total)
    return value


@compiled(inner=True)
def _entering(kinks: Kinks, r: Vector, delta: Vector, basic: NDArray[np.bool_], small: float) -> int:
    """The row that gains most per step, of those that are not basic and not where they want to be; or −1."""
    most, pick = small, -1
    for i in range(r.shape[0]):
        if abs(r[i]) <= most or basic[i]:
            continue
        if delta[i] < kinks.upper[i] if r[i] > 0.0 else delta[i] > kinks.lower[i]:
            most, pick = abs(r[i]), i
    return pick


@compiled(inner=True)
def _longest(
    kinks: Kinks, rows: Whole, delta: Vector, pull: Vector, pick: int, sign: float
) -> tuple[float, int]:
    """How far row `pick` can go in direction `sign`, and which basic row ends it, by position; −1: none."""
    reach = kinks.upper[pick] - delta[pick] if sign > 0.0 else delta[pick] - kinks.lower[pick]
    leave = -1
    for a in range(rows.shape[0]):
        change, b = -sign * pull[a], rows[a]
        if abs(change) < FLAT:
            continue
        room = kinks.upper[b] - delta[b] if change > 0.0 else delta[b] - kinks.lower[b]
        step = max(room, 0.0) / abs(change)
        if step < reach or (step == reach and leave >= 0 and abs(change) > abs(pull[leave])):
            reach, leave = step, a
    return reach, leave


@compiled(inner=True)
def _exchange(inverted: Matrix, pull: Vector, leave: int) -> None:
    """The inverse after the basic row at `leave` has made room for the one whose pull this is."""
    m = pull.shape[0]
    scale = 1.0 / pull[leave]
    for j in range(m):
        share = inverted[j, leave] * scale
        if share != 0.0:
            for a in range(m):
                inverted[j, a] -= share * pull[a]
            inverted[j, leave] = share


@compiled(inner=True)
def _pulls(row: Vector, inverted: Matrix, pull: Vector) -> None:
    """rowᵀ X[rows]⁻¹."""
    pull.fill(0.0)
    for j in range(pull.shape[0]):
        share = row[j]
        for a in range(pull.shape[0]):
            pull[a] += share * inverted[j, a]


@compiled(inner=True)
def _step(
    kinks: Kinks, rows: Whole, inverted: Matrix, delta: Vector, pull: Vector, way: tuple[int, float]
) -> tuple[float, int]:
    """Move a row as far as it can go, the basic rows with it: how far, and the row that stopped it, or −1.

    That one has made room for the row that moved.
    """
    pick, sign = way
    _pulls(kinks.X[pick], inverted, pull)
    step, leave = _longest(kinks, rows, delta, pull, pick, sign)
    delta[pick] += sign * step
    for a in range(rows.shape[0]):
        delta[rows[a]] -= sign * step * pull[a]
    gone = NONE
    if leave >= 0:
        gone = rows[leave]
        delta[gone] = kinks.upper[gone] if sign * pull[leave] < 0.0 else kinks.lower[gone]
        rows[leave] = pick
        _exchange(inverted, pull, leave)
    else:
        delta[pick] = kinks.upper[pick] if sign > 0.0 else kinks.lower[pick]
    return step, gone


@compiled
def ascend(
    kinks: Kinks, rows: Whole, inverted: Matrix, delta: Vector, w: Vector, stop: tuple[float, float, int]
) -> tuple[float, float, int]:
    """Raise −kᵀδ until it meets the goal, or the loss at some w shows that it will not by more than a share.

    `stop`: the goal, that share, and the most steps. Returns the bound, the least loss met, whose weights are
    in `w`, and the steps.
    """
    goal, near, most = stop
    n, m = kinks.X.shape
    basic = np.zeros(n, np.bool_)
    for a in range(m):
        basic[rows[a]] = True
    r, pull, trial = np.empty(n), np.empty(m), np.empty(m)
    bound, largest = 0.0, 0.0
    for i in range(n):
        bound -= kinks.kink[i] * delta[i]
        largest = max(largest, abs(kinks.kink[i]))
    least, gone, small = np.inf, ZERO, 1e-12 * largest
    for count in range(most):
        if gone >= 0:
            value = _residuals(kinks, rows, inverted, trial, r)
            if value < least:
                least = value
                copy(trial, w)
        if bound >= goal or (least < goal < np.inf and least - bound <= near * (goal - least)):
            return bound, least, count
        pick = _entering(kinks, r, delta, basic, small)
        if pick < 0:
            return bound, least, count
        step, gone = _step(kinks, rows, inverted, delta, pull, (pick, 1.0 if r[pick] > 0.0 else -1.0))
        bound += step * abs(r[pick])
        if gone >= 0:
            basic[gone], basic[pick] = False, True
    return bound, least, most
