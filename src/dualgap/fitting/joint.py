"""Fit the joint problem and assemble its Solution."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from dualgap.drive.limits import Limits, Status
from dualgap.drive.registry import Verdict
from dualgap.drive.run import Outcome, drive
from dualgap.drive.solver import Iterate, Solver
from dualgap.errors import NoSolverError
from dualgap.fitting.joint_problem import joint_problem, joint_working
from dualgap.fitting.one_problem import no_error_bar
from dualgap.fitting.options import read_start
from dualgap.fitting.reading import Reading
from dualgap.fitting.separation import refuse_unattained, watched
from dualgap.fitting.solution import Solution
from dualgap.multinomial.interior import MultinomialInteriorPoint
from dualgap.multinomial.newton import MultinomialNewton
from dualgap.multinomial.problem import MultinomialProblem
from dualgap.multinomial.working import JointWorking
from dualgap.proof.certificate import Certificate
from dualgap.proof.claims import distance, proven_zero

SOLVERS: tuple[Any, ...] = (MultinomialInteriorPoint(), MultinomialNewton())


def joint_verdicts(problem: MultinomialProblem) -> tuple[Verdict, ...]:
    """Why each solver would or would not run: those that fit first, in the order they are tried."""
    found = [(one.name, one.missing(problem), one.cost(problem)) for one in SOLVERS]
    return tuple(
        Verdict(name, missing, np.inf if missing else cost, False)
        for name, missing, cost in sorted(found, key=lambda verdict: bool(verdict[1]))
    )


def candidates(problem: MultinomialProblem, asked: str | Solver) -> list[Any]:
    """The solvers to try in turn."""
    able = [one for one in SOLVERS if not one.missing(problem)]
    if asked == "auto":
        return able
    chosen = [one for one in able if one.name == asked]
    if not chosen:
        names = ", ".join(one.name for one in able)
        raise NoSolverError(
            f"solver={asked!r} does not solve the multinomial problem; these do: auto, {names}. "
            'Or ask for multiclass="one_vs_rest".'
        )
    return chosen


def fit_multinomial(reading: Reading, solver: str | Solver, limits: Limits, warm_start: Any) -> Solution:
    """One weight vector per class, found together."""
    began = time.perf_counter()
    asked, working, outcome = solve(reading, solver, limits, warm_start)
    refuse_unattained(working, outcome.bounds, reading)
    return _assemble(reading, asked, outcome, limits.tolerance, time.perf_counter() - began)


def solve(
    reading: Reading, solver: str | Solver, limits: Limits, warm_start: Any
) -> tuple[MultinomialProblem, JointWorking, Outcome]:
    """The joint problem, its good coordinates, and the best points found."""
    assert reading.classes is not None
    terms, design = reading.terms, reading.table.design
    asked = joint_problem(terms, design, reading.y, len(reading.classes))
    working = joint_working(asked, terms, design, reading.y)
    start = _start(working, warm_start, reading)
    outcome = drive(
        working, lambda: watched(candidates(working.problem, solver), working, reading), start, limits
    )
    return asked, working, outcome


def _start(working: JointWorking, warm_start: Any, reading: Reading) -> Iterate | None:
    if warm_start is None:
        return None
    terms, classes = reading.terms, working.asked.classes
    coef, intercept, theta = read_start(warm_start, (classes, len(terms.scale)))
    w = np.column_stack([coef, intercept]) if terms.fit_intercept else coef
    if theta is None or theta.shape != (len(terms.used), classes):
        return Iterate(working.coordinates(w.ravel()))
    return Iterate(working.coordinates(w.ravel()), theta[terms.used])


def _assemble(
    reading: Reading, asked: MultinomialProblem, outcome: Outcome, tolerance: float, seconds: float
) -> Solution:
    best, terms = outcome.bounds, reading.terms
    assert reading.classes is not None
    coef, intercept = split(best.w, asked)
    theta = np.zeros((len(terms.sample_weight), asked.classes))
    theta[terms.used] = best.theta
    labels, form = tuple(reading.classes.tolist()), "multinomial"
    certificate = Certificate(
        theta, coef, intercept, best.primal, best.dual, terms, labels, form, best.box, tolerance
    )
    error = distance(asked, best)
    zero = split(proven_zero(asked, best), asked)[0]
    return Solution(
        coef=coef,
        intercept=intercept,
        objective=best.primal,
        bound=best.dual,
        relative_gap=asked.relative(best.gap, best.primal),
        certificate=certificate,
        converged=outcome.status is Status.CERTIFIED,
        status=outcome.sentence,
        solver=outcome.solver,
        n_iter=outcome.iterations,
        seconds=seconds,
        trace=outcome.trace,
        coef_error=error,
        coef_error_reason="" if error is not None else no_error_bar(terms),
        proven_zero=zero,
        terms=terms,
        names=reading.table.names,
        classes=reading.classes,
        facts=reading.facts(asked.null),
        multiclass="multinomial",
    )


def split(w: Any, asked: MultinomialProblem) -> tuple[Any, Any]:
    """(coef, intercept) of the flat weights, one row per class."""
    blocks = np.asarray(w).reshape(asked.classes, asked.width)
    if asked.intercept:
        return np.ascontiguousarray(blocks[:, :-1]), blocks[:, -1].copy()
    return blocks, np.zeros(asked.classes)
