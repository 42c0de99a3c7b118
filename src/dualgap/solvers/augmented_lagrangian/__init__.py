"""Semismooth Newton on the augmented Lagrangian: every convex loss with every convex penalty, both forms."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from dualgap.problem.problem import Problem
from dualgap.solvers.augmented_lagrangian.lagrangian import Lagrangian, Point, begin
from dualgap.solvers.base import Iterate
from dualgap.solvers.registry import solver
from dualgap.traits import Trait

LARGEST = 20_000  # rows and columns of the dense system
STEPS = 40  # Newton steps in one round before it is held back
PATIENCE = 15  # rounds without progress
PROGRESS = 0.7  # a residual counts as progress below this share of the best
GROWTH = ((4, 3.0), (10, 3.0**0.5), (18, 3.0**0.25))  # steps a round took at most, stiffness it earns


@solver("augmented_lagrangian")
@dataclass(frozen=True)
class AugmentedLagrangian:
    """x."""

    def missing(self, problem: Problem) -> tuple[str, ...]:
        lacks = []
        if Trait.CONVEX not in problem.loss.traits:
            lacks.append("the loss is not convex")
        if Trait.CONVEX not in problem.regulariser.traits:
            lacks.append("the penalty is not convex")
        size = min(problem.n, problem.p)
        if size > LARGEST:
            lacks.append(f"its dense system would take {8 * size * size / 2**30:.0f} GiB")
        return tuple(lacks)

    def cost(self, problem: Problem) -> float:
        small, large = sorted((problem.n, problem.p))
        return 30.0 * (float(small) ** 2 * large + 6.0 * problem.design.stored)

    def iterates(self, problem: Problem, start: Iterate) -> Iterator[Iterate]:
        lagrangian, point = begin(problem, start)
        shown, best, idle = np.inf, np.inf, 0
        while idle < PATIENCE:
            steps, solved = 0, False
            while steps < STEPS and not solved:
                ahead = lagrangian.newton(point)
                if ahead is None:
                    break
                point, steps = ahead, steps + 1
                solved = lagrangian.solved(point)
                if solved or point.residual < 0.5 * shown:
                    shown = point.residual
                    yield _iterate(point)
            idle = 0 if point.residual < PROGRESS * best else idle + 1
            best = min(best, point.residual)
            if steps == STEPS and not solved:
                lagrangian = lagrangian.held(point)
                continue
            lagrangian, point = lagrangian.moved(point, _growth(steps))
            if not steps:
                yield _iterate(point)


def _growth(steps: int) -> float:
    """Rounds that were easy make the next one stiffer."""
    return next((factor for most, factor in GROWTH if steps <= most), 1.0)


def _iterate(point: Point) -> Iterate:
    primal = point.weights.primal
    return Iterate(primal, -point.rows.slope, point.z if primal is point.w else None)
