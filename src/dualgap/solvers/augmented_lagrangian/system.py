"""The Newton system (Xᵀ diag(h) X + diag(δ) + η + r rᵀ − Σ c cᵀ) x = b, by columns or by rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from dualgap.arrays import Index, Mask, Matrix, Vector
from dualgap.design import Design
from dualgap.linalg.cholesky import Bordered, Solve, cholesky
from dualgap.linalg.conjugate_gradients import conjugate_steps
from dualgap.solvers.augmented_lagrangian.weights import WeightCurve

SOFT = 1e-5  # stiffness, as a share of the largest, below which a coordinate counts as soft
BLOCKED = 40.0  # operations of a dense factor in the time of one with a sparse row
LEAST = 50  # conjugate gradients that must fit into the time of a factor
MOST = 500  # of them in a step where they are alone
ACCURACY = 1e-3  # relative residual of theirs
# The same where they are alone: kinks are crossed one after the other, however exact the steps are. Logistic
# loss under a bound on linf, 4853 × 8005, took 11,000 products in place of 35,000, and a tenth more steps.
ALONE = 0.1
SHORT = 1e-12  # of one: below, it is the rounding of a sum that is one
LARGE = 1000  # columns from which on a factor in 4-byte numbers takes a third of the time
ROUGHLY = 30  # gradients that make it good, at most: a choice, always enough in 259 steps on sparse lp(3)

Factored = Callable[[Matrix], Solve]


class Grams:
    """Xᵀ diag(h) X; kept, since a quadratic loss asks for the same one in every step.

    Also whether conjugate gradients are worth another trial: after each failure twice as many steps go by.
    Where they are `alone`, nothing else is tried, and the first failure ends it, or so many products.
    """

    def __init__(self, alone: float = 0.0) -> None:
        self.alone, self.given_up, self.products = alone > 0.0, False, 0
        self._all = alone
        self.single = True  # factors by rows in 4-byte numbers; once these fail, later rounds are stiffer
        self._asked: tuple[Design, Vector] | None = None
        self._roughly: tuple[Design, Design] | None = None
        self._pause, self._next = 0, 1

    @property
    def trying(self) -> bool:
        """Is it time for conjugate gradients?"""
        self._pause = max(self._pause - 1, 0)
        return self._pause == 0

    def learn(self, reached: bool) -> None:
        """Did they do?"""
        self.given_up = self.alone and self.products > self._all
        self._next = 1 if reached else 2 * self._next
        self._pause = 0 if reached else self._next

    def rough(self, design: Design) -> Design:
        """Products in 4-byte numbers, which are enough for a step."""
        if self._roughly is None or self._roughly[0] is not design:
            self._roughly = design, design.rough()
        return self._roughly[1]

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
        """x, through the smaller of both systems, or without either where products are much cheaper."""
        live = np.flatnonzero(self.curvature > 0)
        most = MOST if self.grams.alone else self._gradients(len(live))
        if most >= LEAST and self.grams.trying and not self.grams.given_up:
            found = self._by_gradients(right, most)
            self.grams.learn(found is not None)
            if found is not None:
                return found
        if self.grams.alone:  # no way down, as the caller sees it
            self.grams.given_up = True
            return np.zeros_like(right)
        if len(live) + np.count_nonzero(free) < self.design.shape[1]:
            return self._by_rows(right, live, free)
        return self._by_columns(right)

    def _gradients(self, live: int) -> int:
        """How many products with the matrix take half as long as the smaller factor."""
        n, p = self.design.shape
        factor = float(min(live + 1, p)) ** 3 / 3.0 / BLOCKED
        return int(0.5 * factor / (4.0 * self.design.stored + 20.0 * (n + p)))

    def _by_gradients(self, right: Vector, most: int, divide: Solve | None = None) -> Vector | None:
        """x by conjugate gradients; None where so many do not do."""
        diagonal = self.design.weighted_square_norms(self.curvature) + self.penalty.diagonal + self.eta

        rough = self.grams.rough(self.design)

        def apply(x: Vector) -> Vector:
            return self.penalty.times(x) + self.eta * x + rough.curved(self.curvature, x)[0]

        accuracy = ALONE if self.grams.alone else ACCURACY
        steps = conjugate_steps(apply, right, diagonal, accuracy, most, divide)
        for _ in range(most):
            self.grams.products += 1
            try:
                next(steps)
            except StopIteration as end:
                return np.asarray(end.value)
        return None

    def _by_columns(self, right: Vector) -> Vector:
        matrix = self.grams.of(self.design, self.curvature)
        self.penalty.add_to(matrix, self.eta)
        if len(right) < LARGE:
            return cholesky(matrix)(right)
        found = self._by_gradients(right, ROUGHLY, _roughly(matrix))
        return found if found is not None else cholesky(matrix)(right)

    def _by_rows(self, right: Vector, live: Index, free: Mask) -> Vector:
        rows = self.design if len(live) == self.design.shape[0] else self.design.rows(live)
        curvature, soft = self.curvature[live], self._soft(free, len(live))
        if len(live) >= LARGE and self.grams.single:
            found = self._by_gradients(
                right, ROUGHLY, _RowSolver(self, rows, curvature, soft, _roughly).solve
            )
            if found is not None:
                return found
            self.grams.single = False
        solver = _RowSolver(self, rows, curvature, soft, cholesky)
        x = solver.solve(right)
        return x + solver.solve(right - self._product(rows, curvature, x))

    def _soft(self, free: Mask, rows: int) -> Mask:
        """Coordinates that the rows hold, not their own stiffness; more than the rows they cannot be."""
        held = self.penalty.diagonal + self.eta
        soft = free | (held <= SOFT * held.max())
        return soft if np.count_nonzero(soft) <= rows else free

    def _product(self, rows: Design, curvature: Vector, x: Vector) -> Vector:
        return self.penalty.times(x) + self.eta * x + rows.transpose_matvec(curvature * rows.matvec(x))


def _roughly(matrix: Matrix) -> Solve:
    """By a factor in 4-byte numbers, of the matrix with ones on its diagonal."""
    root = 1.0 / np.sqrt(matrix.diagonal())
    scaled = np.empty(matrix.shape, dtype=np.float32)
    np.multiply(matrix, root, out=scaled, casting="same_kind")
    scaled *= root.astype(np.float32)[:, None]
    solve = cholesky(scaled)

    def divide(r: Matrix) -> Matrix:
        spread = root if r.ndim == 1 else root[:, None]
        return spread * solve(spread * r)

    return divide


class _RowSolver:
    """Woodbury over the rows with curvature.

    With q = diag(h) X x the system is (h⁻¹ + X Δ⁻¹ Xᵀ) q = X Δ⁻¹ b, Δ = δ + η. A positive rank one is one
    more row of curvature 1. Soft coordinates, whose Δ⁻¹ would swamp all digits, are columns beside the
    kernel. So is each block c that is subtracted, with the pivot 1 − cᵀΔ⁻¹c = Σ (c²/δ) η/(δ + η), since
    Σ c²/δ = 1: written so, nothing cancels. Where bounds hold some of the weights, what Σ c²/δ is short of
    1 is added.
    """

    def __init__(
        self, system: NewtonSystem, rows: Design, curvature: Vector, soft: Mask, factored: Factored
    ) -> None:
        self.rows, self.soft = rows, soft
        penalty = system.penalty
        held = penalty.diagonal + system.eta
        self.inverse = np.where(soft, 0.0, 1.0 / held)
        self.extra = penalty.rank_one
        self.falls = np.zeros((len(held), 0)) if penalty.blocks is None else penalty.blocks.columns()
        pivots = self._pivots(system, held)
        self.bordered = Bordered(factored(self._kernel(curvature)), self._border(), pivots)

    def _kernel(self, curvature: Vector) -> Matrix:
        kernel = self.rows.weighted_outer(self.inverse)
        kernel.flat[:: len(curvature) + 1] += 1.0 / curvature
        if self.extra is None:
            return kernel
        cross = self.rows.matvec(self.inverse * self.extra)[:, None]
        corner = np.array([[1.0 + float(self.extra @ (self.inverse * self.extra))]])
        return np.block([[kernel, cross], [cross.T, corner]])

    def _border(self) -> Matrix:
        """The columns beside the kernel: X on soft coordinates, and X Δ⁻¹ c."""
        soft, inner = self.rows.columns(self.soft).toarray(), self.inverse[:, None] * self.falls
        falls = self.rows.matvecs(inner.T).T if inner.shape[1] else np.zeros((self.rows.shape[0], 0))
        border = np.column_stack([soft, falls])
        if self.extra is None:
            return border
        return np.vstack([border, np.append(self.extra[self.soft], self.extra @ inner)])

    def _pivots(self, system: NewtonSystem, held: Vector) -> Matrix:
        """The block below the border."""
        pivots, falls = np.diag(held[self.soft]), self.falls
        share = np.divide(
            falls * falls, system.penalty.diagonal[:, None], out=np.zeros_like(falls), where=falls != 0
        )
        corner = share[self.soft].sum(axis=0) + (system.eta * self.inverse) @ share
        short = 1.0 - share.sum(axis=0)
        corner = corner + np.where(short > SHORT, short, 0.0)
        edge = -falls[self.soft]
        return np.block([[pivots, edge], [edge.T, np.diag(corner)]])

    def solve(self, right: Vector) -> Vector:
        """One solution, without refinement."""
        first = self.inverse * right
        target = self.rows.matvec(first)
        if self.extra is not None:
            target = np.append(target, float(self.extra @ first))
        q, edge = self.bordered.solve(target, np.append(right[self.soft], first @ self.falls))
        rest = right - self.rows.transpose_matvec(q[: self.rows.shape[0]])
        if self.extra is not None:
            rest = rest - q[-1] * self.extra
        count = int(np.count_nonzero(self.soft))
        x = self.inverse * (rest - self.falls @ edge[count:])
        x[self.soft] = -edge[:count]
        return x
