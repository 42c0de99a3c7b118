"""Curvatures of a loss, row by row, fit to be the model of a Newton step."""

from __future__ import annotations

import numpy as np

from dualgap.arrays import Vector
from dualgap.problem.problem import Problem
from dualgap.traits import Trait


def has_flat_pieces(problem: Problem) -> bool:
    """Is the loss smooth but only piecewise quadratic?"""
    return problem.loss_has(Trait.PIECEWISE_QUADRATIC) and not problem.loss_has(Trait.QUADRATIC)


def cut_off(problem: Problem) -> bool:
    """Is the loss made of quadratic pieces, with straight lines on both sides of them?"""
    if not problem.loss_has(Trait.PIECEWISE_QUADRATIC):
        return False
    lower, upper = problem.loss.domain(problem.y)
    return bool(np.all(np.isfinite(lower)) and np.all(np.isfinite(upper)))


class CurvatureFloor:
    """a L'' with a floor under it where the loss has flat pieces; the floor sinks while steps are full.

    It sinks to `least`, and is at least `raised` after a short step.
    """

    def __init__(self, problem: Problem, least: float = 1e-10, raised: float = 0.0) -> None:
        self.problem, self._least, self._raised = problem, least, raised
        self.share = max(1e-8, least) if has_flat_pieces(problem) else 0.0

    def curvature(self, z: Vector) -> Vector:
        """The second derivatives at z, row by row."""
        return self._floored(self.problem.a * self.problem.loss.second_derivative(self.problem.y, z))

    def bends(self, z: Vector) -> tuple[Vector, Vector]:
        """θ = −a L' at z, and the second derivatives."""
        problem = self.problem
        slope, bend = problem.loss.bends(problem.y, z)
        return -problem.a * slope, self._floored(problem.a * bend)

    def _floored(self, raw: Vector) -> Vector:
        if not self.share:
            return raw
        return np.maximum(raw, self.share * self.problem.loss.curvature * self.problem.a)

    def learn(self, step: float) -> None:
        """A step near 1 says that the model was right, a short one that it was too flat."""
        if not self.share:
            return
        if step > 0.5:
            self.share = max(self.share * 0.1, self._least)
        elif step < 0.1:
            self.share = min(max(self.share * 100.0, self._raised), 1.0)
