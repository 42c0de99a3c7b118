"""The proof that ends every fit: an objective, a bound, and the θ that makes the bound true."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dualgap.arrays import Vector
from dualgap.problem.problem import Problem


class Told:
    """A certificate in a line: its arrays are as long as the data."""

    objective: float
    bound: float
    theta: Any

    def __repr__(self) -> str:
        name, rows = type(self).__name__, len(self.theta)
        return f"{name}(objective {self.objective:.10g}, proven bound {self.bound:.10g}, θ for {rows} rows)"


@dataclass(frozen=True, eq=False)
class Bounds:
    """The best primal and dual points seen so far; each is kept apart, since each proves its own half."""

    w: Vector
    theta: Vector
    primal: float
    dual: float
    correlation: Vector | None = None  # Xᵀθ, where it is at hand

    @property
    def gap(self) -> float:
        """How far the objective can be above the optimum."""
        return max(self.primal - self.dual, 0.0)

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
    inside = problem.regulariser.feasible(w)
    if prediction is None or inside is not w:
        prediction = problem.predict(inside)
    primal = problem.primal(inside, prediction)
    if theta is None:
        theta, correlation = problem.slope(prediction), None
    point, v = problem.feasible(theta, correlation)
    dual = problem.dual(point, v)
    if not np.isfinite(primal):
        primal = np.inf
    if np.isnan(dual):
        dual = -np.inf
    return Bounds(inside, point, primal, dual, v)


def recomputed(problem: Problem, w: Vector, theta: Vector) -> Bounds:
    """Both values at points found elsewhere: from this problem's arrays alone, θ moved if it must be."""
    inside = problem.regulariser.feasible(w)
    primal = problem.primal(inside)
    v = problem.correlation(theta)
    dual = problem.dual(theta, v)
    if np.isfinite(primal) and np.isfinite(dual):
        return Bounds(inside, theta, primal, dual, v)
    return confirmed(problem, bounds(problem, inside, theta))


def confirmed(problem: Problem, found: Bounds) -> Bounds:
    """The same with a bound that holds when Xᵀθ is computed again.

    Where large terms cancel in Xᵀθ, a θ on the edge of the penalty's domain may be outside it after another
    rounding; it is drawn in until it is not.
    """
    for slack in (0.0, 1e-12, 1e-10, 1e-9, 1e-8, 1e-7):
        theta = found.theta * (1.0 - slack) if slack else found.theta
        v = problem.correlation(theta)
        dual = problem.dual(theta, v)
        if np.isfinite(dual):
            return replace(found, theta=theta, dual=dual, correlation=v)
    return found if not np.isfinite(found.dual) else replace(found, dual=-np.inf)
