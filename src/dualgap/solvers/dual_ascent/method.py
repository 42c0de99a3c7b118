"""Piecewise quadratic losses and the logistic one with a squared penalty: the dual, one row at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from dualgap.arrays import Index, Mask, Vector
from dualgap.drive.registry import solver
from dualgap.drive.solver import STEP, Iterate, Solver
from dualgap.problem.dual_point import shared
from dualgap.problem.problem import Problem
from dualgap.proof.statement import SMALL
from dualgap.solvers.curvature_floor import cut_off
from dualgap.solvers.prices import lacks_prices, plain, prices
from dualgap.traits import Trait

MOST_FREE = 4  # a choice: free columns, whose multipliers take a proximal step each iterate
ROW_BY_ROW = 10.0  # an operation on one row takes as long as this many on blocks
SWEEPS = 200  # between two iterates, at most, or as many visits to fewer rows
OVERTIME = 8.0  # times the sweeps expected, before another solver has its turn
ATTEMPT = 40.0  # passes that show whether a problem is easy
PROMISING = 300.0  # where more sweeps than this are expected, an attempt comes first
EASY = 6.0  # columns for each pass of an attempt that make it cheap beside a matrix XᵀX
DENSE, LONG = 2.5, 500  # as ROW_BY_ROW, of dense rows with more than 500 numbers
BALANCING = 70.0  # sweeps that the balance of free columns takes beside an entropy, whose own are few
STEPS = 25.0  # the least cost, in steps of other methods: where these take no longer, they end nearer
LIMIT = 500  # iterates: the end of a loop that cannot go on for ever
SHARE = 0.05  # of the square norm of a row, the free columns' part: more couples the rows, less slows b
FIRST = 1e-2  # share of the objective at 0: a gap at which the rows that were dropped are looked at
AIM = 0.95  # share of the gap wanted: it is summed while it shrinks
COMPACT = 2e-7  # relative gap that 4-byte numbers resolve
SMALL_TABLE, FEW = 1_000_000, 100.0  # numbers, and sweeps that take no longer than other methods there
TINY = 1e-17  # a relative gap that is rounding


@solver("dual_coordinate_ascent")
@dataclass(frozen=True)
class DualCoordinateAscent:
    """max D(θ) over one θ_i at a time, w = Λ⁻¹Xᵀθ kept (Hsieh et al., 2008; Yu, Huang and Lin, 2011).

    Free columns ask for x_j·θ = 0: the method of multipliers, in which b ← b + σ x_j·θ is a proximal step
    on the free coordinates. Sparse rows are swept in 4-byte numbers until these no longer resolve the
    gap. Gives up after `passes` visits to every row, or as many to fewer. Cost per sweep: two passes over the
    rows that have not been shrunk away. Memory: one scaled copy of the rows.
    """

    passes: float = np.inf
    name: ClassVar[str] = "dual_coordinate_ascent"

    def missing(self, problem: Problem) -> tuple[str, ...]:
        lacking = lacks_prices(problem)
        if not lacking:
            price, ridge = prices(problem)
            if price.any() or not ridge.any():
                lacking = ("the penalty is not l2",)
            elif np.count_nonzero(ridge == 0.0) > MOST_FREE:
                lacking = (f"more than {MOST_FREE} columns are free",)
        if not (problem.loss_has(Trait.PIECEWISE_QUADRATIC) or problem.loss_has(Trait.ENTROPIC)):
            lacking = ("the loss is neither piecewise quadratic nor logistic", *lacking)
        return lacking

    def at_once(self, problem: Problem) -> Solver | None:
        """Kinks without an intercept, and few sweeps over a small table."""
        n, p = problem.design.shape
        if not problem.loss_has(Trait.PIECEWISE_LINEAR) or self.missing(problem) or problem.free.any():
            return None
        if not p <= n or n * p > SMALL_TABLE or not plain(problem):
            return None
        sweeps = _sweeps(problem)
        return replace(self, passes=OVERTIME * sweeps) if sweeps <= FEW else None

    def attempts(self, problem: Problem) -> list[tuple[float, Solver]]:
        """For some times the sweeps expected; before that for few, where these may do."""
        sweeps = _sweeps(problem)
        turns: list[tuple[float, Solver]] = [
            (_work(problem, sweeps), replace(self, passes=OVERTIME * sweeps))
        ]
        if sweeps > PROMISING and _may_be_easy(problem):
            turns.append((_work(problem, ATTEMPT), replace(self, passes=ATTEMPT)))
        return turns

    def cost(self, problem: Problem) -> float:
        return min(work for work, _ in self.attempts(problem))

    def iterates(self, problem: Problem, start: Iterate) -> Iterator[Iterate]:
        run = _Ascent(problem, start, self.passes * problem.n)
        goal = FIRST * abs(problem.null)
        aimed = bool(start.wanted) and not run.free.any()
        if aimed:  # the bound says what will do, before any product with X
            run.sweep(goal)
            run.unit = max(run.bound(), SMALL * abs(problem.null))
            goal = min(goal, AIM * start.wanted * run.unit)
        for _ in range(LIMIT):
            reached = run.sweep(goal)
            if aimed:
                yield Iterate(run.weights, run.theta, outright=True)
            iterate = run.iterate()
            if not aimed:
                yield iterate
            drift, back = run.multipliers(), run.look(iterate)
            run.unit = run.measure(iterate)
            aim = max(AIM * start.wanted * run.unit, 0.1 * drift)
            if aim < goal:
                goal = aim
            elif max(reached, drift) <= goal and not back:
                goal *= 0.3
            if goal < TINY * run.unit or run.visits >= run.most:
                return


def _work(problem: Problem, sweeps: float) -> float:
    """Operations, the start and the end among them."""
    each = 4.0 * problem.design.stored * (DENSE if _long(problem) else ROW_BY_ROW)
    return STEPS * STEP + sweeps * each


def _sweeps(problem: Problem) -> float:
    """How many to expect, where nothing is known of how few rows matter in the end."""
    ridge = prices(problem)[1]
    inverse = np.where(ridge > 0.0, 1.0 / np.where(ridge > 0.0, ridge, 1.0), 0.0)
    stiff = float(problem.a @ problem.a) * float(problem.column_squares @ inverse)  # per row, or nearly
    coupled = float(20.0 * stiff * (problem.n / problem.p) ** 0.4)  # rows that share columns undo each other
    if problem.loss_has(Trait.ENTROPIC):
        few = min(0.15 * coupled, 90.0) if problem.n <= problem.p else 0.15 * coupled
        return 5.0 + few + BALANCING * bool(problem.free.any())
    if problem.n <= problem.p:
        coupled = min(coupled, 100.0)
    bounded = problem.loss_has(Trait.SMOOTH) and cut_off(problem)
    return 12.0 + (0.1 if bounded else 1.0) * coupled  # measured; at their bounds rows are idle


def _may_be_easy(problem: Problem) -> bool:
    """Losses with a flat side over many columns: if few rows matter in the end, some passes do it all.

    How few is not known before, but the passes cost little beside a single matrix XᵀX.
    """
    n, p = problem.design.shape
    if min(n, p) < EASY * ATTEMPT:
        return False
    if problem.loss_has(Trait.SMOOTH) and problem.design.stored > 0.5 * n * p:  # a few steps of Newton
        return False
    terms = problem.loss.terms(problem.y)
    return terms.entropy == 0.0 and bool(np.all((terms.lower == 0.0) | (terms.upper == 0.0)))


def _long(problem: Problem) -> bool:
    """Are the rows dense, long and few?"""
    n, p = problem.design.shape
    return bool(problem.design.stored > 0.5 * n * p and p > max(n, LONG))


class _Ascent:
    """The dual point, the weights that go with it, and the multipliers of the free columns."""

    def __init__(self, problem: Problem, start: Iterate, most: float) -> None:
        self.problem, self.most = problem, most
        self.ridge = prices(problem)[1]
        self.free = self.ridge == 0.0
        self.random = np.array([20080705], dtype=np.int64)
        self.active: Index = np.arange(problem.n)
        self.window = np.array([np.inf, -np.inf])
        terms = problem.loss.terms(problem.y)
        self.kink, self.lower, self.upper = (
            np.array(part, dtype=np.float64, order="C") for part in (terms.kink, terms.lower, terms.upper)
        )
        self.softness, self.entropy = float(terms.softness), float(terms.entropy)
        slope = np.zeros(problem.n) if start.theta is None else -start.theta / problem.a
        self.dual = shared(slope, self.lower, self.upper)
        inverse = np.where(self.free, 0.0, 1.0 / np.where(self.free, 1.0, self.ridge))
        mean_square = float(problem.column_squares @ inverse)
        self.scale = np.sqrt(np.where(self.free, SHARE * mean_square, inverse))
        self.centre = np.where(self.free, start.w, 0.0)
        self.offset = problem.predict(self.centre)
        self.visits = 0
        self.compact, self.unit = True, abs(problem.null)
        self._store()
        self.w = self.scale * start.correlated(problem, self.theta)

    def _store(self) -> None:
        from dualgap.compiled.lines import square_norms
        from dualgap.solvers.design_lines import scaled_rows

        self.rows = scaled_rows(self.problem.design, self.scale, compact=self.compact)
        self.compact = self.rows.values.dtype == np.float32
        self.square = square_norms(self.rows)

    def _refresh(self) -> None:
        """The scaled weights from the dual point, free of accumulated rounding."""
        self.w = self.scale * self.problem.design.transpose_matvec(self.theta)

    @property
    def theta(self) -> Vector:
        return np.asarray(-self.problem.a * self.dual.sum(axis=1))

    @property
    def weights(self) -> Vector:
        """The primal point, as the sweeps left it."""
        return np.asarray(self.scale * self.w + self.centre)

    def sweep(self, goal: float) -> float:
        """Sweep until the gap of the rows is no more than the goal; what it is."""
        from dualgap.solvers.dual_ascent.sweeps import ascend

        if self.compact and goal < COMPACT * self.unit:
            self.compact = False
            self._store()
            self._refresh()
        terms = (self.kink, self.lower, self.upper, self.softness, self.entropy)
        row = (self.problem.a.copy(), self.square, self.offset)
        watch = (self.active, self.window, self.random)
        most = int(min(SWEEPS * self.problem.n, max(self.most - self.visits, 1)))
        gap, left, visits = ascend(self.rows, terms, row, self.dual, self.w, watch, (goal, most))
        self.visits += visits
        self.active = self.active[:left].copy()
        return float(gap)

    def iterate(self) -> Iterate:
        """The primal point that the dual one proposes."""
        self._refresh()
        w = self.weights
        return Iterate(w, self.theta, self.problem.design.matvec(w), correlation=self.w / self.scale)

    def bound(self) -> float:
        """The dual objective, where there are no free columns."""
        problem = self.problem
        conjugate = problem.loss.conjugate(problem.y, self.dual.sum(axis=1))
        return -float(problem.a @ conjugate) - 0.5 * float(self.w @ self.w)

    def measure(self, iterate: Iterate) -> float:
        """What a gap is relative to."""
        primal = self.problem.primal(iterate.w, iterate.prediction)
        return 1.0 / max(self.problem.relative(1.0, primal), 1e-300)

    def look(self, iterate: Iterate) -> int:
        """Take back the rows that were dropped and add to the gap; how many they are."""
        assert iterate.prediction is not None
        slope = self.kink + self.softness * self.dual - iterate.prediction[:, None]
        pushed = ((self.dual <= self.lower) & (slope >= 0.0)) | ((self.dual >= self.upper) & (slope <= 0.0))
        back: Mask = np.asarray(~pushed.all(axis=1))
        back[self.active] = False
        found = np.flatnonzero(back)
        if len(found):
            self.active = np.union1d(self.active, found)
        return len(found)

    def multipliers(self) -> float:
        """A proximal step on the free coordinates; what their imbalance adds to the gap."""
        if not self.free.any():
            return 0.0
        drift = float(self.w[self.free] @ self.w[self.free])
        ahead = np.where(self.free, self.scale * self.w + self.centre, 0.0)
        self.offset = self.offset + self.problem.design.matvec(ahead - self.centre)
        self.centre = ahead
        return drift
