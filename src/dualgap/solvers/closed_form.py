"""Squared loss with a squared penalty: one linear system."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from dualgap.arrays import Matrix, Vector
from dualgap.drive.registry import solver
from dualgap.drive.solver import Iterate
from dualgap.linalg.cholesky import Solve, cholesky
from dualgap.problem.problem import Problem
from dualgap.proof.rows import Rows
from dualgap.solvers.normal_equations import ModelPoint, direct, fitted, system, work
from dualgap.solvers.one_gram import CentredGram, OneGram, large
from dualgap.solvers.prices import lacks_squares, plain, prices
from dualgap.traits import Trait

LARGEST = 2000  # columns: beyond, other ways to a system may be cheaper
FIRM = 1e-8  # what is left of a column beside the others: below it "independent" may be rounding
FIRM_SINGLE = 1e-3  # the same of a matrix in 4-byte numbers, which leaves errors that true residuals mend
DOUBT = 1e-7  # share of a residual that a solve with such a matrix is taken to leave: 3e-8 was measured
REFINEMENTS = 8  # the second step removes the rounding of the first; more only help at bad conditioning
ATTEMPTS = 3  # of one system: the first nearly always suffices
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

    def at_once(self, problem: Problem) -> OneSystem | None:
        """No fewer rows than columns, dense: one Gram matrix, from the columns as they are."""
        n, p = problem.design.features.shape
        if self.missing(problem) or n < p or p > LARGEST or not plain(problem):
            return None
        return OneSystem()

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


class OneSystem:
    """The same on the problem as it was asked: XᵀAX centred by a correction of rank one, one solve, a few
    refinements. Columns that are nearly dependent or far from zero are for others.
    """

    name: ClassVar[str] = "closed_form"

    def iterates(self, problem: Problem, start: Iterate) -> Iterator[Iterate]:
        for single in (True, False) if large(problem) else (False,):
            point = OneGram(problem, start, single=single)
            ridge = prices(problem)[1][: point.p]
            solve = _firm_factor(point, ridge, single=single)
            if solve is None:
                continue
            for _ in range(ATTEMPTS):
                w = point.w[: point.p]
                point.move(w + solve(point.residual - ridge * w))
                yield fitted(problem, Iterate(point.w.copy(), point.theta, point.z, outright=True))
            start = replace(start, w=point.w)

    def side_by_side(self, problems: Sequence[Problem], rows: Rows, wanted: float) -> Sequence[Any] | None:
        """For problems that differ in their targets alone: one factor, and products of matrices.

        `rows` are those of all of them, and keep the products that a proof will ask for.
        """
        first = problems[0]
        levels = np.array([one.null_weights[-1] if one.intercept else 0.0 for one in problems])
        slopes = np.array(
            [one.slope(np.full(one.n, level)) for one, level in zip(problems, levels, strict=True)]
        )
        for single in (True, False) if large(first) else (False,):
            gram = CentredGram(first, slopes, single=single)
            ridge = prices(first)[1][: gram.p]
            solve = _firm_factor(gram, ridge, single=single)
            if solve is not None:
                break
        else:
            return None
        left, weights = gram.pulls, np.zeros_like(gram.pulls)
        for _ in range(ATTEMPTS):
            step = np.ascontiguousarray(solve(left.T).T)
            weights, levels = weights + step, levels - step @ gram.centre
            answers, risks = _answers(problems, rows, weights, levels)
            # a look at what is left takes a twentieth of all; none where many times as much would do
            if not ridge.all() or not single or _near(problems, answers, risks, DOUBT * left, wanted):
                break
            left = _products(rows, answers) - ridge * weights
            if _near(problems, answers, risks, left, wanted):
                break
        return [SolvedSystem(answer) for answer in answers]


def _answers(
    problems: Sequence[Problem], rows: Rows, weights: Matrix, levels: Vector
) -> tuple[list[Iterate], list[float]]:
    """What the weights of each predict, with its dual point and its risk; products are kept for a proof."""
    answers, risks = [], []
    for one, w, z, level in zip(problems, weights, rows.times_ahead(weights), levels, strict=True):
        z = z + level if one.intercept else z
        risks.append(one.risk(z))
        point = Iterate(np.append(w, level) if one.intercept else w, one.levelled(one.slope(z)), z)
        answers.append(replace(fitted(one, point, risks[-1]), outright=True))
    rows.against_ahead(np.array([answer.theta for answer in answers]))
    return answers, risks


def _products(rows: Rows, answers: list[Iterate]) -> Matrix:
    """Xᵀθ of each, which is kept."""
    return np.array([rows.against_roughly(one.theta)[0] for one in answers if one.theta is not None])


def _near(
    problems: Sequence[Problem], answers: list[Iterate], risks: list[float], left: Matrix, wanted: float
) -> bool:
    """Does what is left of the systems, which the dual points lose, leave the gap wanted to each?"""
    lost = 0.5 * (left * left / prices(problems[0])[1][: left.shape[1]]).sum(axis=1)
    return all(
        one.relative(float(gap), risk + one.regulariser.value(answer.w)) <= 0.5 * wanted
        for one, answer, risk, gap in zip(problems, answers, risks, lost, strict=True)
    )


def _firm_factor(gram: CentredGram, ridge: Vector, *, single: bool) -> Solve | None:
    """Of the matrix with its ridge; None where it is not known to enough digits."""
    if not gram.firm:
        return None
    gram.matrix.flat[:: gram.p + 1] += ridge
    try:
        return cholesky(gram.matrix, (0.0,), lost=FIRM_SINGLE if single else FIRM)
    except np.linalg.LinAlgError:
        return None


@dataclass(frozen=True, eq=False)
class SolvedSystem:
    """A system that was solved beside others."""

    name: ClassVar[str] = OneSystem.name
    answer: Iterate

    def iterates(self, problem: Problem, start: Iterate) -> Iterator[Iterate]:
        """That answer; should it not do, this problem alone."""
        yield self.answer
        yield from OneSystem().iterates(problem, start)
