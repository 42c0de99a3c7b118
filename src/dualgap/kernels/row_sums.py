"""Sums and squares of the rows of a kernel matrix that are kept."""

from __future__ import annotations

import numpy as np

from dualgap.arrays import Index, Matrix, Vector
from dualgap.compiled.mechanism import compiled


@compiled
def square_of(store: Matrix, places: Index, rows: Index) -> Matrix:
    """store[places, rows] in double precision: K among the rows of a block."""
    q = len(places)
    Q = np.empty((q, q))
    for i in range(q):
        row = store[places[i]]
        for j in range(q):
            Q[i, j] = row[rows[j]]
    return Q


@compiled(reassociate=True)
def add_rows(store: Matrix, places: Index, coef: Vector, total: Vector) -> None:
    """total += coef · store[places, :] without copying rows; four at a time save passes over `total`."""
    n, last = len(total), len(places) - len(places) % 4
    for k in range(0, last, 4):
        one, two = store[places[k]], store[places[k + 1]]
        three, four = store[places[k + 2]], store[places[k + 3]]
        a, b, c, d = coef[k], coef[k + 1], coef[k + 2], coef[k + 3]
        for t in range(n):
            total[t] += a * one[t] + b * two[t] + c * three[t] + d * four[t]
    for k in range(last, len(places)):
        row, weight = store[places[k]], coef[k]
        for t in range(n):
            total[t] += weight * row[t]
