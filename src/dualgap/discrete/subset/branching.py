"""One tree of the compiled search for best subset, fed with splits and room.

It ends with every set bounded, or left in doubt: what rounding hides from it is for others to look at.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dualgap.arrays import Matrix, Vector
from dualgap.discrete.subset import tree as engine
from dualgap.discrete.subset.split import first_split, improve_split, lowered, spectral_split
from dualgap.discrete.subset.split_bound import Scratch, relax

PLAIN = 2_000  # nodes before the split is worth optimising; it costs 5 to 20 ms where it is not
CHEAP = 20_000_000  # the same in nodes times columns squared: nodes of few columns cost little (measured)
EVERY = 10  # nodes of a level between two improvements of its split
ROOT_ROUNDS = 8  # improvements of the root's split at most; it ends before where one does not help: a choice
STORED = 250_000_000  # numbers in the levels of a tree to begin with
PAIRS = 2e-14  # what Cramer's rule rounds of a pair whose determinant is clear, see `tree`

Whole: TypeAlias = NDArray[np.int64]
Doubt: TypeAlias = tuple[float, tuple[int, ...], tuple[int, ...]]  # a bound, columns that are in, others


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
        self.doubts: list[Doubt] = []
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
            number=np.array([self.upper, self.cut, wanted.rate, least, paid, wanted.hidden, top, part.price]),
            tally=np.zeros(5, np.int64),
            doubt=np.zeros((2 * m + 8, m), np.int32),
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
            inside, live = np.flatnonzero(row >= engine.INSIDE), np.flatnonzero(row == engine.LIVE)
            inside = inside[np.argsort(row[inside])]
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
        whole = {"keep", "line", "number", "tally", "doubt", "doubted"}
        names = [field.name for field in fields(old) if field.name not in whole]
        self.tree = replace(old, **{name: _longer(getattr(old, name), more) for name in names})

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

    def forget(self) -> None:
        """Nodes and doubts, once they are somebody else's."""
        self.nodes, self.tree.tally[engine.NODES], self.doubts = 0, 0, []


def _longer(array: NDArray[Any], more: int) -> NDArray[Any]:
    filler = np.zeros((more, *array.shape[1:]), array.dtype)
    return np.concatenate([array, filler])
