"""The loops of `exchange`: columns taken out of all, one after the other, and the best single move."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dualgap.arrays import Matrix, Vector
from dualgap.compiled.mechanism import compiled
from dualgap.compiled.small_vectors import NONE, copy

Whole = NDArray[np.int64]
DEPENDENT = 1e-11  # as in the search


@compiled
def eliminate(row: Vector, pick: int, reduced: Matrix, left: Vector, pulled: Vector, count: int) -> float:
    """Take column `pick`, whose row of G this is, out of all: row `count` of L⁻¹G. The fall in the value."""
    pivot, mine = left[pick], reduced[count]
    if pivot <= DEPENDENT:
        mine.fill(0.0)
        return 0.0
    for j in range(row.shape[0]):
        mine[j] = row[j]
    for k in range(count):
        share = reduced[k, pick]
        for j in range(row.shape[0]):
            mine[j] -= share * reduced[k, j]
    root = np.sqrt(pivot)
    along = pulled[pick] / root
    for j in range(row.shape[0]):
        mine[j] /= root
        left[j] -= mine[j] * mine[j]
        pulled[j] -= along * mine[j]
    return float(along * along)


@compiled(inner=True)
def _take(rows: Matrix, support: Whole, left: Matrix, pulled: Matrix, reduced: Matrix) -> float:
    """Take one column of the set after the other out of all: row i is what is left before column i is.

    Returns the value.
    """
    value = 0.0
    for i in range(support.shape[0]):
        copy(left[i], left[i + 1])
        copy(pulled[i], pulled[i + 1])
        value -= eliminate(rows[i], support[i], reduced, left[i + 1], pulled[i + 1], i)
    return value


@compiled
def best_addition(left: Vector, pulled: Vector, barred: Whole) -> tuple[float, int]:
    """The largest gain of one more column, and which; −1 if none has anything left."""
    most, pick = 0.0, -1
    for j in range(left.shape[0]):
        if left[j] > DEPENDENT and pulled[j] * pulled[j] > most * left[j]:
            free = True
            for b in barred:
                free = free and b != j
            if free:
                most, pick = pulled[j] * pulled[j] / left[j], j
    return most, pick


@compiled
def best_move(
    rows: Matrix, diagonal: Vector, linear: Vector, support: Whole, price: float, limit: int
) -> tuple[float, float, int, int]:
    """The value of a set whose rows of G these are, the value after the best single move, the position to
    drop and the column to add (−1: none).

    The last column is dropped first, so that what came before it need not be taken out again.
    """
    size, p = support.shape[0], linear.shape[0]
    left, pulled, reduced = np.empty((size + 1, p)), np.empty((size + 1, p)), np.empty((size + 1, p))
    copy(diagonal, left[0])
    copy(linear, pulled[0])
    whole = _take(rows, support, left, pulled, reduced)
    best, out, into = np.inf, NONE, NONE
    for drop in range(size if size < limit else size - 1, -1, -1):
        value = whole + price * size
        if drop < size:
            value = price * (size - 1) + _value_before(left, pulled, support, drop)
            for i in range(drop + 1, size):
                value -= eliminate(rows[i], support[i], reduced, left[drop], pulled[drop], i - 1)
        gain, pick = best_addition(left[drop], pulled[drop], support)
        if gain <= price:
            gain, pick = price, NONE
        if value + price - gain < best:
            best, out, into = value + price - gain, drop if drop < size else NONE, pick
    return whole + price * size, best, out, into


@compiled(inner=True)
def _value_before(left: Matrix, pulled: Matrix, support: Whole, count: int) -> float:
    """The value of the first columns of a set, none paid for."""
    value = 0.0
    for i in range(count):
        j = support[i]
        if left[i, j] > DEPENDENT:
            value -= pulled[i, j] * pulled[i, j] / left[i, j]
    return value
