"""A point on few columns of a table, and what every column is worth there."""

from __future__ import annotations

import numpy as np

from dualgap.arrays import Vector
from dualgap.drive.solver import Iterate
from dualgap.problem.problem import Problem
from dualgap.proof.statement import SMALL
from dualgap.solvers.curvature_floor import CurvatureFloor
from dualgap.solvers.lasso.taken_columns import ColumnsTaken, CopiedColumns, SparseColumns, dense_columns
from dualgap.solvers.prices import prices

FAR = 2.0  # times the gap wanted: no bound is computed beyond
CHEAP = 2e6  # operations that take no time
FIRST = 2.0  # times √p columns are the first set: their matrix costs no more than some passes over the table
GROWTH = 2  # the next set has at most so many times the columns that are not zero
EDGE = 0.98  # of its price: what a column must be worth to be taken in
MANY = 128  # sparse columns: with 100 a text took as long by sweeps, with 500 half as long
LEVEL = 1e-15  # share of Σ|θ| to which Σθ is zero: what the kernel still moves is rounding
INSIDE = 1.0 - 1e-13  # a scaled dual point is put this much inside
AIM, FLOOR = 0.1, 1e-3  # of the gap wanted; share of the objective that prices are taken to make up at least
SURE = 0.3  # of the gap wanted, by an objective of before: it is not worked out anew
# So much of the gap wanted is spent on putting θ inside the prices: where these are a small share of the
# objective, it is put in by more, but no more times than that.
WITHIN, MOST = 0.2, 3.0
SETTLED = 0.05  # violations, in prices, below which the set is nearly complete


class PricedColumns:
    """w on the columns taken so far, z = Xw + b, and a dual point with what it makes of every column."""

    def __init__(self, problem: Problem, start: Iterate, scale: float | None = None) -> None:
        self.problem, self.wanted = problem, max(start.wanted, 1e-13)
        self.design = problem.design.features
        p = self.design.shape[1]
        price, ridge = prices(problem)
        self.price, self.ridge = price[:p], ridge[:p]
        self.sparse = self.design.sparse is not None
        self.taken: ColumnsTaken = SparseColumns(problem) if self.sparse else dense_columns(problem)
        first = np.flatnonzero(start.w[:p])
        self.taken.add(first)
        self.w = start.w[first]
        self.level = float(start.w[-1] + self.taken.centre @ self.w) if problem.intercept else 0.0
        self.z = self.taken.times(self.w) + self.level if start.prediction is None else start.prediction
        self._objective: float | None = None
        self.scale = problem.null if scale is None else scale  # the last objective that was worked out
        self.floor = CurvatureFloor(problem)
        self.theta, self.h = self.floor.bends(self.z)  # h is of the start
        self.ridged, self.whole, self.fresh = bool(self.ridge.any()), False, 0
        self.first, self.unit = first_set(problem.n, p), 1.0  # θ and `pull` are those of the slopes over unit
        self._sure = False
        self._price(start.correlated(problem, self.theta)[:p])

    @property
    def paid(self) -> float:
        """What the penalty is at this point."""
        which = self.taken.columns
        paid = float(self.price[which].dot(np.abs(self.w)))
        return paid + 0.5 * float(self.ridge[which].dot(self.w * self.w)) if self.ridged else paid

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
        return 0.3 * self.wanted * (risk + paid) / max(paid, FLOOR * risk)

    @property
    def aim(self) -> float:
        """Violations, in prices, that are little beside the gap wanted; as far as is known without a pass."""
        return AIM * self.wanted * self.scale / max(self.paid, FLOOR * self.scale)

    def asked(self) -> Vector:
        """The weights as they were asked for."""
        problem, which = self.problem, self.taken.columns
        w = np.zeros(problem.p)
        w[which] = self.w
        if problem.intercept:
            w[-1] = self.level - float(self.taken.centre @ self.w)
        return w

    def centred(self) -> None:
        """Go on with a centred copy of the columns taken."""
        copy = CopiedColumns(self.problem)
        copy.add(self.taken.columns)
        self.level += float((copy.centre - self.taken.centre) @ self.w)
        self.taken = copy

    def reach(self, theta: Vector, *, last: bool, sure: bool) -> None:
        """A new dual point: a pass over the table. The last one is put a little inside the prices.

        `sure`: nothing but a column that is worth more stands between it and a proof.
        """
        share = min(self.scale / (self.paid or self.scale), MOST)
        unit, self._sure = 1.0 + WITHIN * self.wanted * share if last else 1.0, sure
        self.theta, pull, self.unit = self.problem.foreseen(theta, unit)
        self._price(pull)

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
        paid = self.paid
        far = self.off * (paid or self.scale) > FAR * self.wanted * self.scale
        if far and not (self.ridged and self.off <= SETTLED):
            return None
        problem, theta, v = self.problem, self.theta, self.pull
        if self._sure and self.unit > 1.0 and not self.off:
            return Iterate(self.asked(), theta, outright=True)
        if problem.intercept and abs(self.theta_sum) > LEVEL * float(np.abs(theta).sum()):
            theta, v = problem.feasible(theta, np.append(v, 0.0))
        else:  # shrinking is all that it needs
            share = 1.0 if self.ridged or not self.off else INSIDE / (1.0 + self.off)
            theta, v = share * theta, np.append(share * v, 0.0) if problem.intercept else share * v
        w = self.asked()
        bracket, excess, _ = problem.regulariser.bracket(w, v, np.zeros_like(v))
        gap = float(problem.a @ problem.loss.fenchel_young(problem.y, self.z, -theta / problem.a))
        gap += bracket + excess * self.scale
        enough = gap <= self.wanted * self.scale
        if enough and gap > SURE * self.wanted * self.scale:
            enough = gap <= self.wanted * max(self.objective(), SMALL * problem.null)
        return Iterate(w, theta, outright=True) if enough else None

    @property
    def crowded(self) -> bool:
        """Are there more sparse columns than a matrix is good for?"""
        if not self.sparse:
            return False
        return max(len(self.w), int(np.count_nonzero(self.worth >= EDGE))) > MANY

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


def first_set(n: int, p: int) -> float:
    """How many columns of n rows are taken at first."""
    return float(max(FIRST * p**0.5, (CHEAP / n) ** 0.5))
