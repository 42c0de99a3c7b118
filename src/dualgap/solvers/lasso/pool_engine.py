"""Coordinate descent over a pool of columns in 4-byte numbers, for a quadratic loss and dense columns."""

from __future__ import annotations

import numpy as np

from dualgap.arrays import Index, Vector
from dualgap.linalg.cholesky import cholesky
from dualgap.solvers.lasso.column_pool import ColumnPool, PoolDescent
from dualgap.solvers.lasso.gram_engine import MOST_UNPRICED
from dualgap.solvers.lasso.priced_point import PricedPoint
from dualgap.solvers.lasso.working_gram import WorkingGram
from dualgap.traits import Trait

LEAST = 50  # columns; the curvature matrix of fewer costs nothing
EDGE = 0.8  # share of its price that a column must be worth to be taken in
ROOM, GROWTH = 1000, 2.0  # columns taken in at once: at most 1000 and twice the support,
CACHE = 4e6  # but no more than make this many numbers, 16 MB: sweeps read them again and again
SWEEPS = 6  # at each multiple of the prices on the way down, at most,
COARSE = 1e-2  # until gradients change by less than this share of the prices
FINEST = 1e-8  # relative gap; below it rounds of 4-byte numbers are too many, and their weights too rough
DIGITS = 1e-6  # share of the violations that 4-byte numbers leave in one round, at best
FAR = 0.5  # while violations are beyond this share of the price columns are missing, and exactness is wasted


class PoolEngine:
    """Sweeps over copies of the columns that may matter, thousands of them, and Newton on the support.

    The gradient at the start of a round is exact; sweeps add to it what the weights have moved since, so
    that 4-byte numbers, half the memory and twice the speed, cost digits of the move only.
    """

    def __init__(self, point: PricedPoint, wanted: float) -> None:
        problem = point.problem
        self.point, self.wanted = point, wanted
        dense = WorkingGram.keeps_dense(problem.design)
        free = len(point.unpriced)
        fits = dense and problem.p - free > LEAST and free <= MOST_UNPRICED
        self.ready = fits and wanted >= FINEST and problem.loss_has(Trait.QUADRATIC)
        if self.ready:
            curvature = problem.a * problem.loss.second_derivative(problem.y, point.z)
            self.pool = ColumnPool(problem.design, np.sqrt(curvature))
            self._eliminate(curvature)

    def _eliminate(self, curvature: Vector) -> None:
        """The unpriced columns are swept like the others, and settled exactly after each round."""
        point = self.point
        if len(point.unpriced):
            self.free = point.problem.design.columns(point.unpriced)
            block = self.free.weighted_gram(curvature)
            block[np.diag_indices_from(block)] += point.ridge[point.unpriced]
            self._solve_free = cholesky(block)
            self.pool.add(point.unpriced)

    @property
    def room(self) -> tuple[int, float]:
        """How many columns may be taken in at once: a number, and a multiple of the support."""
        return int(min(ROOM, max(LEAST, CACHE / self.point.problem.n))), GROWTH

    def improve(self, working: Index, residual: Vector) -> None:
        """One round, at prices that fall by halves to the ones of the point."""
        point, pool = self.point, self.pool
        pool.add(working[~pool.inside[working]])
        which = pool.columns
        w, ridge = point.w[which], point.ridge[which]
        penalty = (point.price[which], ridge, point.unit[which])
        descent = PoolDescent(pool, w, residual[which] + ridge * w, penalty)
        for factor in self._falling():
            descent.sweep(factor, COARSE, SWEEPS)
        if point.factor == 1.0:
            goal = self._goal(residual)
            left = descent.solve(goal)
            self.ready = left <= goal
        point.w[which] = w
        point.z = point.problem.design.matvec(point.w)
        self._settle()

    def _falling(self) -> list[float]:
        """Multiples of the prices on the way, the last one too unless it is 1."""
        factors = [self.point.factor]
        while 2.0 * factors[-1] < 0.99 * self.point.before:
            factors.append(2.0 * factors[-1])
        return [factor for factor in reversed(factors) if factor > 1.0]

    def _goal(self, residual: Vector) -> float:
        """The violation that leaves a tenth of the gap that is wanted; no less while columns are missing.

        The gap is of first order in violations where a price stands alone, and of second beside a ridge.
        """
        point = self.point
        off = point.violation(residual)
        if off > FAR:
            return COARSE
        ridge = float(np.min(point.ridge[point.price > 0.0]))
        room = 0.2 * self.wanted * point.objective() * ridge / max(1, int(np.count_nonzero(point.w)))
        enough = max(0.1 * self.wanted, float(np.sqrt(room)) / float(np.max(point.price)))
        return max(DIGITS * off, min(enough, 0.1 * off))  # it was not enough if we are here again

    def _settle(self) -> None:
        point, free = self.point, self.point.unpriced
        if len(free):
            pull = self.free.transpose_matvec(point.problem.slope(point.z))
            change = self._solve_free(pull - point.ridge[free] * point.w[free])
            point.w[free] += change
            point.z = point.z + self.free.matvec(change)
