"""A design as the lines that compiled loops read."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from dualgap.arrays import Index, Vector
from dualgap.compiled.layout import Lines, dense_lines, sparse_lines
from dualgap.design import Compressed, Design


def columns(design: Design) -> Lines:
    """The columns of a design."""
    sparse = _one(design)
    if sparse is not None:
        return sparse_lines(sparse.by_columns)
    lines = np.empty(design.shape[::-1])
    design.fill_transposed(lines)
    return dense_lines(lines)


@dataclass(frozen=True, eq=False)
class Taken:
    """Some columns of a design, where they are stored: column k is scale_k times line places_k.

    Where there is no such line, the column is all ones.
    """

    lines: Lines
    places: Index
    scale: Vector
    rows: int

    @property
    def stored(self) -> int:
        """How many numbers they have."""
        starts = self.lines.starts
        counts = np.append(np.diff(starts), self.rows)
        return int(counts[self.places].sum())

    def matvec(self, w: Vector) -> Vector:
        """X w."""
        from dualgap.solvers.lasso.model_sweeps import combine

        if self.lines.dense:
            return np.asarray((self.scale * w) @ self.lines.values.reshape(len(w), self.rows))
        return combine(self.lines, self.places, self.scale * w, self.rows)


class ColumnStore:
    """The columns of a design: read in place where it is sparse, copied when taken where it is not."""

    def __init__(self, design: Design) -> None:
        self.design = design
        self._sparse = design.sparse
        self._lines: Lines | None = None

    def take(self, which: Index) -> Taken:
        """Some of the columns."""
        n = self.design.shape[0]
        if self._sparse is None:
            lines = columns(self.design.columns(which))
            return Taken(lines, np.arange(len(which)), np.ones(len(which)), n)
        matrix, scale = self._sparse
        if self._lines is None:
            self._lines = sparse_lines(matrix.by_columns)
        return Taken(self._lines, which, scale[which], n)


def rows(design: Design) -> Lines:
    """The rows of a design."""
    sparse = _one(design)
    return dense_lines(design.toarray()) if sparse is None else sparse_lines(sparse.by_rows)


def scaled_rows(design: Design, scale: Vector, *, compact: bool) -> Lines:
    """The rows of X diag(scale); compact: see `sparse_lines`."""
    found = design.sparse
    if found is not None and len(found.scale) == found.matrix.shape[1]:  # both scales in one pass
        return sparse_lines(found.matrix.by_rows, compact=compact, scale=found.scale * scale)
    sparse = _one(design)
    if sparse is None:
        return dense_lines(design.toarray() * scale)
    return sparse_lines(sparse.by_rows, compact=compact, scale=scale)


def compressed(design: Design) -> sp.csc_array | None:
    """The design as one compressed matrix, None if it is not stored as one."""
    sparse = _one(design)
    return None if sparse is None else sparse.by_columns


def _one(design: Design) -> Compressed | None:
    found = design.sparse
    if found is None:
        return None
    matrix, scale = found
    p = matrix.shape[1]
    scaled = matrix.scaled(scale[:p]) if np.any(scale[:p] != 1.0) else matrix
    if len(scale) == p:
        return scaled
    last = np.full((matrix.shape[0], 1), scale[p])
    return Compressed(sp.csc_array(sp.hstack([scaled.by_columns, last])))
