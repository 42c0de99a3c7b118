"""The linear system of every step:

    X Δw − δ/h = k,    Xᵀδ + D Δw + column·Δs = rho,    and the border's row,

solved for Δw first where p ≤ n and for δ first where p > n: the other way round the dual loses its
feasibility and the method stalls.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs

from dualgap.arrays import Mask, Matrix, Vector
from dualgap.design import Design
from dualgap.solvers.interior_point.weights import Border

REF=[0,1]
Solved = tuple[Vector, Vector, Vector]  # δ, Δz, Δw


class System(Protocol):
    """The part without the border."""

    def factorise(self, h: Vector, diagonal: Vector) -> None:
        """Take new h and D."""

    def solve(self, k: Vector, rho: Vector) -> Solved:
        """δ, Δz and Δw."""


class Cholesky:
    """M = LLᵀ; where rounding makes M indefinite its diagonal is raised by a few units in the last place."""

    def __init__(self, matrix: Matrix) -> None:
        diagonal = np.diagonal(matrix).copy()
        raised = 1e-15
        while True:
            self._factor, info = dpotrf(matrix.T, lower=1, clean=0)
            if info == 0 and np.isfinite(self._factor[-1, -1]):
                return
            if raised > 1e-6:
                raise np.linalg.LinAlgError("no Cholesky factor")
            raised *= 10.0
            np.fill_diagonal(matrix, diagonal * (1.0 + raised) + 1e-300)

    def solve(self, right: Matrix) -> Matrix:
        """M⁻¹ right."""
        return np.asarray(dpotrs(self._factor, right, lower=1)[0])


class Tall:
    """p ≤ n: (XᵀHX + D) Δw = rho + XᵀHk."""

    def __init__(self, design: Design) -> None:
        self._design = design

    def factorise(self, h: Vector, diagonal: Vector) -> None:
        self._h, self._diagonal = h, diagonal
        matrix = self._design.weighted_gram(h)
        matrix.flat[:: len(diagonal) + 1] += diagonal
        self._factor = Cholesky(matrix)

    def solve(self, k: Vector, rho: Vector) -> Solved:
        right = rho + self._design.transpose_matvec(self._h * k)
        dw = self._factor.solve(right)
        dz = self._design.matvec(dw)
        delta=self._h * (dz - k)
        for _ in range(REF[0]):
            miss = rho - self._design.transpose_matvec(delta) - self._diagonal * dw
            more = self._factor.solve(miss)
            dw = dw + more
            moved = self._design.matvec(more)
            dz = dz + moved
            delta = delta + self._h * moved
        return delta, dz, dw


class Wide:
    """p > n: (H⁻¹ + X D⁻¹ Xᵀ) δ = X D⁻¹ rho − k + F f, Fᵀδ = rho_F, F the free columns and f their Δw."""

    def __init__(self, design: Design, free: Mask) -> None:
        self._design, self._free = design, free
        self._columns: Matrix = design.columns(free).toarray() if free.any() else np.empty((design.shape[0], 0))

    def factorise(self, h: Vector, diagonal: Vector) -> None:
        self._inverse = np.zeros_like(diagonal)
        self._inverse[~self._free] = 1.0 / diagonal[~self._free]
        self._h = h
        matrix = self._design.weighted_outer(self._inverse)
        matrix.flat[:: len(h) + 1] += 1.0 / h
        self._factor = Cholesky(matrix)
        if self._free.any():
            self._spread = self._factor.solve(self._columns)
            self._inner = np.linalg.pinv(self._columns.T @ self._spread, rcond=1e-15, hermitian=True)

    def solve(self, k: Vector, rho: Vector, depth=0) -> Solved:
        right = self._design.matvec(self._inverse * rho) - k
        delta = self._factor.solve(right)
        dw = np.zeros_like(rho)
        if self._free.any():
            for _ in range(2):  # the second pass removes the rounding of the first
                f = self._inner @ (rho[self._free] - self._columns.T @ delta)
                delta = delta + self._spread @ f
                dw[self._free] += f
        rest = self._inverse * (rho - self._design.transpose_matvec(delta))
        dw[~self._free] = rest[~self._free]
        if depth<REF[1]:
            miss = k - self._design.matvec(dw) + delta/self._h
            more = self.solve(miss, np.zeros_like(rho), depth+1)
            dw = dw + more[2]
            delta = delta + more[0]
        return delta, delta / self._h + k, dw


class Bordered:
    """A system and perhaps one more unknown."""

    def __init__(self, system: System, design: Design) -> None:
        self._system, self._design = system, design

    def factorise(self, h: Vector, diagonal: Vector, border: Border | None) -> None:
        self._system.factorise(h, diagonal)
        self._border = border
        if border is None:
            return
        self._moved = self._system.solve(np.zeros_like(h), border.column)
        delta, _, dw = self._moved
        if border.sign < 0:
            self._pivot = border.pivot + max(float(border.column @ dw), 0.0)
        else:
            seen = diagonal > 0
            share = border.column[seen] / diagonal[seen]
            self._pivot = border.pivot + max(float(share @ self._design.transpose_matvec(delta)[seen]), 0.0)

    def solve(self, k: Vector, rho: Vector, right: float) -> tuple[Vector, Vector, Vector, float]:
        """δ, Δz, Δw and Δs."""
        delta, dz, dw = self._system.solve(k, rho)
        border = self._border
        if border is None:
            return delta, dz, dw, 0.0
        ds = (right - border.sign * float(border.column @ dw)) / self._pivot
        moved = self._moved
        return delta - ds * moved[0], dz - ds * moved[1], dw - ds * moved[2], ds
