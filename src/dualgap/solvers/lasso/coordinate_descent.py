"""Smooth losses with an l1 part: working sets, coordinate descent, and Newton once the support is known."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar, cast

import numpy as np

from dualgap.arrays import Index, Vector, either
from dualgap.drive.registry import solver
from dualgap.drive.solver import STEP, Iterate, Solver
from dualgap.problem.problem import Problem
from dualgap.solvers.coherence import slowed
from dualgap.solvers.interior_point.inexact import usual
from dualgap.solvers.lasso.gram_engine import LARGEST, GramEngine
from dualgap.solvers.lasso.priced_point import PricedPoint
from dualgap.solvers.lasso.sweep_engine import SweepEngine
from dualgap.solvers.lasso.working_gram import WorkingGram
from dualgap.solvers.lasso.working_set import WorkingSet
from dualgap.solvers.prices import lacks_prices, plain
from dualgap.traits import Trait

PATIENCE = 12  # rounds at the full prices without progress before giving up
# Rounds that lead nowhere, on too many columns for a matrix: of a lasso sweeps get on between them, of
# others eleven more did not help either.
IDLE_LASSO, IDLE = 12, 2
CROWDED = 12  # slow rounds, but of a lasso, where more columns are live than there are rows
LIMIT = 1000  # rounds that no problem needs: the end of a loop that cannot go on for ever
# The prices of a round over those of the round before. Columns that are cheap to take in, sparse ones, bear a
# steep fall; where each costs a line of the curvature matrix, few come at a time.
FALL, SPARSE_FALL = 0.5, 0.05
NEAR = 0.1  # violations, in prices, up to which a bound is worth computing
HARD = 100.0  # times the usual work, where a first attempt did not do: an interior point took a hundredth
# Of the time of an interior point on sparse columns that the first attempt is given. On text and on random
# numbers weak prices took sweeps and matrices of the working set 2 to 30 times as long as that, if they got
# there; what they did sooner took them less than a third.
SHARE, FACTORS = 0.4, 20.0
VISIT, TURN = 0.7, 0.13  # nanoseconds: of a number that sweeps visit; of a cube in some factors of a matrix
STEPS = 8.0  # the least cost, in steps of other methods: few rounds take as long whatever the size


@solver("coordinate_descent")
@dataclass(frozen=True)
class CoordinateDescent:
    """Proximal Newton on growing sets of columns (Friedman, Hastie and Tibshirani, 2010; Yuan et al., 2012).

    The prices start where few columns are worth theirs and fall step by step to the ones asked. Each round
    takes in the columns that violate optimality, and minimises the quadratic model of the loss with the
    prices on them. Three engines do that, each for what it is fastest at:

    - `WorkingSet`, dense columns that all have a price, or few sparse ones: by their matrix, at the full
      prices from the start.
    - `SweepEngine`, sparse columns: sweeps over the columns and conjugate gradients on the support. A
      fifteenth of the time of the matrix on text.
    - `GramEngine`, where these converge slowly: exactly, with the curvature matrix of the set at hand, and
      damped where signs change again and again.

    Cost per round: one pass for Xᵀθ and the work on the set. Memory: a copy of the working columns, and
    their matrix.
    """

    brief: bool = False  # on sparse columns only as long as an interior point would not be done
    name: ClassVar[str] = "coordinate_descent"
    exact_zeros: ClassVar[bool] = True  # a column that is not worth its price has the weight 0, not 1e-10

    @property
    def given_up(self) -> bool:
        """Would good coordinates not help? They change nothing of a time that was too short."""
        return self.brief

    def missing(self, problem: Problem) -> tuple[str, ...]:
        lacking = lacks_prices(problem)
        if not lacking and Trait.QUADRATIC in problem.regulariser.traits:
            lacking = ("the penalty has no l1 part",)
        if not problem.loss_has(Trait.SMOOTH):
            lacking = ("the loss is not smooth", *lacking)
        return lacking

    def cost(self, problem: Problem) -> float:
        n, p = problem.design.shape
        support = min(n, p) / 4.0
        rounds = 1.0 if problem.loss_has(Trait.QUADRATIC) else 8.0
        passes = 2.0 * problem.design.stored * (10.0 + 5.0 * rounds)
        sets = rounds * support**2 * problem.design.stored / p + 5.0 * support**3
        return slowed(problem) * (STEPS * (1.0 + 0.25 * rounds) * STEP + passes + sets)

    def attempts(self, problem: Problem) -> list[tuple[float, Solver]]:
        """By working sets, if they fit, or for a limited time; then by whatever does."""
        cost = self.cost(problem)
        if plain(problem) and WorkingSet.fits(problem):
            return [(cost, cast(Solver, WorkingSet())), (HARD * cost, self)]
        if problem.design.sparse is not None:
            return [(cost, replace(self, brief=True)), (HARD * cost, self)]
        return [(cost, self)]

    def at_once(self, problem: Problem) -> WorkingSet | CoordinateDescent | None:
        """Dense columns that all have a price; sparse ones, of which perhaps few count."""
        if self.missing(problem) or not WorkingSet.fits(problem):
            return None
        return WorkingSet() if plain(problem) else replace(self, brief=True)

    def iterates(self, problem: Problem, start: Iterate) -> Iterator[Iterate]:
        if WorkingSet.fits(problem):
            for iterate in WorkingSet().iterates(problem, start):
                yield iterate
                start = replace(iterate, wanted=start.wanted)
        yield from self._by_rounds(problem, start)

    def _by_rounds(self, problem: Problem, start: Iterate) -> Iterator[Iterate]:
        point = PricedPoint(problem, start.w)
        brief = self.brief and problem.design.sparse is not None
        most = SHARE * FACTORS * usual(problem.design) if brief else np.inf
        engines = _Engines(point, start.wanted, most)
        theta, correlation = point.dual(start)
        residual = correlation - point.ridge * point.w
        point.before = _level(point, residual)
        point.factor = max(1.0, engines.fall * point.before)
        progress = _Progress(point)
        for spent in range(LIMIT):
            ahead = engines.improve(residual, spent)
            last = point.factor == 1.0
            if last and ahead is not None:
                yield Iterate(point.w.copy(), ahead, point.z)
            theta, correlation = point.dual()
            residual = correlation - point.ridge * point.w
            if last:
                violation = point.violation(residual)
                near = violation <= max(NEAR, start.wanted)
                yield Iterate(point.w.copy(), theta, point.z, correlation=correlation, certify=near)
                if progress.stalled(violation) or engines.lost:
                    return
            elif engines.left < 0.0:
                yield Iterate(point.w.copy(), theta, point.z, correlation=correlation, certify=False)
                return
            point.before = point.factor
            point.factor = max(1.0, engines.fall * point.before) if point.before > 2.1 else 1.0


class _Engines:
    """Two ways to improve a point on a working set, how fast prices may fall and sets grow for each."""

    def __init__(self, point: PricedPoint, wanted: float, most: float) -> None:
        self.point, self.left = point, most  # nanoseconds, about, until another solver takes over
        self.gram, self.sweeps = GramEngine(point), SweepEngine(point, wanted)
        dense = WorkingGram.keeps_dense(point.problem.design)
        self.fall = FALL if dense else SPARSE_FALL
        quadratic = point.problem.loss_has(Trait.QUADRATIC)
        self.room = (100, 0.5) if quadratic else (100, 2.0) if dense else (1000, 2.0)
        self.lost = False  # should another solver take over?

    def improve(self, residual: Vector, spent: int) -> Vector | None:
        """One round; a dual point beside the slopes, if there is one."""
        point = self.point
        working = _working_set(point, residual, _edge(point), self.room)
        if self._by_matrix(working, spent):
            self.gram.improve(working, residual)
            return None
        if self.lost:
            return None
        sweeps, large, before = self.sweeps, len(working) > LARGEST, self.sweeps.visited
        sweeps.improve(working, residual)
        self.left -= VISIT * (sweeps.visited - before)
        crowded = not sweeps.lasso and sweeps.crowded and sweeps.slow >= CROWDED
        idle = sweeps.idle >= (IDLE_LASSO if sweeps.lasso else IDLE)
        self.lost = (large and (crowded or idle)) or self.left < 0.0
        return sweeps.ahead

    def _by_matrix(self, working: Index, spent: int) -> bool:
        """Is it the matrix's turn? If there is no time for it, another solver takes over."""
        sweeps, limited = self.sweeps, np.isfinite(self.left)
        idle = limited and not (sweeps.lasso or sweeps.floor.share) and sweeps.idle >= IDLE
        if not (idle or self.gram.affordable(working, spent, sweeps.slow, sweeps.work)):
            return False
        self.left -= TURN * len(working) ** 3
        self.lost = self.left < 0.0
        return not self.lost


class _Progress:
    """Do rounds at the full prices still lower the objective or the violation?"""

    def __init__(self, point: PricedPoint) -> None:
        self.point = point
        self.violation, self.objective, self.waited = np.inf, np.inf, 0

    def stalled(self, violation: float) -> bool:
        """Has neither fallen for some rounds?"""
        objective = self.point.objective()
        falls = objective < self.objective - 1e-12 * abs(self.objective) or violation < 0.7 * self.violation
        self.waited = 0 if falls else self.waited + 1
        self.violation, self.objective = min(self.violation, violation), min(self.objective, objective)
        return self.waited > PATIENCE


def _level(point: PricedPoint, residual: Vector) -> float:
    """The multiple of the prices that would make w = 0 optimal; 1 if the start is nearly optimal."""
    level = float(np.max(_worth(point, residual), initial=0.0))
    return level if level > 1.5 else 1.0


def _edge(point: PricedPoint) -> float:
    """What a column must be worth, beside its price, to be taken in.

    A little below is enough: the price is still falling (by what it fell last), or the model will move.
    """
    fallen = point.before - point.factor
    return max(0.5 * point.factor, point.factor - 0.1 * fallen) if fallen > 0.0 else 0.98 * point.factor


def _working_set(point: PricedPoint, residual: Vector, edge: float, room: tuple[int, float]) -> Index:
    """The support, and the columns outside it most worth their price.

    Of these at most room[0] and room[1] for each column of the support.
    """
    worth = _worth(point, residual)
    support = np.flatnonzero(point.w != 0.0)
    support = support[point.price[support] > 0.0]
    worth[support] = 0.0
    new = np.flatnonzero(worth >= edge)
    most = room[0] + int(room[1] * len(support))
    if len(new) > most:
        new = new[np.argpartition(-worth[new], most)[:most]]
    return either(support, new, len(worth))


def _worth(point: PricedPoint, residual: Vector) -> Vector:
    """What each column is worth beside its price; 0 where it has none."""
    worth = np.abs(residual)
    worth /= point.unit
    worth[point.unpriced] = 0.0
    return worth
