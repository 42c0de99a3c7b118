"""The Hessian of the softmax loss as a matrix: block (k, l) is Xᵀ diag(a p_k (δ_kl − p_l)) X."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from scipy.linalg import blas

from dualgap.arrays import Index, Mask, Matrix, Vector
from dualgap.multinomial.table import LEAST

BLOCK = 1 << 19  # numbers of a block of [p_k ∘ x_j]: 2 MiB in 4-byte numbers


def hessian(X: Any, a: Vector, P: Matrix, classes: Index | None = None, columns: Index | None = None) -> Any:
    """On the coordinates (class, column) given, sorted by class, or on all; in the precision of X.

    −BᵀB for B = [√a p_k ∘ x_j] by one product of a matrix with itself; the blocks of a class with itself
    anew, from p(1 − p) in 8-byte numbers: where a row's class is nearly sure, p − p² would be rounding.
    """
    n, q = X.shape
    K = len(P)
    if classes is None or columns is None:
        classes, columns = np.repeat(np.arange(K), q), np.tile(np.arange(q), K)
    size, bounds = len(classes), np.searchsorted(classes, np.arange(K + 1))
    total = np.zeros((size, size), dtype=X.dtype, order="F")
    own = [np.zeros((high - low,) * 2, dtype=X.dtype) for low, high in pairwise(bounds)]
    syrk = blas.ssyrk if X.dtype == np.float32 else blas.dsyrk
    root = np.sqrt(a).astype(X.dtype)
    step = max(LEAST, BLOCK // max(size, 1))
    for i in range(0, n, step):
        part = slice(i, i + step)
        scaled, p = np.ascontiguousarray(X[part].T * root[part]), P[:, part]
        B = scaled[columns]
        curved = (p * (1.0 - p)).astype(X.dtype)
        for k, (low, high) in enumerate(pairwise(bounds)):
            own[k] += (B[low:high] * curved[k]) @ B[low:high].T
        B *= p.astype(X.dtype)[classes]
        total = syrk(-1.0, B.T, beta=1.0, c=total, trans=1, lower=1, overwrite_c=1)
    for block, (low, high) in zip(own, pairwise(bounds), strict=True):
        total[low:high, low:high] = block
    total = np.tril(total)
    total += np.tril(total, -1).T
    return total


def pin_shift(system: Any, classes: int, free: Mask) -> None:
    """The same shift of a free column in all classes changes nothing; give it curvature, so that it stays."""
    blocks = system.reshape(classes, -1, classes, len(system) // classes)
    mean = system.diagonal().reshape(classes, -1).mean(axis=0)
    for j in np.flatnonzero(free.reshape(classes, -1)[0]):
        blocks[:, j, :, j] += mean[j] / classes
