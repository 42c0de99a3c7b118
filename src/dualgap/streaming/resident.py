"""Rows that stay where they are and are cheap to go over again: a sample, then full passes, each with its
proof.

A sample gives the start and the curvature H; a full pass is z = Xw, the slopes u = L′(z) and Xᵀu, which is
at once the gradient and, but for the penalty's domain, a dual point: so each pass can be a certificate.
What the sample's curvature lacks, secants learn. The intercept is never a coordinate of the search: at
every w it is the best one, found from z alone. All of it is written for the vectors of any library.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from dualgap.arrays import Vector
from dualgap.blocks.source import RowBlock
from dualgap.device.arrivals import to_host
from dualgap.device.kernels import worked
from dualgap.device.spaces import space
from dualgap.drive.scans import ScanRequest, ScanStep
from dualgap.losses import Loss
from dualgap.proof.blocks import OwnSlopes, RowSlopes, StreamStatement, Visit, all_visited, judged
from dualgap.proof.rounding import added_up, sums_of
from dualgap.solvers.metrics import SMALL, Metric, Priced, unpriced
from dualgap.streaming.resident_priced import PricedThere
from dualgap.streaming.rules import SlopeAt
from dualgap.traits import Trait

MANY = 2000  # rows for each column from which a sample of half as many is a good start
SAMPLE, FEWER = 1000, 50  # rows for each column in it, and where there are fewer rows
LEAST = 1 << 21  # numbers: data of no more are their own sample
CURVED, LARGE = 200, 4000  # the same for the metric, and where rows abound: a pass or two fewer
CHEAPER = 0.1  # of all rows: a step on so many is cheaper than a pass
STEPS = 12  # on a sample
BENT = 50  # rows with curvature for each column of which a sample's metric is made, where few have any
ROUGH = 0.1  # of a weight's standard error: where the sample's fit may end
LEVEL = 0.02  # of the gap wanted that an intercept which is not the best may cost
INSIDE = 1e-9  # share by which θ is kept within its prices, or rounding would be charged as excess
ROUNDED = 0.05  # of the gap wanted: by so much an objective may rise, whose slope still falls
CHEAP = 10**7  # numbers of X up to which every pass is judged, promising or not


@dataclass(frozen=True, eq=False)
class ResidentTask:
    """One problem on rows of a device: its statement, targets and weights there, and what is asked."""

    statement: StreamStatement
    y: Any
    weight: Any
    heavy: float  # Σs
    tolerance: float
    terms: Any
    eager: bool  # is every pass to be judged?

    @cached_property
    def prices(self) -> tuple[Vector, Vector]:
        """l1 and ridge of every column, for g = Σ l1|w| + ½ ridge w²."""
        regulariser: Any = self.statement.regulariser
        elastic, p = regulariser.gauge.elastic, self.statement.columns
        return regulariser.strength * elastic.l1[:p], 2.0 * regulariser.strength * elastic.l2[:p]

    def priced(self, w: Vector) -> float:
        """Penalty of the weights."""
        l1, ridge = self.prices
        return float(l1 @ abs(w)) + 0.5 * float(ridge @ (w * w))


@dataclass(frozen=True, eq=False)
class NearStart:
    """Weights near the answer, their intercept, a model of the loss there; the objective without columns."""

    coef: Vector
    level: float
    metric: Metric | None
    null: float


def null_slopes(task: ResidentTask) -> Any:
    """s times the slope of every row at the best constant, or at zero."""
    loss, y, s = task.statement.loss, task.y, task.weight
    z = space(y).zeros_like(y)
    if task.statement.intercept:
        a = s if s is not None else space(y).ones_like(y)
        if Trait.SMOOTH in loss.traits:
            guess = added_up(a * y) / task.heavy if loss.translates or Trait.MEANS in loss.traits else 0.0
            guess = loss.best_constant(np.array([guess]), np.ones(1)) if Trait.MEANS in loss.traits else guess
            z = z + best_level(loss, y, z, s, guess, 1e-9)
        else:
            z = z + loss.best_constant(*(np.asarray(to_host(one)) for one in (y, a / task.heavy)))
    u = loss.derivative(y, z)
    return u if s is None else s * u


@dataclass(frozen=True, eq=False)
class PassWish:
    """A pass at these weights, from this guess of the intercept on."""

    task: ResidentTask
    coef: Vector
    level: float


@dataclass(frozen=True, eq=False)
class PassResult:
    """The rows gone over, and Σ s L."""

    visit: Visit
    w: Vector
    risk: float

    @property
    def finite(self) -> bool:
        """False where a number of the rows is none."""
        return bool(np.isfinite(self.risk) and np.isfinite(self.visit.pull.value).all())


def resident_pass(block: RowBlock, wish: PassWish) -> PassResult:
    """All rows at once."""
    return resident_passes(block, [(wish,)])[0]


def resident_passes(block: RowBlock, wishes: Sequence[tuple[PassWish]]) -> list[PassResult]:
    """All rows at once for some problems on the same targets and weights."""
    task = wishes[0][0].task
    y, s, ws = task.y, task.weight, []
    block.X.foresee([wish.coef for (wish,) in wishes])
    for (wish,) in wishes:
        loss, w = wish.task.statement.loss, wish.coef
        if wish.task.statement.intercept:
            z = block.X.times(w)[0]
            w = np.append(w, best_level(loss, y, z, s, wish.level, LEVEL * wish.task.tolerance))
        ws.append(w)
    problems = [wish.task.statement for (wish,) in wishes]
    found = []
    chosen = [RowSlopes(OwnSlopes(one.loss)) for one in problems]
    for visit, w in zip(all_visited(problems, block.X, y, s, ws, chosen), ws, strict=True):
        found.append(PassResult(visit, w, visit.risk))
    return found


def family_of(loss: Any) -> tuple[Any, tuple[float, ...]]:
    """A loss without its numbers, where many of a kind come by, and these."""
    return getattr(loss, "family", loss), getattr(loss, "numbers", ())


@dataclass(frozen=True)
class LevelFormula:
    """What is made of a row, for a loss or a family of them."""

    family: Any

    def at(self, rest: tuple[Any, ...]) -> tuple[Any, Any, tuple[Any, ...]]:
        """The loss, the first number, the weights where there are some; `rest` is these, the number, and what
        the loss of a family is told by.
        """
        count = 1 if hasattr(self.family, "at") else 0
        own = rest[len(rest) - count :]
        s, level = rest[: len(rest) - count - 1], rest[len(rest) - count - 1]
        return self.family.at(*own) if count else self.family, level, s


@dataclass(frozen=True)
class Levelled(LevelFormula):
    """Slope, its size and the curvature of a row at its score and a level."""

    def __call__(self, y: Any, z: Any, *rest: Any) -> tuple[list[Any], list[Any]]:
        loss, level, s = self.at(rest)
        u, h = loss.derivative(y, z + level), loss.second_derivative(y, z + level)
        u, h = (s[0] * u, s[0] * h) if s else (u, h)
        return [u, abs(u), h], []


@dataclass(frozen=True)
class Stepped(LevelFormula):
    """The slope, which is kept, and the loss of a row at its score and a level."""

    def __call__(self, y: Any, z: Any, *rest: Any) -> tuple[list[Any], list[Any], list[Any]]:
        loss, level, s = self.at(rest)
        u, value = loss.derivative(y, z + level), loss.value(y, z + level)
        return ([s[0] * u], [s[0] * value], []) if s else ([u], [value], [])


def best_level(loss: Loss, y: Any, z: Any, s: Any, level: float, enough: float) -> float:
    """b with Σ s u(z + b) as near to 0 as that share of Σ s|u|: Newton, halving a bracket where it strays."""
    low, high = -np.inf, np.inf
    family, numbers = family_of(loss)
    rows = [y, z] if s is None else [y, z, s]
    for _ in range(60):
        slope, size, bend = sums_of(Levelled(family), rows, (level, *numbers)).values.tolist()
        if not np.isfinite(slope + size) or abs(slope) <= enough * size:
            return level
        low, high = (level, high) if slope < 0.0 else (low, level)
        move = -slope / bend if bend > 0.0 else -np.sign(slope)
        ahead = level + float(np.clip(move, -1e3, 1e3))
        if not low < ahead < high:
            ahead = 0.5 * (low + high)
        if not low < ahead < high:
            return level
        level = ahead
    return level


class ResidentPursuit:
    """From the sample's answer to the proven one."""

    name = "resident passes"

    def __init__(self, matrix: Any, task: ResidentTask, start: NearStart | None = None) -> None:
        self.matrix, self.task, self.asked = matrix, task, task
        self.tops: Vector | None = None
        self.rows = matrix.n
        self.null = 0.0
        self.price, self.ridge = task.prices
        self.metric: Metric | None = None  # until a pass has told where its curvature is to be taken
        self.visit: Visit | None = None  # the last pass, while a step is made of it
        self.before: tuple[Vector, Vector, float] | None = None
        self.kept: tuple[Vector, Vector, float] | None = None
        self.retreats, self.seems = 0, np.inf
        if start is None:
            self.coef, self.level = self._start()
        else:
            self.coef, self.level, self.null = start.coef, start.level, start.null
            self.metric = start.metric
        self.w = self._whole(self.coef, self.level)

    def _whole(self, coef: Vector, level: float) -> Vector:
        return np.append(coef, level) if self.task.statement.intercept else coef

    def resumed(self) -> None:
        return None

    def begin(self) -> ScanStep:
        return ScanStep(None, None, self._request())

    def _request(self) -> ScanRequest:
        wish = PassWish(self.task, self.coef, self.level)
        return ScanRequest(resident_pass, (wish,), resident_passes)

    def _start(self) -> tuple[Vector, float]:
        """The sample's fit. Its metric is that of the passes only where curvature is the same everywhere; one
        of more rows is made before the first pass where these are few beside all, and else of what that says.
        """
        same = Trait.QUADRATIC in self.task.statement.loss.traits
        sample = Sampled.of(self.matrix, self.task, self._many if same else FEWER)
        self.null = null_of(self.task, sample.level)
        coef, level = sample.fitted(self.price, self.ridge)
        if same:
            self.metric = sample.model_used
        elif len(sample.y) < self._many * self.matrix.p <= CHEAPER * self.matrix.n:
            sample = Sampled.of(self.matrix, self.task, self._many, level=False)
            self.metric, coef, level = sample.improved(coef, level, self.price, self.ridge)
        return coef, level

    @property
    def _many(self) -> int:
        """Rows for each column of which the metric of the passes is made."""
        n, p = self.matrix.shape
        return LARGE if n >= MANY * LARGE // SAMPLE * p else CURVED

    def _curved(self, many: int, scores: Any) -> Metric:
        """The curvature of so many rows for each column at the predictions of all: no other product with X
        is needed for that, nor a copy of these rows.
        """
        matrix, task = self.matrix, self.task
        rows = matrix.drawn(many * matrix.p)
        y, z, a = (one if rows is None or one is None else one[rows] for one in (task.y, scores, task.weight))
        h = task.statement.loss.second_derivative(y, z)
        h = h / len(y) if a is None else h * (a / added_up(a))
        H, c = matrix.rough_gram_of(rows, h, first=task.statement.intercept)
        H = H if c is None else without_constant(H, c, h)
        return modelled(matrix, H, self.price, self.ridge)

    def advance(self, result: PassResult) -> ScanStep:
        task, visit = self.task, result.visit
        self.w = result.w
        self.level = float(result.w[-1]) if task.statement.intercept else 0.0
        self.tops = visit.block.rows.tops
        p = task.statement.columns
        g = visit.pull.value[:p].sum(axis=1) / task.heavy
        objective = result.risk / task.heavy + task.priced(self.coef)
        tau, seems = self._seeming(g, result, objective)
        self.seems = seems
        found = rule = None
        if task.eager or seems <= task.tolerance * max(objective, 1e-4 * self.null):
            seen = visit.weighed(tau)
            found = judged(task.statement, seen, result.w, task.tolerance, self.null)
            whole = result.w if task.statement.intercept else np.append(result.w, 0.0)
            rule = SlopeAt(task.statement.loss, whole, tau)
            if found.gap <= task.tolerance * max(found.primal, 1e-4 * self.null):
                return ScanStep(found, rule, None)
        self.visit = visit
        self._move(g, objective)
        self.visit = None  # the next pass takes as much
        return ScanStep(found, rule, self._request())

    def _seeming(self, g: Vector, result: PassResult, objective: float) -> tuple[float, float]:
        """The share of θ that keeps its prices, and about how large the gap is with it."""
        free = self.task.statement.regulariser.free
        size = abs(result.visit.pull.value).sum(axis=1)
        pulls = abs(np.append(g, 0.0)[: len(free)][free]) / np.maximum(size[: len(free)][free], 1e-300)
        loose = float(np.max(pulls, initial=0.0)) * self.task.heavy
        tau, seems = seeming(self.task, self.coef, g, objective)
        return tau, seems + loose * objective

    def _move(self, g: Vector, objective: float) -> None:
        if self.metric is None:
            assert self.visit is not None
            self.metric = self._curved(self._many, self.visit.scores)
        if self.before is not None:
            self.metric.learn(self.coef - self.before[0], g - self.before[1])
        if self.kept is not None and not objective <= self.kept[2] * (1.0 + ROUNDED * self.task.tolerance):
            self.before = (self.coef, g, objective)
            self.retreats += 1
            if self.retreats % 2:
                self.coef = 0.5 * (self.coef + self.kept[0])  # too far: half the way, with what was learnt
                return
            coef, g, _ = self.before = self.kept  # what was learnt misleads: curvature of more rows
            self.metric = self._curved(LARGE, self.matrix.times(coef)[0] + self.level)
            self.coef = coef + self.metric.step(g, coef)
            return
        self.before = self.kept = (self.coef, g, objective)
        self.coef = self.coef + self.metric.step(g, self.coef)


def seeming(task: ResidentTask, coef: Vector, g: Vector, objective: float) -> tuple[float, float]:
    """The share of θ that keeps its prices, and about how large the gap is with it at the best intercept."""
    regulariser = task.statement.regulariser
    free = regulariser.free
    v = np.zeros(len(free))
    v[: len(g)] = -g
    v[free] = 0.0
    tau = regulariser.dual_scale(v)
    tau = tau if tau == 1.0 else tau * (1.0 - INSIDE)
    (price, ridge), u = task.prices, tau * v[: len(coef)]
    over = np.maximum(abs(u) - price, 0.0)
    paid = np.divide(over * over, 2.0 * ridge, out=np.zeros(len(over)), where=ridge > 0.0)
    bracket = (price * abs(coef) + 0.5 * ridge * coef * coef + paid - coef * u).sum()
    # a share τ of all slopes costs about the square of 1 − τ
    return tau, float(bracket) + (1.0 - tau) ** 2 * objective


def null_of(task: ResidentTask, level: float) -> float:
    """The objective without columns, on all rows."""
    s = [] if task.weight is None else [task.weight]
    return float(sums_of(Everywhere(task.statement.loss), [task.y, *s], (level,)).values[0]) / task.heavy


@dataclass(frozen=True)
class Everywhere:
    """s L of a row at the same prediction for all."""

    loss: Loss

    def __call__(self, y: Any, *rest: Any) -> tuple[list[Any], list[Any]]:
        *s, level = rest
        found = self.loss.value(y, space(y).zeros_like(y) + level)
        return [s[0] * found if s else found], []


class Sampled:
    """Some rows, copied, with a column of ones where there is an intercept."""

    def __init__(
        self, A: Any, y: Any, a: Any, statement: StreamStatement, matrix: Any, *, level: bool
    ) -> None:
        self.A, self.y, self.a, self.statement, self.matrix = A, y, a, statement, matrix
        self.p = statement.columns
        self.model_used: Metric | None = None
        self.level = self._constant() if statement.intercept and level else 0.0

    @classmethod
    def of(cls, matrix: Any, task: ResidentTask, fewer: int = FEWER, *, level: bool = True) -> Sampled:
        """So many rows for each column, more where there are very many."""
        n, p = matrix.shape
        m = n if n * p <= LEAST else min(n, max(SAMPLE if n >= MANY * p else 0, fewer) * p)
        rows = matrix.drawn(m)
        A, y = matrix.gathered(rows), task.y if rows is None else task.y[rows]
        a = None
        if task.weight is not None:
            a = task.weight if rows is None else task.weight[rows]
            a = a / added_up(a)
        return cls(
            A, y, a, task.statement, matrix, level=level and Trait.SMOOTH in task.statement.loss.traits
        )

    def _mean(self, values: Any) -> float:
        return added_up(values) / len(values) if self.a is None else added_up(self.a * values)

    def _constant(self) -> float:
        """The best constant, from a good guess."""
        loss = self.statement.loss
        guess = 0.0
        if loss.translates:
            guess = self._mean(self.y)
        elif Trait.MEANS in loss.traits:
            guess = loss.best_constant(np.array([self._mean(self.y)]), np.ones(1))
        zero = space(self.y).zeros_like(self.y)
        return best_level(loss, self.y, zero, self.a, float(guess), 1e-6)

    def gram(self, h: Any) -> Any:
        """Σ a h [x, 1][x, 1]ᵀ, the constant eliminated; on the device."""
        h = h / len(self.y) if self.a is None else self.a * h
        A = self.A
        if hasattr(self.statement.loss, "family"):  # most rows of such a loss have no curvature
            live = self.matrix.live(h > 0.0, None)
            each = max(1, len(live) // (BENT * self.p))
            A, h = self.matrix.rows_of(A, live[::each]), h[live[::each]] * each
        H = self.matrix.rough_gram(A, h)
        if not self.statement.intercept:
            return H
        return without_constant(H, self.matrix.pulled_from(A, h), h)

    def model(self, h: Any, price: Vector, ridge: Vector) -> Metric:
        """The metric of these curvatures."""
        return modelled(self.matrix, self.gram(h), price, ridge)

    def fitted(
        self, price: Vector, ridge: Vector, start: tuple[Vector, float] | None = None
    ) -> tuple[Vector, float]:
        """Weights and intercept, by steps with secants."""
        loss = self.statement.loss
        coef, level = (np.zeros(self.p), self.level) if start is None else start
        enough, tied = ROUGH * self.p / len(self.y), self.statement.intercept
        metric: Metric | None = None
        kept: Any = None
        last: Any = None
        for _ in range(STEPS):
            z0 = self.matrix.product_of(self.A, coef)
            if tied:
                level = best_level(loss, self.y, z0, self.a, level, 1e-4)
            g, value = self.slope(z0, level)
            value += float(price @ abs(coef)) + 0.5 * float(ridge @ (coef * coef))
            if kept is not None and metric is not None:
                metric.learn(coef - last[0], g - last[1])
                if not value <= kept[2] * (1.0 + 1e-9):
                    last, coef = (coef, g), 0.5 * (coef + kept[0])
                    continue
            if metric is None:
                metric = self.model_used = self.model(
                    loss.second_derivative(self.y, z0 + level), price, ridge
                )
            last, kept = (coef, g), (coef, g, value)
            d = metric.step(g, coef)
            promise = -float((g + ridge * coef) @ d) + float(price @ (abs(coef) - abs(coef + d)))
            coef = coef + d
            if promise <= enough * abs(value):
                break
        return coef, level

    def improved(
        self, coef: Vector, level: float, price: Vector, ridge: Vector
    ) -> tuple[Metric, Vector, float]:
        """One step on these rows, of which there are more than those that gave the weights; its metric."""
        loss, z = self.statement.loss, self.matrix.product_of(self.A, coef)
        if self.statement.intercept:
            level = best_level(loss, self.y, z, self.a, level, 1e-4)
        metric = self.model(loss.second_derivative(self.y, z + level), price, ridge)
        return metric, coef + metric.step(self.slope(z, level)[0], coef), level

    def slope(self, z: Any, level: float) -> tuple[Vector, float]:
        """The mean of the slopes times the rows, and that of the losses."""
        family, numbers = family_of(self.statement.loss)
        rows = [self.y, z] if self.a is None else [self.y, z, self.a]
        found = worked(Stepped(family), rows, (level, *numbers))
        g = np.asarray(self.matrix.host(self.matrix.pulled_from(self.A, found.kept[0])))
        n = len(self.y) if self.a is None else 1.0
        return g / n, float(found.sums[0]) / n


def without_constant(H: Any, c: Any, h: Any) -> Any:
    """Σ h xxᵀ once the constant is at its best: c is Σ h x."""
    h0 = added_up(h)
    return H - c[:, None] * (c[None, :] / h0) if h0 > 0.0 else H


def modelled(matrix: Any, H: Any, price: Vector, ridge: Vector) -> Metric:
    """The metric of a curvature on the device."""
    if not price.any():
        return unpriced(matrix, H, ridge)
    if len(H) > SMALL:
        return PricedThere(matrix, H, ridge, price)
    return Priced(matrix.host(H), ridge, price)


def served(loss: Loss, regulariser: Any) -> bool:
    """Can a pursuit of this kind solve it?"""
    convex = Trait.CONVEX in loss.traits and Trait.CONVEX in regulariser.traits
    known = Trait.SMOOTH in loss.traits or Trait.PIECEWISE_LINEAR in loss.traits
    elastic = not regulariser.constrained and regulariser.gauge.elastic is not None
    return convex and known and elastic and loss.anywhere
