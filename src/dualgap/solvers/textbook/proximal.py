"""Proximal and projected gradient: a step down the loss, then the nearest point that the penalty likes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from dualgap.arrays import Vector
from dualgap.drive.registry import solver
from dualgap.problem.problem import Problem
from dualgap.solvers.textbook.descent import Stepping, lengths
from dualgap.solvers.textbook.schedules import Falling, Schedule
from dualgap.solvers.textbook.slopes import loss_curvature, risk_slope
from dualgap.solvers.textbook.steps import Backtracking, InverseCurvature, InverseRoot, Step
from dualgap.traits import Trait


def _length(rule: Step, problem: Problem) -> Schedule:
    """The schedule; 1/L counts the loss alone here, since the penalty is treated exactly."""
    if isinstance(rule, InverseCurvature) and np.isfinite(problem.loss.curvature):
        return Falling(rule.share / max(loss_curvature(problem), 1e-300), power=0.0)
    return rule.schedule(problem)


NO_MAP = "differences of weights have no simple nearest point"


@solver("proximal_gradient", manual=True, given=True)
@dataclass(frozen=True)
class ProximalGradient(Stepping):
    """w ← prox_{ηg}(w − η Xᵀ(a L')): ISTA, and with `accelerated` FISTA (Beck and Teboulle, 2009).

    Smooth loss, any penalty or constraint. O(1/k), accelerated O(1/k²). The step is 1/L of the loss, or
    found by backtracking where its curvature has no bound. A product with X and one with Xᵀ a step: what
    lies ahead, w + β(w − w'), has the prediction z + β(z − z').
    """

    accelerated: bool = True

    def missing(self, problem: Problem) -> tuple[str, ...]:
        lacking = () if problem.loss_has(Trait.SMOOTH) else ("the loss is not smooth",)
        return lacking if problem.regulariser.gauge.sums is None else (*lacking, NO_MAP)

    def default(self, problem: Problem) -> Step:
        return InverseCurvature() if np.isfinite(problem.loss.curvature) else Backtracking()

    def walk(self, problem: Problem, w: Vector, rule: Step) -> Iterator[tuple[Vector, Vector, float]]:
        z, weight, taken = problem.design.matvec(w), 1.0, None
        ahead, foreseen = w, z
        for size in lengths(_length(rule, problem)):
            gradient = risk_slope(problem, foreseen)
            if isinstance(rule, Backtracking):
                first = size if taken is None else taken
                size = taken = _backtrack(problem, (ahead, foreseen), gradient, rule, first)
            last, before = w, z
            w = problem.regulariser.prox(ahead - size * gradient, size)
            z = problem.design.matvec(w)
            grown = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * weight * weight)) if self.accelerated else 1.0
            push = (weight - 1.0) / grown
            ahead, foreseen = _beyond(last, w, push), _beyond(before, z, push)
            weight = grown
            yield w, z, size


def _beyond(last: Vector, now: Vector, push: float) -> Vector:
    """now + push·(now − last), with one new array."""
    there = now - last
    there *= push
    there += now
    return there


def _backtrack(
    problem: Problem, at: tuple[Vector, Vector], gradient: Vector, rule: Backtracking, size: float
) -> float:
    """Shorten until the loss at the new point is below its quadratic model with curvature 1/η."""
    w, z = at
    here = problem.risk(z)
    for _ in range(1000):
        new = problem.regulariser.prox(w - size * gradient, size)
        move = new - w
        model = here + float(gradient @ move) + float(move @ move) / (2.0 * size)
        if problem.risk(problem.design.matvec(new)) <= model + 1e-14 * abs(model):
            break
        size *= rule.shrink
    return size


@solver("projected_gradient", manual=True, given=True)
@dataclass(frozen=True)
class ProjectedGradient(Stepping):
    """w ← nearest point of {h ≤ c} to w − η_k g, g ∈ ∂(mean loss): exact projections onto every ball.

    Losses with bounded curvature take 1/L, others a shrinking step (the projected subgradient method).
    """

    def missing(self, problem: Problem) -> tuple[str, ...]:
        lacking = () if problem.regulariser.constrained else ("it has no constraint (give budget=)",)
        return lacking if problem.regulariser.gauge.sums is None else (*lacking, NO_MAP)

    def default(self, problem: Problem) -> Step:
        return InverseCurvature() if np.isfinite(problem.loss.curvature) else InverseRoot()

    def walk(self, problem: Problem, w: Vector, rule: Step) -> Iterator[tuple[Vector, Vector, float]]:
        z = problem.design.matvec(w)
        for size in lengths(_length(rule, problem)):
            nearest = problem.regulariser.prox(w - size * risk_slope(problem, z), 1.0)
            w = problem.regulariser.feasible(nearest)  # without the rounding, which would cost a product
            z = problem.design.matvec(w)
            yield w, z, size
