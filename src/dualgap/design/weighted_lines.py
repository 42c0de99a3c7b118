"""Σ h x xᵀ where the x lie across lines: copies of lines times √h, and what they make with each other.

Four lines by four at a time, each number loaded is used four times, in the widest registers there are.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dualgap.arrays import Matrix, Vector
from dualgap.compiled.mechanism import compiled

SIDE = 4  # lines of a tile: its 16 sums are in registers
EIGHT = 8  # rows that are turned at once: 0.46 ms for 20000 × 100, a row at a time 2 and more
PANEL = 128  # lines that stay in the cache while all the others pass by


@compiled(reassociate=True)
def fill_weighted(
    lines: Matrix, which: NDArray[np.int64], root: Vector, begin: int, out: NDArray[Any], sums: Vector
) -> None:
    """out_k = root ∘ a run of line which_k, zeros behind its end; `sums` grows by Σ root² ∘ it."""
    own = root[begin : begin + out.shape[1]]
    size = own.shape[0]
    for k in range(which.shape[0]):
        line, target = lines[which[k], begin : begin + size], out[k]
        total = 0.0
        for i in range(size):
            value = line[i] * own[i]
            target[i] = value
            total += value * own[i]
        for i in range(size, out.shape[1]):
            target[i] = 0.0
        sums[k] += total


@compiled(reassociate=True)
def fill_across(rows: Matrix, which: NDArray[np.int64], root: Vector, begin: int, out: NDArray[Any]) -> None:
    """The same of a table whose rows lie in one piece, no sums: eight numbers of a line at a time."""
    size = min(out.shape[1], rows.shape[0] - begin)
    whole = size // EIGHT * EIGHT
    for i in range(0, whole, EIGHT):
        at = begin + i
        r0, r1, r2, r3 = rows[at], rows[at + 1], rows[at + 2], rows[at + 3]
        r4, r5, r6, r7 = rows[at + 4], rows[at + 5], rows[at + 6], rows[at + 7]
        h0, h1, h2, h3 = root[at], root[at + 1], root[at + 2], root[at + 3]
        h4, h5, h6, h7 = root[at + 4], root[at + 5], root[at + 6], root[at + 7]
        for k in range(which.shape[0]):
            target, j = out[k, i : i + EIGHT], which[k]
            target[0], target[1], target[2], target[3] = h0 * r0[j], h1 * r1[j], h2 * r2[j], h3 * r3[j]
            target[4], target[5], target[6], target[7] = h4 * r4[j], h5 * r5[j], h6 * r6[j], h7 * r7[j]
    for i in range(whole, out.shape[1]):
        for k in range(which.shape[0]):
            out[k, i] = root[begin + i] * rows[begin + i, which[k]] if i < size else 0.0


@compiled
def gather_block(matrix: Matrix, places: NDArray[np.int64], out: Matrix) -> None:
    """out = matrix[places, places]."""
    for a in range(places.shape[0]):
        row, target = matrix[places[a]], out[a]
        for b in range(places.shape[0]):
            target[b] = row[places[b]]


@compiled
def subtract_square(matrix: Matrix, v: Vector, share: float) -> None:
    """matrix −= share v vᵀ, and no matrix of the latter."""
    for a in range(v.shape[0]):
        row, amount = matrix[a], share * v[a]
        for b in range(v.shape[0]):
            row[b] -= amount * v[b]


@compiled(reassociate=True, inner=True)
def _tile(lines: NDArray[Any], zero: Any, i: int, j: int, out: Matrix, row: int) -> None:
    """SIDE lines from i with as many from j."""
    p0, p1, p2, p3 = lines[i], lines[i + 1], lines[i + 2], lines[i + 3]
    q0, q1, q2, q3 = lines[j], lines[j + 1], lines[j + 2], lines[j + 3]
    a0 = a1 = a2 = a3 = b0 = b1 = b2 = b3 = c0 = c1 = c2 = c3 = d0 = d1 = d2 = d3 = zero
    for k in range(lines.shape[1]):
        a, b, c, d = p0[k], p1[k], p2[k], p3[k]
        q = q0[k]
        a0, b0, c0, d0 = a0 + a * q, b0 + b * q, c0 + c * q, d0 + d * q
        q = q1[k]
        a1, b1, c1, d1 = a1 + a * q, b1 + b * q, c1 + c * q, d1 + d * q
        q = q2[k]
        a2, b2, c2, d2 = a2 + a * q, b2 + b * q, c2 + c * q, d2 + d * q
        q = q3[k]
        a3, b3, c3, d3 = a3 + a * q, b3 + b * q, c3 + c * q, d3 + d * q
    _add(out[row], j, a0, a1, a2, a3)
    _add(out[row + 1], j, b0, b1, b2, b3)
    _add(out[row + 2], j, c0, c1, c2, c3)
    _add(out[row + 3], j, d0, d1, d2, d3)


@compiled(inner=True)
def _add(row: Vector, j: int, a: float, b: float, c: float, d: float) -> None:
    row[j] += a
    row[j + 1] += b
    row[j + 2] += c
    row[j + 3] += d


@compiled(reassociate=True, inner=True)
def _dot(lines: NDArray[Any], zero: Any, i: int, j: int) -> Any:
    p, q, total = lines[i], lines[j], zero
    for k in range(lines.shape[1]):
        total += p[k] * q[k]
    return total


@compiled
def add_products(lines: NDArray[Any], zero: Any, first: int, out: Matrix) -> None:
    """out += lines[first:] linesᵀ, up to the diagonal, and in places beyond; `zero` is one of their kind."""
    size = lines.shape[0]
    last, whole = first + (size - first) // SIDE * SIDE, size // SIDE * SIDE
    for panel in range(0, whole, PANEL):
        end = min(panel + PANEL, whole)
        for i in range(first, last, SIDE):
            for j in range(panel, min(end, i + SIDE), SIDE):
                _tile(lines, zero, i, j, out, i - first)
        for i in range(last, size):
            for j in range(panel, end):
                out[i - first, j] += _dot(lines, zero, i, j)
    for i in range(first, size):
        for j in range(whole, i + 1):
            out[i - first, j] += _dot(lines, zero, i, j)


@compiled
def mirror(out: Matrix, first: int) -> None:
    """What is beyond the diagonal, which begins in column `first`, from what is before it."""
    for i in range(out.shape[0]):
        for j in range(i):
            out[j, first + i] = out[i, first + j]
