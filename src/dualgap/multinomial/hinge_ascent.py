"""The joint hinge under a ridge, without an intercept: one row's shares of the classes at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dualgap.drive.registry import solver
from dualgap.drive.solver import Iterate
from dualgap.multinomial.hinge import JointHingeProblem
from dualgap.solvers.prices import lacks_squares, plain, prices

PASSES, WORK = 2000.0, 2e8  # over all rows, or numbers read; where these do not do, Newton takes over
AGAIN = 50  # passes over rows that moved, between two over all
LESS = 0.03  # of the gap that is enough for the next pass over all
SURE = 1.0  # times the gap wanted before the last passes over what moved, a proof is tried


@solver("joint_hinge_ascent", kind="joint hinge")
@dataclass(frozen=True)
class JointHingeAscent:
    """The sequential dual method of Keerthi et al. (2008): each row in turn, exactly, in random order.

    Cost per pass: one of Xw and one of Xᵀθ for the rows whose shares may move. Memory: a copy of X by rows.
    """

    name: ClassVar[str] = "joint_hinge_ascent"

    def missing(self, problem: JointHingeProblem) -> tuple[str, ...]:
        lacking = list(lacks_squares(problem))
        if problem.free.any():
            lacking.append("the intercept or a column is free")
        if not plain(problem):
            lacking.append("the columns are sparse")
        return tuple(lacking)

    def cost(self, problem: JointHingeProblem) -> float:
        """Some hundred passes."""
        return 1000.0 * problem.n * problem.p

    def iterates(self, problem: JointHingeProblem, start: Iterate) -> Iterator[Iterate]:
        from dualgap.multinomial.hinge_passes import ascend

        ridge = prices(problem)[1]
        X = np.ascontiguousarray(problem.design.toarray(), dtype=np.float64)
        inverse = 1.0 / ridge.reshape(problem.classes, problem.width)[0]
        rows = problem.y.astype(np.int64), problem.a, np.einsum("ij,ij,j->i", X, X, inverse)
        shares, W = problem.hot.copy(), np.zeros((problem.classes, problem.width))
        order, spent = np.arange(problem.n), 0.0
        most = max(PASSES, WORK / (problem.n * problem.p))
        while spent < most:
            whole, loss, more = ascend(X, rows, shares, W, inverse, order, (AGAIN, LESS))
            spent += 1.0 + more
            near = whole <= SURE * start.wanted * (loss + 0.5 * float(ridge @ (W * W).ravel()))
            theta = problem.a[:, None] * (problem.hot - shares)
            w = problem.correlation(theta) / ridge if near else W.ravel().copy()
            yield Iterate(w, theta, certify=near, look=near)
