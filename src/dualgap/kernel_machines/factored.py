"""K = RRᵀ turns a kernel problem into a linear one with l2, which the package's solvers always certify."""

from __future__ import annotations

import numpy as np
import scipy.linalg as sl

import dualgap.solvers  # noqa: F401  each enters the registry when it is imported
from dualgap.arrays import Matrix, Vector
from dualgap.design import Dense, WithOnes
from dualgap.drive.limits import Limits
from dualgap.drive.registry import candidates
from dualgap.drive.run import Outcome, drive
from dualgap.kernel_machines.problem import KernelProblem
from dualgap.kernel_machines.pursuit import Proposal
from dualgap.penalties import L2, Penalised
from dualgap.problem.problem import Problem
from dualgap.problem.repeated import reduced

RANK = 1e-15  # eigenvalues below this share of the largest are zero
LARGEST = 3000  # rows up to which K is factorised


def factor(K: Matrix) -> Matrix:
    """R with RRᵀ = K."""
    sizes, vectors = sl.eigh(K, check_finite=False)
    kept = sizes > RANK * max(float(sizes[-1]), 1e-300)
    if not kept.any():
        return np.zeros((len(K), 1))
    return np.asarray(vectors[:, kept] * np.sqrt(sizes[kept]))


def linear_outcome(problem: KernelProblem, R: Matrix, limits: Limits) -> Outcome:
    """The same problem with the rows of R for features."""
    gauge = L2().gauge(np.ones(R.shape[1]), np.ones(R.shape[1]))
    if problem.intercept:
        gauge = gauge.extended()
    design = WithOnes(Dense(R)) if problem.intercept else Dense(R)
    linear = Problem(
        design, problem.y, problem.a, problem.loss, Penalised(gauge, problem.lam), problem.intercept
    )
    working = reduced(linear)
    return drive(working, lambda: candidates(working.problem, "auto"), None, limits)


def lifted(problem: KernelProblem, outcome: Outcome) -> Vector:
    """β = θ/(2λ): the dual point of the linear problem in the kernel's own space."""
    return np.asarray(outcome.bounds.theta / (2.0 * problem.lam))


def pulled_back(problem: KernelProblem, R: Matrix, outcome: Outcome, name: str) -> Proposal:
    """The weights w of the linear problem as Kβ = Rw; the columns of R are orthogonal. No dual half."""
    w = outcome.bounds.w
    b = float(w[-1]) if problem.intercept else 0.0
    coef = w[:-1] if problem.intercept else w
    beta = R @ (coef / np.maximum((R * R).sum(axis=0), 1e-300))
    if problem.intercept:
        beta = beta - beta.mean()  # K may be centred: then Kβ is what R says only where Σβ = 0
    return Proposal(name, beta, problem.gram.product(beta), b, as_it_is=True)
