"""Vectors moved inside their bounds until they sum to zero, or are orthogonal to some columns.

They steer: what a proof rests on, `proof.balance` balances for itself.
"""

from __future__ import annotations

import numpy as np

from dualgap.arrays import Matrix, Vector
from dualgap.linalg.cholesky import cholesky

ROUNDS = 12  # moves and clips; what is not balanced then will not be


def _room(theta: Vector, lower: Vector, upper: Vector) -> Vector:
    """How far each entry can move, as a weight: the harmonic mean of the distances to its bounds."""
    with np.errstate(invalid="ignore", divide="ignore"):
        below, above = theta - lower, upper - theta
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


def orthogonal(
    theta: Vector, lower: Vector, upper: Vector, F: Matrix, wanted: Vector | float = 0.0
) -> Vector:
    """Move θ onto Fᵀθ = wanted inside its bounds, entries with room to both sides first.

    As many columns as rows, which are independent in good coordinates, leave nothing but 0.
    """
    if F.shape[1] >= len(theta) and not np.any(wanted) and np.isfinite(theta).all():
        return np.zeros_like(theta)
    for _ in range(ROUNDS):
        room = _room(theta, lower, upper)
        with np.errstate(all="ignore"):
            system = (F * room[:, None]).T @ F
        if not np.all(np.isfinite(system)):  # a slope that overflows: nothing to be had from it
            break
        try:
            solve = cholesky(system)
        except np.linalg.LinAlgError:  # slopes that underflow: likewise
            break
        for _ in range(3):  # the second and third pass remove the rounding of the first
            theta = theta - room * (F @ solve(F.T @ theta - wanted))
        clipped = np.clip(theta, lower, upper)
        if np.array_equal(clipped, theta):
            break
        theta = clipped
    return theta
