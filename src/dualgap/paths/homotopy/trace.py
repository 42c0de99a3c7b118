"""A path as the engine left it: breakpoints, what changed at each, and the answers between them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from dualgap.arrays import Index, Matrix, Vector
from dualgap.drive.limits import Limits
from dualgap.paths.curve import SolutionCurve
from dualgap.paths.family import Pair
from dualgap.paths.homotopy.course import ARRIVED, CURVATURE, FULL, KINK_AT, KINKED, PIECE, SLOPE_AT
from dualgap.paths.homotopy.engine import NOTHING, Engine, Records

BLOCK = 1 << 22  # numbers compared at a time
ROUNDING = 1e-12  # a priced weight below this is zero: targets and columns are of size one here
SAME = 1e-12  # strengths this close, relative, are one breakpoint


@dataclass(frozen=True, eq=False)
class Place:
    """A point of a path: `share` of the way along the segment behind record k, at strength λ."""

    k: int
    share: float
    lam: float


class PathTrace:
    """Answers in working coordinates. s is λ, or 1/λ where a straight loss meets squares."""

    def __init__(self, engine: Engine, end: float) -> None:
        if not engine.columns.l1.any():
            engine.signs[engine.columns.l2 > 0.0] = 1
        mark = engine.course.mark
        self.engine = engine
        self.first = np.concatenate([engine.signs, 2 * mark[PIECE] + mark[KINKED]]).astype(np.int8)
        self.inverse = bool(engine.columns.l2.any())
        self.constant = not engine.curved and not self.inverse
        status, parts = engine.follow(end)
        self.complete = status == ARRIVED
        self.stopped = status == FULL  # the time was over
        engine.limits = Limits()  # what is asked for later has all its time
        self.records = self._grounded(joined(parts))

    def _grounded(self, records: Records) -> Records:
        """Events at a λ of nothing happen at zero."""
        if not self.inverse:
            records.level[records.level < NOTHING * self.engine.natural] = 0.0
        return records

    def extend(self, end: float) -> None:
        """Go on to a smaller λ."""
        status, parts = self.engine.lower(end)
        self.complete = status == ARRIVED
        self.records = self._grounded(joined([self.records, *parts]))

    @property
    def lams(self) -> Vector:
        """λ of every record, falling."""
        with np.errstate(divide="ignore"):
            return 1.0 / self.records.level if self.inverse else self.records.level

    # -- one place -----------------------------------------------------------------------------------

    def place(self, lam: float) -> Place:
        """Where λ lies (behind the last record, where several share it)."""
        k = int(np.searchsorted(-self.lams, -lam, side="right")) - 1
        k = min(max(k, 0), len(self.records) - 1)
        if k + 1 >= len(self.records):
            return Place(k, 0.0, lam)
        s = self.engine.level_of(lam)
        here, there = self.records.level[k], self.records.level[k + 1]
        return Place(k, float((s - here) / (there - here)) if there != here else 0.0, lam)

    def values(self, k: int) -> Vector:
        """Weights, then multipliers, of record k."""
        r = self.records
        if not r.kept[k]:
            return solve_on_set(self.engine, self.codes(k), float(r.level[k]))
        both = np.zeros(self.engine.p + self.engine.n)
        part = slice(r.start[k], r.start[k + 1])
        both[r.slots[part]] = r.values[part]
        if self._newborn(np.array([k]))[0]:
            both[r.keys[k, 0]] = 0.0
        self._snap(both[: self.engine.p])
        return both

    def _snap(self, v: Matrix) -> None:
        """Priced weights of the size of rounding (targets and columns are of size one here) are zero."""
        v[(np.abs(v) < ROUNDING) & (self.engine.columns.l1 > 0.0)] = 0.0

    def _newborn(self, which: Index) -> NDArray[np.bool_]:
        """Did a weight enter at these records, without a slide? It is zero there, up to rounding."""
        keys, codes = self.records.keys[which], self.records.codes[which]
        weight = (keys[:, 0] >= 0) & (keys[:, 0] < self.engine.p)
        return np.asarray(weight & (codes[:, 0] != 0) & (keys[:, 1] < 0))

    def weights(self, place: Place, *, sliding: bool = False) -> Vector:
        """The working weights there; constant along a segment unless that ends in a slide."""
        p = self.engine.p
        v = self.values(place.k)[:p]
        if place.share != 0.0 and (sliding or not self.constant):
            v = v + place.share * (self.values(place.k + 1)[:p] - v)
        return self.engine.columns.working(v)

    def theta(self, place: Place) -> Vector | None:
        """The dual point there; None where the slope of the loss at the weights is one."""
        if self.engine.curved:
            return None
        k, n = place.k, self.engine.n
        here = self.values(k)[-n:]
        pull, kinked = self._pulls(self.codes(k))
        strength = 1.0 / place.lam if self.inverse else 1.0
        if place.share != 0.0:
            there = self.values(k + 1)[-n:]
            later, still = self._pulls(self.codes(k + 1))
            there = np.where(still, there, later * (self.records.level[k + 1] if self.inverse else 1.0))
            here = here + place.share * (there - here)
        return -np.where(kinked, here, strength * pull) / strength

    def codes(self, k: int) -> NDArray[np.int8]:
        """Codes of weights and rows on the segment behind record k."""
        r, code = self.records, self.first.copy()
        keys, values = r.keys[: k + 1].ravel(), r.codes[: k + 1].ravel()
        seen = keys >= 0
        code[keys[seen]] = values[seen]
        return code

    def _pulls(self, code: NDArray[np.int8]) -> tuple[Vector, NDArray[np.bool_]]:
        """The slope of every row on its piece, and which rows are kinked."""
        state = code[self.engine.p :].astype(np.int64)
        slope = self.engine.course.pieces[SLOPE_AT]
        return slope[np.arange(len(state)), state >> 1], (state & 1) == 1

    # -- all records ---------------------------------------------------------------------------------

    def all_weights(self, which: Index) -> Matrix:
        """The working weights of some records."""
        return self.engine.columns.working(self._engine_weights(which))

    def _engine_weights(self, which: Index) -> Matrix:
        r, p = self.records, self.engine.p
        counts = np.diff(r.start)[which]
        v = np.zeros((len(which), p))
        line = np.repeat(np.arange(len(which)), counts)
        within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        entry = np.repeat(r.start[which], counts) + within
        weight = r.slots[entry] < p
        v[line[weight], r.slots[entry][weight]] = r.values[entry][weight]
        new = np.flatnonzero(self._newborn(which))
        v[new, r.keys[which[new], 0]] = 0.0
        self._snap(v)
        return v

    def all_thetas(self, which: Index) -> Matrix | None:
        """The dual points of some records, in rising order of them."""
        if self.engine.curved:
            return None
        r, n, p = self.records, self.engine.n, self.engine.p
        slope = self.engine.course.pieces[SLOPE_AT]
        code = self.codes(int(which[0]))
        pull, _ = self._pulls(code)
        out = np.empty((len(which), n))
        done = int(which[0])
        for line, k in enumerate(which):
            for step in range(done + 1, int(k) + 1):
                for key, value in zip(r.keys[step], r.codes[step], strict=True):
                    if key >= p:
                        pull[key - p] = slope[key - p, value >> 1]
            done = int(k)
            part = slice(r.start[k], r.start[k + 1])
            row = r.slots[part] >= p
            out[line] = -pull
            strength = r.level[k] if self.inverse else 1.0
            out[line, r.slots[part][row] - p] = -r.values[part][row] / strength
        return out

    def breakpoints(self) -> tuple[Index, Vector]:
        """The records to show, in order, and the λ of each.

        Of records at one λ the last, and before it the point the path comes from, if that is another: where
        weights are constant between breakpoints, or slide at one, a λ has two points.
        """
        lams = self.lams
        seen = np.flatnonzero(np.isfinite(lams) & self.records.kept)[1 if not self.inverse else 0 :]
        if not len(seen):
            return np.array([len(lams) - 1]), lams[-1:]
        apart = np.flatnonzero(lams[seen][:-1] - lams[seen][1:] > SAME * lams[seen][:-1])
        first, last = seen[np.append(0, apart + 1)], seen[np.append(apart, len(seen) - 1)]
        before = np.maximum(first - 1, 0) if self.constant else first
        both = np.column_stack([before, last]).ravel()
        at = np.repeat(lams[last], 2)
        moved = np.ones(len(both), dtype=bool)
        moved[::2] = self.records.kept[before] & self._differ(before, last)
        return self._from_zero(both[moved], at[moved])

    def _from_zero(self, shown: Index, at: Vector) -> tuple[Index, Vector]:
        """Of the points before any priced weight moves only the last: the least λ at which all are zero."""
        r, l1 = self.records, self.engine.columns.l1
        if not l1.any():
            return shown, at
        weight = r.slots < self.engine.p
        alive = weight & (l1[np.where(weight, r.slots, 0)] > 0.0) & (np.abs(r.values) >= ROUNDING)
        record = np.repeat(np.arange(len(r)), np.diff(r.start))
        counts = np.bincount(record[alive], minlength=len(r))
        moving = np.flatnonzero(counts[shown] > 0)
        if not len(moving):
            return shown[-1:], at[-1:]
        first = max(int(moving[0]) - 1, 0)
        return shown[first:], at[first:]

    def _differ(self, one: Index, other: Index) -> NDArray[np.bool_]:
        """Do records have different weights?"""
        apart = np.zeros(len(one), dtype=bool)
        lines = np.flatnonzero(one != other)
        step = max(1, BLOCK // self.engine.p)
        for first in range(0, len(lines), step):
            some = lines[first : first + step]
            v, w = self._engine_weights(one[some]), self._engine_weights(other[some])
            size = np.abs(w).max(axis=1, initial=0.0)
            apart[some] = np.abs(v - w).max(axis=1, initial=0.0) > 1e-10 * size
        return apart


def joined(parts: list[Records]) -> Records:
    """One log from its pieces."""
    if len(parts) == 1:
        return parts[0]
    shift = np.cumsum([0, *(len(part.values) for part in parts)])
    start = [part.start[:-1] + shift[k] for k, part in enumerate(parts)]
    return Records(
        np.concatenate([part.level for part in parts]),
        np.concatenate([part.keys for part in parts]),
        np.concatenate([part.codes for part in parts]),
        np.concatenate([*start, shift[-1:]]),
        np.concatenate([part.slots for part in parts]),
        np.concatenate([part.values for part in parts]),
        np.concatenate([part.kept for part in parts]),
    )


def solve_on_set(engine: Engine, code: NDArray[np.int8], s: float) -> Vector:
    """Weights, then multipliers, at level s of a path."""
    p, n, columns, pieces = engine.p, engine.n, engine.columns, engine.course.pieces
    inverse = bool(columns.l2.any())
    loss, price, ridge = (s, 1.0, 2.0) if inverse else (1.0, s, 0.0)
    active, state = np.flatnonzero(code[:p]), code[p:].astype(np.int64)
    kinked, piece, each = (state & 1) == 1, state >> 1, np.arange(n)
    rows = np.flatnonzero(kinked)
    part = columns.matrix[:, active]
    X = part.toarray() if sp.issparse(part) else part
    bend = np.where(kinked, 0.0, pieces[CURVATURE, each, piece])
    slope = np.where(kinked, 0.0, pieces[SLOPE_AT, each, piece])
    size = len(active)
    system = np.zeros((size + len(rows),) * 2)
    system[:size, :size] = (X * bend[:, None]).T @ X + np.diag(ridge * columns.l2[active])
    system[size:, :size] = X[rows]
    system[:size, size:] = X[rows].T
    right = np.concatenate(
        [
            -loss * (X.T @ slope) - price * columns.l1[active] * code[active],
            pieces[KINK_AT, rows, piece[rows]],
        ]
    )
    answer = np.linalg.lstsq(system, right, rcond=None)[0]
    answer += np.linalg.lstsq(system, right - system @ answer, rcond=None)[0]
    both = np.zeros(p + n)
    both[active], both[p + rows] = answer[:size], answer[size:]
    return both


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
