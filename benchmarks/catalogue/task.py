"""A problem that brings its own judge and its own rivals."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import dualgap as dg
from benchmarks.contestant import Point
from benchmarks.rivals import Ladder


@dataclass(frozen=True)
class Task:
    """One draw of a problem.

    `objective(w, b)` is what everybody is judged by, in our convention, whoever found w. `peers` has a
    function for each rival that makes its ladder [(label, solve), …], loosest first: it is called in the
    rival's own process, and imports it there. `solve()` returns (w, b) and is what is timed.
    """

    X: Any
    y: np.ndarray
    asked: Mapping[str, Any]  # keywords of dg.fit
    objective: Callable[[Any, Any], float]
    peers: Mapping[str, Callable[[], Ladder]] = field(default_factory=dict)

    def ladder(self, name: str) -> Ladder:
        """Of a peer, or our own single rung; empty where it is not installed."""
        if name == "dualgap":
            return [("certified 1e-6", self._solve)]
        try:
            return self.peers[name]()
        except ImportError:
            return []

    def _solve(self) -> tuple[Any, ...]:
        solution = dg.fit(self.X, self.y, **self.asked)
        if not solution.converged:
            raise RuntimeError(f"{solution.solver}: gap {solution.relative_gap:.1e}")
        return solution.coef, solution.intercept, solution.relative_gap, solution.solver


def rungs(name: str, task: Task) -> Ladder:
    """As `benchmarks.contestant.start` asks for them."""
    return task.ladder(name)


def judged(task: Task, label: str, seconds: float, answer: tuple[Any, ...]) -> Point:
    """The objective in plain NumPy; the gap is that of our certificate, which peers do not have."""
    w, b, *proof = answer
    value = float(task.objective(w, b))
    return Point(label, seconds, value, *proof) if proof else Point(label, seconds, value)
