"""The columns, or the rows, of a matrix, each stored in one piece: what a sweep asks of it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from dualgap.arrays import Matrix, Vector
from dualgap.compiled.mechanism import compiled


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
    return Lines(True, _locked(starts), _locked(np.zeros(0, dtype=np.int32)), _locked(array.reshape(-1)))


def sparse_lines(matrix: sp.csr_array | sp.csc_array, *, compact: bool = False) -> Lines:
    """The lines of a compressed matrix; compact: 4-byte numbers and, where they fit, 2-byte indices."""
    width: Any = np.int32
    if compact:
        width = np.uint16 if int(matrix.indices.max(initial=0)) < 1 << 16 else np.uint32
    values = np.asarray(matrix.data, dtype=np.float32 if compact else np.float64)
    indices = np.asarray(matrix.indices, dtype=width)
    return Lines(False, _locked(matrix.indptr.astype(np.int64)), _locked(indices), _locked(values))


def _locked(array: NDArray[Any]) -> NDArray[Any]:
    view = np.ascontiguousarray(array).view()
    view.flags.writeable = False
    return view


@compiled(reassociate=True)
def _dense_dot(values: Vector, first: int, x: Vector) -> float:
    total = 0.0
    for i in range(x.shape[0]):
        total += values[first + i] * x[i]
    return total


@compiled
def dot(lines: Lines, k: int, x: Vector) -> float:
    """line_k · x."""
    first = lines.starts[k]
    if lines.dense:
        return _dense_dot(lines.values, first, x)
    total = 0.0
    for m in range(first, lines.starts[k + 1]):
        total += lines.values[m] * x[lines.indices[m]]
    return total


@compiled
def square_norms(lines: Lines) -> Vector:
    """Σ line_k², line by line."""
    norms = np.zeros(lines.starts.shape[0] - 1)
    for k in range(norms.shape[0]):
        for m in range(lines.starts[k], lines.starts[k + 1]):
            norms[k] += lines.values[m] * lines.values[m]
    return norms


@compiled
def add(lines: Lines, k: int, amount: float, x: Vector) -> None:
    """x += amount · line_k."""
    first = lines.starts[k]
    if lines.dense:
        for i in range(x.shape[0]):
            x[i] += amount * lines.values[first + i]
    else:
        for m in range(first, lines.starts[k + 1]):
            x[lines.indices[m]] += amount * lines.values[m]


@compiled
def add_weighted(lines: Lines, k: int, amount: float, h: Vector, x: Vector) -> None:
    """x += amount · h ∘ line_k."""
    first = lines.starts[k]
    if lines.dense:
        for i in range(x.shape[0]):
            x[i] += amount * h[i] * lines.values[first + i]
    else:
        for m in range(first, lines.starts[k + 1]):
            i = lines.indices[m]
            x[i] += amount * h[i] * lines.values[m]


@compiled
def draw(state: NDArray[np.int64], below: int) -> int:
    """A pseudo-random integer in [0, below), from a generator whose whole state is one number."""
    state[0] = (state[0] * 1103515245 + 12345) & 0x7FFFFFFF
    return int((state[0] * below) >> 31)
