"""What the homotopy works on: the model it follows, where it stands, and the log it leaves behind.

    minimise   Lw(s) Σ l_i(x_i·w) + Pw(s) Σ price_j |w_j| + ½ Σ ridge_j w_j² + s·tilt·w,
    Lw = loss0 + loss1·s,   Pw = price0 + price1·s,

every l_i piecewise quadratic. Two problems with one matrix are followed at once: a *bent* one, moved by
1e-8 so that no two events fall together, which decides what happens next; and the *true* one, whose exact
answer on the same set of active weights and kinked rows is what is written down. Both answers are linear in
s between events: answer[0] + s·answer[1] is the bent one, answer[2] + s·answer[3] the true one.

Keys: weight j is j, row i is p + i. Slots are the places of active weights and kinked rows in the system.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dualgap.arrays import Mask, Matrix, Vector
from dualgap.compiled.lines import Lines

Integers = NDArray[np.int64]

# Places in State.count
SIZE, KINKED, UPDATES, VERSION, STANDING, STALE, STORED, VALUES, EVALUATED, REFACTORED = range(10)
# Places in State.level
NOW, DIRECTION, TRAVELLED, DUAL_TRAVELLED, PRICE_TRAVELLED, PACE, DUAL_PACE, TRUE, LAST = range(9)
# Kinds of event
NOTHING, ZERO, KINK, LEAVE, ENTER, END = range(6)
# How an advance ends
GOING, ARRIVED, UNBOUNDED, ROOM, FULL, STUCK, LIMIT = range(7)


class Pieces(NamedTuple):
    """Row i has the derivative curvature·z + slope between its kinks; the first and last are infinite."""

    kink: Matrix  # (n, K + 2)
    slope: Matrix  # (n, K + 1)


class Model(NamedTuple):
    """The data of the problem. Curvature is shared by the bent and the true pieces."""

    columns: Lines
    rows: Lines
    bent: Pieces
    true: Pieces
    curvature: Matrix  # (n, K + 1)
    bent_price: Vector
    price: Vector  # infinite: this weight stays zero; 0 and no ridge: free
    row_size: Vector
    column_size: Vector
    curved: bool


class Form(NamedTuple):
    """How the strengths depend on s; `inverse` where s = 1/λ multiplies the loss."""

    loss0: float
    loss1: float
    price0: float
    price1: float
    ridge: Vector
    tilt: Vector
    inverse: bool


class Rows(NamedTuple):
    """Where every row stands; z is z0 + s·z1, kept for curved losses only."""

    piece: Integers  # piece, or kink while kinked
    kinked: Mask
    bend: Vector  # curvature of the piece it is on
    slope: Vector  # bent slope of that piece, 0 while kinked
    true_slope: Vector
    z0: Vector
    z1: Vector
    dual: Vector
    dual_rate: Vector
    expiry: Vector  # the path length at which this row must be looked at again
    banned: Integers
    scratch: Matrix  # (3, n)


class Weights(NamedTuple):
    """Where every weight stands; sign 0 is a weight at zero outside the system."""

    sign: Integers
    value: Vector
    rate: Vector
    expiry: Vector
    scratch: Vector


class Block(NamedTuple):
    """The inverse of the optimality system, its lower triangle, and its answers."""

    inverse: Matrix
    keys: Integers
    place: Integers  # slot of every key, or −1
    answer: Matrix  # (4, capacity)
    right: Matrix  # (4, capacity)
    now: Vector
    rate: Vector
    scratch: Matrix  # (6, capacity)
    new_right: Vector  # right side of a slot about to enter
    miss: Vector  # how far the present answer misses it


class State(NamedTuple):
    """Everything that changes."""

    rows: Rows
    weights: Weights
    block: Block
    count: Integers
    level: Vector


class Log(NamedTuple):
    """One record per event: s, the keys whose code changed, and the true answer just after it."""

    level: Vector
    keys: NDArray[np.int32]  # (capacity, 2), −1 where there is none
    codes: NDArray[np.int8]  # rows: 2·piece + kinked; weights: sign
    start: Integers  # record k has values start[k] : start[k + 1]
    slots: NDArray[np.int32]
    values: Vector


def new_state(n: int, p: int, capacity: int) -> State:
    """Nothing active, nothing kinked."""
    rows = Rows(
        np.zeros(n, np.int64),
        np.zeros(n, np.bool_),
        *(np.zeros(n) for _ in range(7)),
        np.full(n, -np.inf),
        np.full(n, -1, np.int64),
        np.zeros((3, n)),
    )
    weights = Weights(np.zeros(p, np.int64), np.zeros(p), np.zeros(p), np.full(p, -np.inf), np.zeros(p))
    return State(rows, weights, new_block(n + p, capacity), np.zeros(16, np.int64), np.zeros(16))


def new_block(keys: int, capacity: int) -> Block:
    """An empty system with room for so many slots."""
    return Block(
        np.zeros((capacity, capacity)),
        np.zeros(capacity, np.int64),
        np.full(keys, -1, np.int64),
        np.zeros((4, capacity)),
        np.zeros((4, capacity)),
        np.zeros(capacity),
        np.zeros(capacity),
        np.zeros((6, capacity)),
        np.zeros(4),
        np.zeros(4),
    )


def roomier(state: State) -> State:
    """The same state with twice the room for slots."""
    old = state.block
    size = len(old.keys)
    block = new_block(len(old.place), 2 * size + 16)
    block.inverse[:size, :size] = old.inverse
    block.keys[:size] = old.keys
    block.place[:] = old.place
    block.answer[:, :size] = old.answer
    block.right[:, :size] = old.right
    return state._replace(block=block)


def new_log(records: int, values: int) -> Log:
    """An empty log."""
    return Log(
        np.zeros(records),
        np.full((records, 2), -1, np.int32),
        np.zeros((records, 2), np.int8),
        np.zeros(records + 1, np.int64),
        np.zeros(values, np.int32),
        np.zeros(values),
    )
