"""Following s: events by compiled loops; by NumPy the system from the data, where a course begins and where
its answers have worn off.

[ X_FᵀCX_F + ridge   X_EFᵀ ] [ w_F ]   [ −(Lw·X_Fᵀslope + Pw·price·sign + s·tilt) ]
[ X_EF               0     ] [ d_E ] = [ kink                                      ]
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from dualgap.arrays import Matrix
from dualgap.paths.homotopy import course as its
from dualgap.paths.homotopy.advance import any_loss, no_kinks
from dualgap.paths.homotopy.course import Course, Log

REFINED = 1e-13  # answers are corrected until the correction is below this, relative,
SOUND = 1e-10  # and a new inverse is made where the last one was above this
ROUNDS = 3  # corrections at most: the second is at the level of rounding unless the inverse is worn


class System:
    """The columns in the system, the rows at their kinks, and products with them."""

    def __init__(self, course: Course) -> None:
        self.course, self.size = course, int(course.count[its.SIZE])
        self.n, self.p = course.row.shape[1], len(course.sign)
        keys = course.keys[: self.size]
        self.active: Any = slice(None)  # slots of weights, and of rows
        self.weights, self.rows, self.stuck = keys, keys[:0], keys[:0]
        if course.count[its.STUCK_ROWS]:
            self.active, self.stuck = np.flatnonzero(keys < self.p), np.flatnonzero(keys >= self.p)
            self.weights, self.rows = keys[self.active], keys[self.stuck] - self.p
        self.ridge = course.weight[its.RIDGE].take(self.weights)
        self.curved = bool(course.count[its.CURVED])

    @cached_property
    def columns(self) -> Any:
        """Of the active weights, one a line."""
        lines = self.course.columns
        if lines.dense:
            return lines.values.reshape(self.p, self.n).take(self.weights, axis=0)
        return sp.csr_array((lines.values, lines.indices, lines.starts), shape=(self.p, self.n))[self.weights]

    @cached_property
    def across(self) -> Matrix:
        """Of the active weights, on the rows at their kinks."""
        lines = self.course.columns
        if lines.dense:
            return np.asarray(lines.values.reshape(self.p, self.n)[np.ix_(self.weights, self.rows)])
        return np.asarray(self.columns[:, self.rows].toarray())

    def matrix(self) -> Matrix:
        """The whole."""
        M = np.zeros((self.size, self.size))
        if self.curved:
            columns = self.columns if self.course.columns.dense else self.columns.toarray()
            half = columns * np.sqrt(self.course.row[its.BEND])
            M[:] = half @ half.T
        if len(self.rows):
            M[np.ix_(self.active, self.stuck)] = self.across
            M[np.ix_(self.stuck, self.active)] = self.across.T
        M.reshape(-1)[:: self.size + 1][self.active] += self.ridge
        return M

    def image(self, answers: Matrix) -> Matrix:
        """The system times each answer."""
        w = answers[:, self.active]
        pulled = self.ridge * w
        if self.curved:
            pulled += (w @ self.columns * self.course.row[its.BEND]) @ self.columns.T
        if not len(self.rows):
            return pulled
        out = np.empty_like(answers)
        out[:, self.active] = pulled + answers[:, self.stuck] @ self.across.T
        out[:, self.stuck] = w @ self.across
        return out

    def right_sides(self) -> Matrix:
        """Bent and true, each constant and per unit of s."""
        course, out, weight = self.course, np.zeros((4, self.size)), self.course.weight
        loss, price = (
            course.level[its.LOSS0 : its.LOSS1 + 1, None],
            course.level[its.PRICE0 : its.PRICE1 + 1, None],
        )
        sign, slopes = course.sign[self.weights], course.row[its.SLOPE : its.TRUE_SLOPE + 1] @ self.columns.T
        for k, (line, layer) in enumerate(((its.BENT_PRICE, its.BENT_KINK), (its.PRICE, its.KINK_AT))):
            own = loss * slopes[k] + price * (weight[line].take(self.weights) * sign)
            own[1] += weight[its.TILT].take(self.weights)
            out[2 * k : 2 * k + 2, self.active] = -own
            if len(self.rows):
                out[2 * k, self.stuck] = course.pieces[layer, self.rows, course.mark[its.PIECE, self.rows]]
        return out

    def refine(self, inverse: Matrix, rounds: int) -> float:
        """Correct the answers by the inverse of their residual; the size of the last correction, relative."""
        slot, size, error = self.course.slot, self.size, 1.0
        for _ in range(rounds):
            step = (slot[4:8, :size] - self.image(slot[:4, :size])) @ inverse
            slot[:4, :size] += step
            largest = np.maximum(np.abs(slot[:4, :size]).max(axis=1), 1e-300)
            error = float((np.abs(step).max(axis=1) / largest).max())
            if error < REFINED:
                break
        return error

    def settle(self) -> None:
        """What follows from new answers: predictions; or a vertex, whose rates are rounding, stands still."""
        course, size = self.course, self.size
        if self.curved:
            course.row[its.Z0 : its.Z1 + 1] = course.slot[:2, :size][:, self.active] @ self.columns
        elif size == 2 * course.count[its.STUCK_ROWS]:
            course.slot[1, :size][self.active] = 0.0
            course.slot[3, :size][self.active] = 0.0
        course.count[its.UPDATES] = 0


def begin(course: Course, start: float, end: float) -> None:
    """Take the signs, pieces and kinks as they are, and solve there."""
    level, count, row, p = course.level, course.count, course.row, len(course.sign)
    level[: its.LOSS0] = 0.0
    count[: its.CURVED] = 0
    count[its.INVERSE] = level[its.LOSS1] != 0.0
    count[its.TILTED] = course.weight[its.TILT].any()
    level[[its.AT, its.TRUE_AT, its.LAST]] = start
    level[its.WAY] = 1.0 if end > start else -1.0
    course.weight[its.VALUE : its.EXPIRY] = 0.0
    course.weight[its.EXPIRY] = -np.inf
    course.mark[its.BANNED] = -1
    course.snap[:] = -1
    kinked, keys = np.flatnonzero(course.mark[its.KINKED]), np.flatnonzero(course.sign)
    kinks, each = course.pieces.shape[2] > 2, np.arange(row.shape[1])
    for line, layer in (
        (its.BEND, its.CURVATURE),
        (its.SLOPE, its.BENT_SLOPE),
        (its.TRUE_SLOPE, its.SLOPE_AT),
    ):
        row[line] = (
            course.pieces[layer, each, course.mark[its.PIECE]] if kinks else course.pieces[layer, :, 0]
        )
        row[line, kinked] = 0.0
    row[its.DUAL] = row[its.SLOPE]
    row[its.DUAL_RATE] = 0.0
    row[its.ROW_EXPIRY] = -np.inf
    keys = np.concatenate([keys, p + kinked]) if len(kinked) else keys
    count[its.SIZE], count[its.STUCK_ROWS] = len(keys), len(kinked)
    course.keys[: len(keys)] = keys
    course.place[:] = -1
    course.place[keys] = np.arange(len(keys))
    refactor(course)


def refactor(course: Course) -> None:
    """The inverse from the matrix itself, right sides and answers afresh."""
    system, size = System(course), int(course.count[its.SIZE])
    course.count[its.REFACTORED] += 1
    if size:
        whole = np.linalg.inv(system.matrix())
        inverse = course.inverse[:size, :size]
        np.multiply(whole + whole.T, 0.5, out=inverse)
        right = system.right_sides()
        course.slot[4:8, :size] = right
        course.slot[:4, :size] = right @ inverse
        system.refine(inverse, ROUNDS)
    system.settle()
    course.count[its.STALE] = 0


def refresh(course: Course) -> None:
    """Answers corrected by their residual, predictions afresh; a new inverse where that is not enough."""
    size = int(course.count[its.SIZE])
    if size and course.count[its.UPDATES] and not course.count[its.STALE]:
        system, lower = System(course), np.tril(course.inverse[:size, :size])
        if not system.refine(lower + np.tril(lower, -1).T, ROUNDS) < SOUND:
            course.count[its.STALE] = 1
        system.settle()
    if course.count[its.STALE]:
        refactor(course)


def advance(course: Course, log: Log, end: float, limit: int) -> int:
    """Follow s to `end`; stops early where the log or the block is full, and can be called again.

    The end itself is not written down.
    """
    kinks = course.pieces.shape[2] > 2
    while True:
        status = (any_loss if kinks else no_kinks)(course, log, end, limit)
        if status == its.FLAT_ENTER:
            refresh(course)  # else it would be asked for first, and the event left where it was
            status = any_loss(course, log, end, 1)
            if status == its.LIMIT:
                continue
        if status not in (its.WORN, its.ARRIVED):
            return int(status)
        refresh(course)
        if status == its.ARRIVED:
            return its.ARRIVED


def write(course: Course, log: Log) -> None:
    """A record where nothing changes."""
    course.change[:] = -1
    (any_loss if course.pieces.shape[2] > 2 else no_kinks)(course, log, 0.0, 0)
