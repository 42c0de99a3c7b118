"""Cholesky factors of matrices that may be singular to rounding, and systems with a border around them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from scipy.linalg import blas, lapack

from dualgap.arrays import Matrix, Vector

Solve = Callable[[Matrix], Matrix]  # b ↦ x, for one right side or for several as columns

# What is added to each diagonal entry, as a share of it, until the factor exists. Cholesky does not care for
# the scale of rows and columns, so that a share of each entry is the same on every scale.
RAISES = (
    0.0,  # nearly always enough: the matrix as it is
    *(1e-15, 1e-14, 1e-13, 1e-12),  # rounding of the products that made it, a few to thousands of terms
    *(1e-10, 1e-8),  # the same where products were made in 4-byte numbers, or the scales lie far apart
    *(1e-6, 1e-4),  # last resorts: a step that is too short beats none
)
LOST = 1e-16  # a pivot below this share of its diagonal entry has no digit left


def cholesky(
    matrix: Any, raises: Sequence[float] = RAISES, unit: Vector | float | None = None, lost: float = LOST
) -> Solve:
    """x = matrix⁻¹ b for a positive semidefinite matrix in one piece, which is overwritten.

    b may be a vector or a matrix. The upper triangle is read; the lower one only where the diagonal has to be
    raised, by the least of `raises` that serves, in units of the diagonal (or of `unit`). What this costs in
    accuracy is for the caller to refine, or for the next step of a method that corrects itself. A matrix of
    4-byte numbers is factored in these; answers are always in double precision. A pivot of which no more than
    the share `lost` is left makes a matrix singular.
    """
    size, whole = len(matrix), matrix.diagonal().copy()
    single = matrix.dtype == np.float32
    factorise, solver = (lapack.spotrf, _single_solve) if single else (lapack.dpotrf, _double_solve)
    rows = matrix.flags.c_contiguous  # the transpose then is in the order of LAPACK: no copy
    for k, raised in enumerate(raises):
        if k:  # the factor has taken the place of the upper triangle
            np.copyto(matrix, matrix.T.copy(), where=np.tri(size, k=-1, dtype=bool).T)
        ahead = whole
        if k or raised:
            if unit is None:
                unit = whole if whole.min(initial=1.0) > 0.0 else _positive(whole)
            ahead = whole + raised * unit
            matrix.flat[:: size + 1] = ahead
        factor, failed = factorise(matrix.T if rows else matrix, lower=rows, overwrite_a=1, clean=0)
        pivots = factor.diagonal()
        if not failed and (pivots * pivots > lost * ahead).all():
            return solver(factor, rows)
    raise np.linalg.LinAlgError("the matrix is not positive semidefinite")


def rough_cholesky(matrix: Any) -> Callable[[Any], Any]:
    """Nearly x = matrix⁻¹ b, all in 4-byte numbers: for metrics, of which a poor one costs only products."""
    whole = matrix.diagonal().copy()
    for raised in RAISES:
        matrix.flat[:: len(matrix) + 1] = whole * (1.0 + raised)
        factor, failed = lapack.spotrf(matrix, lower=1)
        if not failed:
            return partial(_rough_solve, factor)
    raise np.linalg.LinAlgError("the matrix is not positive semidefinite")


def _rough_solve(factor: Any, b: Any) -> Any:
    return _both(blas.strsv, factor, b, True) if b.ndim == 1 else lapack.spotrs(factor, b, lower=1)[0]


def definite(matrix: Matrix) -> bool:
    """Does the factor exist, with nothing raised? The matrix, in one piece, is overwritten.

    No proof by itself: who wants one lowers the diagonal first by what rounding can do.
    """
    rows = matrix.flags.c_contiguous
    return bool(lapack.dpotrf(matrix.T if rows else matrix, lower=rows, overwrite_a=1, clean=0)[1] == 0)


def triangle(matrix: Matrix, lost: float) -> Matrix | None:
    """R with RᵀR = matrix, zeros below; None where no more than the share `lost` of a pivot is left."""
    factor, failed = lapack.dpotrf(matrix, lower=0)
    pivots = factor.diagonal()
    return None if failed or not np.all(pivots * pivots > lost * matrix.diagonal()) else np.asarray(factor)


def inverse(matrix: Matrix) -> Matrix | None:
    """Of a positive definite matrix; None if it is not."""
    factor, failed = lapack.dpotrf(matrix, lower=1)
    half, failed = lapack.dpotri(factor, lower=1) if not failed else (factor, failed)
    return None if failed else np.ascontiguousarray(np.tril(half) + np.tril(half, -1).T)


def _positive(diagonal: Vector) -> Vector:
    """The diagonal, the largest entry in place of those that are not positive."""
    return np.where(diagonal > 0.0, diagonal, float(diagonal.max()) if diagonal.max() > 0.0 else 1.0)


def _double_solve(factor: Matrix, lower: bool) -> Solve:
    def solve(b: Matrix) -> Matrix:
        if b.ndim == 1 and b.size:
            return np.asarray(_both(blas.dtrsv, factor, b, lower))
        return np.asarray(lapack.dpotrs(factor, b, lower=lower)[0] if b.size else b.copy())

    return solve


def _single_solve(factor: Any, lower: bool) -> Solve:
    def solve(b: Matrix) -> Matrix:
        size = float(np.abs(b).max(initial=0.0)) or 1.0  # 4-byte numbers end at 1e38
        scaled = (b / size).astype(np.float32)
        one = b.ndim == 1 and b.size
        found = (
            _both(blas.strsv, factor, scaled, lower) if one else lapack.spotrs(factor, scaled, lower=lower)[0]
        )
        return np.asarray(found, dtype=np.float64) * size

    return solve


def _both(divide: Any, factor: Any, b: Any, lower: bool) -> Any:
    """By the factor and by its transpose: LAPACK's solver, made for many, takes 2 to 4 times as long."""
    half = divide(factor, b, lower=lower, trans=not lower)
    return divide(factor, half, lower=lower, trans=lower, overwrite_x=1)


class Bordered:
    """x and e with A x + B e = right and Bᵀx − P e = last, from solves with A; A and P ≥ 0 semidefinite.

    B has few columns. They are eliminated last: (BᵀA⁻¹B + P) e = BᵀA⁻¹ right − last.
    """

    def __init__(self, solve: Solve, border: Matrix, pivot: Matrix | None = None) -> None:
        self._solve, self._border, self._pivot = solve, border, pivot
        if border.shape[1]:
            self._through = solve(border)
            inner = border.T @ self._through
            self._inner = cholesky(np.ascontiguousarray(inner if pivot is None else inner + pivot))

    def solve(self, right: Vector, last: Vector) -> tuple[Vector, Vector]:
        """(x, e)."""
        x, e = self._solve(right), np.zeros(self._border.shape[1])
        for _ in range(2 if len(e) else 0):  # the second pass removes the rounding of the first
            miss = self._border.T @ x - last
            more = self._inner(miss if self._pivot is None else miss - self._pivot @ e)
            x, e = x - self._through @ more, e + more
        return x, e
