"""The linear system of every step,

    X Δw − δ/h = k,      Xᵀδ + D Δw = rho,

solved for Δw first where p ≤ n and for δ first where p > n: the other way round the dual loses its
feasibility and the method stalls.
"""

from __future__ import annotations

import numpy as np

from dualgap.arrays import Mask, Matrix, Vector
from dualgap.design import Design
from dualgap.linalg.cholesky import Bordered, cholesky
from dualgap.solvers.interior_point.extension import Equations

REFINEMENTS = 2  # steps against the rounding of the elimination, which D over many scales magnifies
EXACT = 1e-14  # relative residual not worth refining


class Tall:
    """p ≤ n: (XᵀHX + D) Δw = rho + XᵀHk."""

    def factorise(self, equations: Equations) -> None:
        """Take a new left side."""
        self._left = equations
        matrix = equations.design.weighted_gram(equations.h)
        matrix.flat[:: len(matrix) + 1] += equations.diagonal
        self._solve = cholesky(matrix)

    def solve(self, k: Vector, rho: Vector, refined: bool) -> tuple[Vector, Vector]:
        """(δ, Δw); `refined` corrects the equation that the elimination spoils."""
        design, h, diagonal = self._left.design, self._left.h, self._left.diagonal
        dw = self._solve(rho + design.transpose_matvec(h * k))
        delta = h * (design.matvec(dw) - k)
        for _ in range(REFINEMENTS if refined else 0):
            miss = rho - design.transpose_matvec(delta) - diagonal * dw
            if np.abs(miss).max() <= EXACT * np.abs(rho).max():
                break
            more = self._solve(miss)
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
        """Take a new left side."""
        self._left = equations
        priced = equations.diagonal.copy()
        priced[self._free] = np.inf
        self._inverse = 1.0 / priced
        matrix = equations.design.weighted_outer(self._inverse)
        matrix.flat[:: len(matrix) + 1] += 1.0 / equations.h
        beside = np.zeros((len(matrix), len(self._free)))
        beside[: len(self._columns)] = self._columns
        self._bordered = Bordered(cholesky(matrix), beside)

    def solve(self, k: Vector, rho: Vector, refined: bool) -> tuple[Vector, Vector]:
        """(δ, Δw), as above."""
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
        delta, f = self._bordered.solve(right, rho[self._free])
        dw = self._inverse * (rho - self._left.design.transpose_matvec(delta))
        dw[self._free] = -f
        return delta, dw


Elimination = Tall | Wide


def system(design: Design, free: Mask) -> Elimination:
    """The smaller side."""
    n, p = design.shape
    return Wide(design, free) if p > n else Tall()
