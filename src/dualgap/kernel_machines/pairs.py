"""Second-order pair steps on a small box-constrained quadratic: ½βᵀQβ + ½Σ ridge β² − Σ kink β.

`slope` is kink − Qβ − ridge β, the gain from increasing a variable; pairs keep Σβ (Fan, Chen, Lin 2005).
"""

from __future__ import annotations

import numpy as np

from dualgap.arrays import Index, Matrix, Vector
from dualgap.compiled.mechanism import compiled

FLAT = 1e-12  # curvature below which a pair is treated as straight


@compiled
def steepest_up(slope: Vector, beta: Vector, high: Vector) -> int:
    """The variable with most to gain from an increase, or −1."""
    best, found = -1e308, -1
    for t in range(len(slope)):
        if beta[t] < high[t] and slope[t] > best:
            best, found = slope[t], t
    return found


@compiled
def best_partner(
    i: int, Q: Matrix, ridge: Vector, slope: Vector, beta: Vector, low: Vector
) -> tuple[int, float]:
    """The variable whose decrease beside the increase of i gains most, and the worst violation seen."""
    best, found, worst = 0.0, -1, 0.0
    for t in range(len(slope)):
        if beta[t] > low[t]:
            drop = slope[i] - slope[t]
            if drop > 0.0:
                worst = max(worst, drop)
                bend = max(Q[i, i] + Q[t, t] - 2.0 * Q[i, t] + ridge[i] + ridge[t], FLAT)
                gain = drop * drop / bend
                if gain > best:
                    best, found = gain, t
    return found, worst


@compiled
def pair_steps(
    Q: Matrix,
    box: tuple[Vector, Vector, Vector],
    beta: Vector,
    slope: Vector,
    until: float,
    most: int,
) -> int:
    """Pair steps until the largest violation is below `until`; `beta` and `slope` are updated."""
    low, high, ridge = box
    for step in range(most):
        i = steepest_up(slope, beta, high)
        if i < 0:
            return step
        j, worst = best_partner(i, Q, ridge, slope, beta, low)
        if j < 0 or worst < until:
            return step
        bend = max(Q[i, i] + Q[j, j] - 2.0 * Q[i, j] + ridge[i] + ridge[j], FLAT)
        move = (slope[i] - slope[j]) / bend
        room_i, room_j = high[i] - beta[i], beta[j] - low[j]
        move = min(move, room_i, room_j)
        beta[i] = high[i] if move == room_i else beta[i] + move
        beta[j] = low[j] if move == room_j else beta[j] - move
        for t in range(len(slope)):
            slope[t] -= move * (Q[i, t] - Q[j, t])
        slope[i] -= ridge[i] * move
        slope[j] += ridge[j] * move
    return most


@compiled
def single_steps(
    Q: Matrix,
    box: tuple[Vector, Vector, Vector],
    beta: Vector,
    slope: Vector,
    until: float,
    most: int,
) -> int:
    """One variable at a time, where nothing ties them together."""
    low, high, ridge = box
    for step in range(most):
        best, i, worst = 0.0, -1, 0.0
        for t in range(len(slope)):
            s = slope[t]
            if (s > 0.0 and beta[t] < high[t]) or (s < 0.0 and beta[t] > low[t]):
                worst = max(worst, abs(s))
                gain = s * s / max(Q[t, t] + ridge[t], FLAT)
                if gain > best:
                    best, i = gain, t
        if i < 0 or worst < until:
            return step
        ahead = beta[i] + slope[i] / max(Q[i, i] + ridge[i], FLAT)
        ahead = min(max(ahead, low[i]), high[i])
        move = ahead - beta[i]
        beta[i] = ahead
        for t in range(len(slope)):
            slope[t] -= move * Q[i, t]
        slope[i] -= ridge[i] * move
    return most


@compiled
def worst_group(
    groups: int, group: Index, slope: Vector, beta: Vector, low: Vector, high: Vector
) -> tuple[int, float]:
    """The variable with most to gain in the group whose best increase and decrease differ most; −1: none."""
    found, worst = -1, 0.0
    for g in range(groups):
        top, bottom, best = -np.inf, np.inf, -1
        for t in range(len(slope)):
            if group[t] == g:
                if beta[t] < high[t] and slope[t] > top:
                    top, best = slope[t], t
                if beta[t] > low[t] and slope[t] < bottom:
                    bottom = slope[t]
        if best >= 0 and top - bottom > worst:
            found, worst = best, top - bottom
    return found, worst


@compiled
def grouped_steps(  # noqa: PLR0913
    Q: Matrix,
    box: tuple[Vector, Vector],
    group: Index,
    groups: int,
    beta: Vector,
    slope: Vector,
    until: float,
    most: int,
) -> int:
    """Pair steps until the largest violation is below `until`; `beta` and `slope` are updated."""
    low, high = box
    for step in range(most):
        i, worst = worst_group(groups, group, slope, beta, low, high)
        if i < 0 or worst < until:
            return step
        best, j = 0.0, -1
        for t in range(len(slope)):
            if group[t] == group[i] and beta[t] > low[t] and slope[t] < slope[i]:
                drop = slope[i] - slope[t]
                gain = drop * drop / max(Q[i, i] + Q[t, t] - 2.0 * Q[i, t], FLAT)
                if gain > best:
                    best, j = gain, t
        if j < 0:
            return step
        move = (slope[i] - slope[j]) / max(Q[i, i] + Q[j, j] - 2.0 * Q[i, j], FLAT)
        room_i, room_j = high[i] - beta[i], beta[j] - low[j]
        move = min(move, room_i, room_j)
        beta[i] = high[i] if move == room_i else beta[i] + move
        beta[j] = low[j] if move == room_j else beta[j] - move
        for t in range(len(slope)):
            slope[t] -= move * (Q[i, t] - Q[j, t])
    return most
