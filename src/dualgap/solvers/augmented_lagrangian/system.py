"""The Newton system (Xᵀ diag(h) X + diag(δ) + η + sign·r rᵀ) x = b, by columns or by rows."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from dualgap.arrays import Index, Mask, Matrix, Vector
from dualgap.design import Design
from dualgap.linalg.cholesky import Bordered, cholesky
from dualgap.solvers.augmented_lagrangian.weights import WeightCurve

SOFT = 1e-5  # stiffness, as a share of the largest, below which a coordinate counts as soft


class Grams:
    """Xᵀ diag(h) X; kept, since a quadratic loss asks for the same one in every step."""

    def __init__(self) -> None:
        self._asked: tuple[Design, Vector] | None = None

    def of(self, design: Design, h: Vector) -> Matrix:
        """A copy that may be written to."""
        if self._asked is None or self._asked[0] is not design or not np.array_equal(self._asked[1], h):
            self._asked, self._gram = (design, h), design.weighted_gram(h)
        return self._gram.copy()


@dataclass(frozen=True, eq=False)
class NewtonSystem:
    """δ, the penalty's diagonal, is zero where nothing but the proximal term `eta` > 0 holds a weight."""

    design: Design
    curvature: Vector
    penalty: WeightCurve
    eta: float
    grams: Grams = field(default_factory=Grams)

    def solve(self, right: Vector, free: Mask) -> Vector:
        """x, through the smaller of both systems."""
        live = np.flatnonzero(self.curvature > 0)
        if len(live) + np.count_nonzero(free) < self.design.shape[1]:
            return self._by_rows(right, live, free)
        return self._by_columns(right)

    def _by_columns(self, right: Vector) -> Vector:
        matrix = self.grams.of(self.design, self.curvature)
        self.penalty.add_to(matrix, self.eta)
        return cholesky(matrix)(right)

    def _by_rows(self, right: Vector, live: Index, free: Mask) -> Vector:
        rows = self.design if len(live) == self.design.shape[0] else self.design.rows(live)
        curvature = self.curvature[live]
        solver = _RowSolver(self, rows, curvature, self._soft(free, len(live)))
        x = solver.solve(right)
        return x + solver.solve(right - self._product(rows, curvature, x))

    def _soft(self, free: Mask, rows: int) -> Mask:
        """Coordinates that the rows hold, not their own stiffness; more than the rows they cannot be."""
        held = self.penalty.diagonal + self.eta
        soft = free | (held <= SOFT * held.max())
        return soft if np.count_nonzero(soft) <= rows else free

    def _product(self, rows: Design, curvature: Vector, x: Vector) -> Vector:
        return self.penalty.times(x) + self.eta * x + rows.transpose_matvec(curvature * rows.matvec(x))


class _RowSolver:
    """Woodbury over the rows with curvature.

    With q = diag(h) X x the system is (h⁻¹ + X Δ⁻¹ Xᵀ) q = X Δ⁻¹ b, Δ = δ + η. A positive rank one is one
    more row of curvature 1. Soft coordinates, whose Δ⁻¹ would swamp all digits, are columns beside the
    kernel. So is a negative rank one, with the pivot 1 − rᵀΔ⁻¹r = Σ (r²/δ) η/(δ + η), since Σ r²/δ = 1:
    written so, nothing cancels.
    """

    def __init__(self, system: NewtonSystem, rows: Design, curvature: Vector, soft: Mask) -> None:
        self.rows, self.soft = rows, soft
        penalty = system.penalty
        held = penalty.diagonal + system.eta
        self.inverse = np.where(soft, 0.0, 1.0 / held)
        self.rank_one = penalty.rank_one
        self.extra = self.rank_one is not None and penalty.sign > 0
        self.falls = self.rank_one is not None and penalty.sign < 0
        pivots = self._pivots(system, held)
        self.bordered = Bordered(cholesky(self._kernel(curvature)), self._border(), pivots)

    def _across(self) -> Vector:
        """X Δ⁻¹ r."""
        assert self.rank_one is not None
        return self.rows.matvec(self.inverse * self.rank_one)

    def _kernel(self, curvature: Vector) -> Matrix:
        kernel = self.rows.weighted_outer(self.inverse)
        kernel.flat[:: len(curvature) + 1] += 1.0 / curvature
        if not self.extra or self.rank_one is None:
            return kernel
        cross = self._across()[:, None]
        corner = np.array([[1.0 + float(self.rank_one @ (self.inverse * self.rank_one))]])
        return np.block([[kernel, cross], [cross.T, corner]])

    def _border(self) -> Matrix:
        """The columns beside the kernel."""
        count = int(np.count_nonzero(self.soft))
        border = self.rows.columns(self.soft).toarray() if count else np.zeros((self.rows.shape[0], 0))
        if self.extra and self.rank_one is not None:
            border = np.vstack([border, self.rank_one[self.soft]])
        return np.column_stack([border, self._across()]) if self.falls else border

    def _pivots(self, system: NewtonSystem, held: Vector) -> Matrix:
        """The block below the border."""
        pivots = np.diag(held[self.soft])
        if not self.falls or self.rank_one is None:
            return pivots
        share = np.zeros_like(held)
        np.divide(self.rank_one**2, system.penalty.diagonal, out=share, where=self.rank_one != 0)
        corner = float(share[self.soft].sum() + (share * system.eta) @ self.inverse)
        edge = -self.rank_one[self.soft][:, None]
        return np.block([[pivots, edge], [edge.T, np.array([[corner]])]])

    def solve(self, right: Vector) -> Vector:
        """One solution, without refinement."""
        first = self.inverse * right
        along = 0.0 if self.rank_one is None else float(self.rank_one @ first)
        target = self.rows.matvec(first)
        if self.extra:
            target = np.append(target, along)
        wanted = np.append(right[self.soft], along) if self.falls else right[self.soft]
        q, edge = self.bordered.solve(target, wanted)
        rest = right - self.rows.transpose_matvec(q[: self.rows.shape[0]])
        if self.rank_one is not None:
            rest = rest - (q[-1] if self.extra else edge[-1]) * self.rank_one
        x = self.inverse * rest
        x[self.soft] = -edge[: int(np.count_nonzero(self.soft))]
        return x
