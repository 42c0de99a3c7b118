"""Rows of several blocks below each other, dense or sparse."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

NARROW = 200  # columns up to which a sparse block is made dense: the algorithms for few columns are faster


def stacked(parts: Sequence[Any]) -> Any:
    """All of them, in one piece."""
    if any(sp.issparse(one) for one in parts):
        return sp.vstack([sp.csr_array(one) for one in parts], format="csr")
    return np.asfortranarray(np.concatenate([np.asarray(one) for one in parts]))


def as_rows(X: Any) -> Any:
    """A sparse matrix by rows, in 8-byte numbers, no place stored twice; dense where it has few columns."""
    found = sp.csr_array(X).astype(np.float64)
    if not found.has_canonical_format:
        found = found.copy()
        found.sum_duplicates()
    return found if found.shape[1] > NARROW else np.asfortranarray(found.toarray())
