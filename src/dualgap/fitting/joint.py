"""Fit the joint problem and assemble its Solution."""

from __future__ import annotations

import time
from typing import Any

from dualgap.drive.limits import Limits
from dualgap.drive.registry import candidates
from dualgap.drive.run import run
from dualgap.drive.solver import Solver
from dualgap.fitting.joint_problem import joint_problem, joint_working
from dualgap.fitting.options import read_iterate
from dualgap.fitting.reading import Reading
from dualgap.fitting.separation import refuse_unattained, watched
from dualgap.fitting.solution import Solution
from dualgap.fitting.telling import told
from dualgap.multinomial.working import JointPursuit


def fit_multinomial(reading: Reading, solver: str | Solver, limits: Limits, warm_start: Any) -> Solution:
    """One weight vector per class, found together."""
    assert reading.classes is not None
    began = time.perf_counter()
    terms, design, classes = reading.terms, reading.table.design, len(reading.classes)
    asked = joint_problem(terms, design, reading.y, classes)
    working = joint_working(asked, terms, design, reading.y)
    start = read_iterate(warm_start, working, terms, (classes,))
    outcome = run(
        JointPursuit(working, limits.tolerance),
        lambda: watched(candidates(working.problem, solver), working, reading) if asked.p else (),
        start,
        limits,
    )
    refuse_unattained(working, outcome.bounds, reading)
    seconds = time.perf_counter() - began
    return told(reading, asked, outcome, limits.tolerance, "multinomial", seconds=seconds)
