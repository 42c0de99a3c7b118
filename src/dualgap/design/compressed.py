"""A sparse matrix, kept by rows and, once asked for, by columns."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import scipy.sparse as sp

from dualgap.arrays import Index, Mask, Matrix, Vector
from dualgap.compiled.layout import Lines, sparse_lines
from dualgap.design.base import Design, ScaledSparse
from dualgap.design.dense import BLOCK, FILLED, Dense

FEW = 8  # where one weight in so many is not zero, read those columns alone


class Compressed(Design):
    """CSR for products with w and for rows, CSC for columns."""

    def __init__(self, matrix: sp.csr_array | sp.csc_array) -> None:
        self._given = matrix

    @staticmethod
    def of(dense: Dense) -> Compressed | None:
        """The same numbers without the zeros, None where these are not most of them."""
        array = dense.array
        n, p = array.shape
        by_rows = array.flags.c_contiguous
        lines = array if by_rows else array.T
        if not dense.mostly_zeros:
            return None
        from dualgap.compiled.layout import locked
        from dualgap.compiled.sparse_passes import without_zeros

        starts, indices, values = without_zeros(locked(lines))
        kind = sp.csr_array if by_rows else sp.csc_array
        return Compressed(kind((values, indices, starts), shape=(n, p)))

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
    def matrix(self) -> sp.csr_array | sp.csc_array:
        return self._given

    @property
    def sparse(self) -> ScaledSparse:
        return ScaledSparse(self, np.ones(self.shape[1]))

    @property
    def stored(self) -> int:
        return int(self._given.nnz)

    @property
    def values(self) -> Vector:
        """The numbers stored."""
        return np.asarray(self._given.data)

    def matvec(self, w: Vector) -> Vector:
        columns = self._given if self._given.format == "csc" else self.__dict__.get("by_columns")
        if columns is not None:
            support = np.flatnonzero(w != 0.0)
            if FEW * len(support) <= len(w):
                return np.asarray(columns[:, support] @ w[support])
        return np.asarray(self._given @ w)

    def matvecs(self, weights: Matrix) -> Matrix:
        return np.ascontiguousarray((self._given @ weights.T).T)

    @cached_property
    def _transposed(self) -> sp.csr_array | sp.csc_array:
        """A view, made once: scipy checks it for longer than a short product takes."""
        return self._given.T

    def transpose_matvec(self, theta: Vector) -> Vector:
        return np.asarray(self._transposed @ theta)

    def transpose_matvecs(self, thetas: Matrix) -> Matrix:
        return np.asarray((self._transposed @ thetas.T).T)

    def curved(self, h: Vector, w: Vector, shift: float = 0.0) -> tuple[Vector, float]:
        if self._given.format != "csr":
            return super().curved(h, w, shift)
        from dualgap.compiled.lines import curved

        return curved(self._row_lines, h, w, shift)

    def across(self, d: Vector, theta: Vector) -> Vector:
        from dualgap.compiled.lines import curved

        return curved(self._column_lines, d, theta, 0.0)[0]

    @cached_property
    def _row_lines(self) -> Lines:
        return sparse_lines(self.by_rows)

    @cached_property
    def _column_lines(self) -> Lines:
        return sparse_lines(self.by_columns)

    def absolute_transpose_matvec(self, theta: Vector) -> Vector:
        return np.asarray(abs(self._given).T @ theta)

    def weighted_gram(self, h: Vector, *, single: bool = False) -> Matrix:
        rows = self.by_rows
        n, p = rows.shape
        if rows.nnz <= (FILLED / 2 if single else FILLED) * n * p:
            return _outer(self.by_columns, rows, h)
        live = np.flatnonzero(h)
        if len(live) < 0.7 * len(h):
            rows, h = rows[live], h[live]
        gram, step = np.zeros((p, p)), max(p, BLOCK // max(p, 1))
        for i in range(0, len(h), step):
            part = Dense(rows[i : i + step].toarray())
            gram += part.weighted_gram(h[i : i + step], single=single)
        return gram

    def weighted_outer(self, d: Vector, *, single: bool = False) -> Matrix:
        return _outer(self.by_rows, self.by_columns, d)

    def weighted_square_norms(self, a: Vector) -> Vector:
        from dualgap.compiled.layout import locked
        from dualgap.compiled.sparse_passes import squares_and_counts, weighted_squares

        given = self._given
        lines = locked(given.indptr), locked(given.indices), locked(given.data)
        if given.format == "csc":
            return weighted_squares(*lines, locked(a))
        squares, self.__dict__["counts"] = squares_and_counts(*lines, locked(a), given.shape[1])
        return squares

    def row_square_norms(self) -> Vector:
        return np.asarray(self._squared() @ np.ones(self.shape[1]))

    @cached_property
    def counts(self) -> Index:
        """How many numbers each column stores."""
        given = self._given
        if given.format == "csc":
            return np.asarray(np.diff(given.indptr), dtype=np.intp)
        from dualgap.compiled.layout import locked
        from dualgap.compiled.sparse_passes import count_indices

        return count_indices(locked(given.indices), given.shape[1])

    def constant_columns(self) -> Index:
        """Columns that store every row, all with the same number."""
        full = np.flatnonzero(self.counts == self.shape[0])
        values = self.by_columns[:, full].data.reshape(len(full), self.shape[0]) if len(full) else None
        if values is None or not values.size:
            return full[:0]
        return np.asarray(full[values.min(axis=1) == values.max(axis=1)])

    def _squared(self) -> sp.csr_array | sp.csc_array:
        """x², on the same indices."""
        given = self._given
        return type(given)((given.data * given.data, given.indices, given.indptr), shape=given.shape)

    def scaled(self, scale: Vector) -> Compressed:
        """X diag(scale), on the same indices."""
        given = self._given
        if given.format == "csr":
            data = given.data * scale[given.indices]
        else:
            data = given.data * np.repeat(scale, np.diff(given.indptr))
        return Compressed(type(given)((data, given.indices, given.indptr), shape=given.shape))

    def rough(self) -> Compressed:
        return RoughlyCompressed(self._given)

    def rows(self, which: Index | Mask) -> Compressed:
        return Compressed(self.by_rows[which])

    def row_marks(self) -> Vector:
        from dualgap.compiled.layout import locked
        from dualgap.compiled.sparse_passes import line_marks

        rows = self.by_rows
        return line_marks(locked(rows.indptr), locked(rows.indices), locked(rows.data))

    def same_rows(self, left: Index, right: Index) -> Mask:
        rows = self.by_rows
        difference = sp.csr_array(rows[left] - rows[right])
        return np.asarray(np.diff(difference.indptr) == 0)  # zeros are not stored in a difference

    def columns(self, which: Index | Mask) -> Compressed:
        return Compressed(self.by_columns[:, which])

    def without_empty(self, keep: Mask) -> Compressed:
        """The columns to keep, where the others store nothing: new numbers for the columns, no more."""
        given = self._given
        shape = (given.shape[0], int(np.count_nonzero(keep)))
        if given.format == "csc":
            starts = np.append(given.indptr[:-1][keep], given.indptr[-1])
            return Compressed(sp.csc_array((given.data, given.indices, starts), shape=shape))
        number = (np.cumsum(keep) - 1).astype(given.indices.dtype)
        indices = np.take(number, given.indices, mode="clip")  # twice as fast as a checked look-up
        return Compressed(sp.csr_array((given.data, indices, given.indptr), shape=shape))

    def toarray(self) -> Matrix:
        return np.asarray(self._given.toarray())


def _outer(lines: sp.csr_array | sp.csc_array, across: sp.csr_array | sp.csc_array, weight: Vector) -> Matrix:
    """Σ weight_k line_k line_kᵀ over the lines of `across`; `lines` are the same numbers the other way."""
    from dualgap.design.sparse_gram import add_products, mirror

    size = len(lines.indptr) - 1
    out = np.zeros((size, size))
    others = (across.indptr, across.indices, across.data)
    add_products(lines.indptr, lines.indices, lines.data, others, weight, out)
    mirror(out)
    return out


class RoughlyCompressed(Compressed):
    """For steps that are corrected afterwards. All but the products with vectors is exact."""

    @cached_property
    def _lines(self) -> Lines:
        return sparse_lines(self._given, compact=True)

    def matvec(self, w: Vector) -> Vector:
        from dualgap.compiled.lines import combination, dots

        return dots(self._lines, w) if self._by_rows else combination(self._lines, w, self.shape[0])

    def transpose_matvec(self, theta: Vector) -> Vector:
        from dualgap.compiled.lines import combination, dots

        return combination(self._lines, theta, self.shape[1]) if self._by_rows else dots(self._lines, theta)

    def curved(self, h: Vector, w: Vector, shift: float = 0.0) -> tuple[Vector, float]:
        if not self._by_rows:
            return super().curved(h, w, shift)
        from dualgap.compiled.lines import curved

        return curved(self._lines, h, w, shift)

    @property
    def _by_rows(self) -> bool:
        return bool(self._given.format == "csr")
