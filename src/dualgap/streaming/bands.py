"""Losses of straight pieces on rows that stay on a device: an interior point on the rows near a kink.

A sample with its kinks rounded off says about where they will be, and one full pass of that, with the
curvature of all rows that are on a ramp, far better. Then rows further from their kinks than that step moved
keep the slope of their piece, a linear term, and the others are solved on the device. A full pass says what
that proves, and who crossed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dualgap.arrays import Vector
from dualgap.blocks.source import RowBlock
from dualgap.device.spaces import space
from dualgap.drive.scans import ScanRequest, ScanStep
from dualgap.proof.blocks import Risked, RowSlopes, Visit, judged, visited
from dualgap.proof.rounding import added_up, sums_of
from dualgap.solvers.metrics import Priced, unpriced
from dualgap.streaming.interior_band import STEPS, Band, interior
from dualgap.streaming.ramps import GivenSlopes, KinkTable, OuterSlopes, Ramped, RampSlopes
from dualgap.streaming.resident import ResidentTask, Sampled
from dualgap.streaming.rules import PieceSlopes

LEAST = 1 << 21  # numbers: data of no more are one band
FEWER = 200  # rows for each column of the sample, where there are not so many that a thousand are taken
SPREAD = 2.0  # mean distances to the kinks: how wide the first ramps of a sample are
SHARES = (
    0.3,
    0.1,
    0.03,
)  # of the sample's rows that are on narrower ones: at 0.02 steps went far beyond the ramps
RAMP = 20  # rows on a ramp, or in a band, for each column, at least
CURVED = 200  # rows for each column of which the curvature on all ramps is told, at most
SOME = 1 << 16  # rows of which the movement is looked at
MOVED, PART = (
    0.98,
    0.3,
)  # the first band is so wide as this part of what 98 % of the rows moved in the step at most:
# 2 to 8 % of the rows; with a third of that one of eight fits, 1.1·10⁵×110, came to 9e-7 only
FINE = 0.3  # of the gap wanted: that of the band's own problem
MU = 1.0  # of the mean distance to the kinks: where a warm interior point starts
WIDER, FAR = 2.5, 0.01  # times the band, where the objective rose, or the gap is still such a share of it
ROUGH = 300  # columns from which products of 4-byte numbers save time
NOTHING = 0.05  # of the gap wanted: what weights set to zero may cost
TRIES = (1.0, 0.5, 0.2, 0.05)  # of the way to the band's answer, where that is worse


@dataclass(frozen=True, eq=False)
class BandWish:
    """A pass at these weights, with slopes that are chosen at its outcome."""

    task: ResidentTask
    w: Vector
    slope: RowSlopes


@dataclass(frozen=True, eq=False)
class BandResult:
    """The rows gone over."""

    visit: Visit
    risk: float

    @property
    def finite(self) -> bool:
        """False where a number of the rows is none."""
        return bool(np.isfinite(self.risk))


def band_pass(block: RowBlock, wish: BandWish) -> BandResult:
    """All rows at once."""
    task = wish.task
    visit = visited(task.statement, block.X, task.y, task.weight, wish.w, wish.slope)
    return BandResult(visit, visit.risk / task.heavy)


def _risk(task: ResidentTask, y: Any, t: Any) -> float:
    s = [] if task.weight is None else [task.weight]
    return float(sums_of(Risked(task.statement.loss), [y, t, *s]).values[0]) / task.heavy


class BandPursuit:
    """From the sample's answer to the proven one. Misses t are predictions, less y where only that counts."""

    name = "resident band"

    def __init__(self, matrix: Any, task: ResidentTask) -> None:
        self.matrix, self.task, self.asked = matrix, task, task
        self.kinks = KinkTable.of(task.statement.loss)
        self.tops: Vector | None = None
        self.rows = matrix.n
        price, ridge = task.prices
        tied = task.statement.intercept
        self.price, self.ridge = (np.append(one, 0.0) if tied else one for one in (price, ridge))
        self.priced = matrix.index(np.flatnonzero(self.price))
        self.null = self._null()
        self.share = 1.0
        self.w, self.u = np.zeros(len(self.price)), None
        self.last: tuple[Vector, Any, float] | None = None
        self.ramp: Ramped | None = None
        if matrix.n * matrix.p > LEAST:
            self.w, self.ramp = self._sampled()

    def _null(self) -> float:
        """The objective at the best constant of a few rows."""
        task = self.task
        level = 0.0
        if task.statement.intercept:
            rows = self.matrix.drawn(20_000)
            some = task.y if rows is None else task.y[rows]
            weight = None if task.weight is None else (task.weight if rows is None else task.weight[rows])
            own = np.ones(len(some)) if weight is None else self.matrix.host(weight)
            level = task.statement.loss.best_constant(self.matrix.host(some), own / own.sum())
        return _risk(task, task.y, space(task.y).full_like(task.y, level))

    def resumed(self) -> None:
        return None

    def begin(self) -> ScanStep:
        if self.ramp is None:
            return ScanStep(None, None, self._request(self._given()))
        return ScanStep(None, None, self._request(RowSlopes(RampSlopes(self.kinks), (self.ramp.width,))))

    def _given(self) -> RowSlopes:
        """The slopes that the band's answer has, none where there is no answer yet."""
        return RowSlopes(_nothing) if self.u is None else RowSlopes(GivenSlopes(), (), (self.u,))

    def _request(self, slope: RowSlopes) -> ScanRequest:
        return ScanRequest(band_pass, (BandWish(self.task, self.w, slope),))

    def _sampled(self) -> tuple[Vector, Ramped]:
        """Weights of a sample whose kinks are ramps, narrower and narrower, and the last of these."""
        sample = Sampled.of(self.matrix, self.task, FEWER)
        y, m, p = sample.y, len(sample.y), self.matrix.p
        statement: Any = self.task.statement
        t, coef, level, before = y * 0.0, np.zeros(p), 0.0, np.inf
        for share in (None, *(min(1.0, max(share, RAMP * p / m)) for share in SHARES)):
            away = self.kinks.away(y, t)
            width = SPREAD * added_up(away) / m if share is None else self.matrix.smallest(away, share)
            ramp = Ramped(self.kinks, max(min(width, before), 1e-300))
            before = ramp.width
            sample.statement = replace(statement, loss=ramp)
            coef, level = sample.fitted(*self.task.prices, (coef, level))
            t = self.matrix.product_of(sample.A, coef) + level
        return (np.append(coef, level) if statement.intercept else coef), ramp

    def advance(self, result: BandResult) -> ScanStep:
        task, visit = self.task, result.visit
        self.tops = visit.block.rows.tops
        objective = result.risk + self._priced(self.w)
        if self.ramp is not None:
            return self._towards(visit, objective)
        found = rule = None
        if self.u is not None or (task.eager and self.last is None):
            found = judged(task.statement, visit.weighed(), self.w, task.tolerance, self.null)
            rule = None if self.u is None else _rule(task, self.kinks, *self.parts, self.matrix)
            if found.gap <= task.tolerance * max(found.primal, 1e-4 * self.null):
                return ScanStep(found, rule, None)
        y, t, pull = visit.block.centre, visit.t, visit.pull.value.sum(axis=1)
        if self.last is not None:
            # a step on ramps may raise the objective itself a little: the band will see to that
            allowed = FAR if self.u is None else 0.1 * task.tolerance
            crossed = objective > self.last[2] * (1.0 + allowed)
            if crossed:
                t, objective = self._back(y, t)
            if crossed or self.u is not None:
                wider = crossed or (found is not None and found.gap > FAR * found.primal)
                self.share, pull = min(1.0, self.share * (WIDER if wider else 1.0)), None
        self._solve(y, t, objective, pull)
        return ScanStep(found, rule, self._request(self._given()))

    def _towards(self, visit: Visit, objective: float) -> ScanStep:
        """A step of Newton on the ramps; what is next passed over also says which rows keep their slopes."""
        assert self.ramp is not None
        matrix, s, heavy, ramp = self.matrix, self.task.weight, self.task.heavy, self.ramp
        y, t, g = visit.block.centre, visit.t, visit.pull.value.sum(axis=1)[: len(self.w)] / heavy
        live = matrix.live(self.kinks.away(y, t) < ramp.width, s)
        each = max(1, len(live) // (CURVED * matrix.p))
        rows = live[::each]
        A, h = self._with_ones(matrix.gathered(rows)), ramp.second_derivative(y[rows], t[rows])
        H = matrix.rough_gram(A, h * (each / heavy) if s is None else h * (each / heavy) * s[rows])
        metric = (
            Priced(matrix.host(H), self.ridge, self.price)
            if self.price.any()
            else unpriced(matrix, H, self.ridge)
        )
        self.last = (self.w, t, objective)
        self.w = self.w + metric.step(g, self.w)
        self.ramp = None
        self._widen(y, t)
        return ScanStep(None, None, self._request(RowSlopes(OuterSlopes(self.kinks), (self.width,))))

    def _with_ones(self, A: Any) -> Any:
        return self.matrix.beside(A, A[:, 0] * 0.0 + 1.0) if self.task.statement.intercept else A

    def _widen(self, y: Any, before: Any) -> None:
        """How near to its kink a row is in the band, by what some rows move in the step from `before`."""
        matrix, n = self.matrix, self.matrix.n
        rows = matrix.drawn(SOME)
        if rows is not None:
            y, before = y[rows], before[rows]
        now = matrix.product_of(self._with_ones(matrix.gathered(rows)), self.w)
        shifts = self.task.statement.loss.centred(self.task.y if rows is None else self.task.y[rows])[2]
        for shift in shifts:
            now = now + shift
        share = min(1.0, max(PART * SHARES[-1], RAMP * matrix.p / n))
        self.width = PART * matrix.smallest(abs(now - before), MOVED)
        self.width = max(self.width, matrix.smallest(self.kinks.away(y, now), share))

    def _band(self, y: Any, t: Any, width: float, pull: Any) -> tuple[Band, list[Any]]:
        """The problem of the pairs of a row and a kink within the width, and where they are."""
        xp, matrix, s, heavy = space(t), self.matrix, self.task.weight, self.task.heavy
        A, kinks, lo, up, where = [], [], [], [], []
        for k in range(self.kinks.count):
            kink, *bounds = self.kinks.term(y, k)
            live = matrix.live(abs(t - kink) <= width, s) if width < np.inf else matrix.live(None, s, len(t))
            kink = self.kinks.term(self.task.y, k)[0]  # of predictions
            low, high = (one + y[live] * 0.0 if isinstance(one, float) else one[live] for one in bounds)
            where.append(live)
            A.append(self._with_ones(matrix.gathered(live)))
            kinks.append(kink + y[live] * 0.0 if isinstance(kink, float) else kink[live])
            lo.append(low if s is None else low * s[live])
            up.append(high if s is None else high * s[live])
        priced = matrix.here(heavy * self.price)[self.priced]
        band = Band(
            A[0] if len(A) == 1 else xp.concatenate(A),
            xp.concatenate([*kinks, priced * 0.0]),
            xp.concatenate([*lo, -priced]),
            xp.concatenate([*up, priced]),
            self.priced,
            matrix.here(heavy * self.ridge),
            pull,
            matrix.rough_gram if matrix.p > ROUGH else None,
        )
        return band, where

    def _priced(self, w: Vector) -> float:
        return float(self.price @ abs(w) + 0.5 * self.ridge @ (w * w))

    def _back(self, y: Any, t: Any) -> tuple[Any, float]:
        """The best point on the way from the last weights to these."""
        assert self.last is not None
        before, t0, value = self.last
        best = (value, 0.0)
        for share in TRIES[1:]:
            w = before + share * (self.w - before)
            best = min(best, (_risk(self.task, y, t0 + share * (t - t0)) + self._priced(w), share))
        value, share = best
        self.w = before + share * (self.w - before)
        return t0 + share * (t - t0), value

    def _solve(self, y: Any, t: Any, objective: float, pull: Vector | None) -> None:
        """The band about t: its weights are the next, its slopes with the fixed ones the next θ.

        `pull` is that of the slopes outside the band, where a pass has told it.
        """
        task, matrix, s = self.task, self.matrix, self.task.weight
        first, self.last = self.last is None, (self.w, t, objective)
        near = matrix.here(self.w)
        stop = FINE * task.tolerance * task.heavy * max(objective, 1e-4 * self.null)
        while True:
            if pull is None:
                self.width = (
                    matrix.smallest(self.kinks.away(y, t), self.share) if self.share < 1.0 else np.inf
                )
            elif first:
                self.width = np.inf
            fixed = self.kinks.pieces(y, t, self.width)
            c = self._pulled(fixed) if pull is None else matrix.here(pull[: len(self.w)])
            band, where = self._band(y, t, self.width, c)
            self.share = 1.0 if self.width == np.inf else min(1.0, len(band.A) / matrix.n)
            mu = MU * float(abs(band.A @ near - band.t[: len(band.A)]).sum()) / max(len(band.A), 1)
            mu = 5.0 * self.null if first else max(mu, 1e-300)
            w, d, steps = interior(band, near, mu, stop, matrix.factored, FINE * task.tolerance)
            if steps < STEPS or self.share >= 1.0:
                break
            self.share, pull = (
                min(1.0, self.share * WIDER),
                None,
            )  # the answer is far outside: no pass need say so
        u, start = fixed, 0
        for live in where:
            own = d[start : start + len(live)]
            u = matrix.with_added(u, live, own if s is None else own / s[live])
            start += len(live)
        whole = self.w if task.statement.intercept else np.append(self.w, 0.0)
        self.parts = (whole, where, u)
        self.u, self.w = u, self._settled(np.asarray(matrix.host(w)))

    def _pulled(self, fixed: Any) -> Any:
        """The pull of fixed slopes, ones last where there is an intercept."""
        tilted = fixed if self.task.weight is None else self.task.weight * fixed
        c = self.matrix.pulled(tilted[:, None])[:, 0]
        return space(c).concatenate([c, tilted.sum()[None]]) if self.task.statement.intercept else c

    def _settled(self, w: Vector) -> Vector:
        """Priced weights of which an interior point has left a trace are zero: together they cost nothing."""
        assert self.last is not None
        wanted = NOTHING * self.task.tolerance * max(self.last[2], 1e-4 * self.null)
        return np.where(self.price * abs(w) * len(w) <= wanted, np.where(self.price > 0.0, 0.0, w), w)


def _nothing(y: Any, t: Any) -> None:
    """No slopes, which prove nothing."""


def _rule(task: ResidentTask, kinks: KinkTable, whole: Vector, where: Any, u: Any, matrix: Any) -> Any:
    numbers = matrix.union(where)
    own = matrix.host(numbers).astype(np.intp), matrix.host(u[numbers])
    return PieceSlopes(task.statement.loss, whole, kinks.groups(), *own)
