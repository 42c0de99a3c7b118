"""The problem exactly as it was asked: for algorithms that are to be watched, not helped."""

from __future__ import annotations

from dataclasses import dataclass

from dualgap.arrays import Vector
from dualgap.problem.problem import Problem


@dataclass(frozen=True, eq=False)
class AsGiven:
    """Like `Working`, with the identity for every map."""

    asked: Problem
    objective_unit: float = 1.0

    @property
    def problem(self) -> Problem:
        """The asked problem itself."""
        return self.asked

    def weights(self, u: Vector) -> Vector:
        """u."""
        return u

    def coordinates(self, w: Vector) -> Vector:
        """w."""
        return w

    def theta(self, theta: Vector) -> Vector:
        """θ."""
        return theta

    def working_theta(self, theta: Vector) -> Vector:
        """θ."""
        return theta
