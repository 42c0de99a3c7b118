"""The linear system of every step,

    X Δw − δ/h = k,      Xᵀδ + D Δw = rho,

solved for Δw first where p ≤ n and for δ first where p > n: the other way round the dual loses its
feasibility and the method stalls.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs

from dualgap.arrays import Mask, Matrix, Vector
from dualgap.design import Design
from dualgap.solvers.interior_point.extension import Equations

REFINEMENTS = 2
EXACT = 1e-14  # relative residual not worth refining


class Cholesky:
    """M = LLᵀ; where rounding has made M indefinite its diagonal is raised, relatively, until it is not."""

    def __init__(self, matrix: Matrix) -> None:
        diagonal = np.diagonal(matrix).copy()
        for raised in (0.0, 1e-15, 1e-14, 1e-13, 1e-12, 1e-11, 1e-10, 1e-8, 1e-6):
            if raised:
                matrix.flat[:: len(diagonal) + 1] = diagonal * (1.0 + raised) + 1e-300
            self._factor, info = dpotrf(matrix.T, lower=1, clean=0)
            if info == 0:
                return
        raise np.linalg.LinAlgError("no Cholesky factor")

    def solve(self, right: Matrix) -> Matrix:
        """M⁻¹ right."""
        return np.asarray(dpotrs(self._factor, right, lower=1)[0])


class System(Protocol):
    """One way to eliminate."""

    def factorise(self, equations: Equations) -> None:
        """Take a new left side."""

    def solve(self, k: Vector, rho: Vector, refined: bool) -> tuple[Vector, Vector]:
        """(δ, Δw); `refined` corrects the equation that the elimination spoils."""


class Tall:
    """p ≤ n: (XᵀHX + D) Δw = rho + XᵀHk."""

    def factorise(self, equations: Equations) -> None:
        self._left = equations
        matrix = equations.design.weighted_gram(equations.h)
        matrix.flat[:: len(matrix) + 1] += equations.diagonal
        self._factor = Cholesky(matrix)

    def solve(self, k: Vector, rho: Vector, refined: bool) -> tuple[Vector, Vector]:
        design, h, diagonal = self._left.design, self._left.h, self._left.diagonal
        dw = self._factor.solve(rho + design.transpose_matvec(h * k))
        delta = h * (design.matvec(dw) - k)
        for _ in range(REFINEMENTS if refined else 0):
            miss = rho - design.transpose_matvec(delta) - diagonal * dw
            if np.abs(miss).max() <= EXACT * np.abs(rho).max():
                break
            more = self._factor.solve(miss)
            delta, dw = delta + h * design.matvec(more), dw + more
        return delta, dw


class Wide:
    """p > n: (H⁻¹ + X D⁻¹ Xᵀ) δ = X D⁻¹ rho − k + F f and Fᵀδ = rho_F; F the free columns, f their Δw."""

    def __init__(self, design: Design, free: Mask) -> None:
        self._free = np.flatnonzero(free)
        self._columns: Matrix = (
            design.columns(free).toarray() if free.any() else np.empty((design.shape[0], 0))
        )

    def factorise(self, equations: Equations) -> None:
        self._left = equations
        priced = equations.diagonal.copy()
        priced[self._free] = np.inf
        self._inverse = 1.0 / priced
        matrix = equations.design.weighted_outer(self._inverse)
        matrix.flat[:: len(matrix) + 1] += 1.0 / equations.h
        self._factor = Cholesky(matrix)
        self._beside = np.zeros((len(matrix), len(self._free)))
        self._beside[: len(self._columns)] = self._columns
        self._spread = self._factor.solve(self._beside) if self._beside.size else self._beside
        self._inner = _inverse(self._beside.T @ self._spread)

    def solve(self, k: Vector, rho: Vector, refined: bool) -> tuple[Vector, Vector]:
        design, h = self._left.design, self._left.h
        delta, dw = self._eliminate(design.matvec(self._inverse * rho) - k, rho)
        for _ in range(REFINEMENTS if refined else 0):
            miss = design.matvec(dw) - delta / h - k
            if np.abs(miss).max() <= EXACT * np.abs(k).max():
                break
            more, moved = self._eliminate(miss, np.zeros_like(rho))
            delta, dw = delta + more, dw + moved
        return delta, dw

    def _eliminate(self, right: Vector, rho: Vector) -> tuple[Vector, Vector]:
        delta = self._factor.solve(right)
        f = np.zeros(len(self._free))
        for _ in range(2 if f.size else 0):  # the second pass removes the rounding of the first
            more = self._inner @ (rho[self._free] - self._beside.T @ delta)
            delta, f = delta + self._spread @ more, f + more
        dw = self._inverse * (rho - self._left.design.transpose_matvec(delta))
        dw[self._free] = f
        return delta, dw


def _inverse(matrix: Matrix) -> Matrix:
    """The pseudo-inverse of a symmetric matrix; most often there is one free column, or none."""
    if len(matrix) > 1:
        return np.asarray(np.linalg.pinv(matrix, rcond=1e-15, hermitian=True))
    return np.divide(1.0, matrix, out=np.zeros_like(matrix), where=matrix != 0.0)


def system(design: Design, free: Mask) -> System:
    """The smaller side."""
    n, p = design.shape
    return Wide(design, free) if p > n else Tall()
