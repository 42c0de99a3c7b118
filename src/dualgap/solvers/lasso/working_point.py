"""A point on few columns of a table, and what every column is worth there."""

from __future__ import annotations

import numpy as np

from dualgap.arrays import Index, Matrix, Vector
from dualgap.drive.solver import Iterate
from dualgap.problem.problem import Problem
from dualgap.solvers.prices import prices

FAR = 2.0  # times the gap wanted: no bound is computed beyond
CHEAP = 2e6  # operations that take no time
FIRST = 2.0  # times √p columns are the first set: their matrix costs no more than some passes over the table
GROWTH = 2  # the next set has at most so many times the columns that are not zero
EDGE = 0.98  # of its price: what a column must be worth to be taken in
SETTLED = 0.05  # violations, in prices, below which the set is nearly complete
ROOM = 4  # times the columns taken that there is room for


class PricedColumns:
    """w on the columns taken so far, z = Xw + b, and a dual point with what it makes of every column."""

    def __init__(self, problem: Problem, start: Iterate) -> None:
        self.problem, self.wanted = problem, max(start.wanted, 1e-13)
        self.design = problem.design.features
        p = self.design.shape[1]
        price, ridge = prices(problem)
        self.price, self.ridge = price[:p], ridge[:p]
        self.taken = TakenColumns(self)
        first = np.flatnonzero(start.w[:p])
        self.taken.add(first)
        self.w = start.w[first]
        self.level = float(start.w[-1] + self.taken.centre @ self.w) if problem.intercept else 0.0
        self.z = self.taken.array @ self.w + self.level if start.prediction is None else start.prediction
        self._objective: float | None = None
        self.scale = problem.null  # the last objective that was worked out
        self.theta = problem.slope(self.z)
        self.ridged, self.whole, self.fresh = bool(self.ridge.any()), False, 0
        self.first = first_set(problem.n, p)
        self._price(start.correlated(problem, self.theta)[:p])

    @property
    def paid(self) -> float:
        """What the penalty is at this point."""
        which = self.taken.columns
        return float(self.price[which] @ np.abs(self.w)) + 0.5 * float(self.ridge[which] @ (self.w * self.w))

    def objective(self) -> float:
        """At this point; a pass over the rows."""
        if self._objective is None:
            self._objective = self.scale = self.problem.risk(self.z) + self.paid
        return self._objective

    def move(self, w: Vector, z: Vector, level: float) -> None:
        """To these weights of the columns taken."""
        self.w, self.z, self.level, self._objective = w, z, level, None

    def enough(self) -> float:
        """Violations, in prices, that leave the gap wanted: they shrink the dual point by as much."""
        primal, paid = self.objective(), self.paid
        risk = primal - paid
        paid = paid or risk
        return 0.3 * self.wanted * (risk + paid) / max(paid, 1e-3 * risk)

    def asked(self) -> Vector:
        """The weights as they were asked for."""
        problem, which = self.problem, self.taken.columns
        w = np.zeros(problem.p)
        w[which] = self.w
        if problem.intercept:
            w[-1] = self.level - float(self.taken.centre @ self.w)
        return w

    def reach(self, theta: Vector) -> None:
        """A new dual point: a pass over the table."""
        self.theta = theta
        self._price(self.design.transpose_matvec(theta))

    def _price(self, pull: Vector) -> None:
        """What each column is worth beside its price, and how far the worst is off."""
        self.theta_sum = float(self.theta.sum())
        self.pull, worth = pull, pull.copy()
        if self.ridged:
            worth[self.taken.columns] -= self.ridge[self.taken.columns] * self.w
        np.abs(worth, out=worth)
        worth /= self.price
        self.worth, self.off = worth, max(float(worth.max()) - 1.0, 0.0)

    def proof(self) -> Iterate | None:
        """The answer, if the gap seems small enough."""
        problem, paid = self.problem, self.paid
        far = self.off * (paid or self.scale) > FAR * self.wanted * self.scale
        if far and not (self.ridged and self.off <= SETTLED):
            return None
        primal = self.objective()
        v = np.append(self.pull, 0.0) if problem.intercept else self.pull
        theta, v = problem.feasible(self.theta, v)
        w = self.asked()
        gap = problem.relative(primal - problem.dual_near(theta, v, (w, self.z, primal)), primal)
        return Iterate(w, theta, outright=True) if gap <= self.wanted else None

    def choose(self) -> None:
        """Take columns in that are worth it."""
        worth, taken = self.worth, self.taken
        worth[taken.columns] = 0.0
        if len(worth) <= self.first:  # all at once
            new, self.whole = np.setdiff1d(np.arange(len(worth)), taken.columns), True
        else:
            new = np.flatnonzero(worth >= EDGE)
        most = int(self.room())
        if len(new) > most:
            new = new[np.argpartition(-worth[new], most)[:most]]
        if len(new):
            self.w = np.concatenate([self.w, np.zeros(len(new))])
            taken.add(new)
        self.fresh = len(new)

    def room(self) -> float:
        """How many columns may come to those that are not zero, at once."""
        return max(self.first, (GROWTH - 1.0) * np.count_nonzero(self.w))


class TakenColumns:
    """Columns, centred where there is an intercept, in the order they came."""

    def __init__(self, point: PricedColumns) -> None:
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


def first_set(n: int, p: int) -> float:
    """How many columns of n rows are taken at first."""
    return float(max(FIRST * p**0.5, (CHEAP / n) ** 0.5))
