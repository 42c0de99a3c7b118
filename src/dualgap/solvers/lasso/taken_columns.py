"""The columns of a table that a working set has taken: dense ones as a centred copy, or where they lie.

The latter if each is in one piece, and not far from zero; sparse ones as they are.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from dualgap.arrays import Index, Matrix, Vector, once, ones
from dualgap.compiled.layout import Lines, locked, sparse_lines
from dualgap.problem.problem import Problem
from dualgap.solvers.kept_curvature import KeptCurvature
from dualgap.traits import Trait

MANY = 100_000  # numbers across the rows: more are copied by a loop of ours, in a fifth of the time
SWIFT = 1e7  # products that take less time than the rest of a step, which gains more with its own curvatures
ROOM = 4  # times the columns taken that there is room for


class ColumnsTaken(Protocol):
    """Columns in the order they came, each less its entry of `centre`."""

    columns: Index
    centre: Vector

    @property
    def array(self) -> Any:
        """What `curvature` reads: columns of these, or of all."""

    def places(self, which: Index) -> Index:
        """Where it finds some of `columns`."""

    def add(self, new: Index) -> None:
        """Take in columns that were not."""

    def times(self, w: Vector) -> Vector:
        """Σ w_k x_k."""

    def against(self, v: Vector) -> Vector:
        """x_k · v, column by column."""

    def curvature(self) -> KeptCurvature | FreshCurvature:
        """What makes matrices of them."""


class CopiedColumns:
    """Dense columns, centred where there is an intercept."""

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self.columns: Index = np.zeros(0, dtype=np.int64)
        self.centre = np.zeros(0)
        self._room: Matrix = np.empty((problem.n, 0), order="F")

    @property
    def array(self) -> Matrix:
        return self._room[:, : len(self.columns)]

    def add(self, new: Index) -> None:
        if not len(new):
            return
        problem, before = self._problem, len(self.columns)
        self.columns = np.concatenate([self.columns, new])
        if len(self.columns) > self._room.shape[1]:  # what is not written to takes no memory
            most = min(ROOM * len(self.columns), problem.design.features.shape[1])
            room = np.empty((problem.n, most), order="F")
            room[:, :before] = self._room[:, :before]
            self._room = room
        fresh = self._room[:, before : len(self.columns)]
        array = problem.design.features.toarray()
        if array.flags.f_contiguous:
            np.take(array.T, new, axis=0, out=fresh.T, mode="clip")  # "raise" copies once more
        elif array.flags.c_contiguous and fresh.size >= MANY:
            from dualgap.design.weighted_lines import fill_across

            fill_across(array, new, ones(problem.n), 0, fresh.T)
        else:
            fresh[...] = array[:, new]
        centre = problem.a @ fresh if problem.intercept else np.zeros(len(new))
        self.centre = np.concatenate([self.centre, centre])
        if problem.intercept:
            fresh -= centre

    def places(self, which: Index) -> Index:
        return which

    def times(self, w: Vector) -> Vector:
        return np.asarray(self.array.dot(w))

    def against(self, v: Vector) -> Vector:
        return np.asarray(v.dot(self.array))

    def curvature(self) -> KeptCurvature:
        return KeptCurvature(self._problem, swift=SWIFT)


class ViewedColumns:
    """Dense columns where they lie, not centred."""

    def __init__(self, problem: Problem) -> None:
        self._problem, self.array = problem, problem.design.features.toarray()
        self.columns: Index = np.zeros(0, dtype=np.int64)
        self.centre = np.zeros(0)

    @staticmethod
    def fits(problem: Problem) -> bool:
        """Is each column in one piece?"""
        array = problem.design.features.toarray()
        return bool(array.flags.f_contiguous) and array.dtype == np.float64

    def add(self, new: Index) -> None:
        self.columns = np.concatenate([self.columns, new])
        self.centre = np.zeros(len(self.columns))

    def places(self, which: Index) -> Index:
        return np.asarray(self.columns[which])

    def times(self, w: Vector) -> Vector:
        from dualgap.design.picked_lines import picked_combination

        live, found = np.flatnonzero(w), np.zeros(len(self.array))
        picked_combination(self.array.T, self.columns[live], w[live], found)
        return found

    def against(self, v: Vector) -> Vector:
        from dualgap.design.picked_lines import picked_products

        found = np.empty(len(self.columns))
        picked_products(self.array.T, self.columns, v, found)
        return found

    def curvature(self) -> KeptCurvature:
        return KeptCurvature(self._problem, swift=SWIFT)


def dense_columns(problem: Problem) -> CopiedColumns | ViewedColumns:
    """Copied for a quadratic loss, whose matrix stays and grows: a copy is read faster."""
    viewed = not problem.loss_has(Trait.QUADRATIC) and ViewedColumns.fits(problem)
    return ViewedColumns(problem) if viewed else CopiedColumns(problem)


class SparseColumns:
    """Sparse columns, not centred: that would fill their zeros."""

    def __init__(self, problem: Problem) -> None:
        self._n, self._sparse = problem.n, problem.design.features.sparse
        self.columns: Index = np.zeros(0, dtype=np.int64)
        self.centre = np.zeros(0)
        self.array = _FewColumns(self._n)

    @once
    def _lines(self) -> Lines:
        assert self._sparse is not None
        return sparse_lines(self._sparse.matrix.by_columns)

    def add(self, new: Index) -> None:
        if not len(new) or self._sparse is None:
            return
        from dualgap.solvers.lasso.sparse_sets import copy_out

        which = self.columns = np.concatenate([self.columns, new])
        self.centre = np.zeros(len(which))
        self.array = _FewColumns(self._n, *copy_out(self._lines, which, self._sparse.scale[which], self._n))

    def places(self, which: Index) -> Index:
        return which

    def times(self, w: Vector) -> Vector:
        return self.array.times(w)

    def against(self, v: Vector) -> Vector:
        return self.array.against(v)

    def curvature(self) -> FreshCurvature:
        return FreshCurvature()


class _FewColumns:
    """The numbers stored, by columns and by rows."""

    def __init__(self, n: int, columns: Any = None, rows: Any = None) -> None:
        none = np.zeros(1, dtype=np.int64), np.zeros(0, dtype=np.int32), np.zeros(0)
        self.n, self._rows = n, rows
        starts, indices, values = columns or none
        self.lines = Lines(False, locked(starts), locked(indices), locked(values))

    def times(self, w: Vector) -> Vector:
        from dualgap.compiled.lines import combination

        return combination(self.lines, w, self.n)

    def against(self, v: Vector) -> Vector:
        from dualgap.compiled.lines import dots

        return dots(self.lines, v)

    def weighted_gram(self, h: Vector) -> Matrix:
        from dualgap.design.sparse_gram import add_products, mirror

        size = len(self.lines.starts) - 1
        out = np.zeros((size, size))
        add_products(self.lines.starts, self.lines.indices, self.lines.values, self._rows, h, out)
        mirror(out)
        return out


class FreshCurvature:
    """XᵀHX of some columns and their sums hX, made anew at every step: sparse columns are soon multiplied."""

    def __init__(self) -> None:
        self.h = np.zeros(0)
        self.off = 0.0

    def fits(self, h: Vector) -> bool:
        """Never an earlier one."""
        return False

    def at(self, array: _FewColumns, which: Index, h: Vector) -> tuple[Matrix, Vector]:
        """The matrix of these columns, and their sums."""
        self.h = h
        gram, edge = array.weighted_gram(h), array.against(h)
        return (gram, edge) if len(which) == len(edge) else (gram[np.ix_(which, which)], edge[which])

    def known(self, array: _FewColumns, which: Index) -> tuple[Matrix, Vector]:
        """The same at the curvatures of the last step."""
        return self.at(array, which, self.h)

    def begin(self) -> None:
        """Nothing is kept."""

    def learn(self, promise: float) -> None:
        """Nothing is kept."""
