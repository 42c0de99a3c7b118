"""Smooth losses with group_lasso or sparse_group over dense columns: block descent by their matrix."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dualgap.arrays import Index, Matrix, Vector
from dualgap.drive.registry import solver
from dualgap.drive.solver import STEP, Iterate
from dualgap.penalties.base import Groups
from dualgap.problem.problem import Problem
from dualgap.solvers.working_columns import EDGE, WorkingPoint, lacks_columns, rounds
from dualgap.traits import Trait

SWEEPS = 2000  # over the groups taken; some hundred were counted where columns are correlated by a half
LEAST = 1e-12  # violations, in prices, that are rounding


@solver("group_descent")
@dataclass(frozen=True)
class GroupDescent:
    """Block coordinate descent on working sets of groups (Yuan and Lin, 2006), inside proximal Newton.

    A quadratic loss has one matrix, which grows with the set. Cost per round: one pass for Xᵀθ, and the
    matrix of the columns taken. Memory: a copy of these columns, and their matrix.
    """

    name: ClassVar[str] = "group_descent"
    exact_zeros: ClassVar[bool] = True  # a group that is not worth its price has the weights 0, not 1e-10

    def missing(self, problem: Problem) -> tuple[str, ...]:
        groups = problem.regulariser.gauge.groups
        if groups is None or problem.regulariser.constrained:
            return ("the penalty is none of groups, added to the loss",)
        uneven = () if _even(groups) else ("a group has columns of different scales",)
        return (*uneven, *lacks_columns(problem))

    def cost(self, problem: Problem) -> float:
        n, p = problem.design.shape
        taken = min(p / 4.0, n / 2.0)
        rounds = 2.0 if problem.loss_has(Trait.QUADRATIC) else 12.0
        return 4.0 * STEP + 10.0 * problem.design.stored + 0.1 * rounds * n * taken * taken

    def at_once(self, problem: Problem) -> GroupDescent | None:
        """Dense columns that all have a price."""
        return None if self.missing(problem) else self

    def iterates(self, problem: Problem, start: Iterate) -> Iterator[Iterate]:
        yield from rounds(_GroupPoint(problem, start))


def _even(groups: Groups) -> bool:
    """Has every group one scale, where it has any?"""
    count = int(groups.group.max(initial=-1)) + 1
    low, high = np.full(count, np.inf), np.zeros(count)
    np.minimum.at(low, groups.group, groups.scale)
    np.maximum.at(high, groups.group, groups.scale)
    return bool(np.all(high <= low * (1.0 + 1e-12)))


class _GroupPoint(WorkingPoint):
    """Groups come in as a whole: `groups` are those taken, `starts` where each begins."""

    def begin(self, live: Index) -> None:
        regulariser, p = self.problem.regulariser, self.design.shape[1]
        groups = regulariser.gauge.groups
        assert groups is not None and not regulariser.constrained
        self.strength, self.gauge = regulariser.strength, regulariser.gauge
        self.group = groups.group[:p]
        self.own_price = self.strength * groups.l1[:p]
        order = np.argsort(self.group, kind="stable")
        count = int(self.group.max(initial=-1)) + 1  # none where no column is left but the ones
        self.members = np.split(order, np.cumsum(np.bincount(self.group))[:-1])[:count]
        self.lengths = np.array([len(one) for one in self.members])
        self.price = np.zeros(len(self.members))
        self.price[self.group] = self.strength * groups.scale[:p]
        self.taken = np.zeros(len(self.members), dtype=bool)
        self.groups: Index = np.zeros(0, dtype=np.int64)
        self.starts = np.zeros(1, dtype=np.int64)
        self._add(np.unique(self.group[live]))

    def _add(self, new: Index) -> None:
        """Take in groups that were not."""
        if not len(new):
            return
        self.taken[new] = True
        self.groups = np.concatenate([self.groups, new])
        self.starts = np.concatenate([self.starts, self.starts[-1] + np.cumsum(self.lengths[new])])
        self.take(np.concatenate([self.members[g] for g in new]))

    def paid_by(self, w: Vector) -> float:
        squares = np.add.reduceat(w * w, self.starts[:-1]) if len(w) else np.zeros(0)
        return float(self.own_price[self.columns] @ np.abs(w) + self.price[self.groups] @ np.sqrt(squares))

    def value(self, v: Vector) -> None:
        worth = self.gauge.strengths_at_zero(v)[: len(self.members)]
        self.worth = np.asarray(worth / self.strength)
        self.off = max(float(self.worth.max(initial=0.0)) - 1.0, 0.0)

    def choose(self, most: float | None) -> None:
        if most is None:
            self._add(np.flatnonzero(~self.taken))
            return
        worth = np.where(self.taken, 0.0, self.worth)
        new = np.flatnonzero(worth >= EDGE)
        new = new[np.argsort(-worth[new], kind="stable")]
        if len(new):
            new = new[: max(int(np.searchsorted(np.cumsum(self.lengths[new]), most)), 1)]
        self._add(new)

    def near(self, pull: Vector) -> tuple[Index, float]:
        if not len(self.w):
            return self.columns, 0.0
        squares = np.add.reduceat(self.w * self.w, self.starts[:-1])
        left = np.maximum(np.abs(pull) - self.own_price[self.columns], 0.0)
        push = np.sqrt(np.add.reduceat(left * left, self.starts[:-1]))
        price = self.price[self.groups]
        live = np.flatnonzero((squares > 0.0) | (push > EDGE * price))
        return _places(self.starts, live), float((push[live] / price[live]).max(initial=0.0)) - 1.0

    def settle(self, gram: Matrix, places: Index, w: Vector, residual: Vector, tolerance: float) -> None:
        from dualgap.solvers.groups import sweeps as loops

        columns = self.columns[places]
        group = self.group[columns]
        starts = np.append(np.flatnonzero(np.diff(group, prepend=-1)), len(group)).astype(np.int64)
        which = group[starts[:-1]]
        top = _largest(gram, starts)
        prices = self.own_price[columns], self.price[which]
        loops.settle(gram, w, residual, prices, (starts, top), max(tolerance, LEAST), SWEEPS)


def _places(starts: Index, groups: Index) -> Any:
    """Where the columns of these groups are among those taken."""
    return (
        np.concatenate([np.arange(starts[g], starts[g + 1]) for g in groups]) if len(groups) else starts[:0]
    )


def _largest(gram: Matrix, starts: Index) -> Vector:
    """A bound on the eigenvalues of each block, next to the largest; blocks of one size at once."""
    lengths, top = np.diff(starts), np.zeros(len(starts) - 1)
    for length in np.unique(lengths):
        some = np.flatnonzero(lengths == length)
        places = starts[some][:, None] + np.arange(length)
        top[some] = np.linalg.eigvalsh(gram[places[:, :, None], places[:, None, :]])[:, -1]
    return top * (1.0 + 1e-9)
