"""Branch and bound for best subset with any convex loss: every bound is the value of a dual point."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import comb

import numpy as np

from dualgap.arrays import Index, Vector
from dualgap.discrete.base import Finding
from dualgap.discrete.subset.column_fits import ColumnFits
from dualgap.discrete.subset.relaxation import Branch, Relaxed, proven_out
from dualgap.discrete.subset.selection import NO_BOUND
from dualgap.discrete.subset.vertices import Vertex
from dualgap.problem.problem import Problem
from dualgap.proof.rounding import U
from dualgap.proof.statement import SMALL

LONGER = 2.0**-27  # share by which weights are lengthened where rounding shows
PAUSE = 0.02  # seconds between two findings
ENUMERABLE = 100_000  # sets that may be fitted one by one where there is no bound: a minute


@dataclass(frozen=True, eq=False)
class Open:
    """A branch still to be looked at, the bound of its parent, and its relaxation where that is the same."""

    inside: Index
    free: Index
    bound: float
    w: Vector
    relaxed: Relaxed | None = None
    vertex: Vertex | None = None


class DualSearch:
    """Depth first, columns of large weight in first; what is in or out beyond doubt is fixed on the way."""

    def __init__(self, problem: Problem, start: Finding) -> None:
        self.columns = ColumnFits(problem)
        self.tolerance, self.most, self.start = start.wanted, start.most, start.w
        self.upper, self.w, self.asked = np.inf, problem.null_weights, problem.null_weights
        self.floor, self.nodes = np.inf, 0
        self.open: list[Open] = []
        inner = self.columns.problem
        self.least = SMALL * abs(inner.null)
        self.shared = bool(self.columns.chosen.ridge[self.columns.counted].any())

    @property
    def goal(self) -> float:
        """A branch whose bound is up here holds nothing better."""
        return self.upper - 0.25 * self.tolerance * max(abs(self.upper), self.least)

    @property
    def bound(self) -> float:
        """Below every value of the problem."""
        return min(self.floor, min((o.bound for o in self.open), default=np.inf))

    @property
    def hopeless(self) -> bool:
        """So many columns that all of them fit everything, and too many sets to look at each?"""
        columns, inner = self.columns, self.columns.problem
        count, room = len(columns.counted), columns.limit
        if self.shared or count + len(columns.always) < inner.n:
            return False
        if columns.chosen.price > 0.0:
            room = min(room, int(self.upper / columns.chosen.price))
        return comb(count, min(room, count // 2)) > ENUMERABLE

    def findings(self) -> Iterator[Finding]:
        """The best set and the bound, every fraction of a second and at the end."""
        self._begin()
        if self.hopeless:
            yield replace(self._finding(), bound=0.0, ending=NO_BOUND)
            for _ in self._refitted():
                yield replace(self._finding(), bound=0.0, nodes=self.columns.fits, ending=NO_BOUND)
            return
        yield self._finding()
        shown = time.perf_counter()
        while self.open:
            self._look(self.open.pop())
            self.nodes += 1
            most = self.most
            if time.perf_counter() - shown > PAUSE or (most is not None and self.nodes >= most):
                yield self._finding()
                shown = time.perf_counter()
        yield self._finding()
        for _ in self._refitted():  # some fit has left a gap: with fewer columns it may not
            yield self._finding()

    def _refitted(self) -> Iterator[None]:
        """Better sets without a proof: greedy ones and neighbours, each fitted by itself."""
        columns = self.columns
        starts = [columns.support(columns.working.weights(self.w))]
        for support, fitted in columns.forward():
            self._offer(fitted)
            starts[1:] = [support]
            yield
        for support in starts:
            alone = columns.fit(support)  # from nothing: where a fit before it led may be no good start
            self._offer(alone)
            yield
            for _, fitted in columns.exchanged(support, alone):
                self._offer(fitted)
                yield

    def _finding(self) -> Finding:
        return Finding(self.asked, self.columns.objective(self.bound), self.nodes)

    def _begin(self) -> None:
        """A good set by exchanges, and the root."""
        columns = self.columns
        nothing = columns.fit(columns.counted[:0])
        self._offer(nothing)
        supports = [columns.counted[:0]]
        if self.start is not None:
            supports.append(columns.support(self.start))
        if columns.limit:
            for support in supports:
                fitted = columns.fit(support, nothing.w) if len(support) else nothing
                self._offer(columns.improved(support, fitted)[1])
        self.open.append(Open(columns.always, columns.counted, -np.inf, self.w))

    def _offer(self, fitted: Relaxed) -> None:
        if not fitted.value < self.upper:
            return
        asked, tolerance = self.columns.weights(fitted), self.tolerance
        value = self.columns.reached(asked, tolerance)  # what rounded weights predict is what counts
        if value - fitted.value > tolerance * max(value, self.least):  # margins may be short of their kinks
            longer = asked * (1.0 + LONGER)
            better = self.columns.reached(longer, tolerance)
            asked, value = (longer, better) if better < value else (asked, value)
        if value < self.upper:
            self.upper, self.w, self.asked = value, fitted.w, asked

    def _close(self, bound: float) -> None:
        self.floor = min(self.floor, bound)

    def _look(self, at: Open) -> None:
        """Bound a branch; drop it, solve it, or split it."""
        columns, chosen = self.columns, self.columns.chosen
        if at.bound >= self.goal:
            return self._close(at.bound)
        room = columns.limit - (len(at.inside) - len(columns.always))
        free = at.free if room else at.free[:0]
        if not len(free) or (chosen.price == 0.0 and len(free) <= room):
            return self._leaf(at, free)
        branch, relaxed = Branch(at.inside, free, room), at.relaxed
        if relaxed is None:
            relaxed = columns.relaxation.solve(branch, at.w, self.goal, at.vertex)
        out, within = proven_out(relaxed, chosen, room, self.goal)
        weakest = at.bound < self.bound  # then a bound of its own raises that of the whole
        if weakest or relaxed.bound >= self.goal or out.any() or within.any():
            relaxed = columns.relaxation.proved(branch, relaxed)
            out, within = proven_out(relaxed, chosen, room, self.goal)
        bound = max(at.bound, relaxed.bound) if relaxed.proven else at.bound
        if bound >= self.goal:
            return self._close(bound)
        if relaxed.proven and (out.any() or within.any()):
            self._close(self.goal)
            if int(within.sum()) > room:
                return None
            inside = np.concatenate([at.inside, free[within]])
            self.open.append(Open(inside, free[~out & ~within], bound, relaxed.w, None, relaxed.vertex))
            return None
        return self._split(at.inside, free, bound, relaxed)

    def _leaf(self, at: Open, free: Index) -> None:
        """All that is left may be in: one fit says it all."""
        inside = np.concatenate([at.inside[len(self.columns.always) :], free])
        fitted = self.columns.fit(inside, at.w, self.goal, at.vertex)
        self._offer(fitted)
        self._close(max(self.columns.proved(inside, fitted).bound, at.bound))

    def _split(self, inside: Index, free: Index, bound: float, relaxed: Relaxed) -> None:
        weight = np.abs(relaxed.w[free]) * self.columns.relaxation.norms[free]
        pick = int(np.argmax(weight))
        rest = np.delete(free, pick)
        without = relaxed.w.copy()
        without[free[pick]] = 0.0
        self.open.append(Open(inside, rest, bound, without, None, relaxed.vertex))
        price = self.columns.chosen.price
        # without a ridge being in or being free is the same to the relaxation, but for the price
        same = None
        if not self.shared:
            gains, more = relaxed.gains[: len(rest)], price * (1.0 - 4.0 * U)
            same = replace(relaxed, bound=relaxed.bound + more, value=np.inf, gains=gains)
            bound = bound + more
        inside = np.append(inside, free[pick])
        self.open.append(Open(inside, rest, bound, relaxed.w, same, relaxed.vertex))
