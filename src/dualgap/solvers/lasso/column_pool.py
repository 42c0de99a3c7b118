"""Copies of columns in 4-byte numbers, rows weighted, and descent on them from a gradient that is exact."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dualgap.arrays import Index, Vector
from dualgap.design import Design
from dualgap.linalg.conjugate_gradients import conjugate_gradients

Short = NDArray[np.float32]
Penalty = tuple[Vector, Vector, Vector]

BLOCK = 1 << 16  # numbers copied at once, so that they stay in the cache: a fifth faster than all at once
FIRST = 1024  # columns that there is room for at first
SETTLED = 0.1  # steps of Newton begin where sweeps move gradients by less than this share of the prices
ROUGH = 1e-2  # and sweeps pause
SWEEPS, FEWER = 10, 2  # before the first step of Newton, and between two
TURNS = 8  # of Newton and sweeps, before the pool is given up for the curvature matrix
LONGEST = 60  # conjugate gradients: where a step takes more, the matrix is faster
FIRST_STEP, NEXT_STEP = 0.03, 1e-3  # accuracy of Newton: the first often changes signs


class ColumnPool:
    """The lines root ∘ x_j of some columns, one after another, in the order they came."""

    def __init__(self, design: Design, root: Vector) -> None:
        self.design, self.root = design, root
        self.columns: Index = np.zeros(0, dtype=np.int64)
        self.inside = np.zeros(design.shape[1], dtype=bool)
        self._lines: Short = np.empty((0, len(root)), dtype=np.float32)
        self._squares: Vector = np.zeros(0)

    @property
    def lines(self) -> Short:
        """One for each of `columns`."""
        return self._lines[: len(self.columns)]

    @property
    def squares(self) -> Vector:
        """|line|², one for each of `columns`."""
        return self._squares[: len(self.columns)]

    def add(self, new: Index) -> None:
        """Take in columns that are not inside."""
        if not len(new):
            return
        before, total = len(self.columns), len(self.columns) + len(new)
        if total > len(self._lines):
            capacity = max(total, 2 * len(self._lines), FIRST)
            lines, squares = np.empty((capacity, len(self.root)), dtype=np.float32), np.empty(capacity)
            lines[:before], squares[:before] = self.lines, self.squares
            self._lines, self._squares = lines, squares
        fresh = self._lines[before:total]
        self._fill(new, fresh)
        self._squares[before:total] = np.einsum("ij,ij->i", fresh, fresh)
        self.columns = np.concatenate([self.columns, new])
        self.inside[new] = True

    def _fill(self, new: Index, out: Short) -> None:
        step = max(1, BLOCK // len(self.root))
        for k in range(0, len(new), step):
            block = self.design.columns(new[k : k + step]).toarray()
            out[k : k + step] = block.T * self.root


class PoolDescent:
    """½ |r|² + Σ price_j |w_j| + ½ ridge_j w_j²  over the columns of a pool, w changed in place.

    `pull` is x_j·r at the start; `penalty` is (price, ridge, unit), the last what violations are measured in.
    """

    def __init__(self, pool: ColumnPool, w: Vector, pull: Vector, penalty: Penalty) -> None:
        self.lines, self.w, self.pull = pool.lines, w, pull
        self.price, self.ridge, self.unit = penalty
        self.curvature = pool.squares + self.ridge
        self.moved: Short = np.zeros(len(pool.root), dtype=np.float32)

    def sweep(self, factor: float, goal: float, sweeps: int) -> float:
        """At a multiple of the prices; how much the last sweep changed gradients, in units of the price."""
        from dualgap.solvers.lasso.pool_sweeps import descend_pool

        penalty = (factor * self.price, self.ridge, self.curvature, self.unit)
        budget = sweeps * len(self.w)
        return float(descend_pool(self.lines, self.moved, self.w, self.pull, penalty, (goal, budget)))

    def solve(self, goal: float) -> float:
        """At the full prices: sweeps until the support settles, then Newton and sweeps in turn."""
        worst = self.sweep(1.0, max(goal, ROUGH), SWEEPS)
        for turn in range(TURNS):
            if worst <= goal:
                break
            if worst < SETTLED and not self._newton(NEXT_STEP if turn else FIRST_STEP):
                break
            worst = self.sweep(1.0, goal, FEWER)
        return worst

    def _newton(self, accuracy: float) -> bool:
        """A step on the support, by conjugate gradients; coordinates that would change sign stop at zero.

        False where these took too many steps.
        """
        steps = 0
        support = np.flatnonzero(self.w)
        lines, here, price = self.lines[support], self.w[support], self.price[support]
        ridge = self.ridge[support].astype(np.float32)
        sign = np.sign(here)
        wanted = self.pull[support] + lines @ self.moved - self.ridge[support] * here - price * sign

        def apply(d: Vector) -> Vector:
            nonlocal steps
            steps += 1
            short = d.astype(np.float32)
            return np.asarray(lines @ (short @ lines) + ridge * short)

        step = conjugate_gradients(apply, wanted, np.ones(len(support)), accuracy, LONGEST)
        ahead = here + step
        crossing = (ahead * sign <= 0.0) & (price > 0.0)
        if crossing.any():
            ahead[crossing] = 0.0
            change = ahead - here
            if float(change @ wanted) <= 0.5 * float(change @ apply(change)):  # no descent: the first kink
                length = float((here[crossing] / -step[crossing]).min())
                ahead = here + length * step
                ahead[(ahead * sign <= 1e-6 * np.abs(here)) & crossing] = 0.0
        self.w[support] = ahead
        self.moved -= (ahead - here).astype(np.float32) @ lines
        return steps < LONGEST
