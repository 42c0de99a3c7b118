"""One problem with one vector of weights: state it, solve it, tell it."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

from dualgap.arrays import Vector
from dualgap.drive.limits import Limits
from dualgap.drive.registry import as_given, at_once, candidates
from dualgap.drive.run import Outcome, drive, drive_asked
from dualgap.drive.solver import Solver
from dualgap.fitting.feasibility import refuse_unmet
from dualgap.fitting.options import read_iterate
from dualgap.fitting.reading import Reading
from dualgap.fitting.separation import refuse_unattained, watched
from dualgap.fitting.solution import Solution
from dualgap.fitting.telling import told
from dualgap.problem.precondition import unchanged
from dualgap.problem.problem import Problem
from dualgap.problem.repeated import reduced
from dualgap.problem.zeros import with_zeros


def fit_one(
    reading: Reading,
    targets: Vector,
    solver: str | Solver,
    limits: Limits,
    warm_start: Any = None,
    stated: tuple[Problem, Solver] | None = None,
) -> Solution:
    """One problem with one vector of weights; perhaps `stated` already, with what has its answer."""
    began = time.perf_counter()
    if stated is not None:
        problem, ahead = stated
        outcome = drive_asked(problem, ahead, lambda working: candidates(working.problem, solver), limits)
        return _told(reading, problem, outcome, limits, began)
    problem = reading.terms.problem(reading.table.design, targets)
    if not problem.convex:
        from dualgap.fitting.searched import fit_searched

        return fit_searched(reading, problem, solver, limits, warm_start)
    first = at_once(problem.unshifted) if solver == "auto" and warm_start is None else None
    if first is not None:
        outcome = drive_asked(problem, first, lambda working: candidates(working.problem, solver), limits)
        return _told(reading, problem, outcome, limits, began)
    given = as_given(solver)
    working = unchanged(problem, as_given=True) if given else reduced(problem)
    start = read_iterate(warm_start, working, reading.terms)
    outcome = drive(
        working, lambda: watched(candidates(working.problem, solver), working, reading), start, limits
    )
    refuse_unattained(working, outcome.bounds, reading)
    refuse_unmet(reading.terms, outcome.bounds)
    return _told(reading, problem, outcome, limits, began, given=given)


def _told(
    reading: Reading, problem: Problem, outcome: Outcome, limits: Limits, began: float, *, given: bool = False
) -> Solution:
    exact = given or getattr(outcome.ran, "exact_zeros", False)
    found = outcome.bounds if exact else with_zeros(problem, outcome.bounds, limits.tolerance)
    if found is not outcome.bounds:
        outcome = replace(outcome, bounds=found)
    return told(reading, problem, outcome, limits.tolerance, seconds=time.perf_counter() - began)
