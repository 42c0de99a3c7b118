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
) -> tuple[Matrix, Vector, Vector]:
    """Unit columns: their correlations with zeros on the diagonal, c, and the squares of their lengths.

    `cross` is H[columns, free] H[free, free]⁻¹. A column whose square is not positive keeps its unit.
    """
    size, count = columns.shape[0], free.shape[0]
    gram, linear, square = np.empty((size, size)), np.empty(size), np.empty(size)
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
        square[i] = mine[i]
    unit = np.ones(size)
    for i in range(size):
        if square[i] > 0.0:
            unit[i] = 1.0 / np.sqrt(square[i])
    for i in range(size):
        linear[i] *= unit[i]
        gram[i, i] = 0.0
        for j in range(i):
            value = gram[i, j] * unit[i] * unit[j]
            gram[i, j] = value
            gram[j, i] = value
    return gram, linear, square
