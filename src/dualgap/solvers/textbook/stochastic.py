"""Stochastic gradient and subgradient, single rows or mini-batches, and Pegasos."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from dualgap.arrays import Vector
from dualgap.design import Design, WithOnes
from dualgap.errors import NoSolverError
from dualgap.losses import Loss
from dualgap.penalties import Penalised
from dualgap.penalties.separable import Separable
from dualgap.problem.problem import Problem
from dualgap.solvers.base import Iterate
from dualgap.solvers.registry import solver
from dualgap.solvers.textbook.divergence import watch
from dualgap.solvers.textbook.steps import InverseStrength, Schedule, Step, read_step
from dualgap.traits import Trait

StepLike = Step | float | Callable[[int], float]
Order = Literal["shuffled", "uniform"]


@dataclass(frozen=True)
class Automatic(Step):
    """η_k = η₀ n/(n + k): η₀ from the longest row, so that one step moves no prediction too far."""

    @property
    def robbins_monro(self) -> bool:
        return True

    def schedule(self, problem: Problem) -> Schedule:
        first, n = first_length(problem), problem.n
        return lambda k: first * n / (n + k)


def first_length(problem: Problem) -> float:
    """1/(curvature·‖x‖² + ridge) for the longest row; without curvature, a step that moves z by the loss's scale."""
    longest = float(problem.design.row_square_norms().max(initial=0.0)) or 1.0
    curvature = problem.loss.curvature
    if not np.isfinite(curvature):
        bend = float(problem.a @ np.abs(problem.loss.derivative(problem.y, np.zeros(problem.n))))
        if problem.loss_has(Trait.SMOOTH):
            curvature = max(bend, 1e-12)
        else:
            reach = problem.null / max(bend, 1e-12)
            return (reach or 1.0) / longest
    ridge = 2.0 * problem.regulariser.strong_convexity()
    heaviest = float(problem.a.max()) * problem.n
    return 1.0 / (curvature * longest * heaviest + ridge)


def _missing(problem: Problem, *, smooth: bool) -> tuple[str, ...]:
    missing = []
    if smooth and not problem.loss_has(Trait.SMOOTH):
        missing.append("the loss is not smooth (stochastic_subgradient takes kinks)")
    if not isinstance(problem.regulariser, Penalised) or not isinstance(problem.regulariser.gauge, Separable):
        missing.append("the penalty is not none, l1, l2 or elastic_net, added to the loss")
    elif smooth and problem.regulariser.gauge.l1.any():
        missing.append("the penalty is not smooth (stochastic_subgradient takes kinks)")
    elif len(_ridges(problem)) > 1:
        missing.append("the columns have different l2 weights")
    if _shape(problem.loss) is None:
        missing.append("the loss has no compiled slope")
    return tuple(missing)


def _ridges(problem: Problem) -> NDArray[np.float64]:
    gauge = problem.regulariser.gauge
    assert isinstance(gauge, Separable)
    features = gauge.l2[:-1] if problem.intercept else gauge.l2
    return np.unique(features)


def _shape(loss: Loss) -> int | None:
    """Which compiled slope serves this loss."""
    if Trait.PIECEWISE_QUADRATIC in loss.traits:
        return 0
    return loss.slope_shape


def rows_of(design: Design) -> Any:
    """The rows without the ones, as compiled loops read them."""
    from dualgap.solvers.storage import rows

    return rows(design.inner if isinstance(design, WithOnes) else design)


class Runner:
    """The state of a stochastic run, one call per pass; also what `partial_fit` keeps between calls."""

    def __init__(self, problem: Problem, start: Vector) -> None:
        has = problem.intercept
        self.v = np.array(start[:-1] if has else start, dtype=np.float64)
        self.numbers = np.array([1.0, float(start[-1]) if has else 0.0, 0.0])
        self.total = np.zeros_like(self.v)
        self.parts = np.zeros(2)
        self.steps = 0

    def run(self, problem: Problem, order: NDArray[np.int64], batch: int, length: Schedule) -> float:
        """Take the rows in this order, `batch` at a time; returns the last step length."""
        from dualgap.compiled.stochastic import stochastic_pass

        gauge, regulariser = problem.regulariser.gauge, problem.regulariser
        assert isinstance(gauge, Separable) and isinstance(regulariser, Penalised)
        count = -(-len(order) // batch)
        lengths = lengths_of(length, self.steps + 1, count)
        width = len(self.v)
        price = (regulariser.strength * gauge.l1[:width], 2.0 * regulariser.strength * float(gauge.l2[:width].max(initial=0.0)), problem.intercept)
        stochastic_pass(
            rows_of(problem.design),
            (_shape(problem.loss), problem.y, _terms(problem), problem.a * problem.n),
            order,
            batch,
            lengths,
            price,
            (self.v, self.numbers, self.total, self.parts),
        )
        self.steps += count
        return float(lengths[-1])

    def weights(self, problem: Problem, *, averaged: bool) -> Vector:
        """The last w, or the average over all steps, the intercept behind."""
        if averaged and self.numbers[2] > 0:
            w, b = (self.total + self.parts[0] * self.v) / self.numbers[2], self.parts[1] / self.numbers[2]
        else:
            w, b = self.numbers[0] * self.v, self.numbers[1]
        return np.append(w, b) if problem.intercept else w


def lengths_of(length: Schedule, first: int, count: int) -> Vector:
    """η_first … η_{first+count−1}; rules written with arithmetic take the whole array at once."""
    k = np.arange(first, first + count)
    try:
        values = np.asarray(length(k), dtype=np.float64)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        values = np.array([length(int(i)) for i in k])
    return np.ascontiguousarray(np.broadcast_to(values, (count,)))


def _terms(problem: Problem) -> tuple[Any, Any, Any, float]:
    if Trait.PIECEWISE_QUADRATIC not in problem.loss.traits:
        nothing = np.zeros((1, 1))
        return nothing, nothing, nothing, 0.0
    terms = problem.loss.terms(problem.y)
    kink, lower, upper = (np.ascontiguousarray(part) for part in (terms.kink, terms.lower, terms.upper))
    return kink, lower, upper, terms.softness


@dataclass(frozen=True)
class _Stochastic:
    """w ← w − η_k (n a_i L'(y_i, x_i·w) x_i + ∇g(w)) for rows drawn at random; an iterate is a pass."""

    step: StepLike = field(default_factory=Automatic)
    batch: int = 1
    order: Order = "shuffled"
    averaged: bool = False
    random_state: int = 0
    smooth = True

    def missing(self, problem: Problem) -> tuple[str, ...]:
        return _missing(problem, smooth=self.smooth)

    def cost(self, problem: Problem) -> float:
        return 100 * 4.0 * problem.design.stored

    def iterates(self, problem: Problem, start: Iterate) -> Iterator[Iterate]:
        if self.batch < 1:
            raise NoSolverError(f"batch must be at least 1, not {self.batch!r}.")
        length = read_step(self.step).schedule(problem)
        null = np.array_equal(start.w, problem.null_weights)
        run = Runner(problem, np.zeros(problem.p) if null else start.w)
        random = np.random.default_rng(self.random_state)
        while True:
            size = run.run(problem, draw(random, problem.n, self.order), self.batch, length)
            w = run.weights(problem, averaged=self.averaged)
            z = problem.design.matvec(w)
            watch(problem, problem.primal(w, z), size)
            yield Iterate(w, prediction=z, step=size)


def draw(random: np.random.Generator, n: int, order: Order) -> NDArray[np.int64]:
    """n row numbers: every row once in random order, or n independent draws."""
    if order == "shuffled":
        return random.permutation(n)
    return random.integers(0, n, n)


@solver("stochastic_gradient", manual=True, given=True)
@dataclass(frozen=True)
class StochasticGradient(_Stochastic):
    """Stochastic gradient descent for smooth losses with l2 or no penalty."""


@solver("stochastic_subgradient", manual=True, given=True)
@dataclass(frozen=True)
class StochasticSubgradient(_Stochastic):
    """Stochastic subgradient descent: any loss with a slope, with l1, l2, elastic_net or no penalty."""

    smooth = False


@solver("pegasos", manual=True, given=True)
@dataclass(frozen=True)
class Pegasos(_Stochastic):
    """Stochastic subgradient with η_t = 1/(λ't), λ' = 2λ (Shalev-Shwartz et al., 2007): hinge with l2."""

    step: StepLike = field(default_factory=InverseStrength)
    order: Order = "uniform"
    smooth = False

    def missing(self, problem: Problem) -> tuple[str, ...]:
        missing = list(super().missing(problem))
        if not problem.regulariser.strong_convexity() > 0:
            missing.append("the penalty has no l2 part, which sets the step")
        return tuple(missing)
