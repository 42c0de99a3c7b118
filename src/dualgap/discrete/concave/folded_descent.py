"""folded_descent: smooth losses over dense columns with penalties that bend and go flat (mcp, scad)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dualgap.arrays import Index, Matrix, Vector
from dualgap.discrete.base import Finding, unmet
from dualgap.discrete.concave.convexity import convex_bound
from dualgap.discrete.concave.local_linear import OVER, STATIONARY, UNFINISHED
from dualgap.drive.registry import solver
from dualgap.drive.solver import Iterate
from dualgap.problem.problem import Problem
from dualgap.solvers.working_columns import EDGE, WorkingPoint, lacks_columns
from dualgap.traits import Trait

ROUNDS = 100  # that no problem of a fair condition needs
NEAR = 0.05  # violations, in prices, at which the l1 fit is near enough to start from
STILL = 1e-8  # violations, in prices, that no sweep is made for
SWEEPS = 5000  # over the columns taken


@solver("folded_descent", kind="search")
@dataclass(frozen=True)
class FoldedDescent:
    """Coordinate descent (Breheny and Huang, 2011) on working sets, by their matrix, from the l1 fit on.

    Each weight goes to the best place for it alone, whatever its price bends. Where loss and penalty together
    are convex on the data, which is tried for squared loss, the end is proven to be the best there is.
    """

    seconds: float | None = 60.0
    name: ClassVar[str] = "folded_descent"

    def missing(self, problem: Problem) -> tuple[str, ...]:
        bends = problem.regulariser.gauge.folded is not None and not problem.regulariser.constrained
        convex = problem.loss_has(Trait.CONVEX)
        lacking = unmet((convex, "the loss is not convex"), (bends, "the penalty does not bend and go flat"))
        return lacking or lacks_columns(problem)

    def cost(self, problem: Problem) -> float:
        return 1e2 * problem.design.stored

    def iterates(self, problem: Problem, start: Finding) -> Iterator[Finding]:
        origin = problem.null_weights if start.w is None else start.w
        with np.errstate(all="ignore"):
            point = _FoldedPoint(problem, Iterate(origin, wanted=start.wanted))
        point.bends = start.w is not None and bool(origin[~problem.free].any())
        before = np.inf
        for count in range(1, ROUNDS + 1):
            point.bends = point.bends or (count > 1 and point.off <= NEAR)
            bent = point.bends
            point.improve()
            yield Finding(point.asked(), nodes=count)
            if bent and point.off <= OVER - 1.0 and point.looked_at() <= OVER - 1.0:
                break
            before = min(before, point.off)
        answer = point.asked()
        ending = STATIONARY if point.off <= OVER - 1.0 else UNFINISHED
        yield Finding(answer, convex_bound(problem, answer), count, ending=ending)


class _FoldedPoint(WorkingPoint):
    """Columns come in one by one; until the set is nearly complete prices are those of l1."""

    bends = False

    def looked_at(self) -> float:
        """`off` by the slopes where the weights are: a step may foresee those of pieces that it has left."""
        self.theta = self.problem.slope(self.z)
        self._price()
        return self.off

    def _price(self) -> None:
        self._last = False  # no θ proves anything here: none is put inside the prices
        super()._price()

    def begin(self, live: Index) -> None:
        regulariser, p = self.problem.regulariser, self.design.shape[1]
        folded = regulariser.gauge.folded
        assert folded is not None and not regulariser.constrained
        self.price, self.bend = regulariser.strength * folded.l1[:p], regulariser.strength * folded.bend[:p]
        self.start, self.flat = folded.start[:p], folded.flat[:p]
        if len(live):
            self.take(live)

    def paid_by(self, w: Vector) -> float:
        which, size = self.columns, np.abs(w)
        if not self.bends:
            return float(self.price[which] @ size)
        size = np.minimum(size, self.flat[which])
        beyond = np.maximum(size - self.start[which], 0.0)
        return float(self.price[which] @ size) - 0.5 * float(self.bend[which] @ (beyond * beyond))

    def value(self, v: Vector) -> None:
        self.worth = np.abs(v[: len(self.price)]) / self.price
        rest, live = self.worth.copy(), self.w != 0.0
        which, w = self.columns[live], self.w[live]
        slope = self.price[which]
        if self.bends:
            slope = np.maximum(slope - self.bend[which] * np.maximum(np.abs(w) - self.start[which], 0.0), 0.0)
        rest[which] = np.abs(v[which] - np.copysign(slope, w)) / self.price[which] + 1.0
        self.off = max(float(rest.max(initial=0.0)) - 1.0, 0.0)

    def choose(self, most: float | None) -> None:
        worth = self.worth.copy()
        worth[self.columns] = 0.0
        new = np.flatnonzero(worth >= EDGE)
        if most is None:
            new = np.setdiff1d(np.arange(len(worth)), self.columns)
        elif len(new) > most:
            new = new[np.argpartition(-worth[new], int(most))[: int(most)]]
        if len(new):
            self.take(new)

    def near(self, pull: Vector) -> tuple[Index, float]:
        worth = np.abs(pull) / self.price[self.columns]
        return np.flatnonzero((self.w != 0.0) | (worth > EDGE)), self.off

    def enough(self) -> float:
        return STILL if self.bends else NEAR * 0.1

    def settle(self, gram: Matrix, places: Index, w: Vector, residual: Vector, tolerance: float) -> None:
        from dualgap.discrete.concave import folded_sweeps as loops

        which = self.columns[places]
        bend = self.bend[which] if self.bends else np.zeros(len(which))
        prices = self.price[which], bend, self.start[which]
        loops.settle(np.ascontiguousarray(gram), w, residual, prices, tolerance, SWEEPS)
