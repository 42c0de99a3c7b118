"""From any vector to a feasible dual point, so that every iterate of every solver carries a proof."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dualgap.arrays import Index, Matrix, Vector
from dualgap.linalg.balance import balance, orthogonal
from dualgap.traits import Trait

if TYPE_CHECKING:
    from dualgap.problem.problem import Problem

MARGIN = 1e-12  # of Σ|θ| times the largest entry of a column: products of 8000 rows are known to so much
ROUNDS = 8  # in which columns that were on the right side may have to be held too
ROUNDING = 1e-15  # a move of θ by this share of itself changes Xᵀθ by less than computing it again
INSIDE = 1.0 - 1e-13  # a scaled point is put this much inside, so that recomputed norms stay below


def feasible(problem: Problem, theta: Vector, correlation: Vector | None = None) -> tuple[Vector, Vector]:
    """A feasible θ near the one given, and Xᵀθ.

    Clipped into the loss's domain, balanced against the free columns, scaled into the penalty's domain
    (0 is in every domain, so shrinking stays feasible). What could not be balanced shows as a dual value
    of −∞, never as a false bound. `correlation` is Xᵀθ of the θ given, if it is known.
    """
    lower, upper = problem.dual_bounds
    given, theta = theta, np.clip(theta, lower, upper)
    if not theta.any():  # feasible for every problem, without a look at the matrix
        return theta, np.zeros(problem.p)
    if problem.bounded:
        theta, v = held(problem, theta, correlation if np.array_equal(given, theta) else None)
        return _scaled(problem, theta, problem.correlation(theta) if v is None else v)
    free = np.flatnonzero(problem.free)
    if problem.levels == len(free) > 0 and problem.regulariser.gauge.sums is None:
        parts = (np.split(part, len(free)) for part in (theta, lower, upper))
        theta = np.concatenate([balance(*own) for own in zip(*parts, strict=True)])
    elif len(free) or problem.regulariser.gauge.sums is not None:
        theta = orthogonal(theta, lower, upper, _stacked(problem, free))
    if correlation is not None and _moved(given, theta) <= ROUNDING * float(np.abs(theta).sum()):
        v = correlation
    else:
        v = problem.correlation(theta)
    return _scaled(problem, theta, v)


def _scaled(problem: Problem, theta: Vector, v: Vector) -> tuple[Vector, Vector]:
    """Into the penalty's domain."""
    scale = problem.regulariser.dual_scale(v)
    if scale < 1.0:
        scale *= INSIDE
        theta, v = theta * scale, v * scale
    return theta, v


def held(problem: Problem, theta: Vector, v: Vector | None = None) -> tuple[Vector, Vector | None]:
    """θ where no free column, nor one that a single end holds, pulls: at right angles, or on the right side.

    Columns that are on the wrong side, or so near that rounding could not tell, are put a little inside.
    Beside it Xᵀθ, `v` being that of the θ given, if it is known.
    """
    lower, upper = problem.dual_bounds
    half, box = problem.regulariser.half_open, problem.regulariser.box
    free = np.flatnonzero(problem.free)
    if half is None or box is None or not half.any():
        summed = problem.regulariser.gauge.sums is not None
        if problem.constraints is None and problem.intercept and len(free) == 1 and not summed:
            found = balance(theta, lower, upper)
            return found, v if _moved(theta, found) <= ROUNDING * float(np.abs(theta).sum()) else None
        if not len(free) and not summed:
            return theta, v
        return orthogonal(theta, lower, upper, _stacked(problem, free)), None
    inwards, watched = np.where(np.isinf(box.high), -1.0, 1.0), np.zeros(problem.p, dtype=bool)
    for _ in range(ROUNDS):
        v = problem.correlation(theta) if v is None else v
        size = float(np.abs(theta).sum())
        wrong = half & (inwards * v < MARGIN * size) & ~watched
        if not wrong.any() and watched.any():
            break
        watched |= wrong
        which = np.flatnonzero(problem.free | watched)
        if not len(which):
            break
        if len(which) >= len(theta):  # as many columns as rows: 0 alone is at right angles to them
            return np.zeros_like(theta), None
        columns = _stacked(problem, which)
        tops = np.abs(columns).max(axis=0, initial=0.0)
        margin = np.where(half[which], inwards[which] * 4.0 * MARGIN * size * tops, 0.0)
        theta, v = orthogonal(theta, lower, upper, columns, margin), None
    return theta, v


def _stacked(problem: Problem, which: Index) -> Matrix:
    """Some columns of the design, those of the constraints below; beside them what polynomials give."""
    columns, sums = problem.design.columns(which).toarray(), problem.regulariser.gauge.sums
    unseen = np.zeros((0, problem.p))
    if sums is not None:
        unseen = np.array([problem.spread(one / sums.scale) for one in sums.polynomials().T])
        columns = np.column_stack([columns, problem.design.matvecs(unseen).T])
    if problem.constraints is None:
        return np.asarray(columns)
    below = problem.constraints.rows.columns(np.arange(problem.p - problem.intercept))
    A = np.column_stack([below, np.zeros(len(below))]) if problem.intercept else below
    return np.vstack([columns, np.column_stack([A[:, which], A @ unseen.T])])


def _moved(before: Vector, after: Vector) -> float:
    return float(np.abs(after - before).sum())


def shared(slope: Vector, lower: Matrix, upper: Matrix) -> Matrix:
    """Slopes of the terms of each row, within their bounds, that sum to the row's if any do."""
    parts = np.empty(lower.shape)
    for k in range(lower.shape[1]):
        parts[:, k] = np.clip(slope, lower[:, k], upper[:, k])
        slope = slope - parts[:, k]
    return parts


def null_dual(problem: Problem) -> Vector:
    """A dual point for w = 0 and the best intercept: subgradients that sum to zero.

    Rows on a kink may take any slope between its two sides; at the best intercept the left slopes sum to
    at most zero and the right ones to at least zero, so some choice balances.
    """
    constant = float(problem.null_weights[-1]) if problem.intercept else 0.0
    z = np.full(problem.n, constant)
    theta = problem.slope(z)
    total = float(theta.sum())
    if problem.constraints is not None:
        return theta
    if not problem.intercept or total == 0.0 or Trait.PIECEWISE_LINEAR not in problem.loss.traits:
        return theta
    terms = problem.loss.terms(problem.y)
    near = np.abs(terms.kink - constant) <= 1e-12 * max(1.0, abs(constant))
    side = terms.upper if total > 0 else terms.lower
    reach = -problem.a * (np.where(near, side, 0.0).sum(axis=1))
    reach = np.where(near.any(axis=1), reach - theta, 0.0)
    whole = float(reach.sum())
    return theta + reach * min(1.0, -total / whole) if whole * total < 0 else theta
