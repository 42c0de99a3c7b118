"""A quadratic loss on a problem as it was asked: XᵀHX, centred by a correction of rank one, z = Xw + b, θ."""

from __future__ import annotations

import numpy as np

from dualgap.arrays import Vector
from dualgap.drive.solver import Iterate
from dualgap.problem.problem import Problem

CENTRED = 1e-6  # share of a column's square that is left once it is centred: six digits are lost, ten remain


class CentredGram:
    """XᵀHX over centred columns, and what it was centred by."""

    def __init__(self, problem: Problem) -> None:
        self.design = problem.design.features
        h = problem.a * problem.loss.second_derivative(problem.y, problem.y)
        self.p, self.total, self.shares = self.design.shape[1], float(h.sum()), h
        self.matrix, self.centre = self.design.weighted_gram(h), np.zeros(self.p)
        square = self.matrix.diagonal().copy()
        if problem.intercept:
            self.centre = self.design.transpose_matvec(h) / self.total
            self.matrix -= (self.total * self.centre)[:, None] * self.centre
        self.firm = bool((self.matrix.diagonal() > CENTRED * square).all())  # else columns far from zero


class OneGram(CentredGram):
    """Weights that move, and all that the loss has to say of them."""

    def __init__(self, problem: Problem, start: Iterate) -> None:
        super().__init__(problem)
        self.problem = problem
        self.w, self.z = start.w.copy(), problem.predict(start.w)
        self._settle()

    def _settle(self) -> None:
        self.theta = self.problem.slope(self.z)
        self.level = float(self.theta.sum()) if self.problem.intercept else 0.0

    @property
    def residual(self) -> Vector:
        """By how much the loss falls along each centred column."""
        return self.design.transpose_matvec(self.theta) - self.level * self.centre

    @property
    def balanced(self) -> Vector:
        """θ whose sum is zero, the rest taken from the rows by their curvature: `residual` is its Xᵀθ."""
        return self.theta - (self.level / self.total) * self.shares

    def move(self, w: Vector) -> None:
        """To these weights of the columns, with the best intercept there; a proof asks for Xw, too."""
        step = w - self.w[: self.p]
        self.w[: self.p] = w
        self.z = self.problem.rows.times_ahead(w[None, :])[0]
        if self.problem.intercept:
            self.w[self.p] += self.level / self.total - float(self.centre @ step)
            self.z = self.z + self.w[self.p]
        self._settle()
