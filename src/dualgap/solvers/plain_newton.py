"""Newton on a small problem as it was asked: a centred copy, a system on its smaller side, no more."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import numpy as np

from dualgap.arrays import Vector
from dualgap.drive.solver import Iterate
from dualgap.problem.problem import Problem
from dualgap.solvers.curvature_floor import has_flat_pieces
from dualgap.solvers.plain_models import SHORTEST, Point, StepModel
from dualgap.solvers.plain_products import PlainByProducts, first_model

LIMIT = 50  # steps: where these do not do, good coordinates may
SURE = 0.03  # one at the very curvatures whose square promises no more than this needs no look before a proof
LOST = 0.3  # share of the gap wanted that such a step may lose elsewhere
NEAR = 30.0  # a step whose square promises so many times the gap wanted may be the last
# What rows without curvature are lent after a short step, as a share of the loss's bound; times what after
# another, and after a full one; and where that ends. Without it huber(0.05) took twice the steps.
LENT, MORE, LESS, NOTHING = 1e-2, 10.0, 0.1, 1e-4
SHORT = 0.2  # a step that says that its model was wrong
PIECES_LIMIT = 30  # steps among flat pieces: hard margins and kinks that are nearly sharp take more


class PlainNewton:
    """w ← w + s d, where (XᵀHX + Λ) d = −∇P(w): by products, by columns or, where rows are fewer, by rows."""

    name: ClassVar[str] = "newton"

    def iterates(self, problem: Problem, start: Iterate) -> Iterator[Iterate]:
        point = Point(problem)
        lender = _Lender(problem) if has_flat_pieces(problem) else None
        model: StepModel = first_model(point, start.wanted)
        for _ in range(PIECES_LIMIT if lender else LIMIT):
            theta, h = point.bends()
            if lender:
                h = lender.lent(h)
            if not float(h.sum()) > 0.0:
                return
            move = model.step(theta, h)
            promise = float(theta.dot(move.along)) - move.pull
            if not promise >= 0.0:
                return
            length = point.advance(move, promise)
            model.moved(length, promise)
            if lender:
                lender.learn(length)
            aim = start.wanted * point.value
            left = promise * promise if length == 1.0 and move.lost <= aim else np.inf
            last = move.exact and left <= SURE * aim * point.value and move.lost <= LOST * aim
            if last or (left <= NEAR * aim * point.value and point.gap(move) <= start.wanted):
                yield Iterate(point.asked(model.weights()), move.ahead, outright=True)
                model.refine()
            else:  # an iterate that is worth no look
                yield Iterate(point.asked(model.nearly()), certify=False, look=False)
            if length < SHORTEST and not lender:
                return
            if isinstance(model, PlainByProducts) and model.spent:
                model = model.direct()


class _Lender:
    """Curvature for rows that have none, where the loss is quadratic in pieces; none while steps are full.

    So the last steps are those of the pieces themselves, and end exactly.
    """

    def __init__(self, problem: Problem) -> None:
        self.bound = problem.loss.curvature * problem.a
        self.least = problem.p  # rows that must bend at the start, or a slight ridge alone holds
        self.share: float | None = None

    def lent(self, h: Vector) -> Vector:
        """At least a share of the bound; some share where there would be none at all."""
        if self.share is None:
            self.share = LENT if np.count_nonzero(h) < self.least else 0.0
        if not self.share and float(h.max()) > 0.0:
            return h
        return np.maximum(h, (self.share or LENT) * self.bound)

    def learn(self, length: float) -> None:
        """How far a step could go says how wrong its model was."""
        share = self.share or 0.0
        if length < SHORT:
            self.share = min(max(MORE * share, LENT), 1.0)
        elif length >= 1.0:
            self.share = LESS * share if share > NOTHING / LESS else 0.0
