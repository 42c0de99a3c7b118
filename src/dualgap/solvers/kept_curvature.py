"""XᵀHX over columns that come and go, H that of an earlier point while it has hardly changed."""

from __future__ import annotations

import numpy as np

from dualgap.arrays import Index, Matrix, Vector
from dualgap.design.line_products import weighted_products
from dualgap.problem.problem import Problem
from dualgap.solvers.curvature_floor import has_flat_pieces

KEPT = 0.1  # share of the curvatures that may differ: each step then still gains a digit, for two passes
SINGLE = 1e7  # products from which on 4-byte numbers make a matrix in half the time
SLOW = 0.1  # of what the step before promised: with curvatures off by KEPT everywhere it is a hundredth
ROUGH = 1e-2  # share of a column's square that is left once it is centred, for columns read as they are
ROOM = 2  # times what is needed, so that the next one has room too
FADED = 4  # times as many columns as are wanted: then those that left are let go


class KeptCurvature:
    """The matrix of some columns of a table, their sums hX, h itself, and by how much it is off.

    Curvatures that jump, as those of losses with flat pieces do, are kept only while none has changed; so are
    those of a matrix of at most `swift` products.
    """

    def __init__(self, problem: Problem, *, swift: float = 0.0) -> None:
        self._most, self._swift = 0.0 if has_flat_pieces(problem) else KEPT, swift
        self.h = np.zeros(0)
        self.off = self._before = np.inf
        self._columns: Index = np.zeros(0, dtype=np.int64)
        self._matrix: Matrix = np.zeros((0, 0))
        self._edge = np.zeros(0)
        self._room = np.zeros(0)

    def fits(self, h: Vector) -> bool:
        """Are these curvatures those of the matrix, nearly? `off` says by how much they differ."""
        stale = float(np.abs(h - self.h).sum()) / float(h.sum()) if len(self.h) else np.inf
        self.off = stale
        worth = not stale or float(len(h)) * len(self._columns) ** 2 > self._swift
        return worth and bool(stale <= self._most)

    def at(self, array: Matrix, which: Index, h: Vector) -> tuple[Matrix, Vector]:
        """The matrix of these columns, in room that the next one takes, and their sums; about those of h."""
        if (h is not self.h and not self.fits(h)) or len(self._columns) > FADED * len(which):
            return self.anew(array, which, h)
        return self.known(array, which)

    def anew(self, array: Matrix, which: Index, h: Vector) -> tuple[Matrix, Vector]:
        """The same at these very curvatures."""
        self._matrix, self._edge = weighted(array.T, h, which)
        self._columns, self.h, self.off = which, h, 0.0
        found = self._free(len(which))
        found[...] = self._matrix
        return found, self._edge.copy()

    def _free(self, size: int) -> Matrix:
        """Room for a matrix: what was just asked of the system takes longer to fill."""
        if len(self._room) < size * size:
            self._room = np.empty(ROOM * size * size)
        return self._room[: size * size].reshape(size, size)

    def known(self, array: Matrix, which: Index) -> tuple[Matrix, Vector]:
        """The same at the curvatures kept."""
        where = np.full(array.shape[1], -1)
        where[self._columns] = np.arange(len(self._columns))
        new = which[where[which] < 0]
        if len(new):
            self._grow(array, new)
            where[new] = np.arange(len(self._columns) - len(new), len(self._columns))
        return self._block(where[which]), self._edge[where[which]]

    def _block(self, places: Index) -> Matrix:
        from dualgap.design.weighted_lines import gather_block

        found = self._free(len(places))
        if len(places) == len(self._columns) and bool((places[1:] > places[:-1]).all()):
            found[...] = self._matrix
            return found
        gather_block(self._matrix, places, found)
        return found

    def begin(self) -> None:
        """Columns have come in: the next step may promise more than the last one."""
        self._before = np.inf

    def learn(self, promise: float) -> None:
        """What a step promised: where little was gained, a few rows have changed much."""
        if self.off and promise > SLOW * self._before:
            self.h = np.zeros(0)
        self._before = promise

    def _grow(self, array: Matrix, new: Index) -> None:
        before = len(self._columns)
        self._columns = np.concatenate([self._columns, new])
        fresh, edge = _products(array.T, self.h, self._columns, before)
        matrix = np.empty((len(self._columns), len(self._columns)))
        matrix[:before, :before] = self._matrix
        matrix[before:] = fresh
        matrix[:before, before:] = fresh[:, :before].T
        self._matrix, self._edge = matrix, np.concatenate([self._edge, edge])


def lies_far_out(matrix: Matrix, edge: Vector, total: float) -> bool:
    """Is little left of a column's square once it is centred? 4-byte numbers then say nothing of it."""
    squares = matrix.diagonal()
    return bool((squares - edge * (edge / total) < ROUGH * squares).any())


def without_level(matrix: Matrix, edge: Vector, total: float) -> None:
    """What is left of XᵀHX, in place, when the level follows: that of columns centred by h."""
    from dualgap.design.weighted_lines import subtract_square

    subtract_square(matrix, edge, 1.0 / total)


def weighted(rows: Matrix, h: Vector, which: Index | None = None) -> tuple[Matrix, Vector]:
    """Σ h_i x_i x_iᵀ, where the x_i are columns here, and Σ h_i x_i; of some of the rows, or of all."""
    which = np.arange(len(rows)) if which is None else which
    return _products(rows, h, which, 0)


def _products(rows: Matrix, h: Vector, which: Index, first: int) -> tuple[Matrix, Vector]:
    """Those of rows `which[first:]` with all of `which`, and the sums of the former."""
    single = float(len(which)) * (len(which) - first) * len(h) > SINGLE
    return weighted_products(np.ascontiguousarray(rows), h, which, first, single=single)
