"""Points so close that, for every λ between them, the nearest one is proven within a promised relative gap.

A solution (w, θ) at λ proves something at every other λ' too. The objective of w there is R(w) + λ'·h(w),
linear in λ'. For a norm, tθ with t = min(1, λ'/‖Xᵀθ‖*) is feasible, and since the dual is concave and
D(0) ≥ 0, D(tθ) ≥ t·D(θ). For squares and the elastic net θ itself is feasible at every λ', and so is tθ; the
better of the two is taken. Every bound is a valid one, so that the promise needs no assumption.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dualgap.arrays import Index, Matrix, Vector
from dualgap.paths.grid import Point, Walk, multiplier
from dualgap.paths.setting import Pair
from dualgap.problem.problem import SMALL, Problem

SHARE = 0.1  # of the promised gap that the solutions themselves may use up
TOLERANCE = 1e-2  # of the bisection for how far a solution reaches, relative, in log λ
SHORTEST = 1.0 - 1e-5  # a step is at least this long, also where a solve misses its share of the promise
MOST = 100_000


@dataclass(frozen=True, eq=False)
class Reach:
    """What one solution proves at other strengths, in numbers alone: O(p) a question."""

    problem: Problem
    lam: float
    risk: float
    size: float  # h(w)
    v: Vector  # Xᵀθ
    loss: float  # −Σ a L*(−θ/a), the part of the dual that knows no λ
    null: float

    def gap(self, lam: float) -> float:
        """The proven relative gap of these weights at λ."""
        primal = self.risk + lam * self.size
        best = max(self._dual(lam, share) for share in self._shares(lam))
        return max(primal - best, 0.0) / max(abs(primal), SMALL * self.null)

    def share(self, lam: float) -> float:
        """The multiple of θ that proves most at λ."""
        return max(self._shares(lam), key=lambda share: self._dual(lam, share))

    def _shares(self, lam: float) -> tuple[float, ...]:
        return (1.0, lam / self.lam) if lam < self.lam else (1.0,)

    def _dual(self, lam: float, share: float) -> float:
        """D(share·θ) at λ, bounded by concavity: share·(loss part) − g*(share·v), drawn in where it must be."""
        gauge = self.problem.regulariser.gauge
        share *= gauge.penalised_scale(share * self.v, lam)
        return share * self.loss - gauge.penalised_conjugate(share * self.v, lam)


def reach(problem: Problem, point: Point) -> Reach:
    """See Reach; `problem` is the working problem at the point's λ."""
    w, theta = point.pair.w, point.pair.theta
    assert theta is not None
    theta, v = problem.feasible(theta)
    loss = -float(problem.a @ problem.loss.conjugate(problem.y, -theta / problem.a))
    gauge = problem.regulariser.gauge
    return Reach(
        problem, point.lam, problem.risk(problem.predict(w)), gauge.value(w), v, loss, abs(problem.null)
    )


def cover(walk: Walk, top: float, end: float, promise: float) -> list[tuple[Point, Reach]]:
    """Points from top to end; half way, by either mean, each reaches its neighbour's half."""
    points = [_reaching(walk, top)]
    while points[-1][0].lam > end and len(points) < MOST:
        here = points[-1]
        far = _farthest(here[1], end, promise)
        ahead = max(min(far * far / here[0].lam, SHORTEST * here[0].lam), end)
        for _ in range(60):
            there = _reaching(walk, ahead)
            if there[1].gap(0.5 * (here[0].lam + ahead)) <= promise or ahead >= SHORTEST * here[0].lam:
                break
            ahead = float(np.sqrt(here[0].lam * ahead))
        points.append(there)
    return points


def _reaching(walk: Walk, lam: float) -> tuple[Point, Reach]:
    point = walk.point(lam)
    return point, reach(walk.setting.at(lam).problem, point)


def _farthest(here: Reach, end: float, promise: float) -> float:
    """The smallest λ down to which the promise holds: it holds on an interval, so bisection finds its end."""
    if here.gap(end) <= promise:
        return end
    low, high = np.log(end), np.log(here.lam)
    while high - low > TOLERANCE * (np.log(here.lam) - high) + 1e-9:
        middle = 0.5 * (low + high)
        low, high = (low, middle) if here.gap(np.exp(middle)) <= promise else (middle, high)
    return float(np.exp(high))


class Covering:
    """The curve that answers with the nearest of its points, proven within the promise."""

    exact, breaks = False, False

    def __init__(self, walk: Walk, top: float, end: float, promise: float) -> None:
        self.walk, self.promise = walk, promise
        self._points = cover(walk, top, end, promise * (1.0 - 1e-6))
        self.lams = np.array([point.lam for point, _ in self._points])

    def weights(self) -> Matrix:
        return np.array([point.pair.w for point, _ in self._points])

    def thetas(self, which: Index) -> Matrix:
        return np.array([self._points[k][0].pair.theta for k in which])

    def pair(self, lam: float) -> Pair:
        """The nearest point inside the range; outside it, a solve."""
        if not self.lams[-1] <= lam <= self.lams[0]:
            return self.walk.point(lam).pair
        point, known = self._points[int(np.argmin(np.abs(self.lams - lam)))]
        assert point.pair.theta is not None
        return Pair(point.pair.w, point.pair.theta * known.share(lam))

    def pair_within(self, budget: float) -> tuple[Pair, float]:
        point, working = self.walk.within(budget)
        return point.pair, multiplier(working.problem, point.pair)
