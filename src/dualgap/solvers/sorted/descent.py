"""Smooth losses with slope over dense columns: proximal steps with momentum, by their matrix."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dualgap.arrays import Index, Matrix, Vector
from dualgap.drive.registry import solver
from dualgap.drive.solver import STEP, Iterate
from dualgap.linalg.cholesky import cholesky
from dualgap.problem.problem import Problem
from dualgap.solvers.working_columns import EDGE, WorkingPoint, lacks_columns, rounds
from dualgap.traits import Trait

PASSES = 200  # proximal steps before the first one of Newton: most problems need no more
LONGER = 2  # times as many before the next: Newton ends a run, but does not lead there
TURNS = 6  # of both, before a pass over the table
LEAST = 1e-12  # violations, in prices, that are rounding
SAME = 1e-12  # share of the largest weight by which equal ones may differ


@solver("sorted_descent")
@dataclass(frozen=True)
class SortedDescent:
    """Accelerated proximal steps and Newton on what they find equal (Larsson et al., 2023, in part), on
    working sets by their strong rule, inside proximal Newton.

    Cost per round: one pass for Xᵀθ, and the matrix of the columns taken. Memory: a copy of these columns,
    and their matrix.
    """

    name: ClassVar[str] = "sorted_descent"

    def missing(self, problem: Problem) -> tuple[str, ...]:
        falling = problem.regulariser.gauge.falling
        if falling is None or problem.regulariser.constrained:
            return ("the penalty is none of sorted prices, added to the loss",)
        scale = falling.scale[falling.scale > 0.0]
        uneven = len(scale) and scale.max() > scale.min() * (1.0 + 1e-12)
        return (*(("the columns have different scales",) if uneven else ()), *lacks_columns(problem))

    def cost(self, problem: Problem) -> float:
        n, p = problem.design.shape
        taken = min(p / 4.0, n / 2.0)
        several = 2.0 if problem.loss_has(Trait.QUADRATIC) else 12.0
        return 4.0 * STEP + 10.0 * problem.design.stored + 0.2 * several * n * taken * taken

    def at_once(self, problem: Problem) -> SortedDescent | None:
        """Dense columns that all have a price."""
        return None if self.missing(problem) else self

    def iterates(self, problem: Problem, start: Iterate) -> Iterator[Iterate]:
        yield from rounds(_SortedPoint(problem, start))


class _SortedPoint(WorkingPoint):
    """Columns come in one by one; of those that are zero the most valuable pays the highest price left."""

    def begin(self, live: Index) -> None:
        regulariser, p = self.problem.regulariser, self.design.shape[1]
        falling = regulariser.gauge.falling
        assert falling is not None and not regulariser.constrained
        self.gauge, self.strength = regulariser.gauge, regulariser.strength
        self.price = self.strength * float(falling.scale[:p].max(initial=0.0)) * falling.prices[:p]
        self.top = 0.0
        if len(live):
            self.take(live)

    def paid_by(self, w: Vector) -> float:
        return float(self.price[: len(w)] @ np.sort(np.abs(w))[::-1])

    def value(self, v: Vector) -> None:
        self.off = max(self.gauge.smallest_strength_at_zero(v) / self.strength - 1.0, 0.0)

    def choose(self, most: float | None) -> None:
        outside = np.ones(len(self.pull), dtype=bool)
        outside[self.columns] = False
        if most is None:
            new = np.flatnonzero(outside)
        else:
            still = np.ones(len(self.pull), dtype=bool)
            still[self.columns[self.w != 0.0]] = False
            new = self._worthy(np.abs(self.pull), np.flatnonzero(still))
            new = new[outside[new]][: max(int(most), 1)]
        if len(new):
            self.take(new)

    def _worthy(self, size: Vector, zero: Index) -> Index:
        """Those of the weights at zero that are worth what is left of the prices, the most valuable first.

        All up to where sizes have outgrown their prices most (Larsson, Bogdan and Wallin, 2020).
        """
        zero = zero[np.argsort(-size[zero], kind="stable")]
        nonzero = len(size) - len(zero)
        left = self.price[nonzero : nonzero + len(zero)]
        over = np.cumsum(size[zero] - EDGE * left)
        count = int(np.argmax(over)) + 1 if len(over) and over.max() > 0.0 else 0
        return zero[:count]

    def near(self, pull: Vector) -> tuple[Index, float]:
        size, zero = np.abs(pull), np.flatnonzero(self.w == 0.0)
        places = np.union1d(np.flatnonzero(self.w), self._worthy(size, zero))
        sizes = np.sort(size)[::-1]
        with np.errstate(divide="ignore", invalid="ignore"):
            off = np.cumsum(sizes) / np.cumsum(self.price[: len(sizes)])
        return places, float(off.max(initial=0.0)) - 1.0

    def settle(self, gram: Matrix, places: Index, w: Vector, residual: Vector, tolerance: float) -> None:
        from dualgap.solvers.sorted import passes as loops

        price, image = self.price[: len(w)], gram @ w
        way = np.array([1.0, float(gram.diagonal().max(initial=0.0))])
        if way[1] <= 0.0:
            return
        target, state = residual + image, np.array([w, image, w, image])
        order = np.argsort(-np.abs(w + residual), kind="stable")
        steps, tolerance = PASSES, max(tolerance, LEAST)
        for _ in range(TURNS):
            left = loops.descend(gram, target, price, order, state, way, (steps, tolerance))
            if left <= tolerance:
                break
            found = _newton(gram, state[0], target - state[1], price)
            if found is not None:
                state[0] = state[2] = found
                state[1] = state[3] = gram @ found
                way[0] = 1.0
            steps *= LONGER
        w[:] = state[0]


def _newton(gram: Matrix, w: Vector, residual: Vector, price: Vector) -> Vector | None:
    """The best weights while those that are equal, or zero, stay so; None if these are worse, or not known.

    As long as no two change places this is a quadratic in few unknowns.
    """
    size = np.abs(w)
    order = np.flatnonzero(size)
    order = order[np.argsort(-size[order], kind="stable")]
    if not len(order):
        return None
    signs, level, price = np.sign(w[order]), size[order], price[: len(order)]
    starts = np.append(0, np.flatnonzero(np.diff(level) < -SAME * level[0]) + 1)
    inner = signs[:, None] * gram[np.ix_(order, order)] * signs
    few = np.add.reduceat(np.add.reduceat(inner, starts, axis=0), starts, axis=1)
    pull = np.add.reduceat(residual[order] * signs - price, starts)
    try:
        step = cholesky(few.copy())(pull)
    except np.linalg.LinAlgError:
        return None
    change = np.repeat(step, np.diff(np.append(starts, len(order))))
    rise = float(price @ (np.sort(np.abs(level + change))[::-1] - level))
    if rise + float(change @ (0.5 * (inner @ change) - residual[order] * signs)) >= 0.0:
        return None
    found = np.zeros_like(w)
    found[order] = signs * (level + change)
    return found
