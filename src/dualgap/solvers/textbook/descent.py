"""Gradient and subgradient descent, momentum, Nesterov: on the problem as it was asked, from w = 0."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from typing import ClassVar

import numpy as np

from dualgap.arrays import Vector
from dualgap.drive.proof_schedule import due
from dualgap.drive.registry import solver
from dualgap.drive.solver import Iterate
from dualgap.problem.problem import Problem
from dualgap.solvers.textbook.divergence import Watch, advice
from dualgap.solvers.textbook.schedules import Schedule
from dualgap.solvers.textbook.slopes import slope, smooth_penalty
from dualgap.solvers.textbook.steps import (
    Backtracking,
    InverseCurvature,
    InverseRoot,
    Step,
    StepLike,
    constant_size,
    read_step,
)
from dualgap.traits import Trait

LONGEST = 1e100  # a trial step is not doubled beyond this


def lengths(schedule: Schedule) -> Iterator[float]:
    """η_1, η_2, …"""
    return (float(schedule(k)) for k in count(1))


def _smooth(problem: Problem) -> bool:
    return np.isfinite(problem.loss.curvature) and smooth_penalty(problem)


@dataclass(frozen=True)
class Stepping(ABC):
    """What first-order methods share: a step, and two products a step, of which it takes a thousand."""

    name: ClassVar[str]
    step: StepLike | None = None

    @abstractmethod
    def default(self, problem: Problem) -> Step:
        """The step where none was given."""

    @abstractmethod
    def walk(self, problem: Problem, w: Vector, rule: Step) -> Iterator[tuple[Vector, Vector, float]]:
        """Without end: w after a step, Xw, and the length of the step."""

    def iterates(self, problem: Problem, start: Iterate) -> Iterator[Iterate]:
        rule = self.default(problem) if self.step is None else read_step(self.step)
        watch, begun = Watch(problem), problem.regulariser.feasible(start.w).copy()
        for k, (w, z, size) in enumerate(self.walk(problem, begun, rule), 1):
            watch.look(w, z, size)
            yield Iterate(w, prediction=z, step=size, certify=due(problem, k))

    def cost(self, problem: Problem) -> float:
        return 1000 * 4.0 * problem.design.stored

    def advice(self, problem: Problem, *, rising: bool) -> str:
        """Why it ended where it did, and a step that works."""
        return advice(problem, rising, size=constant_size(self.step))


@dataclass(frozen=True)
class _Descent(Stepping):
    """What the four share: any loss with any added penalty, one product with X and one with Xᵀ a step.

    Without `step` it is 1/L where the objective is smooth with bounded curvature, α/√k elsewhere.
    """

    def missing(self, problem: Problem) -> tuple[str, ...]:
        if problem.regulariser.constrained:
            return ("it has a constraint (projected_gradient takes one)",)
        return () if Trait.CONVEX in problem.regulariser.traits else ("the penalty has no known slope",)

    def default(self, problem: Problem) -> Step:
        return InverseCurvature() if _smooth(problem) else InverseRoot()

    def walk(self, problem: Problem, w: Vector, rule: Step) -> Iterator[tuple[Vector, Vector, float]]:
        z, taken = problem.design.matvec(w), None
        for size in lengths(rule.schedule(problem)):
            gradient = slope(problem, w, z)
            if isinstance(rule, Backtracking):
                first = min(2.0 * (size if taken is None else taken), LONGEST)
                size = taken = _backtrack(problem, (w, z), gradient, rule, first)
            w = w - size * gradient
            z = problem.design.matvec(w)
            yield w, z, size


@solver("gradient_descent", manual=True, given=True)
@dataclass(frozen=True)
class GradientDescent(_Descent):
    """w ← w − η_k ∇P(w) (Algorithm 22).

    With η = 1/L, the default, the objective is at most L‖w*‖²/(2k) above the optimum after k steps. Where the
    curvature has no bound the default is to backtrack, which costs one more product a step.
    """

    def missing(self, problem: Problem) -> tuple[str, ...]:
        missing = []
        if not problem.loss_has(Trait.SMOOTH):
            missing.append("the loss is not smooth (subgradient takes kinks)")
        if problem.regulariser.constrained:
            missing.append("it has a constraint (projected_gradient takes one)")
        elif not smooth_penalty(problem):
            missing.append("the penalty is not smooth (proximal_gradient takes it)")
        return tuple(missing)

    def default(self, problem: Problem) -> Step:
        return InverseCurvature() if _smooth(problem) else Backtracking()


def _backtrack(
    problem: Problem, at: tuple[Vector, Vector], gradient: Vector, rule: Backtracking, size: float
) -> float:
    """Shorten until P(w − ηg) ≤ P(w) − decrease·η‖g‖²."""
    w, z = at
    along = problem.design.matvec(gradient)
    here, steepness = problem.primal(w, z), float(gradient @ gradient)
    for _ in range(1000):
        there = problem.primal(w - size * gradient, z - size * along)
        if there <= here - rule.decrease * size * steepness + 1e-15 * abs(here):
            break
        size *= rule.shrink
    return size


@solver("subgradient", manual=True, given=True)
@dataclass(frozen=True)
class Subgradient(_Descent):
    """w ← w − η_k g, g ∈ ∂P(w) (Algorithm 23 for the hinge): any loss, any added penalty.

    The objective need not fall at every step, so the best iterate is kept: by the driver, for every solver.
    At a kink the subgradient nearest to zero is taken.
    """

    def default(self, problem: Problem) -> Step:
        return InverseRoot()


@solver("momentum", manual=True, given=True)
@dataclass(frozen=True)
class Momentum(_Descent):
    """d ← γ d + η_k g(w);  w ← w − d."""

    gamma: float = 0.9

    def walk(self, problem: Problem, w: Vector, rule: Step) -> Iterator[tuple[Vector, Vector, float]]:
        z = problem.design.matvec(w)
        move = np.zeros_like(w)
        for size in lengths(rule.schedule(problem)):
            move = self.gamma * move + size * slope(problem, w, z)
            w = w - move
            z = problem.design.matvec(w)
            yield w, z, size


@solver("nesterov", manual=True, given=True)
@dataclass(frozen=True)
class Nesterov(_Descent):
    """d ← γ_k d + η_k g(w − γ_k d);  w ← w − d: the slope is taken where momentum leads.

    `gamma=None` takes Nesterov's own γ_k = (k − 1)/(k + 2), with which the objective falls as 1/k².
    Predictions are linear, X(w − γd) = Xw − γXd, so looking ahead costs no product.
    """

    gamma: float | None = None

    def walk(self, problem: Problem, w: Vector, rule: Step) -> Iterator[tuple[Vector, Vector, float]]:
        z = problem.design.matvec(w)
        move, moved = np.zeros_like(w), np.zeros_like(z)
        for k, size in enumerate(lengths(rule.schedule(problem)), 1):
            gamma = (k - 1.0) / (k + 2.0) if self.gamma is None else self.gamma
            move = gamma * move + size * slope(problem, w - gamma * move, z - gamma * moved)
            w = w - move
            before, z = z, problem.design.matvec(w)
            moved = before - z
            yield w, z, size
