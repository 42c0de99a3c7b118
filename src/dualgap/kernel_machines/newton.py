"""Newton's method in the primal: (√W K √W + 2λ) α + √W b = √W f − L'/√W with β = √W α, for smooth losses.

Cholesky while the matrix can be held, conjugate gradients beyond.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import scipy.linalg as sl
from scipy.sparse.linalg import LinearOperator, cg

from dualgap.arrays import Matrix, Vector
from dualgap.kernel_machines.problem import KernelProblem

DENSE = 6000  # rows up to which K is held and factorised
FLOOR = 1e-14  # of the largest curvature, so that a row far out keeps a weight
STEPS = 100

Inverse = Callable[[Vector], Vector]


def newton(problem: KernelProblem, beta: Vector, b: float) -> Iterator[tuple[Vector, Vector, float]]:
    """(β, Kβ, b) after each step."""
    f = problem.gram.product(beta)
    value = problem.primal(beta, f, b)
    for _ in range(STEPS):
        ahead, level = _direction(problem, f, b)
        ahead_f = problem.gram.product(ahead)
        step = 1.0
        for _ in range(50):
            mixed = [(1 - step) * old + step * new for old, new in ((beta, ahead), (f, ahead_f))]
            shift = (1 - step) * b + step * level
            found = problem.primal(mixed[0], mixed[1], shift)
            if found <= value:
                break
            step *= 0.5
        else:
            yield _implied(problem, f, b)
            return
        stalled = value - found <= 1e-16 * abs(value)
        beta, f, b, value = mixed[0], mixed[1], shift, found
        yield beta, f, b
        if stalled:
            yield _implied(problem, f, b)
            return


def _implied(problem: KernelProblem, f: Vector, b: float) -> tuple[Vector, Vector, float]:
    """β from the slopes, which is where the two problems agree."""
    theta = -problem.a * problem.loss.derivative(problem.y, f + b)
    beta = problem.feasible(theta) / (2.0 * problem.lam)
    return beta, problem.gram.product(beta), b


def _direction(problem: KernelProblem, f: Vector, b: float) -> tuple[Vector, float]:
    """β and b of the quadratic model's minimum."""
    z = f + b
    with np.errstate(all="ignore"):
        weight = problem.a * problem.loss.second_derivative(problem.y, z)
        slope = problem.a * problem.loss.derivative(problem.y, z)
    root = np.sqrt(np.maximum(weight, FLOOR * float(weight.max()) + 1e-300))
    right = root * z - slope / root
    solve = _inverse(problem, root)
    first = solve(right)
    if not problem.intercept:
        return root * first, 0.0
    second = solve(root)
    level = float(root @ first) / float(root @ second)
    return root * (first - level * second), level


def _inverse(problem: KernelProblem, root: Vector) -> Inverse:
    """(√W K √W + 2λ)⁻¹."""
    if problem.n <= DENSE or problem.gram.kernel is None:
        A: Matrix = problem.gram.whole * root * root[:, None]
        A[np.diag_indices(len(A))] += 2.0 * problem.lam
        factor = sl.cho_factor(A, lower=True, check_finite=False, overwrite_a=True)
        return lambda v: np.asarray(sl.cho_solve(factor, v, check_finite=False))
    n = problem.n
    operator = LinearOperator(
        (n, n), lambda v: root * problem.gram.product(root * v.ravel()) + 2.0 * problem.lam * v.ravel()
    )
    scale = LinearOperator((n, n), lambda v: v.ravel() / (root**2 * problem.gram.diagonal + 2 * problem.lam))
    return lambda v: np.asarray(cg(operator, v, rtol=1e-8, maxiter=200, M=scale)[0])
