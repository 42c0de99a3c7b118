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

Solved = tuple[Vector, Vector, Vector]  # δ, Δz, Δw


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
    """The equations without the border."""

    def factorise(self, h: Vector, diagonal: Vector) -> None:
        """Take new h and D."""

    def solve(self, k: Vector, rho: Vector, refined: bool) -> Solved:
        """δ, Δz and Δw; `refined` adds a step of refinement on the equation that elimination spoils."""


class Tall:
    """p ≤ n: (XᵀHX + D) Δw = rho + XᵀHk."""

    def __init__(self, design: Design) -> None:
        self._design = design

    def factorise(self, h: Vector, diagonal: Vector) -> None:
        self._h, self._diagonal = h, diagonal
        matrix = self._design.weighted_gram(h)
        matrix.flat[:: len(diagonal) + 1] += diagonal
        self._factor = Cholesky(matrix)

    def solve(self, k: Vector, rho: Vector, refined: bool) -> Solved:
        dw = self._factor.solve(rho + self._design.transpose_matvec(self._h * k))
        dz = self._design.matvec(dw)
        delta = self._h * (dz - k)
        if refined:
            miss = rho - self._design.transpose_matvec(delta) - self._diagonal * dw
            more = self._factor.solve(miss)
            moved = self._design.matvec(more)
            delta, dz, dw = delta + self._h * moved, dz + moved, dw + more
        return delta, dz, dw


class Wide:
    """p > n: (H⁻¹ + X D⁻¹ Xᵀ) δ = X D⁻¹ rho − k + F f and Fᵀδ = rho_F; F the free columns, f their Δw."""

    def __init__(self, design: Design, free: Mask) -> None:
        self._design, self._free = design, free
        self._columns: Matrix = (
            design.columns(free).toarray() if free.any() else np.empty((design.shape[0], 0))
        )

    def factorise(self, h: Vector, diagonal: Vector) -> None:
        self._h = h
        self._inverse = np.zeros_like(diagonal)
        np.divide(1.0, diagonal, out=self._inverse, where=~self._free)
        matrix = self._design.weighted_outer(self._inverse)
        matrix.flat[:: len(h) + 1] += 1.0 / h
        self._factor = Cholesky(matrix)
        self._spread = self._factor.solve(self._columns) if self._columns.size else self._columns
        self._inner = np.linalg.pinv(self._columns.T @ self._spread, rcond=1e-15, hermitian=True)

    def solve(self, k: Vector, rho: Vector, refined: bool) -> Solved:
        delta, dw = self._eliminate(self._design.matvec(self._inverse * rho) - k, rho)
        if refined:
            miss = k - self._design.matvec(dw) + delta / self._h
            more, moved = self._eliminate(-miss, np.zeros_like(rho))
            delta, dw = delta + more, dw + moved
        return delta, delta / self._h + k, dw

    def _eliminate(self, right: Vector, rho: Vector) -> tuple[Vector, Vector]:
        delta = self._factor.solve(right)
        f = np.zeros(self._columns.shape[1])
        for _ in range(2 if f.size else 0):  # the second pass removes the rounding of the first
            more = self._inner @ (rho[self._free] - self._columns.T @ delta)
            delta, f = delta + self._spread @ more, f + more
        dw = self._inverse * (rho - self._design.transpose_matvec(delta))
        dw[self._free] = f
        return delta, dw


class Bordered:
    """A system and perhaps one more unknown."""

    def __init__(self, design: Design, free: Mask) -> None:
        n, p = design.shape
        self._design = design
        self._system: System = Wide(design, free) if p > n else Tall(design)

    def factorise(self, h: Vector, diagonal: Vector, border: Border | None, refined: bool) -> None:
        """Take new h, D and border."""
        self._border, self._refined = border, refined
        self._system.factorise(h, diagonal)
        if border is None:
            return
        self._reply = self._system.solve(np.zeros_like(h), border.column, refined)
        delta, _, dw = self._reply
        if border.sign < 0:
            along = border.column @ dw
        else:
            share = np.divide(border.column, diagonal, out=np.zeros_like(dw), where=diagonal > 0)
            along = share @ self._design.transpose_matvec(delta)
        self._corner = border.corner + max(float(along), 0.0)

    def solve(self, k: Vector, rho: Vector, right: float) -> tuple[Vector, Vector, float]:
        """Δz, Δw and Δs."""
        _, dz, dw = self._system.solve(k, rho, self._refined)
        border = self._border
        if border is None:
            return dz, dw, 0.0
        ds = (right - border.sign * float(border.column @ dw)) / self._corner
        return dz - ds * self._reply[1], dw - ds * self._reply[2], ds
