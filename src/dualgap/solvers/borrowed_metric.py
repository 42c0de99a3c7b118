"""Newton on a table as it was asked, where a matrix XᵀHX costs as much as many products with X.

One such matrix, of some of the rows or of an early point, is the metric; what it is off by is learnt from
the steps themselves.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import numpy as np

from dualgap.arrays import Matrix, Vector
from dualgap.drive.solver import Iterate
from dualgap.linalg.cholesky import cholesky
from dualgap.problem.problem import Problem
from dualgap.solvers.metrics import Plain
from dualgap.solvers.tall_point import TallPoint, from_a_sample, from_null, sample_size

STEPS = 100  # with products: more are a sign that the rows of the sample are not like the others
STALE = 8  # of them with one metric: 12 took a fifth longer on 100000 × 400, hardly a row on the wrong side
SURE = 0.5  # of the gap wanted: what it is reckoned to be when a proof is asked for


class BorrowedMetric:
    """w ← w − s B∇P(w): B is at first (XᵀHX + Λ)⁻¹ on the sample, and is mended by secants."""

    name: ClassVar[str] = "newton"

    def iterates(self, problem: Problem, start: Iterate) -> Iterator[Iterate]:
        rows = sample_size(problem)
        point, metric = from_a_sample(problem, rows, _newton) if rows else from_null(problem)
        if not metric.firm:
            return
        model = _model(metric.matrix, point)
        for k in range(STEPS):
            moved = bool(k or rows)  # a strong price leaves small weights: none are no answer
            if moved and point.proves(metric, SURE * start.wanted):
                yield Iterate(point.asked(), point.balanced(), outright=True)
            else:
                yield Iterate(point.asked(), certify=False, look=False)
            if k and k % STALE == 0:
                metric = point.metric()
                model = _model(metric.matrix, point)
            before = point.pull
            step = model.step(-before, point.w)
            length = point.advance(step)
            if length == 0.0:
                return
            model.learn(length * step, before - point.pull)


def _model(matrix: Matrix, point: TallPoint) -> Plain:
    """Of the loss and the ridge."""
    system = matrix.copy()
    system.flat[:: len(system) + 1] += point.ridge
    return Plain(cholesky(system), point.ridge)


def _newton(matrix: Matrix, point: TallPoint) -> Vector:
    return np.asarray(_model(matrix, point).step(-point.pull, point.w))
