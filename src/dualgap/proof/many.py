"""Many points of one path at once: the same check as for one, in products of matrices.

For penalties that are sums over the columns, the intercept alone free: what paths and folds ask for most.
"""

from __future__ import annotations

import numpy as np

from dualgap.arrays import Matrix, Vector
from dualgap.losses.base import FAINT
from dualgap.penalties.separable import Separable
from dualgap.proof.balance import zero_sums
from dualgap.proof.check import AWAY, SLACK, slopes
from dualgap.proof.rounding import FEW, LEAST, U, gamma
from dualgap.proof.statement import Statement, moved


def check_many(
    problem: Statement, gauge: Separable, strengths: Vector, weights: Matrix, thetas: Matrix
) -> tuple[Vector, Vector]:
    """The objectives from above and the bounds, a row of weights and of θ per strength."""
    a, (loss, y, shifts) = problem.a, problem.centred
    coefs, levels = (weights[:, :-1], weights[:, -1:]) if problem.intercept else (weights, np.zeros((1, 1)))
    base, beyond = moved(np.broadcast_to(levels, (len(weights), len(a))), shifts)
    value, error = problem.rows.times_many(coefs)
    t = np.ascontiguousarray(value + base)  # so that sums over the rows are made in pairs
    far = np.abs(value).max(axis=1, initial=0.0) + beyond
    error = (error + 4.0 * U * far)[:, None]
    low, high = slopes(loss, y, t, error)
    risk = _sums(a * loss.value(y, t)) if a.min() >= FAINT else np.inf
    spread = _sums(a * (error * np.maximum(-low, high)))
    sizes = np.abs(weights) @ gauge.l1 + (weights * weights) @ gauge.l2
    priced, doubt = strengths * sizes, strengths * gauge.doubt(weights[0], sizes)
    lost = FEW * (risk + spread + priced) + doubt + 8.0 * LEAST * (len(a) + weights.shape[1])
    primal = risk + spread + priced + lost
    thetas = np.clip(thetas, *problem.dual_bounds_inside())
    thetas = np.ascontiguousarray(zero_sums(thetas) if problem.intercept else thetas)
    v, reach = problem.rows.against_many(thetas)
    if problem.intercept:
        v, reach = (np.pad(part, ((0, 0), (0, 1))) for part in (v, reach))
    u = -(thetas / a) * AWAY
    apart = np.maximum(u - low, high - u) + FAINT
    bracket, excess = gauge.fenchel_young(weights, v, reach, strengths[:, None])
    bracket = np.where(strengths * gauge.least < FAINT, np.inf, bracket)
    along = np.abs(weights * v).sum(axis=1)
    gap = _sums(a * loss.fenchel_young(y, t, u)) + bracket * (1.0 + gamma(weights.shape[1]))
    gap += 2.0 * (spread + lost) + _sums(a * (error * apart))
    gap += SLACK * (primal + bracket + along) + excess * primal
    primal = np.where(primal == primal, primal, np.inf)
    return primal, np.where(gap < primal, primal - gap, 0.0)


def _sums(values: Matrix) -> Vector:
    return np.asarray(values.sum(axis=1) * (1.0 + FEW))
