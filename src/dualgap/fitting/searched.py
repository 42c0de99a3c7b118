"""Problems that are not convex: what a search found as a Solution, with a certificate of its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dualgap.arrays import Vector
from dualgap.design import Design
from dualgap.discrete import DiscreteSolver, choose, pursued
from dualgap.drive.limits import Limits
from dualgap.drive.run import Outcome
from dualgap.fitting.objective import Objective
from dualgap.fitting.options import read_start
from dualgap.fitting.reading import Reading
from dualgap.fitting.solution import Solution
from dualgap.fitting.targets import read_targets
from dualgap.fitting.telling import answer, certificate, fitted_to, over_all_rows
from dualgap.problem.problem import Problem
from dualgap.proof.certificate import Certificate
from dualgap.proof.check import Checked, searched

NO_ERROR_BAR = "the problem is not convex: weights far away can be as good"


@dataclass(frozen=True, eq=False)
class SearchRun:
    """The search that proved a bound, as long as it took: it can be made again."""

    solver: DiscreteSolver
    nodes: int
    positive: int  # number of the class that counts as +1


@dataclass(frozen=True, eq=False)
class SearchTask:
    """A problem that is not convex, on the rows that count."""

    problem: Problem
    run: SearchRun
    tolerance: float

    def judged(self, w: Vector, theta: Any) -> Checked:
        """The objective by the kernel; the bound by searching again, as long as before."""
        again = pursued(self.problem, self.run.solver, w, Limits(self.tolerance, max(self.run.nodes, 1)))
        return searched(self.problem, w, again.bounds.dual, again.bounds.theta)


def search_tasks(terms: Objective, certificate: Certificate, design: Design, y: Any) -> list[SearchTask]:
    """The problem stated again, for each class that was held against the rest."""
    n, classes = design.shape[0], certificate.classes
    runs = certificate.search if isinstance(certificate.search, tuple) else (certificate.search,)
    problems = [terms.problem(design, read_targets(y, n, classes, run.positive)) for run in runs]
    return [SearchTask(*one, certificate.tolerance) for one in zip(problems, runs, strict=True)]


def fit_searched(
    reading: Reading, problem: Problem, solver: Any, limits: Limits, warm_start: Any = None
) -> Solution:
    """Search, and put the answer together."""
    start = None
    if warm_start is not None:
        coef, intercept, _ = read_start(warm_start, (len(reading.terms.scale),))
        start = np.append(coef, intercept) if reading.terms.fit_intercept else coef
    return assemble(reading, problem, pursued(problem, choose(problem, solver), start, limits), limits)


def assemble(reading: Reading, problem: Problem, outcome: Outcome, limits: Limits) -> Solution:
    """The public answer from what a search found."""
    proof = search_certificate(reading, problem, outcome, limits)
    return answer(
        reading,
        proof,
        outcome,
        relative_gap=problem.relative(proof.gap, proof.objective),
        coef_error=None,
        coef_error_reason=NO_ERROR_BAR,
        proven_zero=np.zeros(len(proof.coef), dtype=bool),
        facts=reading.facts(problem.null, problem, remark=outcome.remark),
        fitted=fitted_to(reading, problem, proof),
    )


def search_certificate(
    reading: Reading, problem: Problem, outcome: Outcome, limits: Limits, others: Vector | None = None
) -> Certificate:
    """What a search proves of its weights, or of others."""
    found, terms = outcome.bounds, reading.terms
    theta = found.theta if found.theta.any() else None  # 0 proves what needs no proof
    if others is not None:
        found = searched(problem, others, found.dual, theta)
    positive = 1
    if reading.classes is not None:
        positive = int(reading.y[terms.used][problem.y > 0][0])
    run = SearchRun(outcome.ran, outcome.iterations, positive)
    return certificate(reading, found, limits.tolerance, theta=over_all_rows(terms, theta), search=run)
