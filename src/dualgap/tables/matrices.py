"""Files of numbers alone: npy, npz, libsvm."""

from __future__ import annotations

import io
import zipfile
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from dualgap.errors import DataError
from dualgap.tables.columns import RawTable, as_table, numbered


def read_npy(content: bytes, source: str, absent: tuple[str, ...] = ()) -> RawTable:
    """One array; a vector is a table of one column."""
    return _table(_array(io.BytesIO(content), source), source)


def read_npz(content: bytes, source: str, absent: tuple[str, ...] = ()) -> RawTable:
    """X (or the only array) and, where there is one, y; or a matrix saved by scipy.sparse.save_npz."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            parts = {
                name.removesuffix(".npy"): _array(io.BytesIO(archive.read(name)), source)
                for name in archive.namelist()
            }
    except zipfile.BadZipFile:
        raise DataError(f"{source} is not an npz file.") from None
    if {"indptr", "indices", "data", "shape"} <= set(parts):
        with np.errstate(all="ignore"):
            return _sparse(content, source)
    given = {name.lower(): array for name, array in parts.items()}
    if "x" not in given and len(given) != 1:
        raise DataError(
            f"{source} holds {', '.join(sorted(parts))}; the table must be called X, the target y."
        )
    found = _table(given["x"] if "x" in given else next(iter(given.values())), source)
    return found if "y" not in given else found.with_target(given["y"], "y")


def _array(stream: io.BytesIO, source: str) -> NDArray[Any]:
    try:
        array: NDArray[Any] = np.lib.format.read_array(stream, allow_pickle=False)
    except (ValueError, OSError, EOFError, SyntaxError, MemoryError) as error:
        said = str(error).splitlines()[0].rstrip(".")
        raise DataError(f"{source} cannot be read as an array of numbers: {said}.") from None
    return array


def _table(array: NDArray[Any], source: str) -> RawTable:
    if array.ndim not in (1, 2) or array.dtype.kind not in "biuf":
        raise DataError(
            f"{source} holds {array.dtype} of shape {array.shape}; "
            "a table of numbers, rows by columns, is needed."
        )
    return as_table(np.asarray(array.reshape(len(array), -1), dtype=np.float64), source)


def _sparse(content: bytes, source: str) -> RawTable:
    try:
        matrix = sp.csc_array(sp.load_npz(io.BytesIO(content)), dtype=np.float64)
    except (ValueError, TypeError, KeyError, IndexError) as error:
        raise DataError(f"{source} is not a sparse matrix: {str(error).rstrip('.')}.") from None
    return as_table(matrix, source)


def read_libsvm(content: bytes, source: str, absent: tuple[str, ...] = ()) -> RawTable:
    """label index:value … on every line; columns are called by their index, x1, x2, …"""
    from sklearn.datasets import load_svmlight_file

    try:
        X, y = load_svmlight_file(io.BytesIO(content), zero_based=True)
    except (ValueError, TypeError, IndexError, OverflowError) as error:
        raise DataError(
            f"{source} cannot be read as libsvm (label index:value …): {str(error).rstrip('.')}."
        ) from None
    matrix = sp.csc_array(X, dtype=np.float64)
    first = 0
    if matrix.shape[1] > 1 and matrix.indptr[1] == 0:  # counted from one
        matrix, first = matrix[:, 1:], 1
    table = as_table(matrix, source, numbered(matrix.shape[1], first), zeros_elsewhere=True)
    return table.with_target(np.asarray(y, dtype=np.float64), "label")
