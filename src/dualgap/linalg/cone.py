"""A direction d with A d ≥ 0, for rows that ask to be on one side: the cone of such directions."""

from __future__ import annotations

import numpy as np

from dualgap.arrays import Matrix, Vector

ROUNDING = 1e-9  # in the search, a margin this small beside the largest is zero
NOT_BELOW = 1e-12  # beside ‖r‖: a row this little on the wrong side is on the edge
GONE = 1e-14  # beside the largest multiplier: less is none


def separating(A: Matrix) -> Vector | None:
    """d with A d ≥ 0, positive in as many rows as any can be; None if zero is all there is."""
    d = project_onto_cone(A)
    while d is not None:
        margins = A @ d
        edge = margins <= ROUNDING * float(margins.max())
        if not edge.any():
            return d
        more = project_onto_cone(A[edge])
        if more is None:
            return d
        falls = np.maximum(-(A @ more), 0.0)
        room = float((margins[~edge] / np.maximum(falls[~edge], 1e-300)).min())
        ahead = d + min(0.5 * room, float(np.linalg.norm(d) / np.linalg.norm(more))) * more
        if np.count_nonzero(A @ ahead > ROUNDING * float((A @ ahead).max())) <= np.count_nonzero(~edge):
            return d
        d = ahead
    return None


def project_onto_cone(A: Matrix) -> Vector | None:
    """The point of {r: A r ≥ 0} nearest to g = Σ rows, or None if that is 0 and nothing is separated.

    r = g + Aᵀθ with θ ≥ 0 and θ·Ar = 0 (Lawson and Hanson, 1974), so (1 + θ)·Ar = ‖r‖²: if r is not zero some
    row is separated, and if it is, (1 + θ) > 0 combines the rows to zero and no direction separates any.
    """
    g = A.mean(axis=0)
    size = float(np.linalg.norm(g))
    binding: list[int] = []
    theta = np.zeros(0)
    r = g
    for _ in range(20 * A.shape[1] + 100):
        if float(np.linalg.norm(r)) <= ROUNDING * size:
            return None
        slack = A @ r
        slack[binding] = np.inf
        worst = int(np.argmin(slack))
        if slack[worst] >= -NOT_BELOW * float(np.linalg.norm(r)):
            return np.asarray(r)
        binding, theta = _bind(A, g, [*binding, worst], np.append(theta, 0.0))
        r = g + A[binding].T @ theta
    return None


def _bind(A: Matrix, g: Vector, binding: list[int], theta: Vector) -> tuple[list[int], Vector]:
    """The least-squares multipliers of the binding rows, those that would turn negative let go."""
    while True:
        ahead = np.asarray(np.linalg.lstsq(A[binding].T, -g, rcond=1e-12)[0], dtype=np.float64)
        if np.all(ahead > 0):
            return binding, ahead
        falling = ahead <= 0
        ratio = theta[falling] / np.maximum(theta[falling] - ahead[falling], 1e-300)
        theta = theta + float(ratio.min(initial=1.0)) * (ahead - theta)
        keep = theta > GONE * max(float(theta.max()), 1e-300)
        keep &= ~(falling & (theta <= 0))
        if keep.all():
            keep[int(np.argmin(theta))] = False
        if not keep.any():
            return [], np.zeros(0)
        binding, theta = [b for b, k in zip(binding, keep, strict=True) if k], theta[keep]
