"""The cheapest point of a line for the 0/1 loss, and line after line: row r costs `minus` where r·u > 0."""

from __future__ import annotations

import numpy as np

from dualgap.arrays import Matrix, Vector
from dualgap.compiled.mechanism import compiled
from dualgap.compiled.small_vectors import rising


@compiled(inner=True, allocates=True)
def along(rows: Matrix, plus: Vector, minus: Vector, u: Vector, direction: Vector) -> tuple[float, float]:
    """The cheapest u + t·direction, over all t: its cost and t, in the middle of its piece of the line."""
    size = rows.shape[0]
    at, change = np.empty(size), np.empty(size)
    cost, count = 0.0, 0
    for i in range(size):
        here, slope = 0.0, 0.0
        for k in range(rows.shape[1]):
            here += rows[i, k] * u[k]
            slope += rows[i, k] * direction[k]
        if abs(slope) < 1e-13:
            cost += plus[i] + minus[i] if here == 0.0 else minus[i] if here > 0.0 else plus[i]
            continue
        cost += plus[i] if slope > 0.0 else minus[i]
        at[count] = -here / slope
        change[count] = minus[i] - plus[i] if slope > 0.0 else plus[i] - minus[i]
        count += 1
    return _least(at[:count], change, cost)


@compiled(inner=True, allocates=True)
def _least(at: Vector, change: Vector, cost: float) -> tuple[float, float]:
    """The cheapest piece between breakpoints, the widest of several."""
    count = at.shape[0]
    if count == 0:
        return cost, 0.0
    order = rising(at)
    best, where, width = cost, at[order[0]] - 1.0, 0.0
    for step in range(count):
        cost += change[order[step]]
        here = at[order[step]]
        ahead = at[order[step + 1]] if step + 1 < count else here + 2.0
        if ahead - here <= 1e-9 * max(1.0, abs(here)):
            continue
        if cost < best or (cost == best and ahead - here > width):
            best, where, width = cost, 0.5 * (here + ahead), ahead - here
    return best, where


@compiled
def wander(rows: Matrix, plus: Vector, minus: Vector, u: Vector, directions: Matrix) -> tuple[float, Vector]:
    """Line after line through the best point so far, sideways where nothing is gained."""
    u = u / np.sqrt((u * u).sum())
    best = np.inf
    for k in range(directions.shape[0]):
        cost, t = along(rows, plus, minus, u, directions[k])
        if cost <= best:
            moved = u + t * directions[k]
            length = np.sqrt((moved * moved).sum())
            if length > 1e-8:
                best, u = cost, moved / length
    return best, u
