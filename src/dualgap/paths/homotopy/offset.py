"""The start of every exact path: w = 0 and the b that minimises Σ l_i(b), by bisection over the kinks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dualgap.arrays import Index
from dualgap.paths.homotopy.course import BENT_KINK, BENT_SLOPE, CURVATURE


@dataclass(frozen=True, eq=False)
class Offset:
    """b, the piece of every row there, and the row that sits on a kink (−1: none)."""

    value: float
    piece: Index
    kinked: int


def best_offset(pieces: NDArray[np.float64]) -> Offset | None:
    """None where the derivative is zero on a whole interval: a loss that is nothing there."""
    kink, slope, curvature = pieces[BENT_KINK, :, 1:-1], pieces[BENT_SLOPE], pieces[CURVATURE]
    each = np.arange(len(kink))

    def derivative(b: float, right: bool) -> float:
        piece = _pieces_at(kink, b, right)
        return float((curvature[each, piece] * b + slope[each, piece]).sum())

    edges = np.sort(kink[np.isfinite(kink)])
    low, high = 0, len(edges)  # the first edge with a derivative of at least zero to its right
    while low < high:
        middle = (low + high) // 2
        if derivative(float(edges[middle]), True) >= 0.0:
            high = middle
        else:
            low = middle + 1
    if low < len(edges) and not curvature.any() and derivative(float(edges[low]), False) <= 0.0:
        return _on_edge(kink, float(edges[low]))
    inside = _between(edges, low)
    piece = _pieces_at(kink, inside, True)
    bend = float(curvature[each, piece].sum())
    if bend <= 0.0:
        return None
    return Offset(-float(slope[each, piece].sum()) / bend, piece, -1)


def _pieces_at(kink: NDArray[np.float64], b: float, right: bool) -> Index:
    return np.asarray((kink <= b).sum(axis=1) if right else (kink < b).sum(axis=1))


def _on_edge(kink: NDArray[np.float64], b: float) -> Offset:
    piece = _pieces_at(kink, b, True)
    row, at = np.argwhere(kink == b)[0]
    piece[row] = at + 1  # while kinked, the number of the kink
    return Offset(b, piece, int(row))


def _between(edges: NDArray[np.float64], k: int) -> float:
    """A point between edge k − 1 and edge k."""
    if not len(edges):
        return 0.0
    if k == 0:
        return float(edges[0]) - 1.0
    if k == len(edges):
        return float(edges[-1]) + 1.0
    return 0.5 * float(edges[k - 1] + edges[k])
