"""The homotopy engine on one problem: how it starts, how it follows λ, how it solves at one λ."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from dualgap.arrays import Mask, Vector
from dualgap.compiled.layout import dense_lines, sparse_lines
from dualgap.drive.limits import Limits
from dualgap.paths.homotopy import course as its
from dualgap.paths.homotopy import follow as homotopy
from dualgap.paths.homotopy.columns import EngineColumns, engine_columns
from dualgap.paths.homotopy.course import Course, Integers, Log, new_course, new_log, roomier
from dualgap.paths.homotopy.offset import best_offset
from dualgap.paths.homotopy.pieces import BEND, row_pieces
from dualgap.problem.problem import Problem

LONGEST = 1 << 24  # events before an advance is given up
RECORDS = 1 << 12  # records per piece of log, at most
# Operations between two looks at the clock, when Ctrl-C is heard too: a quarter of a second where an event at
# 16,000 rows and 300 columns takes 0.8 ms, 8 ns for each of its operations as counted below.
UNHEARD = 1 << 25
MOST_VALUES = 1 << 25  # of a path that are kept; beyond it every other record keeps its own
NOTHING = 1e-10  # events at λ below this share of its natural size are rounding
ABOVE = 1e-4  # a path starts this much above its first event


@dataclass(frozen=True, eq=False)
class Records:
    """What an advance wrote: levels, changes and answers, record by record."""

    level: Vector
    keys: NDArray[np.int32]
    codes: NDArray[np.int8]
    start: Integers
    slots: NDArray[np.int32]
    values: Vector
    kept: Mask  # records of a long path that still have their values

    def __len__(self) -> int:
        return len(self.level)

    def without_last(self) -> Records:
        """All but the last record."""
        end = int(self.start[-2])
        return Records(
            self.level[:-1],
            self.keys[:-1],
            self.codes[:-1],
            self.start[:-1],
            self.slots[:end],
            self.values[:end],
            self.kept[:-1],
        )

    def thinned(self) -> Records:
        """Every other of the values; where they are missing, they can be solved for again."""
        held = np.flatnonzero(self.kept)
        kept = np.zeros_like(self.kept)
        kept[held[::2]] = True
        kept[-1] = self.kept[-1]
        counts = np.where(kept, np.diff(self.start), 0)
        entry = np.repeat(kept, np.diff(self.start))
        start = np.concatenate([[0], np.cumsum(counts)])
        return Records(self.level, self.keys, self.codes, start, self.slots[entry], self.values[entry], kept)


class Engine:
    """One piecewise quadratic loss with one separable penalty, in the working coordinates."""

    def __init__(
        self,
        problem: Problem,
        seed: int = 0,
        columns: EngineColumns | None = None,
        limits: Limits | None = None,
    ) -> None:
        random = np.random.default_rng(seed)
        self.problem, self.seed = problem, seed
        self.limits = limits or Limits()
        self.columns = engine_columns(problem) if columns is None else columns
        self.n, self.p = problem.n, len(self.columns.l1)
        self.free = (self.columns.l1 == 0.0) & (self.columns.l2 == 0.0)
        pieces = row_pieces(problem.loss.terms(problem.y), problem.a, random)
        self.course = self._course(pieces)
        self.bent_price = self.columns.l1 * (1.0 + BEND * random.uniform(-1.0, 1.0, self.p))
        self.random = random
        self.natural = 1.0

    def _course(self, pieces: NDArray[np.float64]) -> Course:
        matrix = self.columns.matrix
        if self.columns.dense:
            columns, rows = dense_lines(matrix.T), dense_lines(matrix)
            square = matrix * matrix
        else:
            columns, rows = sparse_lines(sp.csc_array(matrix)), sparse_lines(sp.csr_array(matrix))
            square = matrix.power(2)
        course = new_course(columns, rows, pieces, (self.n, self.p))
        course.row[its.ROW_SIZE] = np.sqrt(np.asarray(square.sum(axis=1)).ravel())
        course.weight[its.COLUMN_SIZE] = np.sqrt(np.asarray(square.sum(axis=0)).ravel())
        return course

    @property
    def curved(self) -> bool:
        """Has the loss curvature?"""
        return bool(self.course.count[its.CURVED])

    @property
    def signs(self) -> Integers:
        """Sign of every active weight, 0 outside; a free or squared weight counts as +1."""
        return self.course.sign

    # -- forms ---------------------------------------------------------------------------------------

    def set_form(self, loss: tuple[float, float], price: tuple[float, float], ridge: float) -> None:
        """Strengths as functions of s: constant and per unit."""
        course = self.course
        course.level[its.LOSS0 : its.PRICE1 + 1] = (*loss, *price)
        course.weight[its.RIDGE] = 2.0 * ridge * self.columns.l2
        course.weight[its.PRICE] = self.columns.l1
        course.weight[its.BENT_PRICE] = self.bent_price
        course.weight[its.TILT] = 0.0
        course.level[its.NATURAL] = 1.0

    def only_free(self) -> None:
        """Shut out every weight that has a price."""
        self.course.weight[its.PRICE, ~self.free] = np.inf
        self.course.weight[its.BENT_PRICE, ~self.free] = np.inf

    # -- the state -----------------------------------------------------------------------------------

    def stand_at(self, z: Vector) -> None:
        """Every row on the piece of its prediction, none kinked."""
        self.course.mark[its.PIECE] = (self.course.pieces[its.BENT_KINK, :, 1:-1] <= z[:, None]).sum(axis=1)
        self.course.mark[its.KINKED] = 0

    def slopes(self, z: Vector) -> Vector:
        """The bent derivative of every row at its prediction; 0 for kinked rows."""
        mark, pieces = self.course.mark, self.course.pieces
        each, piece = np.arange(self.n), mark[its.PIECE]
        slope = pieces[its.BENT_SLOPE, each, piece] + pieces[its.CURVATURE, each, piece] * z
        return np.where(mark[its.KINKED] == 1, 0.0, slope)

    def gradient(self, dual: Vector) -> Vector:
        """Xᵀ dual in the engine's columns."""
        return np.asarray(self.columns.matrix.T @ dual)

    def now(self) -> tuple[Vector, Vector]:
        """The bent weights, and the multipliers of the kinked rows, at the present s."""
        course, size = self.course, int(self.course.count[its.SIZE])
        value = course.slot[0, :size] + course.level[its.AT] * course.slot[1, :size]
        both = np.zeros(self.p + self.n)
        both[course.keys[:size]] = value
        return both[: self.p], both[self.p :]

    # -- running -------------------------------------------------------------------------------------

    @cached_property
    def _records(self) -> int:
        """Records per piece of log: an event costs passes over rows, columns and the inverse of a matrix."""
        return min(max(UNHEARD // (self.n + self.p + min(self.n, self.p) ** 2), 16), RECORDS)

    def _new_log(self) -> Log:
        return new_log(self._records, self._records * 32 + 4 * (self.n + self.p))

    def run(self, start: float, end: float) -> tuple[int, list[Records]]:
        """Begin with the signs, pieces and kinks as they are, and follow s from start to end."""
        self._make_room()
        homotopy.begin(self.course, start, end)
        log = self._new_log()
        homotopy.write(self.course, log)
        return self.go_on(end, log)

    def go_on(self, end: float, log: Log | None = None) -> tuple[int, list[Records]]:
        """Follow s to the end from where it is."""
        log = self._new_log() if log is None else log
        found: list[Records] = []
        while True:
            status = homotopy.advance(self.course, log, end, LONGEST)
            if status == its.ROOM:
                self.course = roomier(self.course)
                continue
            if status == its.ARRIVED:
                homotopy.write(self.course, log)
            found.append(_drained(self.course, log))
            while sum(len(part.values) for part in found) > MOST_VALUES:
                found = [part.thinned() for part in found]
            if status != its.FULL or self.limits.spent:  # Ctrl-C is heard here too
                return int(status), found

    def _untilt(self) -> int:
        """From s = 1 to s = 0 with the tilt that was set; only the end counts, nothing is kept on the way."""
        self._make_room()
        homotopy.begin(self.course, 1.0, 0.0)
        while True:
            status = int(homotopy.advance(self.course, self._notes, 0.0, LONGEST))
            self.course.count[its.STORED] = self.course.count[its.VALUES] = 0
            if status == its.ROOM:
                self.course = roomier(self.course)
            elif status != its.FULL or self.limits.spent:
                return status

    @cached_property
    def _notes(self) -> Log:
        return new_log(64, 4096 + 8 * (self.n + self.p))

    def _make_room(self) -> None:
        while len(self.course.keys) < np.count_nonzero(self.signs) + self.course.mark[its.KINKED].sum() + 3:
            self.course = roomier(self.course)

    # -- starting ------------------------------------------------------------------------------------

    def start(self) -> bool:
        """w = 0 and the best free weights; False if the loss there is nothing, so that w = 0 stays best."""
        self.signs[:] = 0
        offset = np.zeros(self.p)
        self.stand_at(np.zeros(self.n))
        if self.problem.intercept:
            found = best_offset(self.course.pieces)
            if found is None:
                return False
            self.course.mark[its.PIECE] = found.piece
            if found.kinked >= 0:
                self.course.mark[its.KINKED, found.kinked] = 1
            self.signs[-1] = 1
            offset[-1] = found.value
        self.set_form((1.0, 0.0), (0.0, 0.0), 0.0)
        self.only_free()
        self.course.weight[its.TILT] = 0.0
        if np.count_nonzero(self.free) > self.problem.intercept:
            return self._tilted(offset) == its.ARRIVED
        homotopy.begin(self.course, 0.0, -1.0)
        return True

    def _tilted(self, v: Vector) -> int:
        """Set the tilt that makes v best, and let it go to zero."""
        dual = self.slopes(np.asarray(self.columns.matrix @ v))
        kinked = self.course.mark[its.KINKED] == 1
        if kinked.any() and self.problem.intercept:
            dual[kinked] = -dual.sum() / np.count_nonzero(kinked)
        gradient = self.gradient(dual)
        self.course.weight[its.TILT] = np.where(self.free, -gradient, 0.0)
        return self._untilt()

    def dual(self) -> Vector:
        """The derivative of the bent loss, row by row, multipliers for kinked rows."""
        v, multiplier = self.now()
        slope = self.slopes(np.asarray(self.columns.matrix @ v))
        return np.asarray(np.where(self.course.mark[its.KINKED] == 1, multiplier, slope))

    def largest_price(self) -> float:
        """The λ above which every priced weight is zero, at the start."""
        priced = self.columns.l1 > 0.0
        if not priced.any():
            return 0.0
        return float(np.max(np.abs(self.gradient(self.dual()))[priced] / self.columns.l1[priced]))

    def largest_slope(self) -> float:
        """max |x_j·θ| over the penalised weights at the start: the natural size of λ for l2."""
        return float(np.abs(self.gradient(self.dual()))[~self.free].max(initial=0.0))

    # -- the two uses --------------------------------------------------------------------------------

    def level_of(self, lam: float) -> float:
        """s for a λ: itself, or its inverse where a straight loss meets squares."""
        return 1.0 / max(lam, NOTHING * self.natural) if self.columns.l2.any() else lam

    def follow(self, end: float) -> tuple[int, list[Records]]:
        """The whole path from the start down to λ = end."""
        top = self.largest_price()
        if not self.columns.l2.any():
            self.set_form((1.0, 0.0), (0.0, 1.0), 0.0)
            self.natural = self.course.level[its.NATURAL] = top
            return self._landed(end, *self.run(top * (1.0 + ABOVE), max(end, NOTHING * top)))
        self.natural = top or self.largest_slope()
        if not top:
            self.signs[self.columns.l2 > 0.0] = 1
        self.set_form((0.0, 1.0), (1.0, 0.0), 1.0)
        self.course.level[its.NATURAL] = 1.0 / self.natural
        begin = 1.0 / (top * (1.0 + ABOVE)) if top > 0.0 else 0.0
        return self.run(begin, self.level_of(end))

    def lower(self, end: float) -> tuple[int, list[Records]]:
        """Go on to a smaller λ."""
        if self.columns.l2.any():
            return self.go_on(self.level_of(end))
        return self._landed(end, *self.go_on(max(end, NOTHING * self.natural)))

    def _landed(self, end: float, status: int, parts: list[Records]) -> tuple[int, list[Records]]:
        """Below NOTHING nothing happens any more: the answer is followed to λ = 0 as it stands."""
        if status == its.ARRIVED and end < NOTHING * self.natural:
            self.course.level[its.AT] = end
            self.course.level[its.TRUE_AT] = end
            log = new_log(1, self.n + self.p)
            homotopy.write(self.course, log)
            parts = [*parts[:-1], parts[-1].without_last(), _drained(self.course, log)]
        return status, parts

    def solve(self, lam: float) -> int:
        """The answer at one λ, from wherever the state is, by a tilt that goes to zero."""
        v, multiplier = self.now()
        self.set_form((1.0, 0.0), (lam, 0.0), lam)
        if not self.columns.l1.any():
            self.signs[self.columns.l2 > 0.0] = 1
        z = np.asarray(self.columns.matrix @ v)
        if self.curved:
            self.stand_at(z)
        dual = np.where(self.course.mark[its.KINKED] == 1, multiplier, self.slopes(z))
        gradient = self.gradient(dual)
        price = lam * self.bent_price
        active = self.signs != 0
        edge = price * (1.0 - 1e-9 * self.random.uniform(0.0, 1.0, self.p))
        outside = gradient - np.clip(gradient, -edge, edge)
        inside = gradient + price * self.signs + self.course.weight[its.RIDGE] * v
        self.course.weight[its.TILT] = -np.where(active, inside, outside)
        return self._untilt()

    def answer(self) -> tuple[Vector, Vector]:
        """The true weights and multipliers at the present s."""
        course, size = self.course, int(self.course.count[its.SIZE])
        value = course.slot[2, :size] + course.level[its.AT] * course.slot[3, :size]
        both = np.zeros(self.p + self.n)
        both[course.keys[:size]] = value
        return both[: self.p], both[self.p :]


def _drained(course: Course, log: Log) -> Records:
    count, values = int(course.count[its.STORED]), int(course.count[its.VALUES])
    course.count[its.STORED] = 0
    course.count[its.VALUES] = 0
    return Records(
        log.level[:count].copy(),
        log.keys[:count].copy(),
        log.codes[:count].copy(),
        log.start[: count + 1].copy(),
        log.slots[:values].copy(),
        log.values[:values].copy(),
        np.ones(count, dtype=bool),
    )
