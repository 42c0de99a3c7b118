"""Some columns of a sparse matrix, copied out of it by columns and by rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dualgap.arrays import Vector
from dualgap.compiled.layout import Lines
from dualgap.compiled.mechanism import compiled

Compressed = tuple[NDArray[np.int64], NDArray[np.int32], Vector]  # starts, indices, values


@compiled
def copy_out(
    lines: Lines, which: NDArray[np.int64], scale: Vector, rows: int
) -> tuple[Compressed, Compressed]:
    """The lines `which`, each times its scale, and the same numbers line by line the other way."""
    source, indices, values = lines.starts, lines.indices, lines.values
    starts, first = np.zeros(which.shape[0] + 1, np.int64), np.zeros(rows + 1, np.int64)
    for k in range(which.shape[0]):
        starts[k + 1] = starts[k] + source[which[k] + 1] - source[which[k]]
    stored = starts[which.shape[0]]
    places, numbers = np.empty(stored, np.int32), np.empty(stored)
    for k in range(which.shape[0]):
        shift = source[which[k]] - starts[k]
        for m in range(starts[k], starts[k + 1]):
            row = np.uint32(indices[m + shift])
            places[m], numbers[m] = row, scale[k] * values[m + shift]
            first[row + 1] += 1
    for i in range(rows):
        first[i + 1] += first[i]
    free = first[:-1].copy()
    across, others = np.empty(stored, np.int32), np.empty(stored)
    for k in range(which.shape[0]):
        for m in range(starts[k], starts[k + 1]):
            row = np.uint32(places[m])
            across[free[row]], others[free[row]] = k, numbers[m]
            free[row] += 1
    return (starts, places, numbers), (first, across, others)
