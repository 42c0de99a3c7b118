"""The loss inside the augmented Lagrangian: smooth losses as they are, kinks rounded by multipliers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from dualgap.arrays import Matrix, Vector
from dualgap.problem.problem import Problem
from dualgap.solvers.base import Iterate
from dualgap.traits import Trait

CURVED_SHARE = 0.25  # the first zone of curvature is four mean residuals wide; two put all hinge rows on its edge


@dataclass(frozen=True, eq=False)
class RowCurve:
    """First and second derivative of Σ a L by the predictions, row by row."""

    slope: Vector
    curvature: Vector


class Rows(Protocol):
    """The loss as a function of the predictions, differentiable once and almost everywhere twice."""

    def at(self, z: Vector) -> RowCurve:
        """The derivatives at z."""

    def typical_curvature(self, z: Vector) -> Vector:
        """Second derivatives that are representative around z."""

    def moved(self, z: Vector, factor: float) -> Rows:
        """The next outer round: multipliers taken over at z, `factor` times as stiff."""

    def change(self, curve: RowCurve) -> Vector | None:
        """How far the slopes are from the multipliers; nothing if there are none."""


@dataclass(frozen=True, eq=False)
class SmoothRows:
    """A smooth loss needs no multipliers."""

    problem: Problem

    def at(self, z: Vector) -> RowCurve:
        problem = self.problem
        loss, y, a = problem.loss, problem.y, problem.a
        return RowCurve(a * loss.derivative(y, z), a * loss.second_derivative(y, z))

    def typical_curvature(self, z: Vector) -> Vector:
        bend = self.problem.loss.second_derivative(self.problem.y, z)
        return self.problem.a * max(float(self.problem.a @ bend), 1e-3)

    def moved(self, z: Vector, factor: float) -> SmoothRows:
        return self

    def change(self, curve: RowCurve) -> None:
        return None


@dataclass(frozen=True, eq=False)
class KinkedRows:
    """Each kink: max over lower ≤ d ≤ upper of d·(z − kink) − (d − anchor)²/(2 stiffness); arrays (n, K)."""

    kink: Matrix
    lower: Matrix
    upper: Matrix
    anchor: Matrix
    stiffness: Matrix

    def multipliers(self, z: Vector) -> Matrix:
        """d, the maximiser."""
        return np.clip(self._raw(z), self.lower, self.upper)

    def _raw(self, z: Vector) -> Matrix:
        return np.asarray(self.anchor + self.stiffness * (z[:, None] - self.kink))

    def at(self, z: Vector) -> RowCurve:
        raw = self._raw(z)
        between = (raw > self.lower) & (raw < self.upper)
        d = np.clip(raw, self.lower, self.upper)
        return RowCurve(d.sum(axis=1), (self.stiffness * between).sum(axis=1))

    def typical_curvature(self, z: Vector) -> Vector:
        return np.asarray(self.stiffness.sum(axis=1))

    def moved(self, z: Vector, factor: float) -> KinkedRows:
        return replace(self, anchor=self.multipliers(z), stiffness=self.stiffness * factor)

    def change(self, curve: RowCurve) -> Vector:
        return np.asarray(curve.slope - self.anchor.sum(axis=1))


def rows_of(problem: Problem, start: Iterate, z: Vector) -> Rows:
    """The loss of the problem, its multipliers started from θ if there is one worth keeping."""
    if problem.loss_has(Trait.SMOOTH):
        return SmoothRows(problem)
    terms = problem.loss.terms(problem.y)
    a = problem.a[:, None]
    lower, upper = a * terms.lower, a * terms.upper
    distance = float(problem.a @ np.abs(z[:, None] - terms.kink).mean(axis=1))
    stiffness = CURVED_SHARE * (upper - lower) / max(distance, 1e-8)
    anchor = 0.5 * (lower + upper)
    return KinkedRows(terms.kink, lower, upper, anchor, stiffness)
