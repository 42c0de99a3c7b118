"""Smooth losses under a penalty that couples columns: few columns at a time, by their matrix.

What the penalty does with a quadratic of these columns is for who inherits: groups, sorted prices.
One pass a round reads the whole table: θX, which is what columns left out are worth, and the dual point.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator

import numpy as np

from dualgap.arrays import Index, Matrix, Vector
from dualgap.design.line_products import rough_products_with_new
from dualgap.drive.solver import Iterate
from dualgap.problem.problem import Problem
from dualgap.solvers.curvature_floor import CurvatureFloor
from dualgap.solvers.kept_curvature import KeptCurvature, lies_far_out, without_level
from dualgap.solvers.lasso.taken_columns import CopiedColumns, ViewedColumns, dense_columns
from dualgap.solvers.prices import plain
from dualgap.traits import Trait

FIRST = 4.0  # times √p columns are the first set: their matrix takes no longer than two passes over the table
CHEAP = 2e6  # operations that take no time
EDGE = 0.98  # of its price: what a group must be worth to be taken in
FAR = 30.0  # times the gap wanted: no bound is computed beyond
ROUNDS = 60  # that no problem of a fair condition needs
LESS, PATIENCE = 0.9, 4  # rounds that leave more than this share of the violations, before others have a try
BALANCED = 1e-13  # share of Σ|θ| to which Σθ is zero for a first look
STEPS = 3  # of Newton between two passes over the table
SETTLED = 0.05  # violations below which the set is nearly complete
COARSE = 1e-2  # how well it is solved before
NEARLY = 1.0  # violations below which the next θ may be the last
WITHIN = 3.0  # times the violations aimed at: so far inside it is put, to be within all prices
TURNS = 60  # sweeps over the columns taken that are usual
FALL, SHORTEST = 1e-4, 1e-6  # share of its promise that a step must keep; the shortest step


def lacks_columns(problem: Problem) -> tuple[str, ...]:
    """Why few columns at a time do not make up this problem; empty if they do."""
    lacking = [] if problem.loss_has(Trait.SMOOTH) else ["the loss is not smooth"]
    if np.count_nonzero(problem.free) > problem.intercept:
        lacking.append("some columns are free")
    if not plain(problem):
        lacking.append("the columns are sparse")
    return tuple(lacking)


def rounds(point: FewColumns) -> Iterator[Iterate]:
    """Sets that grow, until a proof seems due, or too little is gained."""
    best, waited = np.inf, 0
    for _ in range(ROUNDS):
        found = point.proof()
        yield Iterate(point.asked(), certify=False, look=False) if found is None else found
        waited = 0 if point.off < LESS * best else waited + 1
        best = min(best, point.off)
        if waited > PATIENCE:
            yield Iterate(point.asked(), point.theta.ravel())
            return
        point.improve()


class FewColumns(ABC):
    """w on the columns taken, z = Xw + level, the risk there, and a dual point θ; of outputs a table of each.

    `off` is by what share of its price the worst column is worth more.
    """

    problem: Problem
    wanted: float
    w: Vector
    z: Vector
    level: Vector | float
    risk: float
    theta: Vector
    off: float
    floor: CurvatureFloor

    @abstractmethod
    def paid_by(self, w: Vector) -> float:
        """The penalty of weights of the columns taken."""

    @abstractmethod
    def asked(self) -> Vector:
        """The weights as they were asked for."""

    @abstractmethod
    def dual(self) -> tuple[Vector, Vector]:
        """A feasible dual point near θ, and Xᵀθ there."""

    @abstractmethod
    def improve(self) -> None:
        """Take columns in, minimise over those taken, and value all of them anew."""

    @property
    def paid(self) -> float:
        """The penalty."""
        return self.paid_by(self.w)

    def proof(self) -> Iterate | None:
        """The answer, if the gap seems small enough."""
        problem, paid = self.problem, self.paid
        primal = self.risk + paid
        if self.off * (paid or primal) > FAR * self.wanted * primal:
            return None
        theta, v = self.dual()
        gap = problem.relative(primal - problem.dual(theta, v), primal)
        return Iterate(self.asked(), theta, outright=True) if gap <= self.wanted else None

    def enough(self) -> float:
        """Violations, in prices, that leave the gap wanted: they shrink the dual point by as much."""
        paid = self.paid or self.risk
        return 0.1 * self.wanted * (self.risk + paid) / max(paid, 1e-3 * self.risk)

    def tolerance(self, stored: float) -> tuple[float, bool]:
        """How well to solve a quadratic of the columns taken, and whether that is as well as in the end."""
        last = self.off <= SETTLED or TURNS * len(self.w) ** 2 <= stored  # no more than another pass
        return self.enough() if last else max(min(COARSE, 0.1 * self.off), self.enough()), last

    def advance(self, change: Vector, along: Vector, shift: Vector | float, promise: float) -> float:
        """Go along a step, as far as it keeps a share of what it promises; how far that was."""
        here, z, level, length = self.w, self.z, self.level, 1.0
        before = self.risk + self.paid
        while True:
            self.w, self.z, self.level = here + length * change, z + length * along, level + length * shift
            self.risk = self.problem.risk(self.z.ravel())
            after = self.risk + self.paid
            if after <= before - FALL * length * promise or promise <= 1e-13 * before or length < SHORTEST:
                break
            length *= 0.5
        self.floor.learn(length)
        return length


class WorkingPoint(FewColumns):
    """Of one vector of weights. A θ that may be the last is that of the slopes over `_unit`: a little inside
    all prices.
    """

    level: float

    def __init__(self, problem: Problem, start: Iterate) -> None:
        self.problem, self.wanted = problem, max(start.wanted, 1e-13)
        self.design, p = problem.design.features, problem.design.features.shape[1]
        self.first = max(FIRST * p**0.5, (CHEAP / problem.n) ** 0.5)
        self._taken = dense_columns(problem)
        self.w = np.zeros(0)
        self.begin(np.flatnonzero(start.w[:p]))
        self.w = start.w[self.columns]
        self.z = problem.predict(start.w)
        self.level = float(start.w[-1] + self.centre @ self.w) if problem.intercept else 0.0
        self.risk = problem.risk(self.z)
        self.theta = problem.slope(self.z)
        self.floor, self.kept = CurvatureFloor(problem), KeptCurvature(problem)
        self.gram, self.known, self._last = np.zeros((0, 0)), 0, False
        self._price()

    # -- what the penalty answers --------------------------------------------------------------------

    @abstractmethod
    def begin(self, live: Index) -> None:
        """Take in the columns of a start, with what goes with them."""

    @abstractmethod
    def value(self, v: Vector) -> None:
        """What every column is worth at v = Xᵀθ, and `off`."""

    @abstractmethod
    def choose(self, most: float | None) -> None:
        """Take in the columns that are worth it, at most so many or the best group of them; None: all."""

    @abstractmethod
    def near(self, pull: Vector) -> tuple[Index, float]:
        """The places of columns taken that are not zero or ought not to be; `off` of those taken."""

    @abstractmethod
    def settle(self, gram: Matrix, places: Index, w: Vector, residual: Vector, tolerance: float) -> None:
        """Minimise ½wᵀGw − cᵀw with the penalty over the columns at these places, in place.

        `residual` is c − Gw; what is left of the slopes is at most the tolerance, in prices.
        """

    # -- the columns taken ---------------------------------------------------------------------------

    @property
    def columns(self) -> Index:
        """Which they are, in the order they came."""
        return self._taken.columns

    @property
    def centre(self) -> Vector:
        """What each is counted from: its mean where that is far from zero and there is an intercept, or 0."""
        return self._taken.centre

    def _centred(self) -> None:
        """Go on with a centred copy of the columns taken."""
        copy = CopiedColumns(self.problem)
        copy.add(self.columns)
        self.level += float((copy.centre - self.centre) @ self.w)
        self._taken, self.kept = copy, KeptCurvature(self.problem)

    def take(self, fresh_columns: Index) -> None:
        """Take in columns that were not."""
        self.w = np.concatenate([self.w, np.zeros(len(fresh_columns))])
        self._taken.add(fresh_columns)

    def asked(self) -> Vector:
        w = np.zeros(self.problem.p)
        w[self.columns] = self.w
        if self.problem.intercept:
            w[-1] = self.level - float(self.centre @ self.w)
        return w

    def _price(self) -> None:
        unit = 1.0 + WITHIN * self.enough() if self._last else 1.0
        self.theta, self.pull, self._unit = self.problem.foreseen(self.theta, unit)
        self.theta_sum = float(self.theta.sum())
        self.value(np.append(self.pull, 0.0) if self.problem.intercept else self.pull)

    def dual(self) -> tuple[Vector, Vector]:
        problem, v = self.problem, np.append(self.pull, 0.0) if self.problem.intercept else self.pull
        if problem.intercept and abs(self.theta_sum) > BALANCED * float(np.abs(self.theta).sum()):
            return problem.feasible(self.theta, v)
        return self.theta / (1.0 + self.off), v / (1.0 + self.off)  # shrinking is all that it needs

    def improve(self) -> None:
        whole = len(self.pull) <= self.first
        self.choose(None if whole else max(self.first, float(np.count_nonzero(self.w))))
        self._last = self.off <= NEARLY
        self.theta = self._quadratic() if self.problem.loss_has(Trait.QUADRATIC) else self._general()
        self._price()

    # -- steps ---------------------------------------------------------------------------------------

    def _quadratic(self) -> Vector:
        """A quadratic loss: one matrix, which grows."""
        problem = self.problem
        self._grow()
        w = self.w.copy()
        residual = self._unit * (self.pull[self.columns] - self.centre * self.theta_sum)
        size = len(w)
        tolerance, last = self.tolerance(self.design.stored)
        gram = np.ascontiguousarray(self.gram[:size, :size])
        self.settle(gram, np.arange(size), w, residual, tolerance)
        self._last = last
        shift = self._unit * self.theta_sum / self.total if problem.intercept else 0.0
        self.z = self.z + self._taken.times(w - self.w) + shift
        self.w, self.level = w, self.level + shift
        self.risk = problem.risk(self.z)
        return problem.slope(self.z)

    def _grow(self) -> None:
        problem, array, before = self.problem, self._taken.array, self.known
        if not before:
            self.h = problem.a * problem.loss.second_derivative(problem.y, self.z)
            self.total = float(self.h.sum())
        self.known = size = array.shape[1]
        if size == before:
            return
        gram = np.empty((size, size))
        gram[:before, :before] = self.gram[:before, :before]
        gram[before:] = rough_products_with_new(array, self.h, before)
        gram[:before, before:] = gram[before:, :before].T
        self.gram = gram

    def _general(self) -> Vector:
        """Another loss: steps of proximal Newton on the columns that are not zero or ought not to be."""
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
        level, slopes = float(theta.sum()), self._taken.against(theta)
        moved = level / float(h.sum()) if problem.intercept else 0.0  # by the intercept, to its best
        pull = slopes - moved * self._taken.against(h) if moved else slopes
        where, off = self.near(pull)
        gram, edge = self.kept.at(self._taken.array, self._taken.places(where), h)
        total, residual = float(self.kept.h.sum()), slopes[where]
        if problem.intercept:
            if isinstance(self._taken, ViewedColumns) and lies_far_out(gram, edge, total):
                self._centred()
                return self._step(theta)
            without_level(gram, edge, total)
            residual -= (level / total) * edge
        w = self.w[where].copy()
        unit = max(off, self.off)
        self.settle(gram, where, w, residual, max(self.enough(), 1e-3 * min(unit, 1.0) ** 2))
        change = np.zeros(len(self.w))
        change[where] = w - self.w[where]
        shift = (level - float(edge @ change[where])) / total if problem.intercept else 0.0
        along = self._taken.times(change) + shift
        promise = max(float(theta @ along) - (self.paid_by(self.w + change) - self.paid), 0.0)
        bent = self.kept.h * along
        self.kept.learn(promise)
        return self.advance(change, along, shift, promise), promise, bent
