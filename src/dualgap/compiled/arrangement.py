"""The cells that hyperplanes through the origin cut out of space, and the cheapest of them.

Row r costs `minus` on the side r·u > 0 and `plus` on the other; no u on any plane is looked at. Every cell
has a facet, and on the plane of that facet the other rows cut out the facet as a cell of one dimension less.
So the plane of one row after the other is entered, rows that vanish there take their cheaper side, and the
last two dimensions are swept by angle. Facets can be entered in rising order of their rows: every cell has a
flag of faces for which that is so. Exact with repeated and dependent rows, since these vanish together.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dualgap.arrays import Matrix, Vector
from dualgap.compiled.mechanism import compiled

VANISHED = 1e-9  # length below which a projected unit row counts as zero
ROUNDING = 1e-13  # of an angle, for a row of length one


@compiled
def sweep(rows: Matrix, size: int, plus: Vector, minus: Vector) -> tuple[float, float]:
    """The cheapest direction in the plane: its cost and its angle. Rows of length zero are not looked at."""
    angle, change, blur = np.empty(size), np.empty(size), np.empty(size)
    cost, total, count = 0.0, 0.0, 0
    for i in range(size):
        a, b = rows[i, 0], rows[i, 1]
        length = np.sqrt(a * a + b * b)
        if length < VANISHED:
            continue
        total += plus[i] + minus[i]
        at = np.arctan2(-a, b)
        if at < 0.0:
            at += np.pi
        near = ROUNDING / length + 1e-12
        if at <= near or at >= np.pi - near:  # its boundary is the start: it has been crossed already
            cost += minus[i] if b > 0.0 else plus[i]
            continue
        cost += minus[i] if a > 0.0 else plus[i]
        angle[count] = at
        change[count] = plus[i] - minus[i] if a > 0.0 else minus[i] - plus[i]
        blur[count] = near
        count += 1
    return _cheapest(angle[:count], change, blur, cost, total)


@compiled
def _cheapest(angle: Vector, change: Vector, blur: Vector, cost: float, total: float) -> tuple[float, float]:
    """Walk through the angles; the opposite direction costs what is left of the total."""
    order = np.argsort(angle)
    count = angle.shape[0]
    best, where = np.inf, 0.0
    before = 0.0
    for step in range(count + 1):
        ahead = angle[order[step]] if step < count else np.pi
        slack = blur[order[step]] if step < count else 1e-12
        if step > 0:
            slack += blur[order[step - 1]]
        if ahead - before > slack:
            middle = 0.5 * (before + ahead)
            if cost < best:
                best, where = cost, middle
            if total - cost < best:
                best, where = total - cost, middle + np.pi
        if step < count:
            cost += change[order[step]]
            before = ahead
    return best, where


@compiled
def project(rows: Matrix, size: int, pivot: int, out: Matrix) -> None:
    """Coordinates of the rows on the plane of row `pivot`, by a reflection that moves it onto an axis."""
    dimension = rows.shape[1]
    mirror = rows[pivot].copy()
    length = np.sqrt((mirror * mirror).sum())
    mirror[dimension - 1] += length if mirror[dimension - 1] >= 0.0 else -length
    scale = 2.0 / (mirror * mirror).sum()
    for i in range(size):
        along = 0.0
        for k in range(dimension):
            along += rows[i, k] * mirror[k]
        along *= scale
        square = 0.0
        for k in range(dimension - 1):
            out[i, k] = rows[i, k] - along * mirror[k]
            square += out[i, k] * out[i, k]
        if square < VANISHED * VANISHED:
            out[i, : dimension - 1] = 0.0


@compiled
def _vanishing(rows: Matrix, below: Matrix, size: int, pivot: int, plus: Vector, minus: Vector) -> float:
    """The cost of the rows that vanish on the plane of `pivot` but did not before, on the cheaper side."""
    here, there = 0.0, 0.0
    for i in range(size):
        if not below[i].any() and rows[i].any():
            along = (rows[i] * rows[pivot]).sum()
            here += minus[i] if along > 0.0 else plus[i]
            there += plus[i] if along > 0.0 else minus[i]
    return min(here, there)


@compiled
def cheapest_cell(
    rows: Matrix, plus: Vector, minus: Vector, first: int, last: int, best: float
) -> tuple[float, NDArray[np.int64], float]:
    """Over the cells with a facet on one of the rows first..last−1 and none on an earlier one.

    Returns the cost, the rows entered and the final angle; no rows if nothing is below `best`.
    """
    size, dimension = rows.shape
    depth = dimension - 2
    table = np.zeros((dimension + 1, size, dimension))
    table[dimension] = rows
    spent = np.zeros(depth + 1)
    chosen = np.full(depth + 1, -1)
    entered, angle = np.full(depth, -1), 0.0
    level, chosen[0] = 0, first - 1
    while level >= 0:
        if level == depth:
            cost, where = sweep(table[2], size, plus, minus)
            if spent[level] + cost < best:
                best, angle = spent[level] + cost, where
                entered[:] = chosen[:depth]
            level -= 1
            continue
        chosen[level] += 1
        pick = chosen[level]
        if pick >= (last if level == 0 else size):
            level -= 1
            continue
        d = dimension - level
        above, below = table[d][:, :d], table[d - 1][:, : d - 1]
        if not above[pick].any():
            continue
        project(above, size, pick, below)
        spent[level + 1] = spent[level] + _vanishing(above, below, size, pick, plus, minus)
        if spent[level + 1] < best:
            level += 1
            chosen[level] = pick
    return best, entered, angle


@compiled
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


@compiled
def _least(at: Vector, change: Vector, cost: float) -> tuple[float, float]:
    """The cheapest piece between breakpoints, the widest of several."""
    count = at.shape[0]
    if count == 0:
        return cost, 0.0
    order = np.argsort(at)
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
