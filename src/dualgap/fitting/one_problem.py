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
        outcome = _cleared(problem, outcome, limits)
        return told(reading, problem, outcome, limits.tolerance, seconds=time.perf_counter() - began)
    problem = reading.terms.problem(reading.table.design, targets)
    if not problem.convex:
        from dualgap.fitting.searched import fit_searched

        return fit_searched(reading, problem, solver, limits, warm_start)
    outcome = _solved(reading, problem, solver, limits, warm_start)
    return told(reading, problem, outcome, limits.tolerance, seconds=time.perf_counter() - began)


def solve_part(reading: Reading, targets: Vector, limits: Limits, warm_start: Any = None) -> Outcome:
    """A convex problem whose answer goes into another one, where the proof is made: nothing is claimed of it.

    Every row must count.
    """
    problem = replace(reading.terms.problem(reading.table.design, targets), part=True)
    return _solved(reading, problem, "auto", limits, warm_start)


def _solved(
    reading: Reading, problem: Problem, solver: str | Solver, limits: Limits, warm_start: Any
) -> Outcome:
    first = at_once(problem.unshifted) if solver == "auto" else None
    if first is not None:
        start = None
        if warm_start is not None:
            start = read_iterate(warm_start, unchanged(problem), reading.terms)
        outcome = drive_asked(
            problem, first, lambda working: candidates(working.problem, solver), limits, start
        )
        return _cleared(problem, outcome, limits)
    given = as_given(solver)
    working = unchanged(problem, as_given=True) if given else reduced(problem)
    start = read_iterate(warm_start, working, reading.terms)
    outcome = drive(
        working, lambda: watched(candidates(working.problem, solver), working, reading), start, limits
    )
    refuse_unattained(working, outcome.bounds, reading)
    refuse_unmet(reading.terms, problem, outcome.bounds)
    return outcome if given else _cleared(problem, outcome, limits)


def _cleared(problem: Problem, outcome: Outcome, limits: Limits) -> Outcome:
    """With zeros where θ says so."""
    if getattr(outcome.ran, "exact_zeros", False):
        return outcome
    bounds = with_zeros(problem, outcome.bounds, limits.tolerance)
    return outcome if bounds is outcome.bounds else replace(outcome, bounds=bounds)
