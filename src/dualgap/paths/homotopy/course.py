"""What the homotopy works on: one record of arrays, so that every loop takes one argument.

    minimise   Lw(s) Σ l_i(x_i·w) + Pw(s) Σ price_j |w_j| + ½ Σ ridge_j w_j² + s·tilt·w,
    Lw = loss0 + loss1·s,   Pw = price0 + price1·s,

every l_i piecewise quadratic. Two problems with one matrix are followed at once: a *bent* one, moved by
1e-8 so that no two events fall together, which decides what happens next; and the *true* one, whose exact
answer on the same set of active weights and kinked rows is what is written down. Both answers are linear in
s between events: rows 0 and 1 of `slot` are the bent one, value at s = 0 and change per unit of s, rows 2
and 3 the true one; rows 4 to 7 are their right sides.

Keys: weight j is j, row i is p + i. Slots are the places of active weights and kinked rows in the system.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dualgap.arrays import Matrix, Vector
from dualgap.compiled.addressed import Addressed
from dualgap.compiled.layout import Lines

Integers = NDArray[np.int64]

# Layers of Course.pieces, (5, n, K + 2): the first and last kink are infinite
BENT_KINK, KINK_AT, BENT_SLOPE, SLOPE_AT, CURVATURE = range(5)
# Lines of Course.row, one number per row of the data
BEND, SLOPE, TRUE_SLOPE, Z0, Z1, DUAL, DUAL_RATE, ROW_EXPIRY, ROW_SIZE, COLUMN, BENT_COLUMN, IMAGE = range(12)
# Lines of Course.mark, one integer per row of the data
PIECE, KINKED, BANNED = range(3)
# Lines of Course.weight, one number per weight
VALUE, RATE, EXPIRY, SPARE, BENT_PRICE, PRICE, COLUMN_SIZE, RIDGE, TILT = range(9)
SEEN = 9  # and 10: the products of its column with a snapshot of the dual
SNAPSHOTS = 64  # a choice: snapshots of the dual that are kept (see watch.py), two lines of n numbers each
# Lines of Course.slot after the four answers and the four right sides
NOW, SPEED, NEW, INVERSE_NEW, OTHER, INVERSE_OTHER = range(8, 14)
SLOT_LINES = 14  # all of those above
# Places in Course.count
SIZE, STUCK_ROWS, UPDATES, VERSION, STANDING, STALE, STORED, VALUES, EVALUATED, REFACTORED = range(10)
CURVED, INVERSE, TILTED = 10, 11, 12  # flags: curvature in the loss, s = 1/λ, a tilt that goes to zero
# Places in Course.level
AT, WAY, TRAVELLED, DUAL_TRAVELLED, PRICE_TRAVELLED, PACE, DUAL_PACE, TRUE_AT, LAST = range(9)
LEAP, DUAL_LEAP = 9, 10  # the usual length of a step, of the weights and of the dual
LOSS0, LOSS1, PRICE0, PRICE1, NATURAL = range(11, 16)  # NATURAL: the size that s has by its nature
# Kinds of event
NOTHING, ZERO, KINK, LEAVE, ENTER, END = range(6)
# How an advance, or a step of it, ends
GOING, ARRIVED, UNBOUNDED, ROOM, FULL, STUCK, LIMIT = range(7)
SLIDE_LEAVE, SLIDE_ENTER, FLAT_ENTER, FLAT_TURN = range(7, 11)
WORN = 11  # the answers are to be corrected, or the inverse made afresh


@dataclass(frozen=True, eq=False)
class Course(Addressed):
    """The data, where everything stands, and the inverse of the system with its answers."""

    columns: Lines
    rows: Lines
    pieces: NDArray[np.float64]
    row: Matrix
    mark: Integers
    weight: Matrix  # price infinite: stays zero; price 0 and ridge 0: free
    sign: Integers  # 0: at zero, outside the system
    inverse: Matrix  # lower triangle
    slot: Matrix
    keys: Integers
    place: Integers  # slot of every key, or −1
    miss: Vector  # four right sides of a slot that is about to change, then how far the answers miss them
    count: Integers
    level: Vector
    snap: Integers  # snapshot of the dual that each weight relies on, −1: none
    basis: Matrix  # two directions per snapshot; none where the columns are few
    reach: Matrix  # see watch.py
    change: Integers  # (2, 2): up to two keys whose code changes now, and their new codes; −1: none


@dataclass(frozen=True, eq=False)
class Log(Addressed):
    """One record per event: s, the keys whose code changed, and the true answer just after it."""

    level: Vector
    keys: NDArray[np.int32]  # (capacity, 2), −1 where there is none
    codes: NDArray[np.int8]  # rows: 2·piece + kinked; weights: sign
    start: Integers  # record k has values start[k] : start[k + 1]
    slots: NDArray[np.int32]
    values: Vector


def new_course(columns: Lines, rows: Lines, pieces: NDArray[np.float64], shape: tuple[int, int]) -> Course:
    """Nothing active, nothing kinked."""
    n, p = shape
    capacity = min(n, p) + 64
    course = Course(
        columns,
        rows,
        pieces,
        np.zeros((12, n)),
        np.zeros((3, n), np.int64),
        np.zeros((11, p)),
        np.zeros(p, np.int64),
        np.zeros((capacity, capacity)),
        np.zeros((SLOT_LINES, capacity)),
        np.zeros(capacity, np.int64),
        np.full(n + p, -1, np.int64),
        np.zeros(9),
        np.zeros(13, np.int64),
        np.zeros(16),
        np.full(p, -1, np.int64),
        np.zeros((2 * SNAPSHOTS if p >= max(n, 4 * SNAPSHOTS) else 0, n)),
        np.zeros((SNAPSHOTS + 2, 6)),
        np.full((2, 2), -1),
    )
    course.count[CURVED] = bool(pieces[CURVATURE].any())
    return course


def roomier(course: Course) -> Course:
    """The same course with twice the room for slots."""
    old = len(course.keys)
    new = 2 * old + 16
    inverse, slot, keys = np.zeros((new, new)), np.zeros((SLOT_LINES, new)), np.zeros(new, np.int64)
    inverse[:old, :old] = course.inverse
    slot[:, :old] = course.slot
    keys[:old] = course.keys
    return replace(course, inverse=inverse, slot=slot, keys=keys)


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
