"""Branch and bound for best subset with a squared loss: one tree after the other, until nothing is in doubt.

What a tree cannot tell for rounding it hands back: sets that hold certain columns. What these leave of the
others is then computed in integers and rounded anew, and the sets are searched in a tree of their own.
"""

from __future__ import annotations

import heapq
import time
from collections.abc import Iterator
from math import comb

import numpy as np

from dualgap.arrays import Vector
from dualgap.discrete.base import Finding, reached
from dualgap.discrete.subset.branching import NOTHING, Branching, Doubt, Part, Wanted, Whole
from dualgap.discrete.subset.exchange import good_set, solve
from dualgap.discrete.subset.gram import GramProblem
from dualgap.discrete.subset.selection import NO_BOUND
from dualgap.discrete.subset.split import lowered
from dualgap.discrete.subset.squares import below
from dualgap.proof.statement import SMALL

SLICE = 0.03  # seconds between two looks at the clock
LONGEST = 2**40  # nodes between two
ENUMERABLE = 10_000_000_000  # pairs of columns that may be looked at where there is no bound: seconds
SHARE = 0.25  # of the tolerance that a single bound may miss
HIDDEN = 20.0  # a column is left in doubt if its bound could lose one part in so many of the tolerance
THIN = (
    "Columns are combinations of others but for rounding: in exact arithmetic a set does better, or may, by "
    "weights too large for the numbers at hand. Leave out one of each such combination, or use l0_l2(alpha)."
)


class GramSearch:
    """Trees, one after the other: the whole, then what it left in doubt, the most promising first."""

    def __init__(self, problem: GramProblem, start: Whole | None, tolerance: float) -> None:
        self.problem = problem
        room = min(problem.limit, problem.size)
        whole = Part(
            np.arange(problem.size), (), problem.gram, problem.linear, problem.ridge, problem.price, room
        )
        self.tolerance = tolerance
        most = room if not problem.price > 0.0 else min(room, int(1.0 / problem.price) + 1)
        others = [] if start is None else [start[:most]]
        self.support, value = good_set(problem.gram, problem.linear, problem.price, most, others)
        self.upper = 1.0 + value
        u, left = solve(problem.gram, problem.linear, self.support)
        if left < self._hidden(room):
            self.support, self.upper, u = self.support[:0], 1.0, u[:0]
        self.least = problem.scaled(SMALL * problem.working.asked.null)
        self.rows = problem.working.problem.n
        self.current = Branching(whole, self.upper, self.support, self._wanted(room), self.rows)
        self.costly = self._rough(room) * (1.0 + float(u @ u)) > self.margin
        self.w = problem.weights(self.support)
        self.closed, self.nodes = np.inf, 0
        self.pending: list[Doubt] = []
        self.thin = False

    def _rough(self, room: int) -> float:
        """The share by which the diagonal is lowered."""
        return lowered(room) + self.problem.rough

    def _hidden(self, room: int) -> float:
        """What must be left of a column for its tree to see it: what is lowered costs little of it then."""
        return min(max(HIDDEN * self._rough(room) / max(self.tolerance, 1e-9), 1e-9), 1e-3)

    def _wanted(self, room: int) -> Wanted:
        return Wanted(SHARE * self.tolerance, self.least, self._hidden(room))

    @property
    def margin(self) -> float:
        """What a bound may miss of the best value."""
        return self.current.wanted.margin(self.upper)

    @property
    def hopeless(self) -> bool:
        """No bound, and too many sets to look at each."""
        tree = self.current
        sets = comb(self.problem.size, max(min(tree.room, self.problem.size // 2) - 2, 0))
        most = ENUMERABLE * 2 ** (40 if tree.lacking <= 3 else 0)  # a few dependences are soon branched away
        return tree.lacking > 0 and sets * self.problem.size**2 > most

    @property
    def bound(self) -> float:
        """Below every value of the problem."""
        here = self.current
        least = min(self.upper, self.closed, here.part.value(here.bound))
        if here.doubts:
            least = min(least, here.part.value(min(doubt[0] for doubt in here.doubts)))
        return min(least, self.pending[0][0]) if self.pending else least

    def _finish(self) -> None:
        """Take over what the tree that has ended knows."""
        tree, part = self.current, self.current.part
        self.nodes += tree.total
        for least, inside, live in tree.doubts:
            own = part.inside + tuple(int(part.columns[j]) for j in inside)
            heapq.heappush(self.pending, (part.value(least), own, tuple(int(part.columns[j]) for j in live)))
        self.closed = min(self.closed, part.value(tree.bound))
        tree.forget()

    def _next(self) -> bool:
        """Begin with the next doubt; False if there is none, or none can be looked into."""
        while self.pending and self.problem.squares is not None:
            least, inside, live = heapq.heappop(self.pending)
            part = self._stated(inside, live) if least < self.upper - self.margin else NOTHING
            if part is None:
                continue  # a combination of the others: the sets without it are as good
            least = max(least, part.value(0.0))
            if least >= self.upper - self.margin:
                self.closed = min(self.closed, least)
                continue
            if not part.unit > 0.0:  # they fit everything
                self._offer(np.array(inside, np.int64), least)
                continue
            upper, none = part.own(self.upper), np.zeros(0, np.int64)
            self.current = Branching(part, upper, none, self._wanted(part.room), self.rows)
            return True
        return False

    def _stated(self, inside: tuple[int, ...], live: tuple[int, ...]) -> Part | None:
        """The sets with these columns and some of the live ones."""
        problem = self.problem
        assert problem.squares is not None
        given, number = problem.given, np.empty(int(problem.given.max()) + 1, np.int64)
        number[given] = np.arange(problem.size)
        rest = problem.squares.left(given[list(inside)].tolist(), given[list(live)])
        if rest is None:
            return None
        unit = below(rest.unit) / (problem.unit * problem.working.objective_unit) * (1.0 - 1e-15)
        price = problem.price / unit * (1.0 - 1e-15) if unit > 0.0 else 0.0
        room = min(problem.limit - len(inside), len(rest.columns))
        paid = problem.price * len(inside) * (1.0 - 1e-15)
        return Part(number[rest.columns], inside, rest.gram, rest.linear, rest.ridge, price, room, paid, unit)

    def careful(self, support: Whole | None = None) -> Vector | None:
        """Weights on these columns, or the best, rounded with more care; None if that takes long."""
        problem = self.problem
        support = self.support if support is None else support
        return None if problem.squares is None else problem.squares.weights(problem.given[support])

    def _reached(self, w: Vector) -> float:
        """The objective, from above."""
        return reached(self.problem.working.asked, w, self.tolerance)

    def _improve(self) -> None:
        """Take what the current tree has found, if it is better."""
        tree, part = self.current, self.current.part
        if not tree.upper < part.own(self.upper):
            return
        value = part.value(tree.upper)
        if part.inside:
            self._offer(np.concatenate([np.array(part.inside, np.int64), part.columns[tree.support]]), value)
            tree.upper = part.own(self.upper)
            return
        if set(tree.support.tolist()) != set(self.support.tolist()):
            self.support, self.w = tree.support, self.problem.weights(tree.support)
        self.upper = value

    def _offer(self, support: Whole, value: float) -> None:
        """A set of columns that nearly depend on one another, and its value, from below.

        If no weights at hand reach that, it is a bound all the same.
        """
        problem, w = self.problem, self.careful(support)
        assert w is not None
        shown = self._reached(w)
        if shown <= problem.objective(value) + 2.0 * problem.objective(self.margin):
            self.support, self.upper, self.w = support, value, w
            return
        self.thin, self.closed = True, min(self.closed, value)
        if problem.scaled(shown) < self.upper:
            self.support, self.upper, self.w = support, problem.scaled(shown), w

    def _advance(self, nodes: int) -> bool:
        """So many nodes more of a tree, and on to the next; True when there is none."""
        done = self.current.advance(nodes)
        if done or not self.current.part.inside:
            self._improve()
        if done:
            self._finish()
        return done and not self._next()

    def findings(self, nodes: int | None) -> Iterator[Finding]:
        """Slices of growing length, at most `nodes` nodes in all."""
        problem = self.problem
        if self.hopeless or not problem.sure:
            bound = problem.objective(problem.floor())
            yield Finding(self.w, bound, 1, ending=NO_BOUND if self.hopeless else THIN)
            return
        length, best, floored = 1, 0.0, self.current.lacking == 0
        while True:
            began = time.perf_counter()
            if nodes is not None:
                length = max(min(length, nodes - self.total), 1)
            done = self._advance(length)
            best = max(best, self.bound)
            ending = THIN if self.thin or self.pending else ""
            yield Finding(self.w, problem.objective(best), self.total, ending=ending)
            if done:
                return
            if self.current.worn:
                self.current.optimise()
            took = time.perf_counter() - began
            if took < 0.5 * SLICE:
                length = min(2 * length, LONGEST)
                continue
            if took > SLICE:
                length = max(length // 2, 1)
            if not floored:  # a tree without a bound that takes its time: no set does better than all columns
                floored, best = True, max(best, problem.floor())

    @property
    def total(self) -> int:
        """Nodes looked at."""
        return self.nodes + self.current.total
