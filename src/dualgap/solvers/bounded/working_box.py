"""Smooth losses, separable penalties, bounds: quadratic models on the columns that matter."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dualgap.arrays import Index, Vector
from dualgap.drive.registry import solver
from dualgap.drive.solver import STEP, Iterate
from dualgap.problem.problem import Problem
from dualgap.solvers.bounded.box_quadratic import solve_in_box
from dualgap.solvers.prices import lacks_prices, prices
from dualgap.traits import Trait

ROUNDS = 200  # of models; 2 to 15 are usual
FEW = 300  # columns that are all worked on at once where there are more rows
FIRST = 100  # columns of the first working set, where there are more
SETTLED = 1e-3  # of the first pull on a column: above it a proof is not worth its products
PATIENCE = 2  # rounds without progress
HALVINGS = 30  # of a step that does not lower the objective


@solver("box_newton")
@dataclass(frozen=True)
class BoxNewton:
    """Newton in a box: the model of the loss on a working set is solved by sweeps and an active set.

    Cost per round: two products with the matrix, and the Gram matrix of the working set.
    """

    name: ClassVar[str]
    bounded: ClassVar[str] = "bounds"

    def missing(self, problem: Problem) -> tuple[str, ...]:
        """Bounds there must be; a smooth loss and a separable penalty."""
        reasons = list(lacks_prices(problem))
        if problem.regulariser.box is None:
            reasons.append("the weights have no bounds")
        if not problem.loss_has(Trait.SMOOTH):
            reasons.append("the loss is not smooth")
        return tuple(reasons)

    def cost(self, problem: Problem) -> float:
        """Some ten rounds on few columns."""
        width, stored = float(min(problem.p, max(FIRST, problem.n))), float(problem.design.stored)
        rounds = 3.0 if problem.loss_has(Trait.QUADRATIC) else 8.0
        return rounds * (STEP + 4.0 * stored + 0.05 * stored * width)

    def iterates(self, problem: Problem, start: Iterate) -> Iterator[Iterate]:
        """One a round."""
        box = problem.regulariser.box
        assert box is not None
        price, ridge = prices(problem)
        quadratic, design = problem.loss_has(Trait.QUADRATIC), problem.design
        w = box.clip(start.w).copy()
        z = problem.predict(w)
        value, width, idle, first = problem.primal(w, z), FIRST, 0, 0.0
        for k in range(ROUNDS):
            v = design.transpose_matvec(problem.slope(z))
            which, left = self._working(problem, (w, v), (price, ridge), width)
            first = first or left
            if k:
                yield Iterate(w, None, z, certify=left <= SETTLED * first or idle > 0)
            if idle > PATIENCE:
                return
            width = max(width, 2 * len(which))
            columns = design.columns(which)
            h = problem.a * problem.loss.second_derivative(problem.y, z)
            gram = np.ascontiguousarray(columns.weighted_gram(h))
            own, residual = w[which].copy(), v[which].copy()
            ends = box.low[which], box.high[which]
            solve_in_box(gram, own, residual, (price[which], ridge[which]), ends)
            ahead = w.copy()
            ahead[which] = own
            if quadratic:
                w, z = ahead, problem.predict(ahead)
                reached = problem.primal(w, z)
            else:
                w, z, reached = self._along(problem, (w, z, value), ahead)
            idle = idle + 1 if not reached < value * (1.0 - 1e-15) else 0
            value = min(value, reached)

    def _working(
        self, problem: Problem, point: tuple[Vector, Vector], priced: tuple[Vector, Vector], width: int
    ) -> tuple[Index, float]:
        """Columns off their rest, and those that are pulled from it most; how strongly any is."""
        (w, v), (price, ridge), box = point, priced, problem.regulariser.box
        assert box is not None
        p = len(w)
        if p <= FEW and p <= problem.n:
            return np.arange(p), 0.0
        bend = ridge * w
        up = v - bend - price * np.where(w < 0.0, -1.0, 1.0)
        down = bend - v - price * np.where(w > 0.0, -1.0, 1.0)
        force = np.maximum(np.where(w < box.high, up, 0.0), np.where(w > box.low, down, 0.0))
        inside = ((w > box.low) & (w < box.high) & (w != 0.0)) | problem.free
        count = int(np.count_nonzero(inside))
        left = float(force.max(initial=0.0))
        force[inside] = np.inf
        most = min(max(width, 2 * count), int(np.count_nonzero(force > 0.0)))
        if most >= p:
            return np.arange(p), left
        return np.sort(np.argpartition(-force, max(most - 1, 0))[: max(most, 1)]), left

    def _along(
        self, problem: Problem, here: tuple[Vector, Vector, float], ahead: Vector
    ) -> tuple[Vector, Vector, float]:
        """The way to the model's answer, halved until the objective falls."""
        w, z, value = here
        there = problem.predict(ahead)
        step = 1.0
        for _ in range(HALVINGS):
            x = ahead if step == 1.0 else w + step * (ahead - w)
            score = there if step == 1.0 else z + step * (there - z)
            reached = problem.primal(x, score)
            if reached <= value:
                return x, score, reached
            step *= 0.5
        return w, z, value
