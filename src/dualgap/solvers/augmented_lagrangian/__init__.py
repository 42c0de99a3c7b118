"""Semismooth Newton on the augmented Lagrangian: every convex loss with every convex penalty, both forms."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from dualgap.problem.problem import Problem
from dualgap.solvers.augmented_lagrangian.lagrangian import Point, begin
from dualgap.solvers.base import Iterate
from dualgap.solvers.registry import solver
from dualgap.traits import Trait

LARGEST = 20_000
ROUNDS = 200
import dualgap.solvers.augmented_lagrangian.lagrangian as LG
INNER = 40
GROWTH = 3.0
import os
GATE=float(os.environ.get("GATE","1e9"))

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
        shown = np.inf
        idle = 0
        back = 0
        for _ in range(ROUNDS):
            steps, stuck, short, done = 0, False, 0, False
            for _ in range(INNER):
                ahead = lagrangian.newton(point)
                if ahead is None:
                    stuck = True
                    break
                point = ahead
                steps += 1
                short += point.t<LG.SHORT
                done = lagrangian.solved(point)
                if done or point.residual < GATE*shown:
                    shown = point.residual
                    yield _iterate(point)
                if done or short>LG.TIRED:
                    break
            idle = 0 if steps else idle+1
            if idle>5: return
            f = growth(steps)
            pass
            if not stuck and not done:
                lagrangian = lagrangian.held(point)
                continue
            lagrangian, point = lagrangian.moved(point, f)
            if not steps: yield _iterate(point)

def growth(steps: int) -> float:
    if steps <= 4: return GROWTH
    if steps <= 10: return GROWTH**0.5
    if steps <= 18: return GROWTH**0.25
    return 1.0

def _iterate(point: Point) -> Iterate:
    primal = point.weights.primal
    return Iterate(primal, -point.rows.slope, point.z if primal is point.w else None)
