"""A sparse matrix, kept by rows and, once asked for, by columns."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import scipy.sparse as sp

from dualgap.arrays import Index, Mask, Matrix, Vector


class Compressed:
    """CSR for products with w and for rows, CSC for columns."""

    def __init__(self, matrix: sp.csr_array | sp.csc_array) -> None:
        self._given = matrix

    @cached_property
    def by_rows(self) -> sp.csr_array:
        """CSR with sorted indices."""
        return sp.csr_array(self._given)

    @cached_property
    def by_columns(self) -> sp.csc_array:
        """CSC with sorted indices."""
        return sp.csc_array(self._given)

    @property
    def shape(self) -> tuple[int, int]:
        return self._given.shape[0], self._given.shape[1]

    @property
    def stored(self) -> int:
        return int(self._given.nnz)

    def matvec(self, w: Vector) -> Vector:
        return np.asarray(self._given @ w)

    def transpose_matvec(self, theta: Vector) -> Vector:
        return np.asarray(self._given.T @ theta)

    def absolute_transpose_matvec(self, theta: Vector) -> Vector:
        return np.asarray(abs(self._given).T @ theta)

    def weighted_gram(self, h: Vector) -> Matrix:
        rows = self.by_rows
        live = np.flatnonzero(h)
        if len(live) < 0.7 * len(h):
            rows, h = rows[live], h[live]
        half = sp.diags_array(np.sqrt(h)) @ rows
        return np.asarray((half.T @ half).toarray())

    def weighted_outer(self, d: Vector) -> Matrix:
        columns = self.by_columns
        live = np.flatnonzero(d)
        if len(live) < 0.7 * len(d):
            columns, d = columns[:, live], d[live]
        half = columns @ sp.diags_array(np.sqrt(d))
        return np.asarray((half @ half.T).toarray())

    def weighted_square_norms(self, a: Vector) -> Vector:
        return np.asarray(self._given.power(2).T @ a)

    def row_square_norms(self) -> Vector:
        return np.asarray(self._given.power(2).sum(axis=1)).ravel()

    def rows(self, which: Index | Mask) -> Compressed:
        return Compressed(self.by_rows[which])

    def columns(self, which: Index | Mask) -> Compressed:
        return Compressed(self.by_columns[:, which])

    def fill_transposed(self, out: Matrix) -> None:
        out[...] = self.toarray().T

    def toarray(self) -> Matrix:
        return np.asarray(self._given.toarray())
