"""The loss inside the augmented Lagrangian: smooth losses as they are, kinks rounded by multipliers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace

import numpy as np

from dualgap.arrays import Index, Matrix, Vector
from dualgap.problem.dual_point import shared
from dualgap.problem.problem import Problem
from dualgap.solvers.curvature_floor import cut_off
from dualgap.traits import Trait

CURVED_SHARE = 0.2  # first zone of curvature: five mean residuals wide; two put every hinge row on its edge
MORE = 3  # times the rows on a bend are watched in a round,
MOST = 0.3  # unless that is more than this share of all
GLANCE = 100  # distances among the nearest that tell how near these are
NO_TERMS = np.empty((0, 0))
NARROW = 0.03  # share of rows in its curved zone below which a smooth loss is better treated as kinked


@dataclass(frozen=True, eq=False)
class RowCurve:
    """First and second derivative of Σ a L by the predictions, row by row, and its terms' multipliers."""

    slope: Vector
    curvature: Vector
    terms: Matrix


class RowLosses(ABC):
    """The loss as a function of the predictions, differentiable once and almost everywhere twice.

    As it is here it has no multipliers, so that nothing moves, gets stiffer or is at rest.
    """

    @abstractmethod
    def at(self, z: Vector) -> RowCurve:
        """The derivatives at z."""

    @abstractmethod
    def typical_curvature(self, z: Vector) -> float:
        """A second derivative that is representative around z, for a row of weight one."""

    def level(self, z: Vector) -> float:
        """Their mean where the loss decides it, 0 where the multipliers do."""
        return 0.0

    def excess(self, z: Vector, curve: RowCurve) -> float:
        """What the multipliers fall short of the loss, L(z) + L*(d) − d·z ≥ 0 summed over the rows."""
        return 0.0

    def moved(self, curve: RowCurve) -> RowLosses:
        """The multipliers taken over from a point."""
        return self

    def stiffened(self, factor: float) -> RowLosses:
        """`factor` times as stiff."""
        return self

    def awake(self, z: Vector, curve: RowCurve, few: int) -> tuple[Index, float] | None:
        """The rows on or near a bend, at least `few`, and how near; None where that spares little."""
        return None

    def some(self, which: Index) -> RowLosses:
        """These rows alone."""
        raise NotImplementedError("a loss without multipliers has no rows at rest")

    def joined(self, before: RowCurve, which: Index, some: RowLosses) -> RowLosses:
        """All rows, these with the multipliers and stiffness they have in `some`, the others as before."""
        return self


@dataclass(frozen=True, eq=False)
class SmoothLoss(RowLosses):
    """A smooth loss needs no multipliers."""

    problem: Problem

    def at(self, z: Vector) -> RowCurve:
        loss, y, a = self.problem.loss, self.problem.y, self.problem.a
        return RowCurve(a * loss.derivative(y, z), a * loss.second_derivative(y, z), NO_TERMS)

    def typical_curvature(self, z: Vector) -> float:
        return max(self.level(z), 1e-3)

    def level(self, z: Vector) -> float:
        problem = self.problem
        return float(problem.a @ problem.loss.second_derivative(problem.y, z))


@dataclass(frozen=True, eq=False)
class KinkedLoss(RowLosses):
    """Each term: max over lower ≤ d ≤ upper of d·beyond − softness d²/2 − (d − anchor)²/(2 stiffness).

    beyond = z − kink; all arrays are (n, K), but for the softness, which may be a column, or 0 for kinks.
    """

    kink: Matrix
    lower: Matrix
    upper: Matrix
    softness: Matrix | None
    anchor: Matrix
    stiffness: Matrix

    def at(self, z: Vector) -> RowCurve:
        raw, bend = self._unbounded(z)
        d = np.minimum(np.maximum(raw, self.lower), self.upper)
        return RowCurve(total(d), total(bend * (d == raw)), d)

    def _unbounded(self, z: Vector) -> tuple[Matrix, Matrix]:
        """d without its bounds, and its derivative."""
        raw = z[:, None] - self.kink
        raw *= self.stiffness
        raw += self.anchor
        if self.softness is None:
            return raw, self.stiffness
        give = 1.0 + self.stiffness * self.softness
        return raw / give, self.stiffness / give

    def excess(self, z: Vector, curve: RowCurve) -> float:
        beyond, d = z[:, None] - self.kink, curve.terms
        if self.softness is None:
            return float(np.maximum((self.upper - d) * beyond, (self.lower - d) * beyond).sum())
        ideal = np.clip(beyond / self.softness, self.lower, self.upper)
        return float(((ideal - d) * (beyond - 0.5 * self.softness * (ideal + d))).sum())

    def typical_curvature(self, z: Vector) -> float:
        return float(self.stiffness.sum())

    def moved(self, curve: RowCurve) -> KinkedLoss:
        return replace(self, anchor=curve.terms)

    def stiffened(self, factor: float) -> KinkedLoss:
        return replace(self, stiffness=self.stiffness * factor)

    def awake(self, z: Vector, curve: RowCurve, few: int) -> tuple[Index, float] | None:
        count = max(MORE * int(np.count_nonzero(curve.curvature)), few)
        if count > MOST * len(z):
            return None
        beyond = np.abs(self._unbounded(z)[0] - curve.terms)
        beyond /= self.stiffness
        distance = beyond[:, 0] if beyond.shape[1] == 1 else beyond.min(axis=1)
        some = distance[:: max(1, count // GLANCE)]  # enough of them to tell the quantile
        place = min(count * len(some) // len(z), len(some) - 1)
        near = float(np.partition(some, place)[place])
        return np.flatnonzero(distance <= near), near

    def some(self, which: Index) -> KinkedLoss:
        whole = (self.kink, self.lower, self.upper, self.anchor, self.stiffness)
        kink, lower, upper, anchor, stiffness = (part[which] for part in whole)
        softness = None if self.softness is None else self.softness[which]
        return KinkedLoss(kink, lower, upper, softness, anchor, stiffness)

    def joined(self, before: RowCurve, which: Index, some: RowLosses) -> KinkedLoss:
        assert isinstance(some, KinkedLoss)
        anchor = before.terms.copy()
        anchor[which] = some.anchor
        stiffer = float(some.stiffness.sum() / self.stiffness[which].sum())
        return replace(self, anchor=anchor, stiffness=self.stiffness * stiffer)


def total(terms: Matrix) -> Vector:
    """Of the terms of each row."""
    return terms[:, 0] if terms.shape[1] == 1 else np.asarray(terms.sum(axis=1))


def rows_of(problem: Problem, z: Vector, theta: Vector | None) -> RowLosses:
    """The loss of the problem; its multipliers start from θ if that is given, else in the middle."""
    if problem.loss_has(Trait.SMOOTH):
        smooth = SmoothLoss(problem)
        narrow = NARROW if problem.n >= problem.p else 10.0 * NARROW
        if smooth.level(z) >= narrow * problem.loss.curvature or not cut_off(problem):
            return smooth
    return _kinked(problem, z, theta)


def _kinked(problem: Problem, z: Vector, theta: Vector | None) -> KinkedLoss:
    terms = problem.loss.terms(problem.y)
    a = problem.a[:, None]
    lower, upper = a * terms.lower, a * terms.upper
    distance = float(problem.a @ total(np.abs(z[:, None] - terms.kink))) / terms.kink.shape[1]
    stiffness = CURVED_SHARE * (upper - lower) / max(distance, 1e-8)
    anchor = 0.5 * (lower + upper) if theta is None else shared(-theta, lower, upper)
    softness = terms.softness / a if terms.softness else None
    return KinkedLoss(terms.kink, lower, upper, softness, anchor, stiffness)
