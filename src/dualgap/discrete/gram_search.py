"""Branch and bound for best subset with a squared loss: the compiled search, fed with splits and room.

What a tree cannot tell for rounding it hands back: sets that hold certain columns. What these leave of the
others is then computed in integers and rounded anew, and the sets are searched in a tree of their own.
"""

from __future__ import annotations

import heapq
import time
from collections.abc import Iterator
from dataclasses import dataclass
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dualgap.arrays import Matrix, Vector
from dualgap.compiled import subset_search as engine
from dualgap.compiled.subset_bound import Scratch, relax
from dualgap.compiled.subset_exchange import exchange, forward, solve
from dualgap.discrete.base import Finding
from dualgap.discrete.gram import GramProblem
from dualgap.discrete.reached import reached
from dualgap.discrete.selection import NO_BOUND
from dualgap.discrete.split import first_split, improve_split, lowered, spectral_split
from dualgap.discrete.squares import below
from dualgap.proof.statement import SMALL

SLICE = 0.03  # seconds between two looks at the clock
PLAIN = 2_000  # nodes before the split is worth optimising; it costs 5 to 20 ms where it is not
CHEAP = 20_000_000  # the same in nodes times columns squared: nodes of few columns cost little (measured)
EVERY = 10  # nodes of a level between two improvements of its split
ROOT_ROUNDS = 8
STORED = 250_000_000  # numbers in the levels of a tree to begin with
ENUMERABLE = 10_000_000_000  # pairs of columns that may be looked at where there is no bound: seconds
SHARE = 0.25  # of the tolerance that a single bound may miss
PAIRS = 2e-14  # what Cramer's rule rounds of a pair that is clear, see `subset_search`
HIDDEN = 20.0  # a column is left in doubt if its bound could lose one part in so many of the tolerance
THIN = (
    "Columns are combinations of others but for rounding: in exact arithmetic a set does better, or may, by "
    "weights too large for the numbers at hand. Leave out one of each such combination, or use l0_l2(alpha)."
)

Whole = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Part:
    """Sets that hold some columns, in the scale of the whole: paid + unit·(1 − 2cᵀu + uᵀGu + price·#{u ≠ 0}).

    `columns` and `inside` are numbers of the whole's columns.
    """

    columns: Whole
    inside: tuple[int, ...]
    gram: Matrix
    linear: Vector
    ridge: Vector
    price: float
    room: int
    paid: float = 0.0
    unit: float = 1.0

    def value(self, own: float) -> float:
        """A value of this problem in the scale of the whole, from below."""
        return (self.paid + self.unit * max(own, 0.0)) * (1.0 - 4.0 * 2.0**-53)

    def own(self, value: float) -> float:
        """The inverse."""
        return (value - self.paid) / self.unit


@dataclass(frozen=True)
class Wanted:
    """What a bound may miss of the best value, as a share of it, and what counts as the least value; and what
    must be left of a column for a tree to see it.
    """

    rate: float
    least: float
    hidden: float

    def margin(self, value: float) -> float:
        """What a bound may miss of this value."""
        return max(self.rate * max(value, self.least), engine.ROUNDED)


NOTHING = Part(np.zeros(0, np.int64), (), np.zeros((0, 0)), np.zeros(0), np.zeros(0), 0.0, 0)


def incumbent(part: Part, start: Whole | None) -> tuple[Whole, float]:
    """Greedy forward selection, then single exchanges; also from `start`, if there is one."""
    limit = part.room
    if part.price > 0.0:
        limit = min(limit, int(1.0 / part.price) + 1)
    first = forward(part.gram, part.linear, part.price, limit)
    best, value = exchange(part.gram, part.linear, part.price, limit, first)
    if start is not None:
        other, lower = exchange(part.gram, part.linear, part.price, part.room, start)
        if lower < value:
            best, value = other, lower
    return best, 1.0 + value


class Branching:
    """One tree, from one slice of nodes to the next. It ends when every set is bounded, or left in doubt."""

    def __init__(self, part: Part, upper: float, support: Whole, wanted: Wanted, rows: int) -> None:
        self.part, self.upper, self.support, self.wanted = part, upper, support, wanted
        self.room, self.cut = part.room, np.inf
        if part.price > 0.0:  # no loss is below zero, so that more columns would cost too much
            self.room = min(self.room, int(min(max(upper, 0.0) / part.price, part.room)))
            if self.room < part.room:
                self.cut = (self.room + 1) * part.price * (1.0 - 1e-15)
        self.room = min(self.room, len(part.columns))
        share = lowered(self.room)
        self.base = 1.0 - share - PAIRS
        self.gram = part.gram.copy()
        self.gram.flat[:: len(self.gram) + 1] *= 1.0 - share
        self.lacking, self.split = first_split(self.gram, part.ridge, rows, self.room)
        self.optimised, self.nodes = False, 0
        self.doubts: list[tuple[float, tuple[int, ...], tuple[int, ...]]] = []
        self.tree = self._tree(min(self.room, self._affordable()) + 1)
        self.scratch = Scratch(*(np.empty(len(self.gram) + 2) for _ in range(4)))

    def _affordable(self) -> int:
        return max(8, STORED // max(len(self.gram), 1) ** 2)

    def _tree(self, levels: int) -> engine.Tree:
        m, part = len(self.gram), self.part
        top, wanted = 1.01 * float(self.gram.diagonal().max(initial=0.0)), self.wanted
        least, paid = wanted.least / part.unit, part.paid / part.unit
        tree = engine.Tree(
            gram=np.empty((levels, m, m)),
            linear=np.empty((levels, m)),
            split=np.zeros((levels, m)),
            w=np.zeros((levels, m)),
            column=np.zeros((levels, m), np.int64),
            constant=np.zeros(levels),
            multiplier=np.full(levels, 0.1),
            bound=np.full(levels, np.inf),
            size=np.zeros(levels, np.int64),
            room=np.zeros(levels, np.int64),
            lacking=np.zeros(levels, np.int64),
            fresh=np.zeros(levels, np.int64),
            chosen=np.zeros(levels, np.int64),
            support=np.zeros(levels + m + 2, np.int64),
            keep=np.ones(m, np.bool_),
            line=np.zeros(m),
            price=part.price if m else 0.0,
            number=np.array([self.upper, self.cut, wanted.rate, least, paid, wanted.hidden, top]),
            tally=np.zeros(5, np.int64),
            doubt=np.zeros((2 * m + 8, m), np.int8),
            doubted=np.zeros(2 * m + 8),
        )
        tree.gram[0], tree.linear[0], tree.column[0] = self.gram, part.linear, np.arange(m)
        tree.constant[0], tree.bound[0], tree.size[0], tree.room[0] = self.base, 0.0, m, self.room
        tree.lacking[0] = self.lacking
        (tree.w if self.lacking else tree.split)[0] = self.split
        tree.support[: len(self.support)], tree.tally[engine.FOUND] = self.support, len(self.support)
        return tree

    @property
    def bound(self) -> float:
        """Below every value of the problem, but for the doubts."""
        tree = self.tree
        open_ = tree.bound[: tree.tally[engine.LEVEL] + 1]
        least = min(float(tree.number[engine.FLOOR]), float(open_.min(initial=np.inf)))
        return min(self.upper, least)

    def advance(self, nodes: int) -> bool:
        """So many nodes more; True when the tree is exhausted."""
        target = int(self.tree.tally[engine.NODES]) + nodes
        while True:
            left = target - int(self.tree.tally[engine.NODES])
            state = engine.search(self.tree, self.scratch, max(left, 1))
            self._note()
            if state == engine.EXHAUSTED:
                return True
            if state == engine.RUNNING and left <= 1 + nodes:
                return False
            self._attend(state)

    def _note(self) -> None:
        tree = self.tree
        found = float(tree.number[engine.UPPER])
        if found < self.upper:
            self.upper = found
            self.support = tree.support[: tree.tally[engine.FOUND]].copy()
        for row, least in zip(tree.doubt, tree.doubted[: tree.tally[engine.DOUBTS]], strict=False):
            inside, live = np.flatnonzero(row == engine.INSIDE), np.flatnonzero(row == engine.LIVE)
            self.doubts.append((float(least), tuple(inside.tolist()), tuple(live.tolist())))
        tree.tally[engine.DOUBTS] = 0

    def _attend(self, state: int) -> None:
        tree, level = self.tree, int(self.tree.tally[engine.LEVEL])
        if state == engine.OUTGROWN:
            self._grow()
        elif state == engine.SPLIT:
            size = int(tree.size[level])
            lacking, values = spectral_split(tree.gram[level, :size, :size], int(tree.room[level]))
            tree.lacking[level] = lacking
            tree.w[level, :size] = values if lacking else 0.0
            tree.split[level, :size] = 0.0 if lacking else values
            tree.multiplier[level] = 0.1
        elif state == engine.BETTER_SPLIT:
            node = engine.node_at(tree, level)
            improve_split(node, self.scratch, float(tree.multiplier[level]))

    def _grow(self) -> None:
        """Half as many levels again."""
        old = self.tree
        more = len(old.gram) // 2 + 1
        whole = ("keep", "line", "price", "number", "tally", "doubt", "doubted")
        parts: list[Any] = [
            part if name in whole else _longer(part, more) for name, part in old._asdict().items()
        ]
        self.tree = engine.Tree(*parts)

    def optimise(self) -> None:
        """Start again from the root with a better split, which deeper levels go on improving."""
        self.optimised = True
        self.nodes += int(self.tree.tally[engine.NODES])
        self.doubts = []
        self.tree = self._tree(len(self.tree.gram))
        tree = self.tree
        goal = self.upper - self.wanted.margin(self.part.value(self.upper)) / self.part.unit
        node = engine.node_at(tree, 0)
        best, multiplier = relax(node, self.scratch, goal, 0.1, 60)
        for _ in range(ROOT_ROUNDS):
            before = node.split.copy()
            if not improve_split(node, self.scratch, multiplier):
                break
            bound, multiplier = relax(node, self.scratch, goal, multiplier, 60)
            if bound < best:
                node.split[:] = before
                break
            best = bound
        tree.multiplier[0], tree.tally[engine.EVERY] = multiplier, EVERY

    @property
    def worn(self) -> bool:
        """Has the first split been good for enough nodes?"""
        plain = max(PLAIN, CHEAP // max(len(self.gram), 1) ** 2)
        return not self.optimised and self.total >= plain and self.tree.lacking[0] == 0

    @property
    def total(self) -> int:
        """Nodes looked at."""
        return self.nodes + int(self.tree.tally[engine.NODES])


class GramSearch:
    """Trees, one after the other: the whole, then what it left in doubt, the most promising first."""

    def __init__(self, problem: GramProblem, start: Whole | None, tolerance: float) -> None:
        self.problem = problem
        room = min(problem.limit, problem.size)
        whole = Part(
            np.arange(problem.size), (), problem.gram, problem.linear, problem.ridge, problem.price, room
        )
        self.tolerance = tolerance
        self.support, self.upper = incumbent(whole, start)
        u = np.empty(len(self.support))
        if solve(problem.gram, problem.linear, self.support, u) < self._hidden(room):
            self.support, self.upper, u = self.support[:0], 1.0, u[:0]
        self.least = problem.scaled(SMALL * problem.working.asked.null)
        self.rows = problem.working.problem.n
        self.current = Branching(whole, self.upper, self.support, self._wanted(room), self.rows)
        self.costly = self._rough(room) * (1.0 + float(u @ u)) > self.margin
        self.w = problem.weights(self.support)
        self.closed, self.nodes = np.inf, 0
        self.pending: list[tuple[float, tuple[int, ...], tuple[int, ...]]] = []
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
        tree.nodes, tree.tree.tally[engine.NODES] = 0, 0
        for least, inside, live in tree.doubts:
            own = tuple(int(part.columns[j]) for j in inside) + part.inside
            heapq.heappush(self.pending, (part.value(least), own, tuple(int(part.columns[j]) for j in live)))
        tree.doubts = []
        self.closed = min(self.closed, part.value(tree.bound))

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
        """Weights on these columns of the whole, or the best, rounded with more care; None if that takes long."""
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
        """A set of columns that nearly depend on one another, and its value, from below: if no weights at hand
        reach that, it is a bound all the same.
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

    def findings(self, nodes: int | None) -> Iterator[Finding]:
        """Slices of growing length, at most `nodes` nodes in all."""
        problem = self.problem
        if self.hopeless or not problem.sure:
            yield Finding(self.w, 0.0, 1, ending=NO_BOUND if self.hopeless else THIN)
            return
        length, best = 1, 0.0
        while True:
            began = time.perf_counter()
            if nodes is not None:
                length = max(min(length, nodes - self.total), 1)
            done = self.current.advance(length)
            if not self.current.part.inside:
                self._improve()
            if done:
                self._improve()
                self._finish()
                done = not self._next()
            best = max(best, self.bound)
            ending = THIN if self.thin or self.pending else ""
            yield Finding(self.w, problem.objective(best), self.total, ending=ending)
            if done:
                return
            if self.current.worn:
                self.current.optimise()
            if time.perf_counter() - began < 0.5 * SLICE:
                length *= 2
            elif time.perf_counter() - began > SLICE:
                length = max(length // 2, 1)

    @property
    def total(self) -> int:
        """Nodes looked at."""
        return self.nodes + self.current.total


def _longer(array: NDArray[Any], more: int) -> NDArray[Any]:
    filler = np.zeros((more, *array.shape[1:]), array.dtype)
    return np.concatenate([array, filler])
