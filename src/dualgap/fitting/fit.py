"""dg.fit: read, state the problem, solve, certify."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dualgap.arrays import Vector
from dualgap.errors import DataError, NotCertifiedWarning
from dualgap.fitting.inputs import (
    Table,
    read_factors,
    read_labels,
    read_numbers,
    read_strength,
    read_table,
    read_weights,
)
from dualgap.fitting.names import loss_named, penalty_named
from dualgap.fitting.objective import Objective, column_scales
from dualgap.fitting.proof import Certificate, coefficient_error, proven_zero
from dualgap.fitting.separation import refuse_unattained, watched
from dualgap.fitting.solution import Solution
from dualgap.losses import Loss
from dualgap.penalties import Penalty
from dualgap.problem.precondition import Working, precondition
from dualgap.problem.problem import Problem
from dualgap.solvers.base import Iterate, Solver
from dualgap.solvers.drive import Callback, Limits, Outcome, Status, drive
from dualgap.solvers.registry import candidates
from dualgap.traits import Trait


@dataclass(frozen=True, eq=False)
class Reading:
    """Checked data with the objective asked of them."""

    table: Table
    terms: Objective
    y: Vector  # numbers, or class numbers
    classes: NDArray[Any] | None

    @property
    def many_classes(self) -> bool:
        """More than two."""
        return self.classes is not None and len(self.classes) > 2

    def targets(self, positive: int = 1) -> Vector:
        """What the loss sees: the numbers, or ±1 with class number `positive` as +1."""
        return self.y if self.classes is None else np.where(self.y == positive, 1.0, -1.0)


def read(
    X: Any,
    y: Any,
    *,
    loss: str | Loss,
    penalty: str | Penalty = "l2",
    lam: float | None = None,
    C: float | None = None,
    budget: float | None = None,
    fit_intercept: bool = True,
    sample_weight: Any = None,
    penalty_factors: Any = None,
    standardize: bool = False,
) -> Reading:
    """Check everything a fit needs."""
    loss, penalty = loss_named(loss), penalty_named(penalty)
    table = read_table(X)
    n = table.design.shape[0]
    classes = None
    if Trait.CLASSIFICATION in loss.traits:
        classes, which = read_labels(y, n)
        targets = which.astype(np.float64)
    else:
        targets = read_numbers(y, n)
    weights = read_weights(sample_weight, n)
    if classes is not None:
        _refuse_one_class(classes, targets[weights > 0])
    lam_, budget_ = _strength(penalty, lam, C, budget, float(weights.sum()))
    factors = read_factors(penalty_factors, table)
    if standardize:
        scale = column_scales(table.design, weights, centred=bool(fit_intercept))
    else:
        scale = np.ones(table.design.shape[1])
    terms = Objective(loss, penalty, lam_, budget_, bool(fit_intercept), weights, factors, scale)
    terms.regulariser()  # refuses factors that the penalty cannot take
    return Reading(table, terms, targets, classes)


def _refuse_one_class(classes: NDArray[Any], present: Vector) -> None:
    if len(classes) == 1:
        raise DataError(
            f"y has one class only, {classes[0]!r}: a classifier needs at least two classes; "
            "there is nothing to tell apart."
        )
    if len(np.unique(present)) < len(classes):
        raise DataError("After leaving out the rows of weight zero a class has no rows; classes need weight.")


def _strength(
    penalty: Penalty, lam: Any, C: Any, budget: Any, total: float
) -> tuple[float | None, float | None]:
    if penalty.takes_strength:
        return read_strength(lam, C, budget, total)
    if any(value is not None for value in (lam, C, budget)):
        raise DataError('penalty="none" takes no strength; leave lam, C and budget out.')
    return None, None


def fit(
    X: Any,
    y: Any,
    *,
    loss: str | Loss,
    penalty: str | Penalty = "l2",
    lam: float | None = None,
    C: float | None = None,
    budget: float | None = None,
    fit_intercept: bool = True,
    sample_weight: Any = None,
    penalty_factors: Any = None,
    standardize: bool = False,
    multiclass: str = "auto",
    solver: str | Solver = "auto",
    tol: float = 1e-6,
    max_iter: int | None = None,
    max_time: float | None = None,
    warm_start: Any = None,
    random_state: Any = None,
    callback: Callback | None = None,
) -> Solution:
    """Minimise mean loss + lam·penalty (or C·Σ loss + penalty, or mean loss with penalty ≤ budget).

    >>> import numpy as np, dualgap as dg
    >>> x, y = np.array([[1, 3, 3.5, 7, 9]]).T, np.array([1, 2.5, 6.5, 7, 9])
    >>> dg.fit(x, y, loss="absolute", penalty="none", fit_intercept=False).coef.round(6)
    array([1.])

    The relative gap of the answer is at most `tol`; if it is not, `converged` is False and a
    NotCertifiedWarning says the gap. More than two classes: `multiclass="one_vs_rest"` for any loss,
    "multinomial" for the logistic one, where it is what "auto" means.
    """
    reading = read(
        X,
        y,
        loss=loss,
        penalty=penalty,
        lam=lam,
        C=C,
        budget=budget,
        fit_intercept=fit_intercept,
        sample_weight=sample_weight,
        penalty_factors=penalty_factors,
        standardize=standardize,
    )
    limits = read_limits(tol, max_iter, max_time, callback)
    if reading.many_classes:
        from dualgap.fitting.multiclass import fit_many

        solution = fit_many(reading, multiclass, solver, limits, warm_start)
    else:
        solution = fit_one(reading, reading.targets(), solver, limits, warm_start)
    if not solution.converged:
        warnings.warn(_doubt(solution, limits), NotCertifiedWarning, stacklevel=2)
    return solution


def read_limits(
    tol: float, max_iter: int | None, max_time: float | None, callback: Callback | None
) -> Limits:
    """The stopping rules, checked."""
    if not (np.isreal(tol) and np.isfinite(tol) and tol >= 0):
        raise DataError(f"tol must be a finite number of at least 0, not {tol!r}.")
    if max_iter is not None and not (float(max_iter).is_integer() and max_iter >= 1):
        raise DataError(f"max_iter must be a whole number of at least 1, not {max_iter!r}.")
    if max_time is not None and not max_time > 0:
        raise DataError(f"max_time must be a positive number of seconds, not {max_time!r}.")
    return Limits(float(tol), max_iter, max_time, callback)


def fit_one(
    reading: Reading, targets: Vector, solver: str | Solver, limits: Limits, warm_start: Any = None
) -> Solution:
    """One problem with one vector of weights."""
    began = time.perf_counter()
    problem = reading.terms.problem(reading.table.design, targets)
    problem.loss.check_targets(problem.y)
    working = precondition(problem)
    start = _start(working, warm_start, reading)
    outcome = drive(
        working, lambda: watched(candidates(working.problem, solver), working, reading), start, limits
    )
    refuse_unattained(working, outcome.bounds, reading)
    return assemble(reading, problem, outcome, time.perf_counter() - began)


def _start(working: Working, warm_start: Any, reading: Reading) -> Iterate | None:
    """A warm start: a Solution, or (coef, intercept)."""
    if warm_start is None:
        return None
    coef = getattr(warm_start, "coef", None)
    intercept = getattr(warm_start, "intercept", 0.0)
    theta = getattr(getattr(warm_start, "certificate", None), "theta", None)
    if coef is None:
        try:
            coef, intercept = warm_start
        except (TypeError, ValueError):
            raise DataError("warm_start must be a Solution or a pair (coef, intercept).") from None
    coef = np.asarray(coef, dtype=np.float64).ravel()
    if len(coef) != len(reading.terms.scale) or not np.all(np.isfinite(coef)):
        raise DataError(
            f"warm_start has {len(coef)} finite weights, X has {len(reading.terms.scale)} columns."
        )
    w = np.append(coef, float(intercept)) if reading.terms.fit_intercept else coef
    dual = None
    if theta is not None and np.shape(theta) == (len(reading.terms.sample_weight),):
        dual = working.working_theta(theta[reading.terms.used])
    return Iterate(working.coordinates(w), dual)


def assemble(reading: Reading, problem: Problem, outcome: Outcome, seconds: float) -> Solution:
    """The public answer from the driver's outcome on the asked problem."""
    best, terms = outcome.bounds, reading.terms
    has_intercept = terms.fit_intercept
    coef = best.w[:-1] if has_intercept else best.w
    intercept = float(best.w[-1]) if has_intercept else 0.0
    theta = np.zeros(len(terms.sample_weight))
    theta[terms.used] = best.theta
    classes = None if reading.classes is None else tuple(reading.classes.tolist())
    certificate = Certificate(theta, coef, intercept, best.primal, best.dual, terms, classes)
    error = coefficient_error(problem, best.gap, terms.scale)
    zero = proven_zero(problem, best.theta, best.gap)[: len(coef)]
    return Solution(
        coef=coef,
        intercept=intercept,
        objective=best.primal,
        bound=best.dual,
        relative_gap=problem.relative(best.gap, best.primal),
        certificate=certificate,
        converged=outcome.status is Status.CERTIFIED,
        status=outcome.status.value,
        solver=outcome.solver,
        n_iter=outcome.iterations,
        seconds=seconds,
        trace=outcome.trace,
        coef_error=error,
        coef_error_reason="" if error is not None else no_error_bar(terms),
        proven_zero=zero,
        terms=terms,
        names=reading.table.names,
        classes=reading.classes,
        facts=facts(reading, problem.null),
    )


def facts(reading: Reading, null: float) -> dict[str, Any]:
    """What the summary says of the data."""
    n, p = reading.table.design.shape
    spread = column_scales(reading.table.design, reading.terms.sample_weight, centred=True)
    return {"n": n, "p": p, "null": null, "spread": spread}


def no_error_bar(terms: Objective) -> str:
    """Why the gap says nothing of the distance to the optimum."""
    if terms.budget is not None:
        return "a constrained problem need not be strongly convex"
    return f"the penalty {terms.penalty} is not strongly convex in every weight"


def _doubt(solution: Solution, limits: Limits) -> str:
    return (
        f"The relative duality gap is {solution.relative_gap:.2e}, above tol={limits.tolerance:g}: the objective "
        f"{solution.objective:.6g} is at most {solution.gap:.3g} above the best possible. {solution.status}"
    )
