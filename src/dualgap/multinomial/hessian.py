"""The Hessian of the softmax loss as a matrix: block (k, l) is Xᵀ diag(a p_k (δ_kl − p_l)) X."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import blas

from dualgap.arrays import Index, Mask, Vector
from dualgap.multinomial.table import LEAST

BLOCK = 1 << 19  # numbers of a block of [p_k ∘ x_j]: 2 MiB in 4-byte numbers


def hessian(X: Any, a: Vector, P: Any, classes: Index | None = None, columns: Index | None = None) -> Any:
    """On the coordinates (class, column) given, sorted by class, or on all; in the precision of X.

    −BᵀB for B = [√a p_k ∘ x_j] by one product of a matrix with itself, and per class a block Xᵀ diag(a p_k) X.
    """
    n, q = X.shape
    K = len(P)
    if classes is None or columns is None:
        classes, columns = np.repeat(np.arange(K), q), np.tile(np.arange(q), K)
    size = len(classes)
    total = np.zeros((size, size), dtype=X.dtype, order="F")
    rank_one = blas.ssyrk if X.dtype == np.float32 else blas.dsyrk
    bounds = np.searchsorted(classes, np.arange(K + 1))
    step = max(LEAST, BLOCK // max(size, 1))
    root = np.sqrt(a).astype(X.dtype)
    for i in range(0, n, step):
        scaled = np.ascontiguousarray(X[i : i + step].T * root[i : i + step])
        B = scaled[columns]
        B *= P[classes, i : i + step]
        total = rank_one(-1.0, B.T, beta=1.0, c=total, trans=1, lower=1, overwrite_c=1)
        for low, high in zip(bounds[:-1], bounds[1:], strict=True):
            if high > low:
                total[low:high, low:high] += B[low:high] @ scaled[columns[low:high]].T
    total = np.tril(total)
    total += np.tril(total, -1).T
    return total


def pin_shift(system: Any, classes: int, free: Mask) -> None:
    """The same shift of a free column in all classes changes nothing; give it curvature, so that it stays."""
    blocks = system.reshape(classes, -1, classes, len(system) // classes)
    mean = system.diagonal().reshape(classes, -1).mean(axis=0)
    for j in np.flatnonzero(free.reshape(classes, -1)[0]):
        blocks[:, j, :, j] += mean[j] / classes
