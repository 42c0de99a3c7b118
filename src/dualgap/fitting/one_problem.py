"""One problem with one vector of weights: solve, certify, and put the answer together."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np

from dualgap.arrays import Vector
from dualgap.drive.limits import Limits, Status
from dualgap.drive.registry import as_given, candidates
from dualgap.drive.run import Outcome, drive
from dualgap.drive.solver import Iterate, Solver
from dualgap.fitting.objective import Objective
from dualgap.fitting.options import read_start
from dualgap.fitting.reading import Reading
from dualgap.fitting.separation import refuse_unattained, watched
from dualgap.fitting.solution import Solution
from dualgap.problem.as_given import unchanged
from dualgap.problem.precondition import Working
from dualgap.problem.problem import Problem
from dualgap.problem.repeated import reduced
from dualgap.problem.zeros import with_zeros
from dualgap.proof.certificate import Certificate
from dualgap.proof.claims import distance, proven_zero


def fit_one(
    reading: Reading, targets: Vector, solver: str | Solver, limits: Limits, warm_start: Any = None
) -> Solution:
    """One problem with one vector of weights."""
    began = time.perf_counter()
    problem = reading.terms.problem(reading.table.design, targets)
    problem.loss.check_targets(problem.y)
    if not problem.convex:
        from dualgap.fitting.searched import fit_searched

        return fit_searched(reading, problem, solver, limits, warm_start)
    given = as_given(solver)
    working = unchanged(problem) if given else reduced(problem)
    start = _start(working, warm_start, reading)
    outcome = drive(
        working, lambda: watched(candidates(working.problem, solver), working, reading), start, limits
    )
    refuse_unattained(working, outcome.bounds, reading)
    if not given:
        outcome = replace(outcome, bounds=with_zeros(problem, outcome.bounds, limits.tolerance))
    return assemble(reading, problem, outcome, limits.tolerance, time.perf_counter() - began)


def _start(working: Working, warm_start: Any, reading: Reading) -> Iterate | None:
    """A warm start in the solver's coordinates."""
    if warm_start is None:
        return None
    terms = reading.terms
    coef, intercept, theta = read_start(warm_start, (len(terms.scale),))
    w = np.append(coef, intercept) if terms.fit_intercept else coef
    if theta is not None and theta.shape == terms.sample_weight.shape:
        return Iterate(working.coordinates(w), working.working_theta(theta[terms.used]))
    return Iterate(working.coordinates(w))


def assemble(
    reading: Reading, problem: Problem, outcome: Outcome, tolerance: float, seconds: float
) -> Solution:
    """The public answer from the driver's outcome on the asked problem."""
    best, terms = outcome.bounds, reading.terms
    has_intercept = terms.fit_intercept
    coef = best.w[:-1] if has_intercept else best.w
    intercept = float(best.w[-1]) if has_intercept else 0.0
    theta = np.zeros(len(terms.sample_weight))
    theta[terms.used] = best.theta
    error = distance(problem, best)
    return Solution(
        coef=coef,
        intercept=intercept,
        objective=best.primal,
        bound=best.dual,
        relative_gap=problem.relative(best.gap, best.primal),
        certificate=Certificate(
            theta,
            coef,
            intercept,
            best.primal,
            best.dual,
            terms,
            reading.labels,
            box=best.box,
            tolerance=tolerance,
        ),
        converged=outcome.status is Status.CERTIFIED,
        status=outcome.sentence,
        solver=outcome.solver,
        n_iter=outcome.iterations,
        seconds=seconds,
        trace=outcome.trace,
        coef_error=error,
        coef_error_reason="" if error is not None else no_error_bar(terms),
        proven_zero=proven_zero(problem, best)[: len(coef)],
        terms=terms,
        names=reading.table.names,
        classes=reading.classes,
        facts=reading.facts(problem.null, problem),
    )


def no_error_bar(terms: Objective) -> str:
    """Why the gap says nothing of the distance to the optimum."""
    if terms.budget is not None:
        return "a constrained problem need not be strongly convex"
    return f"the penalty {terms.penalty} is not strongly convex in every weight"
