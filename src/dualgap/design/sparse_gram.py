"""Gram matrices of compressed matrices, line by line."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from dualgap.arrays import Matrix, Vector
from dualgap.compiled.mechanism import compiled


@compiled
def add_outer_products(
    starts: NDArray[Any], indices: NDArray[Any], values: Vector, weights: Vector, out: Matrix
) -> None:
    """out += Σ_k weights_k line_k line_kᵀ; the indices of a line increase."""
    for k in range(starts.shape[0] - 1):
        if weights[k] == 0.0:
            continue
        first, last = starts[k], starts[k + 1]
        for a in range(first, last):
            scaled = weights[k] * values[a]
            row = out[indices[a]]
            for b in range(first, a + 1):
                row[indices[b]] += scaled * values[b]
    for i in range(out.shape[0]):
        for j in range(i):
            out[j, i] = out[i, j]
