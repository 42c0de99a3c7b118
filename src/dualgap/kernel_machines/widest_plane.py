"""C = ∞ without a kernel, as the loop wants it: the nearest points of the classes' hulls, and their plane."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from dualgap.arrays import Matrix, Vector
from dualgap.drive.limits import Limits
from dualgap.drive.pursuit import Look, Pursuit
from dualgap.drive.registry import candidates, solver
from dualgap.drive.run import Outcome, run
from dualgap.kernel_machines.hull import SURE, Hulls, nearing, plane
from dualgap.problem.problem import Problem, relative_gap
from dualgap.proof.check import Checked
from dualgap.proof.margin import check_margin


@dataclass(frozen=True, eq=False)
class PlaneProblem:
    """The least ‖factors ∘ w‖ with y (x·w + b) ≥ 1 in every row."""

    asked: Problem
    factors: Vector

    kind: ClassVar[str] = "margin"

    @cached_property
    def X(self) -> Matrix:
        """The rows, without the ones."""
        table = self.asked.design.toarray()
        return table[:, :-1] if self.intercept else table

    @property
    def y(self) -> Vector:
        """±1."""
        return self.asked.y

    @property
    def intercept(self) -> bool:
        """May the plane miss the origin?"""
        return self.asked.intercept


@solver("nearest_points", kind="margin")
class NearestPoints:
    """An active set of rows whose hulls come nearer and nearer (Wolfe, 1976)."""

    def missing(self, problem: PlaneProblem) -> tuple[str, ...]:
        return ()

    def cost(self, problem: PlaneProblem) -> float:
        return float(problem.X.size * problem.X.shape[1])

    def iterates(self, problem: PlaneProblem, start: Hulls) -> Iterator[Hulls]:
        return nearing(problem.X, problem.y, intercept=problem.intercept, factors=problem.factors)


class PlanePursuit(Pursuit[PlaneProblem, Hulls]):
    """The nearest points so far. Whether their plane separates is decided exactly, at the end alone."""

    def __init__(self, problem: PlaneProblem, tolerance: float) -> None:
        self.problem, self.tolerance = problem, tolerance
        self.hulls: Hulls | None = None
        self._judged: tuple[Hulls, Checked] | None = None

    @property
    def _kept(self) -> Hulls:
        assert self.hulls is not None
        return self.hulls

    @property
    def empty(self) -> bool:
        return self.hulls is None or not self.hulls.upper > self.hulls.lower

    def origin(self, most: int | None) -> Hulls:
        """That the search finds for itself."""
        nothing = np.zeros(0)
        return Hulls(nothing, nothing, 0.0, 0.0, 1.0, 0.0)

    def take(self, iterate: Hulls, *, watched: bool) -> Look | None:
        self.hulls = iterate
        square = float(iterate.difference @ iterate.difference)
        unit, width = 4.0 if self.problem.intercept else 1.0, iterate.upper - iterate.lower
        value = unit * square / width**2 if width > 0.0 else np.inf
        return Look(value, value, unit / square if square > 0.0 else 0.0, nonzero=len(iterate.difference))

    def proven(self) -> Checked | None:
        if self._kept.relative_gap > SURE:
            return None
        found = self.settled()
        return found if self.relative(found.gap, found.primal) <= self.tolerance else None

    def settled(self) -> Checked:
        """What the kernel says of the plane, whose objective is ∞ where it does not separate."""
        hulls, problem = self._kept, self.problem
        if self._judged is None or self._judged[0] is not hulls:
            tied, factors = problem.intercept, problem.factors
            # hulls that meet to rounding may not meet
            found = plane(problem.X, problem.y, hulls, intercept=tied, factors=factors)
            w = np.zeros(problem.asked.p)
            if found is not None:
                w = np.append(found[0], found[1]) if tied else found[0]
            theta = problem.y * hulls.weights * _stretch(hulls, tied)
            self._judged = hulls, check_margin(problem.asked, w, theta, self.tolerance)
        return self._judged[1]

    def relative(self, gap: float, objective: float) -> float:
        return relative_gap(gap, objective, 0.0)

    def nonzero(self, w: Vector) -> int | None:
        return len(self._kept.difference)

    def weights(self) -> Vector:
        w = self._kept.difference / self.problem.factors
        return np.append(w, 0.0) if self.problem.intercept else w


def _stretch(hulls: Hulls, intercept: bool) -> float:
    """α = t·weights at the best t of Σα − ¼‖Σ α y x‖²."""
    square = float(hulls.difference @ hulls.difference)
    return (4.0 if intercept else 2.0) / square if square > 0.0 else 0.0


def widest_plane(problem: PlaneProblem, limits: Limits) -> tuple[Outcome, Hulls]:
    """The plane, with an objective of ∞ where none was found, and the points that tell why."""
    pursuit = PlanePursuit(problem, limits.tolerance)
    outcome = run(pursuit, lambda: candidates(problem, "auto"), None, limits)
    assert pursuit.hulls is not None
    return outcome, pursuit.hulls
