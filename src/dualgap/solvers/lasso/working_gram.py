"""The curvature matrix of a model on a growing set of columns, with the unpriced columns eliminated."""

from __future__ import annotations

import numpy as np

from dualgap.arrays import Index, Matrix, Vector
from dualgap.design import Design
from dualgap.linalg.cholesky import cholesky
from dualgap.linalg.support_factor import SupportFactor
from dualgap.solvers.lasso.model_matrix import MatrixAtHand

DENSE = 0.25  # from this share of stored numbers on, working columns are kept as one dense array


class WorkingGram(MatrixAtHand):
    """G = X_Wᵀ diag(h) X_W + R_W less what the eliminated columns explain.

    Eliminating the columns that pay no price (the intercept among them) leaves a problem in which every
    coordinate has one, and spares coordinate descent the correlations with them.
    """

    def __init__(self, design: Design, curvature: Vector, ridge: Vector, unpriced: Index) -> None:
        from dualgap.solvers.lasso import gram_sweeps as loops

        self._loops = loops
        self.design, self.curvature, self.ridge, self.unpriced = design, curvature, ridge, unpriced
        n, p = design.shape
        self.dense = self.keeps_dense(design)
        self.columns: Index = np.zeros(0, dtype=np.int64)
        self.inside = np.zeros(p, dtype=bool)
        self.factor = SupportFactor(self)
        self.gram: Matrix = np.zeros((0, 0))
        self.array: Matrix = np.zeros((n, 0), order="F")
        self.edge: Matrix = np.zeros((len(unpriced), 0))
        self.explained: Matrix = np.zeros((len(unpriced), 0))
        self._order = self.columns
        self._taken = design.columns(self._order)  # of sparse columns: a copy in increasing order
        if len(unpriced):
            self._free = design.columns(unpriced)
            self._weighted_unpriced = curvature[:, None] * self._free.toarray()
            block = self._free.weighted_gram(curvature)
            block[np.diag_indices_from(block)] += ridge[unpriced]
            self._solve_unpriced = cholesky(block)

    @staticmethod
    def keeps_dense(design: Design) -> bool:
        """Are working columns kept as one dense array?"""
        n, p = design.shape
        return design.stored > DENSE * n * p

    def add(self, new: Index) -> None:
        """Take in columns, an increasing index of some that are not inside."""
        if not len(new):
            return
        before, total = len(self.columns), len(self.columns) + len(new)
        self._reserve(total)
        self.columns = np.concatenate([self.columns, new])
        self.inside[new] = True
        if len(self.unpriced):
            self.edge = np.concatenate([self.edge, self._edge(new)], axis=1)
            self.explained = self._solve_unpriced(self.edge)
        if self.dense:
            self._add_dense(new, slice(before, total))
        else:
            self._rebuild_sparse()

    def _reserve(self, total: int) -> None:
        if total <= len(self.gram):
            return
        capacity = max(total + total // 2, 512)
        gram, size = np.empty((capacity, capacity)), len(self.columns)
        gram[:size, :size] = self.gram[:size, :size]
        self.gram = gram
        if self.dense:
            array = np.empty((self.design.shape[0], capacity), order="F")
            array[:, :size] = self.array[:, :size]
            self.array = array

    def _add_dense(self, new: Index, fresh: slice) -> None:
        before, total = fresh.start, fresh.stop
        array = self.design.columns(new).toarray()
        self.array[:, fresh] = array
        cross = np.empty((total, total - before))
        root = np.sqrt(self.curvature)[:, None]
        cross[:before] = self.array[:, :before].T @ (root * root * array)
        array = root * array
        cross[before:] = array.T @ array  # half the work of a product of two
        if len(self.unpriced):
            cross -= self.edge.T @ self.explained[:, fresh]
        self.gram[:total, fresh] = cross
        self.gram[fresh, :before] = cross[:before].T
        self.gram[np.arange(before, total), np.arange(before, total)] += self.ridge[new]

    def _rebuild_sparse(self) -> None:
        self._order = order = np.argsort(self.columns)
        self._taken = self.design.columns(self.columns[order])
        ordered = self._taken.weighted_gram(self.curvature)
        back = np.empty_like(order)
        back[order] = np.arange(len(order))
        size = len(order)
        self.gram[:size, :size] = ordered[np.ix_(back, back)]
        if len(self.unpriced):
            self.gram[:size, :size] -= self.edge.T @ self.explained
        self.gram[np.arange(size), np.arange(size)] += self.ridge[self.columns]

    def _edge(self, new: Index) -> Matrix:
        fresh = self.design.columns(new)
        return np.stack([fresh.transpose_matvec(column) for column in self._weighted_unpriced.T])

    def predict(self, w: Vector) -> Vector:
        """X w for a full w that is zero outside the working and the unpriced columns."""
        inside = w[self.columns]
        if self.dense:
            z = self.array[:, : len(self.columns)] @ inside
        else:
            z = self._taken.matvec(inside[self._order])
        return z + self._free.matvec(w[self.unpriced]) if len(self.unpriced) else z

    def reduced(self, residual: Vector) -> Vector:
        """The negative gradient on the working columns once the unpriced ones have settled."""
        inside = residual[self.columns]
        return inside - self.explained.T @ residual[self.unpriced] if len(self.unpriced) else inside

    def settled(self, residual: Vector, change: Vector) -> Vector:
        """How the unpriced coordinates move when the working ones move by `change`."""
        return self._solve_unpriced(residual[self.unpriced]) - self.explained @ change
