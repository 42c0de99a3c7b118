"""A problem that is not convex, as the loop wants it: weights from above, the bound of a search from below.

Objectives are from above and bounds from below, each as a real number. A bound above an objective can then
only be a wrong one: it is not cut down to what would pass, it counts for nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from dualgap.arrays import Vector
from dualgap.discrete.base import DiscreteSolver, Finding, reached
from dualgap.drive.limits import Limits, Status
from dualgap.drive.pursuit import End, Look, Pursuit
from dualgap.drive.registry import candidates
from dualgap.drive.run import Outcome, run
from dualgap.problem.problem import Problem
from dualgap.proof.check import Checked, searched

ROUNDED = 1e-12  # of the objective without columns: more than rounding takes of it
PROVEN = "Proven: no weights do better, up to the tolerance."


class DiscretePursuit(Pursuit[Problem, Finding]):
    """The best weights and the highest bound."""

    counted = "nodes"

    def __init__(self, problem: Problem, tolerance: float) -> None:
        self.problem, self.tolerance = problem, tolerance
        self.w, self.primal = problem.null_weights, problem.null * (1.0 + ROUNDED)
        self.bound, self.nodes = -np.inf, 0
        self.theta: Vector | None = None
        self.ending = Status.STALLED.value
        self._offered: Vector | None = None
        self._start: Vector | None = None
        self._judged: tuple[Vector, float, Checked] | None = None

    @property
    def empty(self) -> bool:
        return False

    def starts(self, start: Finding | None) -> Iterator[Finding]:
        """None is shown: however short the time, a search is waited for until it has found something."""
        if start is not None and start.w is not None:
            self._start = start.w
            self._offer(start.w)
        return iter(())

    def origin(self, most: int | None) -> Finding:
        return Finding(self._start, wanted=self.tolerance, most=most)

    def take(self, iterate: Finding, *, watched: bool) -> Look | None:
        self.nodes = max(self.nodes, iterate.nodes)
        self.ending, self.remark = iterate.ending or self.ending, iterate.remark or self.remark
        if iterate.w is not None and iterate.w is not self._offered:
            self._offer(iterate.w)
        if iterate.bound > self.bound:
            self.bound, self.theta = iterate.bound, iterate.theta
        return Look(self.primal, self.primal, self._reported, nonzero=self.nonzero(self.w), count=self.nodes)

    def _offer(self, w: Vector) -> None:
        self._offered = w
        inside = self.problem.regulariser.feasible(w)
        primal = reached(self.problem, inside, self.tolerance)
        if primal < self.primal:
            self.w, self.primal = inside, primal

    @property
    def _reported(self) -> float:
        """The bound; no loss is below zero, and a bound above the objective is none."""
        return self.bound if 0.0 <= self.bound <= self.primal else 0.0

    def proven(self) -> Checked | None:
        if self.bound == -np.inf or not self._small(self.primal - self._reported, self.primal):
            return None
        final = self.settled()
        return final if self._small(final.gap, final.primal) else None

    def _small(self, gap: float, objective: float) -> bool:
        return self.relative(gap, objective) <= self.tolerance

    def settled(self) -> Checked:
        """The objective by the kernel, beside the search's bound."""
        last = self._judged
        if last is None or last[0] is not self.w or last[1] != self._reported:
            found = searched(self.problem, self.w, self._reported, self.theta)
            last = self._judged = self.w, self._reported, found
        return last[2]

    def relative(self, gap: float, objective: float) -> float:
        return self.problem.relative(gap, objective)

    def weights(self) -> Vector:
        return self.w

    def told(self, end: End) -> tuple[Status, str]:
        """What a search says at its end, where it ended by itself and proved nothing."""
        sentence = {Status.CERTIFIED: PROVEN, Status.STALLED: self.ending}.get(end.status, end.status.value)
        return end.status, f"{sentence} {self.remark}".strip()


def choose(problem: Problem, asked: Any) -> DiscreteSolver:
    """The search asked for, by name or as an object, or the cheapest that fits for "auto"."""
    found: DiscreteSolver = candidates(problem, asked)[0]
    return found


def pursued(problem: Problem, solver: DiscreteSolver, start: Vector | None, limits: Limits) -> Outcome:
    """Run the search until its bound meets the tolerance, a limit is met, or it ends."""
    pursuit = DiscretePursuit(problem, limits.tolerance)
    first = None if start is None else Finding(start)
    outcome = run(pursuit, lambda: [solver], first, limits.or_seconds(solver.seconds))
    return replace(outcome, solver=solver.name, ran=solver)
