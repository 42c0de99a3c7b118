"""Squared losses with an l1 part over few columns: their whole matrix at once, and no copy of the table."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dualgap.arrays import Vector
from dualgap.drive.solver import Iterate
from dualgap.problem.problem import Problem
from dualgap.solvers.lasso.model_matrix import ModelMatrix
from dualgap.solvers.one_gram import OneGram
from dualgap.solvers.prices import prices

# Products, and columns, up to which the matrix of all takes less time than to look for those that count: from
# 200 × 20 to 3000 × 50 and 50,000 × 20 two thirds, at strengths from a half to 1/200 of the largest.
CHEAP, NARROW = 1e7, 32
SQUARE, WIDE = 2e6, 128  # products where columns are more than so many: the matrix itself takes time then
ATTEMPTS = 3  # from true residuals; the first nearly always suffices
SHARE = 0.3  # of the relative gap wanted: violations in prices cost no larger share of the objective
SLIGHTLY = 1e-9  # prices exceeded by a smaller share are charged, and the product is kept
INSIDE = 1.0 - 1e-13  # a scaled dual point is put this much inside, so that recomputed norms stay below


def cheap(n: int, p: int) -> bool:
    """Are so few columns best taken all at once?"""
    return p <= NARROW or float(n) * p * p <= (CHEAP if p <= WIDE else SQUARE)


def all_columns(problem: Problem, start: Iterate) -> Iterator[Iterate]:
    """Coordinate descent with all of XᵀHX at hand; nothing where columns lie far from zero."""
    point = OneGram(problem, start)
    if not point.firm:
        return
    p = point.p
    price, ridge = (each[:p] for each in prices(problem))
    curved = bool(ridge.any())
    if curved:
        point.matrix.flat[:: p + 1] += ridge
    model = ModelMatrix(point.matrix)
    for _ in range(ATTEMPTS):
        w = point.w[:p].copy()
        residual = point.residual - ridge * w
        model.solve(w, residual, price, max(SHARE * start.wanted, 1e-13))
        point.move(w)
        unit = 1.0 if curved else _beyond(residual, price) / INSIDE
        beyond = _beyond(point.for_proof(unit), price)
        inside = curved or beyond <= 1.0 + SLIGHTLY
        yield Iterate(
            point.w.copy(), point.theta if inside else point.theta * (INSIDE / beyond), point.z, outright=True
        )
        point.settle()


def _beyond(residual: Vector, price: Vector) -> float:
    """The largest of these in prices."""
    return float((np.abs(residual) / price).max())
