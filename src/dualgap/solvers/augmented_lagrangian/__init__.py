"""Semismooth Newton on the augmented Lagrangian: every convex loss with every convex penalty, both forms."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from dualgap.arrays import Vector
from dualgap.problem.problem import Problem
from dualgap.solvers.augmented_lagrangian.rows import RowCurve, Rows, rows_of
from dualgap.solvers.augmented_lagrangian.search import search
from dualgap.solvers.augmented_lagrangian.system import System
from dualgap.solvers.augmented_lagrangian.weights import WeightCurve, Weights, weights_of
from dualgap.solvers.base import Iterate
from dualgap.solvers.registry import solver
from dualgap.traits import Trait

LARGEST = 20_000
ROUNDS = 60
INNER = 40
GROWTH = 6.0


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
        for _ in range(ROUNDS):
            steps = 0
            for _ in range(INNER):
                ahead = lagrangian.newton(point)
                if ahead is None:
                    break
                point = ahead
                steps += 1
                yield Iterate(point.weights.primal, -point.rows.slope)
                if lagrangian.solved(point):
                    break
            lagrangian = lagrangian.moved(point, growth(steps))
            point = lagrangian.at(point.w, point.z)
            if not steps: yield Iterate(point.weights.primal, -point.rows.slope)

def growth(steps: int) -> float:
    if steps <= 4: return GROWTH
    if steps <= 10: return GROWTH**0.5
    if steps <= 18: return GROWTH**0.25
    return 1.0

@dataclass(frozen=True, eq=False)
class Point:
    """Weights, predictions and the derivatives there."""

    w: Vector
    z: Vector
    rows: RowCurve
    weights: WeightCurve
    gradient: Vector


@dataclass(frozen=True, eq=False)
class Lagrangian:
    """Σ a L + g, both smoothed around their multipliers, plus eta/2 ‖w − centre‖²."""

    problem: Problem
    rows: Rows
    weights: Weights
    centre: Vector
    eta: float

    def at(self, w: Vector, z: Vector) -> Point:
        rows, weights = self.rows.at(z), self.weights.at(w)
        return self.point(w, z, rows, weights)

    def point(self, w, z, rows, weights):
        gradient = self.problem.design.transpose_matvec(rows.slope) + weights.v + self.eta * (w - self.centre)
        return Point(w, z, rows, weights, gradient)

    def newton(self, point: Point) -> Point | None:
        c = point.weights
        system = System(self.problem.design, point.rows.curvature, c.diagonal, c.rank_one, c.sign, self.eta)
        dw = -system.solve(point.gradient, self.problem.free)
        first = float(point.gradient @ dw)
        if not first < 0.0:
            return None
        dz = self.problem.design.matvec(dw)
        away = point.w - self.centre
        drift, spread = float(away @ dw), float(dw @ dw)

        def along(t: float) -> tuple[float, float, tuple[RowCurve, WeightCurve]]:
            rows, weights = self.rows.at(point.z + t * dz), self.weights.at(point.w + t * dw)
            slope = float(rows.slope @ dz) + float(weights.v @ dw) + self.eta * (drift + t * spread)
            bend = float(rows.curvature @ (dz * dz)) + float(weights.diagonal @ (dw * dw)) + self.eta * spread
            if weights.rank_one is not None:
                bend += weights.sign * float(weights.rank_one @ dw) ** 2
            return slope, bend, (rows, weights)

        t, found = search(along, first)
        if found is None:
            return None
        return self.point(point.w + t * dw, point.z + t * dz, *found)

    def solved(self, point: Point) -> bool:
        scale = max(self.weights.change(point.weights), self.eta * float(np.linalg.norm(point.w - self.centre)))
        change = self.rows.change(point.rows)
        if change is not None:
            scale = max(scale, float(np.linalg.norm(self.problem.design.transpose_matvec(change))))
        return float(np.linalg.norm(point.gradient)) <= 0.1 * scale

    def moved(self, point: Point, factor: float) -> Lagrangian:
        return Lagrangian(self.problem, self.rows.moved(point.z, factor), self.weights.moved(point.weights, factor), point.w, self.eta / factor)


def begin(problem: Problem, start: Iterate) -> tuple[Lagrangian, Point]:
    w = start.w.copy()
    z = problem.design.matvec(w)
    rows = rows_of(problem, start, z)
    sigma = float(problem.design.weighted_square_norms(rows.typical_curvature(z)).mean())
    weights = weights_of(problem.regulariser, sigma)
    smooth = problem.loss_has(Trait.SMOOTH) and problem.n >= problem.p
    lagrangian = Lagrangian(problem, rows, weights, w, sigma * (1e-6 if smooth else 1.0))
    return lagrangian, lagrangian.at(w, z)
