"""Gradient and subgradient descent, momentum, Nesterov: on the problem as it was asked, from w = 0."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np

from dualgap.arrays import Vector
from dualgap.problem.problem import Problem
from dualgap.solvers.base import Iterate
from dualgap.solvers.registry import solver
from dualgap.solvers.textbook.divergence import watch
from dualgap.solvers.textbook.slopes import slope, smooth_penalty
from dualgap.solvers.textbook.steps import (
    Backtracking,
    InverseCurvature,
    InverseRoot,
    Step,
    read_step,
)
from dualgap.traits import Trait

StepLike = Step | float | Callable[[int], float]


def _needs_smooth(problem: Problem) -> tuple[str, ...]:
    missing = []
    if not problem.loss_has(Trait.SMOOTH):
        missing.append("the loss is not smooth (subgradient takes kinks)")
    if problem.regulariser.constrained:
        missing.append("it has a constraint (projected_gradient takes one)")
    elif not smooth_penalty(problem):
        missing.append("the penalty is not smooth (proximal_gradient takes it)")
    return tuple(missing)


def _needs_penalised(problem: Problem) -> tuple[str, ...]:
    constrained = problem.regulariser.constrained
    return ("it has a constraint (projected_gradient takes one)",) if constrained else ()


def _passes(problem: Problem) -> float:
    return 1000 * 4.0 * problem.design.stored


@solver("gradient_descent", manual=True, given=True)
@dataclass(frozen=True)
class GradientDescent:
    """w ← w − η_k ∇P(w) (Algorithm 22): one pass with X and one with Xᵀ a step.

    With η = 1/L the objective is at most L‖w*‖²/(2k) above the optimum after k steps.
    """

    step: StepLike = field(default_factory=InverseCurvature)

    def missing(self, problem: Problem) -> tuple[str, ...]:
        return _needs_smooth(problem)

    def cost(self, problem: Problem) -> float:
        return _passes(problem)

    def iterates(self, problem: Problem, start: Iterate) -> Iterator[Iterate]:
        rule = read_step(self.step)
        length = rule.schedule(problem)
        w, k = _origin(problem, start), 0
        size = length(1)
        while True:
            k += 1
            at = slope(problem, w)
            if isinstance(rule, Backtracking):
                size = _backtrack(problem, w, at.gradient, rule, 2.0 * size if k > 1 else size)
            else:
                size = length(k)
            w = w - size * at.gradient
            z = problem.design.matvec(w)
            watch(problem, problem.primal(w, z), size)
            yield Iterate(w, prediction=z, step=size)


def _origin(problem: Problem, start: Iterate) -> Vector:
    """0, as the algorithms have it, unless a start was given that is better than w = 0."""
    begins_at_null = np.array_equal(start.w, problem.null_weights)
    return np.zeros(problem.p) if begins_at_null else start.w.copy()


def _backtrack(problem: Problem, w: Vector, gradient: Vector, rule: Backtracking, size: float) -> float:
    """Halve until P(w − ηg) ≤ P(w) − decrease·η‖g‖²."""
    here, steepness = problem.primal(w), float(gradient @ gradient)
    for _ in range(200):
        if problem.primal(w - size * gradient) <= here - rule.decrease * size * steepness + 1e-15 * abs(here):
            return size
        size *= rule.shrink
    return size


@solver("subgradient", manual=True, given=True)
@dataclass(frozen=True)
class Subgradient:
    """w ← w − η_k g, g ∈ ∂P(w) (Algorithm 23 for the hinge): any loss, any added penalty.

    The objective need not fall at every step, so the best iterate is kept: by the driver, for every solver.
    At a kink the subgradient nearest to zero is taken.
    """

    step: StepLike = field(default_factory=InverseRoot)

    def missing(self, problem: Problem) -> tuple[str, ...]:
        return _needs_penalised(problem)

    def cost(self, problem: Problem) -> float:
        return 10 * _passes(problem)

    def iterates(self, problem: Problem, start: Iterate) -> Iterator[Iterate]:
        length = read_step(self.step).schedule(problem)
        w, k = _origin(problem, start), 0
        while True:
            k += 1
            size = length(k)
            w = w - size * slope(problem, w).gradient
            z = problem.design.matvec(w)
            watch(problem, problem.primal(w, z), size)
            yield Iterate(w, prediction=z, step=size)


@solver("momentum", manual=True, given=True)
@dataclass(frozen=True)
class Momentum:
    """d ← γ d + η_k g(w);  w ← w − d."""

    step: StepLike = field(default_factory=InverseCurvature)
    gamma: float = 0.9

    def missing(self, problem: Problem) -> tuple[str, ...]:
        return _needs_penalised(problem)

    def cost(self, problem: Problem) -> float:
        return _passes(problem)

    def iterates(self, problem: Problem, start: Iterate) -> Iterator[Iterate]:
        length = read_step(self.step).schedule(problem)
        w, k = _origin(problem, start), 0
        move = np.zeros_like(w)
        while True:
            k += 1
            size = length(k)
            move = self.gamma * move + size * slope(problem, w).gradient
            w = w - move
            z = problem.design.matvec(w)
            watch(problem, problem.primal(w, z), size)
            yield Iterate(w, prediction=z, step=size)


@solver("nesterov", manual=True, given=True)
@dataclass(frozen=True)
class Nesterov:
    """d ← γ_k d + η_k g(w − γ_k d);  w ← w − d: the slope is taken where momentum leads.

    `gamma=None` takes Nesterov's own γ_k = (k − 1)/(k + 2), with which the objective falls as 1/k².
    """

    step: StepLike = field(default_factory=InverseCurvature)
    gamma: float | None = None

    def missing(self, problem: Problem) -> tuple[str, ...]:
        return _needs_penalised(problem)

    def cost(self, problem: Problem) -> float:
        return _passes(problem)

    def iterates(self, problem: Problem, start: Iterate) -> Iterator[Iterate]:
        length = read_step(self.step).schedule(problem)
        w, k = _origin(problem, start), 0
        move = np.zeros_like(w)
        while True:
            k += 1
            size = length(k)
            gamma = (k - 1.0) / (k + 2.0) if self.gamma is None else self.gamma
            move = gamma * move + size * slope(problem, w - gamma * move).gradient
            w = w - move
            z = problem.design.matvec(w)
            watch(problem, problem.primal(w, z), size)
            yield Iterate(w, prediction=z, step=size)

