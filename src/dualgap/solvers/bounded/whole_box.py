"""Squared losses with few columns in a box: their whole matrix at once, and no copy of the table."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import numpy as np

from dualgap.drive.solver import Iterate
from dualgap.problem.dual_point import MARGIN
from dualgap.problem.problem import Problem
from dualgap.solvers.bounded.box_quadratic import solve_in_box
from dualgap.solvers.one_gram import OneGram
from dualgap.solvers.prices import prices

ATTEMPTS = 3  # from true residuals; the second nearly always suffices


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
        point = OneGram(problem, start)
        p = point.p
        low, high, ends = box.low[:p], box.high[:p], (box.low[:p], box.high[:p])
        if not point.firm or bool(((low > 0.0) | (high < 0.0)).any()):
            return
        price, ridge = (each[:p] for each in prices(problem))
        outwards = np.where(np.isinf(high), 1.0, -1.0) * ((np.isinf(low) != np.isinf(high)) & (ridge == 0.0))
        outwards *= 4.0 * MARGIN * problem.rows.tops
        for k in range(ATTEMPTS):
            w = point.w[:p].copy()
            residual = point.residual - outwards * float(np.abs(point.theta).sum())
            solve_in_box(point.matrix, w, residual, (price, ridge), ends)
            point.move(w)
            if k:
                yield Iterate(point.w.copy(), point.theta, point.z, outright=True)
