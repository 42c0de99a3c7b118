"""Smooth losses with group_lasso or sparse_group over dense columns: few groups at a time, by their matrix.

One pass a round reads the whole table: θX, which is what groups left out are worth, and the dual point.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from dualgap.arrays import Index, Matrix, Vector
from dualgap.drive.registry import solver
from dualgap.drive.solver import STEP, Iterate
from dualgap.penalties.base import Groups
from dualgap.problem.problem import Problem
from dualgap.solvers.curvature_floor import CurvatureFloor
from dualgap.solvers.kept_curvature import KeptCurvature
from dualgap.solvers.prices import plain
from dualgap.traits import Trait

FIRST = 4.0  # times √p columns are the first set: their matrix takes no longer than two passes over the table
CHEAP = 2e6  # operations that take no time
EDGE = 0.98  # of its price: what a group must be worth to be taken in
FAR = 30.0  # times the gap wanted: no bound is computed beyond
ROUNDS = 60  # that no problem of a fair condition needs
LESS, PATIENCE = 0.9, 4  # rounds that leave more than this share of the violations, before others have a try
STEPS = 3  # of Newton between two passes over the table
SETTLED, COARSE = (
    0.05,
    1e-2,
)  # violations below which the set is nearly complete; how well it is solved before
TURNS = 60  # sweeps over the groups taken that are usual
SWEEPS = 2000  # over the groups taken; some hundred were counted where columns are correlated by a half
LEAST = 1e-12  # violations, in prices, that are rounding
FALL, SHORTEST = 1e-4, 1e-6  # share of its promise that a step must keep; the shortest step


@solver("group_descent")
@dataclass(frozen=True)
class GroupDescent:
    """Block coordinate descent on working sets of groups (Yuan and Lin, 2006), inside proximal Newton.

    A quadratic loss has one matrix, which grows with the set. Cost per round: one pass for Xᵀθ, and the
    matrix of the columns taken. Memory: a copy of these columns, and their matrix.
    """

    name: ClassVar[str] = "group_descent"

    def missing(self, problem: Problem) -> tuple[str, ...]:
        lacking = []
        if not problem.loss_has(Trait.SMOOTH):
            lacking.append("the loss is not smooth")
        groups = problem.regulariser.gauge.groups
        if groups is None or problem.regulariser.constrained:
            return (*lacking, "the penalty is none of groups, added to the loss")
        if not _even(groups):
            lacking.append("a group has columns of different scales")
        if np.count_nonzero(problem.free) > problem.intercept:
            lacking.append("some columns are free")
        if not plain(problem):
            lacking.append("the columns are sparse")
        return tuple(lacking)

    def cost(self, problem: Problem) -> float:
        n, p = problem.design.shape
        taken = min(p / 4.0, n / 2.0)
        rounds = 2.0 if problem.loss_has(Trait.QUADRATIC) else 12.0
        return 4.0 * STEP + 10.0 * problem.design.stored + 0.1 * rounds * n * taken * taken

    def at_once(self, problem: Problem) -> GroupDescent | None:
        """Dense columns that all have a price."""
        return None if self.missing(problem) else self

    def iterates(self, problem: Problem, start: Iterate) -> Iterator[Iterate]:
        point = _GroupPoint(problem, start)
        best, waited = np.inf, 0
        for _ in range(ROUNDS):
            found = point.proof()
            yield Iterate(point.asked(), certify=False, look=False) if found is None else found
            waited = 0 if point.off < LESS * best else waited + 1
            best = min(best, point.off)
            if waited > PATIENCE:
                yield Iterate(point.asked(), point.theta)
                return
            point.improve()


def _even(groups: Groups) -> bool:
    """Has every group one scale, where it has any?"""
    count = int(groups.group.max(initial=-1)) + 1
    low, high = np.full(count, np.inf), np.zeros(count)
    np.minimum.at(low, groups.group, groups.scale)
    np.maximum.at(high, groups.group, groups.scale)
    return bool(np.all(high <= low * (1.0 + 1e-12)))


class _GroupPoint:
    """w on the groups taken so far, z = Xw + b, and a dual point with what it makes of every group."""

    def __init__(self, problem: Problem, start: Iterate) -> None:
        self.problem, self.wanted = problem, max(start.wanted, 1e-13)
        self.design, p = problem.design.features, problem.design.features.shape[1]
        regulariser = problem.regulariser
        assert regulariser.gauge.groups is not None and not regulariser.constrained
        groups = regulariser.gauge.groups
        self.strength, self.gauge = regulariser.strength, regulariser.gauge
        self.group = groups.group[:p]
        self.own_price = self.strength * groups.l1[:p]
        order = np.argsort(self.group, kind="stable")
        count = int(self.group.max(initial=-1)) + 1  # none where no column is left but the ones
        self.members = np.split(order, np.cumsum(np.bincount(self.group))[:-1])[:count]
        self.lengths = np.array([len(one) for one in self.members])
        self.price = np.zeros(len(self.members))
        self.price[self.group] = self.strength * groups.scale[:p]
        self.first = max(FIRST * p**0.5, (CHEAP / problem.n) ** 0.5)
        self.taken = np.zeros(len(self.members), dtype=bool)
        self.groups: Index = np.zeros(0, dtype=np.int64)
        self.columns: Index = np.zeros(0, dtype=np.int64)
        self.starts = np.zeros(1, dtype=np.int64)
        self.centre = np.zeros(0)
        self._room: Matrix = np.empty((problem.n, 0), order="F")
        self.w = np.zeros(0)
        live = np.unique(self.group[np.flatnonzero(start.w[:p])])
        self.add(live)
        self.w = start.w[self.columns]
        self.z = problem.predict(start.w)
        self.level = float(start.w[-1] + self.centre @ self.w) if problem.intercept else 0.0
        self.risk = problem.risk(self.z)
        self.theta = problem.slope(self.z)
        self.floor, self.kept = CurvatureFloor(problem), KeptCurvature(problem)
        self.gram, self.known = np.zeros((0, 0)), 0
        self._value_groups()

    @property
    def array(self) -> Matrix:
        """The columns taken, centred where there is an intercept."""
        return self._room[:, : len(self.columns)]

    def add(self, new: Index) -> None:
        """Take in groups that were not."""
        if not len(new):
            return
        fresh_columns = np.concatenate([self.members[g] for g in new])
        before = len(self.columns)
        self.taken[new] = True
        self.groups = np.concatenate([self.groups, new])
        self.columns = np.concatenate([self.columns, fresh_columns])
        ends = self.starts[-1] + np.cumsum(self.lengths[new])
        self.starts = np.concatenate([self.starts, ends])
        self.w = np.concatenate([self.w, np.zeros(len(fresh_columns))])
        if len(self.columns) > self._room.shape[1]:
            room = np.empty((self.problem.n, max(len(self.columns), 2 * before)), order="F")
            room[:, :before] = self._room[:, :before]
            self._room = room
        fresh = self._room[:, before : len(self.columns)]
        fresh[...] = self.design.columns(fresh_columns).toarray()
        centre = self.problem.a @ fresh if self.problem.intercept else np.zeros(len(fresh_columns))
        self.centre = np.concatenate([self.centre, centre])
        if self.problem.intercept:
            fresh -= centre

    def paid_by(self, w: Vector) -> float:
        """The penalty of weights of the columns taken."""
        squares = np.add.reduceat(w * w, self.starts[:-1]) if len(w) else np.zeros(0)
        return float(self.own_price[self.columns] @ np.abs(w) + self.price[self.groups] @ np.sqrt(squares))

    @property
    def paid(self) -> float:
        return self.paid_by(self.w)

    def asked(self) -> Vector:
        """The weights as they were asked for."""
        w = np.zeros(self.problem.p)
        w[self.columns] = self.w
        if self.problem.intercept:
            w[-1] = self.level - float(self.centre @ self.w)
        return w

    def _value_groups(self) -> None:
        """What each group is worth beside its price, and how far the worst is off."""
        self.theta_sum = float(self.theta.sum())
        self.pull = self.design.transpose_matvec(self.theta)
        v = np.append(self.pull, 0.0) if self.problem.intercept else self.pull
        worth = self.gauge.strengths_at_zero(v)[: len(self.members)]
        self.worth = np.asarray(worth / self.strength)
        self.off = max(float(self.worth.max(initial=0.0)) - 1.0, 0.0)

    def proof(self) -> Iterate | None:
        """The answer, if the gap seems small enough."""
        problem, paid = self.problem, self.paid
        primal = self.risk + paid
        if self.off * (paid or primal) > FAR * self.wanted * primal:
            return None
        v = np.append(self.pull, 0.0) if problem.intercept else self.pull
        theta, v = problem.feasible(self.theta, v)
        gap = problem.relative(primal - problem.dual(theta, v), primal)
        return Iterate(self.asked(), theta, outright=True) if gap <= self.wanted else None

    def improve(self) -> None:
        """Take groups in, minimise over those taken, and value all of them anew."""
        worth = np.where(self.taken, 0.0, self.worth)
        new = np.flatnonzero(worth >= EDGE)
        new = new[np.argsort(-worth[new], kind="stable")]
        most = max(self.first, float(np.count_nonzero(self.w)))
        if len(self.pull) <= self.first:
            new = np.flatnonzero(~self.taken)
        elif len(new):
            new = new[: max(int(np.searchsorted(np.cumsum(self.lengths[new]), most)), 1)]
        self.add(new)
        self.theta = self._quadratic() if self.problem.loss_has(Trait.QUADRATIC) else self._general()
        self._value_groups()

    def enough(self) -> float:
        """Violations, in prices, that leave the gap wanted: they shrink the dual point by as much."""
        paid = self.paid or self.risk
        return 0.1 * self.wanted * (self.risk + paid) / max(paid, 1e-3 * self.risk)

    def _solve(self, gram: Matrix, live: Any, w: Vector, residual: Vector, tolerance: float) -> None:
        """Minimise the model over some of the groups taken, in place."""
        from dualgap.solvers.groups import sweeps as loops

        groups, starts = live
        which = self.groups[groups]
        columns = self.columns[_places(self.starts, groups)]
        top = np.array([_largest(gram[a:b, a:b]) for a, b in pairwise(starts)])
        prices = self.own_price[columns], self.price[which]
        loops.settle(gram, w, residual, prices, (starts, top), max(tolerance, LEAST), SWEEPS)

    def _quadratic(self) -> Vector:
        """A quadratic loss: one matrix, which grows."""
        problem = self.problem
        self._grow()
        w = self.w.copy()
        residual = self.pull[self.columns] - self.centre * self.theta_sum
        size = len(w)
        last = self.off <= SETTLED or TURNS * size * size <= self.design.stored  # no more than another pass
        tolerance = self.enough() if last else max(min(COARSE, 0.1 * self.off), self.enough())
        gram = np.ascontiguousarray(self.gram[:size, :size])
        self._solve(gram, (np.arange(len(self.groups)), self.starts), w, residual, tolerance)
        shift = self.theta_sum / self.total if problem.intercept else 0.0
        self.z = self.z + self.array @ (w - self.w) + shift
        self.w, self.level = w, self.level + shift
        self.risk = problem.risk(self.z)
        return problem.slope(self.z)

    def _grow(self) -> None:
        problem, array, before = self.problem, self.array, self.known
        if not before:
            self.h = problem.a * problem.loss.second_derivative(problem.y, self.z)
            self.total = float(self.h.sum())
        self.known = size = array.shape[1]
        if size == before:
            return
        gram = np.empty((size, size))
        gram[:before, :before] = self.gram[:before, :before]
        even = bool(self.h.min() == self.h.max())
        fresh = array[:, before:]
        weighted = fresh if even else fresh * self.h[:, None]
        unit = float(self.h[0]) if even else 1.0
        gram[:, before:] = unit * (array.T @ weighted)
        gram[before:, :before] = gram[:before, before:].T
        self.gram = gram

    def _general(self) -> Vector:
        """Another loss: steps of proximal Newton on the groups that are not zero or ought not to be."""
        ahead = self.theta
        for _ in range(STEPS):
            theta = self.problem.slope(self.z)
            step, promise, bent = self._step(theta)
            full = np.clip(theta - bent, *self.problem.dual_bounds)
            ahead = full if step == 1.0 else self.problem.slope(self.z)
            share = promise / (self.risk + self.paid)
            if share * max(share, self.kept.off**2) <= 0.1 * self.wanted:
                break
        return ahead

    def _step(self, theta: Vector) -> tuple[float, float, Vector]:
        """A step's length, what it promised, and by how much it moves the slopes."""
        problem, h = self.problem, self.floor.curvature(self.z)
        level, slopes = float(theta.sum()), theta @ self.array
        moved = level / float(h.sum()) if problem.intercept else 0.0  # by the intercept, to its best
        pull = slopes - moved * (h @ self.array) if moved else slopes
        squares = np.add.reduceat(self.w * self.w, self.starts[:-1])
        left = np.maximum(np.abs(pull) - self.own_price[self.columns], 0.0)
        push = np.sqrt(np.add.reduceat(left * left, self.starts[:-1]))
        live = np.flatnonzero((squares > 0.0) | (push > EDGE * self.price[self.groups]))
        where = _places(self.starts, live)
        starts = np.concatenate([[0], np.cumsum(np.diff(self.starts)[live])]).astype(np.int64)
        gram, edge = self.kept.at(self.array, where, h)
        total, residual = float(self.kept.h.sum()), slopes[where]
        if problem.intercept:
            gram -= np.outer(edge / total, edge)
            residual -= (level / total) * edge
        w = self.w[where].copy()
        unit = max(float((push[live] / self.price[self.groups][live]).max(initial=0.0)) - 1.0, self.off)
        self._solve(gram, (live, starts), w, residual, max(self.enough(), 1e-3 * min(unit, 1.0) ** 2))
        change = np.zeros(len(self.w))
        change[where] = w - self.w[where]
        shift = (level - float(edge @ change[where])) / total if problem.intercept else 0.0
        along = self.array @ change + shift
        promise = max(float(theta @ along) - (self.paid_by(self.w + change) - self.paid), 0.0)
        bent = self.kept.h * along
        self.kept.learn(promise)
        return self._advance(change, along, shift, promise), promise, bent

    def _advance(self, change: Vector, along: Vector, shift: float, promise: float) -> float:
        here, z, level, length = self.w, self.z, self.level, 1.0
        before = self.risk + self.paid
        while True:
            self.w, self.z, self.level = here + length * change, z + length * along, level + length * shift
            self.risk = self.problem.risk(self.z)
            after = self.risk + self.paid
            if after <= before - FALL * length * promise or promise <= 1e-13 * before or length < SHORTEST:
                break
            length *= 0.5
        self.floor.learn(length)
        return length


def _places(starts: Index, groups: Index) -> Index:
    """Where the columns of these groups are among those taken."""
    return (
        np.concatenate([np.arange(starts[g], starts[g + 1]) for g in groups]) if len(groups) else starts[:0]
    )


def _largest(block: Matrix) -> float:
    """A bound on the eigenvalues of a block, next to the largest."""
    return float(np.linalg.eigvalsh(block)[-1]) * (1.0 + 1e-9)
