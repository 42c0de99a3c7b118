"""The fewest errors of any plane, in rational arithmetic: the data are the floats given."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np

from dualgap.arrays import Matrix, Vector

Row = tuple[Fraction, ...]


def separable(rows: list[Row]) -> bool:
    """Has some u all rows on its positive side? By elimination (Fourier and Motzkin), on few rows."""
    system = {_unit(row) for row in rows}
    for _ in range(len(rows[0]) if rows else 0):
        if not all(any(row) for row in system):
            return False
        up = [row for row in system if row[0] > 0]
        down = [row for row in system if row[0] < 0]
        rest = {row[1:] for row in system if row[0] == 0}
        if not up or not down:  # the first weight can be as large as it takes
            system = rest
            continue
        system = rest | {
            _unit(tuple(a / above[0] - b / below[0] for a, b in zip(above[1:], below[1:], strict=True)))
            for above, below in itertools.product(up, down)
        }
    return not system


def _unit(row: Row) -> Row:
    top = max((abs(value) for value in row), default=Fraction(0))
    return tuple(value / top for value in row) if top else row


def fewest_errors(X: Matrix, y: Vector, weights: Vector, *, intercept: bool) -> float:
    """The least share of weight whose loss leaves the other rows strictly separable."""
    cost: dict[Row, float] = {}
    for x, label, weight in zip(X, y, weights / weights.sum(), strict=True):
        row = (*(Fraction(float(value)) for value in x), *([Fraction(1)] if intercept else []))
        signed = tuple(value * int(label) for value in row)
        cost[signed] = cost.get(signed, 0.0) + float(weight)
    rows, prices = list(cost), np.array(list(cost.values()))
    masks = np.array(list(itertools.product([False, True], repeat=len(rows))))
    for lost in masks[np.argsort(masks @ prices, kind="stable")]:
        if separable([row for row, gone in zip(rows, lost, strict=True) if not gone]):
            return float(prices[lost].sum())
    raise AssertionError("losing every row always works")
