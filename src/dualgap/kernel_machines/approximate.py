"""Low rank by choice: solve with few features, then say what that proves of the exact problem.

Nyström: f in the span of k(z, ·) for some rows z. That is a point of the exact problem too, with the same
objective, and θ of the small problem is feasible for the exact dual, where it is evaluated with the exact K.
Random features (Rahimi and Recht, 2007) leave the space of the kernel; their θ is lifted, β = θ/(2λ), and
both values are those of the exact problem at that point.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import scipy.linalg as sl

from dualgap.arrays import Index, Matrix, Vector
from dualgap.drive.limits import Limits, Status
from dualgap.drive.run import Outcome
from dualgap.errors import DataError
from dualgap.kernel_machines.factored import RANK, lifted, linear_outcome
from dualgap.kernel_machines.problem import KernelProblem
from dualgap.kernel_machines.solve import solve
from dualgap.kernels import LinearGram
from dualgap.kernels.base import array_of
from dualgap.proof.kernel import kernel_value
from dualgap.traits import Trait

SHARP = 1e-9  # to which the small problem is solved, at least
METHODS = ("nystroem", "random_features")


def solve_approximately(
    problem: KernelProblem, limits: Limits, method: str, components: int, rng: np.random.Generator
) -> Outcome:
    """The small problem's answer with the gap it has in the exact one."""
    if method == "nystroem":
        return _nystroem(problem, limits, components, rng)
    if method == "random_features":
        return _random_features(problem, limits, components, rng)
    raise DataError(f"approximation must be one of {', '.join(METHODS)} or None, not {method!r}.")


def _nystroem(problem: KernelProblem, limits: Limits, components: int, rng: np.random.Generator) -> Outcome:
    n = problem.n
    distinct = _distinct(problem)
    chosen = np.sort(rng.choice(distinct, size=min(components, len(distinct)), replace=False))
    R, back = _landmarks(problem, chosen)
    outcome, coef, b = _small(problem, R, limits)
    beta = np.zeros(n)
    beta[chosen] = back @ coef
    return _exact(problem, limits, outcome, [(beta, b)])


def _small(problem: KernelProblem, R: Matrix, limits: Limits) -> tuple[Outcome, Vector, float]:
    """The problem with the rows of R for features: weights and intercept; exact where the loss allows."""
    limits = replace(limits, tolerance=min(limits.tolerance, SHARP))
    if Trait.PIECEWISE_QUADRATIC in problem.loss.traits:
        outcome = solve(replace(problem, gram=LinearGram(R, problem.gram.cache_bytes)), limits)
        return outcome, outcome.bounds.w[:-1] @ R, float(outcome.bounds.w[-1])
    outcome = linear_outcome(problem, R, limits)
    w = outcome.bounds.w
    return outcome, w[: R.shape[1]], float(w[-1]) if problem.intercept else 0.0


def _distinct(problem: KernelProblem) -> Index:
    """One of each group of equal rows: repeated rows and rows of weight two lead to the same choice."""
    if problem.gram.kernel is None:
        return np.arange(problem.n)
    return np.unique(array_of(problem.gram.table), axis=0, return_index=True)[1]


def _landmarks(problem: KernelProblem, chosen: Index) -> tuple[Matrix, Matrix]:
    """Features R = K_nm V S^−½ of every row, and V S^−½, from weights to coefficients of the rows z."""
    sizes, vectors = sl.eigh(problem.gram.block(chosen, chosen), check_finite=False)
    kept = sizes > 1e3 * RANK * max(float(sizes[-1]), 1e-300)
    back = vectors[:, kept] / np.sqrt(sizes[kept])
    return problem.gram.rows(chosen).T @ back, back


def _random_features(
    problem: KernelProblem, limits: Limits, components: int, rng: np.random.Generator
) -> Outcome:
    kernel, table = problem.gram.kernel, problem.gram.table
    shape = (table.shape[1], max(components // 2, 1))
    frequency = None if kernel is None else kernel.frequencies(shape, rng)
    if frequency is None:
        raise DataError('approximation="random_features" is for kernel="rbf" and "laplacian".')
    phase = table @ frequency
    R = np.hstack([np.cos(phase), np.sin(phase)]) / np.sqrt(shape[1])
    return _exact(problem, limits, _small(problem, R, limits)[0], [])


def _exact(
    problem: KernelProblem, limits: Limits, outcome: Outcome, points: list[tuple[Vector, float]]
) -> Outcome:
    """Both values in the exact problem: the lifted point for the bound, the low-rank model for the answer."""
    best = problem.judged(lifted(problem, outcome), None, limits.tolerance)
    for beta, b in points:
        value = kernel_value(problem.stated, beta, b, limits.tolerance)
        best = replace(best, w=np.append(beta, b), primal=value)
    gap = problem.relative(best.gap, best.primal)
    small = "solved" if outcome.proven else "not solved to tolerance"
    remark = (
        f"The low-rank problem is {small}; of the exact problem it is proven that the objective is within a "
        f"relative {gap:.2e} of the best."
    )
    status = Status.STALLED if outcome.proven else outcome.status
    status = Status.CERTIFIED if gap <= limits.tolerance else status
    solver = f"low rank, {outcome.solver}"
    return Outcome(best, status, solver, outcome.iterations, outcome.seconds, outcome.trace, remark)
