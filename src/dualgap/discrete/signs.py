"""The zero_one loss as a choice of sides: distinct rows, what each side costs, and planes between them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import nnls

from dualgap.arrays import Index, Matrix, Vector
from dualgap.discrete.as_is import as_is
from dualgap.losses import Logistic, SquaredHinge
from dualgap.penalties import Penalised
from dualgap.penalties.forms import unregularised
from dualgap.penalties.separable import Separable
from dualgap.problem.precondition import Working, precondition
from dualgap.problem.problem import Problem
from dualgap.solvers.base import Iterate
from dualgap.solvers.drive import Limits, drive
from dualgap.solvers.newton import Newton

SEPARATED = 1e-9  # residual, rows of length one, above which the rows kept lie strictly on their sides


@dataclass(frozen=True, eq=False)
class Signs:
    """Distinct rows of length one; `minus` is paid where rows·u > 0, `plus` where it is below, both at 0."""

    working: Working
    rows: Matrix
    plus: Vector
    minus: Vector
    lost: float  # weight of rows that are zero, hence wrong whatever u is

    @property
    def dimension(self) -> int:
        """Of u: the rank of the columns, with the intercept."""
        return int(self.rows.shape[1])

    def cost(self, u: Vector) -> float:
        """The weight of the errors."""
        side = self.rows @ u
        wrong = np.where(side <= 0.0, self.plus, 0.0) + np.where(side >= 0.0, self.minus, 0.0)
        return self.lost + float(wrong.sum())

    def weights(self, u: Vector) -> Vector:
        """u in the coordinates of the problem."""
        return self.working.weights(u)

    def clear(self, u: Vector) -> Vector:
        """The same sides with more room: the plane farthest from the rows that u puts right."""
        signed, _ = self.signed()
        kept = signed[signed @ u > 0.0]
        better = separator(kept)[0] if len(kept) else None
        return u if better is None or self.cost(better) > self.cost(u) else better

    def signed(self) -> tuple[Matrix, Vector]:
        """Rows that u should have on its positive side, one per distinct row and label, and their weights."""
        plus, minus = self.plus > 0.0, self.minus > 0.0
        rows = np.vstack([self.rows[plus], -self.rows[minus]])
        return rows, np.concatenate([self.plus[plus], self.minus[minus]])


def signs(problem: Problem) -> Signs:
    """Merge equal rows, take out dependent columns, scale each row to length one."""
    plain = Problem(
        problem.design, problem.y, problem.a, problem.loss, unregularised(problem.p), problem.intercept
    )
    working = precondition(plain)
    rows = working.problem.design.toarray()
    _, first, which = np.unique(problem.design.toarray(), axis=0, return_index=True, return_inverse=True)
    which = which.ravel()
    plus = np.bincount(which, np.where(problem.y > 0, problem.a, 0.0), len(first))
    minus = np.bincount(which, np.where(problem.y > 0, 0.0, problem.a), len(first))
    rows = rows[first]
    length = np.sqrt((rows * rows).sum(axis=1))
    live = length > 1e-12 * length.max(initial=1e-300)
    lost = float(plus[~live].sum() + minus[~live].sum())
    rows = np.ascontiguousarray(rows[live] / length[live, None])
    return Signs(working, rows, plus[live], minus[live], lost)


def separator(signed: Matrix) -> tuple[Vector | None, Index]:
    """u with signed·u > 0 in every row, or the rows of an infeasible subset, at most one more than columns.

    Nearest point of the convex hull of the rows to zero, by non-negative least squares: if it is not zero it
    is such a u (Farkas), and if it is, the rows that carry it cannot all be right.
    """
    n, q = signed.shape
    target = np.append(np.zeros(q), 1.0)
    table = np.vstack([signed.T, np.ones(n)])
    carried, residual = nnls(table, target, maxiter=50 * max(n, 10))
    if residual > SEPARATED:
        u = -(target - table @ carried)[:q]
        if np.all(signed @ u > 0.0):
            return u, np.zeros(0, dtype=np.intp)
    return None, np.flatnonzero(carried > 1e-12)


def packing(signs: Signs) -> float:
    """Disjoint infeasible subsets, the cheapest row of each: a bound that costs little."""
    rows, weights = signs.signed()
    left = np.arange(len(rows))
    total = 0.0
    while len(left):
        u, stuck = separator(rows[left])
        if u is not None or not len(stuck):
            break
        total += float(weights[left[stuck]].min())
        left = np.delete(left, stuck)
    return total


def surrogates(signs: Signs) -> list[Vector]:
    """Convex fits to start from: logistic and squared hinge, each barely and more firmly penalised."""
    inner = signs.working.problem
    square = np.ones(inner.p)
    if inner.intercept:
        square[-1] = 0.0
    ridge = Separable(np.zeros(inner.p), square)
    starts = [inner.null_weights]
    for loss in (Logistic(), SquaredHinge()):
        for strength in (1e-4, 1e-2):
            part = Problem(inner.design, inner.y, inner.a, loss, Penalised(ridge, strength), inner.intercept)
            outcome = drive(as_is(part), lambda: [Newton()], Iterate(part.null_weights), Limits(1e-3, 50))
            starts.append(outcome.bounds.w)
    return starts
