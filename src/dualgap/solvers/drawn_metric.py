"""(XᵀHX + Λ)⁻¹ as a metric for conjugate gradients: from rows that are drawn by their curvature."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dualgap.arrays import Vector
from dualgap.linalg.cholesky import rough_cholesky

ROWS = 8  # for each column: a choice
SPARES = 2  # times as many rows there must be, else all are taken
BLOCKED = 3.0  # operations on blocks run this much faster than products with vectors


def metric_work(n: int, p: int) -> float:
    """How many operations of products with X take as long as a metric."""
    return (min(n, SPARES * ROWS * p) + p / 3.0) * float(p) * p / BLOCKED


def drawn_metric(X: Any, h: Vector, ridge: Any, *, free: bool) -> Callable[[Any], Any]:
    """Nearly x = c (XᵀHX + Λ)⁻¹ b in 4-byte numbers, for some c; `free` is over columns centred by h.

    Where rows are many, every one stands for the same share of Σ h: next to a plane between classes few of
    them have any. LinAlgError where there is no factor.
    """
    (n, p), total = X.shape, float(h.sum())
    few = ROWS * p
    if n > SPARES * few:
        which = np.searchsorted(np.cumsum(h), (np.arange(few) + 0.5) * (total / few))
        root = np.full(few, np.sqrt(total / few), dtype=np.float32)
        rows = X[np.minimum(which, n - 1)] * root[0]
    else:
        root = np.sqrt(h).astype(np.float32)
        rows = X * root[:, None]
    matrix = rows.T @ rows
    if free:
        edge = (root @ rows) / np.float32(np.sqrt(total))
        matrix -= edge[:, None] * edge
    matrix.flat[:: p + 1] += ridge
    matrix *= np.float32(1.0 / float(matrix.diagonal().max()))  # 4-byte numbers begin at 1e-38
    return rough_cholesky(matrix)
