"""Squared losses with few columns in a box: their whole matrix at once, and no copy of the table."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import ClassVar

import numpy as np

from dualgap.arrays import Vector
from dualgap.drive.solver import Iterate
from dualgap.penalties.weight_bounds import WeightBounds
from dualgap.problem.dual_point import MARGIN
from dualgap.problem.problem import Problem
from dualgap.proof.check import MANY
from dualgap.proof.rounding import gamma
from dualgap.proof.rows import BLOCK, length
from dualgap.solvers.bounded.box_quadratic import EXACT, solve_in_box
from dualgap.solvers.one_gram import OneGram, large
from dualgap.solvers.prices import prices

ATTEMPTS = 3  # from true residuals, and at a model: the first nearly always suffices
SURE = 0.5  # of the gap wanted: what it is reckoned to be when a proof is asked for
SLIGHTLY = 1e-8  # share of a price by which slopes may exceed it: proofs take that for rounding
SAFE = 3.0  # times what a product of a proof may be off by: θ is known to fewer roundings


class WholeBox:
    """XᵀHX of the problem as it was asked, the ends by an active set, then true residuals."""

    name: ClassVar[str] = "box_newton"

    def iterates(self, problem: Problem, start: Iterate) -> Iterator[Iterate]:
        """Nothing where columns lie far from zero.

        A column that a single end holds must not pull away from it: θ is wanted a little on the right side,
        where no rounding of x·θ can tell otherwise.
        """
        box = problem.regulariser.box
        assert box is not None
        p = problem.design.features.shape[1]
        if bool(((box.low[:p] > 0.0) | (box.high[:p] < 0.0)).any()):
            return
        for single in (True, False) if large(problem) else (False,):
            point = OneGram(problem, start, single=single)
            if point.firm:
                yield from _attempts(point, box, start.wanted, last=not single)
                start = replace(start, w=point.w)


def _attempts(point: OneGram, box: WeightBounds, wanted: float, *, last: bool) -> Iterator[Iterate]:
    """Those that seem to prove it; the last of all in any case."""
    problem, p = point.problem, point.p
    low, high = box.low[:p], box.high[:p]
    price, ridge = (each[:p] for each in prices(problem))
    outwards = np.where(np.isinf(high), 1.0, -1.0) * ((np.isinf(low) != np.isinf(high)) & (ridge == 0.0))
    pull = point.residual
    for k in range(ATTEMPTS):
        w = point.w[:p].copy()
        residual = pull - outwards * _hidden(problem, point.theta)
        left = EXACT * (float(np.abs(residual).max()) + float(price.max()))
        for _ in range(ATTEMPTS):
            if solve_in_box(point.matrix, w, residual, (price, ridge), (low, high)) <= left:
                break
        point.move(w)
        pull = point.for_proof()
        sure = point.proves(pull, SURE * wanted) and point.beyond(pull) <= SLIGHTLY
        if sure or (last and k == ATTEMPTS - 1):
            yield Iterate(point.w.copy(), point.theta, point.z, outright=True)


def _hidden(problem: Problem, theta: Vector) -> Vector | float:
    """More than rounding may hide of x_j·θ: of small tables by the largest number of each column."""
    rows = problem.rows
    if rows.stored < MANY:
        return np.asarray(4.0 * MARGIN * rows.tops * float(np.abs(theta).sum()))
    return float(SAFE * gamma(BLOCK + rows.n // BLOCK) * rows.size * length(theta))
