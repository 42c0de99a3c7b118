"""A quadratic loss on a problem as it was asked: XᵀHX, centred by a correction of rank one, z = Xw + b, θ."""

from __future__ import annotations

from contextlib import nullcontext

import numpy as np

from dualgap.arrays import Matrix, Vector
from dualgap.drive.solver import Iterate
from dualgap.problem.problem import Problem

CENTRED = 1e-6  # share of a column's square that is left once it is centred: six digits are lost, ten remain
ROUGH = 1e-2  # the same of a matrix in 4-byte numbers
ROWS = 32  # of the matrix that are centred at once
SINGLE = 1e8  # operations from which on these are worth it: their matrix is a step that true residuals mend


def large(problem: Problem) -> bool:
    """Does the matrix take much longer than the products with X that mend one in 4-byte numbers?"""
    n, p = problem.design.features.shape
    return float(n) * p * p > SINGLE


class CentredGram:
    """XᵀHX over centred columns, and what it was centred by; `single`: of products in 4-byte numbers.

    `pulls` is θX over centred columns for every row of `thetas`, made in one product with the centre.
    """

    def __init__(self, problem: Problem, thetas: Matrix | None = None, *, single: bool = False) -> None:
        self.design = problem.design.features
        h = problem.a * problem.loss.second_derivative(problem.y, problem.y)
        self.p, self.total = self.design.shape[1], float(h.sum())
        # of 4-byte numbers: not firm, then
        with np.errstate(over="ignore", invalid="ignore") if single else nullcontext():
            self.matrix, self.centre = self.design.weighted_gram(h, single=single), np.zeros(self.p)
            square = self.matrix.diagonal().copy()
            self.pulls = self._along(thetas, h, centred=problem.intercept)
            if problem.intercept:
                pull = self.total * self.centre
                for i in range(0, self.p, ROWS):  # all at once took as long as the product itself
                    self.matrix[i : i + ROWS] -= pull[i : i + ROWS, None] * self.centre
        # else columns far from zero
        self.firm = bool((self.matrix.diagonal() > (ROUGH if single else CENTRED) * square).all())

    def _along(self, thetas: Matrix | None, h: Vector, *, centred: bool) -> Matrix:
        """θX over centred columns; the centre is known then."""
        if thetas is None:
            if centred:
                self.centre = self.design.transpose_matvec(h) / self.total
            return np.zeros((0, self.p))
        if not centred:
            return self.design.transpose_matvecs(thetas)
        found = self.design.transpose_matvecs(np.vstack([thetas, h]))
        self.centre = found[-1] / self.total
        pulls: Matrix = found[:-1] - np.outer(thetas.sum(axis=1), self.centre)
        return pulls


class OneGram(CentredGram):
    """Weights that move, and all that the loss has to say of them."""

    def __init__(self, problem: Problem, start: Iterate, *, single: bool = False) -> None:
        super().__init__(problem, single=single)
        self.problem = problem
        self.w, self.z = start.w.copy(), problem.predict(start.w)
        self.settle()

    def settle(self) -> None:
        """θ is the slope at z."""
        self.theta = self.problem.slope(self.z)
        self.level = float(self.theta.sum()) if self.problem.intercept else 0.0

    @property
    def residual(self) -> Vector:
        """By how much the loss falls along each centred column."""
        return self.design.transpose_matvec(self.theta) - self.level * self.centre

    def move(self, w: Vector) -> None:
        """To these weights of the columns, with the best intercept there; a proof asks for Xw, too."""
        step = w - self.w[: self.p]
        self.w[: self.p] = w
        self.z = self.problem.rows.times_ahead(w[None, :])[0]
        if self.problem.intercept:
            self.w[self.p] += self.level / self.total - float(self.centre @ step)
            self.z = self.z + self.w[self.p]
        self.settle()

    def for_proof(self, unit: float = 1.0) -> Vector:
        """The residual at θ over a unit, as a proof will have it; the product is kept for that."""
        problem = self.problem
        self.theta = problem.levelled(self.theta / unit if unit > 1.0 else self.theta, ahead=True)
        self.level = 0.0
        found: Vector = problem.rows.foreseen(self.theta)
        return found

    def proves(self, residual: Vector, wanted: float) -> bool:
        """Is the relative gap with these Xᵀθ so small, but for rounding?"""
        problem, w = self.problem, self.w
        v = problem.spread(residual)
        primal = problem.risk(self.z) + problem.regulariser.value(w)
        gap = primal - problem.dual_near(self.theta, v, (w, self.z, primal))
        return problem.relative(gap, primal) <= wanted

    def beyond(self, residual: Vector) -> float:
        """By what share of a price these Xᵀθ exceed it, where nothing else holds the weight."""
        v = self.problem.spread(residual)
        return self.problem.regulariser.bracket(self.w, v, np.zeros_like(v)).excess
