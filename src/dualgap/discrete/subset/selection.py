"""The problem of choosing columns: a price for each, a limit on their number, a square on their weights."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from dualgap.arrays import Index, Mask, Vector
from dualgap.design import Dense, WithOnes
from dualgap.discrete.base import Finding, unmet
from dualgap.drive.limits import Limits
from dualgap.drive.registry import candidates
from dualgap.drive.run import drive
from dualgap.penalties import Penalised
from dualgap.penalties.forms import unregularised
from dualgap.penalties.separable import Separable
from dualgap.problem.precondition import Working, precondition
from dualgap.problem.problem import Problem
from dualgap.proof.rounding import U
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


FLAT = 1e-6  # a variance below this share of the mean square is mostly rounding, if squares are subtracted

FINE = 1e-9  # relative gap at which a fit is as good as any


def _flat(problem: Problem) -> Mask:
    """Columns that hardly vary beside their size."""
    square = problem.column_squares
    mean = problem.column_means if problem.intercept else np.zeros(problem.p)
    return np.asarray(square - mean * mean <= FLAT * square)


def nothing_to_choose(problem: Problem) -> bool:
    """Is there room for every column that says anything?"""
    chosen = selection(problem)
    if not chosen.binding:
        return True
    counted = np.flatnonzero(chosen.counted)
    if not _says_nothing(problem, counted[:1]):  # most often that is all
        return False
    return not np.any(chosen.counted & ~_flat(problem)) and _says_nothing(problem, counted)


def _says_nothing(problem: Problem, columns: Index) -> bool:
    """Are these constant beside an intercept, or else zero?"""
    table = problem.design.columns(columns).toarray()
    return bool(np.all(table == table[:1])) if problem.intercept else not table.any()


def all_in(problem: Problem, tolerance: float) -> Finding:
    """The convex problem that is left when there is nothing to choose."""
    regulariser = selection(problem).convex()
    if regulariser.free.all():
        regulariser = unregularised(problem.p)
    working = precondition(problem.with_regulariser(regulariser))
    asked = Limits(min(FINE, tolerance), 2000)
    found = drive(working, lambda: candidates(working.problem, "auto"), None, asked).bounds
    if found.box is not None:  # columns that only rounding tells apart: the bound is not for all weights
        return Finding(found.w, nodes=1)
    return Finding(found.w, found.dual, 1, found.theta)


def told_apart(problem: Problem) -> Problem:
    """The same on a full table, where a sparse one, which is not centred, would lose columns to rounding.

    A column that hardly varies beside its size has next to no zeros, so that little is lost.
    """
    if not problem.intercept or isinstance(problem.design.matrix, np.ndarray):
        return problem
    if not np.any(_flat(problem)[:-1] & (problem.column_squares[:-1] > 0.0)):
        return problem
    return replace(problem, design=WithOnes(Dense(problem.design.features.toarray())))


def well_centred(working: Working) -> bool:
    """Is what centring rounds, in one pass or two, no more than a few roundings of what is left of a column?

    The mean is off by (n + 2) roundings of itself at most. Entries of columns are rounded at their own size,
    and in a second pass by as much of what the first one left of the mean.
    """
    far = np.abs(working.centre) * (4.0 * (working.asked.n + 4) * U)
    return bool(np.all(far <= working.scale))
