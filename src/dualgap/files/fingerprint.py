"""A short text that changes when any number of X or any target does."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
import scipy.sparse as sp


def fingerprint(X: Any, y: Any) -> str:
    """SHA-256 of the numbers of X, column by column, and of the targets."""
    digest = hashlib.sha256()
    if sp.issparse(X):
        matrix = sp.csc_array(X, dtype=np.float64)
        matrix.sort_indices()
        digest.update(f"sparse {matrix.shape}".encode())
        for part in (matrix.data, matrix.indices.astype("<i8"), matrix.indptr.astype("<i8")):
            digest.update(np.ascontiguousarray(part).data)
    else:
        array = np.asarray(X, dtype=np.float64)
        digest.update(f"dense {array.shape}".encode())
        for j in range(array.shape[1]):
            digest.update(np.ascontiguousarray(array[:, j]).data)
    digest.update(_targets(np.asarray(y)))
    return f"sha256:{digest.hexdigest()}"


def _targets(y: Any) -> bytes:
    if y.dtype.kind in "biuf":
        return bytes(np.ascontiguousarray(y, dtype=np.float64).data)
    return "\x00".join(str(label) for label in y.tolist()).encode("utf-8", "surrogatepass")
