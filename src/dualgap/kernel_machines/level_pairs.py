"""Second-order pair steps on ½βᵀQβ − Σ kink β in a box, where every group of variables keeps its sum.

As `pairs.py` has it for one group: the pair is of the group that violates most (Schölkopf and others 2000).
"""

from __future__ import annotations

import numpy as np

from dualgap.arrays import Index, Matrix, Vector
from dualgap.compiled.mechanism import compiled
from dualgap.kernel_machines.pairs import FLAT


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
