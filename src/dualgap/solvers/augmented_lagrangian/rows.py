"""The loss inside the augmented Lagrangian: smooth losses as they are, kinks rounded by multipliers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from dualgap.arrays import Matrix, Vector
from dualgap.problem.problem import Problem
from dualgap.traits import Trait

CURVED_SHARE = 0.2  # first zone of curvature: five mean residuals wide; two put every hinge row on its edge


@dataclass(frozen=True, eq=False)
class RowCurve:
    """First and second derivative of Σ a L by the predictions, and how much the multipliers cost.

    `excess` is Σ a L(z) − d·(z − kink) ≥ 0: what the multipliers d fall short of the loss, row by row summed.
    """

    slope: Vector
    curvature: Vector
    excess: float


class Rows(Protocol):
    """The loss as a function of the predictions, differentiable once and almost everywhere twice."""

    def at(self, z: Vector) -> RowCurve:
        """The derivatives at z."""

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
        return RowCurve(a * loss.derivative(y, z), a * loss.second_derivative(y, z), 0.0)

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
    """Each kink: max over lower ≤ d ≤ upper of d·(z − kink) − (d − anchor)²/(2 stiffness); arrays (n, K)."""

    kink: Matrix
    lower: Matrix
    upper: Matrix
    anchor: Matrix
    stiffness: Matrix

    def at(self, z: Vector) -> RowCurve:
        beyond = z[:, None] - self.kink
        raw = self.anchor + self.stiffness * beyond
        d = np.clip(raw, self.lower, self.upper)
        curvature = np.where(d == raw, self.stiffness, 0.0)
        excess = np.maximum(self.upper * beyond, self.lower * beyond) - d * beyond
        return RowCurve(d.sum(axis=1), curvature.sum(axis=1), float(excess.sum()))

    def typical_curvature(self, z: Vector) -> Vector:
        return np.asarray(self.stiffness.sum(axis=1))

    def level(self, z: Vector) -> float:
        return 0.0

    def moved(self, z: Vector) -> KinkedRows:
        raw = self.anchor + self.stiffness * (z[:, None] - self.kink)
        return replace(self, anchor=np.clip(raw, self.lower, self.upper))

    def stiffened(self, factor: float) -> KinkedRows:
        return replace(self, stiffness=self.stiffness * factor)


def rows_of(problem: Problem, z: Vector, theta: Vector | None) -> Rows:
    """The loss of the problem; its multipliers start from θ if that is given, else in the middle."""
    if problem.loss_has(Trait.SMOOTH):
        return SmoothRows(problem)
    terms = problem.loss.terms(problem.y)
    a = problem.a[:, None]
    lower, upper = a * terms.lower, a * terms.upper
    distance = float(problem.a @ np.abs(z[:, None] - terms.kink).mean(axis=1))
    stiffness = CURVED_SHARE * (upper - lower) / max(distance, 1e-8)
    anchor = 0.5 * (lower + upper) if theta is None else _shared(-theta, lower, upper)
    return KinkedRows(terms.kink, lower, upper, anchor, stiffness)


def _shared(slope: Vector, lower: Matrix, upper: Matrix) -> Matrix:
    """Multipliers within their bounds that sum to the slope of each row, if any do."""
    anchor = np.empty(lower.shape)
    for k in range(lower.shape[1]):
        anchor[:, k] = np.clip(slope, lower[:, k], upper[:, k])
        slope = slope - anchor[:, k]
    return anchor
