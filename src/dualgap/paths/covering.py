"""Points so close that, for every λ between them, the nearest one is proven within a promised relative gap.

The objective of fixed weights, R(w) + λ·h(w), is linear in λ: a tangent of the optimal value, from above. The
dual value is jointly concave in (θ, λ), because (λh)*(v) = λ·h*(v/λ) is a perspective; so between λ₁ and λ₂

    D(τλ₁ + (1−τ)λ₂, τθ₁ + (1−τ)θ₂)  ≥  τ D(λ₁, θ₁) + (1−τ) D(λ₂, θ₂):

a chord of the optimal value, from below. Both cost O(1) from three numbers per point, and the gap between
them, a linear function over a linear one, is largest half way. It shrinks with the square of the distance.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dualgap.paths.family import Pair
from dualgap.paths.grid import GridCurve, PathPoint, Walk
from dualgap.proof.statement import SMALL

SHARE = 0.1  # of the promised gap that the solutions themselves may use up
FIRST = 0.7  # ratio of the first two strengths: a choice, the next ones follow from the gaps seen
SHORTEST = 0.9999  # the largest ratio of two strengths, also where a solve misses its share of the promise
LONGEST = 0.1  # the smallest ratio: a choice, so that an easy stretch does not end in many shorter trials


@dataclass(frozen=True, eq=False)
class Mark:
    """A solution in three numbers: the loss, h, and the dual value at its own λ."""

    point: PathPoint
    risk: float
    size: float
    dual: float

    @property
    def lam(self) -> float:
        """The strength it was solved at."""
        return self.point.lam


def cover(walk: Walk, top: float, end: float, promise: float) -> list[Mark]:
    """Points from top to end that keep the promise everywhere between."""
    marks, ratio = [_mark(walk, top)], FIRST
    while marks[-1].lam > end and not walk.limits.spent:
        here = marks[-1]
        there = _mark(walk, max(here.lam * ratio, end))
        worst = _worst(walk, here, there)
        while worst > promise and there.lam < SHORTEST * here.lam:
            ratio = (there.lam / here.lam) ** _shortened(promise, worst)
            there = _mark(walk, here.lam * min(ratio, SHORTEST))
            worst = _worst(walk, here, there)
        if worst > promise and walk.limits.spent:
            break
        marks.append(there)
        longer = min(2.0, 0.9 * np.sqrt(promise / max(worst, 1e-3 * promise)))
        ratio = min(max((there.lam / here.lam) ** longer, LONGEST), SHORTEST)
    return marks


def _shortened(promise: float, worst: float) -> float:
    """By how much to shorten a step, in log λ: the gap goes with its square."""
    return float(max(0.8 * np.sqrt(promise / worst), 0.1))


def _mark(walk: Walk, lam: float) -> Mark:
    """What the kernel says of the point, in working units; its objective is the loss and λ times h."""
    point = walk.point(lam)
    unit, asked = walk.family.unit, walk.family.at(lam).asked
    size = asked.regulariser.gauge.value(point.proof.w)
    return Mark(point, point.proof.primal / unit - lam * size, size, point.proof.dual / unit)


def _worst(walk: Walk, high: Mark, low: Mark) -> float:
    """The largest proven gap of the nearest of two points, nearest by difference or by ratio."""
    null = abs(walk.family.problem.null)
    middle, ratio = 0.5 * (high.lam + low.lam), float(np.sqrt(high.lam * low.lam))
    return max(
        _gap(high, ratio, _chord(high, low, ratio), null),
        _gap(low, middle, _chord(high, low, middle), null),
    )


def _chord(high: Mark, low: Mark, lam: float) -> float:
    share = (lam - low.lam) / (high.lam - low.lam)
    return share * high.dual + (1.0 - share) * low.dual


def _gap(mark: Mark, lam: float, dual: float, null: float) -> float:
    primal = mark.risk + lam * mark.size
    return (primal - dual) / max(abs(primal), SMALL * null)


class CoveringCurve(GridCurve):
    """The curve that answers with the nearest of its points, proven within the promise."""

    def __init__(self, walk: Walk, top: float, end: float, promise: float) -> None:
        points = [mark.point for mark in cover(walk, top, end, promise * (1.0 - 1e-6))]
        super().__init__(walk, points, stopped=points[-1].lam > end)
        self.promise = promise

    def pair(self, lam: float) -> Pair:
        """The weights of the nearest point with the dual point between both; outside the range, a solve."""
        if not self.lams[-1] <= lam <= self.lams[0]:
            return super().pair(lam)
        k = int(np.searchsorted(-self.lams, -lam, side="right")) - 1
        high, low = self.points[k], self.points[min(k + 1, len(self.points) - 1)]
        share = (lam - low.lam) / (high.lam - low.lam) if high is not low else 1.0
        assert high.pair.theta is not None
        assert low.pair.theta is not None
        nearest = high if high.lam - lam <= lam - low.lam else low
        return Pair(nearest.pair.w, share * high.pair.theta + (1.0 - share) * low.pair.theta)
