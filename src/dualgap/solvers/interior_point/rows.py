"""The loss's half of the method: its gradient over the rows, and how that changes with the prediction."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from dualgap.arrays import Vector
from dualgap.problem.problem import Problem
from dualgap.solvers.interior_point.boxes import Boxes
from dualgap.traits import Trait


class Rows(Protocol):
    """g(z), linearised as Δg = h(Δz − k). `slack` and `price` are its complementarity pairs."""

    slack: Vector
    price: Vector
    linked: bool  # one step for primal and dual, since an equation has both

    def start(self, z: Vector, mu: float) -> None:
        """Begin at this prediction."""

    def linearise(self, z: Vector) -> tuple[Vector, Vector]:
        """(g, h) at this prediction."""

    def offset(self, aim: Vector) -> Vector:
        """k, where the pairs' products are to change by `aim`."""

    def directions(self, dz: Vector) -> tuple[Vector, Vector]:
        """(Δslack, Δprice) that go with Δz."""

    def longest(self, dz: Vector, step: float, decrease: float) -> float:
        """The step, shortened until the linearisation is to be trusted."""

    def advance(self, step: float) -> None:
        """Move what is not a pair."""


class TermRows:
    """A piecewise quadratic loss: every term of every row is a box."""

    def __init__(self, problem: Problem) -> None:
        terms = problem.loss.terms(problem.y)
        self._terms = terms.kink.shape[1]
        a = np.tile(problem.a, self._terms)
        self._boxes = Boxes(
            terms.kink.T.ravel(), terms.lower.T.ravel() * a, terms.upper.T.ravel() * a, terms.softness / a
        )
        self.linked = terms.softness > 0
        self.count = self._boxes.count

    def start(self, z: Vector, mu: float) -> None:
        self._boxes.start(self._spread(z), mu)
        self.slack, self.price = self._boxes.slack, self._boxes.price

    def bind(self, slack: Vector, price: Vector) -> None:
        self._boxes.slack, self._boxes.price = slack, price

    def linearise(self, z: Vector) -> tuple[Vector, Vector]:
        self.h = self._total(self._boxes.linearise(self._spread(z)))
        return self._total(self._boxes.d), self.h

    def offset(self, aim: Vector) -> Vector:
        self._k = self._boxes.offset(aim)
        if self._terms == 1:
            return self._k
        return self._total(self._boxes.curvature * self._k) / self.h

    def directions(self, dz: Vector) -> tuple[Vector, Vector]:
        return self._boxes.directions(self._boxes.curvature * (self._spread(dz) - self._k))

    def longest(self, dz: Vector, step: float, decrease: float) -> float:
        return step

    def advance(self, step: float) -> None:
        self._boxes.advance(step)

    def _spread(self, values: Vector) -> Vector:
        return values if self._terms == 1 else np.tile(values, self._terms)

    def _total(self, values: Vector) -> Vector:
        return values if self._terms == 1 else values.reshape(self._terms, -1).sum(axis=0)
