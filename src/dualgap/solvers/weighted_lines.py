"""Copies of the lines of a table times the roots of curvatures: what curvature matrices are made of."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dualgap.arrays import Matrix, Vector
from dualgap.compiled.mechanism import compiled


@compiled(reassociate=True)
def fill_weighted(
    lines: Matrix, which: NDArray[np.int64], root: Vector, begin: int, out: NDArray[Any], sums: Vector
) -> None:
    """out_k = root ∘ a run of line which_k, as long as `out` is wide; `sums` grows by Σ root² ∘ it."""
    size = out.shape[1]
    own = root[begin : begin + size]
    for k in range(which.shape[0]):
        line, target = lines[which[k], begin : begin + size], out[k]
        total = 0.0
        for i in range(size):
            value = line[i] * own[i]
            target[i] = value
            total += value * own[i]
        sums[k] += total


@compiled
def gather_block(matrix: Matrix, places: NDArray[np.int64], out: Matrix) -> None:
    """out = matrix[places, places]."""
    for a in range(places.shape[0]):
        row, target = matrix[places[a]], out[a]
        for b in range(places.shape[0]):
            target[b] = row[places[b]]
