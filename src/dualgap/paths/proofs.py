"""Duality gaps of many points at once, on the problem that was asked, in products of matrices."""

from __future__ import annotations

import numpy as np

from dualgap.arrays import Index, Matrix, Vector
from dualgap.design import WithOnes
from dualgap.paths.curve import Curve
from dualgap.paths.setting import Pair, Setting
from dualgap.penalties.separable import Separable
from dualgap.problem.dual_point import INSIDE
from dualgap.problem.problem import SMALL
from dualgap.solvers.storage import compressed

BLOCK = 1 << 22  # numbers in a block of dual points


def relative_gaps(setting: Setting, curve: Curve, form: str) -> Vector:
    """One relative gap per point of the curve."""
    gauge, asked = setting.asked.regulariser.gauge, setting.asked
    plain = isinstance(gauge, Separable) and np.count_nonzero(asked.free) == asked.intercept
    lams, weights = curve.lams, curve.weights()
    gaps = np.empty(len(lams))
    step = max(1, BLOCK // (asked.n + asked.p))
    first = 0
    while first < len(lams):
        last = min(first + step, len(lams))
        which = np.arange(first, last - 1 if lams[last - 1] == 0.0 and last - first > 1 else last)
        thetas = curve.thetas(which)
        if plain and form == "penalised" and lams[which[-1]] > 0.0:
            gaps[which] = _together(setting, lams[which], weights[which], thetas)
        else:
            gaps[which] = _one_by_one(setting, lams[which], weights[which], thetas, form)
        first = int(which[-1]) + 1
    return gaps


def _one_by_one(setting: Setting, lams: Vector, weights: Matrix, thetas: Matrix | None, form: str) -> Vector:
    gaps = np.empty(len(lams))
    for k, (lam, w) in enumerate(zip(lams, weights, strict=True)):
        working = setting.at(float(lam)) if form == "penalised" else setting.within(setting.value(w))
        found = setting.proof(working, Pair(w, None if thetas is None else thetas[k]))
        gaps[k] = working.asked.relative(found.gap, found.primal)
    return gaps


def _together(setting: Setting, lams: Vector, weights: Matrix, thetas: Matrix | None) -> Vector:
    """Points whose dual point needs no more than rounding to be feasible; the others one by one."""
    asked, gauge = setting.asked, setting.asked.regulariser.gauge
    assert isinstance(gauge, Separable)
    coef, intercept = setting.weights(weights)
    design = asked.design.inner if isinstance(asked.design, WithOnes) else asked.design
    X = compressed(design)
    X = design.toarray() if X is None else X
    z = np.asarray((X @ coef.T).T) + intercept[:, None]
    strength = (lams * setting.unit)[:, None]
    l1, l2 = (part[: coef.shape[1]] for part in (gauge.l1, gauge.l2))
    penalty = np.abs(coef) @ l1 + (coef * coef) @ l2
    primal = asked.loss.value(asked.y, z) @ asked.a + strength[:, 0] * penalty
    if thetas is None:
        theta = -asked.a * asked.loss.derivative(asked.y, z)
    else:
        theta = np.array([setting.working.theta(row) for row in thetas])
    theta = _balanced(np.clip(theta, *asked.dual_bounds), intercept=asked.intercept)
    v = np.asarray((X.T @ theta.T).T)
    with np.errstate(divide="ignore", invalid="ignore"):
        theta, v = _drawn_in(theta, v, strength, l1, l2)
        dual = -(asked.loss.conjugate(asked.y, -theta / asked.a) @ asked.a)
        dual -= _conjugates(v, strength, l1, l2)
    gap = np.maximum(primal - dual, 0.0)
    with np.errstate(invalid="ignore"):
        gaps = gap / np.maximum(np.abs(primal), SMALL * abs(asked.null))
    gaps[gap == 0.0] = 0.0
    doubtful: Index = np.flatnonzero(~(gaps <= 1e-10))
    if len(doubtful):
        some = None if thetas is None else thetas[doubtful]
        again = _one_by_one(setting, lams[doubtful], weights[doubtful], some, "penalised")
        gaps[doubtful] = np.fmin(gaps[doubtful], again)
    return gaps


def _balanced(theta: Matrix, *, intercept: bool) -> Matrix:
    """Σθ = 0 by shrinking the heavier sign."""
    if not intercept:
        return theta
    for _ in range(3):
        plus, minus = np.maximum(theta, 0.0).sum(axis=1), -np.minimum(theta, 0.0).sum(axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            up = np.where(plus > minus, minus / plus, 1.0)[:, None]
            down = np.where(minus > plus, plus / minus, 1.0)[:, None]
        theta = np.where(theta > 0.0, theta * up, theta * down)
    return theta


def _drawn_in(theta: Matrix, v: Matrix, strength: Vector, l1: Vector, l2: Vector) -> tuple[Matrix, Matrix]:
    """Multiples of θ for which the l1 part of the dual is feasible."""
    sharp = (l2 == 0.0) & (l1 > 0.0)
    if not sharp.any():
        return theta, v
    over = (np.abs(v[:, sharp]) / (strength * l1[sharp])).max(axis=1)
    scale = np.where(over > 1.0, INSIDE / over, 1.0)[:, None]
    return theta * scale, v * scale


def _conjugates(v: Matrix, strength: Vector, l1: Vector, l2: Vector) -> Vector:
    curved = l2 > 0.0
    if not curved.any():
        return np.zeros(len(v))
    excess = np.maximum(np.abs(v[:, curved]) - strength * l1[curved], 0.0)
    return np.asarray((excess * excess / (4.0 * strength * l2[curved])).sum(axis=1))
