"""A kernel machine fitted: f(x) = Σ β k(x_i, x) + b. As `fit` does: read, state, solve, tell."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import check_random_state

from dualgap.arrays import Index, Matrix, Vector
from dualgap.drive.limits import Limits
from dualgap.drive.turns import one_by_one
from dualgap.errors import DataError, NotCertifiedWarning
from dualgap.fitting.calibration import Calibration, calibrated, folds
from dualgap.fitting.decisions import log_probabilities
from dualgap.fitting.inputs import read_strength, read_table
from dualgap.fitting.offsets import refuse_offset
from dualgap.fitting.options import is_infinite, read_flag, read_limits
from dualgap.kernel_machines.answer import KernelSolution, KernelTerms, StatedKernel, together
from dualgap.kernel_machines.approximate import METHODS, solve_approximately
from dualgap.kernel_machines.hard_margin import hard_margin, refuse_hard
from dualgap.kernel_machines.solve import solve
from dualgap.kernels import Gram, Kernel, gram_of, kernel_named
from dualgap.kernels.gram import refuse_indefinite, repaired
from dualgap.losses import Loss
from dualgap.traits import Trait

CHUNK = 512  # rows predicted together: their kernel with all support vectors is held at once
SHARP = 1e-9  # gap of the fits that calibrate: the probabilities are not to hang on where a fit stopped


Shape: TypeAlias = str | Kernel | Callable[[Matrix, Matrix], Any]


@dataclass(eq=False, repr=False)
class KernelShape:
    """A kernel by its name, or itself, and what every machine with a kernel is asked; also of estimators."""

    kernel: Shape = "rbf"
    _: KW_ONLY
    gamma: float | str = "scale"
    degree: int = 3
    coef0: float = 1.0
    tol: float = 1e-6
    max_iter: int | None = None
    max_time: float | None = None
    cache_bytes: float = 5e8


@dataclass(eq=False, repr=False, kw_only=True)
class KernelStrength:
    """How strong the penalty is."""

    lam: float | None = None
    C: float | None = None


@dataclass(eq=False, repr=False, kw_only=True)
class KernelWays(KernelStrength):
    """What machines of a given loss are asked beside."""

    fit_intercept: bool = True
    approximation: str | None = None
    n_components: int = 300
    random_state: Any = None


@dataclass(eq=False, repr=False)
class KernelAsked(KernelShape, KernelWays):
    """What is asked of a kernel machine beside its rows: the keywords of the estimators."""

    loss: Loss = field(kw_only=True)

    @property
    def hard(self) -> bool:
        """Is C = ∞?"""
        return self.lam is None and is_infinite(self.C)

    def strength(self, weights: Vector) -> float:
        """λ beside the mean loss; 0 for C = ∞."""
        if self.hard:
            return 0.0
        return kernel_strength(self, weights)

    def checked(self) -> Limits:
        """When to stop; what no kernel machine can do is refused before any row is read."""
        if Trait.CONVEX not in self.loss.traits:
            raise DataError(f"Kernel machines need a convex loss, which {self.loss} is not.")
        if self.hard and Trait.CLASSIFICATION not in self.loss.traits:
            raise DataError(
                "C=inf asks that no row lie outside the tube; such a hard tube is not solved here. Give a "
                "finite C: the larger, the nearer to it."
            )
        if self.hard:
            refuse_hard(self.loss, self.approximation)
        return read_limits(self.tol, self.max_iter, self.max_time, None)


def kernel_strength(asked: KernelStrength, weights: Vector) -> float:
    """λ beside the mean loss."""
    lam, _ = read_strength(asked.lam, asked.C, None, float(weights.sum()))
    if not lam:
        raise DataError("lam must be positive: without a penalty a kernel machine has no unique answer.")
    return lam


@dataclass(frozen=True, eq=False)
class MachineFit:
    """A fitted machine: its solution, and what predictions need."""

    asked: Any
    solution: KernelSolution
    kernel: Kernel | None  # with its γ; None if precomputed
    vectors: Any  # the rows with a coefficient; none if precomputed
    dual_coef: Matrix  # of those rows, a row per problem

    def sums(self, X: Any) -> Matrix:
        """Σ β k(x_i, x), a column per problem."""
        return kernel_sums(self.kernel, self.vectors, self.solution.support, self.dual_coef, X)


class KernelFit(MachineFit):
    """Of a loss."""

    asked: KernelAsked

    def scores(self, X: Any) -> NDArray[np.float64]:
        """f of each row as `kernel_rows` reads them; beyond two classes a column each."""
        found = self.sums(X) + np.atleast_1d(np.asarray(self.solution.intercept, dtype=np.float64))
        return found if self.solution.parts else found[:, 0]

    def log_probabilities(self, scores: Any, calibration: Calibration | None) -> Matrix:
        """log P(class): by the loss's own odds, or calibrated."""
        if calibration is None:
            return log_probabilities(self.asked.loss, scores, None)
        return calibration.log_probabilities(scores)


def kernel_sums(kernel: Kernel | None, vectors: Any, support: Index, coef: Matrix, X: Any) -> Matrix:
    """Σ β k(x_i, x) for each row of X, a column per row of `coef`."""
    turned = np.ascontiguousarray(coef.T)
    if kernel is None:
        return np.asarray(X[:, support] @ turned)
    n = X.shape[0]
    result = np.zeros((n, len(coef)))
    if not len(support):
        return result
    rows = kernel.against(vectors)
    room = np.empty((min(CHUNK, n), len(support)))
    for first in range(0, n, CHUNK):
        part = X[first : first + CHUNK]
        result[first : first + CHUNK] = rows(part, room[: part.shape[0]]) @ turned
    return result


def kernel_rows(X: Any, *, precomputed: bool) -> Any:
    """X as numbers: an array, or compressed rows."""
    design = read_table(X).design
    if sparse.issparse(design.matrix) and not precomputed:
        return sparse.csr_array(design.matrix)
    return design.toarray()


def fit_kernel(
    asked: KernelAsked,
    X: Any,
    y: NDArray[Any],
    weights: Vector,
    classes: NDArray[Any] | None = None,
    *,
    whole_numbers: bool = False,
    offset: tuple[Vector | None, str | None] = (None, None),
) -> KernelFit:
    """The machine for rows that are read; y are numbers, or numbers of classes; an offset has a name or none.

    `whole_numbers`: the kernel matrix was given as integers, which rounding has not touched.
    """
    limits = asked.checked()
    if offset[0] is not None:
        if asked.hard:
            refuse_offset(offset[0], "a hard margin (C=inf)")
        if classes is not None and len(classes) > 2:
            refuse_offset(offset[0], f"{len(classes)} classes, whose scores only count beside each other")
    statement, kernel = _stated(asked, X, weights, classes, whole_numbers)
    statement = replace(statement, terms=replace(statement.terms, offset=offset[0], offset_name=offset[1]))
    solution = _solved(asked, statement, y, limits)
    if asked.approximation is None:  # which is what it is
        warn_above(solution, asked.tol)
    return KernelFit(asked, solution, kernel, *on_support(solution, kernel, X))


def on_support(solution: KernelSolution, kernel: Kernel | None, X: Any) -> tuple[Any, Matrix]:
    """The rows with a coefficient, none if precomputed, and their coefficients."""
    support = solution.support
    vectors = np.empty((0, 0)) if kernel is None else X[support]
    return vectors, np.atleast_2d(solution.beta)[:, support]


def warn_above(solution: KernelSolution, tol: float) -> None:
    """Say so where the gap is above what was asked for."""
    if not solution.relative_gap <= tol:
        warnings.warn(
            f"The relative duality gap is {solution.relative_gap:.2e}, above tol={tol:g}. {solution.status}",
            NotCertifiedWarning,
            stacklevel=5,
        )


def _stated(
    asked: KernelAsked, X: Any, weights: Vector, classes: NDArray[Any] | None, whole_numbers: bool
) -> tuple[StatedKernel, Kernel | None]:
    """The problem but for its targets, on the rows that count."""
    lam, tied = asked.strength(weights), read_flag("fit_intercept", asked.fit_intercept)
    centred = tied and asked.approximation is None
    gram, kernel = gram_asked(asked, X, weights, tied=tied, centred=centred, whole_numbers=whole_numbers)
    labels = None if classes is None else tuple(classes.tolist())
    return StatedKernel(gram, KernelTerms(asked.loss, lam, weights, tied), labels), kernel


def gram_asked(
    asked: KernelShape, X: Any, weights: Vector, *, tied: bool, centred: bool, whole_numbers: bool
) -> tuple[Gram, Kernel | None]:
    """The kernel on the rows that count; `tied`: coefficients add up to zero."""
    used = weights > 0
    rows = X[used]
    kernel = kernel_named(asked.kernel, lambda: _shape(asked, rows, weights[used]))
    if kernel is None:
        if X.shape[0] != X.shape[1]:
            raise DataError(
                f'kernel="precomputed" needs a square matrix of all pairs of rows, not {X.shape}.'
            )
        rows = repaired(rows[:, used], whole_numbers=whole_numbers, tied=tied)
    gram = gram_of(kernel, rows, float(asked.cache_bytes), centred=centred)
    if kernel is not None and not kernel.definite:
        refuse_indefinite(gram.raw(), kernel.name, tied=tied)
    return gram, kernel


def _shape(asked: KernelShape, rows: Any, weights: Vector) -> dict[str, Any]:
    """The parameters that kernels have."""
    gamma = kernel_width(asked.gamma, rows, weights)
    return {"gamma": gamma, "degree": asked.degree, "coef0": float(asked.coef0)}


def kernel_width(gamma: float | str, rows: Any, weights: Vector) -> float:
    """γ: a number, 1/(columns · variance) or 1/columns."""
    if gamma == "scale":
        share = weights / weights.sum()
        if sparse.issparse(rows):
            variance = float((share @ rows.power(2)).mean() - (share @ rows).mean() ** 2)
        else:
            mean = float((share @ rows).mean())
            variance = float(np.mean(share @ (rows - mean) ** 2))
        return float(1.0 / (rows.shape[1] * variance)) if variance > 0 else 1.0
    if gamma == "auto":
        return float(1.0 / rows.shape[1])
    if isinstance(gamma, str) or not (np.isfinite(gamma) and gamma > 0):
        raise DataError(f'gamma must be "scale", "auto" or a positive number, not {gamma!r}.')
    return float(gamma)


def _solved(asked: KernelAsked, statement: StatedKernel, y: NDArray[Any], limits: Limits) -> KernelSolution:
    """Numbers or two classes: one problem. More: one against the rest for each, on the same kernel rows."""
    if statement.classes is None:
        return _solved_one(asked, statement, y, limits)
    if len(statement.classes) == 2:
        return _solved_one(asked, statement, np.where(y == 1, 1.0, -1.0), limits)
    # half the tolerance, so that the sums keep it also where some classes are far easier than others
    half = replace(limits, tolerance=0.5 * limits.tolerance)
    parts = one_by_one(
        len(statement.classes),
        half,
        lambda k, own: _solved_one(asked, statement, np.where(y == k, 1.0, -1.0), own),
    )
    return together(parts, limits.tolerance, "one_vs_rest")


def _solved_one(asked: KernelAsked, statement: StatedKernel, y: Vector, limits: Limits) -> KernelSolution:
    if statement.terms.lam == 0.0:
        return hard_margin(statement, y, limits)
    problem = statement.problem(y)
    if asked.approximation is None:
        return statement.solution(solve(problem, limits), problem.null, limits.tolerance)
    if asked.approximation not in METHODS:
        raise DataError(
            f"approximation must be None or one of {', '.join(METHODS)}, not {asked.approximation!r}."
        )
    rng = np.random.default_rng(check_random_state(asked.random_state).randint(2**31))
    outcome = solve_approximately(problem, limits, asked.approximation, int(asked.n_components), rng)
    return statement.solution(outcome, problem.null, limits.tolerance)


def calibrate(fitted: KernelFit, X: Any, which: Index, weights: Vector) -> Calibration:
    """Probabilities from decision values of rows that their fit did not see."""
    used = np.flatnonzero(weights > 0)
    given = fitted.kernel is None
    parts = folds(None if given else X[used], which[used], fitted.asked.random_state)
    if parts.max() < 1:
        return calibrated(fitted.scores(X[used]), which[used], weights[used])
    asked = fitted.asked
    sharp = replace(asked, kernel=fitted.kernel or asked.kernel, tol=min(asked.tol, SHARP))
    scores: list[Any] = []
    order: list[Index] = []
    for part in range(int(parts.max()) + 1):
        train, test = used[parts != part], used[parts == part]
        columns = train if given else np.arange(X.shape[1])
        with warnings.catch_warnings():  # a gap above what was asked for is told, not one above SHARP
            warnings.simplefilter("ignore", NotCertifiedWarning)
            one = fit_kernel(sharp, X[train][:, columns], which[train], weights[train], np.unique(which))
        if asked.approximation is None:
            warn_above(one.solution, asked.tol)
        scores.append(one.scores(X[test][:, columns]))
        order.append(test)
    rows = np.concatenate(order)
    return calibrated(np.concatenate(scores), which[rows], weights[rows])
