"""The loss over the rows as Newton needs it: smooth, or made so by rounding off its kinks.

Rounding a kink off by a width s subtracts s·d²/2 inside the supremum that defines the loss, so that it lowers
the loss and leaves the domain of its slopes alone: a dual point of the rounded loss is one of the loss.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dualgap.arrays import Index, Vector
from dualgap.problem.problem import Problem
from dualgap.traits import Trait


@dataclass(frozen=True, eq=False)
class Corner:
    """Rows that sit on a kink, with the kinks, and the slopes a L' of all other terms."""

    rows: Index
    kinks: Vector
    slope: Vector


class LossSlopes:
    """The slopes a L' and the bends a L'' of a loss at the predictions z: a smooth one as it is."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem

    def slope(self, z: Vector) -> Vector:
        """a L', row by row."""
        return -self.problem.slope(z)

    def bend(self, z: Vector) -> Vector:
        """a L'', row by row."""
        return self.problem.a * self.problem.loss.second_derivative(self.problem.y, z)

    def sharper(self) -> LossSlopes | None:
        """The same with kinks less rounded; None if there are none, or if they are sharp enough."""
        return None

    def blunter(self) -> LossSlopes:
        """The same with kinks more rounded, so that a model of second order sees them from afar."""
        return self

    def corner(self, z: Vector) -> Corner | None:
        """The kinks that a solution near z is likely to sit on; None where there are none."""
        return None


class RoundedRows(LossSlopes):
    """A piecewise linear loss with its kinks rounded off over a width."""

    def __init__(self, problem: Problem, width: float, least: float) -> None:
        super().__init__(problem)
        self.width, self.least = width, least
        self.terms = problem.loss.terms(problem.y)

    def slope(self, z: Vector) -> Vector:
        t = (z[:, None] - self.terms.kink) / self.width
        d = np.clip(t, self.terms.lower, self.terms.upper)
        return np.asarray(self.problem.a * d.sum(axis=1))

    def bend(self, z: Vector) -> Vector:
        t = (z[:, None] - self.terms.kink) / self.width
        inside = (t > self.terms.lower) & (t < self.terms.upper)
        return np.asarray(self.problem.a * inside.sum(axis=1) / self.width)

    def corner(self, z: Vector) -> Corner:
        terms = self.terms
        t = (z[:, None] - terms.kink) / self.width
        on = (t > terms.lower) & (t < terms.upper)
        d = np.where(on, 0.0, np.where(t > 0.0, terms.upper, terms.lower))
        rows, which = np.nonzero(on)
        return Corner(rows, np.asarray(terms.kink[rows, which]), self.problem.a * d.sum(axis=1))

    def sharper(self) -> RoundedRows | None:
        if self.width <= self.least:
            return None
        return RoundedRows(self.problem, max(0.2 * self.width, self.least), self.least)

    def blunter(self) -> RoundedRows:
        return RoundedRows(self.problem, 5.0 * self.width, self.least)


def rows_of(problem: Problem) -> LossSlopes:
    """Rows for a convex loss; kinks are rounded over a tenth of the typical target, to begin with."""
    if problem.loss_has(Trait.SMOOTH):
        return LossSlopes(problem)
    unit = float(problem.a @ np.abs(problem.y)) or 1.0
    return RoundedRows(problem, 0.1 * unit, 1e-11 * unit)
