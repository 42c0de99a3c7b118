"""Many points of one path at once: the same check as for one, in products of matrices.

For penalties that are sums over the columns, the intercept alone free: what paths and folds ask for most.
"""

from __future__ import annotations

import numpy as np

from dualgap.arrays import Matrix, Vector
from dualgap.penalties.separable import Separable
from dualgap.proof.balance import zero_sums
from dualgap.proof.check import slopes
from dualgap.proof.rounding import FEW, LEAST, U, gamma
from dualgap.proof.statement import Statement


def check_many(
    problem: Statement, gauge: Separable, strengths: Vector, weights: Matrix, thetas: Matrix
) -> tuple[Vector, Vector]:
    """The objectives from above and the bounds, a row of weights and of θ per strength."""
    loss, a, y = problem.loss, problem.a, problem.centre
    coefs, levels = (weights[:, :-1], weights[:, -1:]) if problem.intercept else (weights, np.zeros((1, 1)))
    base = levels - problem.y if problem.loss.translates else np.broadcast_to(levels, (len(weights), len(a)))
    value, error = problem.rows.times_many(coefs)
    t = value + base
    far = np.abs(value).max(axis=1, initial=0.0) + np.abs(base).max(axis=1, initial=0.0)
    error = (error + 4.0 * U * far)[:, None]
    low, high = slopes(loss, y, t, error)
    risk, lam = _sums(a * loss.value(y, t)), strengths[:, None]
    priced = strengths * (np.abs(weights) @ gauge.l1 + (weights * weights) @ gauge.l2)
    spread = _sums(a * (error * np.maximum(np.abs(low), np.abs(high))))
    lost = 4.0 * FEW * (risk + spread + priced) + 2.0 * gamma(weights.shape[1]) * priced + 4.0 * LEAST * len(a)
    primal = risk + spread + priced + lost
    thetas = np.clip(thetas, *problem.dual_bounds_inside())
    thetas = zero_sums(thetas) if problem.intercept else thetas
    v, reach = problem.rows.against_many(thetas)
    if problem.intercept:
        v, reach = (np.pad(part, ((0, 0), (0, 1))) for part in (v, reach))
    u = -(thetas / a) * (1.0 + 4.0 * FEW)
    apart = np.maximum(np.abs(low - u), np.abs(high - u)) + 8.0 * FEW * np.abs(u)
    bracket, excess = gauge.fenchel_young(weights, v, reach, lam)
    along = (np.abs(weights) * (np.abs(v) + reach)).sum(axis=1)
    gap = (_sums(a * loss.fenchel_young(y, t, u)) + bracket) * (1.0 + 8.0 * FEW) + 2.0 * (spread + lost)
    gap += _sums(a * (error * apart)) + 16.0 * FEW * (primal + bracket + along) + excess * primal
    primal = np.where(primal == primal, primal, np.inf)
    return primal, np.where(gap < primal, primal - gap, 0.0)


def _sums(values: Matrix) -> Vector:
    return np.asarray(values.sum(axis=1) * (1.0 + FEW))
