"""The curve that the engine traced: linear in λ, linear in 1/λ, or constant between breakpoints."""

from __future__ import annotations

import numpy as np

from dualgap.arrays import Index, Matrix, Vector
from dualgap.paths.curve import SolutionCurve
from dualgap.paths.family import Pair
from dualgap.paths.homotopy.trace import PathTrace, Place

HUGE = 1e-12  # natural size over λ, where λ counts as infinite


class TracedCurve(SolutionCurve):
    """A trace as a curve, ending at the λ asked for or, where `points` are given, shown at those."""

    def __init__(self, trace: PathTrace, points: Vector | None = None) -> None:
        self.trace, self.complete, self.stopped = trace, trace.complete or trace.stopped, trace.stopped
        self.inverse, self.constant = trace.inverse, trace.constant
        self.breaks = points is None and bool(trace.records.kept.all())
        if points is not None and trace.stopped:
            points = points[: max(np.count_nonzero(points >= trace.lams[-1]), 1)]
        self._records: Index | None = None
        if points is None and self.complete:
            self._records, points = trace.breakpoints()
        self.lams = trace.lams[-1:] if points is None else points

    def places(self) -> list[float]:
        natural, end = self.trace.engine.natural, float(self.trace.lams[-1])
        return [natural * share for share in (0.3, 0.03, 1e-3) if natural * share >= end]

    def weights(self) -> Matrix:
        if self._records is not None:
            return self.trace.all_weights(self._records)
        return np.array([self.trace.weights(self.trace.place(lam)) for lam in self.lams])

    def thetas(self, which: Index) -> Matrix | None:
        if self._records is not None:
            return self._thetas_of_records(self._records[which], self.lams[which])
        found = [self.trace.theta(self.trace.place(lam)) for lam in self.lams[which]]
        return None if found[0] is None else np.array(found)

    def _thetas_of_records(self, records: Index, lams: Vector) -> Matrix | None:
        """The multipliers of a point before a slide are those behind it."""
        levels = self.trace.lams
        same = np.searchsorted(-levels, -lams, side="right") - 1 if self.trace.constant else records
        return self.trace.all_thetas(np.maximum.accumulate(np.maximum(same, records)))

    def pair(self, lam: float) -> Pair:
        self._reach(lam)
        place = self.trace.place(lam)
        return Pair(self.trace.weights(place), self.trace.theta(place))

    def _reach(self, lam: float) -> None:
        """Follow the path down to λ if it has not been yet."""
        s, level = self.trace.engine.level_of(lam), self.trace.records.level[-1]
        if (s > level if self.trace.inverse else s < level) and self.trace.complete:
            self.trace.extend(lam)

    def pair_within(self, budget: float) -> tuple[Pair, float]:
        if self._size(len(self.trace.records) - 1) <= budget:
            self._reach(0.0)
        k, last = self._segment(budget), len(self.trace.records) - 1
        if k >= last:
            place = Place(last, 0.0, float(self.trace.lams[-1]))
            return Pair(self.trace.weights(place), self.trace.theta(place)), place.lam
        share = self._share(k, budget)
        if self.trace.constant:
            lam = float(self.trace.lams[k + 1])
            w = self.trace.weights(Place(k, share, lam), sliding=True)
            return Pair(w, self.trace.theta(Place(k, 1.0, lam))), lam
        here, there = self.trace.records.level[k : k + 2]
        s = float(here + share * (there - here))
        if self.trace.inverse:  # a budget of nothing is an infinite λ: any large one will do
            s = max(s, HUGE / self.trace.engine.natural)
        place = Place(k, share, 1.0 / s if self.trace.inverse else s)
        return Pair(self.trace.weights(place), self.trace.theta(place)), place.lam

    def _size(self, k: int) -> float:
        """h at record k."""
        columns, v = self.trace.engine.columns, self.trace.values(k)[: self.trace.engine.p]
        return float(columns.l1 @ np.abs(v) + columns.l2 @ (v * v))

    def _segment(self, budget: float) -> int:
        """The last record with h within the budget; h rises along the path."""
        low, high = 0, len(self.trace.records)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self._size(middle) <= budget else (low, middle)
        return low

    def _share(self, k: int, budget: float) -> float:
        """How far along the segment h reaches the budget: h is quadratic there, its signs constant."""
        p, columns = self.trace.engine.p, self.trace.engine.columns
        v, w = self.trace.values(k)[:p], self.trace.values(k + 1)[:p]
        step = w - v
        first = float(columns.l1 @ np.abs(v) + columns.l2 @ (v * v))
        last = float(columns.l1 @ np.abs(w) + columns.l2 @ (w * w))
        bend = float(columns.l2 @ (step * step))
        rise, slope = budget - first, last - first - bend
        root = slope + np.sqrt(max(slope * slope + 4.0 * bend * rise, 0.0))
        return float(np.clip(2.0 * rise / root, 0.0, 1.0)) if root > 0.0 else 0.0
