"""The cells that hyperplanes through the origin cut out of space, and the cheapest of them.

Row r costs `minus` on the side r·u > 0 and `plus` on the other; no u on any plane is looked at. Every cell
has a facet, and on the plane of that facet the other rows cut out the facet as a cell of one dimension less.
So the plane of one row after the other is entered, rows that vanish there take their cheaper side, and the
last two dimensions are swept by angle. Facets can be entered in rising order of their rows: every cell has a
flag of faces for which that is so. Exact with repeated and dependent rows, since these vanish together.

Rounding is kept account of. Where rows are too close to be told apart, residues of the integers that they are
say which of them coincide; the others are left in doubt, and so is their plane. Residues are by two primes
near 2³¹: what is not zero by one is not zero, what is zero by both is so but for one chance in 10¹⁸.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dualgap.arrays import Matrix, Vector
from dualgap.compiled.mechanism import compiled
from dualgap.compiled.small_vectors import ZERO, copy, dot, is_zero, rising

Residues = NDArray[np.int64]  # primes × rows × columns, and the primes themselves in a last row


@compiled(inner=True, allocates=True)
def without(rows: Residues, chosen: NDArray[np.int64]) -> Residues:
    """The rows where those chosen are zero, each up to a factor; one column is zero for each chosen."""
    left = rows.copy()
    count, width = rows.shape[1] - 1, rows.shape[2]
    for k in range(rows.shape[0]):
        prime = rows[k, count, 0]
        for pick in chosen:
            pivot = left[k, pick].copy()
            at = 0
            while at < width and pivot[at] == 0:
                at += 1
            if at == width:
                continue
            for i in range(count):
                share = left[k, i, at]
                for j in range(width):
                    left[k, i, j] = (left[k, i, j] * pivot[at] - share * pivot[j] % prime) % prime
    return left


@compiled(inner=True)
def vanishes(rows: Residues, i: int) -> bool:
    """Is row i zero?"""
    for k in range(rows.shape[0]):
        for j in range(rows.shape[2]):
            if rows[k, i, j] != 0:
                return False
    return True


@compiled(inner=True)
def same_direction(rows: Residues, a: int, b: int) -> bool:
    """Is one of two rows a multiple of the other?"""
    count, width = rows.shape[1] - 1, rows.shape[2]
    for k in range(rows.shape[0]):
        prime = rows[k, count, 0]
        for i in range(width):
            for j in range(i):
                if (rows[k, a, i] * rows[k, b, j] - rows[k, a, j] * rows[k, b, i]) % prime != 0:
                    return False
    return True


ROUNDING = 4e-16  # of an entry, for a row of length one
HELD, LOST = 0, 1  # entries of DoubtfulPlanes.tally


class Sides(NamedTuple):
    """Rows of length one, what each side of them costs, and their residues."""

    rows: Matrix
    plus: Vector
    minus: Vector
    residues: Residues


class Events(NamedTuple):
    """Rows in the order of the angles at which a direction crosses them, from a gap that is wide enough."""

    row: NDArray[np.int64]
    change: Vector
    joined: NDArray[np.bool_]  # with the one before, as far as rounding can tell
    angle: Vector
    cost: float  # before the first
    total: float


class DoubtfulPlanes(NamedTuple):
    """Planes with cells that rounding hides, a row for each: where rows vanish, and others are too close.

    `tally`: how many there are, and whether some were not noted, or rows only seemed to vanish on the way.
    """

    vanishing: NDArray[np.int64]  # the rows entered
    hidden: Vector  # what its cells may cost at least, with what was spent on the way
    spent: Vector
    tally: NDArray[np.int64]


@compiled(inner=True, allocates=True)
def _events(sides: Sides, flat: Matrix, blur: float) -> Events:
    """Angles of the rows of `flat` that are not zero; an entry is known to within `blur`."""
    size = flat.shape[0]
    angle, near, row = np.empty(size), np.empty(size), np.empty(size, np.int64)
    count = ZERO
    for i in range(size):
        a, b = flat[i, 0], flat[i, 1]
        if a == 0.0 and b == 0.0:
            continue
        at = np.arctan2(-a, b)
        angle[count] = at + np.pi if at < 0.0 else at
        near[count] = 2.0 * blur / np.sqrt(a * a + b * b) + 1e-15
        row[count] = i
        count += 1
    order = rising(angle[:count])
    first, widest = ZERO, -1.0
    for step in range(count):
        before = angle[order[step - 1]] - (np.pi if step == 0 else 0.0)
        if angle[order[step]] - before > widest:
            first, widest = step, angle[order[step]] - before
    return _from(sides, flat, (angle, near, row), order, first)


@compiled(inner=True, allocates=True)
def _from(
    sides: Sides,
    flat: Matrix,
    found: tuple[Vector, Vector, NDArray[np.int64]],
    order: NDArray[np.int64],
    first: int,
) -> Events:
    """The events from number `first` on, once around."""
    angle, near, row = found
    count = order.shape[0]
    rows, change, at = np.empty(count, np.int64), np.empty(count), np.empty(count)
    joined, cost, total = np.zeros(count, np.bool_), 0.0, 0.0
    before, slack = 0.0, 0.0
    if count:
        last = order[first - 1]
        before, slack = angle[last] - (np.pi if first == 0 else 0.0), near[last]
    ahead = angle[order[first]] if count else 0.0
    x, y = np.cos(0.5 * (before + ahead)), np.sin(0.5 * (before + ahead))
    for step in range(count):
        where = first + step
        k = order[where] if where < count else order[where - count]
        i = row[k]
        here = angle[k] + (0.0 if where < count else np.pi)
        inside = flat[i, 0] * x + flat[i, 1] * y > 0.0
        rows[step], at[step] = i, here
        joined[step] = here - before <= slack + near[k]
        cost += sides.minus[i] if inside else sides.plus[i]
        total += sides.plus[i] + sides.minus[i]
        change[step] = (sides.plus[i] - sides.minus[i]) * (1.0 if inside else -1.0)
        before, slack = here, near[k]
    return Events(rows, change, joined, at, cost, total)


@compiled(inner=True, allocates=True)
def _sweep(
    sides: Sides, flat: Matrix, blur: float, chosen: NDArray[np.int64], below: float
) -> tuple[float, float, float, float]:
    """The cheapest direction in the plane where the rows `chosen` vanish: its cost and angle; what no
    direction costs less than, whatever rounding hides; and what hidden ones may cost, if less than `below`.
    """
    events = _events(sides, flat, blur)
    count = events.row.shape[0]
    best, where, least, hidden = np.inf, 0.0, np.inf, np.inf
    cost, total, step = events.cost, events.total, 0
    low = high = cost
    start, known = ZERO, False
    left = sides.residues
    if count and not events.joined[0]:
        best, where = _better(cost, total, 0.5 * (events.angle[0] + events.angle[-1] - np.pi))
    elif count:
        least = hidden = 0.0  # nowhere a gap
    while step < count:
        low += min(events.change[step], 0.0)
        high += max(events.change[step], 0.0)
        cost += events.change[step]
        step += 1
        if step < count and events.joined[step]:
            continue
        least = min(least, low, total - high)
        if step - start > 1 and min(low, total - high) < min(best, below):
            if not known:
                left, known = without(sides.residues, chosen), True
            hidden = min(hidden, _hidden(events, left, start, step))
        ahead = events.angle[step] if step < count else events.angle[0] + np.pi
        here, middle = _better(cost, total, 0.5 * (events.angle[step - 1] + ahead))
        if here < best and not (step == count and events.joined[0]):
            best, where = here, middle
        start, low, high = step, cost, cost
    return best, where, least if count else 0.0, hidden


@compiled(inner=True)
def _better(cost: float, total: float, middle: float) -> tuple[float, float]:
    """A direction or its opposite, which costs what is left of the total."""
    return (cost, middle) if cost <= total - cost else (total - cost, middle + np.pi)


@compiled(inner=True, allocates=True)
def _hidden(events: Events, left: Residues, start: int, stop: int) -> float:
    """What a cell among events that rounding cannot put in order costs at least; ∞ if their rows coincide."""
    cost = events.cost
    for step in range(start):
        cost += events.change[step]
    done = np.zeros(stop - start, np.bool_)
    low, high, classes = cost, cost, 0
    for a in range(start, stop):
        if done[a - start]:
            continue
        change = 0.0
        for b in range(a, stop):
            if not done[b - start] and same_direction(left, events.row[a], events.row[b]):
                done[b - start] = True
                change += events.change[b]
        low += min(change, 0.0)
        high += max(change, 0.0)
        classes += 1
    return min(low, events.total - high) if classes > 1 else np.inf


@compiled
def project(rows: Matrix, size: int, pivot: int, blur: float, out: Matrix) -> float:
    """Coordinates of the rows on the plane of row `pivot`, by a reflection that moves it onto an axis.

    Entries are known to within `blur`, those of `out` to within what is returned; rows that may be zero are.
    """
    dimension = rows.shape[1]
    mirror = rows[pivot].copy()
    length = np.sqrt(dot(mirror, mirror))
    after = blur * (1.0 + 2.0 / length) + ROUNDING * dimension
    mirror[dimension - 1] += length if mirror[dimension - 1] >= 0.0 else -length
    scale = 2.0 / dot(mirror, mirror)
    for i in range(size):
        along = 0.0
        for k in range(dimension):
            along += rows[i, k] * mirror[k]
        along *= scale
        square = 0.0
        for k in range(dimension - 1):
            out[i, k] = rows[i, k] - along * mirror[k]
            square += out[i, k] * out[i, k]
        if square <= 16.0 * after * after:
            for k in range(dimension - 1):
                out[i, k] = 0.0
    return after


@compiled(inner=True, allocates=True)
def _vanishing(
    sides: Sides, rows: Matrix, below: Matrix, chosen: NDArray[np.int64]
) -> tuple[float, float, bool]:
    """The cost of the rows that vanish with the last of those chosen but not before, on the cheaper side; the
    least cost of those that seem to and do not; and whether there are any such.
    """
    here, there, least, count = 0.0, 0.0, 0.0, 0
    for i in range(rows.shape[0]):
        count += is_zero(below[i]) and not is_zero(rows[i])
    left, pivot = sides.residues, chosen[-1]
    if count > 1:
        left = without(sides.residues, chosen)
    seeming = False
    for i in range(rows.shape[0]):
        if not is_zero(below[i]) or is_zero(rows[i]):
            continue
        if count > 1 and not vanishes(left, i):
            seeming = True
            least += min(sides.plus[i], sides.minus[i])
            continue
        along = dot(rows[i], rows[pivot])
        here += sides.minus[i] if along > 0.0 else sides.plus[i]
        there += sides.plus[i] if along > 0.0 else sides.minus[i]
    return min(here, there), least, seeming


@compiled(inner=True)
def _doubt(
    chosen: NDArray[np.int64], spent: float, hidden: float, best: float, doubts: DoubtfulPlanes
) -> None:
    """Note a plane that is to be swept again, if what it hides may be cheaper than the best."""
    at = doubts.tally[HELD]
    if hidden >= best:
        return
    if at == doubts.hidden.shape[0]:
        doubts.tally[LOST] = 1
        return
    copy(chosen, doubts.vanishing[at])
    doubts.hidden[at], doubts.spent[at] = hidden, spent
    doubts.tally[HELD] += 1


@compiled
def cheapest_cell(
    sides: Sides, first: int, last: int, best: float, doubts: DoubtfulPlanes
) -> tuple[float, NDArray[np.int64], float]:
    """Over the cells with a facet on one of the rows first..last−1 and none on an earlier one.

    Returns the cost, the rows entered and the final angle; no rows if nothing is below `best`.
    """
    size, dimension = sides.rows.shape
    depth = dimension - 2
    table = np.zeros((dimension + 1, size, dimension))
    for i in range(size):
        copy(sides.rows[i], table[dimension, i])
    spent, blur = np.zeros(depth + 1), np.full(depth + 1, ROUNDING)
    chosen = np.full(depth + 1, -1)
    entered, angle = np.full(depth, -1), 0.0
    level, chosen[0], free, unclear = 0, first - 1, 0.0, False
    while level >= 0:
        if level == depth:
            flat, paid = table[2][:, :2], spent[level]
            room = -np.inf if unclear else best - paid
            cost, where, least, hidden = _sweep(sides, flat, blur[level], chosen[:depth], room)
            _doubt(chosen[:depth], paid, paid + (least + free if unclear else hidden), best, doubts)
            if not unclear and paid + cost < best:
                best, angle = paid + cost, where
                copy(chosen[:depth], entered)
            level -= 1
            continue
        chosen[level] += 1
        pick = chosen[level]
        if pick >= (last if level == 0 else size):
            level -= 1
            continue
        d = dimension - level
        above, below = table[d][:, :d], table[d - 1][:, : d - 1]
        if is_zero(above[pick]):
            continue
        blur[level + 1] = project(above, size, pick, blur[level], below)
        cost, free, unclear = _vanishing(sides, above, below, chosen[: level + 1])
        if unclear and level + 1 < depth:
            doubts.tally[LOST] = 1
        spent[level + 1] = spent[level] + cost
        if spent[level + 1] < best:
            level += 1
            chosen[level] = pick
    return best, entered, angle
