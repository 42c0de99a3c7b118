"""The loss's half of the method: its gradient over the rows, and how that changes with the prediction."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import cast

import numpy as np

from dualgap.arrays import Vector
from dualgap.problem.problem import Problem
from dualgap.solvers.interior_point.boxes import Boxes, Move
from dualgap.solvers.interior_point.extension import Linear
from dualgap.traits import Trait

OVERSHOOT = 0.5  # share of the promised decrease that may have turned into ascent at the end of a step


class LossRows(ABC):
    """The gradient g, linearised as Δg = h(Δz − k), with `count` complementarity pairs.

    `linked` asks for one step length for primal and dual, since an equation has both in it;
    `local` says that the linearisation holds only nearby (and then the rows are linked). `design` is the
    matrix in whose rows the curvature is diagonal, as Δz and Δg are.
    """

    design: Linear
    count: int
    linked: bool
    local: bool = False
    gradient: Vector

    @abstractmethod
    def start(self, z: Vector, mu: float) -> tuple[Vector, Vector]:
        """The pairs (slack, price) to begin with at this prediction."""

    def bind(self, slack: Vector, price: Vector) -> None:  # noqa: B027 - without pairs there is nothing
        """The arrays in which the method will move the pairs."""

    @abstractmethod
    def linearise(self, z: Vector) -> Vector:
        """h at this prediction."""

    @abstractmethod
    def offset(self, aim: Vector) -> Vector:
        """k, where the pairs' products are to change by `aim`."""

    @abstractmethod
    def move(self, change: Vector) -> Move:
        """What goes with this Δg, for the last `aim`."""

    def longest(self, dz: Vector, step: float) -> float:
        """The step, shortened until a local linearisation is to be trusted."""
        return step

    @abstractmethod
    def advance(self, inner: Vector, step: float, z: Vector) -> None:
        """Move what is not a pair; z is the new prediction."""


class TermRows(LossRows):
    """A piecewise quadratic loss: every term of every row is a box."""

    def __init__(self, problem: Problem) -> None:
        self.design: Linear = problem.design
        terms = problem.loss.terms(problem.y)
        self._terms = terms.kink.shape[1]
        a = np.tile(problem.a, self._terms)
        kink, lower, upper = (part.T.ravel() for part in (terms.kink, terms.lower, terms.upper))
        self._boxes = Boxes(kink, lower * a, upper * a, terms.softness / a)
        self.linked = terms.softness > 0
        self.count = self._boxes.count

    def start(self, z: Vector, mu: float) -> tuple[Vector, Vector]:
        pairs = self._boxes.start(self._spread(z), mu)
        self.gradient = self._total(self._boxes.d)
        return pairs

    def bind(self, slack: Vector, price: Vector) -> None:
        self._boxes.bind(slack, price)

    def linearise(self, z: Vector) -> Vector:
        self._curvature = self._boxes.linearise(self._spread(z))
        self._h = self._total(self._curvature)
        return self._h

    def offset(self, aim: Vector) -> Vector:
        self._k = self._boxes.offset(aim)
        self._mean = self._k if self._terms == 1 else self._total(self._curvature * self._k) / self._h
        return self._mean

    def move(self, change: Vector) -> Move:
        if self._terms > 1:
            change = self._curvature * (self._spread(change / self._h + self._mean) - self._k)
        return self._boxes.move(change)

    def advance(self, inner: Vector, step: float, z: Vector) -> None:
        self._boxes.d = self._boxes.d + step * inner
        self.gradient = self._total(self._boxes.d)

    def _spread(self, values: Vector) -> Vector:
        return values if self._terms == 1 else np.tile(values, self._terms)

    def _total(self, values: Vector) -> Vector:
        return values if self._terms == 1 else np.asarray(values.reshape(self._terms, -1).sum(axis=0))


class DifferentiableRows(LossRows):
    """A loss by its own derivatives: no pairs, Newton's method with a watch on the step."""

    count = 0
    linked = True
    local = True

    def __init__(self, problem: Problem) -> None:
        self._problem, self.design = problem, cast(Linear, problem.design)
        self._nothing = np.empty(0)

    def start(self, z: Vector, mu: float) -> tuple[Vector, Vector]:
        self.gradient = -self._problem.slope(z)
        return self._nothing, self._nothing

    def linearise(self, z: Vector) -> Vector:
        problem = self._problem
        h = problem.a * problem.loss.second_derivative(problem.y, z)
        self._z, self._h = z, np.maximum(h, 1e-30 * float(h.max()))  # a row without any would divide by it
        return self._h

    def offset(self, aim: Vector) -> Vector:
        return np.zeros_like(self._h)

    def move(self, change: Vector) -> Move:
        return Move(self._nothing, self._nothing, self._nothing)

    def longest(self, dz: Vector, step: float) -> float:
        """Halve while the slope along the step rises much more than the curvature at its start promised."""
        promised, ahead = float(dz @ (self._h * dz)), dz.reshape(self._z.shape)
        for _ in range(60):
            risen = float(dz @ (-self._problem.slope(self._z + step * ahead) - self.gradient).ravel())
            if risen <= (1.0 + OVERSHOOT) * promised:
                break
            step *= 0.5
        return step

    def advance(self, inner: Vector, step: float, z: Vector) -> None:
        self.gradient = -self._problem.slope(z)


def rows(problem: Problem) -> LossRows:
    """The loss as boxes where it has terms, by its derivatives otherwise."""
    return TermRows(problem) if problem.loss_has(Trait.PIECEWISE_QUADRATIC) else DifferentiableRows(problem)
