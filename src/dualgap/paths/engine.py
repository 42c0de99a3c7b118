"""The homotopy engine on one problem: how it starts, how it follows λ, how it solves at one λ."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from dualgap.arrays import Vector
from dualgap.compiled import homotopy
from dualgap.compiled.homotopy_course import (
    ARRIVED,
    BENT_KINK,
    BENT_PRICE,
    BENT_SLOPE,
    COLUMN_SIZE,
    CURVATURE,
    CURVED,
    FULL,
    KINK_AT,
    KINKED,
    LOSS0,
    PIECE,
    PRICE,
    PRICE1,
    RIDGE,
    ROOM,
    ROW_SIZE,
    SLOPE_AT,
    STORED,
    TILT,
    VALUE,
    VALUES,
    Course,
    Integers,
    Log,
    new_course,
    new_log,
    roomier,
)
from dualgap.compiled.lines import dense_lines, sparse_lines
from dualgap.paths.columns import Columns, engine_columns
from dualgap.paths.pieces import BEND, row_pieces
from dualgap.problem.problem import Problem

LONGEST = 1 << 24  # events before an advance is given up
RECORDS = 1 << 12  # records per piece of log


@dataclass(frozen=True, eq=False)
class Records:
    """What an advance wrote: levels, changes and answers, record by record."""

    level: Vector
    keys: NDArray[np.int32]
    codes: NDArray[np.int8]
    start: Integers
    slots: NDArray[np.int32]
    values: Vector

    def __len__(self) -> int:
        return len(self.level)


class Engine:
    """One piecewise quadratic loss with one separable penalty, in the working coordinates."""

    def __init__(self, problem: Problem, seed: int = 0, columns: Columns | None = None) -> None:
        random = np.random.default_rng(seed)
        self.problem = problem
        self.columns = engine_columns(problem) if columns is None else columns
        self.n, self.p = problem.n, len(self.columns.l1)
        self.free = (self.columns.l1 == 0.0) & (self.columns.l2 == 0.0)
        pieces = row_pieces(problem.loss.terms(problem.y), problem.a, random)
        self.course = self._course(pieces)
        self.bent_price = self.columns.l1 * (1.0 + BEND * random.uniform(-1.0, 1.0, self.p))
        self.random = random

    def _course(self, pieces: NDArray[np.float64]) -> Course:
        matrix = self.columns.matrix
        if self.columns.dense:
            columns, rows = dense_lines(matrix.T), dense_lines(matrix)
            square = matrix * matrix
        else:
            columns, rows = sparse_lines(sp.csc_array(matrix)), sparse_lines(sp.csr_array(matrix))
            square = matrix.power(2)
        course = new_course(columns, rows, pieces, (self.n, self.p))
        course.row[ROW_SIZE] = np.sqrt(np.asarray(square.sum(axis=1)).ravel())
        course.weight[COLUMN_SIZE] = np.sqrt(np.asarray(square.sum(axis=0)).ravel())
        return course

    @property
    def curved(self) -> bool:
        """Has the loss curvature?"""
        return bool(self.course.count[CURVED])

    @property
    def signs(self) -> Integers:
        """Sign of every active weight, 0 outside; a free or squared weight counts as +1."""
        return self.course.sign

    # -- forms ---------------------------------------------------------------------------------------

    def set_form(self, loss: tuple[float, float], price: tuple[float, float], ridge: float) -> None:
        """Strengths as functions of s: constant and per unit."""
        course = self.course
        course.level[LOSS0 : PRICE1 + 1] = (*loss, *price)
        course.weight[RIDGE] = 2.0 * ridge * self.columns.l2
        course.weight[PRICE] = self.columns.l1
        course.weight[BENT_PRICE] = self.bent_price
        course.weight[TILT] = 0.0

    def only_free(self) -> None:
        """Shut out every weight that has a price."""
        self.course.weight[PRICE, ~self.free] = np.inf
        self.course.weight[BENT_PRICE, ~self.free] = np.inf

    # -- the state -----------------------------------------------------------------------------------

    def stand_at(self, z: Vector) -> None:
        """Every row on the piece of its prediction, none kinked."""
        self.course.mark[PIECE] = (self.course.pieces[BENT_KINK, :, 1:-1] <= z[:, None]).sum(axis=1)
        self.course.mark[KINKED] = 0

    def slopes(self, z: Vector) -> Vector:
        """The bent derivative of every row at its prediction; 0 for kinked rows."""
        mark, pieces = self.course.mark, self.course.pieces
        each, piece = np.arange(self.n), mark[PIECE]
        slope = pieces[BENT_SLOPE, each, piece] + pieces[CURVATURE, each, piece] * z
        return np.where(mark[KINKED] == 1, 0.0, slope)

    def gradient(self, dual: Vector) -> Vector:
        """Xᵀ dual in the engine's columns."""
        return np.asarray(self.columns.matrix.T @ dual)

    # -- running -------------------------------------------------------------------------------------

    def run(self, start: float, end: float, limit: int = LONGEST) -> tuple[int, list[Records]]:
        """Begin with the signs, pieces and kinks as they are, and follow s from start to end."""
        while len(self.course.keys) < np.count_nonzero(self.signs) + self.course.mark[KINKED].sum() + 3:
            self.course = roomier(self.course)
        homotopy.begin(self.course, start, end)
        log = new_log(RECORDS, max(RECORDS * 32, 4 * (self.n + self.p)))
        homotopy.write(self.course, log, np.full((2, 2), -1))
        return self.go_on(end, log, limit)

    def go_on(self, end: float, log: Log | None = None, limit: int = LONGEST) -> tuple[int, list[Records]]:
        """Follow s to the end from where it is."""
        log = new_log(RECORDS, max(RECORDS * 32, 4 * (self.n + self.p))) if log is None else log
        found: list[Records] = []
        while True:
            status = homotopy.advance(self.course, log, end, limit)
            if status == ROOM:
                self.course = roomier(self.course)
                continue
            found.append(_drained(self.course, log))
            if status != FULL:
                return int(status), found


def _drained(course: Course, log: Log) -> Records:
    count, values = int(course.count[STORED]), int(course.count[VALUES])
    course.count[STORED] = 0
    course.count[VALUES] = 0
    return Records(
        log.level[:count].copy(),
        log.keys[:count].copy(),
        log.codes[:count].copy(),
        log.start[: count + 1].copy(),
        log.slots[:values].copy(),
        log.values[:values].copy(),
    )


__all__ = ["ARRIVED", "KINK_AT", "SLOPE_AT", "VALUE", "Engine", "Records"]
