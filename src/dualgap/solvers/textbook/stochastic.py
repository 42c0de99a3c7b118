"""Stochastic gradient and subgradient, single rows or mini-batches, and Pegasos."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import ClassVar, get_args

import numpy as np

from dualgap.arrays import Vector
from dualgap.drive.proof_schedule import glance
from dualgap.drive.registry import solver
from dualgap.drive.solver import Iterate
from dualgap.errors import NoSolverError
from dualgap.problem.problem import Problem
from dualgap.solvers.textbook.divergence import Watch, advice
from dualgap.solvers.textbook.passes import Order, Runner, SampledRows, draw, slope_shape
from dualgap.solvers.textbook.schedules import Schedule
from dualgap.solvers.textbook.steps import Automatic, Backtracking, InverseStrength, StepLike, read_step
from dualgap.solvers.textbook.trials import first_length
from dualgap.traits import Trait

ORDERS = get_args(Order)
LONG = 30.0  # a row this many times as long as most is worth a word


def _good_step(problem: Problem) -> str:
    return (
        f"Steps that begin at {first_length(problem):.3g} work here (step=dg.steps.Automatic() finds them); "
        "columns of equal size allow longer ones."
    )


def _long_rows(problem: Problem) -> str:
    """A word on rows that hold the others up."""
    length = np.sqrt(problem.design.row_square_norms())
    share = float(length.max() / max(float(np.median(length)), 1e-300))
    if share < LONG:
        return ""
    return (
        f"The longest row is {share:.2g} times as long as most, and the steps must be short enough for it: "
        "look at that row, or scale the columns."
    )


@dataclass(frozen=True)
class Stochastic:
    """w ← w − η_k (n a_i L'(y_i, x_i·w) x_i + ∇g(w)) for rows drawn at random; an iterate is a pass.

    `order` is "shuffled" (each pass a new order), "uniform" (independent draws) or "given"; `averaged`
    answers with the mean of all steps. b moves by `intercept_share` of η: every row pushes it, so that its
    noise is the largest where rows are sparse (scikit-learn takes 0.01 there, and 1 elsewhere).
    """

    step: StepLike = field(default_factory=Automatic)
    batch: int = 1
    order: Order = "shuffled"
    averaged: bool = False
    random_state: int = 0
    intercept_share: float = 1.0
    name: ClassVar[str]
    smooth: ClassVar[bool] = True
    horizon: ClassVar[int] = 1000

    def missing(self, problem: Problem) -> tuple[str, ...]:
        missing = []
        if self.smooth and not problem.loss_has(Trait.SMOOTH):
            missing.append("the loss is not smooth (stochastic_subgradient takes kinks)")
        elastic = problem.regulariser.gauge.elastic
        if problem.regulariser.constrained or elastic is None:
            missing.append("the penalty is not none, l1, l2 or elastic_net, added to the loss")
        elif self.smooth and elastic.l1.any():
            missing.append("the penalty is not smooth (stochastic_subgradient takes kinks)")
        elif len(set(elastic.l2[: problem.p - problem.intercept])) > 1:
            missing.append("the columns have different l2 weights")
        if slope_shape(problem.loss) is None:
            missing.append("the loss has no compiled slope")
        return tuple(missing)

    def cost(self, problem: Problem) -> float:
        return 100 * 4.0 * problem.design.stored

    def advice(self, problem: Problem, *, rising: bool) -> str:
        """Why it ended where it did, and a step that works."""
        return advice(problem, rising, _good_step(problem)) or _long_rows(problem)

    def schedule(self, problem: Problem) -> Schedule:
        """η of k; refuses options that make no sense."""
        if self.batch < 1:
            raise NoSolverError(f"batch must be at least 1, not {self.batch!r}.")
        if not self.intercept_share >= 0.0:
            raise NoSolverError(f"intercept_share must not be negative, as {self.intercept_share!r} is.")
        if self.order not in ORDERS:
            raise NoSolverError(f"There is no order {self.order!r}. Known: {', '.join(ORDERS)}.")
        rule = read_step(self.step)
        if isinstance(rule, Backtracking):
            raise NoSolverError("A stochastic step cannot backtrack: one row does not know the objective.")
        return rule.schedule(problem)

    def learner(self, problem: Problem, start: Vector) -> Runner:
        """The state of a run that begins at `start`."""
        return Runner(
            start,
            self.schedule(problem),
            self.batch,
            intercept=problem.intercept,
            averaged=self.averaged,
            lift=self.intercept_share,
        )

    def iterates(self, problem: Problem, start: Iterate) -> Iterator[Iterate]:
        run = self.learner(problem, start.w)
        watch, data = Watch(problem, _good_step(problem)), SampledRows.of(problem)
        random, k = np.random.default_rng(self.random_state), 0
        while True:
            k += 1
            size = run.run(data, draw(random, problem.n, self.order))
            w = run.weights()
            look, prove = glance(problem, k)
            if not look and np.isfinite(w.sum()):
                yield Iterate(w, step=size, certify=False, look=False)
                continue
            z = problem.design.matvec(w)
            watch.look(w, z, size)
            yield Iterate(w, prediction=z, step=size, certify=prove)


@solver("stochastic_gradient", manual=True, given=True)
@dataclass(frozen=True)
class StochasticGradient(Stochastic):
    """Stochastic gradient descent for smooth losses with l2 or no penalty; an iterate is a pass."""


@solver("stochastic_subgradient", manual=True, given=True)
@dataclass(frozen=True)
class StochasticSubgradient(Stochastic):
    """Stochastic subgradient descent: any loss with a slope, with l1, l2, elastic_net or no penalty."""

    smooth: ClassVar[bool] = False


@solver("pegasos", manual=True, given=True)
@dataclass(frozen=True)
class Pegasos(Stochastic):
    """Stochastic subgradient with η_t = 1/(λ't), λ' = 2λ (Shalev-Shwartz et al., 2007): any loss with l2.

    Row t is drawn uniformly. The objective, averaged, is O(log t/(λ' t)) above the optimum.
    """

    step: StepLike = field(default_factory=InverseStrength)
    order: Order = "uniform"
    smooth: ClassVar[bool] = False

    def missing(self, problem: Problem) -> tuple[str, ...]:
        missing = list(super().missing(problem))
        if not missing and not problem.regulariser.strong_convexity() > 0:
            missing.append("the penalty has no l2 part, which sets the step")
        return tuple(missing)
