"""A design as the lines that compiled loops read."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from dualgap.arrays import Vector
from dualgap.compiled.layout import Lines, dense_lines, sparse_lines
from dualgap.design import Compressed, Design, WithOnes
from dualgap.design.standardised import Standardised


def columns(design: Design) -> Lines:
    """The columns of a design."""
    matrix = compressed(design)
    if matrix is not None:
        return sparse_lines(sp.csc_array(matrix))
    lines = np.empty(design.shape[::-1])
    design.fill_transposed(lines)
    return dense_lines(lines)


def rows(design: Design) -> Lines:
    """The rows of a design."""
    matrix = compressed(design)
    return dense_lines(design.toarray()) if matrix is None else sparse_lines(sp.csr_array(matrix))


def scaled_rows(design: Design, scale: Vector, *, compact: bool) -> Lines:
    """The rows of X diag(scale); compact: see `sparse_lines`."""
    matrix = compressed(design)
    if matrix is None:
        return dense_lines(design.toarray() * scale)
    by_rows = sp.csr_array(matrix)
    scaled = sp.csr_array(
        (by_rows.data * scale[by_rows.indices], by_rows.indices, by_rows.indptr), by_rows.shape
    )
    return sparse_lines(scaled, compact=compact)


def compressed(design: Design) -> sp.csc_array | sp.csr_array | None:
    """The design as a compressed matrix, None if it is not stored as one."""
    if isinstance(design, Compressed):
        return design.by_columns
    if isinstance(design, WithOnes):
        inner = compressed(design.inner)
        ones = np.ones((design.shape[0], 1))
        return None if inner is None else sp.csc_array(sp.hstack([inner, ones], format="csc"))
    if isinstance(design, Standardised) and not design.centre.any():
        inner = compressed(design.inner)
        return None if inner is None else sp.csc_array(inner @ sp.diags_array(1.0 / design.scale))
    return None
