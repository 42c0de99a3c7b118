"""Depth-first branch and bound for best subset with a squared loss, in slices that can be resumed.

A level of the tree is a problem of the same form as the root: including a column is a Schur complement,
excluding it deletes a row and a column, and both keep R = G − diag(D) positive semidefinite with the same D.
So a path of the tree is all that is stored. Where a split is to be found or improved the search stops and
says so: that is work for LAPACK.

Rounding. An error made in a Schur complement is the same error made in the root, so that a node's numbers
are exactly those of a matrix near the root's: the l-th column included moves an entry by at most
(l + 6) U √(g_ii g_jj), since what it takes off is not above √(g_ii g_jj) while something is left of both
columns. The root is lowered by as much, see `split.lowered`, so that no node is above the truth. Columns of
which so little is left that this would hide them are not looked at here: they are handed back as doubts.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dualgap.arrays import Mask, Matrix, Vector
from dualgap.compiled.addressed import Addressed
from dualgap.compiled.mechanism import compiled
from dualgap.compiled.small_vectors import NONE, fill
from dualgap.discrete.subset.split_bound import Node, Scratch, leaders, raised

Whole = NDArray[np.int64]
Rows = NDArray[np.int32]
CLEAR = 0.25  # determinant, beside the product of the squares, above which a pair is solved by Cramer's rule
OUT, LIVE, INSIDE = 0, 1, 2  # what a column is to a doubt; the first to be in is 2, the next 3
ROUNDS = 12  # of descent and bound at a node, at most: a choice
ROUNDED = 1e-14  # what a bound may miss of the goal where nothing else may be missed
DEEP = 5  # a new level with room for fewer columns is too small to improve its split at once (measured)
UPPER, FLOOR, RATE, LEAST, PAID, HIDDEN, TOP, PRICE = range(8)  # entries of Tree.number
LEVEL, NODES, FOUND, EVERY, DOUBTS = 0, 1, 2, 3, 4  # entries of Tree.tally
RUNNING, EXHAUSTED, OUTGROWN, SPLIT, BETTER_SPLIT, DOUBTFUL = 0, 1, 2, 3, 4, 5  # what `search` ends with


@dataclass(frozen=True, eq=False)
class Tree(Addressed):
    """One row per level. `number`: best value, least pruned bound; what may be missed, as a share of the best
    value, which counts as so much at least and has so much added before; what is hidden of a column, and the
    largest entry of the root; the price of a column. `tally`: level, nodes, found, nodes between two splits,
    doubts.
    """

    gram: NDArray[np.float64]  # levels × columns × columns
    linear: Matrix
    split: Matrix
    w: Matrix
    column: NDArray[np.int64]
    constant: Vector
    multiplier: Vector
    bound: Vector
    size: Whole
    room: Whole
    lacking: Whole  # 0: there is a split; above: the nullity or less, and w ranks the columns; −1: to see
    fresh: Whole
    chosen: Whole
    support: Whole  # the incumbent
    keep: Mask
    line: Vector
    number: Vector
    tally: Whole
    doubt: Rows  # a row for each: what the columns are to it
    doubted: Vector  # what its sets cost at least


def node_at(tree: Tree, level: int) -> Node:
    """The problem of a level."""
    return Node(
        tree.gram[level],
        tree.linear[level],
        tree.split[level],
        tree.w[level],
        tree.constant[level],
        tree.number[PRICE],
        tree.size[level],
        tree.room[level],
        tree.number[TOP],
    )


_node_at = compiled(inner=True)(node_at)


@compiled(inner=True)
def _goal(tree: Tree) -> float:
    """What a bound must meet for its sets to be left alone."""
    upper = tree.number[UPPER]
    return upper - max(tree.number[RATE] * max(upper + tree.number[PAID], tree.number[LEAST]), ROUNDED)


@compiled(inner=True)
def _offer(tree: Tree, value: float, first: int, second: int) -> None:
    """Take the chosen columns, and up to two more, as the incumbent if that is better."""
    if value >= tree.number[UPPER]:
        return
    tree.number[UPPER] = value
    found = 0
    for level in range(tree.tally[LEVEL]):
        tree.support[found] = tree.chosen[level]
        found += 1
    if first >= 0:
        tree.support[found] = first
        found += 1
    if second >= 0:
        tree.support[found] = second
        found += 1
    tree.tally[FOUND] = found


@compiled(inner=True)
def _doubt(tree: Tree, level: int, first: int, second: int) -> int:
    """Note the sets with what is chosen and these columns of the level, no others so far; −1 if they cost too
    much anyway, else the row.
    """
    at, count = tree.tally[DOUBTS], level + 1 + (second >= 0)
    least = max(tree.bound[level], tree.number[PRICE] * count)
    if least >= _goal(tree):
        tree.number[FLOOR] = min(tree.number[FLOOR], least)
        return NONE
    row = tree.doubt[at]
    for j in range(row.shape[0]):
        row[j] = OUT
    for above in range(level):
        row[tree.chosen[above]] = INSIDE + above
    row[tree.column[level, first]] = INSIDE + level
    if second >= 0:
        row[tree.column[level, second]] = INSIDE + level + 1
    tree.doubted[at] = least
    tree.tally[DOUBTS] += 1
    return at


@compiled(inner=True)
def _pair_gain(node: Node, i: int, j: int, hidden: float) -> float:
    """What two columns take off, none paid for, where most of one is in the other; < 0 if nearly all is."""
    share = node.gram[i, j] / node.gram[i, i]
    left, pulled = node.gram[j, j] - share * node.gram[i, j], node.linear[j] - share * node.linear[i]
    if left <= hidden:
        return -1.0
    return node.linear[i] * node.linear[i] / node.gram[i, i] + pulled * pulled / left


@compiled(inner=True)
def _best_pair(tree: Tree, level: int, node: Node, column: Whole) -> None:
    """All singles and pairs of a node with room for no more."""
    best, one, two = 0.0, -1, -1
    hidden = tree.number[HIDDEN]
    for i in range(node.size):
        g, c = node.gram[i, i], node.linear[i]
        gain = c * c / g - node.price
        if gain > best:
            best, one, two = gain, i, -1
        if node.room < 2:
            continue
        row, doubted, noted = node.gram[i], -1, False
        for j in range(i):
            other, cross = node.gram[j, j], row[j]
            determinant = g * other - cross * cross
            if determinant > CLEAR * g * other:
                d = node.linear[j]
                gain = (c * c * other - 2.0 * c * d * cross + d * d * g) / determinant
            else:
                gain = _pair_gain(node, i, j, hidden)
                if gain < 0.0:
                    if not noted:
                        doubted, noted = _doubt(tree, level, i, NONE), True
                    if doubted >= 0:
                        tree.doubt[doubted, column[j]] = LIVE
                    continue
            gain -= 2.0 * node.price
            if gain > best:
                best, one, two = gain, i, j
    first = column[one] if one >= 0 else -1
    second = column[two] if two >= 0 else -1
    _offer(tree, node.constant - best, first, second)


@compiled(inner=True)
def _bound(tree: Tree, scratch: Scratch, level: int) -> tuple[int, float]:
    """Bound the level: what is to be done with it, and the bound that scratch.gain belongs to."""
    goal = _goal(tree)
    if tree.lacking[level] < 0:
        return SPLIT, 0.0
    bound = tree.number[PRICE] * level  # no loss is below zero
    if tree.lacking[level] == 0:
        node = _node_at(tree, level)
        bound, tree.multiplier[level] = raised(node, scratch, goal, tree.multiplier[level], ROUNDS)
        tree.fresh[level] += 1
    tree.bound[level] = max(tree.bound[level], bound)
    if tree.bound[level] >= goal:
        tree.number[FLOOR] = min(tree.number[FLOOR], tree.bound[level])
        return EXHAUSTED, bound
    if 0 < tree.tally[EVERY] <= tree.fresh[level] and tree.lacking[level] == 0:
        tree.fresh[level] = 0
        return BETTER_SPLIT, bound
    return RUNNING, bound


@compiled(inner=True)
def _screen(tree: Tree, scratch: Scratch, level: int, bound: float) -> int:
    """Mark what is proven out; the number of a column that is proven in, or −1."""
    node = _node_at(tree, level)
    goal = _goal(tree)
    _, last, first = leaders(scratch.gain, node.size, node.room, node.price, scratch.ordered)
    forced = -1
    for j in range(node.size):
        gain = scratch.gain[j] - node.price
        within = bound + max(last - gain, 0.0)
        tree.keep[j] = within < goal
        if not tree.keep[j]:
            tree.number[FLOOR] = min(tree.number[FLOOR], within)
        elif gain > 0.0 and gain >= last and bound + gain - first >= goal:
            forced = j
    if forced >= 0:
        without = bound + scratch.gain[forced] - node.price - first
        tree.number[FLOOR] = min(tree.number[FLOOR], without)
    return forced


@compiled(inner=True)
def _pick(tree: Tree, level: int) -> int:
    """The column to branch on: the largest weight of those kept; −1 if none is."""
    pick, most = -1, -1.0
    for j in range(tree.size[level]):
        score = abs(tree.w[level, j]) * np.sqrt(tree.gram[level, j, j])
        if tree.keep[j] and score > most:
            most, pick = score, j
    return pick


@compiled(inner=True)
def _move(tree: Tree, level: int, to: int, along: float) -> None:
    """The columns kept, less the share that `line` is of them, into a level: the same, or the one below."""
    gram, target, line = tree.gram[level], tree.gram[to], tree.line
    size, a = tree.size[level], 0
    for i in range(size):
        if not tree.keep[i]:
            continue
        share, b = line[i], 0
        for j in range(size):
            if tree.keep[j]:
                target[a, b] = gram[i, j] - share * line[j]
                b += 1
        tree.linear[to, a] = tree.linear[level, i] - share * along
        tree.split[to, a] = tree.split[level, i]
        tree.w[to, a] = tree.w[level, i]
        tree.column[to, a] = tree.column[level, i]
        a += 1
    tree.size[to] = a


@compiled(inner=True)
def _squeeze(tree: Tree, level: int) -> None:
    """Delete the columns that are not kept."""
    fill(tree.line, 0, tree.line.shape[0], 0.0)
    _move(tree, level, level, 0.0)


@compiled(inner=True)
def _include(tree: Tree, level: int, pick: int) -> None:
    """The level below: `pick` is in, and solved for; what it hides of other columns is left in doubt."""
    below = level + 1
    gram = tree.gram[level]
    root = np.sqrt(gram[pick, pick])
    along, line = tree.linear[level, pick] / root, tree.line
    size = tree.size[level]
    for i in range(size):
        line[i] = gram[pick, i] / root  # once for both of a pair, so that what is left is symmetric
        tree.keep[i] = i != pick and gram[i, i] - line[i] * line[i] > tree.number[HIDDEN]
    if tree.room[level] > 1:
        _note_hidden(tree, level, pick)
    _move(tree, level, below, along)
    tree.room[below] = tree.room[level] - 1
    tree.constant[below] = tree.constant[level] - along * along + tree.number[PRICE]
    tree.multiplier[below] = tree.multiplier[level]
    tree.bound[below] = tree.bound[level]
    tree.lacking[below] = _less_lacking(tree.lacking[level], size - 1 - tree.size[below])
    tree.fresh[below] = tree.tally[EVERY] - 1 if tree.room[below] >= DEEP else 0
    tree.chosen[level] = tree.column[level, pick]


@compiled(inner=True)
def _note_hidden(tree: Tree, level: int, pick: int) -> None:
    """Doubts: `pick` is in, and a column that is not kept; those before it that are not kept are out."""
    for i in range(tree.size[level]):
        if tree.keep[i] or i == pick:
            continue
        at = _doubt(tree, level, pick, i)
        if at >= 0:
            for j in range(tree.size[level]):
                if tree.keep[j] or (j > i and j != pick):
                    tree.doubt[at, tree.column[level, j]] = LIVE


@compiled(inner=True)
def _less_lacking(lacking: int, columns: int) -> int:
    """The nullity can fall by one per column that leaves; −1 where it may have reached zero."""
    if lacking <= 0 or columns == 0:
        return lacking
    return lacking - columns if lacking > columns else -1


@compiled(inner=True)
def _exclude(tree: Tree, level: int, pick: int, forced: bool) -> None:
    """The level itself becomes the branch without `pick`; empty if `pick` is proven in."""
    if forced:
        tree.size[level] = 0
        tree.constant[level] = np.inf
        tree.bound[level] = np.inf
        return
    size = tree.size[level]
    for j in range(size):
        tree.keep[j] = j != pick
    _squeeze(tree, level)
    tree.lacking[level] = _less_lacking(tree.lacking[level], size - tree.size[level])


@compiled(inner=True)
def _close(tree: Tree, scratch: Scratch, level: int) -> tuple[int, float]:
    """Offer what the level has to offer by itself, and bound the rest."""
    _offer(tree, tree.constant[level], NONE, NONE)
    node = _node_at(tree, level)
    if node.size == 0 or node.room == 0:
        return EXHAUSTED, np.inf
    state, bound = RUNNING, -np.inf
    if node.room > 1:
        state, bound = _bound(tree, scratch, level)
    if state != EXHAUSTED and node.room <= 2:
        _best_pair(tree, level, node, tree.column[level])
        state = EXHAUSTED
    return state, bound


@compiled(inner=True)
def _branch(tree: Tree, scratch: Scratch, level: int, bound: float) -> bool:
    """Turn the level into its two branches; False if screening left none."""
    for j in range(tree.keep.shape[0]):
        tree.keep[j] = True
    forced = -1
    if tree.lacking[level] == 0:
        forced = _screen(tree, scratch, level, bound)
    pick = forced if forced >= 0 else _pick(tree, level)
    if pick < 0:
        return False
    name = tree.column[level, pick]
    _squeeze(tree, level)
    pick = 0
    while tree.column[level, pick] != name:
        pick += 1
    _include(tree, level, pick)
    _exclude(tree, level, pick, forced >= 0)
    return True


def _goes_on(outcome: int, *_: object) -> bool:
    return outcome == RUNNING


@compiled(pauses=_goes_on)
def search(tree: Tree, scratch: Scratch, nodes: int) -> int:
    """Work through so many nodes, or until something else is to be done first."""
    for _ in range(nodes):
        level = tree.tally[LEVEL]
        if level < 0:
            return EXHAUSTED
        if tree.tally[DOUBTS] + tree.size[level] > tree.doubted.shape[0]:
            return DOUBTFUL
        state, bound = _close(tree, scratch, level)
        if state in (SPLIT, BETTER_SPLIT):
            return state
        if state == RUNNING and level + 1 == tree.gram.shape[0]:
            return OUTGROWN
        tree.tally[NODES] += 1
        if state == RUNNING and _branch(tree, scratch, level, bound):
            tree.tally[LEVEL] += 1
        else:
            tree.bound[level] = np.inf
            tree.tally[LEVEL] -= 1
    return RUNNING if tree.tally[LEVEL] >= 0 else EXHAUSTED
