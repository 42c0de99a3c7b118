"""The smoothed problem of one round, its Newton step, and the change to the next round."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dualgap.arrays import Vector
from dualgap.design import Design
from dualgap.problem.problem import Problem
from dualgap.solvers.augmented_lagrangian.rows import RowCurve, Rows, rows_of
from dualgap.solvers.augmented_lagrangian.search import search
from dualgap.solvers.augmented_lagrangian.system import System
from dualgap.solvers.augmented_lagrangian.weights import WeightCurve, Weights, weights_of
from dualgap.solvers.base import Iterate
from dualgap.traits import Trait

ETA0=.1
S0=1.
LO=1e-3
HOLD=10.
TIRED=99
SHORT=1e-3
FLOOR=1e-8
INEXACT = 0.1  # a round ends when the gradient is this share of what the multipliers moved by
NEGLIGIBLE = 1e-14  # a shorter step, relative to the weights, is rounding, not progress


@dataclass(frozen=True, eq=False)
class Point:
    """Weights, predictions, the derivatives of loss and penalty there, and pull = Xᵀ slope."""

    w: Vector
    z: Vector
    rows: RowCurve
    weights: WeightCurve
    pull: Vector
    t:float=1.

    @cached_property
    def residual(self) -> float:
        """An estimate of the duality gap: exact to first order, free of matrix products."""
        astray = float(np.linalg.norm(self.w - self.weights.primal) * np.linalg.norm(self.pull))
        unbalanced = np.linalg.norm(self.pull + self.weights.v) * np.linalg.norm(self.w)
        return self.rows.excess + astray + float(unbalanced)


@dataclass(frozen=True, eq=False)
class Lagrangian:
    """Σ a L + g, both smoothed around their multipliers, plus eta/2 ‖w − centre‖²."""

    problem: Problem
    rows: Rows
    weights: Weights
    centre: Vector
    eta: float
    pull: Vector  # of the row multipliers
    floor: float=0.
    level:float=0.

    def gradient(self, point: Point) -> Vector:
        """By the weights."""
        return point.pull + point.weights.v + self.eta * (point.w - self.centre)

    def solved(self, point: Point) -> bool:
        """Is the gradient small against the change of the multipliers in this round?"""
        moved = (
            point.weights.v - self.weights.anchor,
            point.pull - self.pull,
            self.eta * (point.w - self.centre),
        )
        scale = max(float(np.linalg.norm(change)) for change in moved)
        return float(np.linalg.norm(self.gradient(point))) <= INEXACT * scale

    def newton(self, point: Point) -> Point | None:
        """One step, or nothing if rounding leaves no way down."""
        gradient = self.gradient(point)
        curve, design = point.weights, self.problem.design
        system = System(
            design, point.rows.curvature, curve.diagonal, curve.rank_one, curve.sign, self.eta
        )
        dw = -system.solve(gradient, self.problem.free)
        first = float(gradient @ dw)
        if not first < 0.0:
            return None
        dz = design.matvec(dw)
        drift, spread = float((point.w - self.centre) @ dw), float(dw @ dw)

        def along(t: float) -> tuple[float, float, tuple[RowCurve, WeightCurve]]:
            rows, weights = self.rows.at(point.z + t * dz), self.weights.at(point.w + t * dw)
            slope = float(rows.slope @ dz) + float(weights.v @ dw) + self.eta * (drift + t * spread)
            bend = float(rows.curvature @ (dz * dz) + weights.diagonal @ (dw * dw)) + self.eta * spread
            if weights.rank_one is not None:
                bend += weights.sign * float(weights.rank_one @ dw) ** 2
            return slope, bend, (rows, weights)

        t, found = search(along, first)
        if found is None or t * np.abs(dw).max() <= NEGLIGIBLE * np.abs(point.w).max():
            return None
        rows, weights = found
        pull = _pulled(design, rows.slope, point)
        return Point(point.w + t * dw, point.z + t * dz, rows, weights, pull, t)

    def moved(self, point: Point, factor: float) -> tuple[Lagrangian, Point]:
        """The next round, `factor` times as stiff, and its start."""
        rows = self.rows.moved(point.z, factor)
        level = rows.level(point.z)
        fall = np.clip(level/self.level, LO, 1.) if self.level else 1.
        weights = self.weights.moved(point.weights.v, factor*fall)
        following = Lagrangian(
            self.problem, rows, weights, point.w, max(self.eta*fall / factor**2, FLOOR*self.floor*fall), point.pull, self.floor*fall, level
        )
        return following, following.at(point.w, point.z)

    def held(self, point):
        import dataclasses
        return dataclasses.replace(self, eta=self.eta*HOLD, floor=max(self.floor,self.eta*10/FLOOR), centre=point.w)

    def at(self, w: Vector, z: Vector) -> Point:
        """A point, from scratch."""
        rows = self.rows.at(z)
        return Point(w, z, rows, self.weights.at(w), self.problem.design.transpose_matvec(rows.slope))


def _pulled(design: Design, slope: Vector, before: Point) -> Vector:
    """Xᵀ slope; where few slopes changed, through their rows alone."""
    change = slope - before.rows.slope
    where = np.flatnonzero(change)
    if len(where) > 0.1 * len(slope):
        return design.transpose_matvec(slope)
    if not len(where):
        return before.pull
    return before.pull + design.rows(where).transpose_matvec(change[where])


def begin(problem: Problem, start: Iterate) -> tuple[Lagrangian, Point]:
    """The first round, its stiffness taken from the curvature of the loss at the start."""
    w = start.w.copy()
    z = problem.design.matvec(w)
    rows = rows_of(problem, z, None)
    sigma = float(problem.design.weighted_square_norms(rows.typical_curvature(z)).mean())
    weights = weights_of(problem.regulariser, sigma*S0, None)
    easy = problem.loss_has(Trait.SMOOTH) and problem.n >= problem.p
    eta = sigma * (1e-6 if easy else ETA0)
    lagrangian = Lagrangian(problem, rows, weights, w, eta, np.zeros(problem.p), eta,rows.level(z))
    point = lagrangian.at(w, z)
    return lagrangian, point
