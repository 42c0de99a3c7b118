"""A point on a tall table as it was asked, and the matrix XᵀHX of some of its rows: a step costs two products
with X, which are a tenth of the matrix over 100 columns.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dualgap.arrays import Matrix, Vector
from dualgap.linalg.line_search import convex_step
from dualgap.problem.problem import Problem
from dualgap.proof.statement import SMALL
from dualgap.solvers.prices import prices
from dualgap.solvers.sampling import in_runs, of_rows

FIRST_ROWS = 10  # for each column: where steps of Newton begin
ROWS = 50  # for each column: of the metric
LEAST = 1000  # for each of both
SHARE = 4  # a row in so many at most is in it
FEWEST = 5  # rows for each column: fewer make no metric
NARROW = 64  # columns: the matrix of all rows takes less time than the step that it spares
RUN, RUNS = 32, 16  # neighbours that are taken together, where they are copied; and of views, how many runs
FIRST_STEPS = 10  # of Newton on the sample
ENOUGH = 0.1  # share of what its minimiser is off by, p/m, that a step there may still promise
ROUGH = 1e-2  # share of a column's square that is left once it is centred, for a matrix in 4-byte numbers
INSIDE = 1.0 - 1e-13  # a scaled dual point is put this much inside
NEAR = 1e-9  # of a step: the slope of a price at its start is that on the way
FIRM = 1e-6  # and in all digits: six are lost, ten remain

Step = Callable[[Matrix, "TallPoint"], Vector]  # from a point to the minimum of a model with this matrix


def _square(array: Matrix) -> Matrix:
    short = array.astype(np.float32)
    return np.asarray(short.T @ short)


def from_null(problem: Problem) -> tuple[TallPoint, TallMetric]:
    """No weights, and the metric of all rows there."""
    point = TallPoint(problem)
    return point, point.metric()


def sample_size(problem: Problem) -> int:
    """How many rows make a metric: all where columns are few, 0 where a share is too few for these."""
    n, p = problem.design.features.shape
    rows = min(max(ROWS * p, LEAST), n // SHARE)
    if rows < max(FEWEST * p, LEAST):
        return 0
    return n if p <= NARROW else rows


def from_a_sample(problem: Problem, rows: int, step: Step) -> tuple[TallPoint, TallMetric]:
    """The minimiser on some rows, by these steps, and the metric there, of some more."""
    n, p = problem.design.features.shape
    first = min(max(FIRST_ROWS * p, LEAST), rows)
    seen = TallPoint(of_rows(problem, in_runs(n, n // first, RUN)))
    metric = seen.minimised(step)
    if rows == n and metric.firm:
        point = TallPoint(problem, seen)
        return point, point.metric()
    if first < rows and metric.firm:
        metric = seen.over(problem, rows, metric)
    return TallPoint(problem, seen), metric


@dataclass(frozen=True, eq=False)
class TallMetric:
    """XᵀHX over centred columns, the level last, and whether they are known to enough digits."""

    matrix: Matrix
    firm: bool


class TallPoint:
    """(w, level), z = Xw + level − w·centre, θ, and what the loss falls by along each of them: `pull`."""

    def __init__(self, problem: Problem, like: TallPoint | None = None) -> None:
        self.problem, self.design = problem, problem.design.features
        p = self.design.shape[1]
        self.levels = problem.levels
        self.price, self.ridge = prices(problem)
        if like is None:
            self.centre = problem.column_means[:p] if problem.intercept else np.zeros(p)
            self.w = problem.null_weights.copy()
            self.z = problem.null_prediction
        else:
            self.centre, self.w = like.centre, like.w
            self.z = self._products(self.w)
        self.theta = problem.slope(self.z)
        self.pull = self._pulls(self.theta)
        self.scale = problem.null
        self.longest = np.inf if problem.regulariser.box is None else 1.0  # a longer step might leave the box

    def _products(self, w: Vector) -> Vector:
        if not self.levels:
            return self.design.matvec(w)
        return np.asarray(self.design.matvec(w[:-1]) + (w[-1] - float(self.centre @ w[:-1])))

    def _pulls(self, theta: Vector) -> Vector:
        pull = self.design.transpose_matvec(theta)
        if not self.levels:
            return pull
        level = float(theta.sum())
        return np.append(pull - level * self.centre, level)

    def advance(self, step: Vector) -> float:
        """By as much of a step as lowers the objective most, or enough; how much that was."""
        problem, ridge, w = self.problem, self.ridge, self.w
        along = self._products(step)
        priced = bool(self.price.any())
        constant, linear = float((ridge * w) @ step), float((ridge * step) @ step)

        tried = 0.0, self.theta

        def slope(s: float) -> float:
            nonlocal tried
            theta = self.theta if s == 0.0 else problem.slope(self.z + s * along)
            tried = s, theta
            paid = float((self.price * step) @ np.sign(w + max(s, NEAR) * step)) if priced else 0.0
            return constant + s * linear + paid - float(theta @ along)

        length = min(convex_step(slope), self.longest)
        if length > 0.0:
            self.w, self.z = w + length * step, self.z + length * along
            self.theta = tried[1] if tried[0] == length else problem.slope(self.z)  # it mostly is the last
            self.pull = self._pulls(self.theta)
        return length

    def metric(self) -> TallMetric:
        """At this point: in 4-byte numbers, unless columns so far out lose too much of them."""
        problem = self.problem
        h = problem.a * problem.loss.second_derivative(problem.y, self.z)
        square = float(h.sum()) * self.centre**2
        for single, share in ((True, ROUGH), (False, FIRM)):
            found = self._matrix(h, single=single)
            spread = found.diagonal()[: len(square)]
            firm = bool((spread >= share * (square + spread)).all())
            if firm:
                break
        return TallMetric(found, firm)

    def _matrix(self, h: Vector, *, single: bool) -> Matrix:
        """Σ h x xᵀ over the centred columns and, last, the ones."""
        gram = self.design.weighted_gram(h, single=single)
        if not self.levels:
            return gram
        p, total, edge = len(gram), float(h.sum()), self.design.transpose_matvec(h)
        cross = np.outer(self.centre, edge - (0.5 * total) * self.centre)
        matrix = np.empty((p + 1, p + 1))
        np.subtract(gram, cross + cross.T, out=matrix[:p, :p])
        matrix[p, :p] = matrix[:p, p] = edge - total * self.centre
        matrix[p, p] = total
        return matrix

    def over(self, whole: Problem, rows: int, like: TallMetric) -> TallMetric:
        """At these weights, over so many rows of the whole in few runs, which are read where they are."""
        array: Any = whole.design.features.toarray()
        n, p = array.shape
        matrix, total = np.zeros((p + self.levels, p + self.levels)), 0.0
        run = rows // RUNS
        for begin in range(0, n - run + 1, max(n // RUNS, run)):
            part = slice(begin, begin + run)
            own = array[part] - self.centre
            z = own @ self.w[:p] + (self.w[p] if self.levels else 0.0)
            h = whole.a[part] * whole.loss.second_derivative(whole.y[part], z)
            total += float(whole.a[part].sum())
            root = np.sqrt(h)
            own *= root[:, None]
            matrix[:p, :p] += _square(own)
            if self.levels:
                matrix[p, :p] += root @ own
                matrix[p, p] += float(h.sum())
        if self.levels:
            matrix[:p, p] = matrix[p, :p]
        return replace(like, matrix=matrix / total)

    def minimised(self, step: Step) -> TallMetric:
        """Go to the minimum over these rows, as near as it is to that over all."""
        problem, metric = self.problem, self.metric()
        enough = ENOUGH * problem.p / problem.n * problem.null
        for _ in range(FIRST_STEPS):
            if not metric.firm:
                break
            move = step(metric.matrix, self)
            promise = (
                float((self.pull - self.ridge * self.w) @ move) - self.paid(self.w + move) + self.paid(self.w)
            )
            if self.advance(move) == 0.0 or promise <= enough:
                break
            metric = self.metric()
        return metric

    def paid(self, w: Vector) -> float:
        """The prices of these weights, without the ridge."""
        return float(self.price @ np.abs(w))

    def proves(self, metric: TallMetric, wanted: float) -> bool:
        """Is the relative gap, with θ balanced, so small, but for rounding and the rows left out?"""
        v, gap = self.pull, 0.0
        if self.levels:
            move = v[-1] / metric.matrix[-1, -1]
            gap, v = 0.5 * move * v[-1], np.append(v[:-1] - move * metric.matrix[-1, :-1], 0.0)
        regulariser = self.problem.regulariser
        gap += regulariser.bracket(self.w, v, np.zeros_like(v)).value
        if gap <= wanted * self.scale:
            value = (
                self.problem.risk(self.z) + self.paid(self.w) + 0.5 * float((self.ridge * self.w) @ self.w)
            )
            self.scale = max(value, SMALL * self.problem.null)
        return bool(gap <= wanted * self.scale)

    def balanced(self) -> Vector:
        """θ that sums to zero."""
        if not self.levels:
            return self.theta
        problem = self.problem
        h = problem.a * problem.loss.second_derivative(problem.y, self.z)
        return np.asarray(self.theta - (self.pull[-1] / float(h.sum())) * h)

    def asked(self) -> Vector:
        """The weights as they were asked for."""
        if not self.levels:
            return self.w
        return np.append(self.w[:-1], self.w[-1] - float(self.centre @ self.w[:-1]))
