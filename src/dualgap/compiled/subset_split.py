"""The diagonal D of the split G = R + diag(D): a first one from the inverse of G, and better ones for a node."""

from __future__ import annotations

import numpy as np

from dualgap.arrays import Matrix, Vector
from dualgap.compiled.mechanism import compiled
from dualgap.compiled.subset_bound import Node, Scratch

INSIDE = 0.98  # of the largest multiple that keeps R positive semidefinite
SINGULAR = 1e-9  # smallest eigenvalue, columns of size one, below which no split is to be had
RAISE = 0.25  # share of the way to singularity that one column's D may go
FLOOR = 0.7  # inactive columns keep t below this share of the multiplier


@compiled
def spectral_split(gram: Matrix) -> tuple[int, Vector]:
    """The nullity and D: a multiple of 1/(G⁻¹)_jj; where G is singular, the columns' shares in the null space."""
    size = gram.shape[0]
    scale = np.empty(size)
    for j in range(size):
        scale[j] = 1.0 / np.sqrt(gram[j, j])
    unit = _scaled(gram, scale)
    values, vectors = np.linalg.eigh(unit)
    lacking = 0
    while lacking < size and values[lacking] < SINGULAR:
        lacking += 1
    split = np.zeros(size)
    for j in range(size):
        if lacking:
            for k in range(lacking):
                split[j] += vectors[j, k] * vectors[j, k]
        else:
            for k in range(size):
                split[j] += vectors[j, k] * vectors[j, k] / values[k]
            split[j] = gram[j, j] / split[j]
    if lacking == 0:
        for j in range(size):
            scale[j] = 1.0 / np.sqrt(split[j])
        split *= INSIDE * max(np.linalg.eigvalsh(_scaled(gram, scale))[0], 0.0)
    return lacking, split


@compiled
def _scaled(gram: Matrix, scale: Vector) -> Matrix:
    size = gram.shape[0]
    out = np.empty((size, size))
    for i in range(size):
        for j in range(size):
            out[i, j] = gram[i, j] * scale[i] * scale[j]
    return out


@compiled
def _rest(node: Node) -> Matrix:
    """G − diag(D)."""
    out = node.gram[: node.size, : node.size].copy()
    for j in range(node.size):
        out[j, j] -= node.split[j]
    return out


@compiled
def _positive(matrix: Matrix) -> bool:
    ok = True
    try:
        np.linalg.cholesky(matrix)
    except Exception:  # numba knows no narrower class
        ok = False
    return ok


@compiled
def _lower_inactive(node: Node, scratch: Scratch, multiplier: float) -> None:
    """Columns at zero need no more D than keeps their t clear of the multiplier: give half of the rest back."""
    for j in range(node.size):
        if node.w[j] == 0.0:
            need = max(scratch.residual[j] ** 2 / (FLOOR * multiplier), 0.02 * node.gram[j, j])
            if need < node.split[j]:
                node.split[j] = 0.5 * (node.split[j] + need)


@compiled
def _raise_fractional(node: Node, gain: Vector, inverse: Matrix) -> None:
    """Raise D on the columns that are neither in nor out, most useful first; `inverse` is kept that of R."""
    for j in np.argsort(-gain):
        if gain[j] <= 0.0 or inverse[j, j] <= 0.0:
            return
        step = RAISE / inverse[j, j]
        node.split[j] += step
        factor = step / (1.0 - step * inverse[j, j])
        row = inverse[j].copy()
        for i in range(node.size):
            share = factor * row[i]
            for k in range(node.size):
                inverse[i, k] += share * row[k]


@compiled
def improve_split(node: Node, scratch: Scratch, multiplier: float) -> bool:
    """Move D towards a higher bound at w, R positive definite throughout; False if nothing is fractional."""
    gain = np.zeros(node.size)
    for j in range(node.size):
        w = abs(node.w[j])
        if w > 0.0:
            share = w * np.sqrt(node.split[j] / multiplier)
            if share < 1.0:
                gain[j] = w * w * (1.0 / share - 1.0)
    if gain.max() <= 0.0:
        return False
    before = node.split[: node.size].copy()
    _lower_inactive(node, scratch, multiplier)
    rest = _rest(node)
    if _positive(rest):
        _raise_fractional(node, gain, np.linalg.inv(rest))
        for _ in range(30):
            if _positive(_rest(node)):
                return True
            for j in range(node.size):
                node.split[j] *= 0.95
    for j in range(node.size):
        node.split[j] = before[j]
    return False
