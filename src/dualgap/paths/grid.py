"""Solutions along a grid of λ, each started from the one before, on the columns that may matter."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np

from dualgap.arrays import Index, Mask, Matrix, Vector
from dualgap.drive.limits import Limits, Status
from dualgap.drive.registry import candidates
from dualgap.drive.run import Outcome, drive
from dualgap.drive.solver import Iterate, Solver
from dualgap.drive.turns import in_turn
from dualgap.paths.setting import Pair, Setting
from dualgap.penalties import Penalised
from dualgap.penalties.separable import Separable
from dualgap.problem.certificate import Bounds, bounds
from dualgap.problem.precondition import Working
from dualgap.problem.problem import Problem
from dualgap.problem.zeros import with_zeros
from dualgap.proof.check import Checked

WORTH = 0.7  # screening is used where at most this share of the columns is left
MANY = 50  # and only on problems with more columns than this


@dataclass(frozen=True, eq=False)
class Screened(Working):
    """A working problem on some of the columns of another; the rest are zero at the optimum."""

    left: Mask

    def weights(self, u: Vector) -> Vector:
        return super().weights(self.full(u))

    def coordinates(self, w: Vector) -> Vector:
        return np.asarray(super().coordinates(w)[self.left])

    def full(self, u: Vector) -> Vector:
        """The weights of the whole working problem."""
        out = np.zeros(len(self.left))
        out[self.left] = u
        return out


def screened(working: Working, start: Bounds) -> Working:
    """The same problem without the columns that the gap at `start` proves to be zero at the optimum.

    ‖(θ − θ*)/√a‖² ≤ 2·curvature·gap where the loss is smooth, so that |x_j·θ| + √(2·curvature·gap)·‖√a x_j‖
    below the price of column j proves w_j = 0.
    """
    problem = working.problem
    regulariser, curvature = problem.regulariser, problem.loss.curvature
    gauge = regulariser.gauge
    if not isinstance(gauge, Separable) or not isinstance(regulariser, Penalised) or problem.p <= MANY:
        return working
    if not (np.isfinite(curvature) and gauge.l1.any() and np.isfinite(start.gap)):
        return working
    reach = np.sqrt(2.0 * curvature * start.gap * problem.column_squares)
    size = np.abs(problem.design.transpose_matvec(start.theta))
    left = ~(size + reach < regulariser.strength * gauge.l1) | (start.w != 0.0)
    if np.count_nonzero(left) > WORTH * problem.p:
        return working
    inner = dataclasses.replace(
        problem,
        design=problem.design.columns(left),
        regulariser=regulariser.with_gauge(gauge.restricted(left)),
    )
    kept = {field.name: getattr(working, field.name) for field in dataclasses.fields(Working)}
    return Screened(**{**kept, "problem": inner}, left=left)


@dataclass(frozen=True, eq=False)
class Point:
    """One solution: working weights and dual point, and what it proves on the problem that was asked."""

    lam: float
    pair: Pair
    proof: Checked
    outcome: Outcome


def solve(
    setting: Setting, working: Working, start: Pair | None, solver: str | Solver, limits: Limits
) -> Outcome:
    """One problem by the solvers, from a start."""
    if start is None or start.theta is None:
        first = None if start is None else Iterate(start.w)
        return drive(working, lambda: candidates(working.problem, solver), first, limits)
    if type(working) is not type(setting.working):
        return drive(
            working, lambda: candidates(working.problem, solver), Iterate(start.w, start.theta), limits
        )
    with np.errstate(all="ignore"):
        seen = bounds(working.problem, start.w, start.theta)
    fewer = screened(working, seen)
    if not isinstance(fewer, Screened):
        return drive(
            working, lambda: candidates(working.problem, solver), Iterate(start.w, start.theta), limits
        )
    origin = Iterate(start.w[fewer.left], seen.theta)
    outcome = drive(fewer, lambda: candidates(fewer.problem, solver), origin, limits)
    if outcome.status is Status.STALLED:  # on all columns, then
        again = Iterate(setting.working.coordinates(outcome.bounds.w))
        return drive(working, lambda: candidates(working.problem, solver), again, limits)
    return outcome


def uninterrupted(outcome: Outcome) -> Outcome:
    """The outcome; an interrupt, which ends a single fit with its best iterate, ends a walk."""
    if outcome.status is Status.INTERRUPTED:
        raise KeyboardInterrupt
    return outcome


class Walk:
    """Points as they are asked for, each started from the nearest one known."""

    def __init__(self, setting: Setting, solver: str | Solver, limits: Limits) -> None:
        self.setting, self.solver, self.limits = setting, solver, limits
        self.known: dict[float, Point] = {}
        self.bounded: list[Point] = []  # solutions under budgets

    def point(self, lam: float) -> Point:
        """The solution at λ."""
        if lam not in self.known:
            self.known[lam] = self._solved(lam, self._nearest(lam))
        return self.known[lam]

    def along(self, lams: Vector) -> list[Point]:
        """The solutions at falling λ, as far as the time goes: at least one, and no later one half done."""
        found = [self.point(float(lam)) for lam in in_turn(lams, self.limits)]
        unfinished = len(found) > 1 and self.limits.spent and found[-1].outcome.status is Status.TIME
        return found[:-1] if unfinished else found

    def _nearest(self, lam: float) -> Pair | None:
        if not self.known:
            return None
        distance = [abs(np.log(max(lam, 1e-300)) - np.log(max(other, 1e-300))) for other in self.known]
        return list(self.known.values())[int(np.argmin(distance))].pair

    def _solved(self, lam: float, start: Pair | None) -> Point:
        working = self.setting.at(lam)
        outcome = uninterrupted(solve(self.setting, working, start, self.solver, self.limits))
        found = with_zeros(working.asked, outcome.bounds, self.limits.tolerance)
        inner = self.setting.working
        pair = Pair(inner.coordinates(found.w), inner.working_theta(found.theta))
        return Point(lam, pair, found, outcome)

    def within(self, budget: float) -> tuple[Point, Working]:
        """The solution under a budget."""
        working = self.setting.within(budget)
        near = [*self.known.values(), *self.bounded]
        sizes = [abs(self.setting.value(p.pair.w) - budget) for p in near]
        start = near[int(np.argmin(sizes))].pair if near else None
        outcome = drive(
            working,
            lambda: candidates(working.problem, self.solver),
            None if start is None else Iterate(start.w, start.theta),
            self.limits,
        )
        found = with_zeros(working.asked, uninterrupted(outcome).bounds, self.limits.tolerance)
        inner = self.setting.working
        pair = Pair(inner.coordinates(found.w), inner.working_theta(found.theta))
        self.bounded.append(Point(np.nan, pair, found, outcome))
        return self.bounded[-1], working


def multiplier(problem: Problem, pair: Pair) -> float:
    """The λ for which a solution under a budget is the penalised one: v·w = λ·h'(w; w), v = Xᵀθ."""
    gauge = problem.regulariser.gauge
    assert pair.theta is not None
    v = problem.design.transpose_matvec(pair.theta)
    steep = gauge.value(pair.w)
    if isinstance(gauge, Separable):
        steep += float(gauge.l2 @ (pair.w * pair.w))
    seen = ~gauge.free
    return max(float(v[seen] @ pair.w[seen]) / steep, 0.0) if steep > 0.0 else np.inf


class Gridded:
    """The curve of solutions on a grid; between its points a solve, started nearby."""

    exact, breaks = False, False

    def __init__(self, walk: Walk, lams: Vector) -> None:
        self.walk = walk
        self._points = walk.along(lams)
        self.lams = lams[: len(self._points)]
        self.stopped = len(self._points) < len(lams)

    def weights(self) -> Matrix:
        return np.array([point.pair.w for point in self._points])

    def thetas(self, which: Index) -> Matrix:
        return np.array([self._points[k].pair.theta for k in which])

    def pair(self, lam: float) -> Pair:
        return self.walk.point(lam).pair

    def pair_within(self, budget: float) -> tuple[Pair, float]:
        point, working = self.walk.within(budget)
        return point.pair, multiplier(working.problem, point.pair)
