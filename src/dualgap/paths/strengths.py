"""Where a path begins and ends, and the grid between."""

from __future__ import annotations

import dataclasses

import numpy as np

from dualgap.arrays import Vector
from dualgap.drive.limits import Limits
from dualgap.drive.registry import candidates
from dualgap.drive.run import drive
from dualgap.paths.family import Family, Pair
from dualgap.penalties.forms import Penalised, unregularised
from dualgap.problem.precondition import precondition
from dualgap.problem.problem import Problem
from dualgap.traits import Trait

ABOVE = 100.0  # squares alone have no λ at which the weights are zero: this many times the natural size
BEYOND = 2.0  # times the least price that holds all weights at zero: nothing but constraints moves them
ENDLESS = 1e100  # a λ beyond any that matters


def at_zero(family: Family) -> Pair:
    """Every penalised weight zero, the free ones at their best."""
    problem = family.problem
    if problem.bounded:
        return _held(family)
    if np.count_nonzero(problem.free) == problem.intercept:
        # under an endless price, so that θ keeps to the loss and is not drawn into the penalty's domain
        loose = problem.with_regulariser(Penalised(problem.regulariser.gauge, ENDLESS))
        return Pair(problem.null_weights, loose.feasible(problem.null_dual)[0])
    free = np.flatnonzero(problem.free)
    columns = problem.design.columns(free)
    working = precondition(dataclasses.replace(problem, design=columns, regulariser=unregularised(len(free))))
    outcome = drive(working, lambda: candidates(working.problem, "auto"), None, Limits(1e-10))
    w = np.zeros(problem.p)
    w[free] = outcome.bounds.w
    return Pair(w, outcome.bounds.theta)


def _held(family: Family) -> Pair:
    """Every penalised weight as near to zero as bounds and constraints let it, under a price beyond doubt."""
    problem = family.problem
    v = problem.correlation(problem.null_dual)
    gauge, seen = problem.regulariser.gauge, ~problem.regulariser.gauge.free
    top = gauge.smallest_strength_at_zero(v)
    if not np.isfinite(top) and gauge.elastic is not None:
        l2 = gauge.elastic.l2
        top = ABOVE * float(np.max(np.abs(v[l2 > 0.0]) / l2[l2 > 0.0], initial=0.0))
    nothing = problem.constraints is None and problem.free[~seen].all() and np.count_nonzero(~seen) <= 1
    if nothing or not 0.0 < top < np.inf:
        return Pair(problem.null_weights, problem.null_dual)
    working = family.at(BEYOND * top)
    found = drive(working, lambda: candidates(working.problem, "auto"), None, Limits(1e-6)).bounds
    return Pair(family.working.coordinates(found.w), family.working.working_theta(found.theta))


def _unheld(problem: Problem, v: Vector) -> Vector:
    """v without what bounds hold at zero: a weight that may only rise does not where v is below zero."""
    box = problem.regulariser.box
    if box is None:
        return v
    return np.where(((box.low >= 0.0) & (v < 0.0)) | ((box.high <= 0.0) & (v > 0.0)), 0.0, v)


def largest(family: Family) -> float:
    """The least λ at which all penalised weights are zero; for squares alone ABOVE · max |x_j·θ| / l2_j."""
    problem = family.problem
    gauge = problem.regulariser.gauge
    theta = at_zero(family).theta
    assert theta is not None
    v = problem.correlation(theta)
    if problem.bounded:
        v = _unheld(problem, v)
    top = gauge.smallest_strength_at_zero(v)
    if np.isfinite(top):
        return float(top)
    assert gauge.elastic is not None
    l2 = gauge.elastic.l2
    return ABOVE * float(np.max(np.abs(v[l2 > 0.0]) / l2[l2 > 0.0], initial=0.0))


def default_ratio(problem: Problem) -> float:
    """Smallest over largest λ; as far below the natural size where squares alone begin far above it."""
    squares = Trait.QUADRATIC in problem.regulariser.traits
    return (1e-2 if problem.n < problem.p else 1e-3) / (ABOVE if squares else 1.0)


def falling(top: float, end: float, count: int) -> Vector:
    """Evenly spaced in the logarithm, both ends included."""
    if count == 1:
        return np.array([top])
    grid = np.geomspace(top, end, count)
    grid[0], grid[-1] = top, end
    return np.asarray(grid)
