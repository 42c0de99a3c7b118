"""Newton's method in the primal: (√W K √W + 2λ) α + √W b = √W f − L'/√W with β = √W α, for smooth losses.

Cholesky while the matrix can be held, conjugate gradients beyond.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator

import numpy as np

from dualgap.arrays import Matrix, Vector
from dualgap.kernel_machines.problem import KernelProblem
from dualgap.linalg.cholesky import cholesky
from dualgap.linalg.conjugate_gradients import conjugate_steps
from dualgap.linalg.line_search import convex_step

DENSE = 6000  # rows up to which K is held and factorised
FLOOR = 1e-14  # of the largest curvature, so that a row far out keeps a weight
STEPS = 100  # far beyond what Newton needs: the end of a search that cannot halve for ever
ACCURACY = 1e-7  # relative residual of conjugate gradients
PRODUCTS = 500  # with K, for one step: where they do not suffice the next step goes on

Inverse = Callable[[Vector], Generator[None, None, Vector]]


def newton(problem: KernelProblem, beta: Vector, b: float) -> Iterator[tuple[Vector, Vector, float] | None]:
    """(β, Kβ, b) after each step; None is a pause."""
    f = problem.gram.product(beta)
    value = problem.primal(beta, f, b)
    for _ in range(STEPS):
        ahead, level = yield from _direction(problem, f, b)
        change = (ahead - beta, problem.gram.product(ahead) - f, level - b)
        step = convex_step(_slope_along(problem, (beta, f, b), change))
        beta, f, b = beta + step * change[0], f + step * change[1], b + step * change[2]
        before, value = value, problem.primal(beta, f, b)
        if step:
            yield beta, f, b
        if before - value <= 1e-16 * abs(before):
            yield _implied(problem, f, b)
            return


def _slope_along(
    problem: KernelProblem, here: tuple[Vector, Vector, float], change: tuple[Vector, Vector, float]
) -> Callable[[float], float]:
    """d/ds of the objective at here + s·change."""
    (beta, f, b), (dbeta, df, db) = here, change
    z, dz = f + b, df + db
    constant, linear = 2.0 * problem.lam * float(beta @ df), 2.0 * problem.lam * float(dbeta @ df)

    def slope(s: float) -> float:
        with np.errstate(all="ignore"):
            pull = problem.a * problem.loss.derivative(problem.y, z + s * dz)
        return float(pull @ dz) + constant + s * linear

    return slope


def _implied(problem: KernelProblem, f: Vector, b: float) -> tuple[Vector, Vector, float]:
    """β from the slopes, which is where the two problems agree."""
    theta = -problem.a * problem.loss.derivative(problem.y, f + b)
    beta = problem.feasible(theta) / (2.0 * problem.lam)
    return beta, problem.gram.product(beta), b


def _direction(problem: KernelProblem, f: Vector, b: float) -> Generator[None, None, tuple[Vector, float]]:
    """β and b of the quadratic model's minimum."""
    z = f + b
    with np.errstate(all="ignore"):
        weight = problem.a * problem.loss.second_derivative(problem.y, z)
        slope = problem.a * problem.loss.derivative(problem.y, z)
    root = np.sqrt(np.maximum(weight, FLOOR * float(weight.max()) + 1e-300))
    right = root * z - slope / root
    solve = _factored(problem, root) if _held(problem) else _conjugate(problem, root)
    first = yield from solve(right)
    if not problem.intercept:
        return root * first, 0.0
    second = yield from solve(root)
    level = float(root @ first) / float(root @ second)
    return root * (first - level * second), level


def _held(problem: KernelProblem) -> bool:
    return problem.n <= DENSE or problem.gram.kernel is None


def _factored(problem: KernelProblem, root: Vector) -> Inverse:
    """(√W K √W + 2λ)⁻¹ by Cholesky."""
    A: Matrix = problem.gram.whole * root * root[:, None]
    A[np.diag_indices(len(A))] += 2.0 * problem.lam
    factor = cholesky(A)

    def solve(right: Vector) -> Generator[None, None, Vector]:
        yield from ()
        return factor(right)

    return solve


def _conjugate(problem: KernelProblem, root: Vector) -> Inverse:
    """The same by conjugate gradients, a pause after each product with K.

    Products in single precision do: the next step of Newton's starts from Kβ in double precision.
    """
    every = np.arange(problem.n)

    def apply(x: Vector) -> Vector:
        return np.asarray(root * problem.gram.quick.product(every, root * x) + 2.0 * problem.lam * x)

    diagonal = root**2 * problem.gram.diagonal + 2.0 * problem.lam
    return lambda right: conjugate_steps(apply, right, diagonal, ACCURACY, PRODUCTS)
