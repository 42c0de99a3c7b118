"""Local search for best subset with a squared loss: add, drop or exchange one column while that helps.

All on  −2cᵀw + wᵀGw + price·#{w ≠ 0},  whose value on a set T of columns is price·|T| − c_TᵀG_TT⁻¹c_T.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from dualgap.arrays import Matrix, Vector
from dualgap.compiled.mechanism import compiled
from dualgap.compiled.small_vectors import NONE, copy

Whole = NDArray[np.int64]
DEPENDENT = 1e-11  # as in the search


class Rows(Protocol):
    """G by its rows: an array, or rows that are made when they are asked for."""

    def __getitem__(self, j: int, /) -> Vector:
        """A row."""

    def diagonal(self) -> Vector:
        """The diagonal."""


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


@compiled(inner=True)
def _take(rows: Matrix, support: Whole, left: Matrix, pulled: Matrix, reduced: Matrix) -> float:
    """Take one column of the set after the other out of all: row i is what is left before column i is.

    Returns the value.
    """
    value = 0.0
    for i in range(support.shape[0]):
        copy(left[i], left[i + 1])
        copy(pulled[i], pulled[i + 1])
        value -= _eliminate(rows[i], support[i], reduced, left[i + 1], pulled[i + 1], i)
    return value


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
def _best_move(
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
                value -= _eliminate(rows[i], support[i], reduced, left[drop], pulled[drop], i - 1)
        gain, pick = _best_addition(left[drop], pulled[drop], support)
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


def forward(gram: Rows, linear: Vector, price: float, limit: int) -> Whole:
    """Columns in the order of greedy selection, while each is worth its price."""
    order = np.empty(limit, np.int64)
    reduced = np.empty((min(limit, 8), len(linear)))
    left, pulled = gram.diagonal().copy(), linear.copy()
    for i in range(limit):
        gain, pick = _best_addition(left, pulled, order[:i])
        if pick < 0 or gain <= price:
            return order[:i]
        if i == len(reduced):
            reduced = np.vstack([reduced, np.empty_like(reduced)])
        order[i] = pick
        _eliminate(gram[pick], pick, reduced, left, pulled, i)
    return order


def exchange(gram: Rows, linear: Vector, price: float, limit: int, start: Whole) -> tuple[Whole, float]:
    """Best single move after best single move, from `start`; the columns and their value."""
    support, value, diagonal = start, np.inf, gram.diagonal().copy()
    for _ in range(10 * limit + 100):
        rows = np.array([gram[j] for j in support.tolist()]).reshape(len(support), len(linear))
        value, best, out, into = _best_move(rows, diagonal, linear, support, price, limit)
        if best >= value - 1e-13:
            break
        value = best
        if out >= 0:
            support = np.delete(support, out)
        if into >= 0:
            support = np.append(support, into)
    return support, value


def solve(gram: Matrix, linear: Vector, kept: Whole) -> tuple[Vector, float]:
    """G⁻¹c on the columns kept, and the least of what is left of one beside those before it."""
    if not len(kept):
        return np.zeros(0), np.inf
    part = gram[np.ix_(kept, kept)]
    factor, failed = lapack.dpotrf(part, lower=1)
    if failed:
        return np.asarray(np.linalg.lstsq(part, linear[kept], rcond=DEPENDENT)[0]), 0.0
    return np.asarray(lapack.dpotrs(factor, linear[kept], lower=1)[0]), float(factor.diagonal().min()) ** 2


def thresholded(gram: Matrix, linear: Vector, price: float, limit: int, steps: int) -> Whole:
    """Gradient steps on −2cᵀw + wᵀGw from zero, all but the largest weights set to zero each time."""
    steepest = float(np.abs(gram).sum(axis=1).max(initial=1e-300))
    kept, w = np.zeros(0, np.int64), np.zeros(0)
    for _ in range(steps):
        ahead = (linear - w @ gram[kept]) / steepest
        ahead[kept] += w
        leading = np.argsort(-np.abs(ahead), kind="stable")[:limit]
        again = np.sort(leading[ahead[leading] ** 2 > price / steepest]).astype(np.int64)
        if np.array_equal(again, kept):
            break
        kept, w = again, solve(gram, linear, again)[0]
    return kept


def good_set(
    gram: Rows, linear: Vector, price: float, limit: int, others: Iterable[Whole]
) -> tuple[Whole, float]:
    """The best of the exchanges from greedy selection and from other sets, and its value."""
    first = forward(gram, linear, price, limit)
    found = [exchange(gram, linear, price, limit, first)]
    for other in others:
        if len(other) and set(other.tolist()) != set(first.tolist()):
            found.append(exchange(gram, linear, price, limit, other))
    return min(found, key=lambda pair: pair[1])
