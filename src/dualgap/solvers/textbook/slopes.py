"""(Sub)gradients of the whole objective, and the curvature that a step must respect."""

from __future__ import annotations

import numpy as np
from scipy.sparse.linalg import LinearOperator, eigsh

from dualgap.arrays import Vector
from dualgap.problem.problem import Problem
from dualgap.traits import Trait

DIRECT = 200  # columns, or rows, up to which the eigenvalue comes from the matrix of products

LANCZOS = 1e-3  # relative error of the eigenvalue, which makes the step shorter by as much


def slope(problem: Problem, w: Vector, prediction: Vector) -> Vector:
    """Xᵀ(a L'(y, Xw)) + ∂g(w), the gradient where P is smooth; `prediction` is Xw."""
    return penalty_slope(problem, w) + risk_slope(problem, prediction)


def risk_slope(problem: Problem, prediction: Vector) -> Vector:
    """Xᵀ(a L'(y, Xw)): the loss's share of the slope."""
    return -problem.design.transpose_matvec(problem.slope(prediction))


def penalty_slope(problem: Problem, w: Vector) -> Vector:
    """A subgradient of the penalty at w; 0 for a constraint."""
    regulariser = problem.regulariser
    if regulariser.constrained:
        return np.zeros_like(w)
    return regulariser.strength * regulariser.gauge.slope(w)


def polyak(problem: Problem) -> float:
    """P(0)/‖g(0)‖²: from w = 0 no step that long passes the optimum, since no loss is below zero."""
    origin, z = np.zeros(problem.p), np.zeros(problem.n)
    steepness = float(np.square(slope(problem, origin, z)).sum())
    return problem.primal(origin, z) / steepness if steepness > 0.0 else 1.0


def loss_curvature(problem: Problem) -> float:
    """The largest curvature of the mean loss: that of L times the largest eigenvalue of XᵀAX."""
    curvature = problem.loss.curvature
    if not np.isfinite(curvature):
        return np.inf
    return curvature * largest_eigenvalue(problem)


def largest_eigenvalue(problem: Problem) -> float:
    """λ_max(XᵀAX), from the smaller side; by Lanczos where both sides are long."""
    n, p = problem.design.shape
    if min(n, p) <= DIRECT:
        if p <= n:
            return float(np.linalg.eigvalsh(problem.design.weighted_gram(problem.a))[-1])
        root = np.sqrt(problem.a)
        outer = problem.design.weighted_outer(np.ones(p)) * root * root[:, None]
        return float(np.linalg.eigvalsh(outer)[-1])

    def product(x: Vector) -> Vector:
        return problem.design.transpose_matvec(problem.a * problem.design.matvec(np.ravel(x)))

    operator = LinearOperator((p, p), matvec=product, dtype=np.float64)
    start = np.random.default_rng(0).standard_normal(p)
    top = eigsh(operator, k=1, which="LA", v0=start, tol=LANCZOS, return_eigenvectors=False)
    return float(top[0]) * (1.0 + LANCZOS)  # found from below


def curvature_bound(problem: Problem) -> float:
    """L: the gradient of P is L-Lipschitz; infinite where P is not smooth in that sense."""
    regulariser = problem.regulariser
    elastic = regulariser.gauge.elastic
    if regulariser.constrained or not np.isfinite(problem.loss.curvature):
        return loss_curvature(problem)
    if elastic is None or elastic.l1.any():
        return np.inf
    return loss_curvature(problem) + 2.0 * regulariser.strength * float(elastic.l2.max(initial=0.0))


def smooth_penalty(problem: Problem) -> bool:
    """Is g differentiable everywhere (l2 or nothing, added, not a constraint)?"""
    return not problem.regulariser.constrained and Trait.SMOOTH in problem.regulariser.traits
