"""local_linear: penalties that bend and go flat (mcp, scad), as a sequence of weighted l1 problems."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from dualgap.arrays import Mask, Vector
from dualgap.discrete.base import Finding, unmet
from dualgap.discrete.concave.convexity import convex_bound
from dualgap.discrete.concave.reweighted import tangent_at, weighted
from dualgap.drive.limits import Limits
from dualgap.drive.registry import solver
from dualgap.problem.precondition import precondition
from dualgap.problem.problem import Problem
from dualgap.traits import Trait

ROUNDS = 200  # on one set, that no problem needs: 3 to 30 were counted
SETS = 100  # that no problem needs either: each is at most doubled
FIRST = 20  # columns of the first set
STILL = 1e-11  # a fall by this share of the objective is none
ROUGH, FINE = Limits(1e-6, 2000), Limits(1e-9, 2000)  # of a round, until little falls, and from then on
NEAR = 1e-5  # share of the objective that is little
OVER = 1.0 + 1e-7  # times its price: what a column at zero must be worth to be taken in
STATIONARY = "Stationary, not proven optimal: the penalty is not convex."
UNFINISHED = "The round limit came first, short of a stationary point; the penalty is not convex."


@solver("local_linear", kind="search")
@dataclass(frozen=True)
class LocalLinear:
    """Each round solves the weighted l1 problem that touches the penalty at the last weights (Zou and Li,
    2008); from zero the first is l1 itself, and the objective falls in every round. Few columns at a time,
    until none at zero is worth more than its price. Where loss and penalty together are convex on the data,
    which is tried for squared loss, the end is proven to be the best there is.
    """

    seconds: float | None = 60.0
    name: ClassVar[str] = "local_linear"

    def missing(self, problem: Problem) -> tuple[str, ...]:
        convex, bends = problem.loss_has(Trait.CONVEX), problem.regulariser.gauge.folded is not None
        return unmet((convex, "the loss is not convex"), (bends, "the penalty does not bend and go flat"))

    def cost(self, problem: Problem) -> float:
        return 1e3 * problem.design.stored

    def iterates(self, problem: Problem, start: Finding) -> Iterator[Finding]:
        working = precondition(problem)
        descent = _Descent(working.problem)
        origin = working.problem.null_weights if start.w is None else working.coordinates(start.w)
        for w in descent.from_(origin):
            yield Finding(working.weights(w), nodes=descent.count)
        answer, ending = working.weights(descent.w), STATIONARY if descent.settled else UNFINISHED
        yield Finding(answer, convex_bound(problem, answer), descent.count, ending=ending)


class _Descent:
    """Rounds on growing sets of columns; the others are at zero."""

    def __init__(self, problem: Problem) -> None:
        self.problem, self.free = problem, problem.free
        self.w, self.value, self.count, self.settled = problem.null_weights, np.inf, 0, True

    def from_(self, w: Vector) -> Iterator[Vector]:
        """The weights after each set."""
        self.w, self.value = w, self.problem.primal(w)
        live = self.free | (w != 0.0)
        for _ in range(SETS):
            new = self._worth(live)
            if not new.any() and self.count:
                return
            live = live | new
            self._settle(live)
            yield self.w
        self.settled = False

    def _worth(self, live: Mask) -> Mask:
        """The columns at zero that are worth more than their price, the most valuable of them."""
        problem, new = self.problem, np.zeros(len(live), dtype=bool)
        theta = problem.null_dual if not self.w[~self.free].any() else problem.slope(problem.predict(self.w))
        price = tangent_at(problem, np.zeros_like(self.w), 0.0)
        pull = np.abs(problem.correlation(theta)) / price.strength  # type: ignore[union-attr]
        steep = np.where(live, np.inf, price.gauge.elastic.l1)  # type: ignore[union-attr]
        over = np.flatnonzero(pull > OVER * steep)
        most = max(FIRST, int(np.count_nonzero(live)))
        new[over[np.argsort(-pull[over] / steep[over], kind="stable")[:most]]] = True
        return new

    def _settle(self, live: Mask) -> None:
        """Rounds on these columns until nothing falls."""
        problem = self.problem
        part = replace(
            problem,
            design=problem.design.columns(np.flatnonzero(live)),
            regulariser=problem.regulariser.restricted(live),
        )
        w, before, limits = self.w[live], self.value, ROUGH
        for _ in range(ROUNDS):
            w = weighted(part, tangent_at(part, w, 0.0), w, limits).w
            value, self.count = part.primal(w), self.count + 1
            if limits is FINE and before - value <= STILL * abs(value):
                break
            limits = FINE if before - value <= NEAR * abs(value) else limits
            before = value
        else:
            self.settled = False
        self.w = np.zeros_like(self.w)
        self.w[live] = w
        self.value = value
