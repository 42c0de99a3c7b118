"""C = ∞: the plane of largest margin, min ‖w‖² subject to y (x·w + b) ≥ 1, or the proof that none exists."""

from __future__ import annotations

import time
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from dualgap.arrays import Matrix, Vector
from dualgap.errors import DataError, InfeasibleError
from dualgap.fitting.inputs import read_table
from dualgap.fitting.objective import Objective
from dualgap.fitting.proof import read_targets
from dualgap.fitting.reading import Reading, read
from dualgap.fitting.solution import Solution
from dualgap.kernel_machines.hull import Hulls, nearest_points
from dualgap.losses import Loss
from dualgap.penalties import L2
from dualgap.problem.certificate import Told
from dualgap.problem.problem import FREE_TOLERANCE
from dualgap.solvers.drive import Limits, Status
from dualgap.solvers.trace import Record, Trace
from dualgap.traits import Trait

ROUNDING = 1e-9  # allowed in y (x·w + b) ≥ 1, beside |x|·|w|


class HardMargin(Objective):
    """No loss at all is allowed, and ‖w‖² is minimised."""

    def words(self) -> str:
        """The objective in one line."""
        return f"sum w_j^2 subject to a {self.loss} loss of zero in every row (hard margin)"


@dataclass(frozen=True, eq=False, repr=False)
class HardMarginCertificate(Told):
    """‖w‖² against Σ|θ| − ¼‖Xᵀθ‖² for any θ with y θ ≥ 0 (and Σθ = 0): w = ½Xᵀθ at the optimum."""

    theta: Vector
    coef: Vector
    intercept: float
    objective: float
    bound: float
    terms: Objective
    classes: tuple[Any, ...] | None = None

    @property
    def gap(self) -> float:
        """objective − bound."""
        return max(self.objective - self.bound, 0.0)

    def recheck(self, X: Any, y: Any) -> HardMarginCertificate:
        """Both values from the arrays alone; ∞ if a row is inside the margin, −∞ if θ is not feasible."""
        table = read_table(X)
        array = table.design.toarray()
        targets = read_targets(y, len(array), self.classes)
        objective, bound = _values(self.terms, array, targets, (self.coef, self.intercept), self.theta)
        return replace(self, objective=objective, bound=bound)


def _column_factors(terms: Objective) -> Vector:
    """The penalty is ‖factor ∘ w‖²."""
    factors: Vector = terms.scale * np.sqrt(terms.factors)
    if np.any(factors == 0):
        raise DataError("C=inf needs every column penalised; a penalty factor of 0 leaves the plane open.")
    return factors


def _values(
    terms: Objective, X: Matrix, y: Vector, plane: tuple[Vector, float], theta: Vector
) -> tuple[float, float]:
    coef, b = plane
    factors = _column_factors(terms)
    used = terms.used
    margins = y * (X @ coef + b)
    room = ROUNDING * (1.0 + np.abs(X) @ np.abs(coef) + abs(b))
    inside = bool(np.any(margins[used] < 1.0 - room[used]))
    objective = np.inf if inside else float((factors * coef) @ (factors * coef))
    feasible = bool(np.all(y * theta >= 0) and not theta[~used].any())
    if terms.fit_intercept:
        feasible &= bool(abs(theta.sum()) <= FREE_TOLERANCE * np.abs(theta).sum())
    v = (theta @ X) / factors
    return objective, float(np.abs(theta).sum()) - 0.25 * float(v @ v) if feasible else -np.inf


def fit_hard_margin(X: Any, y: Any, limits: Limits, *, penalty: Any, **asked: Any) -> Solution:
    """The solution for C = ∞; InfeasibleError with the proof where the classes cannot be separated."""
    reading = read(X, y, penalty=penalty, lam=1.0, **asked)
    _refuse(reading.terms.loss, reading.terms.penalty)
    values = {f.name: getattr(reading.terms, f.name) for f in fields(Objective)}
    reading = replace(reading, terms=HardMargin(**values))
    if not reading.many_classes:
        return _fit_plane(reading, 1, limits)
    from dualgap.fitting.multiclass import together

    began = time.perf_counter()
    assert reading.labels is not None
    parts = [_fit_plane(reading, k, limits) for k in range(len(reading.labels))]
    whole = together(reading, parts, limits, time.perf_counter() - began)
    return replace(whole, certificate=tuple(part.certificate for part in parts))


def _refuse(loss: Loss, penalty: Any) -> None:
    beyond = np.array([1.0, 2.0])
    vanishes = Trait.CLASSIFICATION in loss.traits and not np.any(loss.value(np.ones(2), beyond))
    if not vanishes or not np.any(loss.value(np.ones(1), np.full(1, 0.5))):
        raise DataError(
            f"C=inf asks for a loss of zero in every row, a hard margin, which the {loss} loss cannot give; "
            'use loss="hinge", or a finite C.'
        )
    if not isinstance(penalty, L2):
        raise DataError(f'C=inf is the hard margin and needs penalty="l2", not "{penalty}".')


def _fit_plane(reading: Reading, positive: int, limits: Limits) -> Solution:
    began = time.perf_counter()
    terms, y = reading.terms, reading.targets(positive)
    X, used = reading.table.design.toarray(), terms.used
    factors = _column_factors(terms)
    inner = X[used] / factors
    hulls = nearest_points(inner, y[used], intercept=terms.fit_intercept)
    if hulls.meet or not hulls.upper > hulls.lower:
        raise _no_plane(reading, positive, hulls, inner)
    plane = _plane(inner, y[used], hulls, terms.fit_intercept)
    coef = plane[0] / factors
    theta = np.zeros(len(y))
    theta[used] = y[used] * hulls.weights * (_stretch(hulls, terms.fit_intercept))
    objective, bound = _values(terms, X, y, (coef, plane[1]), theta)
    return _solution(reading, (coef, plane[1]), theta, (objective, bound), limits, began)


def _stretch(hulls: Hulls, intercept: bool) -> float:
    """α = t·weights at the best t of Σα − ¼‖Σ α y x‖²."""
    square = float(hulls.difference @ hulls.difference)
    return (4.0 if intercept else 2.0) / square


def _plane(X: Matrix, y: Vector, hulls: Hulls, intercept: bool) -> tuple[Vector, float]:
    """w and b with the nearest row of each class at margin one."""
    d = hulls.difference
    if not intercept:
        return d / float((y * (X @ d)).min()), 0.0
    centre = X.mean(axis=0)
    along = (X - centre) @ d
    high, low = float(along[y > 0].min()), float(along[y < 0].max())
    w = 2.0 * d / (high - low)
    return w, -(high + low) / (high - low) - float(centre @ w)


def _no_plane(reading: Reading, positive: int, hulls: Hulls, X: Matrix) -> InfeasibleError:
    terms = reading.terms
    y = reading.targets(positive)
    proof = np.zeros(len(y))
    proof[terms.used] = y[terms.used] * hulls.weights
    left = float(np.abs(proof[terms.used] @ X).max())
    rows = int(np.count_nonzero(proof))
    if terms.fit_intercept:
        what = "the convex hulls of the two classes meet"
        shows = "weights that add up to one in each class and give both the same mean"
    else:
        what = "no plane through the origin separates the classes"
        shows = "weights that add up to one and take the rows y·x to zero"
    return InfeasibleError(
        f"C=inf asks for a plane without any error, but {what}: error.proof holds, for {rows} rows, {shows} "
        f"(to {left:.1e}). Give a finite C.",
        proof=proof,
    )


def _solution(
    reading: Reading,
    plane: tuple[Vector, float],
    theta: Vector,
    values: tuple[float, float],
    limits: Limits,
    began: float,
) -> Solution:
    objective, bound = values
    coef, b = plane
    gap = max(objective - bound, 0.0)
    relative = gap / objective if np.isfinite(objective) else np.inf
    proven = relative <= limits.tolerance
    seconds = time.perf_counter() - began
    record = Record(1, seconds, objective, objective, bound, "nearest_points", None, len(coef))
    return Solution(
        coef=coef,
        intercept=b,
        objective=objective,
        bound=bound,
        relative_gap=relative,
        certificate=HardMarginCertificate(theta, coef, b, objective, bound, reading.terms, reading.labels),
        converged=proven,
        status=(Status.CERTIFIED if proven else Status.STALLED).value,
        solver="nearest_points",
        n_iter=1,
        seconds=seconds,
        trace=Trace([record]),
        coef_error=float(np.sqrt(gap)) if np.all(_column_factors(reading.terms) >= 1.0) else None,
        coef_error_reason="" if np.isfinite(objective) else "no plane was found",
        proven_zero=np.zeros(len(coef), dtype=bool),
        terms=reading.terms,
        names=reading.table.names,
        classes=reading.classes,
        facts=reading.facts(objective),
    )
