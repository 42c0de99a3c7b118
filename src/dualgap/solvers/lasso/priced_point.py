"""A point of   Σ a L(y, Xw) + Σ price_j |w_j| + ½ ridge_j w_j²,   and moves of it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dualgap.arrays import Index, Vector
from dualgap.drive.solver import Iterate
from dualgap.linalg.line_search import convex_step
from dualgap.problem.problem import Problem
from dualgap.solvers.prices import prices


class PricedPoint:
    """w with z = Xw. `factor` multiplies the prices while a continuation runs, and is 1 at its end.

    `before` is the factor of the round before.
    """

    def __init__(self, problem: Problem, w: Vector) -> None:
        self.problem = problem
        self.price, self.ridge = prices(problem)
        self.unpriced: Index = np.flatnonzero(self.price == 0.0)
        self.unit = self.price.copy()  # what violations are measured in
        self.unit[self.unpriced] = float(self.price.max())
        self.w, self.z = w.copy(), problem.predict(w)
        self.factor = self.before = 1.0

    def dual(self, start: Iterate | None = None) -> tuple[Vector, Vector]:
        """θ, the negative slopes of the loss, and Xᵀθ, from the start where that knows it."""
        theta = self.problem.slope(self.z)
        known = self.problem.correlation(theta) if start is None else start.correlated(self.problem, theta)
        return theta, known

    def violation(self, residual: Vector) -> float:
        """How far the point is from optimal at the full prices, relative to them."""
        off = np.abs(residual)
        off -= self.price
        support = np.flatnonzero(self.w != 0.0)
        off[support] = np.abs(residual[support] - self.price[support] * np.sign(self.w[support]))
        off /= self.unit
        return float(np.max(off, initial=0.0))

    def advance(self, which: Index, change: Vector, along: Vector) -> float:
        """Move by a step of s·change on these coordinates, `along` being X change; s is returned."""
        step = convex_step(self._slope_along(which, change, along))
        if step > 0.0:
            self.w[which] += step * change
            self.z = self.z + step * along
        return step

    def _slope_along(self, which: Index, change: Vector, along: Vector) -> Callable[[float], float]:
        """The derivative of the objective at w + s·change: to the right at 0, the least one at a kink."""
        here, ridge = self.w[which], self.ridge[which]
        weight = self.factor * self.price[which] * change

        def slope(s: float) -> float:
            ahead = here + s * change
            smooth = float(-self.problem.slope(self.z + s * along) @ along)
            middle = smooth + float((ridge * ahead) @ change) + float(weight @ np.sign(ahead))
            jump = float(np.abs(weight[ahead == 0.0]).sum())
            return middle + jump if s == 0.0 else middle - min(max(middle, -jump), jump)

        return slope

    def objective(self) -> float:
        """The objective at the full prices."""
        size = float(self.price @ np.abs(self.w)) + 0.5 * float(self.ridge @ (self.w * self.w))
        return self.problem.risk(self.z) + size
