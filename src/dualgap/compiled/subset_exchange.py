"""Local search for best subset with a squared loss: add, drop or exchange one column while that helps.

All on  −2cᵀw + wᵀGw + price·#{w ≠ 0},  whose value on a set T of columns is price·|T| − c_TᵀG_TT⁻¹c_T.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dualgap.arrays import Matrix, Vector
from dualgap.compiled.mechanism import compiled

Whole = NDArray[np.int64]
DEPENDENT = 1e-11  # as in the search


class Columns(NamedTuple):
    """The rows of G that belong to the columns of a set, in its order; the diagonal of G; and c."""

    rows: Matrix
    diagonal: Vector
    linear: Vector


@compiled
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


@compiled
def _without(columns: Columns, support: Whole, skip: int, reduced: Matrix) -> tuple[Vector, Vector, float]:
    """What is left of every column and of c beside the columns of `support` but one, and their value."""
    left, pulled, value, count = columns.diagonal.copy(), columns.linear.copy(), 0.0, 0
    for at in range(support.shape[0]):
        if at != skip:
            value -= _eliminate(columns.rows[at], support[at], reduced, left, pulled, count)
            count += 1
    return left, pulled, value


@compiled
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
def value_of(columns: Columns, support: Whole, price: float) -> float:
    """price·|T| − c_TᵀG_TT⁻¹c_T."""
    reduced = np.empty((support.shape[0], columns.linear.shape[0]))
    _, _, value = _without(columns, support, -1, reduced)
    return float(value + price * support.shape[0])


@compiled
def best_move(columns: Columns, support: Whole, price: float, limit: int) -> tuple[float, int, int]:
    """The value after the best single move, the position to drop and the column to add (−1: none)."""
    best, out, into = np.inf, -1, -1
    size = support.shape[0]
    reduced = np.empty((size + 1, columns.linear.shape[0]))
    for drop in range(-1 if size < limit else 0, size):
        left, pulled, value = _without(columns, support, drop, reduced)
        value += price * (size - (drop >= 0))
        gain, pick = _best_addition(left, pulled, support)
        if gain <= price:
            gain, pick = price, -1
        if value + price - gain < best:
            best, out, into = value + price - gain, drop, pick
    return best, out, into


@compiled
def _copy(row: Vector, out: Vector) -> None:
    for j in range(row.shape[0]):
        out[j] = row[j]


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
        _copy(gram[start[at]], rows[at])
    columns = Columns(rows, np.diag(gram).copy(), linear)
    value = value_of(columns, support[:size], price)
    for _ in range(10 * limit + 100):
        best, out, into = best_move(columns, support[:size], price, limit)
        if best >= value - 1e-13:
            break
        value = best
        if out >= 0:
            size -= 1
            support[out] = support[size]
            _copy(rows[size], rows[out])
        if into >= 0:
            support[size] = into
            _copy(gram[into], rows[size])
            size += 1
    return support[:size].copy(), value


@compiled
def _solve(gram: Matrix, linear: Vector, kept: Whole, w: Vector) -> None:
    """w = G⁻¹c on the columns kept, by Cholesky; zero for those that depend on the ones before."""
    size = kept.shape[0]
    factor = np.zeros((size, size))
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
        for k in range(i):
            w[i] -= factor[i, k] * w[k]
        w[i] /= factor[i, i]
    for i in range(size - 1, -1, -1):
        for k in range(i + 1, size):
            if factor[k, k] < np.inf:
                w[i] -= factor[k, i] * w[k]
        w[i] /= factor[i, i]


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
        _solve(gram, linear, kept, w)
    return kept


@compiled
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
