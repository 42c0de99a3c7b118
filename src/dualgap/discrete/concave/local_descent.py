"""local_descent: smooth losses that are not convex (sigmoid), with any penalty."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dualgap.arrays import Vector
from dualgap.discrete.base import Finding
from dualgap.discrete.concave.reweighted import tangent_at
from dualgap.discrete.planes.sides import packing, statements, surrogates
from dualgap.drive.registry import solver
from dualgap.penalties import Regulariser
from dualgap.penalties.forms import unregularised
from dualgap.problem.precondition import precondition
from dualgap.problem.problem import Problem
from dualgap.traits import Trait

CHUNK = 200  # steps between two findings
LOCAL = (
    "A local minimiser, not proven optimal: the loss is not convex. The bound is half the errors that no "
    "plane avoids."
)
RESTLESS = "The step limit came first, short of a local minimiser; the loss is not convex, nothing is proven."
SIZES = (1.0, 4.0, 0.25)  # multiples of a convex fit to start from


@solver("local_descent", kind="search")
@dataclass(frozen=True)
class LocalDescent:
    """Proximal gradient steps with momentum that is dropped when the objective rises (Li and Lin, 2015), from
    several convex fits at several sizes.
    """

    starts: int = 6
    steps: int = 20_000
    name: ClassVar[str]
    seconds: float | None = 60.0

    def missing(self, problem: Problem) -> tuple[str, ...]:
        traits = problem.loss.traits
        if Trait.SMOOTH not in traits:
            return ("the loss is not smooth",)
        return ("the loss is convex",) if Trait.CONVEX in traits else ()

    def cost(self, problem: Problem) -> float:
        return 1e3 * problem.design.stored

    def iterates(self, problem: Problem, start: Finding) -> Iterator[Finding]:
        bare = problem.with_regulariser(unregularised(problem.p))
        stated = list(statements(bare))
        if stated[-1].integers is not None:
            yield Finding(None, 0.5 * stated[-1].below(stated[-1].lost + packing(stated[-1])))
        working = precondition(problem)
        origins = [] if start.w is None else [start.w]
        fits = [stated[0].weights(u) for u in surrogates(stated[0])]
        origins += [size * w for size in SIZES for w in fits][: self.starts]
        count = 0
        for origin in origins:
            descent = _Descent(working.problem, working.coordinates(origin))
            while not descent.settled and descent.count < self.steps:
                descent.advance(CHUNK)
                ending = LOCAL if descent.settled else RESTLESS
                yield Finding(working.weights(descent.w), nodes=count + descent.count, ending=ending)
            count += descent.count


class _Descent:
    """One run from one start."""

    def __init__(self, problem: Problem, start: Vector) -> None:
        self.problem = problem
        self.w = self._feasible(start)
        self.before = self.w
        self.value = problem.primal(self.w)
        top = problem.loss.curvature * float(
            np.max(problem.design.weighted_square_norms(problem.a), initial=0.0)
        )
        self.step = 1.0 / max(top, 1e-300)
        self.momentum, self.count, self.settled = 1.0, 0, False
        scale = float(np.abs(self.w).max(initial=0.0)) or 1.0
        self.smoothing = 1e-9 * scale

    def _feasible(self, w: Vector) -> Vector:
        return self.problem.regulariser.feasible(w)

    def advance(self, steps: int) -> None:
        """So many steps, or until the weights stand still."""
        for _ in range(steps):
            self.count += 1
            ahead = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * self.momentum**2))
            point = self.w + (self.momentum - 1.0) / ahead * (self.w - self.before)
            moved, value = self._proximal(point)
            if value > self.value:
                ahead = 1.0
                moved, value = self._proximal(self.w)
            if self._still(moved, value):
                self.settled = True
                return
            self.before, self.w, self.value, self.momentum = self.w, moved, min(value, self.value), ahead

    def _still(self, moved: Vector, value: float) -> bool:
        reach = float(np.abs(moved - self.w).max(initial=0.0))
        size = float(np.abs(self.w).max(initial=0.0))
        return value >= self.value or reach <= 1e-10 * max(size, 1e-10)

    def _proximal(self, point: Vector) -> tuple[Vector, float]:
        """A step from `point`, halved until the quadratic model is above the loss, then tried larger."""
        problem = self.problem
        z = problem.design.matvec(point)
        here, slope = problem.risk(z), -problem.design.transpose_matvec(problem.slope(z))
        penalty = self._penalty(point)
        for _ in range(60):
            moved = penalty.prox(point - self.step * slope, self.step)
            change = moved - point
            value = problem.risk(problem.design.matvec(moved))
            if value <= here + float(slope @ change) + float(change @ change) / (2.0 * self.step) + 1e-15:
                break
            self.step *= 0.5
        self.step *= 1.1
        moved = self._feasible(moved)
        return moved, problem.primal(moved)

    def _penalty(self, w: Vector) -> Regulariser:
        """The penalty, or a weighted l1 that touches it where it has no proximal map."""
        regulariser = self.problem.regulariser
        if regulariser.gauge.concave is None:
            return regulariser
        return tangent_at(self.problem, self._feasible(w), self.smoothing)
