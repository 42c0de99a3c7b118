"""A curved loss with squares in the penalty: weights are rational in λ, and solved exactly at any λ asked.

On a fixed set of active weights and pieces, (H + 2λ·l2) w = g − λ·l1·sign; the engine finds the set by a tilt
that starts at the answer for the λ before.
"""

from __future__ import annotations

import numpy as np

from dualgap.arrays import Matrix, Vector
from dualgap.drive.limits import Limits
from dualgap.drive.turns import in_turn
from dualgap.paths.curve import SolutionCurve
from dualgap.paths.family import Pair
from dualgap.paths.homotopy.course import ARRIVED, SIZE
from dualgap.paths.homotopy.engine import Engine

NEAR = 1e-13  # a budget met this closely, relative, is met
ROUNDS = 60  # of Newton with a bracket: bisection alone would need as many for all digits
VANISHING = 1e-12  # a λ below this share of the largest shown counts as zero


class RationalCurve(SolutionCurve):
    """An engine that goes from λ to λ."""

    def __init__(self, engine: Engine, lams: Vector) -> None:
        self.engine = engine
        found = [self._solved(float(lam)) for lam in in_turn(lams, engine.limits)]
        if len(found) > 1 and engine.limits.spent:
            found.pop()  # half done
        self.lams, self._weights = lams[: len(found)], np.array(found)
        self.stopped = len(found) < len(lams)
        self.engine.limits = Limits()  # what is asked for later has all its time

    def _solved(self, lam: float) -> Vector:
        """The working weights at λ; from the start again where the way from the last λ fails."""
        if self.engine.solve(lam) != ARRIVED:
            engine = self.engine
            self.engine = Engine(engine.problem, engine.seed + 1, engine.columns, engine.limits)
            self.engine.start()
            self.engine.solve(lam)
        return self.engine.columns.working(self.engine.answer()[0])

    def weights(self) -> Matrix:
        return self._weights

    def pair(self, lam: float) -> Pair:
        return Pair(self._solved(max(lam, self._least)), None)

    @property
    def _least(self) -> float:
        return VANISHING * float(self.lams[0])

    def pair_within(self, budget: float) -> tuple[Pair, float]:
        """Newton on λ, safeguarded: h falls, and its derivative is −qᵀGq with q the slope of h."""
        low, high = self._least, np.inf
        lam = float(self.lams[len(self.lams) // 2])
        w = self._solved(lam)
        for _ in range(ROUNDS):
            excess, fall = self._size()
            excess -= budget
            if abs(excess) <= NEAR * budget:
                break
            low, high = (lam, high) if excess > 0.0 else (low, lam)
            ahead = lam + excess / fall if fall > 0.0 else np.inf
            if not low < ahead < high:
                ahead = 4.0 * lam if np.isinf(high) else float(np.sqrt(low * high))
            if abs(ahead - lam) <= NEAR * lam or high <= 1.01 * self._least:
                break
            lam = ahead
            w = self._solved(lam)
        return Pair(w, None), lam if high > 1.01 * self._least else 0.0

    def _size(self) -> tuple[float, float]:
        """h at the present answer, and how fast it falls with λ."""
        course, columns = self.engine.course, self.engine.columns
        size = int(course.count[SIZE])
        keys, w = course.keys[:size], course.slot[2, :size]
        l1, l2 = columns.l1[keys], columns.l2[keys]
        slope = l1 * course.sign[keys] + 2.0 * l2 * w
        G = np.tril(course.inverse[:size, :size])
        pushed = G @ slope + np.tril(G, -1).T @ slope
        return float(l1 @ np.abs(w) + l2 @ (w * w)), float(slope @ pushed)
