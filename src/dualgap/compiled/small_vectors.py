"""What NumPy says in a word, as loops: its own words are compiled in ten times the time, messages and all."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dualgap.arrays import Vector
from dualgap.compiled.mechanism import compiled

# a plain 0 or −1 is a type of its own, and what it is handed to compiled once more for it
ZERO: Any = np.int64(0)
NONE: Any = np.int64(-1)
RUN = 12  # lengths below which insertion is faster than merging


@compiled(inner=True)
def copy(values: NDArray[Any], out: NDArray[Any]) -> None:
    """`out` becomes equal to `values`."""
    for k in range(values.shape[0]):
        out[k] = values[k]


@compiled(inner=True)
def fill(out: Vector, first: int, stop: int, value: float) -> None:
    """out[first:stop] = value."""
    for k in range(first, stop):
        out[k] = value


@compiled(inner=True)
def dot(left: Vector, right: Vector) -> float:
    """left · right."""
    total = 0.0
    for k in range(left.shape[0]):
        total += left[k] * right[k]
    return total


@compiled(inner=True)
def is_zero(row: Vector) -> bool:
    """Is every entry zero?"""
    k = 0
    while k < row.shape[0] and row[k] == 0.0:
        k += 1
    return k == row.shape[0]


@compiled(inner=True, allocates=True)
def rising(values: Vector) -> NDArray[np.int64]:
    """The places of the values, the smallest first; equal ones stay in order."""
    size = values.shape[0]
    order, other = np.empty(size, np.int64), np.empty(size, np.int64)
    for start in range(0, size, RUN):
        for i in range(start, min(start + RUN, size)):
            at = i
            while at > start and values[order[at - 1]] > values[i]:
                order[at] = order[at - 1]
                at -= 1
            order[at] = i
    width = RUN
    while width < size:
        for start in range(0, size, 2 * width):
            middle, stop = min(start + width, size), min(start + 2 * width, size)
            a, b = start, middle
            for to in range(start, stop):
                if b == stop or (a < middle and values[order[a]] <= values[order[b]]):
                    other[to] = order[a]
                    a += 1
                else:
                    other[to] = order[b]
                    b += 1
        order, other = other, order
        width *= 2
    return order
