"""A quadratic −2cᵀw + wᵀHw on the columns to choose from, with those that are always in solved for."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dualgap.arrays import Matrix, Vector
from dualgap.compiled.mechanism import compiled

Whole = NDArray[np.int64]


@compiled
def folded(
    full: Matrix, pulled: Vector, columns: Whole, free: Whole, cross: Matrix
) -> tuple[Matrix, Vector, Vector, Vector, float]:
    """Unit columns: their correlations, c, their lengths, the shares of their
    squares that are left beside those always in, and the largest correlation.

    `cross` is H[columns, free] H[free, free]⁻¹. A column whose square is not positive keeps its unit.
    """
    size, count = columns.shape[0], free.shape[0]
    gram, linear, length, left = np.empty((size, size)), np.empty(size), np.ones(size), np.zeros(size)
    for i in range(size):
        row = full[columns[i]]
        mine = gram[i]
        for j in range(i + 1):
            mine[j] = row[columns[j]]
        linear[i] = pulled[columns[i]]
        for f in range(count):
            share, other = cross[i, f], full[free[f]]
            linear[i] -= share * pulled[free[f]]
            if share != 0.0:
                for j in range(i + 1):
                    mine[j] -= share * other[columns[j]]
        if mine[i] > 0.0:
            length[i], left[i] = np.sqrt(mine[i]), mine[i] / row[columns[i]]
    largest = 0.0
    for i in range(size):
        linear[i] /= length[i]
        gram[i, i] = 1.0
        for j in range(i):
            value = gram[i, j] / (length[i] * length[j])
            gram[i, j] = value
            gram[j, i] = value
            largest = max(largest, abs(value))
    return gram, linear, length, left, largest
