"""Objective and bound of a solver's points: as it sees them, and as the kernel does."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dualgap.arrays import Vector
from dualgap.problem.problem import SEEN, Problem
from dualgap.proof.check import Checked
from dualgap.traits import Trait

STEPS = 12  # one in two is too large: all twelve too small, once in 4000


@dataclass(frozen=True, eq=False)
class Bounds:
    """The best primal and dual points seen so far, as solvers see them: values that steer and prove
    nothing.
    """

    w: Vector
    theta: Vector
    primal: float
    dual: float
    correlation: Vector | None = None  # Xᵀθ, where it is at hand

    @property
    def gap(self) -> float:
        """How far the objective seems to be above the optimum; below zero by rounding alone."""
        return self.primal - self.dual

    def improved(self, other: Bounds) -> Bounds:
        """The better half of each."""
        first = self if self.primal <= other.primal else other
        second = self if self.dual >= other.dual else other
        return Bounds(first.w, second.theta, first.primal, second.dual, second.correlation)


def bounds(
    problem: Problem,
    w: Vector,
    theta: Vector | None = None,
    prediction: Vector | None = None,
    correlation: Vector | None = None,
) -> Bounds:
    """Objective at w (moved into the penalty's domain) and bound at θ (made feasible).

    `prediction`, if given, must be Xw and `correlation` Xᵀθ; without θ the slope of the loss at w is taken.
    """
    inside = problem.moved(w)
    if prediction is None or inside is not w:
        prediction = problem.predict(inside)
    primal = problem.primal(inside, prediction)
    if theta is None:
        theta, correlation = problem.slope(prediction), None
    point, v = problem.feasible(theta, correlation)
    if problem.bounded or problem.loss_has(Trait.MEANS):  # whose conjugates cost a value more
        dual = problem.dual_near(point, v, (inside, prediction, primal)) - problem.astray(point, v)
    else:
        dual = problem.dual(point, v) - problem.astray(point, v)
    if not np.isfinite(primal):
        primal = np.inf
    if np.isnan(dual):
        dual = -np.inf
    return Bounds(inside, point, primal, dual, v)


def judged(problem: Problem, w: Vector, theta: Vector | None, tolerance: float) -> Checked:
    """What the kernel says of these very w and of θ on the problem that was asked; without θ, of the slope of
    the loss at w. Of a part, what seems: nobody is told, and twice the digits took half of its time.
    """
    if problem.part:
        seen = bounds(problem, w, theta)
        v = problem.correlation(seen.theta) if seen.correlation is None else seen.correlation
        return Checked(seen.w, seen.theta, seen.primal, min(seen.dual, seen.primal), 0.0, v, np.zeros_like(v))
    if theta is None:
        inside = problem.moved(w)
        with np.errstate(all="ignore"):
            theta = problem.feasible(problem.slope(problem.predict(inside)))[0]
    return problem.judged(w, theta, tolerance)


def proven(problem: Problem, w: Vector, theta: Vector | None, tolerance: float) -> Checked:
    """As `judged`, of a w that may differ in its last bits, so that others find the same objective."""
    if problem.constraints is not None:
        w = problem.moved(w)
    found = judged(problem, w, theta, tolerance)
    for _ in range(0 if problem.bounded or problem.part else STEPS):
        seen = SEEN * found.primal
        if found.width <= seen or abs(found.primal - problem.primal(found.w)) <= seen:
            break
        # an objective that others find smaller: a unit in the last place away, it may be the other way round
        found = problem.judged(found.w * (1.0 - 2.0**-52), found.theta, tolerance)
    return found
