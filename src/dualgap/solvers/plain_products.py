"""Newton on a small problem whose matrix would take longer than some products with the table: by these."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dualgap.arrays import Vector
from dualgap.solvers.drawn_metric import drawn_metric, metric_work
from dualgap.solvers.plain_models import ModelStep, PlainByColumns, PlainByRows, Point, StepModel
from dualgap.traits import Trait

STEPS = 5.0  # that a fit takes
CALL, AROUND = 5e5, 1e6  # operations that take as long as what surrounds a product, or a step by matrices
DOUBLE = 1.5  # times as long take those of 8-byte numbers
PAYS, ONCE = 30.0, 40.0  # products that must be cheaper than matrices, and than those that do for every step
MORE = 1.5  # times what matrices would have taken, after which these are made
ROUGHEST, FINEST = 0.1, 1e-3  # share of a residual that a step may leave: far from the optimum, and anywhere
ROUGH = 1e-3  # share of the objective: steps that promise more take gradients in 4-byte numbers
WITHIN = 1.0  # a step whose square promises no more than so many times the gap wanted is to be the last
ENOUGH = 0.2  # share of the gap wanted that the last step may lose
LONGEST = 4.0  # times such a step: a rough one leads astray
EVEN = 2.0  # diagonals no further apart than this need no scaling
METRICS = 5  # of a fit
METRIC_MORE = 3.0  # times what one takes, products go on before
TALL = 2  # rows for each column: with fewer, metrics so early cost 400 × 400 a fifth
LEAST = 20.0  # products before each: where metrics are cheap, curvature still changes much


def first_model(point: Point, wanted: float) -> StepModel:
    """Products where some of them cost less than matrices."""
    n, p = point.array.shape
    steps, pays = (1.0, ONCE) if point.problem.loss_has(Trait.QUADRATIC) else (STEPS, PAYS)
    budget = _budget(n, p, steps)
    return PlainByProducts(point, wanted, budget) if budget >= pays else _direct(point)


def _budget(n: int, p: int, steps: float) -> float:
    """How many products with the table and back take as long as the matrices, and their factors, of a fit."""
    if n < p:
        matrices = 0.5 * n * n * p + steps * (0.25 * n**3 + AROUND)
    else:
        matrices = steps * (DOUBLE * (0.5 * n * p * p + 0.25 * p**3) + AROUND)
    return MORE * matrices / _product(n, p)


def _product(n: int, p: int) -> float:
    """Operations that take as long as a product with the table and back."""
    return 4.0 * n * p + CALL


def _direct(point: Point, w: Vector | None = None, beta: Vector | None = None) -> StepModel:
    n, p = point.array.shape
    return PlainByRows(point, beta) if n < p else PlainByColumns(point, w)


class PlainByProducts:
    """(XᵀHX + Λ) d = −∇P by conjugate gradients in 4-byte numbers, the intercept eliminated.

    Steps are as exact as they are worth (Dembo, Eisenstat and Steihaug, 1982). The one that may be the last
    is gone on with until Σ r²/(2Λ), which is what its residual r costs the dual point, is little.
    """

    def __init__(self, point: Point, wanted: float, budget: float) -> None:
        self.point, self.wanted = point, wanted
        n, p = point.array.shape
        self.metric: Callable[[Any], Any] | None = None
        self.metrics, self.share = METRICS if n >= p else 0, budget
        if n >= TALL * p:
            self.share = max(METRIC_MORE * metric_work(n, p) / _product(n, p), LEAST)
        self.left = self.share
        self.short = point.array.astype(np.float32)
        self.ridge = point.ridge.astype(np.float32)
        self.squares = point.problem.a.astype(np.float32) @ np.square(self.short)
        self.even = _even(self.squares) and _even(self.ridge)  # then their sums are
        self.inverse = 0.5 / point.ridge
        self.w = self.change = np.zeros(len(point.ridge))
        self.beta = self.ahead = np.zeros(len(point.z))
        self.shift, self.promise, self.refined = 0.0, np.inf, False

    @property
    def spent(self) -> bool:
        """Have products taken longer than matrices would have, with metrics, too?"""
        return self.left <= 0.0 and not self.metrics

    def direct(self) -> StepModel:
        """Matrices from here on."""
        return _direct(self.point, self.w, self.beta)

    def step(self, theta: Vector, h: Vector) -> ModelStep:
        point, priced = self.point, self.point.ridge * self.w
        total, level = float(h.sum()), float(theta.sum()) if point.centre is not None else 0.0
        balanced = theta if point.centre is None else theta - (level / total) * h
        if self.left <= 0.0:
            self._draw(h)
        rough = self.promise > ROUGH * point.value
        g = (balanced.astype(np.float32) @ self.short if rough else balanced @ point.array) - priced
        step, seen, r = self._solved(g, h)
        if point.centre is not None:
            self.shift = (level - float(h @ seen)) / total
            seen = seen + self.shift
        self.change, self.ahead = step, theta - h * seen
        pull, square = float(priced @ step), float((point.ridge * step) @ step)
        lost, astray = self._loses(r, 1.0), float(r @ (self.w + step))
        return ModelStep(seen, pull, square, self.ahead, lost=lost, astray=astray, longest=LONGEST)

    def _solved(self, pull: Vector, h: Vector) -> tuple[Vector, Vector, Vector]:
        """d, Xd, and what is left of the slope."""
        X, ridge, free = self.short, self.ridge, self.point.centre is not None
        (n, p), curved, total = X.shape, h.astype(np.float32), np.float32(h.sum())
        size = float(np.abs(pull).max()) or 1.0  # 4-byte numbers end at 1e-38
        improved = self.metric or self._scaling(total)
        # all that moves along together is in one piece: d, Xd and −r; and q, Xq and (XᵀHX + Λ)q
        found, way = np.zeros(n + 2 * p, dtype=np.float32), np.empty(n + 2 * p, dtype=np.float32)
        r, q, image, back = found[n + p :], way[:p], way[p : n + p], way[n + p :]
        np.divide(pull, -size, out=r, casting="same_kind")
        s = improved(r)
        np.negative(s, out=q)
        before = first = float(r @ s)
        value, eta = self.point.value, self._forcing()
        while before > 0.0 and self.left > 0.0:
            np.dot(X, q, out=image)
            pulled = curved * image
            if free:
                pulled -= curved * (pulled.sum() / total)
            np.dot(pulled, X, out=back)
            back += ridge * q
            along = float(q @ back)
            self.left -= 1.0
            if not along > 0.0:
                break
            found += np.float32(before / along) * way
            s = improved(r)
            after = float(r @ s)
            if after <= eta * eta * first:
                promise = float(pull @ found[:p]) * size
                if promise * promise > WITHIN * self.wanted * value * value:
                    break
                if self._loses(r, size) <= ENOUGH * self.wanted * value:
                    break
            q *= np.float32(after / before)
            q -= s
            before = after
        whole = found.astype(np.float64)
        whole *= size
        return whole[:p], whole[p : n + p], -whole[n + p :]

    def _scaling(self, total: Any) -> Callable[[Any], Any]:
        """By the diagonal, as if the curvature were spread evenly."""
        if not self.even:
            diagonal = total * self.squares + self.ridge
            if not _even(diagonal):
                scale = diagonal[0] / diagonal
                return lambda r: r * scale
        return lambda r: r

    def _draw(self, h: Vector) -> None:
        """A metric at these curvatures; where none is to be had, matrices."""
        self.metrics, self.left = self.metrics - 1, self.share
        try:
            self.metric = drawn_metric(self.short, h, self.ridge, free=self.point.centre is not None)
        except np.linalg.LinAlgError:
            self.metrics, self.left = 0, 0.0

    def _loses(self, r: Vector, size: float) -> float:
        return size * size * float((r * r) @ self.inverse)

    def _forcing(self) -> float:
        """How exact a step is worth being."""
        ahead = self.promise / self.point.value
        return max(FINEST, min(ROUGHEST, 0.5 * float(np.sqrt(ahead))))

    def moved(self, length: float, promise: float) -> None:
        self.w = self.w + length * self.change
        self.beta = self.beta + length * (self.ahead - self.beta)
        self.point.level += length * self.shift
        self.promise = promise

    def weights(self) -> Vector:
        return self.w

    def nearly(self) -> Vector:
        return self.w

    def refine(self) -> None:
        """Matrices have more digits; before, predictions by the table itself."""
        if self.refined:
            self.left, self.metrics = 0.0, 0
        self.refined, point = True, self.point
        point.put(point.array @ self.w, 0.5 * float((point.ridge * self.w) @ self.w))


def _even(values: Any) -> bool:
    """Are these no further apart than a scaling would be worth?"""
    return float(values.max()) <= EVEN * float(values.min())
