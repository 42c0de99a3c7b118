"""Fit the joint problem and assemble its Solution."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from dualgap.drive.limits import Limits
from dualgap.drive.registry import candidates
from dualgap.drive.run import Outcome, drive
from dualgap.drive.solver import Iterate, Solver
from dualgap.fitting.joint_problem import joint_problem, joint_working
from dualgap.fitting.options import read_start
from dualgap.fitting.reading import Reading
from dualgap.fitting.separation import refuse_unattained, watched
from dualgap.fitting.solution import Solution
from dualgap.fitting.telling import told
from dualgap.multinomial.problem import MultinomialProblem
from dualgap.multinomial.working import JointWorking


def fit_multinomial(reading: Reading, solver: str | Solver, limits: Limits, warm_start: Any) -> Solution:
    """One weight vector per class, found together."""
    began = time.perf_counter()
    asked, working, outcome = solve(reading, solver, limits, warm_start)
    refuse_unattained(working, outcome.bounds, reading)
    seconds = time.perf_counter() - began
    return told(reading, asked, outcome, limits.tolerance, "multinomial", seconds=seconds)


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
