"""One problem with one vector of weights: state it, solve it, tell it."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np

from dualgap.arrays import Vector
from dualgap.drive.limits import Limits
from dualgap.drive.registry import as_given, candidates
from dualgap.drive.run import drive
from dualgap.drive.solver import Iterate, Solver
from dualgap.fitting.options import read_start
from dualgap.fitting.reading import Reading
from dualgap.fitting.separation import refuse_unattained, watched
from dualgap.fitting.solution import Solution
from dualgap.fitting.telling import told
from dualgap.problem.as_given import unchanged
from dualgap.problem.precondition import Working
from dualgap.problem.repeated import reduced
from dualgap.problem.zeros import with_zeros


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
    return told(reading, problem, outcome, limits.tolerance, seconds=time.perf_counter() - began)


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
