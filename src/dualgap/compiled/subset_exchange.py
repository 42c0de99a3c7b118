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
def _reduce(gram: Matrix, linear: Vector, base: Whole, reduced: Matrix) -> tuple[Vector, Vector, float]:
    """What is left of every column and of c beside the columns of `base`: squares, products, base value.

    Row i of `reduced` becomes the i-th row of L⁻¹G_base,:  with G_base = LLᵀ.
    """
    left, pulled, value = np.diag(gram).copy(), linear.copy(), 0.0
    for i in range(base.shape[0]):
        b = base[i]
        pivot = left[b]
        if pivot <= DEPENDENT:
            reduced[i] = 0.0
            continue
        reduced[i] = gram[b]
        for k in range(i):
            share = reduced[k, b]
            if share != 0.0:
                reduced[i] -= share * reduced[k]
        reduced[i] /= np.sqrt(pivot)
        along = pulled[b] / np.sqrt(pivot)
        value -= along * along
        for j in range(left.shape[0]):
            left[j] -= reduced[i, j] * reduced[i, j]
            pulled[j] -= along * reduced[i, j]
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
    left, pulled = np.diag(gram).copy(), linear.copy()
    for i in range(limit):
        gain, pick = _best_addition(left, pulled, order[:i])
        if pick < 0 or gain <= price:
            return order[:i]
        order[i] = pick
        reduced[i] = gram[pick]
        for k in range(i):
            reduced[i] -= reduced[k, pick] * reduced[k]
        pivot = np.sqrt(left[pick])
        reduced[i] /= pivot
        along = pulled[pick] / pivot
        for j in range(left.shape[0]):
            left[j] -= reduced[i, j] * reduced[i, j]
            pulled[j] -= along * reduced[i, j]
    return order


@compiled
def exchange(gram: Matrix, linear: Vector, price: float, limit: int, start: Whole) -> tuple[Whole, float]:
    """Best single move after best single move, from `start`; the columns and their value."""
    support = start.copy()
    reduced = np.empty((limit + 1, gram.shape[0]))
    _, _, value = _reduce(gram, linear, support, reduced)
    value += price * support.shape[0]
    for _ in range(10 * limit + 100):
        best, moved = value, support
        for drop in range(-1, support.shape[0]):
            if drop < 0 and support.shape[0] == limit:
                continue
            base = support if drop < 0 else np.append(support[:drop], support[drop + 1 :])
            left, pulled, rest = _reduce(gram, linear, base, reduced)
            rest += price * base.shape[0]
            gain, pick = _best_addition(left, pulled, support)
            if pick >= 0 and gain > price and rest + price - gain < best:
                best, moved = rest + price - gain, np.append(base, pick)
            elif rest < best:
                best, moved = rest, base
        if best >= value - 1e-13:
            break
        value, support = best, moved
    return support, value
