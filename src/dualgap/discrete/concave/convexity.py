"""Where squared loss makes up for a penalty that bends down: there a stationary point is proven the best.

With c_j the most by which the slope of λ h_j falls a step, and 2 Σ a ((x − m)·d)² ≥ μ Σ c d² for every d and
some μ > 1, P is convex. At w, with v = Xᵀθ and δ_j the distance of v_j from the slopes of λ h_j at w_j,

    P(w) − P(w') ≤ Σ min(δ_j²/(2 (μ − 1) c_j), δ_j (|w_j| + |w*_j|)), |w*_j| ≤ max(flat_j, |v_j|/c_j + |w_j|),

for λ h_j + μ c_j w²/2 is convex with the modulus (μ − 1) c_j, and its slope meets v_j + μ c_j w_j at w*_j.
What rounding may hide of each is added to it.
"""

from __future__ import annotations

import numpy as np

from dualgap.arrays import Vector
from dualgap.linalg.cholesky import cholesky
from dualgap.penalties import Penalised
from dualgap.penalties.folded import Folded
from dualgap.problem.problem import Problem
from dualgap.proof.rounding import FEW, LEAST, U, gamma, total
from dualgap.traits import Trait

LARGEST = 2000  # columns: beyond, the Gram matrix is dear, and seldom as curved as it would have to be
INSIDE = 0.999  # of the least eigenvalue that is found: what a factorisation then proves


def convex_bound(problem: Problem, w: Vector) -> float:
    """What no weights beat, as real numbers; 0 where the problem is not shown to be convex."""
    form, p = problem.regulariser, problem.p - problem.intercept
    gauge = form.gauge.folded
    if gauge is None or form.constrained or not problem.loss_has(Trait.QUADRATIC):
        return 0.0
    if p > min(LARGEST, problem.n) or np.any(gauge.free[:p]) or problem.bounded:
        return 0.0
    curve = form.strength * gauge.bend[:p] * (1.0 + FEW)
    with np.errstate(all="ignore"):
        more = _surplus(problem, curve)
        return max(_below(problem, form, gauge, w, (curve, more)), 0.0) if more > 0.0 else 0.0


def _surplus(problem: Problem, curve: Vector) -> float:
    """μ − 1 from below; 0 or less where it is not shown to be positive.

    A Cholesky factorisation that runs to its end shows that no eigenvalue is below −γ·trace (Rump, 2006).
    """
    X, a, n = problem.design.features.toarray(), problem.a, problem.n
    means = a @ X if problem.intercept else np.zeros(X.shape[1])
    scaled = (X - means) / np.sqrt(curve)
    gram = scaled.T @ (scaled * a[:, None])
    away = a @ scaled if problem.intercept else means
    size = float(np.trace(gram)) * (1.0 + FEW)
    lost = size * (gamma(n + len(curve) + 16) + 2.0 * FEW) + 4.0 * float(away @ away) + n * LEAST
    lost = lost + 4.0 * (gamma(n + 4) * float(np.abs(scaled).max())) ** 2 * len(curve)
    least = INSIDE * float(np.linalg.eigvalsh(gram)[0])
    try:
        cholesky(gram - least * np.eye(len(curve)), (0.0,))
    except np.linalg.LinAlgError:
        return 0.0
    found = 2.0 * (least - 2.0 * lost) * (1.0 - FEW) - 1.0
    return float(found) if np.isfinite(found) else 0.0


def _below(problem: Problem, form: Penalised, gauge: Folded, w: Vector, shown: tuple[Vector, float]) -> float:
    curve, more = shown
    a, strength, p = problem.a, form.strength, len(curve)
    t, error = problem.misses(w, exact=True)  # Xw + b − y
    theta = -2.0 * a * t
    level = 0.0
    if problem.intercept:
        theta = theta - a * float(theta.sum())
        level = abs(float(theta.sum())) + gamma(problem.n) * total(np.abs(theta)) + FEW * total(np.abs(a * t))
    v, reach = problem.rows.against(theta, exact=True)
    most = float(np.max(error)) if np.ndim(error) else float(error)
    loose = 2.0 * most + 2.0 * FEW * total(np.abs(theta)) + FEW * total(a * np.abs(t)) + level
    reach = reach + loose * problem.rows.tops
    coef, size = w[:p], np.abs(w[:p])
    slope = strength * gauge.tangent(w, 0.0)[:p]
    apart = np.where(coef != 0.0, np.abs(v - np.copysign(slope, coef)), np.maximum(np.abs(v) - slope, 0.0))
    apart = apart + reach + 8.0 * U * (np.abs(v) + strength * gauge.l1[:p] + curve * (size + gauge.start[:p]))
    far = size + np.maximum(gauge.flat[:p], (np.abs(v) + reach) / curve + size)
    gap = total(np.minimum(apart * apart / (2.0 * more * curve), apart * far)) + level * level
    risk = a * np.maximum(np.abs(t) - 2.0 * error, 0.0) ** 2
    priced, doubt = problem.regulariser.priced(w)
    return float((float(risk.sum()) + priced) * (1.0 - 2.0 * FEW) - doubt - gap * (1.0 + FEW))
