"""The Newton system (Xᵀ diag(h) X + diag(δ) + η + sign·r rᵀ) x = b, by columns or by rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from dualgap.arrays import Mask, Matrix, Vector
from dualgap.design import Design


@dataclass(frozen=True, eq=False)
class System:
    """`delta` is zero where nothing but the proximal term `eta` holds a weight back."""

    design: Design
    curvature: Vector
    delta: Vector
    rank_one: Vector | None
    sign: float
    eta: float

    def solve(self, right: Vector, free: Mask) -> Vector:
        """x, through the smaller of both systems."""
        live = np.flatnonzero(self.curvature > 0)
        if len(live) < self.design.shape[1] and (self.eta > 0 or np.all((self.delta > 0) | free)):
            return self._by_rows(right, live, free)
        return self._by_columns(right)

    def _by_columns(self, right: Vector) -> Vector:
        matrix = self.design.weighted_gram(self.curvature)
        if self.rank_one is not None:
            matrix += np.outer(self.sign * self.rank_one, self.rank_one)
        diagonal = np.arange(len(right))
        matrix[diagonal, diagonal] += self.delta + self.eta
        return solve_positive(matrix, right)

    def _by_rows(self, right: Vector, live: Vector, free: Mask) -> Vector:
        rows = self.design.rows(live)
        solver = _RowSolver(self, rows, self.curvature[live], free)
        x = solver.solve(right)
        return x + solver.solve(right - self._product(rows, self.curvature[live], x))

    def _product(self, rows: Design, curvature: Vector, x: Vector) -> Vector:
        total = (self.delta + self.eta) * x + rows.transpose_matvec(curvature * rows.matvec(x))
        if self.rank_one is not None:
            total += self.sign * float(self.rank_one @ x) * self.rank_one
        return total


class _RowSolver:
    """Woodbury over the curved rows.

    With q = diag(h) X x the system is (h⁻¹ + X Δ⁻¹ Xᵀ) q = X Δ⁻¹ b. A positive rank one is one more row of
    curvature 1. Free coordinates and a negative rank one are borders: the pivot of the latter,
    1 − rᵀΔ⁻¹r, is Σ (r²/δ) η/(δ + η), since Σ r²/δ = 1; written so, nothing cancels.
    """

    def __init__(self, system: System, rows: Design, curvature: Vector, free: Mask) -> None:
        m = len(curvature)
        self.rows, self.free = rows, free
        held = system.delta + system.eta
        self.inverse = np.where(free, 0.0, 1.0 / np.where(free, 1.0, held))
        self.rank_one = system.rank_one if system.rank_one is not None else np.zeros_like(held)
        self.extra = system.rank_one is not None and system.sign > 0
        self.bordered = system.rank_one is not None and system.sign < 0
        kernel = rows.weighted_outer(self.inverse)
        kernel[np.arange(m), np.arange(m)] += 1.0 / curvature
        cross = rows.matvec(self.inverse * self.rank_one)
        borders: list[Matrix] = [rows.columns(free).toarray()] if free.any() else []
        pivots = np.full(int(free.sum()), system.eta)
        if self.extra:
            corner = 1.0 + float(self.rank_one @ (self.inverse * self.rank_one))
            kernel = np.block([[kernel, cross[:, None]], [cross[None, :], np.array([[corner]])]])
            borders = [np.vstack([border, np.zeros((1, border.shape[1]))]) for border in borders]
        if self.bordered:
            share = np.where(self.rank_one != 0, self.rank_one**2 / np.maximum(system.delta, 1e-300), 0.0)
            pivot = float((share * system.eta * self.inverse).sum())
            borders.append(cross[:, None])
            pivots = np.append(pivots, pivot)
        self.factor = factor_positive(kernel)
        self.border: Matrix | None = np.hstack(borders) if borders else None
        if self.border is not None:
            self.through = cho_solve(self.factor, self.border)
            self.schur = factor_positive(self.border.T @ self.through + np.diag(pivots))

    def solve(self, right: Vector) -> Vector:
        """One solution, without refinement."""
        first = self.inverse * right
        target = self.rows.matvec(first)
        if self.extra:
            target = np.append(target, float(self.rank_one @ first))
        q = cho_solve(self.factor, target)
        edge = np.zeros(0)
        if self.border is not None:
            wanted = right[self.free]
            if self.bordered:
                wanted = np.append(wanted, float(self.rank_one @ first))
            edge = cho_solve(self.schur, wanted - self.border.T @ q)
            q = q + self.through @ edge
        rest = right - self.rows.transpose_matvec(q[: self.rows.shape[0]])
        if self.extra:
            rest = rest - q[-1] * self.rank_one
        if self.bordered:
            rest = rest + edge[-1] * self.rank_one
        x = self.inverse * rest
        x[self.free] = edge[: int(self.free.sum())]
        return x


def factor_positive(matrix: Matrix) -> tuple[Matrix, bool]:
    """Cholesky, with as little added to the diagonal as it takes."""
    scale = np.abs(np.diag(matrix)).copy()
    for exponent in (None, -14, -12, -10, -8, -6):
        trial = matrix.copy()
        if exponent is not None:
            where = np.arange(len(scale))
            trial[where, where] += 10.0**exponent * (scale + 1e-3 * scale.max())
        try:
            factor: tuple[Matrix, bool] = cho_factor(trial, lower=True, overwrite_a=True)
        except np.linalg.LinAlgError:
            continue
        return factor
    raise np.linalg.LinAlgError("the Newton system is not positive definite")


def solve_positive(matrix: Matrix, right: Vector) -> Vector:
    """Solution of a positive definite system, equilibrated first."""
    root = 1.0 / np.sqrt(np.maximum(np.diag(matrix), 1e-300))
    scaled = matrix * root[:, None] * root
    return np.asarray(root * cho_solve(factor_positive(scaled), root * right))
