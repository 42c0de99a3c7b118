"""A design as the lines that compiled loops read."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from dualgap.arrays import Vector
from dualgap.compiled.layout import Lines, dense_lines, sparse_lines
from dualgap.design import Compressed, Dense, Design, WithOnes
from dualgap.design.standardised import Standardised


def columns(design: Design) -> Lines:
    """The columns of a design."""
    sparse = _one(design)
    if sparse is not None:
        return sparse_lines(sparse.by_columns)
    lines = np.empty(design.shape[::-1])
    design.fill_transposed(lines)
    return dense_lines(lines)


def stored_columns(design: Design) -> tuple[Design, Lines]:
    """The same matrix stored by columns, and its columns, which are not stored twice."""
    sparse = _one(design)
    if sparse is not None:
        by_columns = Compressed(sparse.by_columns)
        return by_columns, sparse_lines(by_columns.by_columns)
    lines = columns(design)
    return Dense(lines.values.reshape(design.shape[::-1]).T), lines


def rows(design: Design) -> Lines:
    """The rows of a design."""
    sparse = _one(design)
    return dense_lines(design.toarray()) if sparse is None else sparse_lines(sparse.by_rows)


def scaled_rows(design: Design, scale: Vector, *, compact: bool) -> Lines:
    """The rows of X diag(scale); compact: see `sparse_lines`."""
    if isinstance(design, Standardised) and not design.centred:  # both scales in one pass
        return scaled_rows(design.inner, scale / design.scale, compact=compact)
    sparse = _one(design)
    if sparse is None:
        return dense_lines(design.toarray() * scale)
    return sparse_lines(sparse.by_rows, compact=compact, scale=scale)


def compressed(design: Design) -> sp.csc_array | None:
    """The design as one compressed matrix, None if it is not stored as one."""
    sparse = _one(design)
    return None if sparse is None else sparse.by_columns


def _one(design: Design) -> Compressed | None:
    if isinstance(design, Compressed):
        return design
    if isinstance(design, WithOnes):
        inner = _one(design.inner)
        ones = np.ones((design.shape[0], 1))
        return None if inner is None else Compressed(sp.csc_array(sp.hstack([inner.by_columns, ones])))
    if isinstance(design, Standardised) and not design.centred:
        inner = _one(design.inner)
        return None if inner is None else inner.scaled(1.0 / design.scale)
    return None
