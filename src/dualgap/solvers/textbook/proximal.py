"""Proximal and projected gradient: a step down the loss, then the nearest point that the penalty likes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np

from dualgap.arrays import Vector
from dualgap.problem.problem import Problem
from dualgap.solvers.base import Iterate
from dualgap.solvers.registry import solver
from dualgap.solvers.textbook.divergence import watch
from dualgap.solvers.textbook.slopes import loss_curvature
from dualgap.solvers.textbook.steps import Backtracking, InverseCurvature, InverseRoot, Step, read_step
from dualgap.traits import Trait

StepLike = Step | float | Callable[[int], float]


def _risk_slope(problem: Problem, w: Vector) -> tuple[float, Vector]:
    z = problem.design.matvec(w)
    return problem.risk(z), -problem.design.transpose_matvec(problem.slope(z))


def _length(step: StepLike, problem: Problem) -> Callable[[int], float]:
    """The schedule; 1/L counts the loss alone here, since the penalty is treated exactly."""
    rule = read_step(step)
    if isinstance(rule, InverseCurvature):
        size = rule.share / max(loss_curvature(problem), 1e-300)
        return lambda k: size
    return rule.schedule(problem)


@solver("proximal_gradient", manual=True, given=True)
@dataclass(frozen=True)
class ProximalGradient:
    """w ← prox_{ηg}(w − η Xᵀ(a L')): ISTA, and with `accelerated` FISTA (Beck and Teboulle, 2009).

    Smooth loss, any penalty or constraint. O(1/k), accelerated O(1/k²).
    """

    step: StepLike = field(default_factory=InverseCurvature)
    accelerated: bool = True

    def missing(self, problem: Problem) -> tuple[str, ...]:
        missing = []
        if not problem.loss_has(Trait.SMOOTH):
            missing.append("the loss is not smooth")
        elif not problem.loss_has(Trait.BOUNDED_CURVATURE) and isinstance(
            read_step(self.step), InverseCurvature
        ):
            missing.append("the curvature of the loss has no bound: give step=Backtracking()")
        return tuple(missing)

    def cost(self, problem: Problem) -> float:
        return 1000 * 4.0 * problem.design.stored

    def iterates(self, problem: Problem, start: Iterate) -> Iterator[Iterate]:
        rule = read_step(self.step)
        length = _length(self.step, problem)
        w = np.zeros(problem.p) if np.array_equal(start.w, problem.null_weights) else start.w.copy()
        ahead, weight, size, k = w, 1.0, length(1), 0
        while True:
            k += 1
            value, gradient = _risk_slope(problem, ahead)
            size = size if isinstance(rule, Backtracking) else length(k)
            new = problem.regulariser.prox(ahead - size * gradient, size)
            if isinstance(rule, Backtracking):
                while _overshoots(problem, ahead, value, gradient, new, size):
                    size *= rule.shrink
                    new = problem.regulariser.prox(ahead - size * gradient, size)
            grown = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * weight * weight)) if self.accelerated else 1.0
            ahead = new + (weight - 1.0) / grown * (new - w)
            w, weight = new, grown
            z = problem.design.matvec(w)
            watch(problem, problem.risk(z), size)
            yield Iterate(w, prediction=z, step=size)


def _overshoots(  # noqa: PLR0913 - the quadratic model and the trial, no more
    problem: Problem, at: Vector, value: float, gradient: Vector, new: Vector, size: float
) -> bool:
    """Is the loss at the trial above its quadratic model with curvature 1/size?"""
    move = new - at
    model = value + float(gradient @ move) + float(move @ move) / (2.0 * size)
    return problem.risk(problem.design.matvec(new)) > model + 1e-14 * abs(model) and size > 1e-300


@solver("projected_gradient", manual=True, given=True)
@dataclass(frozen=True)
class ProjectedGradient:
    """w ← nearest point of {h ≤ c} to w − η_k g, g ∈ ∂(mean loss): exact projections onto every ball.

    Smooth losses take 1/L, others a shrinking step (the projected subgradient method).
    """

    step: StepLike | None = None

    def missing(self, problem: Problem) -> tuple[str, ...]:
        return () if problem.regulariser.constrained else ("it has no constraint (give budget=)",)

    def cost(self, problem: Problem) -> float:
        return 1000 * 4.0 * problem.design.stored

    def iterates(self, problem: Problem, start: Iterate) -> Iterator[Iterate]:
        bounded = problem.loss_has(Trait.BOUNDED_CURVATURE)
        step = self.step if self.step is not None else InverseCurvature() if bounded else InverseRoot()
        length = _length(step, problem)
        w, k = np.zeros(problem.p), 0
        while True:
            k += 1
            size = length(k)
            w = problem.regulariser.prox(w - size * _risk_slope(problem, w)[1], 1.0)
            z = problem.design.matvec(w)
            watch(problem, problem.risk(z), size)
            yield Iterate(w, prediction=z, step=size)
