"""Newton on a small problem as it was asked: a centred copy, a system on its smaller side, no more."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import numpy as np

from dualgap.drive.solver import Iterate
from dualgap.problem.problem import Problem
from dualgap.solvers.plain_models import SHORTEST, Point, StepModel
from dualgap.solvers.plain_products import PlainByProducts, first_model

LIMIT = 50  # steps: where these do not do, good coordinates may
SURE = 0.03  # one at the very curvatures whose square promises no more than this needs no look before a proof
LOST = 0.3  # share of the gap wanted that such a step may lose elsewhere
NEAR = 30.0  # a step whose square promises so many times the gap wanted may be the last


class PlainNewton:
    """w ← w + s d, where (XᵀHX + Λ) d = −∇P(w): by products, by columns or, where rows are fewer, by rows."""

    name: ClassVar[str] = "newton"

    def iterates(self, problem: Problem, start: Iterate) -> Iterator[Iterate]:
        point = Point(problem)
        model: StepModel = first_model(point, start.wanted)
        for _ in range(LIMIT):
            theta, h = point.bends()
            if not float(h.sum()) > 0.0:
                return
            move = model.step(theta, h)
            promise = float(theta.dot(move.along)) - move.pull
            if not promise >= 0.0:
                return
            length = point.advance(move, promise)
            model.moved(length, promise)
            aim = start.wanted * point.value
            left = promise * promise if length == 1.0 and move.lost <= aim else np.inf
            last = move.exact and left <= SURE * aim * point.value and move.lost <= LOST * aim
            if last or (left <= NEAR * aim * point.value and point.gap(move) <= start.wanted):
                yield Iterate(point.asked(model.weights()), move.ahead, outright=True)
                model.refine()
            else:  # an iterate that is worth no look
                yield Iterate(point.asked(model.nearly()), certify=False, look=False)
            if length < SHORTEST:
                return
            if isinstance(model, PlainByProducts) and model.spent:
                model = model.direct()
