"""Smooth losses: a scan for gradient and curvature, then scans that prove the model's answer and mend it.

With H = Σ a h xxᵀ at `base` and the gradient g at w, the model g·(u − w) + ½(u − w)ᵀH(u − w) + penalty goes
to the solvers as p + 1 rows of squared loss, the intercept eliminated. Its weights are the next w; its dual
point gives `ahead`, and the slopes of the rule are L'(z_w) + h (z_ahead − z_w): by construction Xᵀθ keeps the
penalty's domain and is zero on free columns. h is L'' lowered near the edge of the slopes' domain (safe
curvature), so that no slope leaves it. The few rows that are far out in a column, or so near a bend of the
loss that they may cross it, are no part of H: the model has them as they are.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dualgap.arrays import Mask, Matrix, Vector
from dualgap.blocks.source import RowBlock
from dualgap.design import Dense
from dualgap.drive.scans import ScanRequest, ScanStep
from dualgap.losses import Loss
from dualgap.proof.blocks import StreamStatement, Weighed, judged, visited
from dualgap.proof.check import inside
from dualgap.proof.statement import SMALL
from dualgap.streaming.asked import InOneGroup, ScanTask, Targets, countable, scratch
from dualgap.streaming.far import KeptRows, NearBend, SeenBend, bundles, far_out, shortest, suspects
from dualgap.streaming.rules import CurvedSlopes, safe_curvature, scored
from dualgap.streaming.sampling import Start, has_bends
from dualgap.streaming.second_order import FINE, modelled

RHO = 4.0  # standard deviations that z may move: without this room squared_hinge with l1 stalled at 2e-4
CURVED = (
    1.0  # z of an exponential slope that may move: up to here its edge is as near as its curvature is small
)
SHRINK = 0.05  # of that room, what the next scan leaves: the second step is that much shorter
WIDE = 200  # columns from which the second scan makes a Gram matrix too: at 500 that saved two scans of five
LEAST, NARROW = 1e-3, 0.25  # of a way that went too far: what is taken at least; of that room, what is left
INSIDE = 1e-9  # share by which θ is kept within its prices, or rounding would be charged as excess
NEAR = 3.0  # standard deviations of z: rows nearer to a bend are kept; without them a third scan was needed
HELD = 1 << 25  # numbers of such rows, 128 MB in 4 bytes each; where they are more, the nearest of each block
LOT = 1 << 14  # rows far out, or near a bend, that are worked on at a time
HAIR = 1e-11  # of a usual slope: rows that a free column of their own fits have less, all of it rounding
INNER = 40  # steps within a model that has rows far out: five to ten were counted
LINES = (
    2e10  # products of all rows: to load a compiled loop takes a worker half a second, which it saves then
)
DOWN, SHORTEST = 0.1, 1e-9  # share of the promised fall that a step must keep; the shortest that is tried


@dataclass(frozen=True, eq=False)
class SmoothWish:
    """What a scan is to compute at w: the rule's proof, the gradient, and curvature where it is wanted."""

    statement: StreamStatement
    targets: Targets
    w: Vector
    rule: CurvedSlopes | None
    constant: float | None  # of which the objective without columns is wanted
    unit: tuple[Vector, Vector, float]  # centre, scale and room of the curvature
    curved: bool  # is H wanted?
    gather: bool  # are rows far out, and near a bend?
    near: NearBend | None
    share: float  # of a block's rows that may be near a bend
    exact: bool  # in twice the digits?
    lines: bool  # are there so many products that it pays to load the loop that makes them?


@dataclass(frozen=True, eq=False)
class SmoothSums:
    """What it found; the gradient and H, of the rows that are not far out, are not divided by Σs."""

    weighed: Weighed
    gradient: Vector
    H: Matrix | None
    null: float
    far: KeptRows
    reach: float  # up to which all rows near a bend were kept

    def plus(self, other: SmoothSums) -> SmoothSums:
        """Of both lots of rows."""
        H = None if self.H is None or other.H is None else self.H + other.H
        weighed = self.weighed.plus(other.weighed)
        gradient, null = self.gradient + other.gradient, self.null + other.null
        far, reach = self.far.plus(other.far), min(self.reach, other.reach)
        return SmoothSums(weighed, gradient, H, null, far, reach)

    @property
    def finite(self) -> bool:
        """False where a number of the rows is none."""
        return countable(self.weighed)


def smooth_scan(block: RowBlock, wish: SmoothWish) -> SmoothSums:
    """One block."""
    X, y, weight, numbers = wish.targets.of(block)
    loss, rule = wish.statement.loss, wish.rule
    with np.errstate(all="ignore"):
        bend = None if wish.near is None or rule is None else SeenBend.of(wish.near, X, y)
        visit = visited(
            InOneGroup.of(wish.statement) if rule is None else wish.statement,
            X,
            y,
            weight,
            wish.w,
            lambda centre, t: None if rule is None else rule.slopes(X, y, numbers, bend),
            exact=wish.exact,
        )
        seen, z = visit.weighed(), visit.scores
        slope = loss.derivative(y, z)
        tilted = slope.copy() if weight is None else weight * slope
        far = far_out(X, suspects(seen.tops, *wish.unit[:2]), *wish.unit[:2])
        reach = np.inf
        if wish.near is not None:
            w = wish.w if wish.statement.intercept else np.append(wish.w, 0.0)
            bend = bend or SeenBend.of(wish.near, X, y, (w, z))
            most = int(np.ceil(wish.share * len(y))) if wish.gather else None
            apart, reach = _nearest(bend.away, bend.near.reach, most)
            apart[far] = True
            far = np.flatnonzero(apart)
        tilted[far] = 0.0
        gradient = np.append(X.T @ tilted, tilted.sum())
        H = None
        if wish.curved:
            h = safe_curvature(loss, y, z, X, wish.unit, slope)
            h[far] = 0.0
            H = gram(X, h if weight is None else weight * h, lines=wish.lines)
        null = 0.0
        if wish.constant is not None:
            values = loss.value(y, np.full(len(y), wish.constant))
            null = float(values.sum() if weight is None else weight @ values)
    kept = KeptRows([], [], [], [])
    if wish.gather and len(far):
        s = np.ones(len(far)) if weight is None else weight[far]
        kept = KeptRows([shortest(X[far])], [y[far]], [s], [numbers[far]])
    return SmoothSums(seen, gradient, H, null, kept, reach)


def _nearest(away: Vector, reach: float, most: int | None) -> tuple[Mask, float]:
    """Which rows are so near a bend, no more than that many; and up to which distance these are all."""
    found = away <= reach
    if most is None or np.count_nonzero(found) <= most:
        return found, reach
    reach = float(np.partition(away, most)[most])
    return away < reach, np.nextafter(reach, 0.0)


def gram(X: Any, h: Vector, *, lines: bool = False) -> Matrix:
    """Σ h [x, 1][x, 1]ᵀ; `lines`: by the loop over lines of a design, where that is the faster one."""
    n, p = X.shape
    if lines and not hasattr(X, "indptr"):
        found = np.empty((p + 1, p + 1))
        found[:p, :p], edge = Dense(X).weighted_gram(h), X.T @ h
        found[:p, p], found[p, :p], found[p, p] = edge, edge, h.sum()
        return found
    root, work = np.sqrt(h), scratch(n, p + 1)
    np.multiply(X, root[:, None], out=work[:, :p])
    work[:, p] = root
    return work.T @ work


class SmoothPursuit:
    """From the sample's answer to the proven one."""

    name = "streamed curvature"

    def __init__(
        self, asked: ScanTask, start: Start, null: float | None, constant: float, n: int | None = None
    ) -> None:
        self.asked, self.constant, self.n = asked, constant, n
        self._null = null
        self.tops: Vector | None = None
        self.rows = 0
        loss = asked.statement.loss
        self.flat = has_bends(loss)
        rho = RHO * start.sigma
        self.unit = (start.centre, start.scale, rho if self.flat else min(rho, CURVED))
        self.w = inside(asked.statement, start.w)
        self.base, self.before, self.H = self.w, self.unit, None
        self.rule: CurvedSlopes | None = None  # the slopes of a sample prove next to nothing
        self.best, self.kept, self.scans, self.curved = np.inf, self.w, 0, True
        self.exact = False
        self.far: FarLoss | None = None
        self.near: NearBend | None = None
        if self.flat and start.sigma > 0.0:
            self.near = NearBend(loss, self._whole(self.w), NEAR * start.sigma)
        self.share = min(1.0, HELD / (asked.p + 2) / n) if n else 0.01
        self.slope = 0.0  # by which the objective falls at first on the way to w, as the model says

    @property
    def null(self) -> float:
        return 0.0 if self._null is None else self._null

    def _whole(self, w: Vector) -> Vector:
        """With an intercept behind, 0 where the problem has none."""
        return w if self.asked.statement.intercept else np.append(w, 0.0)

    def begin(self) -> ScanStep:
        return ScanStep(None, None, self._request())

    def resumed(self) -> Start:
        return Start(self.w, self.unit[2] / RHO, self.unit[0], self.unit[1], self.rows)

    def _request(self) -> ScanRequest:
        constant = self.constant if self._null is None else None
        asked, gather = self.asked, self.far is None
        wish = SmoothWish(
            asked.statement,
            asked.targets,
            self.w,
            self.rule,
            constant,
            self.unit,
            self.curved,
            gather,
            self.near,
            self.share,
            self.exact,
            (self.n or 0) * asked.p**2 >= LINES,
        )
        return ScanRequest(smooth_scan, (wish,))

    def advance(self, result: SmoothSums) -> ScanStep:
        asked, weight = self.asked, result.weighed.weight.value
        self.scans += 1
        self.tops, self.rows = result.weighed.tops, result.weighed.rows
        if self._null is None:
            self._null = result.null / weight
        found = judged(asked.statement, result.weighed, self.w, asked.tolerance, self.null)
        rule = self.rule
        if rule is not None and not self.exact and asked.blurred(found, self.null):
            self.exact = True
            return ScanStep(found, rule, self._request())
        if self.far is None:
            self.far, result = self._set_apart(result, weight)
        if result.H is not None:
            self.H, self.base, self.before = result.H / weight, self.w, self.unit
        self.unit = (*self.unit[:2], (SHRINK if self.flat else NARROW) * self.unit[2])
        if not found.primal <= self.best * (1.0 + asked.tolerance) and self.scans > 1:
            self._retreat(found.primal)
        else:
            self.best, self.kept = min(found.primal, self.best), self.w
            self._step(result.gradient / weight)
        return ScanStep(found, rule, self._request())

    def _set_apart(self, result: SmoothSums, weight: float) -> tuple[FarLoss, SmoothSums]:
        """The rows that are kept; those beyond the distance up to which all were go back into the sums."""
        found = FarLoss.of(self.asked.statement.loss, result.far, weight)
        if self.near is None or not found.lots or result.reach >= self.near.reach:
            return found, result
        self.near = replace(self.near, reach=result.reach)
        gradient, H, kept, loss = result.gradient, result.H, [], found.loss
        columns, last = suspects(result.weighed.tops, *self.unit[:2]), self._whole(self.w)
        lots = found.lots[::-1]
        found.lots.clear()
        while lots:
            X, y, a = lots.pop()
            stays = self.near.distances(y, scored(X, self.near.w)) <= result.reach
            stays[far_out(X, columns, *self.unit[:2], 1.0)] = True  # a good part of what was kept is far out
            kept.append((X[stays], y[stays], a[stays]))
            X, y, a = X[~stays].astype(np.float64), y[~stays], a[~stays] * weight
            z = scored(X, last)
            slope = loss.derivative(y, z)
            gradient = gradient + np.append(X.T @ (a * slope), float(a @ slope))
            H = None if H is None else H + gram(X, a * safe_curvature(loss, y, z, X, self.unit, slope))
        return FarLoss(loss, kept), replace(result, gradient=gradient, H=H)

    def _retreat(self, primal: float) -> None:
        """The model promised too much: less of the way, with curvature from there, and lowered less.

        How much less is what a parabola says, of the slope at the best weights and the values at both ends.
        """
        rise = max(primal - self.best, 0.0) + self.slope
        share = min(max(0.5 * self.slope / rise, LEAST), 0.5) if 0.0 < rise < np.inf else 0.5
        self.w = inside(self.asked.statement, self.kept + share * (self.w - self.kept))
        self.slope *= share
        self.unit = (*self.unit[:2], NARROW * self.unit[2])
        self.rule, self.curved = None, True

    def _step(self, gradient: Vector) -> None:
        assert self.far is not None and self.tops is not None
        asked, loss = self.asked, self.asked.statement.loss
        last = self._whole(self.w)
        w, ahead, at, pull = self._minimised(last, gradient)
        pull = pull[: len(self.w)]
        pull[asked.statement.free] = 0.0
        tau = min(1.0, asked.statement.regulariser.dual_scale(pull) * (1.0 - INSIDE))
        base, hair = self._whole(self.base), 0.0
        if asked.statement.free[: asked.p].any():
            hair = HAIR * (np.sqrt(max(self.best, 0.0)) if self.flat else 1.0)
        self.rule = CurvedSlopes(loss, last, ahead, base, tau, *self.before, hair=hair)
        if self.far.lots:
            columns = suspects(self.tops, *self.unit[:2])
            self.rule = replace(self.rule, columns=columns, apart=at, near=self.near)
        fall = self._model(last, last, gradient) - self._model(w, last, gradient)
        self.slope = 2.0 * max(fall, 0.0) if np.isfinite(fall) else 0.0
        self.w = inside(asked.statement, w if asked.statement.intercept else w[:-1])
        # where rows near a bend are kept, the model is right of the others without another look
        self.curved = (self.flat and self.near is None) or asked.p > WIDE or self.scans > 1

    def _minimised(self, last: Vector, gradient: Vector) -> tuple[Vector, Vector, Vector, Vector]:
        """The model's minimiser, the point of its dual, where rows far out were expanded, and −Xᵀθ/τ there.

        Without such rows the model is quadratic. With them it is solved by steps of second order, each
        shortened until the model falls: it is in memory.
        """
        assert self.H is not None and self.far is not None
        asked, H, far, at = self.asked, self.H, self.far, last
        value = self._model(last, last, gradient)
        for _ in range(INNER):
            own, curve = far.expanded(at)
            g, whole = gradient + H @ (at - last) + own, H + curve
            w, ahead = modelled(asked, at, g, whole, self.best)
            if not far.lots:
                break
            promised = float(g @ (w - at)) + self._price(w) - self._price(at)
            if promised > -FINE * asked.tolerance * max(self.best, SMALL * self.null):
                break
            step = 1.0
            while step > SHORTEST:
                there = at + step * (w - at)
                reached = self._model(there, last, gradient)
                if reached <= value + DOWN * step * promised:
                    break
                step *= 0.5
            else:
                break
            at, value = there, reached
        return w, ahead, at, -(g + whole @ (ahead - at))

    def _price(self, w: Vector) -> float:
        own = w if self.asked.statement.intercept else w[:-1]
        return float(self.asked.statement.regulariser.priced(own)[0])

    def _model(self, w: Vector, last: Vector, gradient: Vector) -> float:
        assert self.H is not None and self.far is not None
        step = w - last
        return float(gradient @ step + 0.5 * step @ (self.H @ step)) + self.far.value(w) + self._price(w)


@dataclass(frozen=True, eq=False)
class FarLoss:
    """Σ a L of the rows far out, in memory: lots of rows, targets and weights."""

    loss: Loss
    lots: list[tuple[Matrix, Vector, Vector]]

    @classmethod
    def of(cls, loss: Loss, rows: KeptRows, weight: float) -> FarLoss:
        """Of rows that a scan kept; `weight` is that of all rows."""
        lots, start = [], 0
        y = np.concatenate(rows.y) if rows.y else np.empty(0)
        a = np.concatenate(rows.weight) / weight if rows.weight else np.empty(0)
        for X in bundles(rows.X, LOT):
            stop = start + len(X)
            lots.append((X, y[start:stop], a[start:stop]))
            start = stop
        return cls(loss, lots)

    def value(self, w: Vector) -> float:
        """At w, its constant behind."""
        found = 0.0
        with np.errstate(all="ignore"):
            for X, y, a in self.lots:
                found += float(a @ self.loss.value(y, scored(X, w)))
        return found if np.isfinite(found) else np.inf

    def expanded(self, w: Vector) -> tuple[Vector, Matrix]:
        """Gradient and curvature there."""
        g, H = np.zeros(len(w)), np.zeros((len(w), len(w)))
        for short, y, a in self.lots:
            X = short.astype(np.float64, copy=False)
            z = scored(X, w)
            slope = a * self.loss.derivative(y, z)
            g += np.append(X.T @ slope, slope.sum())
            H += gram(X, a * self.loss.second_derivative(y, z))
        return g, H
