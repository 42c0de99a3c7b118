"""Fit the joint problem and assemble its Solution."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np

from dualgap.drive.limits import Limits
from dualgap.drive.registry import candidates
from dualgap.drive.run import run
from dualgap.drive.solver import Iterate, Solver
from dualgap.fitting.joint_problem import joint_family
from dualgap.fitting.options import read_iterate
from dualgap.fitting.reading import Reading
from dualgap.fitting.separation import refuse_unattained, watched
from dualgap.fitting.solution import Solution
from dualgap.fitting.telling import told
from dualgap.multinomial.working import JointPursuit, JointWorking


def fit_multinomial(reading: Reading, solver: str | Solver, limits: Limits, warm_start: Any) -> Solution:
    """One weight vector per class, found together."""
    began = time.perf_counter()
    working = joint_family(reading).working
    start = read_iterate(warm_start, working, reading.terms, (working.asked.classes,))
    return _solved(reading, working, solver, limits, start, began)


class JointFits:
    """Fits of the same data at one strength after another, each started where the last two point to."""

    def __init__(self, reading: Reading, solver: str | Solver, limits: Limits) -> None:
        self._family, self._solver, self._limits = joint_family(reading), solver, limits
        self._before: list[tuple[float, Any]] = []  # the last two λ, and the weights there

    def fit(self, lam: float | None, budget: float | None, start: Solution | None = None) -> Solution:
        """At a strength, or under a budget; started from a Solution, or else from the fits before."""
        began = time.perf_counter()
        reading, working = self._family.at(lam, budget)
        if start is not None:
            first = read_iterate(start, working, reading.terms, (working.asked.classes,))
        else:
            first = self._secant(lam)
        found = _solved(reading, working, self._solver, self._limits, first, began)
        self._family = replace(self._family, working=working)  # which knows by now what is known of the data
        strength = budget if lam is None else lam
        assert strength is not None
        w = np.column_stack([found.coef, found.intercept]) if reading.terms.fit_intercept else found.coef
        self._before = [*self._before[-1:], (strength, working.coordinates(w.ravel()))]
        return found

    def _secant(self, lam: float | None) -> Iterate | None:
        """Along the line through the last two points in the logarithm of λ, no weight beyond zero."""
        if not self._before:
            return None
        first, second = self._before[0], self._before[-1]
        if lam is None or not 0.0 < lam < second[0] < first[0]:
            return Iterate(second[1])
        share = np.log(lam / second[0]) / np.log(second[0] / first[0])
        ahead = second[1] + min(share, 1.0) * (second[1] - first[1])
        free = self._family.working.problem.free
        return Iterate(np.where((ahead * second[1] > 0.0) | free, ahead, 0.0))


def _solved(
    reading: Reading,
    working: JointWorking,
    solver: str | Solver,
    limits: Limits,
    start: Iterate | None,
    began: float,
) -> Solution:
    outcome = run(
        JointPursuit(working, limits.tolerance),
        lambda: watched(candidates(working.problem, solver), working, reading) if working.problem.p else (),
        start,
        limits,
    )
    refuse_unattained(working, outcome.bounds, reading)
    seconds = time.perf_counter() - began
    return told(reading, working.asked, outcome, limits.tolerance, "multinomial", seconds=seconds)
