"""Branch and bound for best subset with a squared loss: the compiled search, fed with splits and room."""

from __future__ import annotations

import time
from collections.abc import Iterator
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dualgap.compiled import subset_search as engine
from dualgap.compiled.subset_bound import Scratch, relax
from dualgap.compiled.subset_exchange import exchange, forward
from dualgap.discrete.base import Finding
from dualgap.discrete.gram import GramProblem
from dualgap.discrete.selection import NO_BOUND
from dualgap.discrete.split import first_split, improve_split, spectral_split

SLICE = 0.03  # seconds between two looks at the clock
PLAIN = 2_000  # nodes before the split is worth optimising; it costs 5 to 20 ms where it is not
CHEAP = 20_000_000  # the same in nodes times columns squared: nodes of few columns cost little (measured)
EVERY = 10  # nodes of a level between two improvements of its split
ROOT_ROUNDS = 8
STORED = 250_000_000  # numbers in the levels of a tree to begin with
ENUMERABLE = 10_000_000_000  # pairs of columns that may be looked at where there is no bound: seconds


def incumbent(problem: GramProblem, start: NDArray[np.int64] | None) -> tuple[NDArray[np.int64], float]:
    """Greedy forward selection, then single exchanges; also from `start`, if there is one."""
    limit = problem.limit
    if problem.price > 0.0:
        limit = min(limit, int(1.0 / problem.price) + 1)
    first = forward(problem.gram, problem.linear, problem.price, limit)
    best, value = exchange(problem.gram, problem.linear, problem.price, limit, first)
    if start is not None:
        other, below = exchange(problem.gram, problem.linear, problem.price, problem.limit, start)
        if below < value:
            best, value = other, below
    return best, 1.0 + value


class GramSearch:
    """The tree, from one slice of nodes to the next."""

    def __init__(self, problem: GramProblem, start: NDArray[np.int64] | None, tolerance: float) -> None:
        self.problem = problem
        self.support, self.upper = incumbent(problem, start)
        self.room = problem.limit
        if problem.price > 0.0:  # no loss is below zero, so that more columns would cost too much
            self.room = min(self.room, int(self.upper / problem.price))
        margin = tolerance * max(self.upper, problem.scaled(1e-4 * problem.working.asked.null))
        self.margin = max(0.25 * margin, 1e-13)
        rows = problem.working.problem.n
        self.lacking, self.split = first_split(problem.gram, problem.ridge, rows)
        self.optimised = False
        self.nodes = 0
        self.tree = self._tree(min(self.room, problem.size, self._affordable()) + 1)
        entries = problem.size + 2
        self.scratch = Scratch(*(np.empty(entries) for _ in range(4)))

    @property
    def hopeless(self) -> bool:
        """No bound, and too many sets to look at each."""
        sets = comb(self.problem.size, max(min(self.room, self.problem.size // 2) - 2, 0))
        return self.lacking > 0 and sets * self.problem.size**2 > ENUMERABLE * 2 ** self._escapes()

    def _escapes(self) -> int:
        """A few dependences are soon branched away."""
        return 40 if self.lacking <= 3 else 0

    def _affordable(self) -> int:
        return max(8, STORED // max(self.problem.size, 1) ** 2)

    def _tree(self, levels: int) -> engine.Tree:
        p = self.problem
        m = p.size
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
            price=p.price if m else 0.0,
            number=np.array([self.upper, np.inf, self.margin]),
            tally=np.zeros(4, np.int64),
        )
        tree.gram[0], tree.linear[0], tree.column[0] = p.gram, p.linear, np.arange(m)
        tree.constant[0], tree.bound[0], tree.size[0], tree.room[0] = 1.0, 0.0, m, self.room
        tree.lacking[0] = self.lacking
        (tree.w if self.lacking else tree.split)[0] = self.split
        tree.support[: len(self.support)], tree.tally[engine.FOUND] = self.support, len(self.support)
        return tree

    @property
    def bound(self) -> float:
        """Below every value of the problem."""
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

    def _attend(self, state: int) -> None:
        tree, level = self.tree, int(self.tree.tally[engine.LEVEL])
        if state == engine.OUTGROWN:
            self._grow()
        elif state == engine.SPLIT:
            size = int(tree.size[level])
            lacking, values = spectral_split(tree.gram[level, :size, :size])
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
        whole = ("keep", "price", "number", "tally")
        parts: list[Any] = [
            part if name in whole else _longer(part, more) for name, part in old._asdict().items()
        ]
        self.tree = engine.Tree(*parts)

    def optimise(self) -> None:
        """Start again from the root with a better split, which deeper levels go on improving."""
        self.optimised = True
        self.nodes += int(self.tree.tally[engine.NODES])
        self.tree = self._tree(len(self.tree.gram))
        tree, goal = self.tree, self.upper - self.margin
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

    def findings(self, nodes: int | None) -> Iterator[Finding]:
        """Slices of growing length, at most `nodes` nodes in all."""
        problem = self.problem
        w, shown, best = problem.weights(self.support), self.upper, 0.0
        if self.hopeless:
            yield Finding(w, self._objective(problem.full_model()), 1, ending=NO_BOUND)
            return
        length = 1
        while True:
            began = time.perf_counter()
            if nodes is not None:
                length = max(min(length, nodes - self.total), 1)
            done = self.advance(length)
            if self.upper < shown:
                w, shown = problem.weights(self.support), self.upper
            best = max(best, self.bound)
            yield Finding(w, self._objective(min(best, self.upper)), self.total)
            if done:
                return
            if not self.optimised and self.total >= self.plain and self.tree.lacking[0] == 0:
                self.optimise()
            if time.perf_counter() - began < 0.5 * SLICE:
                length *= 2
            elif time.perf_counter() - began > SLICE:
                length = max(length // 2, 1)

    @property
    def plain(self) -> int:
        """How many nodes the first split is good for."""
        return max(PLAIN, CHEAP // self.problem.size**2)

    @property
    def total(self) -> int:
        """Nodes looked at."""
        return self.nodes + int(self.tree.tally[engine.NODES])

    def _objective(self, value: float) -> float:
        return self.problem.objective(value)


def _longer(array: NDArray[Any], more: int) -> NDArray[Any]:
    filler = np.zeros((more, *array.shape[1:]), array.dtype)
    return np.concatenate([array, filler])
