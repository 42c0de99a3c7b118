"""A model of second order with a penalty, as a small problem of squared loss."""

from __future__ import annotations

import numpy as np

from dualgap.arrays import Index, Matrix, Vector
from dualgap.proof.rounding import U
from dualgap.streaming.asked import ScanTask, SmallProblem

RANK = 1e-13  # share of the largest eigenvalue that is rounding: with 1e-14 copies of a column were two
LOST = 64.0 * U  # share of a column's square that is left beside the constant, at which the column is one
FINE = 1e-3  # of the tolerance: the gap of the model's own fit


def modelled(asked: ScanTask, w: Vector, g: Vector, H: Matrix, value: float) -> tuple[Vector, Vector]:
    """The model's minimiser and the point of its dual, constants behind."""
    if asked.statement.intercept and H[-1, -1] > 0.0:
        return minimised(asked, w, g, H, value, np.array([len(w) - 1]))
    # without a constant it is 0
    found, ahead = minimised(asked, w[:-1], g[:-1], H[:-1, :-1], value, np.empty(0, dtype=np.intp))
    return np.append(found, 0.0), np.append(ahead, 0.0)


def minimised(
    asked: ScanTask, w: Vector, g: Vector, H: Matrix, value: float, levels: Index
) -> tuple[Vector, Vector]:
    """The same where some coordinates, which no penalty sees, are eliminated."""
    rest = np.delete(np.arange(len(w)), levels)
    A, c, gx, w0 = H[np.ix_(rest, rest)], H[np.ix_(rest, levels)], g[rest], w[rest]
    back = np.linalg.pinv(H[np.ix_(levels, levels)], hermitian=True) if len(levels) else np.zeros((0, 0))
    whole_square = np.diagonal(A)
    A, gx = A - c @ back @ c.T, gx - c @ (back @ g[levels])
    constant = np.diagonal(A) <= LOST * whole_square
    A[constant], A[:, constant], gx[constant] = 0.0, 0.0, 0.0
    d = np.sqrt(np.maximum(np.diagonal(A), 0.0))
    d[d == 0.0] = 1.0
    size, V = np.linalg.eigh(A / d / d[:, None])
    keep = size > RANK * max(float(size.max()), 0.0)
    V, root = V[:, keep], np.sqrt(0.5 * size[keep])
    R = root[:, None] * V.T * d
    R[:, constant] = 0.0  # not what rounding makes of it, which free weights of 10¹⁶ would go with
    # a direction without curvature in which the gradient is not zero is left to the penalty
    q = 0.5 * (V.T @ ((A @ w0 - gx) / d)) / root
    rest_of = max(value - float(q @ q), 0.0) if np.isfinite(value) else 0.0
    k = np.sqrt(len(R) + 1.0)
    rows, targets = np.vstack([R, np.zeros(len(w0))]) * k, np.append(q, np.sqrt(rest_of)) * k
    small = asked.solve(SmallProblem(rows, targets, None, True, FINE * asked.tolerance, w0))
    r = -0.5 * k * small.theta[:-1]  # R·ahead − q
    ahead = (V @ ((q + r) / root)) / d

    def whole(u: Vector) -> Vector:
        found = np.empty(len(w))
        found[rest], found[levels] = u, w[levels] - back @ (g[levels] + c.T @ (u - w0))
        return found

    return whole(small.w), whole(ahead)
