"""Step lengths η_k as objects, k = 1, 2, …; each knows whether it meets the Robbins–Monro conditions.

The conditions, Σ η_k = ∞ and Σ η_k² < ∞, are what stochastic approximation needs to converge: steps long
enough in sum to get anywhere, short enough in square to silence the noise.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, TypeAlias

import numpy as np

from dualgap.arrays import positive
from dualgap.errors import NoSolverError
from dualgap.problem.problem import Problem
from dualgap.solvers.textbook.schedules import Falling, Schedule
from dualgap.solvers.textbook.slopes import curvature_bound, polyak
from dualgap.solvers.textbook.trials import SAMPLE, tried_length


class Step(ABC):
    """A rule for the length of step k."""

    robbins_monro: ClassVar[bool | None] = False  # are the conditions met? None where that cannot be known

    @abstractmethod
    def schedule(self, problem: Problem) -> Schedule:
        """η as a function of k for this problem."""

    def words(self) -> str:
        """The conditions, in a sentence."""
        if self.robbins_monro is None:
            return "Whether these steps meet the Robbins-Monro conditions is not known."
        verb = "meet" if self.robbins_monro else "do not meet"
        return f"These steps {verb} the Robbins-Monro conditions (sum infinite, sum of squares finite)."


@dataclass(frozen=True)
class Constant(Step):
    """η_k = η."""

    size: float

    def __post_init__(self) -> None:
        positive("A constant step", self.size)

    def __str__(self) -> str:
        return f"{self.size:g}"  # as it would be typed

    def schedule(self, problem: Problem) -> Schedule:
        return Falling(self.size, power=0.0)


@dataclass(frozen=True)
class InverseCurvature(Step):
    """η_k = share/L with L the largest curvature of this very problem, computed, not guessed."""

    share: float = 1.0

    def schedule(self, problem: Problem) -> Schedule:
        bound = curvature_bound(problem)
        if not np.isfinite(bound):
            raise NoSolverError(
                f"The step 1/L needs a bounded curvature, which the {problem.loss} loss does not have; "
                "use a backtracking or a shrinking step."
            )
        return Falling(self.share / bound if bound > 0 else 1.0, power=0.0)


@dataclass(frozen=True)
class Harmonic(Step):
    """η_k = α/(k + 1)."""

    alpha: float = 1.0
    robbins_monro = True

    def schedule(self, problem: Problem) -> Schedule:
        return Falling(self.alpha, beta=1.0)


@dataclass(frozen=True)
class Ratio(Step):
    """η_k = α/(β + k)."""

    alpha: float
    beta: float
    robbins_monro = True

    def schedule(self, problem: Problem) -> Schedule:
        return Falling(self.alpha, self.beta)


@dataclass(frozen=True)
class InverseRoot(Step):
    """η_k = α/√k: the rate of the subgradient method. The squares sum to infinity.

    Without α the first step is P(0)/‖g(0)‖², which is right for columns of any size.
    """

    alpha: float | None = None

    def schedule(self, problem: Problem) -> Schedule:
        return Falling(polyak(problem) if self.alpha is None else self.alpha, power=0.5)


@dataclass(frozen=True)
class InverseStrength(Step):
    """η_k = 1/(m k), m the strong convexity: Pegasos' 1/(λ' t), where its λ'/2 ‖w‖² is our λ ‖w‖²."""

    robbins_monro = True

    def schedule(self, problem: Problem) -> Schedule:
        modulus = 2.0 * problem.regulariser.strong_convexity()
        if modulus <= 0:
            raise NoSolverError("The step 1/(λt) needs an l2 part in the penalty.")
        return Falling(1.0 / modulus)


@dataclass(frozen=True)
class Given(Step):
    """η_k = function(k)."""

    function: Callable[[int], float]
    robbins_monro = None

    def schedule(self, problem: Problem) -> Schedule:
        return self.function


@dataclass(frozen=True)
class Backtracking(Step):
    """Start from the last length, doubled; halve until the objective falls as the slope promises.

    For smooth objectives only; the solver does the searching, the schedule gives the first trial.
    """

    first: float = 1.0
    shrink: float = 0.5
    decrease: float = 0.5

    def schedule(self, problem: Problem) -> Schedule:
        return Falling(self.first, power=0.0)


@dataclass(frozen=True)
class Automatic(Step):
    """η_k = η₀/(1 + 2λη₀k), η₀ the best of short trials on a thousand rows; for stochastic methods.

    Where the l2 part is too weak to shorten the step within a pass over n rows: η₀/(1 + k/n)^¾.
    """

    robbins_monro = True

    def schedule(self, problem: Problem) -> Schedule:
        first, ridge = tried_length(problem), 2.0 * problem.regulariser.strong_convexity()
        steps = float(max(problem.n, SAMPLE))
        if ridge * first * steps >= 1.0:
            return Falling(1.0 / ridge, beta=1.0 / (ridge * first))
        return Falling(first * steps**0.75, beta=steps, power=0.75)


StepLike: TypeAlias = Step | float | Callable[[int], float]


def read_step(given: StepLike) -> Step:
    """A step object, a number for a constant one, or a function of k."""
    if isinstance(given, Step):
        return given
    if callable(given):
        return Given(given)
    return Constant(float(given))


def constant_size(given: StepLike | None) -> float | None:
    """The length, where it is the same in every step and was given as a number."""
    rule = None if given is None else read_step(given)
    return rule.size if isinstance(rule, Constant) else None
