"""Gram matrices of compressed matrices, entry by entry of what is stored."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from dualgap.arrays import Vector
from dualgap.compiled.mechanism import compiled

TILE = 64  # lines of a square that stays in the cache while it is mirrored


@compiled
def add_products(
    starts: NDArray[Any],
    indices: NDArray[Any],
    values: Vector,
    across: tuple[NDArray[Any], NDArray[Any], Vector],
    weights: Vector,
    out: NDArray[Any],
) -> None:
    """out += A diag(weights) Aᵀ on and below the diagonal, A by rows and, as `across`, by columns.

    The indices of a line increase. One row of `out` after another, which stays in the cache: adding up the
    outer products of the columns took 2.8 times as long on 4145 × 14405 numbers, 120 of them in a column.
    """
    first, places, others = across
    for i in range(starts.shape[0] - 1):
        row = out[i]
        for a in range(starts[i], starts[i + 1]):
            k = indices[a]
            scaled = weights[k] * values[a]
            if scaled == 0.0:
                continue
            for b in range(first[k], first[k + 1]):
                place = places[b]
                if place > i:
                    break
                row[place] += scaled * others[b]


@compiled
def mirror(out: NDArray[Any]) -> None:
    """What is below the diagonal written above it too."""
    size = out.shape[0]
    for top in range(0, size, TILE):
        for left in range(0, top + 1, TILE):
            for i in range(top, min(top + TILE, size)):
                for j in range(left, min(left + TILE, i)):
                    out[j, i] = out[i, j]
