"""What a sweep asks of the columns, or the rows, of a matrix: each of them stored in one piece."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dualgap.arrays import Vector
from dualgap.compiled.layout import Lines as Lines  # what the loops below read
from dualgap.compiled.mechanism import compiled

BLOCK = 16  # lines visited together: their order is random, what they share stays in the cache


def _numpy_dot(values: Vector, first: int, x: Vector) -> Any:
    return np.dot(values[first : first + x.shape[0]], x)


@compiled(reassociate=True, inner=True, in_numpy=_numpy_dot)
def _dense_dot(values: Vector, first: int, x: Vector) -> float:
    line = values[first : first + x.shape[0]]  # indices from 0 need no check of their sign: 3 times as fast
    total = 0.0
    for i in range(x.shape[0]):
        total += line[i] * x[i]
    return total


def _numpy_gather(indices: NDArray[Any], values: NDArray[Any], x: Vector) -> Any:
    return np.dot(values, x[indices])


@compiled(inlined=True, in_numpy=_numpy_gather)
def _sparse_dot(indices: NDArray[Any], values: NDArray[Any], x: Vector) -> float:
    """Four sums side by side: one would wait for each addition to end."""
    first, second, third, fourth = 0.0, 0.0, 0.0, 0.0
    fours = indices.shape[0] // 4
    for q in range(fours):
        m = 4 * q
        first += values[m] * x[indices[m]]
        second += values[m + 1] * x[indices[m + 1]]
        third += values[m + 2] * x[indices[m + 2]]
        fourth += values[m + 3] * x[indices[m + 3]]
    for m in range(4 * fours, indices.shape[0]):
        first += values[m] * x[indices[m]]
    return (first + second) + (third + fourth)


@compiled(inlined=True)
def dot_in(
    dense: bool, starts: NDArray[np.int64], indices: NDArray[Any], values: NDArray[Any], k: int, x: Vector
) -> float:
    """line_k · x, of lines taken apart before a long loop, in which it would cost as much as a line."""
    first, last = starts[k], starts[k + 1]
    if dense:
        return _dense_dot(values, first, x)
    return _sparse_dot(indices[first:last], values[first:last], x)


@compiled(inner=True)
def dot(lines: Lines, k: int, x: Vector) -> float:
    """line_k · x."""
    return dot_in(lines.dense, lines.starts, lines.indices, lines.values, k, x)


@compiled(reassociate=True)
def square_norms(lines: Lines) -> Vector:
    """Σ line_k², line by line."""
    starts, values = lines.starts, lines.values
    norms = np.zeros(starts.shape[0] - 1)
    for k in range(norms.shape[0]):
        line = values[starts[k] : starts[k + 1]]
        total = 0.0
        for m in range(line.shape[0]):
            total += float(line[m]) * float(line[m])
        norms[k] = total
    return norms


def _numpy_scatter(indices: NDArray[Any], values: NDArray[Any], amount: float, x: Vector) -> None:
    np.add.at(x, indices, amount * values)


def _numpy_add(lines: Lines, k: int, amount: float, x: Vector) -> None:
    first, last = lines.starts[k], lines.starts[k + 1]
    if lines.dense:
        x += amount * lines.values[first:last]
    else:
        _numpy_scatter(lines.indices[first:last], lines.values[first:last], amount, x)


@compiled(inlined=True)
def _add_sparse(indices: NDArray[Any], values: NDArray[Any], amount: float, x: Vector) -> None:
    for m in range(indices.shape[0]):
        x[indices[m]] += amount * values[m]


@compiled(inlined=True)
def add_in(
    dense: bool,
    starts: NDArray[np.int64],
    indices: NDArray[Any],
    values: NDArray[Any],
    k: int,
    amount: float,
    x: Vector,
) -> None:
    """x += amount · line_k, of lines taken apart."""
    first, last = starts[k], starts[k + 1]
    if dense:
        line = values[first:last]
        for i in range(x.shape[0]):
            x[i] += amount * line[i]
    else:
        _add_sparse(indices[first:last], values[first:last], amount, x)


@compiled(inner=True, in_numpy=_numpy_add)
def add(lines: Lines, k: int, amount: float, x: Vector) -> None:
    """x += amount · line_k."""
    add_in(lines.dense, lines.starts, lines.indices, lines.values, k, amount, x)


@compiled
def dots(lines: Lines, x: Vector) -> Vector:
    """line_k · x, line by line."""
    dense, starts, indices, values = lines  # once, not line by line
    found = np.empty(starts.shape[0] - 1)
    for k in range(found.shape[0]):
        found[k] = dot_in(dense, starts, indices, values, k, x)
    return found


@compiled
def combination(lines: Lines, amounts: Vector, size: int) -> Vector:
    """Σ_k amounts_k line_k."""
    dense, starts, indices, values = lines
    total = np.zeros(size)
    for k in range(amounts.shape[0]):
        if amounts[k] != 0.0:
            add_in(dense, starts, indices, values, k, amounts[k], total)
    return total


@compiled
def curved(lines: Lines, h: Vector, x: Vector, shift: float) -> tuple[Vector, float]:
    """Σ_k t_k line_k and Σ_k t_k for t_k = h_k (line_k · x + shift), of sparse lines, each read once."""
    starts, indices, values = lines.starts, lines.indices, lines.values
    pull, total = np.zeros(x.shape[0]), 0.0
    for k in range(h.shape[0]):
        first, last = starts[k], starts[k + 1]
        where, line = indices[first:last], values[first:last]
        t = h[k] * (_sparse_dot(where, line, x) + shift)
        _add_sparse(where, line, t, pull)
        total += t
    return pull, total


@compiled(inner=True)
def draw(state: NDArray[np.int64], below: int) -> int:
    """A pseudo-random integer in [0, below), from a generator whose whole state is one number."""
    state[0] = (state[0] * 1103515245 + 12345) & 0x7FFFFFFF
    return int((state[0] * below) >> 31)


@compiled(inner=True)
def shuffle(order: NDArray[np.int64], active: int, random: NDArray[np.int64]) -> None:
    """The first `active` entries in random order."""
    for b in range(active):
        other = b + draw(random, active - b)
        order[b], order[other] = order[other], order[b]


@compiled(inner=True)
def without(index: NDArray[np.int64], drop: NDArray[np.bool_], active: int) -> int:
    """Remove the marked places among the first `active` ones, keeping the order; how many are left."""
    kept = 0
    for s in range(active):
        if drop[s]:
            drop[s] = False
        else:
            index[kept] = index[s]
            kept += 1
    return kept
