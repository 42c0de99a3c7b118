"""reweighted_l1: powers below one (bridge, lp with p < 1), as a sequence of weighted l1 problems."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dualgap.arrays import Vector
from dualgap.discrete.base import Finding, reached, unmet
from dualgap.drive.limits import Limits
from dualgap.drive.registry import candidates, solver
from dualgap.drive.run import drive
from dualgap.drive.solver import Iterate
from dualgap.penalties import Constrained, Penalised, Regulariser
from dualgap.penalties.base import Concave
from dualgap.penalties.forms import unregularised
from dualgap.penalties.separable import Separable
from dualgap.problem.precondition import Working, precondition, unchanged
from dualgap.problem.problem import Problem
from dualgap.problem.zeros import with_zeros
from dualgap.proof.check import Checked
from dualgap.traits import Trait

ROUNDS = 60  # of a start at most: 13 take the smoothing to its least, the rest is for slow ends
INNER = Limits(1e-7, 2000)
FAITHFUL = 0.03  # smoothing, in the same units, at which a start still counts
LOWER = 1e-12  # what chords and their reach give way for rounding
LEAST = 1e-9  # smoothing, in units of the largest weight: what is below stays zero
STATIONARY = (
    "Stationary, not proven optimal: the penalty is not convex, and the bound is that of a relaxation."
)


def tangent_at(problem: Problem, w: Vector, smoothing: float) -> Regulariser:
    """The weighted l1 penalty that touches the true one at w; the smoothing lets zeros leave zero."""
    if problem.free.all():  # nothing bends
        return unregularised(problem.p)
    gauge = _concave(problem)
    prices = gauge.tangent(w, smoothing)
    l1 = Separable(prices, np.zeros_like(prices))
    regulariser = problem.regulariser
    if not regulariser.constrained:
        return Penalised(l1, regulariser.strength)
    slack = regulariser.radius - gauge.value(w) + float(prices @ np.abs(w))
    return Constrained(l1, max(slack, 0.0))


def weighted(problem: Problem, regulariser: Regulariser, start: Vector, limits: Limits) -> Checked:
    """The same with a convex penalty, solved."""
    part = problem.with_regulariser(regulariser)
    found = drive(unchanged(part), lambda: candidates(part, "auto"), Iterate(start), limits).bounds
    return with_zeros(part, found, limits.tolerance)


def _concave(problem: Problem) -> Concave:
    found = problem.regulariser.gauge.concave
    assert found is not None
    return found


@solver("reweighted_l1", kind="search")
@dataclass(frozen=True)
class ReweightedL1:
    """Each round solves the weighted l1 problem that touches the penalty at the last weights (Candès, Wakin
    and Boyd, 2008); the objective falls in every round. From `starts` starts, since where it ends depends on
    that. The bound is the l1 problem through the chords of the penalty over the region still possible.
    """

    starts: int = 6
    name: ClassVar[str]
    seconds: float | None = 60.0

    def missing(self, problem: Problem) -> tuple[str, ...]:
        gauge = problem.regulariser.gauge
        convex, bends = problem.loss_has(Trait.CONVEX), gauge.concave is not None and gauge.folded is None
        return unmet((convex, "the loss is not convex"), (bends, "the penalty is not a power below one"))

    def cost(self, problem: Problem) -> float:
        return 1e3 * problem.design.stored

    def iterates(self, problem: Problem, start: Finding) -> Iterator[Finding]:
        working = precondition(problem)
        run = _Run(working)
        yield run.below()
        for origin in run.origins(self.starts, start.w):
            yield from run.descend(origin)
        yield run.above()


class _Run:
    """The weighted l1 problems of one fit, each warm from the last."""

    def __init__(self, working: Working) -> None:
        self.working, self.problem = working, working.problem
        self.gauge = _concave(self.problem)
        self.count = 0
        asked = working.asked
        self.best = reached(asked, asked.null_weights, INNER.tolerance)  # as asked
        self.floor, self.full = 0.0, self.problem.null_weights

    def solve(self, regulariser: Regulariser, start: Vector) -> Checked:
        """A convex problem in the working coordinates."""
        self.count += 1
        return weighted(self.problem, regulariser, start, INNER)

    def below(self) -> Finding:
        """The loss without the penalty: a bound, unless rounding alone tells columns apart."""
        asked = self.working.asked
        free = precondition(asked.with_regulariser(unregularised(asked.p)))
        found = drive(free, lambda: candidates(free.problem, "auto"), None, INNER).bounds
        self.count += 1
        self.full = self.working.coordinates(found.w)
        if found.box is None:
            self.floor = found.dual
        return Finding(found.w, self.floor, self.count)

    def above(self) -> Finding:
        """The relaxation: chords of the penalty, between zero and as far as any better weights can go.

        It is solved in the working coordinates and proven in those asked, its chords a little lower.
        """
        asked, regulariser = self.working.asked, self.working.asked.regulariser
        if not regulariser.constrained:
            reach = max(self.best - self.floor, 0.0) / regulariser.strength * (1.0 + LOWER)
        else:
            reach = regulariser.radius
        chord = _concave(asked).chord(reach) * (1.0 - LOWER)
        relaxed = asked.with_regulariser(regulariser.with_gauge(Separable(chord, np.zeros_like(chord))))
        working = precondition(relaxed)
        found = drive(working, lambda: candidates(working.problem, "auto"), None, INNER).bounds
        self.count += 1
        bound = found.dual if found.box is None else -np.inf
        return Finding(None, bound, self.count, found.theta, STATIONARY)

    def _note(self, w: Vector, value: float) -> None:
        """Keep the best objective, from above."""
        if value < self.best:
            asked = self.working.asked
            self.best = min(self.best, reached(asked, asked.regulariser.feasible(w), INNER.tolerance))

    def origins(self, count: int, start: Vector | None) -> Iterator[Vector]:
        """Zero (which begins with plain l1), the start given, the fit without a penalty, and parts of it.

        The parts are its largest weights, half as many each time, then weights picked at random.
        """
        yield self.problem.null_weights
        if start is not None:
            yield self.working.coordinates(start)
        if count > 1:
            yield self.full
        rng = np.random.default_rng(0)
        size = np.where(self.gauge.free, np.inf, np.abs(self.full))
        keep = int(np.count_nonzero(~self.gauge.free)) // 2
        for _ in range(count - 2):
            if keep:
                yield np.where(size >= np.sort(size[~self.gauge.free])[-keep], self.full, 0.0)
                keep //= 2
            else:
                yield np.where(self.gauge.free | (rng.random(len(size)) < 0.3), self.full, 0.0)

    def descend(self, w: Vector) -> Iterator[Finding]:
        """Rounds with less and less smoothing, until nothing moves."""
        scale = float(np.abs(self.full[~self.gauge.free]).max(initial=0.0)) or 1.0
        w = self.problem.regulariser.feasible(w)
        smoothing, before = scale if not np.any(w[~self.gauge.free]) else FAITHFUL * scale, np.inf
        for _ in range(ROUNDS):
            w = self.solve(tangent_at(self.problem, w, smoothing), w).w
            w = self.problem.regulariser.feasible(w)
            value = self.problem.primal(w)
            asked = self.working.weights(w)
            self._note(asked, value * self.working.objective_unit)
            yield Finding(asked, nodes=self.count)
            if smoothing <= LEAST * scale and before - value <= 1e-9 * max(abs(value), 1e-300):
                return
            before, smoothing = value, max(0.2 * smoothing, LEAST * scale)
