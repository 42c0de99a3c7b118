"""Where no penalised weight can lower the loss, zero is best at every λ."""

from __future__ import annotations

import numpy as np

from dualgap.arrays import Index, Matrix, Vector
from dualgap.paths.curve import SolutionCurve
from dualgap.paths.family import Pair


class ZeroCurve(SolutionCurve):
    """One answer for every λ: every penalised weight zero, the free ones at their best."""

    def __init__(self, answer: Pair, lams: Vector | None) -> None:
        self.answer = answer
        self.breaks = lams is None
        self.lams = np.zeros(1) if lams is None else lams

    def weights(self) -> Matrix:
        return np.tile(self.answer.w, (len(self.lams), 1))

    def thetas(self, which: Index) -> Matrix | None:
        return None if self.answer.theta is None else np.tile(self.answer.theta, (len(which), 1))

    def pair(self, lam: float) -> Pair:
        return self.answer

    def pair_within(self, budget: float) -> tuple[Pair, float]:
        return self.pair(0.0), 0.0
