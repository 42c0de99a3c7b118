"""Proximal Newton without the curvature matrix: sweeps over the columns, then conjugate gradients."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dualgap.arrays import Index, Mask, Vector, either
from dualgap.compiled.layout import Lines, locked
from dualgap.solvers.curvature_floor import CurvatureFloor
from dualgap.solvers.design_lines import ColumnStore, Taken
from dualgap.solvers.lasso.priced_point import PricedPoint
from dualgap.traits import Trait

FEW, MOST = 3, 50  # sweeps for one model: at first, and where rounds make slow progress
# Curvature that flat rows are lent, of the loss's own: the least, and after a step to nowhere. With less the
# gradients of six rounds more led nowhere, a third of the time of a text.
FLOOR = (1e-6, 1e-2)
COPY = 3.0  # sweeps in the time that the model takes to be made, with the products around it
GRADIENTS = 60  # conjugate ones for FEW sweeps
LESS = 0.1  # a model is minimised until this share of the violations is left, while the point is far
CALM = 0.1  # where less than this share of the support changes, conjugate gradients take over from sweeps
NEAR = 0.1  # violations, in prices, from which on two sweeps do and a model may come with a dual point
CLOSE = 1e-2  # and from which on Newton's step is solved as far as the proof will need
SHORT = 1e-6  # share of the violations that 4-byte numbers leave in one round, at best
STUMBLE = 0.1  # a shorter step to where gradients led is one on nearly as many columns as rows, and no better
REST, LONGEST = 4, 32  # rounds of sweeps alone after that, doubled with each
SLOW = 0.5  # a round that leaves more than this share of the violations makes slow progress


@dataclass(frozen=True, eq=False)
class _Model:
    """gradientᵀd + ½ |Xd|² + ½ dᵀ diag(ridge) d + Σ price |w + d|, X being √h ∘ the columns taken."""

    lines: Lines
    gradient: Vector
    diagonal: Vector
    w: Vector
    price: Vector
    ridge: Vector
    unit: Vector

    @property
    def stored(self) -> int:
        """Numbers."""
        return int(self.lines.starts[-1])

    def off(self) -> Vector:
        """How far each coordinate is from optimal at d = 0."""
        size = np.abs(self.gradient)
        there = np.abs(self.gradient + self.price * np.sign(self.w))
        return np.maximum(np.where(self.w == 0.0, size - self.price, there), 0.0)

    def live(self, w: Vector) -> Mask:
        """The support of w, with the columns that pay no price."""
        return np.asarray((w != 0.0) | (self.price == 0.0))


class SweepEngine:
    """newGLMNET (Yuan, Ho and Lin, 2012), with conjugate gradients on the support once that settles.

    A model minimised well comes with a dual point, θ − h ∘ Xd: `ahead`, if the last round had one. It is
    feasible to the accuracy of the model's minimum, the slopes at the new point only to the loss's third
    derivatives.
    """

    def __init__(self, point: PricedPoint, wanted: float) -> None:
        self.point, self.wanted = point, max(wanted, 1e-13)
        self.floor = CurvatureFloor(point.problem, *FLOOR)
        self.store = ColumnStore(point.problem.design)
        self.random = np.array([20120619], dtype=np.int64)
        self.sweeps, self.left, self.slow = FEW, np.inf, 0
        self.work = 0.0  # numbers that might have been visited so far
        self.visited = 0.0  # and that were, or nearly
        self.ahead: Vector | None = None
        self.lasso = point.problem.loss_has(Trait.QUADRATIC) and not point.ridge.any()
        self.idle = self.rest = 0  # rounds whose step led nowhere, and rounds to come without gradients
        self.tried = False  # did the last round have gradients?
        self.crowded = False  # more columns live than there are rows: gradients would have no one answer
        kind = np.uint16 if point.problem.n < 1 << 16 else np.uint32
        self._room = (np.empty(0, dtype=kind), np.empty(0, dtype=np.float32))

    def improve(self, working: Index, residual: Vector) -> None:
        """Minimise a model, by sweeps and, if the support is settled, gradients; search the line to there."""
        point = self.point
        which = either(working, point.unpriced, len(point.w))
        taken = self.store.take(which)
        curvature = self.floor.curvature(point.z)
        model = self._model(which, taken, curvature, -residual[which])
        off = model.off()
        self._learn(float(off.sum()))
        self.work += (1.0 + 2.0 * GRADIENTS / FEW) * self.sweeps * taken.stored
        change, done = self._minimise(model, off)
        along = taken.matvec(change)
        theta = point.problem.slope(point.z)
        step = point.advance(which, change, along)
        self.floor.learn(step)
        self._tire(step)
        self.ahead = theta - curvature * along if done and step == 1.0 else None

    def _learn(self, total: float) -> None:
        """More sweeps if the last ones made slow progress."""
        slow = total > SLOW * self.left and self.point.factor == self.point.before
        self.slow += slow
        self.sweeps = min(2 * self.sweeps, MOST) if slow else max(self.sweeps // 2, FEW)
        self.left = total

    def _tire(self, step: float) -> None:
        """Sweeps of a lasso go on alone for a while after a short step, longer each time."""
        if not self.lasso:
            self.idle = self.idle + 1 if step == 0.0 else 0
        elif self.tried and step < STUMBLE:
            self.idle += 1
            self.rest = min(REST * 2**self.idle, LONGEST)

    def _model(self, which: Index, taken: Taken, curvature: Vector, gradient: Vector) -> _Model:
        from dualgap.solvers.lasso.model_sweeps import fill_model

        point = self.point
        indices, values = self._room
        if len(values) < taken.stored:
            size = taken.stored + taken.stored // 2
            indices = np.empty(0 if taken.lines.dense else size, dtype=indices.dtype)
            self._room = indices, values = indices, np.empty(size, dtype=np.float32)
        starts = np.empty(len(which) + 1, dtype=np.int64)
        room = (starts, indices, values)
        squares = fill_model(taken.lines, taken.places, taken.scale, np.sqrt(curvature), room)
        lines = Lines(taken.lines.dense, locked(starts), locked(indices), locked(values))
        ridge, price = point.ridge[which], point.factor * point.price[which]
        return _Model(lines, gradient, squares + ridge, point.w[which], price, ridge, point.unit[which])

    def _minimise(self, model: _Model, off: Vector) -> tuple[Vector, bool]:
        """The minimiser, and whether it is good enough for a proof."""
        from dualgap.compiled.lines import dots
        from dualgap.solvers.lasso.model_sweeps import descend_model

        total, worst = float(off.sum()), float(np.max(off / model.unit, initial=0.0))
        change, bend = np.zeros(len(off)), np.zeros(self.point.problem.n)
        parts = (model.gradient, model.diagonal), (model.w, model.price, model.ridge), (change, bend)
        sweeps = min(2, self.sweeps) if worst < NEAR and self.sweeps == FEW else self.sweeps
        count = descend_model(model.lines, *parts, (LESS * total, sweeps), self.random)
        self.visited += (COPY + count) * model.stored
        ahead = model.w + change
        live = model.live(ahead)
        changed = np.count_nonzero(live != model.live(model.w))
        size = int(np.count_nonzero(live))
        self.crowded, self.tried = size > len(bend), False
        if self.point.factor > 1.0 or changed > CALM * size or (self.lasso and self.crowded):
            return change, False
        if self.rest:
            self.rest -= 1
            return change, False
        self.tried = True
        linear = model.price * np.sign(ahead)
        slope = dots(model.lines, bend) + model.gradient + model.ridge * change + linear
        step, left = self._solve(model, live, np.where(live, -slope, 0.0), worst)
        crossing = ((ahead + step) * ahead < 0.0) & (linear != 0.0)
        step[crossing] = -ahead[crossing]
        self._add(model, (change, bend), step, crossing)
        if worst < NEAR and not crossing.any():
            return change, left <= 3.0 * self._enough()
        self.visited += descend_model(model.lines, *parts, (0.0, 1), self.random) * model.stored
        return change, False

    def _solve(self, model: _Model, live: Mask, right: Vector, worst: float) -> tuple[Vector, float]:
        """Newton's step on the live columns, and what is left of the violations, in prices."""
        from dualgap.solvers.lasso.model_sweeps import conjugate_model

        aim = max(0.3 * self._enough(), SHORT * worst)
        if worst > CLOSE:
            aim = max(aim, LESS * min(worst, 1.0) * max(min(worst, 1.0), 0.1))
        diagonal = np.where(model.diagonal > 0.0, model.diagonal, 1.0)
        most = GRADIENTS * self.sweeps // FEW
        parts = (diagonal, model.ridge, model.unit)
        step, count = conjugate_model(model.lines, live, parts, right, self.point.problem.n, (aim, most))
        self.visited += 2.0 * count * model.stored
        return step, float(np.max(np.abs(right) / model.unit, initial=0.0))

    def _add(self, model: _Model, state: tuple[Vector, Vector], step: Vector, zero: Mask) -> None:
        from dualgap.compiled.lines import combination

        change, bend = state
        change += step
        change[zero] = -model.w[zero]  # without rounding
        bend += combination(model.lines, step, len(bend))

    def _enough(self) -> float:
        """Violations, in prices, that leave the gap wanted: they shrink the dual point by as much."""
        point = self.point
        paid = float(point.price @ np.abs(point.w)) / max(point.objective(), 1e-300)
        return self.wanted / max(paid, 1e-3)
