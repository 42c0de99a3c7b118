"""A Cholesky factor in single precision of K on some rows, carried over to a neighbouring set of rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg as sl
from numpy.typing import NDArray
from scipy.linalg import lapack

from dualgap.arrays import Index, Vector
from dualgap.kernels import Gram

JITTER = 3e-6  # of the largest diagonal entry: what single precision needs
SHARE = 0.08  # rows that may come or go, beside those factorised


class SingleFactor:
    """(K + ridge + shift 11ᵀ)⁻¹ on the rows, nearly.

    Where Σβ is fixed (`tied`) the shift changes nothing but b, and K may be singular without it.
    """

    def __init__(self, gram: Gram, rows: Index, ridge: Vector, *, tied: bool) -> None:
        K = gram.lower_single(rows)
        self.rows, self.base, self.gram = rows, rows, gram
        diagonal = np.diagonal(K)
        self.shift = float(diagonal.mean()) / len(rows) if tied else 0.0
        self.jitter = JITTER * float(diagonal.max())
        with np.errstate(all="ignore"):  # the other triangle is memory that nobody has set
            K += np.float32(self.shift)
        K[np.diag_indices(len(rows))] += (ridge + self.jitter).astype(np.float32)
        # the transpose is the same memory in the order of LAPACK
        self.factor, info = lapack.spotrf(K.T, lower=0, clean=0, overwrite_a=1)
        if info != 0:
            raise np.linalg.LinAlgError("not positive definite in single precision")
        self._border: _Border | None = None
        self.ones = self.inverse(np.ones(len(rows)))

    def base_inverse(self, right: Any) -> NDArray[np.float64]:
        """On the rows that were factorised."""
        size = float(np.abs(right).max(initial=0.0)) or 1.0
        found, _ = lapack.spotrs(self.factor, (right / size).astype(np.float32), lower=0)
        return np.asarray(found, dtype=np.float64) * size

    def inverse(self, right: Vector) -> Vector:
        """On the rows of now."""
        return self.base_inverse(right) if self._border is None else self._border.inverse(right)

    def moved_to(self, rows: Index, ridge: Vector) -> bool:
        """Serve these rows from now on, if they are not too different from those factorised."""
        if np.array_equal(rows, self.rows):
            return True
        if len(np.setxor1d(self.base, rows, assume_unique=True)) > SHARE * len(self.base):
            return False
        self._border = _Border(self, rows, ridge)
        self.rows, self.ones = rows, self._border.inverse(np.ones(len(rows)))
        return True

    def solved(self, right: Vector, total: float | None) -> tuple[Vector, float]:
        """x and b with K x + b = right and Σx = total (K x = right where that is None)."""
        if total is None:
            return self.inverse(right), 0.0
        middle = float(right.mean())  # taken out first: what is left is small where b is all but known
        first = self.inverse(right - middle)
        level = (float(first.sum()) - total) / float(self.ones.sum())
        return first - level * self.ones, middle + level + self.shift * total


class _Border:
    """Rows left out (their x is zero, by a multiplier) and rows added, around the factor: a small system."""

    def __init__(self, factor: SingleFactor, rows: Index, ridge: Vector) -> None:
        base, gram = factor.base, factor.gram
        position = np.full(gram.n, -1)
        position[base] = np.arange(len(base))
        self.place = position[rows]  # in the base, or −1
        self.old = self.place >= 0
        come = rows[~self.old]  # in their order, which is that of every vector on the rows
        gone = np.setdiff1d(np.arange(len(base)), self.place[self.old])
        sides = np.zeros((len(base), len(gone) + len(come)))
        sides[gone, np.arange(len(gone))] = 1.0
        corner = np.zeros((sides.shape[1], sides.shape[1]))
        if len(come):
            sides[:, len(gone) :] = gram.block(base, come) + factor.shift
            corner[len(gone) :, len(gone) :] = gram.block(come, come) + factor.shift
            corner[len(gone) :, len(gone) :] += np.diag(ridge[~self.old] + factor.jitter)
        self.factor, self.gone, self.sides = factor, gone, sides
        self.solved_sides = factor.base_inverse(sides)
        self.small = sl.lu_factor(corner - sides.T @ self.solved_sides, check_finite=False)

    def inverse(self, right: Vector) -> Vector:
        """x on the rows of now."""
        within = np.zeros(len(self.factor.base))
        within[self.place[self.old]] = right[self.old]
        first = self.factor.base_inverse(within)
        wanted = np.concatenate([np.zeros(len(self.gone)), right[~self.old]])
        around = sl.lu_solve(self.small, wanted - self.sides.T @ first, check_finite=False)
        inner = first - self.solved_sides @ around
        x = np.empty(len(right))
        x[self.old], x[~self.old] = inner[self.place[self.old]], around[len(self.gone) :]
        return x
