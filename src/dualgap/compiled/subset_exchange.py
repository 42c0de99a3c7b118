"""Local search for best subset with a squared loss: add, drop or exchange one column while that helps.

All on  −2cᵀw + wᵀGw + price·#{w ≠ 0},  whose value on a set T of columns is price·|T| − c_TᵀG_TT⁻¹c_T.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dualgap.arrays import Matrix, Vector
from dualgap.compiled.mechanism import compiled

Whole = NDArray[np.int64]
DEPENDENT = 1e-11  # as in the search


@compiled
def _eliminate(gram: Matrix, pick: int, reduced: Matrix, left: Vector, pulled: Vector, count: int) -> float:
    """Take column `pick` out of every other: row `count` of L⁻¹G, G = LLᵀ. The fall in the value."""
    pivot = left[pick]
    row = reduced[count]
    if pivot <= DEPENDENT:
        row.fill(0.0)
        return 0.0
    for j in range(row.shape[0]):
        row[j] = gram[pick, j]
    for k in range(count):
        share = reduced[k, pick]
        for j in range(row.shape[0]):
            row[j] -= share * reduced[k, j]
    root = np.sqrt(pivot)
    along = pulled[pick] / root
    for j in range(row.shape[0]):
        row[j] /= root
        left[j] -= row[j] * row[j]
        pulled[j] -= along * row[j]
    return float(along * along)


@compiled
def _reduce(
    gram: Matrix, linear: Vector, base: Whole, skip: int, reduced: Matrix
) -> tuple[Vector, Vector, float]:
    """What is left of every column and of c beside the columns of `base` but one, and the value of that."""
    left, pulled, value, count = np.empty_like(linear), linear.copy(), 0.0, 0
    for j in range(linear.shape[0]):
        left[j] = gram[j, j]
    for at in range(base.shape[0]):
        if at != skip:
            value -= _eliminate(gram, base[at], reduced, left, pulled, count)
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
def forward(gram: Matrix, linear: Vector, price: float, limit: int) -> Whole:
    """Columns in the order of greedy selection, while each is worth its price."""
    order = np.empty(limit, np.int64)
    reduced = np.empty((limit, gram.shape[0]))
    left, pulled, _ = _reduce(gram, linear, order[:0], -1, reduced)
    for i in range(limit):
        gain, pick = _best_addition(left, pulled, order[:i])
        if pick < 0 or gain <= price:
            return order[:i]
        order[i] = pick
        _eliminate(gram, pick, reduced, left, pulled, i)
    return order


@compiled
def _best_move(
    gram: Matrix, linear: Vector, price: float, limit: int, support: Whole, reduced: Matrix
) -> tuple[float, int, int]:
    """The value after the best single move, the position to drop and the column to add (−1: none)."""
    best, out, into = np.inf, -1, -1
    size = support.shape[0]
    for drop in range(-1 if size < limit else 0, size):
        left, pulled, value = _reduce(gram, linear, support, drop, reduced)
        value += price * (size - (drop >= 0))
        gain, pick = _best_addition(left, pulled, support)
        if gain <= price:
            gain, pick = price, -1
        if value + price - gain < best:
            best, out, into = value + price - gain, drop, pick
    return best, out, into


@compiled
def exchange(gram: Matrix, linear: Vector, price: float, limit: int, start: Whole) -> tuple[Whole, float]:
    """Best single move after best single move, from `start`; the columns and their value."""
    support = np.empty(limit + 1, np.int64)
    size = start.shape[0]
    for at in range(size):
        support[at] = start[at]
    reduced = np.empty((limit + 1, gram.shape[0]))
    _, _, value = _reduce(gram, linear, start, -1, reduced)
    value += price * size
    for _ in range(10 * limit + 100):
        best, out, into = _best_move(gram, linear, price, limit, support[:size], reduced)
        if best >= value - 1e-13:
            break
        value = best
        if out >= 0:
            size -= 1
            support[out] = support[size]
        if into >= 0:
            support[size] = into
            size += 1
    return support[:size].copy(), value
