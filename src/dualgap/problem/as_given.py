"""The problem exactly as it was asked: for algorithms that are to be watched, not helped."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dualgap.arrays import Vector
from dualgap.problem.precondition import Working
from dualgap.problem.problem import Problem


@dataclass(frozen=True, eq=False)
class AsGiven(Working):
    """A working problem that is the asked one, with the identity for every map."""

    @property
    def as_given(self) -> bool:
        return True

    def weights(self, u: Vector) -> Vector:
        return u

    def coordinates(self, w: Vector) -> Vector:
        return w

    def theta(self, theta: Vector) -> Vector:
        return theta

    def working_theta(self, theta: Vector) -> Vector:
        return theta


def unchanged(asked: Problem) -> AsGiven:
    """The asked problem as its own working problem."""
    p = asked.p - asked.intercept
    return AsGiven(asked, asked, np.ones(p, dtype=bool), np.zeros(p), np.ones(p), None, 1.0, 0.0)
