"""Local search for best subset with a squared loss: add, drop or exchange one column while that helps.

All on  −2cᵀw + wᵀGw + price·#{w ≠ 0},  whose value on a set T of columns is price·|T| − c_TᵀG_TT⁻¹c_T.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

import numpy as np

from dualgap.arrays import Matrix, Vector
from dualgap.discrete.subset.exchange_loops import DEPENDENT, Whole, best_addition, best_move, eliminate
from dualgap.linalg.cholesky import inverse


class ByRows(Protocol):
    """G by its rows: an array, or rows that are made when they are asked for."""

    def __getitem__(self, j: int, /) -> Vector:
        """A row."""

    def diagonal(self) -> Vector:
        """The diagonal."""


def forward(gram: ByRows, linear: Vector, price: float, limit: int) -> Whole:
    """Columns in the order of greedy selection, while each is worth its price."""
    order = np.empty(limit, np.int64)
    reduced = np.empty((min(limit, 8), len(linear)))
    left, pulled = gram.diagonal().copy(), linear.copy()
    for i in range(limit):
        gain, pick = best_addition(left, pulled, order[:i])
        if pick < 0 or gain <= price:
            return order[:i]
        if i == len(reduced):
            reduced = np.vstack([reduced, np.empty_like(reduced)])
        order[i] = pick
        eliminate(gram[pick], pick, reduced, left, pulled, i)
    return order


def exchange(gram: ByRows, linear: Vector, price: float, limit: int, start: Whole) -> tuple[Whole, float]:
    """Best single move after best single move, from `start`; the columns and their value."""
    support, value, diagonal = start, np.inf, gram.diagonal().copy()
    for _ in range(10 * limit + 100):
        rows = np.array([gram[j] for j in support.tolist()]).reshape(len(support), len(linear))
        value, best, out, into = best_move(rows, diagonal, linear, support, price, limit)
        if best >= value - 1e-13:
            break
        value = best
        if out >= 0:
            support = np.delete(support, out)
        if into >= 0:
            support = np.append(support, into)
    return support, value


def solve(gram: Matrix, linear: Vector, kept: Whole) -> tuple[Vector, float]:
    """G⁻¹c on the columns kept, and the least of what is left of one beside the others."""
    if not len(kept):
        return np.zeros(0), np.inf
    part = gram[np.ix_(kept, kept)]
    inverted = inverse(part)
    if inverted is None:
        return np.asarray(np.linalg.lstsq(part, linear[kept], rcond=DEPENDENT)[0]), 0.0
    return inverted @ linear[kept], 1.0 / float(inverted.diagonal().max())


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
    gram: ByRows, linear: Vector, price: float, limit: int, others: Iterable[Whole]
) -> tuple[Whole, float]:
    """The best of the exchanges from greedy selection and from other sets, and its value."""
    first = forward(gram, linear, price, limit)
    found = [exchange(gram, linear, price, limit, first)]
    for other in others:
        if len(other) and set(other.tolist()) != set(first.tolist()):
            found.append(exchange(gram, linear, price, limit, other))
    return min(found, key=lambda pair: pair[1])
