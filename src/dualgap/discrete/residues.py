"""Rows of integers by two primes: which vanish, and which coincide, where other rows are put to zero.

What is not zero by a prime is not zero. What is zero by both, each near 2³¹, is zero but for one chance in
10¹⁸; nothing is left to rounding.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dualgap.compiled.mechanism import compiled

Residues = NDArray[np.int64]  # primes × rows × columns, and the primes themselves in a last row


@compiled(inner=True, allocates=True)
def without(rows: Residues, chosen: NDArray[np.int64]) -> Residues:
    """The rows where those chosen are zero, each up to a factor; one column is zero for each chosen."""
    left = rows.copy()
    count, width = rows.shape[1] - 1, rows.shape[2]
    for k in range(rows.shape[0]):
        prime = rows[k, count, 0]
        for pick in chosen:
            pivot = left[k, pick].copy()
            at = 0
            while at < width and pivot[at] == 0:
                at += 1
            if at == width:
                continue
            for i in range(count):
                share = left[k, i, at]
                for j in range(width):
                    left[k, i, j] = (left[k, i, j] * pivot[at] - share * pivot[j] % prime) % prime
    return left


@compiled(inner=True)
def vanishes(rows: Residues, i: int) -> bool:
    """Is row i zero?"""
    for k in range(rows.shape[0]):
        for j in range(rows.shape[2]):
            if rows[k, i, j] != 0:
                return False
    return True


@compiled(inner=True)
def same_direction(rows: Residues, a: int, b: int) -> bool:
    """Is one of two rows a multiple of the other?"""
    count, width = rows.shape[1] - 1, rows.shape[2]
    for k in range(rows.shape[0]):
        prime = rows[k, count, 0]
        for i in range(width):
            for j in range(i):
                if (rows[k, a, i] * rows[k, b, j] - rows[k, a, j] * rows[k, b, i]) % prime != 0:
                    return False
    return True
