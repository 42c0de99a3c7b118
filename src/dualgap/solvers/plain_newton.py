"""Newton on a small problem as it was asked: a centred copy, a system on its smaller side, no more."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, Protocol

import numpy as np

from dualgap.arrays import Matrix, Vector
from dualgap.drive.solver import Iterate
from dualgap.linalg.cholesky import Solve, cholesky
from dualgap.problem.problem import Problem
from dualgap.solvers.prices import prices

LIMIT = 50  # steps: where these do not do, good coordinates may
SHORTEST = 1e-6  # of a step; below it rounding decides
FALL = 1e-4  # share of what a step promises that it must keep
SINGLE = 1e7  # operations from which on 4-byte numbers make the rows' matrix in half the time
FAR = 0.1  # share of the objective that a step promises: then longer ones are tried
KEPT = 0.1  # share of the curvature that may change before the rows' matrix is factored again
SURE = 0.03  # one at the very curvatures whose square promises no more than this needs no look before a proof
NEAR = 30.0  # a step whose square promises so many times the gap wanted may be the last


class PlainNewton:
    """w ← w + s d, where (XᵀHX + Λ) d = −∇P(w), by columns or, where rows are fewer, by rows."""

    name: ClassVar[str] = "newton"

    def iterates(self, problem: Problem, start: Iterate) -> Iterator[Iterate]:
        point = _Point(problem)
        rows = problem.n < problem.p - problem.intercept
        model: _Model = _ByRows(point) if rows else _ByColumns(point)
        for _ in range(LIMIT):
            theta, h = point.bends()
            if not float(h.sum()) > 0.0:
                return
            step, shift, ahead = model.step(theta, h)
            along = point.array @ step + shift
            promise = float(theta @ along) - float((point.ridge * point.w) @ step)
            if not promise >= 0.0:
                return
            length = point.advance(step, shift, along, promise)
            model.moved(length)
            left = promise * promise if length == 1.0 else np.inf
            aim = start.wanted * point.value * point.value
            if ahead is None:
                ahead = theta - h * along
            sure = left <= SURE * aim and model.held is h
            last = sure or (left <= NEAR * aim and point.gap(ahead) <= start.wanted)
            yield Iterate(point.asked(), ahead, outright=True) if last else point.passing()
            if length < SHORTEST:
                return


class _Point:
    """w and z = Xw + b, the columns centred where there is an intercept."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        array = problem.design.features.toarray()
        self.centre = problem.a @ array if problem.intercept else None
        self.array: Matrix = array if self.centre is None else array - self.centre
        self.ridge = prices(problem)[1][: array.shape[1]]
        self.w, self.level = np.zeros(array.shape[1]), float(problem.null_weights[-1])
        self.level = self.level if problem.intercept else 0.0
        self.z = np.full(problem.n, self.level)
        self.value = problem.risk(self.z)

    def bends(self) -> tuple[Vector, Vector]:
        """θ, and the curvatures."""
        problem = self.problem
        slope, bend = problem.loss.bends(problem.y, self.z)
        return -problem.a * slope, problem.a * bend

    def advance(self, step: Vector, shift: float, along: Vector, promise: float) -> float:
        """Move by the longest of 1, ½, ¼, … times the step that keeps a share of what it promises.

        Far from the optimum by twice as much again while that is better: a look costs no pass over the table,
        and where a plane separates the classes each step of Newton goes too short.
        """
        before, length = self.value, 1.0
        value = self._tried(step, along, length)
        while not (
            value <= before - FALL * length * promise or promise <= 1e-14 * before or length < SHORTEST
        ):
            length *= 0.5
            value = self._tried(step, along, length)
        while length >= 1.0 and promise > FAR * before:
            longer = self._tried(step, along, 2.0 * length)
            if not longer < value:
                break
            value, length = longer, 2.0 * length
        self.w, self.z, self.value = self.w + length * step, self.z + length * along, value
        self.level += length * shift
        return length

    def _tried(self, step: Vector, along: Vector, length: float) -> float:
        """The objective so far along a step."""
        w = self.w + length * step
        return self.problem.risk(self.z + length * along) + 0.5 * float((self.ridge * w) @ w)

    def gap(self, theta: Vector) -> float:
        """The relative gap with a dual point that has Xᵀθ = Λw."""
        problem = self.problem
        lower, upper = problem.dual_bounds
        if not np.all((theta >= lower) & (theta <= upper)):
            return np.inf
        price = 0.5 * float((self.ridge * self.w) @ self.w)
        bound = -float(problem.a @ problem.loss.conjugate(problem.y, -theta / problem.a)) - price
        return problem.relative(self.value - bound, self.value)

    def asked(self) -> Vector:
        """The weights as they were asked for."""
        if self.centre is None:
            return self.w
        return np.append(self.w, self.level - float(self.centre @ self.w))

    def passing(self) -> Iterate:
        """An iterate that is worth no look."""
        return Iterate(self.asked(), certify=False, look=False)


class _Model(Protocol):
    held: Vector  # the curvatures that the last step was made with

    def step(self, theta: Vector, h: Vector) -> tuple[Vector, float, Vector | None]:
        """The step of the weights, that of the intercept, and the dual point of the model's minimum.

        That is θ − h times what the step does to the predictions, where nothing better is known (None).
        """

    def moved(self, length: float) -> None:
        """So much of the step was taken."""


class _ByColumns:
    """XᵀHX + Λ, the intercept eliminated."""

    def __init__(self, point: _Point) -> None:
        self.point, self.held = point, np.zeros(0)

    def step(self, theta: Vector, h: Vector) -> tuple[Vector, float, Vector | None]:
        point, self.held = self.point, h
        scaled = point.array * np.sqrt(h)[:, None]
        gram, pull = scaled.T @ scaled, theta @ point.array - point.ridge * point.w
        if point.centre is None:
            step, shift = _solved(gram, point.ridge, pull), 0.0
        else:
            edge, total, level = h @ point.array, float(h.sum()), float(theta.sum())
            gram -= np.outer(edge / total, edge)
            step = _solved(gram, point.ridge, pull - (level / total) * edge)
            shift = (level - float(edge @ step)) / total
        return step, shift, None

    def moved(self, length: float) -> None:
        """Nothing is kept."""


class _ByRows:
    """w = Λ⁻¹Xᵀβ. With K = XΛ⁻¹Xᵀ and q = √h the model's minimum is at β + δ, δ = r − q(e + t f), r = θ − β,

    (1 + qKq) [e, f] = q [Kr, 1],   t, the step of the intercept, such that Σ(β + δ) = 0;

    and Xᵀθ = Λ(w + d) holds exactly for the dual point θ = β + δ.
    """

    def __init__(self, point: _Point) -> None:
        self.point = point
        n, p = point.array.shape
        kind: Any = np.float32 if float(n) * n * p > SINGLE else np.float64
        ridge, even = point.ridge, point.ridge.min() == point.ridge.max()
        short: Any = (point.array if even else point.array / np.sqrt(ridge)).astype(kind)
        self.kernel = short @ short.T
        if even:
            self.kernel *= kind(1.0 / ridge[0])
        self.beta, self.change = np.zeros(n), np.zeros(n)
        self.solve: Solve | None = None
        self.root = self.held = np.zeros(n)

    def step(self, theta: Vector, h: Vector) -> tuple[Vector, float, Vector | None]:
        solve = self.solve
        if solve is None or float(np.abs(h - self.held).sum()) > KEPT * float(h.sum()):
            solve = self.solve = self._factorised(h)
        q, rest, shift = self.root, theta - self.beta, 0.0
        e = q * solve(q * (self.kernel @ rest.astype(self.kernel.dtype)))
        self.change = rest - e
        if self.point.centre is not None:
            f = q * solve(q)
            shift = (float(theta.sum()) - float(e.sum())) / float(f.sum())
            self.change -= shift * f
            self.change -= float((self.beta + self.change).sum()) / float(h.sum()) * h  # what rounding leaves
        ahead = self.beta + self.change
        weights = (ahead @ self.point.array) / self.point.ridge
        return weights - self.point.w, shift, ahead

    def _factorised(self, h: Vector) -> Solve:
        self.held, self.root = h, np.sqrt(h)
        q = self.root.astype(self.kernel.dtype)
        matrix = self.kernel * q
        matrix *= q[:, None]
        matrix.flat[:: len(h) + 1] += 1.0
        return cholesky(matrix)

    def moved(self, length: float) -> None:
        self.beta = self.beta + length * self.change


def _solved(gram: Matrix, ridge: Vector, right: Vector) -> Vector:
    gram.flat[:: len(ridge) + 1] += ridge
    return cholesky(gram)(right)
