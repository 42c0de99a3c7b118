"""Where Newton on a small problem stands, and its model there: by columns, or by rows if these are fewer.

Products are asked for by `dot`: with `@` each takes a microsecond longer, and the smallest fits have fifty.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from dualgap.arrays import Matrix, Vector
from dualgap.linalg.cholesky import Solve, cholesky
from dualgap.problem.problem import Problem
from dualgap.solvers.prices import prices

SHORTEST = 1e-6  # of a step; below it rounding decides
FALL = 1e-4  # share of what a step promises that it must keep
FAR = 0.1  # share of the objective that a step promises: then longer ones are tried
SINGLE = 1e7  # operations from which on 4-byte numbers make the rows' matrix in half the time
ROUNDED = 1000.0  # times what digits lose: predictions that move by less are the table's to tell
KEPT = 0.1  # share of the curvature that may change before the rows' matrix is factored again
STIFF = 1e30  # 1/h at most: 4-byte numbers end at 1e38


@dataclass(frozen=True, eq=False)
class ModelStep:
    """A step d of the weights, and of the intercept, as the rows see it."""

    along: Vector  # what it does to the predictions
    pull: float  # w·Λd
    square: float  # d·Λd
    ahead: Vector  # the dual point of the model's minimum, with Xᵀθ = Λ(w + d)
    exact: bool = True  # was it made with the curvatures here?
    lost: float = 0.0  # what θ loses where that does not hold quite, Σ r²/(2Λ)
    astray: float = 0.0  # and r·(w + d)
    longest: float = np.inf  # how many such steps may be taken at once


class Point:
    """z = Xw + b, the columns centred where there is an intercept, and ½ w·Λw."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        array = problem.design.features.toarray()
        self.centre = problem.a.dot(array) if problem.intercept else None
        self.array: Matrix = array if self.centre is None else array - self.centre
        self.ridge = prices(problem)[1][: array.shape[1]]
        self.level, self.price = float(problem.null_weights[-1]) if problem.intercept else 0.0, 0.0
        self.z = np.full(problem.n, self.level)
        self.value = problem.risk(self.z)

    def bends(self) -> tuple[Vector, Vector]:
        """θ, and the curvatures."""
        problem = self.problem
        slope, bend = problem.loss.bends(problem.y, self.z)
        return -problem.a * slope, problem.a * bend

    def put(self, seen: Vector, price: float) -> None:
        """To weights with these predictions, but for the intercept, and this price."""
        self.z, self.price = seen + self.level, price
        self.value = self.problem.risk(self.z) + price

    def advance(self, move: ModelStep, promise: float) -> float:
        """ModelStep by the longest of 1, ½, ¼, … times the step that keeps a share of what it promises.

        Far from the optimum by twice as much again while that is better: a look costs no pass over the table,
        and where a plane separates the classes each step of Newton goes too short.
        """
        before, length = self.value, 1.0
        value = self._tried(move, length)
        while not (
            value <= before - FALL * length * promise or promise <= 1e-14 * before or length < SHORTEST
        ):
            length *= 0.5
            value = self._tried(move, length)
        while 1.0 <= length < move.longest and promise > FAR * before:
            longer = self._tried(move, 2.0 * length)
            if not longer < value:
                break
            value, length = longer, 2.0 * length
        self.z, self.value = self.z + length * move.along, value
        self.price += length * (move.pull + 0.5 * length * move.square)
        return length

    def _tried(self, move: ModelStep, length: float) -> float:
        """The objective so far along a step."""
        price = self.price + length * (move.pull + 0.5 * length * move.square)
        return self.problem.risk(self.z + length * move.along) + price

    def gap(self, move: ModelStep) -> float:
        """The relative gap at the end of a step, with the dual point that is its own."""
        problem, theta = self.problem, move.ahead
        lower, upper = problem.dual_bounds
        if not ((theta >= lower) & (theta <= upper)).all():
            return np.inf
        bound = -float(problem.a.dot(problem.loss.conjugate(problem.y, -theta / problem.a))) - self.price
        return problem.relative(self.value - bound + move.lost + move.astray, self.value)

    def asked(self, w: Vector) -> Vector:
        """The weights as they were asked for."""
        if self.centre is None:
            return w
        found = np.empty(len(w) + 1)
        found[:-1], found[-1] = w, self.level - float(self.centre.dot(w))
        return found


class StepModel(Protocol):
    """The quadratic that a step goes to the minimum of."""

    def step(self, theta: Vector, h: Vector) -> ModelStep:
        """The step for these slopes, and for these curvatures or some not far from them."""

    def moved(self, length: float, promise: float) -> None:
        """So much of the step was taken, of which so much was to be had."""

    def weights(self) -> Vector:
        """Where that led."""

    def nearly(self) -> Vector:
        """The same to the digits that steps are made of."""

    def refine(self) -> None:
        """These were no proof: go on with all digits."""


class PlainByColumns:
    """XᵀHX + Λ, the intercept eliminated."""

    def __init__(self, point: Point, w: Vector | None = None) -> None:
        self.point, self.w = point, np.zeros(len(point.ridge)) if w is None else w
        self.change, self.shift = self.w, 0.0

    def step(self, theta: Vector, h: Vector) -> ModelStep:
        point = self.point
        scaled = point.array * np.sqrt(h)[:, None]
        gram, priced = scaled.T.dot(scaled), point.ridge * self.w
        pull = theta.dot(point.array) - priced
        if point.centre is None:
            step = _solved(gram, point.ridge, pull)
            along = point.array.dot(step)
        else:
            edge, total, level = h.dot(point.array), float(h.sum()), float(theta.sum())
            gram -= np.outer(edge / total, edge)
            step = _solved(gram, point.ridge, pull - (level / total) * edge)
            self.shift = (level - float(edge.dot(step))) / total
            along = point.array.dot(step) + self.shift
        self.change = step
        square = float((point.ridge * step).dot(step))
        return ModelStep(along, float(priced.dot(step)), square, theta - h * along)

    def moved(self, length: float, promise: float) -> None:
        self.w = self.w + length * self.change
        self.point.level += length * self.shift

    def weights(self) -> Vector:
        return self.w

    def nearly(self) -> Vector:
        return self.w

    def refine(self) -> None:
        """There are no more digits."""


class PlainByRows:
    """w = Λ⁻¹Xᵀβ. With K = XΛ⁻¹Xᵀ the model's minimum is at β + δ, δ = r − (e + t f), r = θ − β,

    (H⁻¹ + K) [e, f] = [Kr, 1],   t, the step of the intercept, such that Σ(β + δ) = 0;

    and Xᵀθ = Λ(w + d) holds exactly for the dual point θ = β + δ. Predictions move by Kδ, so that nothing
    but K is read until the weights are asked for: in 4-byte numbers where these are worth it, and at last,
    where their digits were too few for a proof, by the table itself.
    """

    def __init__(self, point: Point, beta: Vector | None = None) -> None:
        self.point = point
        n, p = point.array.shape
        kind: Any = np.float32 if float(n) * n * p > SINGLE else np.float64
        ridge, even = point.ridge, point.ridge.min() == point.ridge.max()
        self.unit = ridge if even else np.sqrt(ridge)
        self.short: Any = (point.array if even else point.array / self.unit).astype(kind, copy=False)
        self.kernel = self.short @ self.short.T
        if even:
            self.kernel *= kind(1.0 / ridge[0])
        self.beta = self.change = np.zeros(n)
        self.shift, self.refined, self.blurred = 0.0, False, False
        self.largest = float(self.kernel.diagonal().max()) * float(np.finfo(kind).eps)
        self.solve: Solve | None = None
        self.held = self.beta
        if beta is not None:
            self._start(beta)

    def _start(self, beta: Vector) -> None:
        """From there, if it is better than nothing; with all digits, since it was hard to get there."""
        point, problem, self.refined = self.point, self.point.problem, True
        seen = self._seen(beta)
        point.put(seen, 0.5 * float(beta @ seen))
        if point.value < problem.null:
            self.beta = beta
        else:
            point.level = float(problem.null_weights[-1]) if problem.intercept else 0.0
            point.put(np.zeros(len(beta)), 0.0)

    def step(self, theta: Vector, h: Vector) -> ModelStep:
        solve = self.solve
        if solve is None or float(np.abs(h - self.held).sum()) > KEPT * float(h.sum()):
            solve = self.solve = self._factorised(h)
        rest = theta - self.beta
        change = rest - solve(self.kernel @ rest.astype(self.kernel.dtype, copy=False))
        if self.point.centre is not None:
            f = solve(np.ones(len(h)))
            self.shift = float((self.beta + change).sum()) / float(f.sum())
            change -= self.shift * f
            change -= float((self.beta + change).sum()) / float(h.sum()) * h  # what rounding leaves
        self.change = change
        along = self._seen(change)
        if not self.refined:  # sums of n products in digits of the kernel
            self.blurred |= ROUNDED * self.largest * float(np.abs(change).sum()) > float(np.abs(along).max())
        pull, square = float(self.beta @ along), float(change @ along)
        along = along + self.shift if self.shift else along
        return ModelStep(along, pull, square, self.beta + change, self.held is h)

    def _seen(self, beta: Vector) -> Vector:
        """Kβ."""
        if self.refined:
            return self.point.array @ ((beta @ self.point.array) / self.point.ridge)
        return np.asarray(self.kernel @ beta.astype(self.kernel.dtype, copy=False), dtype=np.float64)

    def _factorised(self, h: Vector) -> Solve:
        self.held = h
        matrix = self.kernel.copy()
        matrix.flat[:: len(h) + 1] += np.minimum(1.0 / h, STIFF)
        return cholesky(matrix)

    def moved(self, length: float, promise: float) -> None:
        self.beta = self.beta + length * self.change
        self.point.level += length * self.shift
        if self.blurred:
            self.refine()

    def weights(self) -> Vector:
        return (self.beta @ self.point.array) / self.point.ridge

    def nearly(self) -> Vector:
        return np.asarray((self.beta.astype(self.short.dtype, copy=False) @ self.short) / self.unit)

    def refine(self) -> None:
        if not self.refined:
            self.refined, self.blurred = True, False
            seen = self._seen(self.beta)
            self.point.put(seen, 0.5 * float(self.beta @ seen))


def _solved(gram: Matrix, ridge: Vector, right: Vector) -> Vector:
    gram.flat[:: len(ridge) + 1] += ridge
    return cholesky(gram)(right)
