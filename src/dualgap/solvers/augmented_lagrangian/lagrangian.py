"""The smoothed problem of one round, its Newton step, and the change to the next round."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import numpy as np

from dualgap.arrays import Index, Vector
from dualgap.drive.solver import Iterate
from dualgap.linalg.line_search import search
from dualgap.penalties import Regulariser
from dualgap.problem.problem import Problem
from dualgap.solvers.augmented_lagrangian.hard_rows import Stacked, tied_rows
from dualgap.solvers.augmented_lagrangian.rows import RowCurve, RowLosses, rows_of
from dualgap.solvers.augmented_lagrangian.system import Grams, NewtonSystem
from dualgap.solvers.augmented_lagrangian.weights import SmoothedPenalty, WeightCurve, weights_of

INEXACT = 0.1  # a round ends when the gradient is this share of what the multipliers moved by,
SETTLING = 0.3  # and they must be on the way to rest: no more than this share of the last move counts
SLOPE = 0.1  # of the first slope may be left along a step
NEGLIGIBLE = 1e-14  # a shorter step, relative to the weights, is rounding and not progress
PROXIMAL, FAINT = 0.1, 1e-6  # first eta over sigma; faint where the loss alone holds the weights
FLOOR = 1e-8  # eta falls no lower than this share of its first value


@dataclass(frozen=True, eq=False)
class LagrangianPoint:
    """Weights, predictions, the derivatives of loss and penalty there, and pull = Xᵀ slope."""

    w: Vector
    z: Vector
    rows: RowCurve
    weights: WeightCurve
    pull: Vector


@dataclass(frozen=True, eq=False)
class Lagrangian:
    """Σ a L + g, both smoothed around their multipliers, plus eta/2 ‖w − centre‖²."""

    problem: Problem
    rows: RowLosses
    weights: SmoothedPenalty
    centre: Vector
    eta: float
    floor: float  # eta stays above
    level: float  # mean curvature of the loss at the centre
    pull: Vector  # Xᵀ of the row multipliers
    last: float = np.inf  # change of the multipliers in the round before
    rest: Vector | None = None  # Xᵀ slope of the rows that are not in the problem
    grams: Grams = field(default_factory=Grams)

    def gradient(self, point: LagrangianPoint) -> Vector:
        """By the weights."""
        return point.pull + point.weights.v + self.eta * (point.w - self.centre)

    def solved(self, point: LagrangianPoint) -> bool:
        """Is the gradient small against the change of the multipliers in this round and the last?

        Against this round alone it is not enough: stiffer multipliers move further by themselves, and on
        degenerate problems their errors then grow from round to round.
        """
        change = min(self.change(point), SETTLING * self.last)
        return _length(self.gradient(point)) <= INEXACT * change

    def change(self, point: LagrangianPoint) -> float:
        """How far the multipliers have moved in this round, as a force on the weights."""
        forces = (
            point.weights.v - self.weights.anchor,
            point.pull - self.pull,
            self.eta * (point.w - self.centre),
        )
        return max(_length(force) for force in forces)

    def residual(self, point: LagrangianPoint) -> float:
        """An estimate of the duality gap, to first order and without a product with the matrix."""
        astray = _length(point.w - point.weights.primal) * _length(point.pull)
        unbalanced = _length(point.pull + point.weights.v) * _length(point.w)
        return self.rows.excess(point.z, point.rows) + astray + unbalanced

    def newton(self, point: LagrangianPoint) -> LagrangianPoint | None:
        """One step, or nothing if rounding leaves no way down."""
        gradient = self.gradient(point)
        design = self.problem.design
        system = NewtonSystem(design, point.rows.curvature, point.weights, self.eta, self.grams)
        dw = -system.solve(gradient, self.problem.free)
        first = float(gradient @ dw)
        if not first < 0.0:
            return None
        dz = design.matvec(dw)
        drift, spread = float((point.w - self.centre) @ dw), float(dw @ dw)
        still = 0.0 if self.rest is None else float(self.rest @ dw)

        def along(t: float) -> tuple[float, float, tuple[RowCurve, WeightCurve]]:
            rows, weights = self.rows.at(point.z + t * dz), self.weights.at(point.w + t * dw)
            slope = still + float(rows.slope @ dz) + float(weights.v @ dw) + self.eta * (drift + t * spread)
            bend = float(rows.curvature @ (dz * dz) + weights.times(dw) @ dw) + self.eta * spread
            return slope, bend, (rows, weights)

        t, found = search(along, first, SLOPE)
        if found is None or t * np.abs(dw).max() <= NEGLIGIBLE * np.abs(point.w).max():
            return None
        rows, weights = found
        pull = self._pulled(rows.slope, point)
        return LagrangianPoint(point.w + t * dw, point.z + t * dz, rows, weights, pull)

    def moved(self, point: LagrangianPoint, factor: float) -> tuple[Lagrangian, LagrangianPoint]:
        """The next round, `factor` times as stiff, and its start.

        Where the loss flattens on the way (separable classes), stiffness follows it down: what counts is
        the ratio of both.
        """
        rows = self.rows.moved(point.rows).stiffened(factor)
        level = rows.level(point.z)
        flatter = float(np.clip(level / self.level, 1e-3, 1.0)) if self.level > 0 else 1.0
        following = replace(
            self,
            rows=rows,
            weights=self.weights.moved(point.weights.v).stiffened(factor * flatter),
            centre=point.w,
            eta=flatter * max(self.eta / factor**2, self.floor),
            floor=flatter * self.floor,
            level=level,
            pull=point.pull,
            last=self.change(point),
        )
        curve = following.rows.at(point.z)
        pull = self._pulled(curve.slope, point)
        return following, LagrangianPoint(point.w, point.z, curve, following.weights.at(point.w), pull)

    def held(self, point: LagrangianPoint) -> Lagrangian:
        """The same multipliers with ten times the proximal term: Newton had lost its way."""
        return replace(self, centre=point.w, eta=10.0 * self.eta)

    def stiffened(self, factor: float) -> Lagrangian:
        """The same multipliers and centre, `factor` times as stiff."""
        rows, weights = self.rows.stiffened(factor), self.weights.stiffened(factor)
        return replace(self, rows=rows, weights=weights, eta=self.eta / factor)

    def at(self, w: Vector, z: Vector) -> LagrangianPoint:
        """A point, from scratch."""
        rows = self.rows.at(z)
        return LagrangianPoint(w, z, rows, self.weights.at(w), self._product(rows.slope))

    def _product(self, slope: Vector) -> Vector:
        """Xᵀ slope, the rows at rest among them."""
        pull = self.problem.design.transpose_matvec(slope)
        return pull if self.rest is None else pull + self.rest

    def _pulled(self, slope: Vector, before: LagrangianPoint) -> Vector:
        """Xᵀ slope; where few slopes changed, through their rows alone."""
        design, change = self.problem.design, slope - before.rows.slope
        count = np.count_nonzero(change)
        if count > 0.1 * len(slope):
            return self._product(slope)
        if not count:
            return before.pull
        where = np.flatnonzero(change)
        return before.pull + design.rows(where).transpose_matvec(change[where])

    def among(self, outer: Lagrangian, before: LagrangianPoint, live: Index) -> Lagrangian:
        """The same with all rows of `outer`; those not live keep the multipliers they had `before`."""
        rows = outer.rows.joined(before.rows, live, self.rows)
        return replace(self, problem=outer.problem, rows=rows, rest=outer.rest)

    def follow(self, point: LagrangianPoint, slope: Vector) -> LagrangianPoint:
        """A point found without some of the rows, whose slopes were taken to be these, with all of them."""
        z = self.problem.design.matvec(point.w)
        rows = self.rows.at(z)
        believed = replace(point, rows=replace(rows, slope=slope))
        return LagrangianPoint(point.w, z, rows, point.weights, self._pulled(rows.slope, believed))


def begin(problem: Problem, start: Iterate, stiffer: float = 10.0) -> tuple[Lagrangian, LagrangianPoint]:
    """The first round, its stiffness taken from the curvature of the loss at the start.

    A start that is not w = 0 gives the first multipliers, by its dual point if it has one, and a stiffness
    `stiffer` times as large: on neighbouring strengths ten took the fewest steps.
    """
    w, design = start.w.copy(), problem.design
    z = design.matvec(w)
    near = not np.array_equal(w, problem.null_weights)
    theta = start.theta if near else None
    rows = tied_rows(problem, z, theta) if isinstance(problem, Stacked) else rows_of(problem, z, theta)
    pull = np.zeros(problem.p)
    if near:
        slope = rows.stiffened(stiffer).at(z).slope if start.theta is None else -start.theta
        pull = design.transpose_matvec(slope)
    sigma = rows.typical_curvature(z) * float(problem.column_squares.mean())
    weights = weights_of(problem.regulariser, sigma, _inside(problem.regulariser, -pull))
    level = rows.level(z)
    eta = sigma * (FAINT if level > 0 and problem.n >= problem.p else PROXIMAL)
    lagrangian = Lagrangian(problem, rows, weights, w, eta, FLOOR * eta, level, pull)
    if near:
        lagrangian = lagrangian.stiffened(stiffer)
    return lagrangian, lagrangian.at(w, z)


def _inside(regulariser: Regulariser, v: Vector) -> Vector:
    """v as a multiplier: nothing on free coordinates, and within the domain of the conjugate."""
    seen = np.where(regulariser.free, 0.0, v)
    return seen * regulariser.dual_scale(seen)


def _length(force: Vector) -> float:
    return math.sqrt(force @ force)
