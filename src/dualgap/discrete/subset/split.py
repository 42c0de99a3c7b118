"""The diagonal D of the split G = R + diag(D), R positive semidefinite: a first one, and better ones.

That R is positive semidefinite is shown by a Cholesky factor of R less a little: what is computed is the
factor of a matrix that differs from it by less than γ_{m+1} √(r_ii r_jj) (Demmel 1989; Rump 2006).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dualgap.arrays import Matrix, Vector
from dualgap.linalg.cholesky import definite as has_factor
from dualgap.linalg.cholesky import inverse as inverted
from dualgap.proof.rounding import U

if TYPE_CHECKING:
    from dualgap.discrete.subset.split_bound import Node, Scratch

INSIDE = 0.98  # of the largest multiple that keeps R positive semidefinite
SINGULAR = 1e-9  # smallest eigenvalue, columns of size one, below which no split is to be had
RAISE = 0.25  # share of the way to singularity that one column's D may go
CLEAR = 0.7  # inactive columns keep t below this share of the multiplier
LARGE = 400  # columns beyond which the square alone is taken, where it is there and rows are fewer


def lowered(room: int) -> float:
    """Share of the diagonal by which sets of so many columns are below what a node of theirs can be off by.

    The l-th column included moves an entry by (l + 6) U, the root's are known to 8 U; for s entries that are
    not zero, the targets' among them, that is s times as much beside the diagonal.
    """
    return 1.01 * (room + 1) * (moved(room) + 8.0 * U)


def moved(room: int) -> float:
    """What including so many columns can move an entry by."""
    return 0.5 * (room + 2) * (room + 12) * U


def definite(gram: Matrix, split: Vector, room: int) -> bool:
    """Is G − diag(D) positive semidefinite beyond doubt, for every matrix that a node below may stand for?"""
    size = len(gram)
    doubt = 1.1 * size * (moved(room) + (size + 4) * U)
    rest = gram.copy()
    rest.flat[:: size + 1] -= split + doubt * gram.diagonal()
    return has_factor(rest)


def first_split(gram: Matrix, ridge: Vector, rows: int, room: int) -> tuple[int, Vector]:
    """(0, D) for the root, or (nullity, ranks) if columns are dependent. `ridge` is part of the diagonal."""
    size = len(gram)
    plain = ridge * (1.0 - 1e-6)
    if size == 0:
        return 0, plain
    squared = ridge.min() > 1e-6 and (size > LARGE or rows <= size)
    if squared and definite(gram, plain, room):
        return 0, plain
    if size > LARGE and rows <= size:
        return size - rows + 1, np.ones(size)
    lacking, split = spectral_split(gram, room)
    if ridge.min() > 1e-6 and (lacking or plain.sum() > split.sum()) and definite(gram, plain, room):
        return 0, plain
    return lacking, split


def spectral_split(gram: Matrix, room: int) -> tuple[int, Vector]:
    """D ∝ 1/(G⁻¹)_jj; where G is singular, its nullity and the columns' shares in the null space."""
    unit = 1.0 / np.sqrt(np.diag(gram))
    values, vectors = np.linalg.eigh(gram * unit[:, None] * unit)
    lacking = int(np.count_nonzero(values < SINGULAR))
    if not lacking:
        split = np.diag(gram) / ((vectors * vectors) @ (1.0 / values))
        unit = 1.0 / np.sqrt(split)
        least = np.linalg.eigvalsh(gram * unit[:, None] * unit)[0]
        split = INSIDE * max(least, 0.0) * split
        if split.min() > 0.0 and definite(gram, split, room):
            return 0, np.asarray(split)
        lacking = 1
    return lacking, np.asarray((vectors[:, :lacking] ** 2).sum(axis=1))


def improve_split(node: Node, scratch: Scratch, multiplier: float) -> bool:
    """Move D in place towards a higher bound at w; False, and nothing moved, if no column is fractional."""
    m = node.size
    gram, split, w = node.gram[:m, :m], node.split[:m], np.abs(node.w[:m])
    share = w * np.sqrt(split / multiplier)
    fractional = (w > 0.0) & (share < 1.0)
    if not fractional.any():
        return False
    gain = np.zeros(m)
    gain[fractional] = w[fractional] ** 2 * (1.0 / share[fractional] - 1.0)
    # columns at zero need no more D than keeps their t clear of the multiplier: half of the rest goes back
    need = np.maximum(scratch.residual[:m] ** 2 / (CLEAR * multiplier), 0.02 * np.diag(gram))
    better = np.where((w == 0.0) & (need < split), 0.5 * (split + need), split)
    inverse = inverted(gram - np.diag(better))
    if inverse is None:
        return False
    _raise(better, gain, inverse)
    for _ in range(30):
        if definite(gram, better, node.room):
            split[:] = better
            return True
        better *= 0.95
    return False


def _raise(split: Vector, gain: Vector, inverse: Matrix) -> None:
    """Raise D where it gains most, one column after the other; `inverse` is kept that of R."""
    for j in np.argsort(-gain)[: int(np.count_nonzero(gain))]:
        if inverse[j, j] <= 0.0:
            return
        step = RAISE / inverse[j, j]
        split[j] += step
        row = inverse[j].copy()
        inverse += np.outer(row * (step / (1.0 - RAISE)), row)
