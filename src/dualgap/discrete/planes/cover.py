"""Sets of rows that cannot all be right, and the cheapest rows that hit every one of them.

Every infeasible subset of the rows must lose a row. The cheapest set of rows that hits all the subsets known
so far is a bound; if what it leaves is feasible it is the answer, and if not, there are more subsets to know.
(Pfetsch 2008; combinatorial Benders cuts, Codato and Fischetti 2006.) No constant stands for infinity.

An integer program says what to hit next; what it says of the cost is believed where multipliers of linear
programs show it, branch by branch: any multipliers ≥ 0 prove a bound, whatever the tolerances they come from
(Neumaier and Shcherbina 2004).
"""

from __future__ import annotations

import heapq
import time
from collections.abc import Iterator
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from scipy.optimize import Bounds, LinearConstraint, linprog, milp

from dualgap.arrays import Index, Mask, Vector
from dualgap.discrete.base import Finding
from dualgap.discrete.planes.sides import Signs
from dualgap.proof.rounding import gamma

PAUSE = 0.1  # seconds between two findings at first
ROUNDS = 60  # of separation between two integer programs
VARIED = 40  # random parts of the rows that are looked into after each of these
NONE = 2  # what the integer program ends with where there is no solution
UNIT = 100.0  # mean weight in the integer program, whose tolerances are absolute: 1e-6
SHOWN = 5.0  # seconds for the branches that show the cost of a cover
SHORT = 1e-7  # of the cost: what they may miss of it
ROUNDED = 1e-12  # of a weight: how far from a multiple of the grain it may be


Rows: TypeAlias = tuple[int, ...]


def _grain(weights: Vector) -> float:
    """The number that all weights are multiples of, if the least of them is that; else 0."""
    least = float(weights.min())
    multiples = weights / least
    return least if np.all(np.abs(multiples - np.round(multiples)) <= ROUNDED * multiples) else 0.0


def _raised(value: float, grain: float) -> float:
    """A bound on the cost of some rows; where all weights are multiples of one, so is the cost."""
    return grain * float(np.ceil(value / grain - 1e-6)) * (1.0 - 2.0 * ROUNDED) if grain else value


class Cover:
    """The subsets known, the best plane, the best bound."""

    def __init__(self, signs: Signs, best: float, u: Vector) -> None:
        self.signs, self.best, self.u = signs, best, u
        self.signed, self.weights = signs.signed, signs.signed.weights
        self.subsets: list[Index] = []
        self.known: set[bytes] = set()
        self.bound, self.grain = signs.lost, _grain(self.weights)
        self.seems = 0.0  # the bound by the integer program's own account
        self.rng = np.random.default_rng(0)

    def findings(self) -> Iterator[Finding]:
        """Planes and bounds, until no row need be lost that the cover does not hold."""
        count, packed, shown = 1, 0.0, time.perf_counter()
        for subset in self._disjoint(np.arange(len(self.weights))):
            packed += float(self.weights[subset].min())
            if time.perf_counter() - shown > PAUSE:
                self._raise(packed)
                yield self._finding(count)
                shown = time.perf_counter()
        while True:
            for _ in range(ROUNDS):
                count += 1
                share, value = self._fractional()
                self._raise(value)
                yield self._finding(count)
                if not self._separate(share):
                    break
            count += 1
            hit = self._integral()
            yield self._finding(count)
            if hit is None:
                continue
            if not self._collect(np.flatnonzero(~hit)):
                self._raise(self._shown(self.best - self.signs.lost))
                yield self._finding(count)
                return
            self._vary(np.flatnonzero(~hit))

    def _raise(self, value: float) -> None:
        """Take a bound on the cost."""
        self.bound = max(self.bound, self.signs.lost + _raised(value, self.grain))

    def _finding(self, count: int) -> Finding:
        return Finding(self.u, self.bound, count)

    def _collect(self, left: Index) -> bool:
        """Note disjoint infeasible subsets of these rows; True if there were any."""
        return any([len(subset) for subset in self._disjoint(left)])

    def _disjoint(self, left: Index) -> Iterator[Index]:
        """Disjoint infeasible subsets of these rows until they can be separated, all noted."""
        for u, stuck in self.signed.disjoint(left):
            if u is not None:
                self._offer(u)
            if self._note(stuck) or len(stuck):
                yield stuck

    def _note(self, subset: Index) -> bool:
        key = np.sort(subset).tobytes()
        if not len(subset) or key in self.known:
            return False
        self.known.add(key)
        self.subsets.append(subset)
        return True

    def _offer(self, u: Vector) -> None:
        from dualgap.discrete.planes.line_walk import wander

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
        return sp.csr_array((np.ones(len(columns)), columns, starts), shape=(len(sizes), len(self.weights)))

    def _fractional(self) -> tuple[Vector, float]:
        """The cheapest fractional hitting set, and what its multipliers prove."""
        if not self.subsets:
            return np.zeros(len(self.weights)), 0.0
        return _relaxed(self._matrix(), self.weights)

    def _integral(self) -> Mask | None:
        """The cheapest hitting set as it seems; None if none was found in a while.

        Where the best plane is one grain above the bound, any hitting set that is cheaper will do: the next
        subsets are found sooner, and if there is none, all rows are hit.
        """
        count = len(self.subsets)
        if not count:
            return np.zeros(len(self.weights), dtype=bool)
        unit = UNIT / float(self.weights.mean())
        rules = [LinearConstraint(self._matrix(), np.ones(count), np.inf)]
        last = self.grain > 0.0 and max(self.bound, self.seems) >= self.best - 1.5 * self.grain
        if last:
            below = unit * (self.best - self.signs.lost - 0.5 * self.grain)
            rules.append(LinearConstraint(unit * self.weights[None, :], 0.0, below))
        found = milp(
            unit * self.weights,
            constraints=rules,
            integrality=np.ones(len(self.weights)),
            bounds=Bounds(0.0, 1.0),
            options={"time_limit": 5.0, "mip_rel_gap": 1e3 if last else 0.0},
        )
        if last and found.status == NONE:
            return np.ones(len(self.weights), dtype=bool)
        self.seems = max(self.seems, self.signs.lost + (found.mip_dual_bound or 0.0) / unit)
        return None if found.x is None else np.asarray(found.x > 0.5)

    def _shown(self, goal: float) -> float:
        """What branches of the fractional problem prove of the cost, up to the goal, or for so long."""
        if not self.subsets:
            return 0.0
        goal = goal - 0.5 * self.grain if self.grain else (1.0 - SHORT) * goal
        matrix, ended, count = self._matrix().tocsc(), time.perf_counter() + SHOWN, 0
        heap: list[Any] = []
        self._grow(heap, matrix, (), (), 0)
        while heap:
            least, _, inside, out, share = heapq.heappop(heap)
            if least >= goal or time.perf_counter() > ended:
                return float(least)
            pick = int(np.argmax(np.minimum(share, 1.0 - share)))
            count += 2
            self._grow(heap, matrix, (*inside, pick), out, count)
            self._grow(heap, matrix, inside, (*out, pick), count + 1)
        return goal

    def _grow(self, heap: list[Any], matrix: Any, inside: Rows, out: Rows, count: int) -> None:
        """Add a branch with some rows hit and some not, if that can be."""
        value, share = self._branch(matrix, inside, out)
        if share is not None:
            heapq.heappush(heap, (_raised(value, self.grain), count, inside, out, share))

    def _branch(self, matrix: Any, inside: Rows, out: Rows) -> tuple[float, Vector | None]:
        """The bound with some rows hit and some not; None if that cannot be."""
        hit = np.zeros(matrix.shape[0], dtype=bool)
        for j in inside:
            hit[matrix.indices[matrix.indptr[j] : matrix.indptr[j + 1]]] = True
        live = np.ones(len(self.weights), dtype=bool)
        live[[*inside, *out]] = False
        part = matrix.tocsr()[~hit][:, live]
        if not np.all(np.diff(part.indptr)):
            return np.inf, None
        share = np.zeros(len(self.weights))
        value = 0.0
        if part.shape[0]:
            share[live], value = _relaxed(part, self.weights[live])
        return value + float(self.weights[list(inside)].sum()), share

    def _separate(self, share: Vector) -> bool:
        """Infeasible subsets that the fractional set does not hit; True if there were any."""
        found = False
        cost, rows = share.copy(), self.signed.rows
        table = np.vstack([rows.T, np.ones(len(rows))])
        right = np.append(np.zeros(rows.shape[1]), 1.0)
        for _ in range(8):
            corner = linprog(cost, A_eq=table, b_eq=right, method="highs-ds")
            if corner.x is None:
                return found
            subset = np.flatnonzero(corner.x > 1e-12)
            if share[subset].sum() >= 1.0 - 1e-6:
                return found
            found = self._note(self.signed.certain(subset)) or found
            cost[subset] += 1.0  # the next one elsewhere
        return found

    def _vary(self, left: Index) -> None:
        """Subsets of random parts of the rows left, for variety."""
        for _ in range(VARIED):
            some = self.rng.permutation(left)[: max(int(len(left) * self.rng.uniform(0.4, 0.95)), 1)]
            self._collect(np.sort(some))


def _relaxed(matrix: Any, weights: Vector) -> tuple[Vector, float]:
    """The cheapest fractional hitting set, and what its multipliers prove, whatever its tolerances.

    For prices p ≥ 0 of the subsets no cost is below Σp + Σ min(weights − matrixᵀp, 0).
    """
    found = linprog(weights, -matrix, -np.ones(matrix.shape[0]), bounds=(0.0, 1.0))
    if found.x is None:
        return np.full(len(weights), 0.5), 0.0
    price = np.maximum(-np.asarray(found.ineqlin.marginals), 0.0)
    charged = matrix.T @ price
    over = np.minimum(weights - charged, 0.0)
    size = float(price.sum() + charged.sum() + weights.sum())
    value = float(price.sum() + over.sum()) - 2.0 * gamma(sum(matrix.shape) + 4) * size
    return np.asarray(found.x), max(value, 0.0)
