"""Local search for best subset with a squared loss: add, drop or exchange one column while that helps.

All on  −2cᵀw + wᵀGw + price·#{w ≠ 0},  whose value on a set T of columns is price·|T| − c_TᵀG_TT⁻¹c_T.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dualgap.arrays import Matrix, Vector
from dualgap.linalg.cholesky import inverse

Whole = NDArray[np.int64]
DEPENDENT = 1e-11  # as in the search


class ByRows(Protocol):
    """G by its rows: an array, or rows that are made when they are asked for."""

    def __getitem__(self, j: int, /) -> Vector:
        """A row."""

    def diagonal(self) -> Vector:
        """The diagonal."""


def forward(gram: ByRows, linear: Vector, price: float, limit: int) -> Whole:
    """Columns in the order of greedy selection, while each is worth its price."""
    order: list[int] = []
    left, pulled = gram.diagonal().copy(), linear.copy()
    reduced = np.empty((min(limit, 8), len(linear)))  # rows of L⁻¹G
    while len(order) < min(limit, len(linear)):
        gains = _gains(left, pulled)
        gains[order] = 0.0
        pick, i = int(gains.argmax()), len(order)
        if gains[pick] <= price:
            break
        if i == len(reduced):
            reduced = np.vstack([reduced, np.empty_like(reduced)])
        reduced[i] = (gram[pick] - reduced[:i, pick] @ reduced[:i]) / np.sqrt(left[pick])
        pulled -= pulled[pick] / np.sqrt(left[pick]) * reduced[i]
        left -= reduced[i] * reduced[i]
        order.append(pick)
    return np.array(order, np.int64)


def _gains(left: NDArray[np.float64], pulled: NDArray[np.float64]) -> NDArray[np.float64]:
    """What columns would take off the value, by what others leave of them and of their pull."""
    return np.where(left > DEPENDENT, pulled * pulled / np.maximum(left, DEPENDENT), 0.0)


def exchange(gram: ByRows, linear: Vector, price: float, limit: int, start: Whole) -> tuple[Whole, float]:
    """Best single move after best single move, from `start`; the columns and their value."""
    if not min(limit, len(linear)):
        return start[:0], 0.0
    diagonal, support = gram.diagonal(), _independent(gram, start)
    for _ in range(10 * limit + 100):
        value, best, out, into = _best_move(gram, diagonal, linear, support, price, limit)
        if best >= value - 1e-13:
            break
        if out >= 0:
            support = np.delete(support, out)
        if into >= 0:
            support = np.append(support, into)
    return support, value


def _independent(gram: ByRows, columns: Whole) -> Whole:
    """Those of the columns, in order, of which those before leave something."""
    kept: list[int] = []
    reduced = np.empty((len(columns), len(columns)))
    for i, pick in enumerate(columns.tolist()):
        row = reduced[len(kept)]
        row[:] = gram[pick][columns] - reduced[: len(kept), i] @ reduced[: len(kept)]
        if row[i] > DEPENDENT:
            row /= np.sqrt(row[i])
            kept.append(pick)
    return np.array(kept, np.int64)


def _best_move(
    gram: ByRows, diagonal: Vector, linear: Vector, support: Whole, price: float, limit: int
) -> tuple[float, float, int, int]:
    """The value of a set, the value after the best single move, the position to drop and the column to add.

    With A = G_TT⁻¹ and B = A G_T: without column i of the set, a column j has B_ij²/A_ii more left, B_ij
    u_i/A_ii more pull, and the value rises by u_i²/A_ii. −1: none.
    """
    size = len(support)
    rows = np.array([gram[j] for j in support.tolist()]).reshape(size, len(linear))
    whole = rows[:, support]
    A = np.linalg.inv(whole)
    u, B = A @ linear[support], A @ rows
    value = price * size + float(u @ (whole @ u) - 2.0 * (u @ linear[support]))
    own = A.diagonal()[:, None]
    share = B / own
    left, pulled = diagonal - (B * rows).sum(axis=0), linear - u @ rows
    gains = np.vstack([_gains(left + B * share, pulled + share * u[:, None]), _gains(left, pulled)])
    gains[:, support] = 0.0
    into = gains.argmax(axis=1)
    gain = np.maximum(gains[np.arange(size + 1), into], price)
    after = value + price - gain + np.append(u * u / own[:, 0] - price, 0.0)
    drop = int(after[: size + (size < limit)].argmin())
    add = int(into[drop]) if gain[drop] > price else -1
    return value, float(after[drop]), drop if drop < size else -1, add


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
