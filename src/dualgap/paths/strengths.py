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
ENDLESS = 1e100  # a λ beyond any that matters


def at_zero(family: Family) -> Pair:
    """Every penalised weight zero, the free ones at their best."""
    problem, asked = family.problem, family.asked
    if np.count_nonzero(asked.free) == asked.intercept:
        # under an endless price, so that θ keeps to the loss and is not drawn into the penalty's domain
        loose = problem.with_regulariser(Penalised(problem.regulariser.gauge, ENDLESS))
        return Pair(problem.null_weights, loose.feasible(problem.null_dual)[0])
    free = np.flatnonzero(asked.free)
    bare = dataclasses.replace(asked, design=asked.design.columns(free), regulariser=unregularised(len(free)))
    working = precondition(bare)
    outcome = drive(working, lambda: candidates(working.problem, "auto"), None, Limits(1e-10))
    w = np.zeros(asked.p)
    w[free] = outcome.bounds.w
    inner = family.working
    return Pair(inner.coordinates(w), inner.working_theta(outcome.bounds.theta))


def largest(family: Family) -> float:
    """The least λ at which all penalised weights are zero; for squares alone ABOVE · max |x_j·θ| / l2_j."""
    problem = family.problem
    gauge = problem.regulariser.gauge
    theta = at_zero(family).theta
    assert theta is not None
    v = problem.design.transpose_matvec(theta)
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
