"""The Newton system (Xᵀ diag(h) X + diag(δ) + η + sign·r rᵀ) x = b, by columns or by rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from dualgap.arrays import Index, Mask, Matrix, Vector
from dualgap.design import Design

JITTER = (0.0, 1e-14, 1e-12, 1e-10, 1e-8, 1e-6)  # added to a unit diagonal until the factor exists


@dataclass(frozen=True, eq=False)
class System:
    """`delta` is zero where nothing but the proximal term `eta` > 0 holds a weight back."""

    design: Design
    curvature: Vector
    delta: Vector
    rank_one: Vector | None
    sign: float
    eta: float

    def solve(self, right: Vector, free: Mask) -> Vector:
        """x, through the smaller of both systems."""
        live = np.flatnonzero(self.curvature > 0)
        if len(live) + np.count_nonzero(free) < self.design.shape[1]:
            return self._by_rows(right, live, free)
        return self._by_columns(right)

    def _by_columns(self, right: Vector) -> Vector:
        matrix = self.design.weighted_gram(self.curvature)
        if self.rank_one is not None:
            matrix += np.outer(self.sign * self.rank_one, self.rank_one)
        diagonal = np.arange(len(right))
        matrix[diagonal, diagonal] += self.delta + self.eta
        return Factor(matrix).solve(right)

    def _by_rows(self, right: Vector, live: Index, free: Mask) -> Vector:
        rows, curvature = self.design.rows(live), self.curvature[live]
        solver = _RowSolver(self, rows, curvature, free)
        x = solver.solve(right)
        return x + solver.solve(right - self._product(rows, curvature, x))

    def _product(self, rows: Design, curvature: Vector, x: Vector) -> Vector:
        total = (self.delta + self.eta) * x + rows.transpose_matvec(curvature * rows.matvec(x))
        if self.rank_one is not None:
            total += self.sign * float(self.rank_one @ x) * self.rank_one
        return total


class _RowSolver:
    """Woodbury over the rows with curvature.

    With q = diag(h) X x the system is (h⁻¹ + X Δ⁻¹ Xᵀ) q = X Δ⁻¹ b, Δ = δ + η. A positive rank one is one
    more row of curvature 1. Free coordinates, whose Δ is next to nothing, are borders; so is a negative
    rank one, with the pivot 1 − rᵀΔ⁻¹r = Σ (r²/δ) η/(δ + η), since Σ r²/δ = 1: so written nothing cancels.
    """

    def __init__(self, system: System, rows: Design, curvature: Vector, free: Mask) -> None:
        self.rows, self.free = rows, free
        self.inverse = np.where(free, 0.0, 1.0 / (system.delta + system.eta))
        rank_one = system.rank_one
        self.extra = rank_one if rank_one is not None and system.sign > 0 else None
        self.border_one = rank_one if rank_one is not None and system.sign < 0 else None
        self.factor = Factor(self._kernel(curvature))
        border, pivots = self._border(system)
        self.border = border
        if border.shape[1]:
            self.through = self.factor.solve(border)
            self.schur = Factor(border.T @ self.through + np.diag(pivots))

    def _kernel(self, curvature: Vector) -> Matrix:
        kernel = self.rows.weighted_outer(self.inverse)
        diagonal = np.arange(len(curvature))
        kernel[diagonal, diagonal] += 1.0 / curvature
        if self.extra is None:
            return kernel
        cross = self.rows.matvec(self.inverse * self.extra)[:, None]
        corner = np.array([[1.0 + float(self.extra @ (self.inverse * self.extra))]])
        return np.block([[kernel, cross], [cross.T, corner]])

    def _border(self, system: System) -> tuple[Matrix, Vector]:
        """The columns beside the kernel and the pivots below it."""
        columns = [self.rows.columns(self.free).toarray()] if self.free.any() else []
        pivots = np.full(int(np.count_nonzero(self.free)), system.eta)
        if self.border_one is not None:
            columns.append(self.rows.matvec(self.inverse * self.border_one)[:, None])
            share = np.zeros_like(self.border_one)
            np.divide(self.border_one**2, system.delta, out=share, where=self.border_one != 0)
            pivots = np.append(pivots, float((share * system.eta) @ self.inverse))
        border = np.hstack(columns) if columns else np.zeros((self.rows.shape[0], 0))
        if self.extra is not None:
            border = np.vstack([border, np.zeros((1, border.shape[1]))])
        return border, pivots

    def solve(self, right: Vector) -> Vector:
        """One solution, without refinement."""
        first = self.inverse * right
        target = self.rows.matvec(first)
        if self.extra is not None:
            target = np.append(target, float(self.extra @ first))
        q, edge = self.factor.solve(target), np.zeros(0)
        if self.border.shape[1]:
            wanted = right[self.free]
            if self.border_one is not None:
                wanted = np.append(wanted, float(self.border_one @ first))
            edge = self.schur.solve(wanted - self.border.T @ q)
            q = q + self.through @ edge
        rest = right - self.rows.transpose_matvec(q[: self.rows.shape[0]])
        if self.extra is not None:
            rest = rest - q[-1] * self.extra
        if self.border_one is not None:
            rest = rest + edge[-1] * self.border_one
        x = self.inverse * rest
        x[self.free] = edge[: int(np.count_nonzero(self.free))]
        return x


class Factor:
    """Cholesky factor of a positive definite matrix, brought to a unit diagonal first."""

    def __init__(self, matrix: Matrix) -> None:
        self.root = 1.0 / np.sqrt(np.maximum(np.diag(matrix), 1e-300))
        scaled = matrix * self.root[:, None]
        scaled *= self.root
        self.factor = self._factored(scaled)

    @staticmethod
    def _factored(scaled: Matrix) -> tuple[Matrix, bool]:
        diagonal = np.arange(len(scaled))
        for jitter in JITTER:
            trial = scaled.copy()
            trial[diagonal, diagonal] += jitter
            try:
                factor: tuple[Matrix, bool] = cho_factor(
                    trial, lower=True, overwrite_a=True, check_finite=False
                )
            except np.linalg.LinAlgError:
                continue
            return factor
        raise np.linalg.LinAlgError("the Newton system is not positive definite")

    def solve(self, right: Matrix) -> Matrix:
        """The solution for one right side, or for several as columns."""
        if not len(right):
            return right
        root = self.root if right.ndim == 1 else self.root[:, None]
        return np.asarray(root * cho_solve(self.factor, root * right, check_finite=False))
