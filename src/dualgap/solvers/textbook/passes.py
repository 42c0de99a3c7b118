"""The state of a stochastic run: what one pass leaves for the next, and `partial_fit` between calls."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from dualgap.arrays import Vector
from dualgap.compiled.layout import Lines
from dualgap.design import Design
from dualgap.losses import Loss
from dualgap.problem.problem import Problem
from dualgap.solvers.design_lines import rows
from dualgap.solvers.prices import prices
from dualgap.solvers.textbook.schedules import Schedule
from dualgap.traits import Trait

Order = Literal["shuffled", "uniform", "given"]


def slope_shape(loss: Loss) -> int | None:
    """Which compiled slope serves this loss; 0 is a sum of terms."""
    return 0 if Trait.PIECEWISE_QUADRATIC in loss.traits else loss.slope_shape


def rows_of(design: Design) -> Lines:
    """The rows without the ones, as compiled loops read them."""
    lines = rows(design.features)
    if lines.dense:
        return lines
    return lines._replace(indices=lines.indices.view(np.uint32))  # indices without a sign need no check of it


def draw(random: np.random.Generator, n: int, order: Order) -> NDArray[np.int64]:
    """n row numbers: as they come, every row once in random order, or n independent draws."""
    if order == "given":
        return np.arange(n)
    return random.permutation(n) if order == "shuffled" else random.integers(0, n, n)


@dataclass(frozen=True, eq=False)
class SampledRows:
    """A problem as the compiled loop reads it: made once, read in every pass."""

    lines: Lines
    targets: tuple[Any, ...]  # shape of the slope, y, terms, weights with mean one
    l1: Vector
    ridge: float
    intercept: bool

    @classmethod
    def of(cls, problem: Problem, weights: Vector | None = None) -> SampledRows:
        """`weights` of the rows, n·a unless others are given."""
        price, ridge = prices(problem)
        width = problem.p - problem.intercept
        weights = problem.a * problem.n if weights is None else weights
        y = np.array(problem.y.reshape(problem.n, -1)[:, 0])  # an offset beside it is in the terms
        targets = (slope_shape(problem.loss), y, _terms(problem), np.array(weights))
        return cls(
            rows_of(problem.design),
            targets,
            price[:width] if price.any() else np.zeros(0),
            float(ridge[:width].max(initial=0.0)),
            problem.intercept,
        )


def _terms(problem: Problem) -> tuple[Any, Any, Any, float]:
    if Trait.PIECEWISE_QUADRATIC not in problem.loss.traits:
        nothing = np.zeros((1, 1))
        return nothing, nothing, nothing, 0.0
    terms = problem.loss.terms(problem.y)
    kink, lower, upper = (np.array(part, order="C") for part in (terms.kink, terms.lower, terms.upper))
    return kink, lower, upper, float(terms.softness)


class Runner:
    """w as scale·v, its running average and the number of steps taken; the schedule goes on with these."""

    def __init__(
        self,
        start: Vector,
        length: Schedule,
        batch: int = 1,
        *,
        intercept: bool,
        averaged: bool = False,
        lift: float = 1.0,
    ) -> None:
        self.length, self.batch = length, batch
        self.intercept, self.averaged = intercept, averaged
        self.lift = lift if intercept else 0.0  # b moves by this share of η
        self.v = np.array(start[:-1] if intercept else start, dtype=np.float64)
        self.numbers = np.array([1.0, float(start[-1]) if intercept else 0.0, 0.0])
        self.total = np.zeros_like(self.v)
        self.parts = np.zeros(2)
        self.steps = 0

    def learn(self, problem: Problem, weights: Vector) -> None:
        """Take the rows of a problem in, in the order given."""
        self.run(SampledRows.of(problem, weights), np.arange(problem.n))

    def run(self, data: SampledRows, order: NDArray[np.int64]) -> float:
        """Take the rows in this order, `batch` at a time; returns the last step length."""
        from dualgap.solvers.textbook.stochastic_passes import stochastic_pass

        count = -(-len(order) // self.batch)
        lengths = lengths_of(self.length, self.steps + 1, count)
        price = (data.l1, data.ridge, self.lift, float(self.averaged))
        state = (self.v, self.numbers, self.total, self.parts)
        stochastic_pass(data.lines, data.targets, (order, self.batch, lengths), price, state)
        self.steps += count
        return float(lengths[-1])

    def weights(self) -> Vector:
        """The last w, or the average over all steps, the intercept behind."""
        whole = np.empty(len(self.v) + self.intercept)
        w, b = whole[: len(self.v)], self.numbers[1]
        np.multiply(self.v, self.numbers[0], out=w)
        if self.averaged and self.numbers[2] > 0:
            w[:] = (self.total + self.parts[0] * self.v) / self.numbers[2]
            b = self.parts[1] / self.numbers[2]
        whole[len(self.v) :] = b
        return whole


def lengths_of(length: Schedule, first: int, count: int) -> Vector:
    """η_first … η_{first+count−1}; rules written with arithmetic take the whole array at once."""
    k = np.arange(first, first + count)
    try:
        values = np.asarray(length(k), dtype=np.float64)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        values = np.array([length(int(i)) for i in k], dtype=np.float64)
    return np.array(np.broadcast_to(values, (count,)))
