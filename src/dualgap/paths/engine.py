"""The homotopy engine on one problem: where it starts, and how it is driven.

Columns of the engine are those of the working problem that can matter: free columns that depend on other
free columns are left out, and with l2 on more columns than rows the n directions that rows can tell apart
take the place of the p columns.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from dualgap.arrays import Mask, Matrix, Vector
from dualgap.compiled import homotopy
from dualgap.compiled.homotopy_state import (
    FULL,
    ROOM,
    STORED,
    VALUES,
    Form,
    Integers,
    Log,
    Model,
    Pieces,
    State,
    new_log,
    new_state,
    roomier,
)
from dualgap.compiled.lines import dense_lines, sparse_lines
from dualgap.paths.pieces import BEND, row_pieces
from dualgap.penalties.separable import Separable
from dualgap.problem.problem import Problem
from dualgap.solvers.storage import compressed

LONGEST = 1 << 22  # events before an advance is given up
RECORDS = 1 << 12  # records per piece of log


@dataclass(frozen=True, eq=False)
class Basis:
    """Working weights from engine weights."""

    p: int
    columns: Matrix | None  # if set, the penalised weights are columns @ the first of the engine's
    target: Mask  # working weights that the engine's columns stand for
    rest: Mask  # where there is a matrix: the working weights that it does not make

    def working(self, v: Matrix) -> Matrix:
        """One row per answer."""
        out = np.zeros((len(v), self.p))
        if self.columns is None:
            out[:, self.target] = v
            return out
        rank = self.columns.shape[1]
        out[:, self.target] = v[:, :rank] @ self.columns.T
        out[:, self.rest] = v[:, rank:]
        return out


@dataclass(frozen=True, eq=False)
class Records:
    """What an advance wrote: levels, changes and answers, record by record."""

    level: Vector
    keys: Integers
    codes: Integers
    start: Integers
    slots: Integers
    values: Vector

    def __len__(self) -> int:
        return len(self.level)


class Engine:
    """One loss and one separable penalty on one working problem."""

    def __init__(self, problem: Problem, seed: int = 0) -> None:
        gauge = problem.regulariser.gauge
        assert isinstance(gauge, Separable)
        self.problem, self.random = problem, np.random.default_rng(seed)
        matrix = compressed(problem.design)
        array = None if matrix is not None else problem.design.toarray()
        self.basis, array, matrix, l1, l2 = _columns(problem, gauge, array, matrix)
        self.l1, self.l2 = l1, l2
        self.free = (l1 == 0.0) & (l2 == 0.0)
        pieces = row_pieces(problem.loss.terms(problem.y), problem.a, self.random)
        bent_price = l1 * (1.0 + BEND * self.random.uniform(-1.0, 1.0, len(l1)))
        self.n, self.p = problem.n, len(l1)
        if matrix is None:
            assert array is not None
            columns, rows = dense_lines(array.T), dense_lines(array)
            row_size, column_size = np.linalg.norm(array, axis=1), np.linalg.norm(array, axis=0)
        else:
            columns, rows = sparse_lines(sp.csc_array(matrix)), sparse_lines(sp.csr_array(matrix))
            square = matrix.power(2)
            row_size = np.sqrt(np.asarray(square.sum(axis=1)).ravel())
            column_size = np.sqrt(np.asarray(square.sum(axis=0)).ravel())
        self.array = array if matrix is None else matrix
        self.model = Model(
            columns, rows, pieces.bent, pieces.true, pieces.curvature, bent_price, l1, row_size, column_size,
            bool(pieces.curvature.any()),
        )
        self.state = new_state(self.n, self.p, min(self.n, self.p) + 64)

    @property
    def curved(self) -> bool:
        """Does the loss have curvature?"""
        return self.model.curved

    def form(self, loss: tuple[float, float], price: tuple[float, float], ridge: float) -> Form:
        """The strengths as functions of s, no tilt."""
        return Form(*loss, *price, ridge * self.l2, np.zeros(self.p), loss[1] != 0.0)

    def gradient(self, dual: Vector) -> Vector:
        """Xᵀ dual in the engine's columns."""
        return np.asarray(self.array.T @ dual)

    def slopes(self, pieces: Pieces | None = None) -> Vector:
        """The bent derivative of every row where its prediction is now; 0 for kinked rows."""
        pieces = self.model.bent if pieces is None else pieces
        rows = self.state.rows
        each, piece = np.arange(self.n), np.where(rows.kinked, 0, rows.piece)
        z = self.array @ self.state.weights.value
        slope = pieces.slope[each, piece] + self.model.curvature[each, piece] * z
        return np.where(rows.kinked, 0.0, slope)

    def stand_at(self, z: Vector) -> None:
        """Every row on the piece of its prediction, none kinked."""
        inner = self.model.bent.kink[:, 1:-1]
        self.state.rows.piece[:] = (inner <= z[:, None]).sum(axis=1)
        self.state.rows.kinked[:] = False

    def run(self, form: Form, start: float, end: float, limit: int = LONGEST) -> tuple[int, list[Records]]:
        """Begin with the state as it is and follow s from start to end."""
        homotopy.begin(self.model, form, self.state, start, end)
        log = new_log(RECORDS, max(RECORDS * 32, 4 * (self.n + self.p)))
        self.state.level[homotopy.TRUE] = start
        homotopy.write(self.state, log, np.full((2, 2), -1))
        return self.go_on(form, end, log, limit)

    def go_on(self, form: Form, end: float, log: Log, limit: int = LONGEST) -> tuple[int, list[Records]]:
        """Follow s to the end from where the state is."""
        found: list[Records] = []
        while True:
            status = homotopy.advance(self.model, form, self.state, log, end, limit)
            if status == ROOM:
                self.state = roomier(self.state)
                continue
            found.append(_drained(self.state, log))
            if status != FULL:
                return status, found


def _drained(state: State, log: Log) -> Records:
    count, values = int(state.count[STORED]), int(state.count[VALUES])
    state.count[STORED] = 0
    state.count[VALUES] = 0
    return Records(
        log.level[:count].copy(),
        log.keys[:count].astype(np.int64),
        log.codes[:count].astype(np.int64),
        log.start[: count + 1].copy(),
        log.slots[:values].astype(np.int64),
        log.values[:values].copy(),
    )


def _columns(problem: Problem, gauge: Separable, array: Matrix | None, matrix: sp.csc_array | None):
    keep = np.ones(problem.p, dtype=bool)
    basis = Basis(problem.p, None, keep, ~keep)
    return basis, array, matrix, gauge.l1, gauge.l2
