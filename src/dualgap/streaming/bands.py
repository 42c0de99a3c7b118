"""Losses of straight pieces on rows that stay on a device: an interior point on the rows near a kink.

A sample says about where the kinks will be; then rows further than a width from theirs keep the slope of
their piece, a linear term, and the others are solved on the device. A full pass says what that proves, and
who crossed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dualgap.arrays import Vector
from dualgap.blocks.source import RowBlock
from dualgap.device.spaces import space
from dualgap.drive.scans import ScanRequest, ScanStep
from dualgap.proof.blocks import Visit, judged, visited
from dualgap.proof.rounding import added_up
from dualgap.streaming.interior_band import Band, interior
from dualgap.streaming.resident import ResidentTask
from dualgap.streaming.rules import PieceSlopes
from dualgap.traits import Trait

LEAST = 1 << 21  # numbers: data of no more are one band
SAMPLE, FEWER = 1000, 100  # rows for each column of the sample, where there are five times as many, and else
ROUGH = 0.003  # relative gap of the sample
FINE = 0.3  # of the gap wanted: that of the band's own problem
MU = 1.0  # of the mean distance to the kinks: where a warm interior point starts
BAND = 0.1  # of the rows are in the first band: with half of that the answer of 4·10⁵×10 lay outside it
WIDER, NARROWER = 2.5, 0.5  # times the band, where rows crossed that were not in it, and where none did
NOTHING = 0.05  # of the gap wanted: what weights set to zero may cost
TRIES = (1.0, 0.5, 0.2, 0.05)  # of the way to the band's answer, where that is worse


@dataclass(frozen=True, eq=False)
class KinkTable:
    """Terms of the loss: kink and bounds by label, or about y."""

    kink: Any
    lo: Any
    up: Any
    labels: bool

    @classmethod
    def of(cls, loss: Any) -> KinkTable:
        labels = Trait.CLASSIFICATION in loss.traits
        terms = loss.terms(np.array([1.0, -1.0]) if labels else np.zeros(1))
        return cls(np.sort(terms.kink, axis=1), terms.lower, terms.upper, labels)

    @property
    def count(self) -> int:
        """Kinks of a row."""
        return int(self.kink.shape[1])

    def term(self, y: Any, k: int) -> tuple[Any, Any, Any]:
        """Kink, lower and upper slope of term k, row by row."""
        xp, parts = space(y), []
        for table in (self.kink, self.lo, self.up):
            one, other = float(table[0, k]), float(table[-1, k])
            parts.append(xp.where(y > 0.0, one, other) if self.labels else xp.full_like(y, one))
        kink, lo, up = parts
        return (kink if self.labels else y + kink), lo, up

    def groups(self) -> Vector:
        """The slope of each piece, by its number; by label too where there are any."""
        found = []
        for j in range(self.count + 1):
            for row in (1, 0) if self.labels else (0,):  # the label −1 comes first
                found.append(self.up[row, :j].sum() + self.lo[row, j:].sum())
        return np.array(found)


@dataclass(frozen=True, eq=False)
class BandWish:
    """A pass at these weights, with the slopes of the last band, if there was one."""

    task: ResidentTask
    w: Vector
    u: Any


@dataclass(frozen=True, eq=False)
class BandResult:
    """The rows gone over."""

    visit: Visit
    z: Any
    risk: float

    @property
    def finite(self) -> bool:
        """False where a number of the rows is none."""
        return bool(np.isfinite(self.risk))


def band_pass(block: RowBlock, wish: BandWish) -> BandResult:
    """All rows at once."""
    task, w = wish.task, wish.w
    coef, level = (w[:-1], float(w[-1])) if task.statement.intercept else (w, 0.0)
    visit = visited(task.statement, block.X, task.y, task.weight, w, lambda y, t: wish.u)
    z = block.X.times(coef)[0] + level
    return BandResult(visit, z, _risk(task, z))


def _risk(task: ResidentTask, z: Any) -> float:
    losses = task.statement.loss.value(task.y, z)
    return added_up(losses if task.weight is None else task.weight * losses) / task.heavy


class BandPursuit:
    """From the sample's answer to the proven one."""

    name = "resident band"

    def __init__(self, matrix: Any, task: ResidentTask) -> None:
        self.matrix, self.task = matrix, task
        self.kinks = KinkTable.of(task.statement.loss)
        self.tops: Vector | None = None
        self.rows = matrix.n
        price, ridge = task.prices
        tied = task.statement.intercept
        self.price, self.ridge = (np.append(one, 0.0) if tied else one for one in (price, ridge))
        self.priced = matrix.index(np.flatnonzero(self.price))
        self.null = self._null()
        self.share = 1.0 if matrix.n * matrix.p <= LEAST else BAND
        self.w, self.u = np.zeros(len(self.price)), None
        if self.share < 1.0:
            self.w = self._sampled()
        self.last: tuple[Vector, Any, float] | None = None

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
        return _risk(task, space(task.y).full_like(task.y, level))

    def resumed(self) -> None:
        return None

    def begin(self) -> ScanStep:
        return ScanStep(None, None, self._request())

    def _request(self) -> ScanRequest:
        return ScanRequest(band_pass, (BandWish(self.task, self.w, self.u),))

    def _sampled(self) -> Vector:
        n, p = self.matrix.shape
        rows = self.matrix.drawn(min(n, (SAMPLE if n >= 5 * SAMPLE * p else FEWER) * p))
        if rows is None:
            rows = self.matrix.index(np.arange(n))
        y = self.task.y[rows]
        s = None if self.task.weight is None else self.task.weight[rows]
        heavy = float(len(y)) if s is None else added_up(s)
        z = y * 0.0
        band, _ = self._band(rows, y, s, z, None, heavy)
        start = self.matrix.here(np.zeros(len(self.price)))
        w, _, _ = interior(band, start, 5.0 * self.null, ROUGH * heavy * self.null, self.matrix.factored)
        return np.asarray(self.matrix.host(w))

    def _band(self, rows: Any, y: Any, s: Any, z: Any, width: float | None, heavy: float) -> tuple[Band, Any]:
        """The problem of the live pairs of these rows, and where they are; width None: all pairs are live."""
        xp, ones = space(y), None
        A, t, lo, up, where = [], [], [], [], []
        X = self.matrix.gathered(rows) if width is None else None
        for k in range(self.kinks.count):
            kink, low, high = self.kinks.term(y, k)
            if s is not None:
                low, high = low * s, high * s
            live = (
                self.matrix.live(abs(z - kink) <= width, s)
                if width is not None
                else self.matrix.live(None, s, len(y))
            )
            where.append(live)
            part = self.matrix.gathered(live) if X is None else X[live]
            if self.task.statement.intercept:
                ones = xp.ones_like(kink[live])
                part = self.matrix.beside(part, ones)
            A.append(part)
            t.append(kink[live])
            lo.append(low[live])
            up.append(high[live])
        p = len(self.price)
        priced = self.matrix.here(heavy * self.price)[self.priced]
        c = self.matrix.here(np.zeros(p))
        whole = A[0] if len(A) == 1 else xp.concatenate(A)
        band = Band(
            whole,
            xp.concatenate([*t, priced * 0.0]),
            xp.concatenate([*lo, -priced]),
            xp.concatenate([*up, priced]),
            self.priced,
            self.matrix.here(heavy * self.ridge),
            c,
        )
        return band, where

    def advance(self, result: BandResult) -> ScanStep:
        task = self.task
        self.tops = result.visit.block.rows.tops
        found = rule = None
        objective = result.risk + self._priced(self.w)
        if self.u is not None or task.eager:
            seen = result.visit.weighed()
            found = judged(task.statement, seen, self.w, task.tolerance, self.null)
            rule = None if self.u is None else _rule(task, self.kinks, *self.parts, self.matrix)
            if found.gap <= task.tolerance * max(found.primal, 1e-4 * self.null):
                return ScanStep(found, rule, None)
        z = result.z
        if self.last is not None:
            crossed = objective > self.last[2] * (1.0 + 0.1 * task.tolerance)
            if crossed:
                z = self._back(z)
            self.share = min(1.0, self.share * (WIDER if crossed or self._far(found) else NARROWER))
        self._solve(z)
        return ScanStep(found, rule, self._request())

    def _far(self, found: Any) -> bool:
        return found is not None and found.gap > 0.01 * found.primal

    def _priced(self, w: Vector) -> float:
        return float(self.price @ abs(w) + 0.5 * self.ridge @ (w * w))

    def _back(self, z: Any) -> Any:
        """The best point on the way from the last weights to these."""
        assert self.last is not None
        before, z0, value = self.last
        best = (value, 0.0)
        for share in TRIES[1:]:
            w = before + share * (self.w - before)
            best = min(best, (_risk(self.task, z0 + share * (z - z0)) + self._priced(w), share))
        share = best[1]
        self.w = before + share * (self.w - before)
        return z0 + share * (z - z0)

    def _solve(self, z: Any) -> None:
        """The band about z: its weights are the next, its slopes with the fixed ones the next θ."""
        task, matrix, xp = self.task, self.matrix, space(z)
        y, s = task.y, task.weight
        self.last = (self.w, z, _risk(task, z) + self._priced(self.w))
        away = None
        for k in range(self.kinks.count):
            one = abs(z - self.kinks.term(y, k)[0])
            away = one if away is None else xp.minimum(away, one)
        width = matrix.smallest(away, self.share) if self.share < 1.0 else np.inf
        band, where = self._band(None, y, s, z, width, task.heavy)
        fixed = xp.zeros_like(z)
        for k in range(self.kinks.count):
            kink, low, high = self.kinks.term(y, k)
            fixed = fixed + xp.where(abs(z - kink) <= width, 0.0, xp.where(z > kink, high, low))
        if self.share < 1.0:
            tilted = fixed if s is None else s * fixed
            c = matrix.pulled(tilted[:, None])[:, 0]
            if task.statement.intercept:
                c = xp.concatenate([c, tilted.sum()[None]])
            band = Band(band.A, band.t, band.lo, band.up, band.priced, band.ridge, c)
        near = matrix.here(self.w)
        m = band.A.shape[0]
        r = abs(band.times(near) - band.t)[:m]
        mu = MU * float(r.sum() / max(m, 1)) if self.u is not None or self.share < 1.0 else 5.0 * self.null
        stop = FINE * task.tolerance * task.heavy * max(self.last[2], 1e-4 * self.null)
        w, d, _ = interior(band, near, max(mu, 1e-300), stop, matrix.factored)
        u, start = fixed, 0
        for live in where:
            own = d[start : start + len(live)]
            u = matrix.with_added(u, live, own if s is None else own / s[live])
            start += len(live)
        whole = self.w if task.statement.intercept else np.append(self.w, 0.0)
        self.parts = (whole, where, u)
        self.u, self.w = u, self._settled(np.asarray(matrix.host(w)))

    def _settled(self, w: Vector) -> Vector:
        """Priced weights of which an interior point has left a trace are zero: together they cost nothing."""
        assert self.last is not None
        wanted = NOTHING * self.task.tolerance * max(self.last[2], 1e-4 * self.null)
        return np.where(self.price * abs(w) * len(w) <= wanted, np.where(self.price > 0.0, 0.0, w), w)


def _rule(task: ResidentTask, kinks: KinkTable, whole: Vector, where: Any, u: Any, matrix: Any) -> Any:
    numbers = matrix.union(where)
    own = matrix.host(numbers).astype(np.intp), matrix.host(u[numbers])
    return PieceSlopes(task.statement.loss, whole, kinks.groups(), *own)
