"""Smooth losses with thousands of columns, dense or sparse: a scan is a gradient, and its own proof.

A sum of the products of every two columns would cost a thousand scans. The curvature is that of a sample (of
dense rows, of the first scan as well), each scan's gradient mends it by a secant, and the slopes at w,
−a L'(z), are a dual point once they are shrunk into the penalty's domain: by how much is known when the scan
is over, so each scan weighs a few such shares, of those that the last one foretells.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dualgap.arrays import Matrix, Vector
from dualgap.blocks.source import RowBlock, RowSource
from dualgap.drive.scans import ScanRequest, ScanStep
from dualgap.linalg.cholesky import cholesky
from dualgap.losses import Loss
from dualgap.losses.shifted import without_offset
from dualgap.proof.blocks import StreamStatement, Weighed, judged, visited
from dualgap.proof.check import inside
from dualgap.solvers.metrics import FLOOR, Metric, Plain, Priced
from dualgap.streaming.asked import ScanTask, SlopeRule, SmallProblem, Targets, countable
from dualgap.streaming.resident import INSIDE, ROUNDED
from dualgap.streaming.rules import SlopeAt
from dualgap.streaming.sample_curvature import SampleCurvature
from dualgap.streaming.sampling import Start
from dualgap.streaming.smooth import gram
from dualgap.traits import Trait

COLUMNS = 2000  # dense ones from which a sum of products costs more than all scans for gradients
HELD = 6000  # dense ones up to which their products are held, 288 MB
CURVED = 10  # rows for each column, of the first scan, whose products are summed
SAMPLE, MOST = 1 << 25, 1 << 26  # numbers of a sample, and of one that has few rows for its columns
FEWEST = 3  # rows for each column, which it then has
LEAST = 1 << 21  # numbers: data of no more are their own sample
PART = 4  # one row in so many at most, where there are more
ROUGH = 1e-4  # relative gap of the sample's fit
FINE = 0.1  # of the tolerance, where the sample is all there is
FREE = 200  # columns without a price that rows in groups can balance
SHARES = (3.0, 1.0, 0.3, 0.1, 0.03)  # of what θ had to be shrunk by before
NEAR = 1e-2  # relative gap up to which the curvature is looked at anew in every scan
FIRST, LAST = 0.03, 1e-7  # the same at first, and at least


def wide(source: RowSource) -> bool:
    """Are there too many columns for sums of their products?"""
    return source.sparse or source.p > COLUMNS


def served(loss: Loss, regulariser: Any) -> bool:
    """Is it a smooth loss with prices on |w| and w², and few columns without?"""
    elastic = not regulariser.constrained and regulariser.gauge.elastic is not None
    return Trait.SMOOTH in loss.traits and elastic and int(np.count_nonzero(regulariser.free)) <= FREE


def rows_wanted(source: RowSource) -> int:
    """Of the sample."""
    n, width = source.n or 1 << 62, max(source.width, 1.0)
    if n * width <= LEAST:
        return n
    fewest = 0.0 if source.sparse else min(FEWEST * width, MOST / width)
    return int(min(n, max(min(SAMPLE / width, max(n / PART, LEAST / width)), fewest)))


@dataclass(frozen=True, eq=False)
class WideWish:
    """What a scan is to compute at w: gradient, and proofs with slopes shrunk to some shares."""

    statement: StreamStatement
    targets: Targets
    w: Vector
    shares: tuple[float, ...]
    constant: float | None  # of which the objective without columns is wanted
    curved: float  # the share of the rows whose curvature between columns is wanted
    first: bool  # is curvature wanted along each column, and the intercept?


@dataclass(frozen=True, eq=False)
class WideSums:
    """What it found, not divided by Σs; `level` is Σ s h [x, 1], `diagonal` Σ s h x²."""

    weighed: tuple[Weighed, ...]
    level: Vector | None
    diagonal: Vector | None
    H: Matrix | None
    null: float

    def plus(self, other: WideSums) -> WideSums:
        """Of both lots of rows."""
        weighed = tuple(a.plus(b) for a, b in zip(self.weighed, other.weighed, strict=True))
        level = None if self.level is None or other.level is None else self.level + other.level
        diagonal = None if self.diagonal is None or other.diagonal is None else self.diagonal + other.diagonal
        H = None if self.H is None or other.H is None else self.H + other.H
        return WideSums(weighed, level, diagonal, H, self.null + other.null)

    @property
    def finite(self) -> bool:
        """False where a number of the rows is none."""
        return countable(self.weighed[0])


def wide_scan(block: RowBlock, wish: WideWish) -> WideSums:
    """One block."""
    X, y, weight, _ = wish.targets.of(block)
    loss = without_offset(wish.statement.loss)  # of targets and predictions counted from them, or the offset
    level = diagonal = H = None
    with np.errstate(all="ignore"):
        visit = visited(wish.statement, X, y, weight, wish.w, loss.derivative)
        seen = tuple(visit.weighed(share) for share in wish.shares)
        if wish.first:
            h = loss.second_derivative(visit.block.centre, visit.t)
            h = h if weight is None else weight * h
            level = np.append(X.T @ h, h.sum())
            if not wish.curved:
                diagonal = (X.multiply(X) if hasattr(X, "indptr") else X * X).T @ h
            else:
                some = slice(0, int(np.ceil(wish.curved * len(y))))
                H = gram(X[some], h[some]) / wish.curved
        null = 0.0
        if wish.constant is not None:
            values = wish.statement.loss.value(y, np.full(len(y), wish.constant))
            null = float(values.sum() if weight is None else weight @ values)
    return WideSums(seen, level, diagonal, H, null)


class GradientPursuit:
    """From the sample's answer to the proven one, a gradient a scan."""

    name = "streamed gradients"

    def __init__(
        self,
        asked: ScanTask,
        sample: tuple[Any, Any, Vector | None],
        source: RowSource,
        constant: float,
        start: Start | None = None,
    ) -> None:
        self.asked, self.sample, self.constant = asked, sample, constant
        regulariser: Any = asked.statement.regulariser
        elastic = regulariser.gauge.elastic
        self.price = regulariser.strength * elastic.l1[: asked.p]
        self.ridge = 2.0 * regulariser.strength * elastic.l2[: asked.p]
        self.tops: Vector | None = None
        self._null: float | None = None
        self.rows, self.retreated = 0, False
        self.w = inside(asked.statement, self._started(source) if start is None else start.w)
        rows = source.n or len(sample[1])
        held = not source.sparse and asked.p <= HELD
        self.curved = min(1.0, CURVED * asked.p / max(rows, 1)) if held else 0.0
        self.level: Vector | None = None
        self.H: Matrix | None = None
        self.diagonal: Vector | None = None
        self.metric: Metric | None = None
        self.pairs: list[tuple[Vector, Vector]] = []  # what secants taught it
        self.curious = True  # is the curvature to be looked at?
        self.shares = tuple(1.0 - FIRST * one for one in SHARES) if self.price.any() else (1.0,)
        self.before: tuple[Vector, Vector, float] | None = None
        self.kept: tuple[Vector, Vector, float] | None = None

    def _started(self, source: RowSource) -> Vector:
        """The sample's answer."""
        X, y, weight = self.sample
        some = len(y) < (source.n or 0)
        tolerance = ROUGH if some else min(ROUGH, FINE * self.asked.tolerance)
        return self.asked.solve(SmallProblem(X, y, weight, False, tolerance, rough=some)).w

    @property
    def null(self) -> float:
        return 0.0 if self._null is None else self._null

    def begin(self) -> ScanStep:
        return ScanStep(None, None, self._request())

    def resumed(self) -> Start:
        p = self.asked.p
        return Start(self.w, 0.0, np.zeros(p), np.ones(p), self.rows)

    def _request(self) -> ScanRequest:
        constant = self.constant if self._null is None else None
        asked = self.asked
        wish = WideWish(
            asked.statement,
            asked.targets,
            self.w,
            self.shares,
            constant,
            self.curved if self.curious else 0.0,
            self.curious,
        )
        return ScanRequest(wide_scan, (wish,))

    def advance(self, result: WideSums) -> ScanStep:
        asked, seen = self.asked, result.weighed
        weight = seen[0].weight.value
        self.tops, self.rows = seen[0].tops, seen[0].rows
        if self._null is None:
            self._null = result.null / weight
        found = [judged(asked.statement, one, self.w, asked.tolerance, self.null) for one in seen]
        k = int(np.argmax([one.dual for one in found]))
        best = found[k]
        whole = self.w if asked.statement.intercept else np.append(self.w, 0.0)
        rule: SlopeRule = SlopeAt(asked.statement.loss, whole, self.shares[k])
        if best.gap <= asked.tolerance * max(best.primal, 1e-4 * self.null):
            return ScanStep(best, rule, None)
        if result.level is not None:
            self.level = result.level / weight
        self.H = None if result.H is None else result.H / weight
        self.diagonal = None if result.diagonal is None else result.diagonal / weight
        pull = seen[k].pull.value.sum(axis=1) / (weight * self.shares[k])
        self._foresee(pull)
        near = best.gap <= NEAR * best.primal
        self._move(pull, best.primal)
        changes = Trait.QUADRATIC not in asked.statement.loss.traits
        self.curious = changes and (self.retreated or not (near or self.curved))
        return ScanStep(best, rule, self._request())

    def _foresee(self, pull: Vector) -> None:
        """By what shares θ may have to be shrunk in the next scan."""
        if not self.price.any():
            return
        statement = self.asked.statement
        v = -pull[: len(self.w)]
        v[statement.free] = 0.0
        off = 1.0 - min(1.0, statement.regulariser.dual_scale(v) * (1.0 - INSIDE))
        self.shares = tuple(1.0 - min(max(off, LAST), 0.3) * one for one in SHARES)

    def _move(self, pull: Vector, objective: float) -> None:
        """A step of the model; where the objective rises, half of the last one, with what it taught."""
        p, tied = self.asked.p, self.asked.statement.intercept
        coef, level = self.w[:p], (float(self.w[p]) if tied else 0.0)
        g, drift = pull[:p], 0.0
        if tied and self.level is not None and self.level[-1] > 0.0:  # the intercept at its best
            drift = -float(pull[p]) / float(self.level[-1])
            g = g + self.level[:-1] * drift
        if self.before is not None:
            self.pairs.append((self.w[:p] - self.before[0][:p], g - self.before[1]))
        if self.curious or self.metric is None:
            self.metric = self._metric()
            for s, t in self.pairs:
                self.metric.learn(s, t)
        elif self.before is not None:
            self.metric.learn(*self.pairs[-1])
        self.retreated = False
        rise = 1.0 + ROUNDED * self.asked.tolerance
        if self.kept is not None and not objective <= self.kept[2] * rise:
            self.before = (self.w, g, objective)
            self.retreated = True
            self.w = inside(self.asked.statement, 0.5 * (self.w + self.kept[0]))
            return
        self.before = self.kept = (self.w, g, objective)
        d = self.metric.step(g, coef)
        if tied:
            along = 0.0
            if self.level is not None and self.level[-1] > 0.0:
                along = drift - float(self.level[:-1] @ d) / float(self.level[-1])
            w = np.append(coef + d, level + along)
        else:
            w = coef + d
        self.w = inside(self.asked.statement, w)

    def _metric(self) -> Metric:
        """At the weights of the first scan."""
        tied, p = self.asked.statement.intercept, self.asked.p
        if self.H is not None:
            H = self.H[:p, :p]
            if tied and self.H[p, p] > 0.0:
                H = H - np.outer(self.H[:p, p], self.H[:p, p] / self.H[p, p])
            if self.price.any():
                return Priced(H, self.ridge, self.price)
            H = H + np.diag(self.ridge + FLOOR * np.maximum(np.diagonal(H), 1e-300))
            return Plain(cholesky(np.ascontiguousarray(H)), self.ridge)
        X, y, weight = self.sample
        loss, z = self.asked.statement.loss, self.asked.scores(X, self.w)
        a = np.full(len(y), 1.0 / len(y)) if weight is None else weight / weight.sum()
        h = a * loss.second_derivative(y, z)
        assert self.diagonal is not None and self.level is not None
        whole = self.diagonal
        if tied and self.level[p] > 0.0:
            whole = np.maximum(whole - self.level[:p] ** 2 / self.level[p], 0.0)
        curvature = SampleCurvature(X, h, self.ridge, whole, tied=tied)
        if self.price.any():
            return Priced(curvature, self.ridge, self.price)
        return Plain(curvature.solve, self.ridge)
