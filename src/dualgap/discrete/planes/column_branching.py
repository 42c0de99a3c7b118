"""subset_planes: the zero_one loss with a count of columns, by branching on the columns."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dualgap.arrays import Index, Vector
from dualgap.discrete.base import Finding, reached, unmet
from dualgap.discrete.planes.arrangement import PLENTY, Arrangement, HittingSet, sweep_work
from dualgap.discrete.planes.plane_search import (
    NO_ERRORS,
    PlaneSearch,
    counts_errors,
    good_plane,
    on_columns,
    scaled,
)
from dualgap.discrete.planes.sides import Signs, packing, statements
from dualgap.discrete.subset.selection import NO_COUNT, Selection, chooses_columns, selection
from dualgap.drive.registry import solver
from dualgap.problem.problem import Problem
from dualgap.proof.rounding import U
from dualgap.proof.statement import SMALL


@solver("subset_planes", kind="search")
@dataclass(frozen=True)
class SubsetPlanes:
    """Fewer columns never mean fewer errors: a branch is bounded by the errors of all the columns left in it.

    That bound is a packing of infeasible subsets; what is left when the columns are chosen is solved exactly.
    """

    name: ClassVar[str]
    seconds: float | None = 60.0

    def missing(self, problem: Problem) -> tuple[str, ...]:
        return unmet((counts_errors(problem), NO_ERRORS), (chooses_columns(problem), NO_COUNT))

    def cost(self, problem: Problem) -> float:
        return float(2.0 ** min(problem.p, 60))

    def iterates(self, problem: Problem, start: Finding) -> Iterator[Finding]:
        yield from _Branching(problem, start.wanted).findings(start.w)


@dataclass(frozen=True, eq=False)
class _Open:
    inside: Index
    free: Index
    bound: float


class _Branching:
    """Depth first, columns of large weight in first."""

    def __init__(self, problem: Problem, tolerance: float) -> None:
        self.problem, self.tolerance = problem, tolerance
        self.chosen: Selection = selection(problem)
        some = problem.design.toarray().any(axis=0)
        self.counted: Index = np.flatnonzero(self.chosen.counted & some)
        self.always: Index = np.flatnonzero(~self.chosen.counted)
        self.upper, self.floor, self.nodes = np.inf, np.inf, 0
        self.w = problem.null_weights
        self.open: list[_Open] = [_Open(self.counted[:0], self.counted, 0.0)]

    @property
    def limit(self) -> int:
        return min(self.chosen.limit, len(self.counted))

    @property
    def goal(self) -> float:
        return self.upper - 0.25 * self.tolerance * max(abs(self.upper), SMALL)

    def findings(self, start: Vector | None) -> Iterator[Finding]:
        self._offer(self.problem.null_weights)
        if start is not None:
            self._offer(start)
        while self.open:
            at = self.open.pop()
            if at.bound >= self.goal:
                self.floor = min(self.floor, at.bound)
                continue
            self.nodes += 1
            room = self.limit - len(at.inside)
            free = at.free if room else at.free[:0]
            if not len(free) or (self.chosen.price == 0.0 and len(free) <= room):
                yield from self._leaf(np.concatenate([at.inside, free]), at.bound)
            else:
                self._look(at, free)
            yield self._finding(np.inf)

    def _finding(self, current: float) -> Finding:
        least = min(current, self.floor, min((o.bound for o in self.open), default=np.inf))
        return Finding(self.w, least, self.nodes)

    def _offer(self, w: Vector) -> None:
        inside = scaled(self.problem, self.problem.regulariser.feasible(w), self.tolerance)
        value = reached(self.problem, inside, self.tolerance)
        if value < self.upper:
            self.upper, self.w = value, inside

    def _part(self, columns: Index) -> tuple[list[Signs], Index]:
        """The problem on these columns alone; the last of its statements is exact."""
        live = np.sort(np.concatenate([self.always, columns]))
        return list(statements(on_columns(self.problem, live))), live

    def _widened(self, part: Signs, live: Index, u: Vector) -> Vector:
        """u as weights of all the columns, and offered as such."""
        w = np.zeros(self.problem.p)
        w[live] = part.weights(u)
        self._offer(w)
        return w

    def _look(self, at: _Open, free: Index) -> None:
        """Bound a branch by all its columns, and split it on the column of largest weight."""
        parts, live = self._part(np.concatenate([at.inside, free]))
        price, last = self._paid(len(at.inside)), parts[-1]
        bound = max(at.bound, price)
        if last.integers is not None:
            bound = max(bound, (last.below(last.lost + packing(last)) + price) * (1.0 - U))
        if bound >= self.goal:
            self.floor = min(self.floor, bound)
            return
        for part in reversed(parts):
            w = self._widened(part, live, good_plane(part, None, 2)[1])
        spread = np.sqrt(self.problem.design.weighted_square_norms(self.problem.a))
        pick = int(np.argmax(np.abs(w[free]) * spread[free]))
        rest = np.delete(free, pick)
        self.open.append(_Open(at.inside, rest, bound))
        more = max(bound, self._paid(len(at.inside) + 1))
        self.open.append(_Open(np.append(at.inside, free[pick]), rest, more))

    def _paid(self, count: int) -> float:
        """The price of so many columns, from below."""
        return self.chosen.price * count * (1.0 - U)

    def _leaf(self, inside: Index, bound: float) -> Iterator[Finding]:
        """These columns and no others: the exact search without a penalty."""
        parts, live = self._part(inside)
        price = self._paid(len(inside))
        for part in parts:
            for finding in _exact(part).planes(part, None):
                if finding.w is not None:
                    self._widened(part, live, finding.w)
                if part.integers is not None:
                    bound = max(bound, (part.below(finding.bound) + price) * (1.0 - U))
                if bound >= self.goal:
                    break
                yield self._finding(bound)
        self.floor = min(self.floor, bound)


def _exact(part: Signs) -> PlaneSearch:
    few = sweep_work(*part.rows.shape) < PLENTY
    return Arrangement() if few else HittingSet()
