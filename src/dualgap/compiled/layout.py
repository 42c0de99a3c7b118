"""The layouts that compiled loops read. Nothing is compiled here, so that importing this costs nothing."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from dualgap.arrays import Matrix, Vector


class Lines(NamedTuple):
    """Line k is values[starts[k] : starts[k + 1]] at `indices`; a dense matrix has no indices.

    All arrays are read-only, so that a frozen matrix and a fresh one meet the same compiled loop.
    """

    dense: bool
    starts: NDArray[np.int64]
    indices: NDArray[Any]
    values: NDArray[Any]


def dense_lines(lines: Matrix) -> Lines:
    """The rows of a C-contiguous array (pass the transpose of a Fortran array for its columns)."""
    array = np.ascontiguousarray(lines, dtype=np.float64)
    starts = np.arange(array.shape[0] + 1, dtype=np.int64) * array.shape[1]
    return Lines(True, locked(starts), locked(np.zeros(0, dtype=np.int32)), locked(array.reshape(-1)))


def sparse_lines(
    matrix: sp.csr_array | sp.csc_array, *, compact: bool = False, scale: Vector | None = None
) -> Lines:
    """The lines of a compressed matrix; compact: 4-byte numbers and, where they fit, 2-byte indices.

    `scale` multiplies what is stored at each index.
    """
    width: Any = np.int32
    if compact:
        width = np.uint16 if int(matrix.indices.max(initial=0)) < 1 << 16 else np.uint32
    kind = np.float32 if compact else np.float64
    if scale is None:
        indices, values = np.asarray(matrix.indices, dtype=width), np.asarray(matrix.data, dtype=kind)
    else:
        from dualgap.compiled.sparse_passes import fill_scaled

        indices, values = np.empty(matrix.nnz, dtype=width), np.empty(matrix.nnz, dtype=kind)
        fill_scaled(locked(matrix.indices), locked(matrix.data), locked(scale), indices, values)
    return Lines(False, locked(matrix.indptr.astype(np.int64)), locked(indices), locked(values))


def locked(array: NDArray[Any]) -> NDArray[Any]:
    """A view that cannot be written to."""
    view = np.ascontiguousarray(array).view()
    view.flags.writeable = False
    return view
