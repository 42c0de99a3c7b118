"""The linear system of every step,

    X Δw − δ/h = k,      Xᵀδ + D Δw = rho,

solved for Δw first where p ≤ n and for δ first where p > n: the other way round the dual loses its
feasibility and the method stalls.
"""

from __future__ import annotations

import numpy as np

from dualgap.arrays import Mask, Matrix, Vector
from dualgap.design import Design
from dualgap.linalg.cholesky import Bordered, Solve, cholesky
from dualgap.solvers.interior_point.extension import Equations, Linear
from dualgap.solvers.interior_point.inexact import FINE, ROUGH, Inexact, Left, SparseLines, spared

REFINEMENTS = 2  # steps against the rounding of the elimination, which D over many scales magnifies
EXACT = 1e-14  # relative residual not worth refining
# The same far from the end. Where raw columns under linf spread D over 16 decades, the equation was missed by
# 30,000 times the step itself; one refinement left 2e-4 of the step.
FEW, CLOSE = 5, 1e-2


class Tall:
    """p ≤ n: (XᵀHX + D) Δw = rho + XᵀHk."""

    def __init__(self, inexact: Inexact | None = None) -> None:
        self._inexact = inexact

    @property
    def exact(self) -> bool:
        """Is there a dense factor, beside which another one costs little?"""
        return self._inexact is None

    def factorise(self, equations: Equations) -> None:
        """Take a new left side."""
        self._left = equations
        design, h, diagonal = equations.design, equations.h, equations.diagonal

        def apply(x: Vector) -> Vector:
            return design.curved(h, x)[0] + diagonal * x

        if self._inexact is None:
            self._solve = _factor(design.weighted_gram(h), diagonal)
        else:
            self._solve = self._inexact.take(Left(apply, diagonal, h))

    def solve(self, k: Vector, rho: Vector, refined: bool) -> tuple[Vector, Vector]:
        """(δ, Δw); `refined` corrects the equation that the elimination spoils."""
        if self._inexact is not None:
            self._inexact.accuracy = FINE if refined else ROUGH
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

    def __init__(self, design: Design, free: Mask, inexact: Inexact | None = None) -> None:
        self._inexact = inexact
        self._free = np.flatnonzero(free)
        self._columns: Matrix = (
            design.columns(free).toarray() if free.any() else np.empty((design.shape[0], 0))
        )

    @property
    def exact(self) -> bool:
        """As above."""
        return self._inexact is None

    def factorise(self, equations: Equations) -> None:
        """Take a new left side."""
        self._left = equations
        priced = equations.diagonal.copy()
        priced[self._free] = np.inf
        self._inverse = 1.0 / priced
        beside = np.zeros((len(equations.h), len(self._free)))
        beside[: len(self._columns)] = self._columns
        self._bordered = Bordered(self._kernel(equations.design, 1.0 / equations.h), beside)

    def _kernel(self, design: Linear, base: Vector) -> Solve:
        weight = self._inverse

        def apply(x: Vector) -> Vector:
            return design.across(weight, x) + base * x

        if self._inexact is None:
            return _factor(design.weighted_outer(weight), base)
        self._inexact.accuracy = ROUGH
        return self._inexact.take(Left(apply, base, weight))

    def solve(self, k: Vector, rho: Vector, refined: bool) -> tuple[Vector, Vector]:
        """(δ, Δw), as above."""
        if self._inexact is not None:
            self._inexact.accuracy = FINE if refined else ROUGH
        design, h = self._left.design, self._left.h
        delta, dw = self._eliminate(design.matvec(self._inverse * rho) - k, rho)
        enough = EXACT if refined else CLOSE
        for _ in range(REFINEMENTS if refined else FEW):
            slopes = delta / h
            miss = design.matvec(dw) - slopes - k
            if np.abs(miss).max() <= enough * (np.abs(k).max() + np.abs(slopes).max()):
                break
            more, moved = self._eliminate(miss, np.zeros_like(rho))
            delta, dw = delta + more, dw + moved
        return delta, dw

    def _eliminate(self, right: Vector, rho: Vector) -> tuple[Vector, Vector]:
        delta, f = self._bordered.solve(right, rho[self._free])
        dw = self._inverse * (rho - self._left.design.transpose_matvec(delta))
        dw[self._free] = -f
        return delta, dw


def _factor(matrix: Matrix, diagonal: Vector) -> Solve:
    matrix.flat[:: len(matrix) + 1] += diagonal
    return cholesky(matrix)


Elimination = Tall | Wide


def system(design: Design, free: Mask) -> Elimination:
    """The smaller side."""
    n, p = design.shape
    inexact = Inexact(SparseLines(design, rows=p <= n)) if spared(design) else None
    return Wide(design, free, inexact) if p > n else Tall(inexact)
