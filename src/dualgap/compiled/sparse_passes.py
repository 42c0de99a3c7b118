"""Passes over the numbers of a compressed matrix, each of them once."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dualgap.arrays import Vector
from dualgap.compiled.mechanism import compiled


@compiled
def count_indices(indices: NDArray[Any], size: int) -> NDArray[np.int64]:
    """How often each index is stored."""
    counts = np.zeros(size, dtype=np.int64)
    for m in range(indices.shape[0]):
        counts[indices[m]] += 1
    return counts


@compiled
def fill_scaled(
    indices: NDArray[Any], values: Vector, scale: Vector, copied: NDArray[Any], scaled: NDArray[Any]
) -> None:
    """copied = indices and scaled = values · scale[indices], in the types of the arrays to fill."""
    for m in range(indices.shape[0]):
        j = indices[m]
        copied[m] = j
        scaled[m] = values[m] * scale[j]


@compiled
def weighted_squares(starts: NDArray[Any], indices: NDArray[Any], values: Vector, a: Vector) -> Vector:
    """Σ a_i x_i², line by line."""
    out = np.empty(starts.shape[0] - 1)
    for k in range(out.shape[0]):
        line, where = values[starts[k] : starts[k + 1]], indices[starts[k] : starts[k + 1]]
        total = 0.0
        for m in range(line.shape[0]):
            total += a[where[m]] * line[m] * line[m]
        out[k] = total
    return out


@compiled
def squares_and_counts(
    starts: NDArray[Any], indices: NDArray[Any], values: Vector, a: Vector, size: int
) -> tuple[Vector, NDArray[np.int64]]:
    """Σ a_k x_k² over the lines k, index by index, and how often each index is stored."""
    both = np.zeros((size, 2))  # side by side: one line of the cache for both
    for k in range(a.shape[0]):
        line, where = values[starts[k] : starts[k + 1]], indices[starts[k] : starts[k + 1]]
        for m in range(line.shape[0]):
            j = where[m]
            both[j, 0] += a[k] * line[m] * line[m]
            both[j, 1] += 1.0
    return both[:, 0].copy(), both[:, 1].astype(np.int64)


@compiled
def line_marks(starts: NDArray[Any], indices: NDArray[Any], values: Vector) -> Vector:
    """A number for each line: from how many entries it has, and from its first, middle and last one."""
    marks = np.zeros(starts.shape[0] - 1)
    for k in range(marks.shape[0]):
        first, last = starts[k], starts[k + 1] - 1
        if last >= first:
            middle = first + (last - first) // 2
            marks[k] = 0.7310585 * (last - first)
            marks[k] += 1.2641766 * values[first] + 0.3971528 * indices[first]
            marks[k] += 0.5498339 * values[middle] + 0.1727354 * indices[middle]
            marks[k] += 0.8807970 * values[last] + 0.2767107 * indices[last]
    return marks


@compiled
def without_zeros(array: NDArray[Any]) -> tuple[NDArray[np.int32], NDArray[np.int32], Vector]:
    """(starts, indices, values) of a C-contiguous array: what is not zero, row by row."""
    lines, length = array.shape
    starts = np.zeros(lines + 1, dtype=np.int32)
    for k in range(lines):
        count = 0
        for m in range(length):
            count += array[k, m] != 0.0
        starts[k + 1] = starts[k] + count
    indices, values = np.empty(starts[lines] + 1, dtype=np.int32), np.empty(starts[lines] + 1)
    place = 0
    for k in range(lines):
        for m in range(length):
            indices[place], values[place] = m, array[k, m]
            place += array[k, m] != 0.0  # no branch: what is zero is written over
    return starts, indices[:place], values[:place]
