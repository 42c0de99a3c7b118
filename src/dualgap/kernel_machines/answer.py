"""What a kernel fit returns, and the proof that anyone can repeat from K, y, θ, β and b."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dualgap.arrays import Index, Vector
from dualgap.errors import DataError
from dualgap.kernel_machines.problem import KernelProblem
from dualgap.kernels import Gram
from dualgap.losses import Loss
from dualgap.problem.certificate import Told
from dualgap.problem.problem import FREE_TOLERANCE
from dualgap.solvers.drive import Outcome, Status
from dualgap.solvers.trace import Trace


@dataclass(frozen=True, eq=False, repr=False)
class KernelCertificate(Told):
    """objective − bound ≥ 0 says how far f = Kβ + b can be from the best there is.

    `theta` and `beta` have an entry per row given, labels are ±1, and `sample_weight` and `lam` state the
    objective: Σ a L(y, Kβ + b) + λ βᵀKβ with a = s/Σs.
    """

    theta: Vector
    beta: Vector
    intercept: float
    objective: float
    bound: float
    loss: Loss
    lam: float
    sample_weight: Vector
    fit_intercept: bool

    @property
    def gap(self) -> float:
        """objective − bound."""
        return max(self.objective - self.bound, 0.0)

    def recheck(self, K: Any, y: Any) -> KernelCertificate:
        """Both values from the kernel matrix and the targets (±1 for classes) alone.

        A θ that is not feasible for these data proves nothing: its bound is −∞.
        """
        K, y = np.asarray(K, dtype=np.float64), np.asarray(y, dtype=np.float64)
        n = len(self.theta)
        if K.shape != (n, n) or y.shape != (n,):
            raise DataError(f"This certificate is for {n} rows; K has shape {K.shape}, y {y.shape}.")
        used = self.sample_weight > 0
        weights = self.sample_weight[used]
        problem = KernelProblem(
            Gram(None, K[np.ix_(used, used)]),
            y[used],
            weights / weights.sum(),
            self.loss,
            self.lam,
            self.fit_intercept,
        )
        beta, theta = self.beta[used], self.theta[used]
        whole = problem.gram.table
        objective = problem.primal(beta, whole @ beta, self.intercept)
        lower, upper = problem.dual_bounds
        sound = bool(np.all((theta >= lower) & (theta <= upper)) and not self.theta[~used].any())
        if self.fit_intercept:
            sound &= bool(abs(theta.sum()) <= FREE_TOLERANCE * max(np.abs(theta).sum(), 1e-300))
        bound = problem.dual(theta, float(theta @ whole @ theta)) if sound else -np.inf
        return replace(self, objective=objective, bound=bound)


@dataclass(frozen=True, eq=False)
class KernelSolution:
    """β and b with their proof. Beyond two classes the values are sums over `parts`, one per class."""

    beta: NDArray[np.float64]
    intercept: Any
    objective: float
    bound: float
    relative_gap: float
    converged: bool
    status: str
    solver: str
    n_iter: int
    seconds: float
    trace: Trace
    certificate: Any
    null: float
    parts: tuple[KernelSolution, ...] = ()

    @property
    def gap(self) -> float:
        """objective − bound, at least 0."""
        return max(self.objective - self.bound, 0.0)

    @property
    def support(self) -> Index:
        """The rows with a coefficient in any class."""
        return np.flatnonzero(np.atleast_2d(self.beta).any(axis=0))

    def save(self, path: Any) -> None:
        """Refused: the kernel and the support vectors, which predictions need, are the estimator's."""
        raise DataError(
            "Model files hold linear models; a kernel machine predicts with its kernel and support vectors. "
            "Keep the fitted estimator itself, for instance with joblib.dump."
        )

    def __repr__(self) -> str:
        found = "proven" if self.converged else "NOT proven to tolerance"
        return (
            f"KernelSolution(objective {self.objective:.6g}, relative gap {self.relative_gap:.1e} {found}, "
            f"{len(self.support)} of {np.atleast_2d(self.beta).shape[1]} rows support it)"
        )


@dataclass(frozen=True, eq=False)
class Statement:
    """What is asked beside the targets: the kernel on the rows that count, loss, λ and weights."""

    gram: Gram
    loss: Loss
    lam: float
    sample_weight: Vector  # of every row given
    fit_intercept: bool
    used: NDArray[np.bool_] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "used", self.sample_weight > 0)

    def problem(self, y: Vector) -> KernelProblem:
        """The problem for these targets, one per row given."""
        weights = self.sample_weight[self.used]
        return KernelProblem(
            self.gram, y[self.used], weights / weights.sum(), self.loss, self.lam, self.fit_intercept
        )

    def solution(self, problem: KernelProblem, outcome: Outcome, remark: str = "") -> KernelSolution:
        """The public answer from an outcome on the rows that count."""
        best = outcome.bounds
        beta, theta = np.zeros(len(self.used)), np.zeros(len(self.used))
        beta[self.used], theta[self.used] = best.w[:-1], best.theta
        b = float(best.w[-1] - self.gram.level @ best.w[:-1])
        certificate = KernelCertificate(
            theta,
            beta,
            b,
            best.primal,
            best.dual,
            self.loss,
            self.lam,
            self.sample_weight,
            self.fit_intercept,
        )
        return KernelSolution(
            beta=beta,
            intercept=b,
            objective=best.primal,
            bound=best.dual,
            relative_gap=problem.relative(best.gap, best.primal),
            converged=outcome.status is Status.CERTIFIED,
            status=remark or outcome.sentence,
            solver=outcome.solver,
            n_iter=outcome.iterations,
            seconds=outcome.seconds,
            trace=outcome.trace,
            certificate=certificate,
            null=problem.null,
        )


def together(parts: list[KernelSolution], tolerance: float, small: float = 1e-4) -> KernelSolution:
    """One class against the rest, for each: sums of the values, a row of β per class."""
    objective, bound = sum(p.objective for p in parts), sum(p.bound for p in parts)
    null, gap = sum(p.null for p in parts), max(objective - bound, 0.0)
    scale = max(abs(objective), small * abs(null))
    relative = 0.0 if gap == 0.0 else gap / scale if scale > 0 else np.inf
    converged = relative <= tolerance
    doubts = [p.status for p in parts if not p.converged]
    trace = Trace()
    for part in parts:
        trace += part.trace
    return KernelSolution(
        beta=np.array([p.beta for p in parts]),
        intercept=np.array([p.intercept for p in parts]),
        objective=objective,
        bound=bound,
        relative_gap=relative,
        converged=converged,
        status=Status.CERTIFIED.value if converged or not doubts else doubts[0],
        solver=", ".join(dict.fromkeys(p.solver for p in parts)),
        n_iter=sum(p.n_iter for p in parts),
        seconds=sum(p.seconds for p in parts),
        trace=trace,
        certificate=tuple(p.certificate for p in parts),
        null=null,
        parts=tuple(parts),
    )
