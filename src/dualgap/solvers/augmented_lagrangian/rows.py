"""The loss inside the augmented Lagrangian: smooth losses as they are, kinks rounded by multipliers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from dualgap.arrays import Matrix, Vector
from dualgap.problem.problem import Problem
from dualgap.solvers.curvature_floor import cut_off
from dualgap.traits import Trait

CURVED_SHARE = 0.2  # first zone of curvature: five mean residuals wide; two put every hinge row on its edge


NARROW = 0.03  # share of rows in its curved zone below which a smooth loss is better treated as kinked


@dataclass(frozen=True, eq=False)
class RowCurve:
    """First and second derivative of Σ a L by the predictions, row by row."""

    slope: Vector
    curvature: Vector


class Rows(Protocol):
    """The loss as a function of the predictions, differentiable once and almost everywhere twice."""

    def at(self, z: Vector) -> RowCurve:
        """The derivatives at z."""

    def excess(self, z: Vector) -> float:
        """What the multipliers fall short of the loss, L(z) + L*(d) − d·z ≥ 0 summed over the rows."""

    def typical_curvature(self, z: Vector) -> Vector:
        """Second derivatives that are representative around z."""

    def level(self, z: Vector) -> float:
        """Their mean where the loss decides it, 0 where the multipliers do."""

    def moved(self, z: Vector) -> Rows:
        """The multipliers taken over at z."""

    def stiffened(self, factor: float) -> Rows:
        """`factor` times as stiff."""


@dataclass(frozen=True, eq=False)
class SmoothRows:
    """A smooth loss needs no multipliers."""

    problem: Problem

    def at(self, z: Vector) -> RowCurve:
        loss, y, a = self.problem.loss, self.problem.y, self.problem.a
        return RowCurve(a * loss.derivative(y, z), a * loss.second_derivative(y, z))

    def excess(self, z: Vector) -> float:
        return 0.0

    def typical_curvature(self, z: Vector) -> Vector:
        return self.problem.a * max(self.level(z), 1e-3)

    def level(self, z: Vector) -> float:
        problem = self.problem
        return float(problem.a @ problem.loss.second_derivative(problem.y, z))

    def moved(self, z: Vector) -> SmoothRows:
        return self

    def stiffened(self, factor: float) -> SmoothRows:
        return self


@dataclass(frozen=True, eq=False)
class KinkedRows:
    """Each term: max over lower ≤ d ≤ upper of d·beyond − softness d²/2 − (d − anchor)²/(2 stiffness).

    beyond = z − kink; all arrays are (n, K).
    """

    kink: Matrix
    lower: Matrix
    upper: Matrix
    softness: Matrix
    anchor: Matrix
    stiffness: Matrix

    def at(self, z: Vector) -> RowCurve:
        raw, bend = self._unbounded(z[:, None] - self.kink)
        d = np.clip(raw, self.lower, self.upper)
        return RowCurve(d.sum(axis=1), np.where(d == raw, bend, 0.0).sum(axis=1))

    def _unbounded(self, beyond: Matrix) -> tuple[Matrix, Matrix]:
        """d without its bounds, and its derivative."""
        raw = self.anchor + self.stiffness * beyond
        if not self.softness.any():
            return raw, self.stiffness
        give = 1.0 + self.stiffness * self.softness
        return raw / give, self.stiffness / give

    def excess(self, z: Vector) -> float:
        beyond = z[:, None] - self.kink
        d = np.clip(self._unbounded(beyond)[0], self.lower, self.upper)
        with np.errstate(divide="ignore", invalid="ignore"):
            steep = np.where(beyond == 0.0, 0.0, beyond / self.softness)
        ideal = np.clip(steep, self.lower, self.upper)
        return float(((ideal - d) * (beyond - 0.5 * self.softness * (ideal + d))).sum())

    def typical_curvature(self, z: Vector) -> Vector:
        return np.asarray(self.stiffness.sum(axis=1))

    def level(self, z: Vector) -> float:
        return 0.0

    def moved(self, z: Vector) -> KinkedRows:
        raw, _ = self._unbounded(z[:, None] - self.kink)
        return replace(self, anchor=np.clip(raw, self.lower, self.upper))

    def stiffened(self, factor: float) -> KinkedRows:
        return replace(self, stiffness=self.stiffness * factor)


def rows_of(problem: Problem, z: Vector, theta: Vector | None) -> Rows:
    """The loss of the problem; its multipliers start from θ if that is given, else in the middle."""
    if problem.loss_has(Trait.SMOOTH):
        smooth = SmoothRows(problem)
        narrow = NARROW if problem.n >= problem.p else 10.0 * NARROW
        if smooth.level(z) >= narrow * problem.loss.curvature or not cut_off(problem):
            return smooth
    return _kinked(problem, z, theta)


def _kinked(problem: Problem, z: Vector, theta: Vector | None) -> KinkedRows:
    terms = problem.loss.terms(problem.y)
    a = problem.a[:, None]
    lower, upper = a * terms.lower, a * terms.upper
    distance = float(problem.a @ np.abs(z[:, None] - terms.kink).mean(axis=1))
    stiffness = CURVED_SHARE * (upper - lower) / max(distance, 1e-8)
    anchor = 0.5 * (lower + upper) if theta is None else _shared(-theta, lower, upper)
    return KinkedRows(terms.kink, lower, upper, terms.softness / a, anchor, stiffness)


def _shared(slope: Vector, lower: Matrix, upper: Matrix) -> Matrix:
    """Multipliers within their bounds that sum to the slope of each row, if any do."""
    anchor = np.empty(lower.shape)
    for k in range(lower.shape[1]):
        anchor[:, k] = np.clip(slope, lower[:, k], upper[:, k])
        slope = slope - anchor[:, k]
    return anchor
