"""Newton on a table as it was asked, where a matrix XᵀHX costs as much as many products with X.

One such matrix, of some of the rows or of an early point, is the metric; what it is off by is learnt from
the steps themselves.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from dualgap.arrays import Matrix, Vector
from dualgap.drive.solver import Iterate
from dualgap.linalg.cholesky import Solve, cholesky
from dualgap.linalg.line_search import convex_step
from dualgap.problem.problem import Problem
from dualgap.proof.statement import SMALL
from dualgap.solvers.metrics import Plain
from dualgap.solvers.prices import prices
from dualgap.solvers.sampling import in_runs, of_rows

FIRST_ROWS = 10  # for each column: where steps of Newton begin
ROWS = 50  # for each column: of the metric
LEAST = 1000  # for each of both
SHARE = 4  # a row in so many at most is in it
FEWEST = 5  # rows for each column: fewer make no metric, and all are taken
RUN, RUNS = 32, 16  # neighbours that are taken together, where they are copied; and of views, how many runs
FIRST_STEPS = 10  # of Newton on the sample
ENOUGH = 0.1  # share of what its minimiser is off by, p/m, that a step there may still promise
STEPS = 100  # with products: more are a sign that the rows of the sample are not like the others
STALE = 12  # of them with one metric, where a new one is no more than another look at all rows
SURE = 0.5  # of the gap wanted: what it is reckoned to be when a proof is asked for
ROUGH = 1e-2  # share of a column's square that is left once it is centred, for a matrix in 4-byte numbers
FIRM = 1e-6  # and in all digits: six are lost, ten remain


class BorrowedMetric:
    """w ← w − s B∇P(w): B is at first (XᵀHX + Λ)⁻¹ on the sample, and is mended by secants.

    Cost per step: a product with X and one with Xᵀ; of a matrix over 100 columns that is a tenth.
    """

    name: ClassVar[str] = "newton"

    def iterates(self, problem: Problem, start: Iterate) -> Iterator[Iterate]:
        n, p = problem.design.features.shape
        rows = min(max(ROWS * p, LEAST), n // SHARE)
        whole = rows < max(FEWEST * p, LEAST)
        point, metric = _from_null(problem) if whole else _from_a_sample(problem, rows)
        if not metric.firm:
            return
        model = metric.model()
        for k in range(STEPS):
            if point.proves(metric, SURE * start.wanted):
                yield Iterate(point.asked(), point.balanced(), outright=True)
            else:
                yield Iterate(point.asked(), certify=False, look=False)
            if whole and k and k % STALE == 0:
                metric = point.metric()
                model = metric.model()
            before = point.pull
            step = model.step(-before, point.w)
            length = point.advance(step)
            if length == 0.0:
                return
            model.learn(length * step, before - point.pull)


def _square(array: Matrix) -> Matrix:
    short = array.astype(np.float32)
    return np.asarray(short.T @ short)


def _from_null(problem: Problem) -> tuple[_Point, _Metric]:
    point = _Point(problem)
    return point, point.metric()


def _from_a_sample(problem: Problem, rows: int) -> tuple[_Point, _Metric]:
    """The minimiser on some rows, and the metric there, of some more."""
    n, p = problem.design.features.shape
    first = min(max(FIRST_ROWS * p, LEAST), rows)
    seen = _Point(of_rows(problem, in_runs(n, n // first, RUN)))
    metric = seen.minimised()
    if first < rows and metric.firm:
        metric = seen.over(problem, rows, metric)
    return _Point(problem, seen), metric


@dataclass(frozen=True, eq=False)
class _Metric:
    """XᵀHX over centred columns, the level last, and whether they are known to enough digits."""

    matrix: Matrix
    ridge: Vector
    firm: bool

    def model(self) -> Plain:
        """Of the loss and the ridge."""
        return Plain(self.solve(), self.ridge)

    def solve(self) -> Solve:
        """With the ridge."""
        system = self.matrix.copy()
        system.flat[:: len(system) + 1] += self.ridge
        return cholesky(system)


class _Point:
    """(w, level), z = Xw + level − w·centre, θ, and what the loss falls by along each of them: `pull`."""

    def __init__(self, problem: Problem, like: _Point | None = None) -> None:
        self.problem, self.design = problem, problem.design.features
        p = self.design.shape[1]
        self.ridge, self.levels = prices(problem)[1], problem.levels
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
        problem, ridge = self.problem, self.ridge
        along = self._products(step)
        constant, linear = float((ridge * self.w) @ step), float((ridge * step) @ step)

        def slope(s: float) -> float:
            theta = self.theta if s == 0.0 else problem.slope(self.z + s * along)
            return constant + s * linear - float(theta @ along)

        length = convex_step(slope)
        if length > 0.0:
            self.w, self.z = self.w + length * step, self.z + length * along
            self.theta = problem.slope(self.z)
            self.pull = self._pulls(self.theta)
        return length

    def metric(self) -> _Metric:
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
        return _Metric(found, self.ridge, firm)

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

    def over(self, whole: Problem, rows: int, like: _Metric) -> _Metric:
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

    def minimised(self) -> _Metric:
        """Go to the minimum over these rows, as near as it is to that over all."""
        problem, metric = self.problem, self.metric()
        enough = ENOUGH * problem.p / problem.n * problem.null
        for _ in range(FIRST_STEPS):
            if not metric.firm:
                break
            step = metric.model().step(-self.pull, self.w)
            promise = float((self.pull - self.ridge * self.w) @ step)
            if self.advance(step) == 0.0 or promise <= enough:
                break
            metric = self.metric()
        return metric

    def proves(self, metric: _Metric, wanted: float) -> bool:
        """Is the relative gap, with θ balanced, so small, but for rounding and the rows left out?"""
        rest, gap = self.pull - self.ridge * self.w, 0.0
        if self.levels:
            move = self.pull[-1] / metric.matrix[-1, -1]
            gap, rest = 0.5 * move * self.pull[-1], rest[:-1] - move * metric.matrix[-1, :-1]
        gap += 0.5 * float((rest / self.ridge[: len(rest)]) @ rest)
        if gap <= wanted * self.scale:
            value = self.problem.risk(self.z) + 0.5 * float((self.ridge * self.w) @ self.w)
            self.scale = max(value, SMALL * self.problem.null)
        return gap <= wanted * self.scale

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
