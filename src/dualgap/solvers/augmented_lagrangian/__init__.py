"""Semismooth Newton on the augmented Lagrangian: every convex loss with every convex penalty, both forms."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import ClassVar

import numpy as np

from dualgap.problem.problem import Problem
from dualgap.solvers.augmented_lagrangian.lagrangian import Lagrangian, Point, begin
from dualgap.solvers.base import Iterate
from dualgap.solvers.memory import too_large
from dualgap.solvers.registry import solver
from dualgap.solvers.sampling import sampled
from dualgap.traits import Trait

COPIES = 4.2  # of the dense system at once
STEPS = 40  # of Newton in one round, before it is held back
SHARE = 8  # an iterate is shown at least every so many steps
SMALL = 2_000_000  # numbers stored: below, a sample spares nothing
NEARER = 100.0  # stiffness at a start from a sample, which took the fewest steps
SAMPLE_GAP, LONGEST = 1e-3, 30  # how well a sample is solved, and how many iterates that may take
NEAR = 300.0  # estimated gaps this many times the one wanted are not worth a proof
PATIENCE, PROGRESS = 15, 0.7  # rounds in which the residual must fall below this share of the best
GROWTH = ((4, 3.0), (10, 3.0**0.5), (18, 3.0**0.25))  # steps a round took at most, stiffness it earns


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

    name: ClassVar[str] = "augmented_lagrangian"

    def missing(self, problem: Problem) -> tuple[str, ...]:
        lacking = []
        if not problem.loss_has(Trait.CONVEX):
            lacking.append("the loss is not convex")
        if Trait.CONVEX not in problem.regulariser.traits:
            lacking.append("the penalty is not convex")
        return (*lacking, *too_large(min(problem.n, problem.p), COPIES))

    def cost(self, problem: Problem) -> float:
        small, stored = float(min(problem.n, problem.p)), float(problem.design.stored)
        steps, curved = (8.0, 1.0) if problem.loss_has(Trait.SMOOTH) else (30.0, 0.3)
        if steps < 10.0 and not problem.loss_has(Trait.QUADRATIC) and problem.regulariser.constrained:
            steps = 20.0
        # measured: with few rows a column many kinks are crossed one after the other
        if problem.p > problem.n:
            steps, curved = 100.0, 1.0
        elif problem.n < (40 if Trait.POLYHEDRAL in problem.regulariser.traits else 10) * problem.p:
            steps, curved = 2.5 * steps, 1.0
        return steps * (curved * stored * small + small**3 / 3.0 + 12.0 * stored)

    def iterates(self, problem: Problem, start: Iterate) -> Iterator[Iterate]:
        near = self._from_a_sample(problem, start)
        lagrangian, point = begin(problem, start) if near is None else begin(problem, near, NEARER)
        best, idle = np.inf, 0
        enough = NEAR * start.wanted
        while idle < PATIENCE:
            steps, solved = 0, False
            for ahead, solved in _round(lagrangian, point):
                point, steps, residual = ahead, steps + 1, lagrangian.residual(ahead)
                if solved or residual < 0.5 * best or steps % SHARE == 0:
                    best, idle = _better(residual, best, idle)
                    yield _iterate(problem, point, residual, enough)
            idle += 1
            if steps == STEPS and not solved:
                lagrangian = lagrangian.held(point)
                continue
            lagrangian, point = lagrangian.moved(point, _growth(steps))
            if not steps:  # nothing to solve: the multipliers alone have moved
                residual = lagrangian.residual(point)
                best, idle = _better(residual, best, idle)
                yield _iterate(problem, point, residual, enough)

    def _from_a_sample(self, problem: Problem, start: Iterate) -> Iterate | None:
        """The answer for some of the rows, if there are many for each column and it is a better start."""
        cold = np.array_equal(start.w, problem.null_weights) and problem.design.stored > SMALL
        few = sampled(problem) if cold and Trait.QUADRATIC in problem.regulariser.traits else None
        if few is None or problem.loss_has(Trait.SMOOTH):
            return None
        near = start.w
        first = Iterate(few.null_weights, wanted=SAMPLE_GAP / NEAR)
        for iterate in islice(self.iterates(few, first), LONGEST):
            near = iterate.w
            if iterate.certify:
                break
        z = problem.predict(near)
        return Iterate(near, problem.slope(z)) if problem.primal(near, z) < problem.null else None


def _round(lagrangian: Lagrangian, point: Point) -> Iterator[tuple[Point, bool]]:
    """Newton steps until the round is solved, as the second entry says, is stuck, or has taken too long."""
    for _ in range(STEPS):
        ahead = lagrangian.newton(point)
        if ahead is None:
            return
        point, solved = ahead, lagrangian.solved(ahead)
        yield point, solved
        if solved:
            return


def _better(residual: float, best: float, idle: int) -> tuple[float, int]:
    """The best residual so far, and the rounds since it fell."""
    return min(best, residual), 0 if residual < PROGRESS * best else idle


def _growth(steps: int) -> float:
    """Rounds that were easy make the next one stiffer."""
    return next((factor for most, factor in GROWTH if steps <= most), 1.0)


def _iterate(problem: Problem, point: Point, residual: float, enough: float) -> Iterate:
    """What the driver sees; a proof is worth its products once the estimated gap is near the one wanted."""
    primal = point.weights.primal
    z = point.z if np.array_equal(primal, point.w) else None
    near = not enough or problem.relative(residual, problem.risk(point.z)) <= enough
    return Iterate(primal, -point.rows.slope, z, certify=near, correlation=-point.pull)
