"""hitting_set: the fewest errors of any plane, from sets of rows that cannot all be right.

Every infeasible subset of the rows must lose a row. The cheapest set of rows that hits all the subsets known
so far is a bound; if what it leaves is feasible it is the answer, and if not, there are more subsets to know.
(Pfetsch 2008; combinatorial Benders cuts, Codato and Fischetti 2006.) No constant stands for infinity.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import scipy.sparse as sp
from scipy.optimize import Bounds, LinearConstraint, linprog, milp

from dualgap.arrays import Index, Mask, Vector
from dualgap.discrete.arrangement import cells, sweep_work
from dualgap.discrete.base import Finding
from dualgap.discrete.local_planes import good_plane
from dualgap.discrete.plane_search import PlaneSearch
from dualgap.discrete.registry import search
from dualgap.discrete.signs import Signs, separator
from dualgap.problem.problem import Problem

PLENTY = 2e8  # work at which this is expected to beat the arrangement
SWEEP_SECONDS = 2e-8  # a unit of the arrangement's work (measured)
LONGEST = 120.0  # seconds of it that are worth beginning
ROUNDS = 60  # of separation between two integer programs


def _grain(weights: Vector) -> float:
    """The number that all weights are multiples of, if the least of them is that; else 0."""
    least = float(weights.min())
    multiples = weights / least
    return least if np.all(np.abs(multiples - np.round(multiples)) <= 1e-9 * multiples) else 0.0


@search("hitting_set")
@dataclass(frozen=True)
class HittingSet(PlaneSearch):
    """Exact for the zero_one loss in any dimension while the errors are few; a bound at any time.

    Where the arrangement would have been done by now it goes over to that.
    """

    name: ClassVar[str] = "hitting_set"

    def cost(self, problem: Problem) -> float:
        return PLENTY

    def planes(self, signs: Signs, start: Vector | None) -> Iterator[Finding]:
        best, u = good_plane(signs, start, 10)
        yield Finding(u, signs.lost, 1)
        if not len(signs.rows):
            return
        cover = _Cover(signs, best, u)
        patience = SWEEP_SECONDS * sweep_work(len(signs.rows), signs.dimension)
        patience = patience if patience < LONGEST else np.inf
        began = time.perf_counter()
        for finding in cover.findings():
            yield finding
            if time.perf_counter() - began > patience:
                yield from cells(signs, (cover.best, cover.u), cover.bound)
                return


class _Cover:
    """The subsets known, the best plane, the best bound."""

    def __init__(self, signs: Signs, best: float, u: Vector) -> None:
        self.signs, self.best, self.u = signs, best, u
        self.rows, self.weights = signs.signed()
        self.subsets: list[Index] = []
        self.known: set[bytes] = set()
        self.bound, self.grain = signs.lost, _grain(self.weights)
        self.rng = np.random.default_rng(0)

    def findings(self) -> Iterator[Finding]:
        self._collect(np.arange(len(self.rows)))
        count = 1
        while True:
            for _ in range(ROUNDS):
                count += 1
                share, value = self._fractional()
                self._raise(value)
                yield self._finding(count)
                if not self._separate(share):
                    break
            count += 1
            hit, value = self._integral()
            self._raise(value)
            yield self._finding(count)
            if hit is None:
                continue
            if not self._collect(np.flatnonzero(~hit)):
                self.bound = self.best
                yield self._finding(count)
                return
            self._vary(np.flatnonzero(~hit))

    def _raise(self, value: float) -> None:
        """Take a bound on the cost; where all weights are multiples of one, so is the cost."""
        value -= 1e-7 * self.grain if self.grain else 1e-9
        if self.grain:
            value = self.grain * float(np.ceil(value / self.grain - 1e-6))
        self.bound = max(self.bound, self.signs.lost + value)

    def _finding(self, count: int) -> Finding:
        return Finding(self.u, min(self.bound, self.best), count)

    def _collect(self, left: Index) -> bool:
        """Disjoint infeasible subsets of these rows until they can be separated; True if there were any."""
        found = False
        while len(left):
            u, stuck = separator(self.rows[left])
            if u is not None or not len(stuck):
                if u is not None:
                    self._offer(u)
                break
            self._note(left[stuck])
            found = True
            left = np.delete(left, stuck)
        return found

    def _note(self, subset: Index) -> bool:
        key = np.sort(subset).tobytes()
        if key in self.known:
            return False
        self.known.add(key)
        self.subsets.append(subset)
        return True

    def _offer(self, u: Vector) -> None:
        from dualgap.compiled.arrangement import wander

        signs = self.signs
        lines = np.vstack([np.eye(signs.dimension), self.rng.standard_normal((20, signs.dimension))])
        _, moved = wander(signs.rows, signs.plus, signs.minus, u, np.ascontiguousarray(lines))
        for point, value in ((u, signs.cost(u)), (moved, signs.cost(moved))):
            if value < self.best:
                self.u, self.best = signs.clear(point), value

    def _matrix(self) -> sp.csr_array:
        sizes = [len(s) for s in self.subsets]
        starts = np.concatenate([[0], np.cumsum(sizes)])
        columns = np.concatenate(self.subsets) if self.subsets else np.zeros(0, dtype=np.intp)
        return sp.csr_array((np.ones(len(columns)), columns, starts), shape=(len(sizes), len(self.rows)))

    def _fractional(self) -> tuple[Vector, float]:
        """The cheapest fractional hitting set."""
        if not self.subsets:
            return np.zeros(len(self.rows)), 0.0
        found = linprog(self.weights, -self._matrix(), -np.ones(len(self.subsets)), bounds=(0.0, 1.0))
        return np.asarray(found.x), float(found.fun)

    def _integral(self) -> tuple[Mask | None, float]:
        """The cheapest hitting set, or what is known of it after a while."""
        count = len(self.subsets)
        if not count:
            return np.zeros(len(self.rows), dtype=bool), 0.0
        found = milp(
            self.weights,
            constraints=LinearConstraint(self._matrix(), np.ones(count), np.inf),
            integrality=np.ones(len(self.rows)),
            bounds=Bounds(0.0, 1.0),
            options={"time_limit": 5.0},
        )
        bound = found.mip_dual_bound if found.mip_dual_bound is not None else 0.0
        return (None if found.x is None else np.asarray(found.x > 0.5)), float(bound)

    def _separate(self, share: Vector) -> bool:
        """Infeasible subsets that the fractional set does not hit; True if there were any."""
        found = False
        cost = share.copy()
        table = np.vstack([self.rows.T, np.ones(len(self.rows))])
        right = np.append(np.zeros(self.rows.shape[1]), 1.0)
        for _ in range(8):
            corner = linprog(cost, A_eq=table, b_eq=right, method="highs-ds")
            if corner.x is None:
                return found
            subset = np.flatnonzero(corner.x > 1e-12)
            if share[subset].sum() >= 1.0 - 1e-6:
                return found
            found = self._note(subset) or found
            cost[subset] += 1.0  # the next one elsewhere
        return found

    def _vary(self, left: Index) -> None:
        """Subsets of random parts of the rows left, for variety."""
        for _ in range(10):
            some = self.rng.permutation(left)[: max(int(len(left) * self.rng.uniform(0.4, 0.95)), 1)]
            self._collect(np.sort(some))
