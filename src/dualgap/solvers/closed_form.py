"""Squared loss with a squared penalty: one linear system."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dualgap.drive.registry import solver
from dualgap.drive.solver import Iterate
from dualgap.problem.problem import Problem
from dualgap.solvers.normal_equations import ModelPoint, direct, fitted, system, work
from dualgap.solvers.prices import lacks_squares, prices
from dualgap.traits import Trait

REFINEMENTS = 8  # the second step removes the rounding of the first; more only help at bad conditioning
RESTARTS = 60  # of conjugate gradients; each leaves a thousandth of the residual, if it can


@solver("closed_form")
@dataclass(frozen=True)
class ClosedForm:
    """(XᵀAX + Λ) w = XᵀAy, factored once on the smaller side, then refined with true residuals.

    Where both sides are too large to factor, conjugate gradients, restarted from the true residual.
    Cost: one product XᵀX or XXᵀ and its Cholesky factor.
    """

    name: ClassVar[str] = "closed_form"

    def missing(self, problem: Problem) -> tuple[str, ...]:
        lacking = lacks_squares(problem)
        return lacking if problem.loss_has(Trait.QUADRATIC) else ("the loss is not quadratic", *lacking)

    def cost(self, problem: Problem) -> float:
        return work(problem.design, prices(problem)[1])

    def iterates(self, problem: Problem, start: Iterate) -> Iterator[Iterate]:
        design, ridge = problem.design, prices(problem)[1]
        curvature = problem.a * problem.loss.second_derivative(problem.y, np.zeros(problem.n))
        equations = system(design, ridge)
        factored = equations.factored(curvature)
        linear = np.zeros(problem.p)
        w, z = start.w, problem.predict(start.w)
        theta = problem.slope(z)
        correlation, left = start.correlated(problem, theta), np.inf
        for _ in range(REFINEMENTS if direct(design, ridge) else RESTARTS):
            point = ModelPoint(w, -theta, linear, -correlation)
            w = w + factored.step(point, 1e-3)
            z = design.matvec(w)
            ahead = factored.dual(point)
            if ahead is not None:
                yield fitted(problem, Iterate(w, ahead, z, correlation=ridge * w))
            theta = problem.slope(z)
            correlation = problem.correlation(theta)
            before, left = left, float(np.linalg.norm(ridge * w - correlation))
            if left > 0.1 * before and left > 0.0:
                equations.refine()
                factored = equations.factored(curvature)
            yield fitted(problem, Iterate(w, theta, z, correlation=correlation))
