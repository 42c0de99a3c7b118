"""Losses that bend over tall tables in a box: the matrix of some rows is the metric, mended by the steps."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import numpy as np

from dualgap.arrays import Matrix, Vector
from dualgap.drive.solver import Iterate
from dualgap.problem.problem import Problem
from dualgap.solvers.bounded.box_quadratic import forces, solve_in_box
from dualgap.solvers.tall_point import TallPoint, from_a_sample, sample_size

STEPS = 60  # with products: more are a sign that the rows of the sample are not like the others
FINE = 1e-2  # of the force at a point is left by a step: its matrix is off by more
FAR = 1e3  # times the gap wanted: a step that gained more is not the last, and no proof is tried
SURE = 0.5  # of the gap wanted: what it is reckoned to be when a proof is asked for


class TallBox:
    """Quadratic models in the box, their matrix at first that of a sample, then changed by BFGS's formula."""

    name: ClassVar[str] = "box_newton"

    @staticmethod
    def fits(problem: Problem) -> bool:
        """Is 0 in the box, has every column a ridge, a price or two ends, and are there rows enough?"""
        box, half = problem.regulariser.box, problem.regulariser.half_open
        if (
            box is None
            or problem.free[: problem.p - problem.intercept].any()
            or (half is not None and half.any())
        ):
            return False
        return bool((box.low <= 0.0).all() and (box.high >= 0.0).all() and sample_size(problem) > 0)

    def iterates(self, problem: Problem, start: Iterate) -> Iterator[Iterate]:
        """One a step."""
        point, metric = from_a_sample(problem, sample_size(problem), _step)
        if not metric.firm:
            return
        box = problem.regulariser.box
        assert box is not None
        # a price alone holds a weight that has no end: what it is worth may be too much
        endless = bool((np.isinf(box.high - box.low) & (point.ridge == 0.0) & ~problem.free).any())
        matrix, gained = metric.matrix.copy(), 0.0
        for _ in range(STEPS):
            near = gained <= FAR * start.wanted * point.scale
            if near and point.proves(metric, SURE * start.wanted):
                theta = point.balanced()
                yield Iterate(point.asked(), problem.feasible(theta)[0] if endless else theta, outright=True)
            else:
                yield Iterate(point.asked(), certify=False, look=False)
            before, step = point.pull, _step(matrix, point)
            length = point.advance(step)
            if length == 0.0:
                return
            gained = _learn(matrix, length * step, before - point.pull)


def _step(matrix: Matrix, point: TallPoint) -> Vector:
    """To the model's minimum in the box; the level has no ends."""
    box = point.problem.regulariser.box
    assert box is not None
    w, priced = point.w.copy(), (point.price, point.ridge)
    enough = FINE * float(forces(w, point.pull, priced, box).max())
    solve_in_box(matrix, w, point.pull.copy(), priced, (box.low, box.high), enough)
    return np.asarray(w - point.w)


def _learn(matrix: Matrix, step: Vector, change: Vector) -> float:
    """A step changed the gradient of the loss by so much; what it gained, or less."""
    image = matrix @ step
    along, before = float(step @ change), float(step @ image)
    if along > 1e-14 * float(np.linalg.norm(step) * np.linalg.norm(change)) and before > 0.0:
        matrix += np.outer(change, change / along) - np.outer(image, image / before)
    return 0.5 * along
