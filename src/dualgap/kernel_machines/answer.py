"""What a kernel fit returns, and the proof that anyone can repeat from K, y, θ, β and b."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dualgap.arrays import Index, Mask, Matrix, Vector
from dualgap.drive.limits import Status
from dualgap.drive.run import Outcome
from dualgap.drive.trace import Trace
from dualgap.errors import DataError
from dualgap.kernel_machines.problem import KernelProblem
from dualgap.kernels import Gram
from dualgap.kernels.gram import symmetric
from dualgap.losses import Loss
from dualgap.losses.shifted import with_offset
from dualgap.problem.problem import relative_gap
from dualgap.proof.certificate import Certificate
from dualgap.proof.check import Checked
from dualgap.proof.kernel import Entries, KernelStatement, check_kernel
from dualgap.proof.margin import check_kernel_margin
from dualgap.proof.rounding import added


@dataclass(frozen=True, eq=False)
class KernelTask:
    """A problem on the rows that count, β and θ given for all rows."""

    problem: KernelStatement
    used: Mask
    tolerance: float

    def judged(self, w: Vector, theta: Any) -> Checked:
        """What the proof's kernel says; a coefficient of a row that does not count is not the problem's."""
        beta, b = (w[:-1], float(w[-1])) if self.problem.intercept else (w, 0.0)
        if beta[~self.used].any():
            beta = np.full(len(beta), np.nan)
        check = check_kernel_margin if self.problem.lam == 0.0 else check_kernel
        return check(self.problem, beta[self.used], b, theta[self.used], self.tolerance)


@dataclass(frozen=True, eq=False)
class KernelTerms:
    """What was asked, but for the kernel and the targets; λ = 0 is C = ∞."""

    loss: Loss
    lam: float
    sample_weight: Vector  # of every row given
    fit_intercept: bool
    offset: Vector | None = None  # of every row given
    offset_name: str | None = None  # the column that it was in

    @property
    def used(self) -> Mask:
        """Mask of the rows that count."""
        return np.asarray(self.sample_weight > 0)

    @property
    def weights(self) -> Vector:
        """Shares of the rows that count."""
        weights = self.sample_weight[self.used]
        return np.asarray(weights / weights.sum())

    def tasks(self, certificate: Certificate, K: Any, y: Any) -> Sequence[KernelTask]:
        """The problem stated again on K, the matrix of all pairs of rows, and on numbers or classes.

        Of two classes y may also be ±1.
        """
        K, y, used = np.asarray(K, dtype=np.float64), np.asarray(y), self.used
        if K.shape != (len(used), len(used)) or y.shape != (len(used),):
            raise DataError(f"This certificate is for {len(used)} rows; K has shape {K.shape}, y {y.shape}.")
        products = Entries.held(symmetric(K[np.ix_(used, used)]))
        shifted = [with_offset(self.loss, target, self.offset) for target in _targets(certificate, y)]
        stated = [
            KernelStatement(products, pairs[used], self.weights, loss, self.lam, self.fit_intercept)
            for loss, pairs in shifted
        ]
        return [KernelTask(problem, used, certificate.tolerance) for problem in stated]


def _targets(certificate: Certificate, y: Any) -> list[Vector]:
    """Numbers, or ±1 for each problem."""
    classes = certificate.classes
    if classes is None:
        return [np.asarray(y, dtype=np.float64)]
    known = set(y.tolist())
    if certificate.form == "single":
        if known <= set(classes):
            return [np.where(y == classes[1], 1.0, -1.0)]
        if known <= {-1, 1}:
            return [np.asarray(y, dtype=np.float64)]
    if not known <= set(classes):
        raise DataError(f"y has the classes {sorted(known)}, the fit had {list(classes)}.")
    return [np.where(y == label, 1.0, -1.0) for label in classes]


@dataclass(frozen=True, eq=False)
class KernelSolution:
    """β and b with their proof. Beyond two classes the values are sums over `parts`, one per class."""

    beta: Matrix
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
    certificate: Certificate
    null: float
    parts: tuple[KernelSolution, ...] = ()
    levels: Any = None  # u and l of a ν-machine, see `proof/levels.py`

    @property
    def gap(self) -> float:
        """objective − bound."""
        return self.objective - self.bound

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
class StatedKernel:
    """What is asked beside the targets: the terms, the kernel on the rows that count, and any classes."""

    gram: Gram
    terms: KernelTerms
    classes: tuple[Any, ...] | None = None

    def problem(self, y: Vector) -> KernelProblem:
        """The problem for these targets, one per row given."""
        terms = self.terms
        loss, y = with_offset(terms.loss, y, terms.offset)
        return KernelProblem(self.gram, y[terms.used], terms.weights, loss, terms.lam, terms.fit_intercept)

    def solution(self, outcome: Outcome, null: float, tolerance: float) -> KernelSolution:
        """The public answer from what is proven on the rows that count."""
        found, used = outcome.bounds, self.terms.used
        beta, theta = np.zeros(len(used)), np.zeros(len(used))
        beta[used], theta[used] = found.w[:-1], found.theta
        b = float(found.w[-1])
        certificate = Certificate(
            theta, beta, b, found.primal, found.dual, self.terms, self.classes, tolerance=tolerance
        )
        return told(outcome, certificate, b, null)


def told(
    outcome: Outcome, certificate: Certificate, intercept: float, null: float, levels: Vector | None = None
) -> KernelSolution:
    """The public answer of one problem."""
    found = outcome.bounds
    return KernelSolution(
        beta=certificate.coef,
        intercept=intercept,
        objective=found.primal,
        bound=found.dual,
        relative_gap=relative_gap(found.gap, found.primal, null),
        converged=outcome.status is Status.CERTIFIED,
        status=outcome.sentence,
        solver=outcome.solver,
        n_iter=outcome.iterations,
        seconds=outcome.seconds,
        trace=outcome.trace,
        certificate=certificate,
        null=null,
        levels=levels,
    )


def together(parts: list[KernelSolution], tolerance: float, form: str) -> KernelSolution:
    """A problem for each class, or for each pair of them: sums of the values, a row of β a problem."""
    certificates = [part.certificate for part in parts]
    joined = replace(
        certificates[0],
        theta=np.column_stack([one.theta for one in certificates]),
        coef=np.array([part.beta for part in parts]),
        intercept=np.array([one.intercept for one in certificates]),
        objective=added((one.objective for one in certificates), up=True),
        bound=added((one.bound for one in certificates), up=False),
        form=form,
        tolerance=tolerance,
    )
    null = sum(part.null for part in parts)
    gap = relative_gap(joined.gap, joined.objective, null)
    converged = gap <= tolerance
    doubts = [p.status for p in parts if not p.converged]
    trace = Trace()
    for part in parts:
        trace += part.trace
    return KernelSolution(
        beta=joined.coef,
        intercept=np.array([part.intercept for part in parts]),
        objective=joined.objective,
        bound=joined.bound,
        relative_gap=gap,
        converged=converged,
        status=Status.CERTIFIED.value if converged or not doubts else doubts[0],
        solver=", ".join(dict.fromkeys(p.solver for p in parts)),
        n_iter=sum(p.n_iter for p in parts),
        seconds=sum(p.seconds for p in parts),
        trace=trace,
        certificate=joined,
        null=null,
        parts=tuple(parts),
        levels=None if parts[0].levels is None else joined.intercept,
    )
