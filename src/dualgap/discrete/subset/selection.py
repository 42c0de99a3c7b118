"""The problem of choosing columns: a price for each, a limit on their number, a square on their weights."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dualgap.arrays import Mask, Vector
from dualgap.discrete.base import unmet
from dualgap.penalties import Penalised
from dualgap.penalties.separable import Separable
from dualgap.problem.problem import Problem
from dualgap.traits import Trait

NO_COUNT = "the penalty does not count columns"
NO_BOUND = (
    "There is no useful bound: without an l2 part so many dependent columns can fit everything. This is the "
    "best set found, not a proven one; l0_l2(alpha) makes a proof possible."
)


@dataclass(frozen=True, eq=False)
class Selection:
    """g(w) = Σ ridge_j w_j² + price·#{counted, w_j ≠ 0}, the number at most `limit`."""

    counted: Mask
    ridge: Vector
    price: float
    limit: int

    @property
    def binding(self) -> bool:
        """Is there anything to choose?"""
        count = int(self.counted.sum())
        return self.limit < count or (self.price > 0.0 and count > 0)

    def convex(self) -> Penalised:
        """The squares alone: what is left once the columns are chosen."""
        return Penalised(Separable(np.zeros_like(self.ridge), self.ridge), 1.0)


def chooses_columns(problem: Problem) -> bool:
    """Is the penalty a count of columns?"""
    return problem.regulariser.gauge.count is not None


def selection(problem: Problem) -> Selection:
    """What the regulariser of a problem that chooses columns says."""
    regulariser, count = problem.regulariser, problem.regulariser.gauge.count
    assert count is not None
    most = int(count.which.sum())
    if regulariser.constrained:
        return Selection(count.which, count.l2, 0.0, min(int(regulariser.radius), most))
    return Selection(count.which, regulariser.strength * count.l2, regulariser.strength, most)


def lacks_selection(problem: Problem) -> tuple[str, ...]:
    """What a problem lacks to be one of choosing columns for a convex loss."""
    convex = problem.loss_has(Trait.CONVEX)
    return unmet((convex, "the loss is not convex"), (chooses_columns(problem), NO_COUNT))
