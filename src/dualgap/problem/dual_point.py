"""From any vector to a feasible dual point, so that every iterate of every solver carries a proof."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dualgap.arrays import Matrix, Vector
from dualgap.traits import Trait

if TYPE_CHECKING:
    from dualgap.problem.problem import Problem

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
    free = problem.free
    count = int(np.count_nonzero(free))
    if problem.intercept and count == 1:
        theta = balance(theta, lower, upper)
    elif count:
        theta = _orthogonal(problem, theta, lower, upper)
    if correlation is not None and _moved(given, theta) <= ROUNDING * float(np.abs(theta).sum()):
        v = correlation
    else:
        v = problem.correlation(theta)
    scale = problem.regulariser.dual_scale(v)
    if scale < 1.0:
        scale *= INSIDE
        theta, v = theta * scale, v * scale
    return theta, v


def _moved(before: Vector, after: Vector) -> float:
    return float(np.abs(after - before).sum())


def _room(theta: Vector, lower: Vector, upper: Vector) -> Vector:
    """How far each entry can move, as a weight: the harmonic mean of the distances to its bounds."""
    below, above = theta - lower, upper - theta
    with np.errstate(invalid="ignore", divide="ignore"):
        both = below * above / (upper - lower)
    return np.where(
        np.isinf(upper), np.where(np.isinf(lower), 1.0, below), np.where(np.isinf(lower), above, both)
    )


def balance(theta: Vector, lower: Vector, upper: Vector) -> Vector:
    """Move θ onto Σθ = 0 inside its bounds.

    First along the room to both sides, which keeps small entries small; what is left along the room to
    the side needed, which always suffices because 0 lies within the bounds.
    """
    for _ in range(3):
        total = float(theta.sum())
        if abs(total) <= 1e-17 * float(np.abs(theta).sum()):
            break
        room = _room(theta, lower, upper)
        if float(room.sum()) <= abs(total):
            break
        theta = np.clip(theta - total / float(room.sum()) * room, lower, upper)
    total = float(theta.sum())
    if abs(total) > 1e-14 * float(np.abs(theta).sum()):
        room = theta - lower if total > 0 else upper - theta
        other = upper - theta if total > 0 else theta - lower
        room = np.where(np.isinf(room), np.where(np.isinf(other), 1.0, other), room)
        if float(room.sum()) > 0.0:
            theta = np.clip(theta - total / float(room.sum()) * room, lower, upper)
    for _ in range(3):  # the rounding, by shrinking the heavier sign
        plus, minus = float(theta[theta > 0].sum()), -float(theta[theta < 0].sum())
        if plus == minus:
            break
        if plus > minus:
            theta = np.where(theta > 0, theta * (minus / plus), theta)
        else:
            theta = np.where(theta < 0, theta * (plus / minus), theta)
    return theta


def null_dual(problem: Problem) -> Vector:
    """A dual point for w = 0 and the best intercept: subgradients that sum to zero.

    Rows on a kink may take any slope between its two sides; at the best intercept the left slopes sum to
    at most zero and the right ones to at least zero, so some choice balances.
    """
    constant = float(problem.null_weights[-1]) if problem.intercept else 0.0
    z = np.full(problem.n, constant)
    theta = problem.slope(z)
    total = float(theta.sum())
    if not problem.intercept or total == 0.0 or Trait.PIECEWISE_LINEAR not in problem.loss.traits:
        return theta
    terms = problem.loss.terms(problem.y)
    near = np.abs(terms.kink - constant) <= 1e-12 * max(1.0, abs(constant))
    side = terms.upper if total > 0 else terms.lower
    reach = -problem.a * (np.where(near, side, 0.0).sum(axis=1))
    reach = np.where(near.any(axis=1), reach - theta, 0.0)
    whole = float(reach.sum())
    return theta + reach * min(1.0, -total / whole) if whole * total < 0 else theta


def _orthogonal(problem: Problem, theta: Vector, lower: Vector, upper: Vector) -> Vector:
    """Move θ into the null space of the free columns, weighted by the room, inside its bounds."""
    F: Matrix = problem.design.columns(problem.free).toarray()
    for _ in range(12):
        room = _room(theta, lower, upper)
        for _ in range(3):  # the second and third pass remove the rounding of the first
            system = (F * room[:, None]).T @ F
            step = np.linalg.lstsq(system, F.T @ theta, rcond=1e-13)[0]
            theta = theta - room * (F @ step)
        clipped = np.clip(theta, lower, upper)
        if np.array_equal(clipped, theta):
            break
        theta = clipped
    return theta
