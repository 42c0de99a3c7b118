"""C = ∞: minimise g(w), a squared length, subject to y (x·w + b) ≥ 1 in every row; a plane, or with a kernel.

    g(w) − g(w') ≤ Σ |θ| (m − 1) + [g(w) + g*(v) − w·v]        for every w' that keeps the margin,  v = Xᵀθ,

for any θ with y θ ≥ 0, and Σθ = 0 where there is an intercept; m = y (x·w + b) ≥ 1. A margin of one is kept
as real numbers or not at all: weights that fall short of it by a bit are worth ∞.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dualgap.arrays import Vector
from dualgap.proof.balance import zero_sum
from dualgap.proof.check import SLACK, Checked, missed, told
from dualgap.proof.exact import clears
from dualgap.proof.kernel import KernelStatement, distance_between
from dualgap.proof.processor import PlainArithmetic
from dualgap.proof.rounding import FEW, gamma, total
from dualgap.proof.statement import Statement


def check_margin(problem: Statement, w: Vector, theta: Vector, tolerance: float = 0.0) -> Checked:
    """Both values of a plane, and at a feasible point near θ; every column must have a price.

    Whether the margin is kept is decided exactly, by integers where floats cannot.
    """
    coef, b = (w[:-1], float(w[-1])) if problem.intercept else (w, 0.0)
    kept = clears(problem.rows.matrix, problem.y, coef, b)
    with PlainArithmetic():
        found = _plane(problem, w, theta, kept, exact=False)
        if _poor(found, tolerance):
            return _plane(problem, w, theta, kept, exact=True).improved(found)
    return found


def check_kernel_margin(
    problem: KernelStatement, beta: Vector, b: float, theta: Vector, tolerance: float = 0.0
) -> Checked:
    """Both values of a kernel's surface; of the problem only K, y and the intercept count."""
    b = problem.level(b)
    with PlainArithmetic():
        found = _surface(problem, beta, b, theta, exact=False)
        if _poor(found, tolerance):
            return _surface(problem, beta, b, theta, exact=True).improved(found)
    return found


def widest(problem: KernelStatement, theta: Vector) -> float:
    """No surface with y (f + b) ≥ 1 in every row has a margin 1/‖f‖ above this.

    Σ|θ| ≤ Σθ (f + b) ≤ ‖f‖√(θᵀKθ) for any θ as above; ∞ where that says nothing.
    """
    theta = _feasible(theta, problem.y, intercept=problem.intercept)
    length = float(np.abs(theta).sum()) * (1.0 - FEW)
    image = problem.products.times(theta, exact=True)
    square, doubt = image.along(theta)
    square = max(square, 0.0) + doubt + float(theta @ image.shift) * (1.0 + FEW + gamma(len(theta)))
    return float(np.sqrt(square)) / length * (1.0 + FEW) if 0.0 < length < np.inf else np.inf


def _poor(found: Checked, tolerance: float) -> bool:
    """May more digits help?"""
    return not found.primal < np.inf or missed(found, tolerance * found.primal)


def _plane(problem: Statement, w: Vector, theta: Vector, kept: bool, *, exact: bool) -> Checked:
    t, error = problem.misses(w, exact=exact)
    theta = _feasible(theta, problem.y, intercept=problem.intercept)
    v, reach = problem.rows.against(theta, exact=exact)
    v, reach = problem.spread(v), problem.spread(reach)
    bracket, excess = problem.regulariser.fenchel_young(w, v, reach)
    if excess or problem.free_features.any():  # lengths that are no squares, and columns without a price
        bracket = np.inf
    value, doubt = problem.regulariser.priced(w)
    doubt = doubt + FEW * value
    paid, loose = _paid(problem.y * t - 1.0, theta, error)
    along = float(np.abs(w) @ (np.abs(v) + reach))
    rounding = 2.0 * doubt + loose + SLACK * (value + bracket + along)
    gap = paid + bracket + rounding
    return told(Checked(w, theta, value + doubt if kept else np.inf, gap, rounding, v, reach))


def _surface(problem: KernelStatement, beta: Vector, b: float, theta: Vector, *, exact: bool) -> Checked:
    image = problem.products.times(beta, exact=exact)
    t, error = problem.misses(image, b)
    square, doubt = image.along(beta)
    away = problem.y * image.shift  # what the largest τ adds to the margins
    beyond = problem.y * t - 1.0
    kept = bool(np.all(beyond + np.minimum(away, 0.0) >= error * (1.0 + FEW) + FEW * np.abs(away)))
    rise = float(np.abs(beta) @ np.abs(image.shift)) * (1.0 + FEW + gamma(len(beta)))
    doubt = doubt + max(-square, 0.0) + FEW * (abs(square) + rise)
    value = max(square, 0.0) + rise + doubt
    theta = _feasible(theta, problem.y, intercept=problem.intercept)
    bracket, more = distance_between(problem.products, image, beta, theta, 1.0, value, exact=exact)
    paid, loose = _paid(beyond, theta, error + np.abs(away))
    rounding = rise + 2.0 * doubt + more + loose + SLACK * (value + bracket)
    gap = paid + bracket + rounding
    nothing = np.empty(0)
    objective = value if kept else np.inf
    return told(Checked(np.append(beta, b), theta, objective, gap, rounding, nothing, nothing))


def _paid(beyond: Vector, theta: Vector, error: Any) -> tuple[float, float]:
    """Σ |θ| (m − 1), which is ≥ 0 where the margin is kept, and what the error of m may add to it."""
    size = np.abs(theta)
    return total(size * np.maximum(beyond, 0.0)), total(size * error)


def _feasible(theta: Vector, y: Vector, *, intercept: bool) -> Vector:
    """y θ ≥ 0, and with an intercept Σθ = 0 as real numbers."""
    theta = np.where(y * theta > 0.0, theta, 0.0)
    return zero_sum(theta) if intercept else theta
