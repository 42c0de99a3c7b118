"""Smooth losses with an l1 part over dense columns: few of them at a time, by their matrix.

Only two kinds of passes read the whole table: one for the prices at w = 0, and one a round, θX, which is the
gradient, what columns left out are worth, and the dual point at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import numpy as np

from dualgap.arrays import Index, Matrix, Vector
from dualgap.drive.solver import Iterate
from dualgap.problem.problem import Problem
from dualgap.solvers.curvature_floor import CurvatureFloor
from dualgap.solvers.kept_curvature import KeptCurvature, weighted
from dualgap.solvers.lasso.all_columns import all_columns
from dualgap.solvers.lasso.l1_quadratic import violation
from dualgap.solvers.lasso.model_matrix import SWEEPS, ModelMatrix
from dualgap.solvers.prices import plain, prices
from dualgap.traits import Trait

FAR = 30.0  # times the gap wanted: no bound is computed beyond
CHEAP = 2e6  # operations that take no time
FIRST = 2.0  # times √p columns are the first set: their matrix costs no more than some passes over the table
GROWTH = 2  # the next set has at most so many times the columns that are not zero
EDGE = 0.98  # of its price: what a column must be worth to be taken in
STEPS = 3  # of Newton between two passes over the table
ROUNDS = 60  # that no problem of a fair condition needs
LESS, PATIENCE = 0.9, 4  # rounds that leave more than this share of the violations, before others have a try
SETTLED = 0.05  # violations, in prices, below which the set is nearly complete
FEW = 20  # nor is the answer far where columns came in for no more than one in so many
COARSE = 1e-2  # and to what share of the prices a set is solved until then
INSIDE_OFF = 0.3  # of the violations outside the set: those inside that are not worth a step of Newton
FALL = 1e-4  # share of what a step promises that it must keep
SHORTEST = 1e-6  # of a step; below it rounding decides
ROOM = 4  # times the columns taken that there is room for
CONSTANT = 1e-20  # a column whose centred square is this share of its own is constant


class WorkingSet:
    """Top columns → their centred Gram matrix → coordinate descent → θX; other losses by proximal Newton."""

    name: ClassVar[str] = "coordinate_descent"
    exact_zeros: ClassVar[bool] = True  # a column that is not worth its price has the weight 0, not 1e-10

    @staticmethod
    def fits(problem: Problem) -> bool:
        """Are the columns dense, each with a price, and do the models of the loss hold?"""
        if not problem.loss_has(Trait.SMOOTH) or not plain(problem):
            return False
        return bool(np.count_nonzero(prices(problem)[0]) == problem.p - problem.intercept)

    def iterates(self, problem: Problem, start: Iterate) -> Iterator[Iterate]:
        n, p = problem.design.features.shape
        if problem.loss_has(Trait.QUADRATIC) and p <= _first(n, p):
            yield from all_columns(problem, start)
        point = _Point(problem, start)
        best, waited = np.inf, 0
        for _ in range(ROUNDS):
            found = point.proof()
            yield Iterate(point.asked(), certify=False, look=False) if found is None else found
            waited = 0 if point.off < LESS * best else waited + 1
            best = min(best, point.off)
            if waited > PATIENCE:
                return
            point.improve()


class _Point:
    """w on the columns taken so far, z = Xw + b, and a dual point with what it makes of every column."""

    def __init__(self, problem: Problem, start: Iterate) -> None:
        self.problem, self.wanted = problem, max(start.wanted, 1e-13)
        self.design = problem.design.features
        p = self.design.shape[1]
        price, ridge = prices(problem)
        self.price, self.ridge = price[:p], ridge[:p]
        self.taken = _Taken(self)
        first = np.flatnonzero(start.w[:p])
        self.taken.add(first)
        self.w = start.w[first]
        self.z = problem.predict(start.w)
        self.level = float(start.w[-1] + self.taken.centre @ self.w) if problem.intercept else 0.0
        self.risk = problem.risk(self.z)
        self.theta = problem.slope(self.z)
        self.ridged, self.whole, self.fresh = bool(self.ridge.any()), False, 0
        self.first = _first(problem.n, p)
        self._price()
        self.model: _Quadratic | _General = (
            _Quadratic(self) if problem.loss_has(Trait.QUADRATIC) else _General(self)
        )

    @property
    def paid(self) -> float:
        which = self.taken.columns
        return float(self.price[which] @ np.abs(self.w)) + 0.5 * float(self.ridge[which] @ (self.w * self.w))

    def enough(self) -> float:
        """Violations, in prices, that leave the gap wanted: they shrink the dual point by as much."""
        paid = self.paid or self.risk
        return 0.3 * self.wanted * (self.risk + paid) / max(paid, 1e-3 * self.risk)

    def asked(self) -> Vector:
        """The weights as they were asked for."""
        problem, which = self.problem, self.taken.columns
        w = np.zeros(problem.p)
        w[which] = self.w
        if problem.intercept:
            w[-1] = self.level - float(self.taken.centre @ self.w)
        return w

    def _price(self) -> None:
        """What each column is worth beside its price, and how far the worst is off."""
        self.theta_sum = float(self.theta.sum())
        self.pull = self.design.transpose_matvec(self.theta)
        worth = self.pull.copy()
        if self.ridged:
            worth[self.taken.columns] -= self.ridge[self.taken.columns] * self.w
        np.abs(worth, out=worth)
        worth /= self.price
        self.worth, self.off = worth, max(float(worth.max()) - 1.0, 0.0)

    def proof(self) -> Iterate | None:
        """The answer, if the gap seems small enough."""
        problem, paid = self.problem, self.paid
        primal = self.risk + paid
        far = self.off * (paid or primal) > FAR * self.wanted * primal
        if far and not (self.ridged and self.off <= SETTLED):
            return None
        v = np.append(self.pull, 0.0) if problem.intercept else self.pull
        theta, v = problem.feasible(self.theta, v)
        gap = problem.relative(primal - problem.dual(theta, v), primal)
        return Iterate(self.asked(), theta, outright=True) if gap <= self.wanted else None

    def improve(self) -> None:
        """Take columns in, minimise over those taken, and price all of them anew."""
        worth, taken = self.worth, self.taken
        worth[taken.columns] = 0.0
        if len(worth) <= self.first:  # all at once
            new, self.whole = np.setdiff1d(np.arange(len(worth)), taken.columns), True
        else:
            new = np.flatnonzero(worth >= EDGE)
        most = int(max(self.first, (GROWTH - 1.0) * np.count_nonzero(self.w)))
        if len(new) > most:
            new = new[np.argpartition(-worth[new], most)[:most]]
        if len(new):
            self.w = np.concatenate([self.w, np.zeros(len(new))])
            taken.add(new)
        self.fresh = len(new)
        self.theta = self.model.improve()
        self._price()


class _Taken:
    """Columns, centred where there is an intercept, in the order they came."""

    def __init__(self, point: _Point) -> None:
        self._point = point
        self.columns: Index = np.zeros(0, dtype=np.int64)
        self.centre = np.zeros(0)
        self._room: Matrix = np.empty((point.problem.n, 0), order="F")

    @property
    def array(self) -> Matrix:
        """One column for each of `columns`."""
        return self._room[:, : len(self.columns)]

    def add(self, new: Index) -> None:
        """Take in columns that were not."""
        if not len(new):
            return
        problem, before = self._point.problem, len(self.columns)
        self.columns = np.concatenate([self.columns, new])
        if len(self.columns) > self._room.shape[1]:  # what is not written to takes no memory
            room = np.empty((problem.n, ROOM * len(self.columns)), order="F")
            room[:, :before] = self._room[:, :before]
            self._room = room
        fresh = self._room[:, before : len(self.columns)]
        array = self._point.design.toarray()
        if array.flags.f_contiguous:
            np.take(array.T, new, axis=0, out=fresh.T, mode="clip")  # "raise" copies once more
        else:
            fresh[...] = array[:, new]
        centre = problem.a @ fresh if problem.intercept else np.zeros(len(new))
        self.centre = np.concatenate([self.centre, centre])
        if problem.intercept:
            fresh -= centre


class _Quadratic:
    """A quadratic loss: one matrix, which grows."""

    def __init__(self, point: _Point) -> None:
        problem = point.problem
        self.point = point
        self.h = problem.a * problem.loss.second_derivative(problem.y, point.z)
        self.total = float(self.h.sum())
        self.matrix, self.known = ModelMatrix(np.zeros((0, 0))), 0
        self.even = bool(self.h.min() == self.h.max())

    def improve(self) -> Vector:
        """Move to the minimum over the columns taken, as far as the others allow; the slopes there."""
        point, taken = self.point, self.point.taken
        self._grow()
        which = taken.columns
        price, w = point.price[which], point.w.copy()
        residual = point.pull[which] - taken.centre * point.theta_sum - point.ridge[which] * w
        cheap = (
            SWEEPS * len(w) ** 2 <= point.design.stored
        )  # all the sweeps it may take cost less than a pass
        last = cheap or point.whole or point.off <= SETTLED or FEW * point.fresh <= len(w)
        self.matrix.solve(w, residual, price, point.enough() if last else COARSE)
        shift = point.theta_sum / self.total if point.problem.intercept else 0.0
        point.z = point.z + taken.array @ (w - point.w) + shift
        point.w, point.level = w, point.level + shift
        point.risk = point.problem.risk(point.z)
        return point.problem.slope(point.z)

    def _grow(self) -> None:
        array, before = self.point.taken.array, self.known
        self.known = size = array.shape[1]
        if size == before:
            return
        if size > len(self.matrix.gram):
            most = max(size, 3 * before)
            room = np.empty((most, most))
            room[:before, :before] = self.matrix.gram[:before, :before]
            self.matrix = ModelMatrix(room)
        gram, fresh = self.matrix.gram, array[:, before:]
        if before:
            cross = array[:, :before].T @ (fresh if self.even else fresh * self.h[:, None])
            gram[:before, before:size] = cross * self.h[0] if self.even else cross
            gram[before:size, :before] = gram[:before, before:size].T
        gram[before:size, before:size] = (
            self.h[0] * (fresh.T @ fresh) if self.even else weighted(fresh.T, self.h)
        )
        new, which = np.arange(before, size), self.point.taken.columns[before:]
        own = gram[new, new]
        own[own <= CONSTANT * self.total * self.point.taken.centre[before:] ** 2] = 0.0
        gram[new, new] = own + self.point.ridge[which]
        self.matrix.factor.forget()


class _General:
    """Another loss: steps of proximal Newton on the columns that are not zero or ought not to be."""

    def __init__(self, point: _Point) -> None:
        self.point = point
        self.floor = CurvatureFloor(point.problem)
        self.kept = KeptCurvature(point.problem)

    def improve(self) -> Vector:
        """Some steps; the dual point ahead of the last one, or the slopes where that was cut short."""
        point, problem = self.point, self.point.problem
        ahead = point.theta
        for _ in range(STEPS):
            theta = problem.slope(point.z)
            found = self._step(theta)
            if found is None:
                return theta
            step, promise, bent = found
            ahead = np.clip(theta - bent, *problem.dual_bounds) if step == 1.0 else problem.slope(point.z)
            share = promise / (point.risk + point.paid)
            if share * max(share, self.kept.off**2) <= 0.1 * point.wanted:
                break
        return ahead

    def _step(self, theta: Vector) -> tuple[float, float, Vector] | None:
        """A step's length, what it promised, and by how much it moves the slopes; None where none is due."""
        point, taken = self.point, self.point.taken
        h, which = self.floor.curvature(point.z), taken.columns
        price, ridge = point.price[which], point.ridge[which]
        slopes, level = theta @ taken.array - ridge * point.w, float(theta.sum())
        moved = level / float(h.sum()) if point.problem.intercept else 0.0  # by the intercept, to its best
        pull = slopes - moved * (h @ taken.array) if moved else slopes
        if point.off > SETTLED and violation(point.w, pull, price) <= INSIDE_OFF * point.off:
            return None
        live = np.flatnonzero((point.w != 0.0) | (np.abs(pull) > EDGE * price))
        gram, edge = self.kept.at(taken.array, live, h)
        total, residual = float(self.kept.h.sum()), slopes[live]
        if point.problem.intercept:
            gram -= np.outer(edge / total, edge)
            residual -= (level / total) * edge
        gram.flat[:: len(live) + 1] += ridge[live]
        w = point.w[live].copy()
        off = violation(w, residual, price[live])
        ModelMatrix(gram).solve(w, residual, price[live], max(1e-12, off * min(0.1, 0.1 * off)))
        change = w - point.w[live]
        shift = (level - float(edge @ change)) / total if point.problem.intercept else 0.0
        full = np.zeros(len(point.w))
        full[live] = change
        along = taken.array @ full + shift
        smooth = float(theta @ along) - float((ridge[live] * point.w[live]) @ change)
        fall = float(price[live] @ (np.abs(w) - np.abs(point.w[live])))
        promise = max(smooth - fall, 0.0)
        bent = self.kept.h * along
        self.kept.learn(promise)
        return self._advance(full, along, shift, promise), promise, bent

    def _advance(self, change: Vector, along: Vector, shift: float, promise: float) -> float:
        point, here, z, level, length = self.point, self.point.w, self.point.z, self.point.level, 1.0
        before = point.risk + point.paid
        while True:
            point.w, point.z, point.level = here + length * change, z + length * along, level + length * shift
            point.risk = point.problem.risk(point.z)
            after = point.risk + point.paid
            if after <= before - FALL * length * promise or promise <= 1e-13 * before or length < SHORTEST:
                break
            length *= 0.5
        self.floor.learn(length)
        return length


def _first(n: int, p: int) -> float:
    """How many columns of n rows are taken at first."""
    return float(max(FIRST * p**0.5, (CHEAP / n) ** 0.5))
