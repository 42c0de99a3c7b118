"""More columns than rows, and a ball: are there weights in it that fit every row, so that nothing is lost?

The least weights with Xw = y, in squares and in the units of the gauge, are not those of the least gauge.
But in 19 wide problems with a ball they were inside, or outside by a factor of two and more, and reweighting
them let no other one in. Where they are inside, θ = 0 is the proof; the method took up to 47 steps.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dualgap.arrays import Vector
from dualgap.drive.solver import Iterate
from dualgap.linalg.conjugate_gradients import conjugate_gradients
from dualgap.penalties import Regulariser
from dualgap.problem.problem import Problem
from dualgap.solvers.interior_point.extension import Equations
from dualgap.solvers.interior_point.system import Elimination

FINE = 1e-7  # relative residual of the fit; once more of what is left, if it is in the ball
MOST = 600  # conjugate gradients in one fit, no more than a few steps of the method take
BEYOND = 1e-6  # share of the targets: a choice
SLIGHT = 1e-13  # of a row's square: what is added to it, so that rows that repeat do no harm


def interpolated(problem: Problem, system: Elimination) -> Iterate | None:
    """The weights that fit every row, with θ = 0, if they are in the ball."""
    regulariser = problem.regulariser
    if not regulariser.constrained or problem.p <= problem.n or problem.y.ndim > 1:  # targets and offsets
        return None
    if problem.risk(problem.y) > 0.0:
        return None
    if np.count_nonzero(regulariser.free) > problem.intercept:
        return None
    squares, target = _units(regulariser) ** 2, problem.y.astype(np.float64)
    if problem.risk(2.0 * target) <= 0.0:  # beyond the kinks too: there rounding costs nothing
        target = (1.0 + BEYOND) * target
    try:
        fit = _by_system(problem, squares, system) if system.exact else _by_gradients(problem, squares)
        w = fit(target)
        if not regulariser.gauge.value(w) <= regulariser.radius:
            return None
        w = w + fit(target - problem.predict(w))
    except np.linalg.LinAlgError:
        return None
    inside = regulariser.gauge.value(w) <= regulariser.radius
    return Iterate(w, np.zeros(problem.n)) if inside else None


def _units(regulariser: Regulariser) -> Vector:
    """What a weight counts in the gauge, 0 where it is free."""
    gauge = regulariser.gauge
    elastic, groups, ball = gauge.elastic, gauge.groups, gauge.ball
    if elastic is not None:
        return elastic.l1 + elastic.l2
    if groups is not None:
        return groups.l1 + groups.scale
    assert ball is not None
    return ball.scale


def _by_system(problem: Problem, squares: Vector, system: Elimination) -> Callable[[Vector], Vector]:
    """By the method's own system."""
    size = float(squares.max(initial=0.0)) or 1.0
    mean = float(problem.column_squares @ (squares > 0.0)) / size
    h = np.full(problem.n, 1.0 / (SLIGHT * mean) if mean > 0.0 else 1.0)
    system.factorise(Equations(problem.design, h, squares))
    return lambda target: system.solve(target, np.zeros(problem.p), True)[1]


def _by_gradients(problem: Problem, squares: Vector) -> Callable[[Vector], Vector]:
    """By products with the matrix; an intercept takes the mean of what is left."""
    design, free = problem.design, squares == 0.0
    inverse = np.where(free, 0.0, 1.0 / np.where(free, 1.0, squares))

    def level(values: Vector) -> Vector:
        return values - values.mean() if problem.intercept else values

    def apply(u: Vector) -> Vector:
        return level(design.across(inverse, level(u)))

    def fit(target: Vector) -> Vector:
        u = conjugate_gradients(apply, level(target), np.ones(problem.n), FINE, MOST)
        w = np.asarray(inverse * design.transpose_matvec(level(u)))
        if problem.intercept:
            w[free] = float((target - design.matvec(w)).mean())
        return w

    return fit
