"""Solutions along a grid of λ, each started from the nearest one known."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dualgap.arrays import Index, Matrix, Vector
from dualgap.drive.limits import Limits, Status
from dualgap.drive.registry import candidates
from dualgap.drive.run import Outcome, as_part, drive
from dualgap.drive.solver import Iterate, Solver
from dualgap.drive.turns import in_turn
from dualgap.paths.curve import SolutionCurve
from dualgap.paths.family import Family, Pair
from dualgap.problem.precondition import Working
from dualgap.problem.problem import Problem
from dualgap.problem.zeros import with_zeros
from dualgap.proof.check import Checked


@dataclass(frozen=True, eq=False)
class PathPoint:
    """One solution: working weights and dual point, and what it proves on the problem that was asked."""

    lam: float
    pair: Pair
    proof: Checked
    outcome: Outcome


class Walk:
    """Points as they are asked for, each started from the nearest one known."""

    def __init__(self, family: Family, solver: str | Solver, limits: Limits) -> None:
        self.family, self.solver, self.limits = family, solver, limits
        self.known: dict[float, PathPoint] = {}
        self.bounded: list[PathPoint] = []  # solutions under budgets

    def point(self, lam: float) -> PathPoint:
        """The solution at λ."""
        if lam not in self.known:
            self.known[lam] = self._found(lam, self.family.at(lam), self._nearest(lam))
        return self.known[lam]

    def along(self, lams: Vector) -> list[PathPoint]:
        """The solutions at falling λ, as far as the time goes: at least one, and no later one half done."""
        found = [self.point(float(lam)) for lam in in_turn(lams, self.limits)]
        unfinished = len(found) > 1 and self.limits.spent and found[-1].outcome.status is Status.TIME
        return found[:-1] if unfinished else found

    def _nearest(self, lam: float) -> Pair | None:
        if not self.known:
            return None
        distance = [abs(np.log(max(lam, 1e-300)) - np.log(max(other, 1e-300))) for other in self.known]
        return list(self.known.values())[int(np.argmin(distance))].pair

    def _found(self, lam: float, working: Working, start: Pair | None) -> PathPoint:
        first = None if start is None else Iterate(start.w, start.theta)
        with as_part():
            outcome = drive(working, lambda: candidates(working.problem, self.solver), first, self.limits)
        found = with_zeros(working.asked, outcome.bounds, self.limits.tolerance)
        inner = self.family.working
        pair = Pair(inner.coordinates(found.w), inner.working_theta(found.theta))
        return PathPoint(lam, pair, found, outcome)

    def within(self, budget: float) -> tuple[PathPoint, Working]:
        """The solution under a budget."""
        working = self.family.within(budget)
        near = [*self.known.values(), *self.bounded]
        sizes = [abs(self.family.value(p.pair.w) - budget) for p in near]
        start = near[int(np.argmin(sizes))].pair if near else None
        self.bounded.append(self._found(np.nan, working, start))
        return self.bounded[-1], working


def multiplier(problem: Problem, pair: Pair) -> float:
    """The λ for which a solution under a budget is the penalised one: v·w = λ·h'(w; w), v = Xᵀθ."""
    assert pair.theta is not None
    v, seen, box = problem.correlation(pair.theta), ~problem.free, problem.regulariser.box
    if box is not None:  # at an end a part of v belongs to the bound
        seen &= (pair.w > box.low) & (pair.w < box.high)
    steep = float((problem.regulariser.gauge.slope(pair.w) * pair.w)[seen].sum())
    return max(float(v[seen] @ pair.w[seen]) / steep, 0.0) if steep > 0.0 else np.inf


class GridCurve(SolutionCurve):
    """The solutions at the points of a walk; between them a solve, started nearby."""

    exact = False

    def __init__(self, walk: Walk, points: list[PathPoint], *, stopped: bool) -> None:
        self.walk, self.points, self.stopped = walk, points, stopped
        self.lams = np.array([point.lam for point in points])

    def weights(self) -> Matrix:
        return np.array([point.pair.w for point in self.points])

    def thetas(self, which: Index) -> Matrix:
        return np.array([self.points[k].pair.theta for k in which])

    def pair(self, lam: float) -> Pair:
        return self.walk.point(lam).pair

    def pair_within(self, budget: float) -> tuple[Pair, float]:
        point, working = self.walk.within(budget)
        return point.pair, multiplier(working.problem, point.pair)

    def take_time(self, limits: Limits) -> None:
        self.walk.limits = limits
