"""What the kernel estimators share: read the keywords, state the problem, keep the support vectors."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from dualgap.arrays import Matrix, Vector
from dualgap.design import Compressed
from dualgap.drive.limits import Limits
from dualgap.errors import DataError, NotCertifiedWarning
from dualgap.estimators.base import DEFAULT_C, shaped
from dualgap.fitting.inputs import read_strength, read_table
from dualgap.fitting.names import loss_named
from dualgap.fitting.options import is_infinite, read_flag, read_limits
from dualgap.kernel_machines.answer import KernelSolution, KernelTerms, Statement
from dualgap.kernel_machines.approximate import METHODS, solve_approximately
from dualgap.kernel_machines.hard_margin import hard_margin
from dualgap.kernel_machines.solve import solve
from dualgap.kernels import (
    CATALOGUE,
    FunctionKernel,
    Gaussian,
    Kernel,
    Laplacian,
    LinearKernel,
    Polynomial,
    SigmoidKernel,
    gram_of,
)
from dualgap.kernels.definite import refuse_indefinite, repaired
from dualgap.losses import Loss
from dualgap.traits import Trait

CHUNK = 512  # rows predicted together


class KernelModel(BaseEstimator):  # type: ignore[misc]
    """A kernel machine: f(x) = Σ β k(x_i, x) + b over the support vectors."""

    loss: str | Loss
    kernel: str | Kernel | Callable[[Matrix, Matrix], Any]
    gamma: float | str
    degree: int
    coef0: float
    lam: float | None
    C: float | None
    fit_intercept: bool
    approximation: str | None
    n_components: int
    tol: float
    max_iter: int | None
    max_time: float | None
    cache_bytes: float
    random_state: Any

    solution_: KernelSolution
    kernel_: Kernel | None
    support_: NDArray[np.intp]
    support_vectors_: Any
    dual_coef_: Matrix
    n_iter_: int
    _whole_numbers: bool

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = isinstance(self.kernel, str) and self.kernel == "precomputed"
        return tags

    def _loss(self, *, classes: bool) -> Loss:
        """The loss, if it suits what is predicted and can be proven."""
        loss = loss_named(self.loss)
        if (Trait.CLASSIFICATION in loss.traits) != classes:
            purpose, other = ("classes", "KernelRegressor") if classes else ("numbers", "KernelClassifier")
            raise DataError(
                f"{type(self).__name__} predicts {purpose}, which the {loss} loss does not: use {other}."
            )
        if Trait.CONVEX not in loss.traits:
            raise DataError(f"Kernel machines need a convex loss, which {loss} is not.")
        return loss

    def _table(self, X: Any, *, reset: bool) -> Any:
        """X as numbers, an array or compressed rows, its columns recorded or compared."""
        X = shaped(X)
        design = read_table(X).design
        validate_data(self, X, reset=reset, skip_check_array=True)
        if reset:
            self._whole_numbers = getattr(getattr(X, "dtype", None), "kind", "") in "iu"
        given = isinstance(self.kernel, str) and self.kernel == "precomputed"
        return design.by_rows if isinstance(design, Compressed) and not given else design.toarray()

    def _strength(self, weights: Vector) -> float:
        """λ beside the mean loss; 0 for C = ∞."""
        if self.lam is None and is_infinite(self.C):
            return 0.0
        given = {"lam": self.lam, "C": self.C}
        if all(value is None for value in given.values()):
            given["C"] = DEFAULT_C
        lam, _ = read_strength(given["lam"], given["C"], None, float(weights.sum()))
        if not lam:
            raise DataError("lam must be positive: without a penalty a kernel machine has no unique answer.")
        return lam

    def _statement(
        self, X: Any, weights: Vector, loss: Loss, classes: NDArray[Any] | None = None
    ) -> Statement:
        """The problem but for its targets."""
        lam = self._strength(weights)
        tied = read_flag("fit_intercept", self.fit_intercept)
        used = weights > 0
        rows = X[used]
        self.kernel_ = self._kernel(rows, weights[used])
        if self.kernel_ is None:
            if X.shape[0] != X.shape[1]:
                raise DataError(
                    f'kernel="precomputed" needs a square matrix of all pairs of rows, not {X.shape}.'
                )
            rows = repaired(rows[:, used], whole_numbers=self._whole_numbers, tied=tied)
        gram = gram_of(
            self.kernel_, rows, float(self.cache_bytes), centred=tied and self.approximation is None
        )
        if self.kernel_ is not None and not self.kernel_.definite:
            refuse_indefinite(gram.raw(), self.kernel_.name, tied=tied)
        labels = None if classes is None else tuple(classes.tolist())
        return Statement(gram, KernelTerms(loss, lam, weights, tied), labels)

    def _kernel(self, rows: Any, weights: Vector) -> Kernel | None:
        kernel = self.kernel
        if isinstance(kernel, Kernel):
            return kernel
        if callable(kernel):
            return FunctionKernel(kernel)
        if kernel == "precomputed":
            return None
        if kernel not in CATALOGUE:
            raise DataError(f"There is no kernel {kernel!r}. Known: {', '.join(CATALOGUE)}, precomputed.")
        gamma, coef0 = self._width(rows, weights), float(self.coef0)
        made: dict[str, Callable[[], Kernel]] = {
            "linear": LinearKernel,
            "poly": lambda: Polynomial(gamma, self.degree, coef0),
            "rbf": lambda: Gaussian(gamma),
            "laplacian": lambda: Laplacian(gamma),
            "sigmoid": lambda: SigmoidKernel(gamma, coef0),
        }
        return made[kernel]()

    def _width(self, rows: Any, weights: Vector) -> float:
        """γ: a number, 1/(columns · variance) or 1/columns."""
        if self.gamma == "scale":
            share = weights / weights.sum()
            if sparse.issparse(rows):
                variance = float((share @ rows.power(2)).mean() - (share @ rows).mean() ** 2)
            else:
                mean = float((share @ rows).mean())
                variance = float(np.mean(share @ (rows - mean) ** 2))
            return float(1.0 / (rows.shape[1] * variance)) if variance > 0 else 1.0
        if self.gamma == "auto":
            return float(1.0 / rows.shape[1])
        if isinstance(self.gamma, str) or not (np.isfinite(self.gamma) and self.gamma > 0):
            raise DataError(f'gamma must be "scale", "auto" or a positive number, not {self.gamma!r}.')
        return float(self.gamma)

    def _limits(self) -> Limits:
        return read_limits(self.tol, self.max_iter, self.max_time, None)

    def _solved(self, statement: Statement, y: Vector, limits: Limits) -> KernelSolution:
        if statement.terms.lam == 0.0:
            return hard_margin(statement, y, limits)
        problem = statement.problem(y)
        if self.approximation is None:
            return statement.solution(solve(problem, limits), problem.null, limits.tolerance)
        if self.approximation not in METHODS:
            raise DataError(
                f"approximation must be None or one of {', '.join(METHODS)}, not {self.approximation!r}."
            )
        rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31))
        outcome = solve_approximately(problem, limits, self.approximation, int(self.n_components), rng)
        return statement.solution(outcome, problem.null, limits.tolerance)

    def _keep(self, solution: KernelSolution, X: Any) -> None:
        """What a prediction needs: the support vectors and their coefficients."""
        self.solution_ = solution
        self.support_ = solution.support
        self.support_vectors_ = X[self.support_] if self.kernel_ is not None else np.empty((0, 0))
        self.dual_coef_ = np.atleast_2d(solution.beta)[:, self.support_]
        self.n_iter_ = max(solution.n_iter, 1)
        if not solution.converged:
            self._warn_above(self.tol)

    def _warn_above(self, tolerance: float) -> None:
        """Say so where the gap is above what was asked for; an approximation is what it is."""
        solution = self.solution_
        if not solution.relative_gap <= tolerance and self.approximation is None:
            warnings.warn(
                f"The relative duality gap is {solution.relative_gap:.2e}, above tol={tolerance:g}. "
                f"{solution.status}",
                NotCertifiedWarning,
                stacklevel=4,
            )

    def _scores(self, X: Any) -> NDArray[np.float64]:
        """Σ β k(x_i, x) + b, a column for each row of β."""
        check_is_fitted(self)
        X = self._table(X, reset=False)
        level = np.atleast_1d(np.asarray(self.solution_.intercept, dtype=np.float64))
        turned = np.ascontiguousarray(self.dual_coef_.T)
        if self.kernel_ is None:
            return np.asarray(X[:, self.support_] @ turned + level)
        n = X.shape[0]
        result = np.empty((n, len(self.dual_coef_)))
        if not len(self.support_):
            result[:] = level
            return result
        rows = self.kernel_.against(self.support_vectors_)
        room = np.empty((min(CHUNK, n), len(self.support_)))
        for first in range(0, n, CHUNK):
            part = X[first : first + CHUNK]
            result[first : first + CHUNK] = rows(part, room[: part.shape[0]]) @ turned + level
        return result
