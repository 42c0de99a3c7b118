"""Semismooth Newton on the augmented Lagrangian: every convex loss with every convex penalty, both forms."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import ClassVar

import numpy as np

from dualgap.drive.memory import too_large
from dualgap.drive.registry import solver
from dualgap.drive.solver import STEP, Iterate, Solver
from dualgap.problem.problem import Problem
from dualgap.solvers.augmented_lagrangian.hard_rows import Stacked, stacked
from dualgap.solvers.augmented_lagrangian.lagrangian import begin
from dualgap.solvers.augmented_lagrangian.scope import Scope
from dualgap.solvers.augmented_lagrangian.system import Grams
from dualgap.solvers.augmented_lagrangian.weights import growth
from dualgap.solvers.coherence import slowed
from dualgap.solvers.sampling import sampled, worth
from dualgap.traits import Trait

COPIES = 4.2  # of the dense system at once
STEPS = 40  # of Newton in one round, before it is held back
SHARE = 8  # an iterate is shown at least every so many steps
SMALL = 200_000  # numbers stored: below, a sample spares nothing
NEARER = 20.0  # stiffness at a start from a sample
SAMPLE_GAP, LONGEST = 0.03, 30  # how well a sample is solved, and how many iterates that may take
NEAR = 300.0  # estimated gaps this many times the one wanted are not worth a proof
LAST = 0.02  # and of that a share from which rows at rest are looked at again
PATIENCE, PROGRESS = 15, 0.7  # rounds in which the residual must fall below this share of the best
# Products with the matrix, where conjugate gradients do; operations of a dense factor in the time that one of
# these takes for a number stored, and for a row or a column.
PRODUCTS, PAIR, PLACE = 1500.0, 60.0, 250.0
FACTORS = 5.0  # in 8-byte numbers, that an interior point takes besides: 30 steps in 4-byte ones; a choice
STIFFER = 3.0  # what the stiffness grows by after an easy round


@solver("augmented_lagrangian")
@dataclass(frozen=True)
class AugmentedLagrangian:
    """w ← argmin of Σ a L + g, both smoothed around multipliers d, v, + η/2 ‖w − w_k‖²; d, v ← their slopes.

    Rockafellar's proximal method of multipliers (1976), each round by semismooth Newton (Li, Sun and Toh,
    2018). Kinks of the loss carry one multiplier per row, a penalty that is not quadratic carries one per
    weight: v is the projection onto the dual ball, or s − σ times the one onto the ball itself, and its
    derivative is a diagonal with rank one. Smooth losses and quadratic penalties stay as they are. Rounds
    that took few steps make the next one stiffer and its proximal term fainter.

    Cost per step: the Gram matrix of the rows with curvature, or of their transpose if they are fewer than
    the columns, its Cholesky factor, and four products with the matrix. Memory: a copy of the rows with
    curvature, at most all of them, and dense systems of the smaller side.
    """

    alone: bool = False  # by conjugate gradients alone: gives up where they do not do
    name: ClassVar[str] = "augmented_lagrangian"
    bounded: ClassVar[str] = "bounds and constraints"

    def missing(self, problem: Problem) -> tuple[str, ...]:
        lacking = []
        if not problem.loss_has(Trait.CONVEX):
            lacking.append("the loss is not convex")
        if Trait.CONVEX not in problem.regulariser.traits:
            lacking.append("the penalty is not convex")
        return (*lacking, *too_large(min(problem.n, problem.p), COPIES))

    def attempts(self, problem: Problem) -> list[tuple[float, Solver]]:
        """With any system; before that by conjugate gradients alone, where these may do."""
        turns: list[tuple[float, Solver]] = [(self.cost(problem), self)]
        if _gradients_may_do(problem):
            turns.append((PRODUCTS * _product(problem), replace(self, alone=True)))
        return turns

    def cost(self, problem: Problem) -> float:
        small, stored = float(min(problem.n, problem.p)), float(problem.design.stored)
        steps, curved = self._steps(problem)
        return slowed(problem) * steps * (STEP + curved * stored * small + small**3 / 3.0 + 12.0 * stored)

    def _steps(self, problem: Problem) -> tuple[float, float]:
        """How many Newton steps, and the share of rows that are curved in them; measured."""
        facts = problem.regulariser.traits
        sharp = Trait.POLYHEDRAL in facts or (Trait.SEPARABLE in facts and Trait.QUADRATIC not in facts)
        if problem.p > problem.n:
            return 100.0, 1.0
        if not problem.loss_has(Trait.SMOOTH):
            steps, curved = 15.0 if _sampling(problem) else 30.0, 0.3
        elif problem.loss_has(Trait.QUADRATIC):
            return 8.0, 0.5  # one Gram matrix serves all steps
        else:
            edged = problem.regulariser.constrained or (sharp and Trait.SEPARABLE not in facts)
            steps, curved = 20.0 if edged else 8.0, 1.0
        # with few rows a column many kinks are crossed one after the other
        if problem.n < (40 if sharp else 10) * problem.p:
            return 2.5 * steps, 1.0
        return steps, curved

    def iterates(self, problem: Problem, start: Iterate) -> Iterator[Iterate]:
        problem = problem.flattened()
        if problem.constraints is not None:
            yield from self._constrained(stacked(problem), start)
            return
        near = self._from_a_sample(problem, start)
        first = begin(problem, start) if near is None else begin(problem, near, NEARER)
        if self.alone:
            first = replace(first[0], grams=Grams(alone=_most(problem))), first[1]
        yield from _Course(problem, Scope(*first), NEAR * start.wanted, near is None).run()

    def _constrained(self, problem: Stacked, start: Iterate) -> Iterator[Iterate]:
        """The same with the constraints as rows."""
        first = begin(problem, start)
        for iterate in _Course(problem, Scope(*first), NEAR * start.wanted, True).run():
            seen = iterate.prediction
            yield iterate if seen is None else replace(iterate, prediction=seen[: problem.n])

    def _from_a_sample(self, problem: Problem, start: Iterate) -> Iterate | None:
        """The answer for some of the rows, if there are many for each column and it is a better start."""
        few = sampled(problem) if _sampling(problem) else None
        if few is None or not np.array_equal(start.w, problem.null_weights):
            return None
        near = start.w
        first = Iterate(few.null_weights, wanted=SAMPLE_GAP / NEAR)
        for iterate in islice(self.iterates(few, first), LONGEST):
            near = iterate.w
            if iterate.certify:
                break
        z = problem.predict(near)
        return Iterate(near) if problem.primal(near, z) < problem.null else None


class _Course:
    """Rounds, on all rows or on those near a bend, until nothing improves any more."""

    def __init__(self, problem: Problem, scope: Scope, enough: float, trusted: bool) -> None:
        self._problem, self._scope, self._enough = problem, scope, enough
        self._best, self._idle, self._trusted = np.inf, 0, trusted
        self._value = problem.null
        self._kept: Iterate | None = None  # the best one by its residual

    def run(self) -> Iterator[Iterate]:
        """What is shown of them."""
        while self._idle < PATIENCE and not self._scope.lagrangian.grams.given_up:
            scope = self._scope.narrowed() if self._trusted else self._scope
            self._trusted = True
            yield from self._wide_round(scope) if scope.whole else self._narrow_rounds(scope)
        if self._kept is not None and not self._kept.certify:  # nobody has looked at the best yet
            yield replace(self._kept, certify=True)

    def _wide_round(self, scope: Scope) -> Iterator[Iterate]:
        steps, solved, here = 0, False, scope
        for here, steps, solved in scope.walk(STEPS):
            residual = here.residual
            if solved or residual < 0.5 * self._best or steps % SHARE == 0:
                yield self._shown(here, residual)
        self._idle += 1
        if steps == STEPS and not solved:
            self._scope = here.held()
            return
        self._scope = here.moved(growth(steps, STIFFER))
        if not steps:  # nothing to solve: the multipliers alone have moved
            yield self._shown(self._scope, self._scope.residual)

    def _narrow_rounds(self, scope: Scope) -> Iterator[Iterate]:
        """Rounds without the rows at rest, while they help and the gap is not near the one wanted."""
        best = np.inf
        while True:
            here, steps, solved = scope.end(STEPS)
            residual = here.residual
            if not (solved and residual < PROGRESS * best) or self._near(residual, LAST):
                break
            yield Iterate(here.point.weights.primal, certify=False, look=False)
            best, scope = residual, here.moved(growth(steps, STIFFER)).narrowed()
        self._trusted = steps > 0
        self._scope = whole = here.widened()
        self._idle += 1
        yield self._shown(whole, whole.residual)
        if steps and whole.lagrangian.solved(whole.point):
            self._scope = whole.moved(growth(steps, STIFFER))

    def _shown(self, scope: Scope, residual: float) -> Iterate:
        """What the driver sees; a proof is worth its products once the estimated gap is near."""
        if residual < PROGRESS * self._best:
            self._idle = 0
        self._best = min(self._best, residual)
        point = scope.point
        primal = point.weights.primal
        z = point.z if np.array_equal(primal, point.w) else None
        paid = self._problem.regulariser.value(primal)
        self._value = self._problem.risk(point.z) + (paid if np.isfinite(paid) else 0.0)
        near = self._near(residual, 1.0)
        shown = Iterate(primal, -point.rows.slope, z, certify=near, correlation=-point.pull)
        if residual <= self._best:
            self._kept = shown
        return shown

    def _near(self, residual: float, share: float) -> bool:
        """Is the estimated gap below this share of what is near?"""
        return not self._enough or self._problem.relative(residual, self._value) <= share * self._enough


def _gradients_may_do(problem: Problem) -> bool:
    """Sparse columns with a price or a bound on the largest weight, and a loss that is curved everywhere.

    With the logistic loss a third to three quarters of an interior point's time, and under a bound no more
    than it; one that stalled there, 4853 × 8005, is proven in 2 s. Where curvature vanishes, rows leave and
    come back, and most of the time was lost.
    """
    price = problem.regulariser
    ball = price.gauge.ball
    largest = ball is not None and ball.order == np.inf
    return problem.loss_has(Trait.ENTROPIC) and largest and problem.design.sparse is not None


def _product(problem: Problem) -> float:
    """Operations of a dense factor in the time of a pair of products."""
    return PAIR * problem.design.stored + PLACE * (problem.n + problem.p)


def _most(problem: Problem) -> float:
    """Products after which conjugate gradients alone give up: an interior point would have been there."""
    factor = float(min(problem.n, problem.p)) ** 3 / 3.0
    return PRODUCTS + FACTORS * factor / _product(problem)


def _sampling(problem: Problem) -> bool:
    """Is a sample worth its time, and are there kinks that many rows of it could stand for?"""
    return problem.design.stored > SMALL and not problem.loss_has(Trait.SMOOTH) and worth(problem)
