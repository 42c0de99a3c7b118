"""Where w = 0 loses nothing, it is best at every λ."""

from __future__ import annotations

import numpy as np

from dualgap.arrays import Index, Matrix, Vector
from dualgap.paths.setting import Pair
from dualgap.problem.problem import Problem


class Constant:
    """One answer for every λ: w = 0 and the best intercept."""

    exact = True

    def __init__(self, problem: Problem, lams: Vector | None) -> None:
        self.problem = problem
        self.breaks = lams is None
        self.lams = np.zeros(1) if lams is None else lams

    def weights(self) -> Matrix:
        return np.tile(self.problem.null_weights, (len(self.lams), 1))

    def thetas(self, which: Index) -> Matrix:
        return np.tile(self.problem.null_dual, (len(which), 1))

    def pair(self, lam: float) -> Pair:
        return Pair(self.problem.null_weights, self.problem.null_dual)

    def pair_within(self, budget: float) -> tuple[Pair, float]:
        return self.pair(0.0), 0.0
