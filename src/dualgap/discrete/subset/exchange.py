"""Local search for best subset with a squared loss: add, drop or exchange one column while that helps.

All on  −2cᵀw + wᵀGw + price·#{w ≠ 0},  whose value on a set T of columns is price·|T| − c_TᵀG_TT⁻¹c_T.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dualgap.arrays import Matrix, Vector
from dualgap.compiled.mechanism import compiled
from dualgap.compiled.small_vectors import NONE, copy

Whole = NDArray[np.int64]
DEPENDENT = 1e-11  # as in the search


class SetRows(NamedTuple):
    """The rows of G that belong to the columns of a set, in its order; the diagonal of G; and c."""

    rows: Matrix
    diagonal: Vector
    linear: Vector


@compiled(inner=True)
def _eliminate(row: Vector, pick: int, reduced: Matrix, left: Vector, pulled: Vector, count: int) -> float:
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
def _take(columns: SetRows, support: Whole, left: Matrix, pulled: Matrix, reduced: Matrix) -> float:
    """Take one column of the set after the other out of all: row i is what is left before column i is.

    Returns the value.
    """
    value = 0.0
    copy(columns.diagonal, left[0])
    copy(columns.linear, pulled[0])
    for i in range(support.shape[0]):
        copy(left[i], left[i + 1])
        copy(pulled[i], pulled[i + 1])
        value -= _eliminate(columns.rows[i], support[i], reduced, left[i + 1], pulled[i + 1], i)
    return value


@compiled(inner=True)
def _best_addition(left: Vector, pulled: Vector, barred: Whole) -> tuple[float, int]:
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
def value_of(columns: SetRows, support: Whole, price: float) -> float:
    """price·|T| − c_TᵀG_TT⁻¹c_T."""
    size, p = support.shape[0], columns.linear.shape[0]
    left, pulled, reduced = np.empty((size + 1, p)), np.empty((size + 1, p)), np.empty((size + 1, p))
    return float(_take(columns, support, left, pulled, reduced) + price * size)


@compiled
def best_move(columns: SetRows, support: Whole, price: float, limit: int) -> tuple[float, int, int]:
    """The value after the best single move, the position to drop and the column to add (−1: none).

    The last column is dropped first, so that what came before it need not be taken out again.
    """
    size, p = support.shape[0], columns.linear.shape[0]
    left, pulled, reduced = np.empty((size + 1, p)), np.empty((size + 1, p)), np.empty((size + 1, p))
    whole = _take(columns, support, left, pulled, reduced)
    best, out, into = np.inf, NONE, NONE
    for drop in range(size if size < limit else size - 1, -1, -1):
        value = whole + price * size
        if drop < size:
            value = price * (size - 1) + _value_before(left, pulled, support, drop)
            for i in range(drop + 1, size):
                value -= _eliminate(columns.rows[i], support[i], reduced, left[drop], pulled[drop], i - 1)
        gain, pick = _best_addition(left[drop], pulled[drop], support)
        if gain <= price:
            gain, pick = price, NONE
        if value + price - gain < best:
            best, out, into = value + price - gain, drop if drop < size else NONE, pick
    return best, out, into


@compiled(inner=True)
def _value_before(left: Matrix, pulled: Matrix, support: Whole, count: int) -> float:
    """The value of the first columns of a set, none paid for."""
    value = 0.0
    for i in range(count):
        j = support[i]
        if left[i, j] > DEPENDENT:
            value -= pulled[i, j] * pulled[i, j] / left[i, j]
    return value


@compiled
def forward(gram: Matrix, linear: Vector, price: float, limit: int) -> Whole:
    """Columns in the order of greedy selection, while each is worth its price."""
    order = np.empty(limit, np.int64)
    reduced = np.empty((limit, gram.shape[0]))
    left, pulled = np.diag(gram).copy(), linear.copy()
    for i in range(limit):
        gain, pick = _best_addition(left, pulled, order[:i])
        if pick < 0 or gain <= price:
            return order[:i]
        order[i] = pick
        _eliminate(gram[pick], pick, reduced, left, pulled, i)
    return order


@compiled
def exchange(gram: Matrix, linear: Vector, price: float, limit: int, start: Whole) -> tuple[Whole, float]:
    """Best single move after best single move, from `start`; the columns and their value."""
    support = np.empty(limit + 1, np.int64)
    rows = np.empty((limit + 1, gram.shape[0]))
    size = start.shape[0]
    for at in range(size):
        support[at] = start[at]
        copy(gram[start[at]], rows[at])
    columns = SetRows(rows, np.diag(gram).copy(), linear)
    value = value_of(columns, support[:size], price)
    for _ in range(10 * limit + 100):
        best, out, into = best_move(columns, support[:size], price, limit)
        if best >= value - 1e-13:
            break
        value = best
        if out >= 0:
            size -= 1
            support[out] = support[size]
            copy(rows[size], rows[out])
        if into >= 0:
            support[size] = into
            copy(gram[into], rows[size])
            size += 1
    return support[:size].copy(), value


@compiled
def solve(gram: Matrix, linear: Vector, kept: Whole, w: Vector) -> float:
    """w = G⁻¹c on the columns kept, by Cholesky; zero for those that depend on the ones before.

    Returns the least pivot.
    """
    size = kept.shape[0]
    factor, least = np.zeros((size, size)), np.inf
    for i in range(size):
        w[i] = linear[kept[i]]
        for j in range(i + 1):
            total = gram[kept[i], kept[j]]
            for k in range(j):
                total -= factor[i, k] * factor[j, k]
            if j < i:
                factor[i, j] = total / factor[j, j]
            else:
                factor[i, i] = np.sqrt(total) if total > DEPENDENT else np.inf
                least = min(least, total)
        for k in range(i):
            w[i] -= factor[i, k] * w[k]
        w[i] /= factor[i, i]
    for i in range(size - 1, -1, -1):
        for k in range(i + 1, size):
            if factor[k, k] < np.inf:
                w[i] -= factor[k, i] * w[k]
        w[i] /= factor[i, i]
    return least


@compiled
def thresholded(gram: Matrix, linear: Vector, price: float, limit: int, steps: int) -> Whole:
    """Gradient steps on −2cᵀw + wᵀGw from zero, all but the largest weights set to zero each time."""
    p = linear.shape[0]
    steepest = 0.0
    for i in range(p):
        total = 0.0
        for j in range(p):
            total += abs(gram[i, j])
        steepest = max(steepest, total)
    kept, w = np.empty(0, np.int64), np.zeros(limit)
    for _ in range(steps if limit else 0):
        ahead = linear.copy()
        for a in range(kept.shape[0]):
            row = gram[kept[a]]
            for j in range(p):
                ahead[j] -= w[a] * row[j]
        ahead /= steepest
        for a in range(kept.shape[0]):
            ahead[kept[a]] += w[a]
        again = np.sort(_leading(ahead, limit, price / steepest))
        if np.array_equal(again, kept):
            break
        kept = again
        solve(gram, linear, kept, w)
    return kept


@compiled(inner=True)
def _leading(values: Vector, limit: int, least: float) -> Whole:
    """The largest by size, of equal ones the first, whose squares are above `least`."""
    found, count = np.empty(limit, np.int64), 0
    for j in range(values.shape[0]):
        size = abs(values[j])
        if size * size <= least or (count == limit and size <= abs(values[found[limit - 1]])):
            continue
        at = min(count, limit - 1)
        count = min(count + 1, limit)
        while at > 0 and abs(values[found[at - 1]]) < size:
            found[at] = found[at - 1]
            at -= 1
        found[at] = j
    return found[:count]


@compiled(inner=True)
def _same(left: Whole, right: Whole) -> bool:
    """Do two sets hold the same columns?"""
    count = 0
    for a in left:
        for b in right:
            count += a == b
    return left.shape[0] == right.shape[0] == count


@compiled
def good_set(gram: Matrix, linear: Vector, price: float, limit: int, steps: int, start: Whole) -> Whole:
    """The best of the exchanges from greedy selection, from gradient steps and from `start`, if not empty."""
    first = forward(gram, linear, price, limit)
    best, value = exchange(gram, linear, price, limit, first)
    for other in (thresholded(gram, linear, price, limit, steps), start):
        if other.shape[0] and not _same(other, first):
            found, below = exchange(gram, linear, price, limit, other)
            if below < value:
                best, value = found, below
    return best
