"""A dual point with Fᵀθ = 0 to the last digit, in rationals: for corners that leave no room on any side.

Where a loss is made of straight pieces, as many entries of θ as there are columns are off their bounds, or
fewer. Those on a bound are put there exactly, as many others as there are columns are solved for exactly. If
these are within their bounds, and on a bound is within, the point is feasible as it stands.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from dualgap.arrays import Index, Matrix, Vector
from dualgap.discrete.integers import Integers, independent, whole
from dualgap.problem.problem import Problem
from dualgap.proof.exact import eliminated
from dualgap.proof.rounding import FEW

LARGEST = 4000  # entries of a table that this is tried for: hundredths of a second
NEAR = 1e-9  # of the largest room: what is nearer to its bound is put on it
MULTIPLE = 1e-14  # how far from a whole multiple of the least weight one may be


def corner(problem: Problem, table: Matrix, theta: Vector) -> Vector | None:
    """Floats next to such a point near θ, each rounded once or twice; None if none was found."""
    if table.size > LARGEST:
        return None
    shares, unit = _shares(problem.a)
    low, high = problem.loss.domain(problem.y)
    if not (np.all(np.isfinite(low)) and np.all(np.isfinite(high))):
        return None
    bounds = [(-s * Fraction(b), -s * Fraction(a)) for s, a, b in zip(shares, low, high, strict=True)]
    near = theta / (unit * (1.0 - 8.0 * FEW))
    room = np.array([min(v - float(a), float(b) - v) for v, (a, b) in zip(near, bounds, strict=True)])
    firm = room > NEAR * float(room.max(initial=0.0))
    point = [
        Fraction(v) if inside else (a if v - float(a) < float(b) - v else b)
        for v, inside, (a, b) in zip(near.tolist(), firm, bounds, strict=True)
    ]
    rows = whole(table)
    rows = rows[:, independent(rows)]
    basic = independent(rows[np.argsort(-room, kind="stable")].T)
    basic = np.argsort(-room, kind="stable")[basic]
    solved = _solved(rows, point, basic)
    if solved is None:
        return None
    for i, value in zip(basic.tolist(), solved, strict=True):
        if not bounds[i][0] <= value <= bounds[i][1]:
            return None
        point[i] = value
    return np.array([float(v) for v in point]) * (unit * (1.0 - 8.0 * FEW))


def _shares(a: Vector) -> tuple[list[Fraction], float]:
    """The weights of the rows as multiples of one number: whole ones, if they are but for rounding."""
    least = float(a.min())
    multiples = np.round(a / least)
    if np.all(np.abs(a / least - multiples) <= MULTIPLE * multiples):
        return [Fraction(int(v)) for v in multiples], least
    return [Fraction(v) for v in a.tolist()], 1.0


def _solved(rows: Integers, point: list[Fraction], basic: Index) -> list[Fraction] | None:
    """The entries of the basic rows that balance all others."""
    others = np.setdiff1d(np.arange(len(rows)), basic)
    below = int(np.lcm.reduce(np.array([point[i].denominator for i in others] + [1], dtype=object)))
    units = np.array([int(point[i] * below) for i in others], dtype=object)
    right = -(rows[others].T @ units) if len(others) else np.zeros(rows.shape[1], dtype=object)
    table = np.column_stack([rows[basic].T, right])
    pivots, solved, unit = eliminated(table)
    if pivots != list(range(len(basic))):
        return None
    return [Fraction(int(solved[k, -1]), int(unit) * below) for k in range(len(basic))]
