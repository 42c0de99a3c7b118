"""What a support vector machine can say of every row: slack, margin, dual coefficient, kind."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dualgap.arrays import Vector
from dualgap.design import Design
from dualgap.fitting.hard_margin import HardMargin
from dualgap.fitting.inputs import read_labels, read_numbers, read_table
from dualgap.fitting.multiclass import joined
from dualgap.fitting.solution import Solution
from dualgap.kernel_machines.polish import polished
from dualgap.losses import EpsilonInsensitive, Hinge, Loss
from dualgap.penalties import L2
from dualgap.proof.claims import distance
from dualgap.proof.statement import SMALL

ON_IT = 1e-7  # how near to the margin (or the edge of the tube) a row must be to lie on it
LARGEST = 2e8  # numbers in X beyond which nothing is told of rows
NOTHING = 1e-10  # a dual coefficient this small beside its bound is zero


@dataclass(frozen=True, eq=False)
class Rows:
    """The rows of one fit: targets, predictions, dual coefficients where the penalty is the squared norm."""

    y: Vector
    prediction: Vector
    alpha: Vector | None
    norm: float


def tells(loss: Loss) -> bool:
    """Losses with a margin or a tube."""
    return isinstance(loss, Hinge | EpsilonInsensitive)


def rows_of(solution: Solution, X: Any, y: Any) -> tuple[Solution, tuple[Rows, ...]]:
    """The solution with an exact dual point where one is found, and its rows, per class beyond two."""
    design = read_table(X).design
    n = design.shape[0]
    if solution.classes is None:
        one, rows = _one(solution, design, read_numbers(y, n))
        return one, (rows,)
    _, which = read_labels(y, n)
    if not solution.parts:
        one, rows = _one(solution, design, np.where(which == 1, 1.0, -1.0))
        return one, (rows,)
    told = [_one(part, design, np.where(which == k, 1.0, -1.0)) for k, part in enumerate(solution.parts)]
    return _together(solution, tuple(part for part, _ in told)), tuple(rows for _, rows in told)


def _together(solution: Solution, parts: tuple[Solution, ...]) -> Solution:
    """The whole of one class against the rest, from its parts."""
    certificate = joined([part.certificate for part in parts], solution.certificate.tolerance)
    scale = max(certificate.objective, SMALL * abs(solution.facts["null"]))
    return replace(
        solution,
        parts=parts,
        certificate=certificate,
        coef=certificate.coef,
        intercept=certificate.intercept,
        objective=certificate.objective,
        bound=certificate.bound,
        relative_gap=certificate.gap / scale if certificate.gap else 0.0,
    )


def _one(solution: Solution, design: Design, y: Vector) -> tuple[Solution, Rows]:
    solution = _exact(solution, design, y)
    prediction = design.matvec(solution.coef) + solution.intercept
    norm = float(np.linalg.norm(solution.coef))
    return solution, Rows(y, prediction, _alpha(solution, y), norm)


def _exact(solution: Solution, design: Design, y: Vector) -> Solution:
    """The solution polished, if that proves at least as much."""
    terms = solution.terms
    plain = isinstance(terms.penalty, L2) and bool(terms.lam) and not isinstance(terms, HardMargin)
    factors = terms.scale * np.sqrt(terms.factors)
    if not plain or not solution.converged or np.any(factors == 0):
        return solution
    used, s, tied = terms.used, terms.sample_weight, terms.fit_intercept
    z = design.matvec(solution.coef) + solution.intercept
    assert terms.lam is not None
    found = polished(
        design.toarray()[used] / factors,
        y[used],
        s[used] / s.sum(),
        terms.loss,
        terms.lam,
        z[used],
        intercept=tied,
    )
    if found is None:
        return solution
    coef = found[1] / factors
    w = np.append(coef, found[0].w[-1]) if tied else coef
    problem, tolerance = terms.problem(design, y), solution.certificate.tolerance
    proven = problem.judged(w, found[0].theta, tolerance)
    if proven.gap > max(solution.gap, 1e-12 * abs(solution.objective)):
        return solution
    theta = np.zeros(len(y))
    theta[used] = proven.theta
    new: dict[str, Any] = {
        "coef": coef,
        "intercept": float(found[0].w[-1]) if tied else 0.0,
        "objective": proven.primal,
        "bound": proven.dual,
    }
    return replace(
        solution,
        certificate=replace(solution.certificate, theta=theta, box=proven.box, **new),
        relative_gap=problem.relative(proven.gap, proven.primal),
        coef_error=distance(problem, proven),
        **new,
    )


def _alpha(solution: Solution, y: Vector) -> Vector | None:
    """α ≥ 0 with w = Σ α y x for classes, α of either sign with w = Σ α x for numbers."""
    terms = solution.terms
    if not isinstance(terms.penalty, L2) or terms.lam is None:
        return None
    theta = solution.certificate.theta
    hard = isinstance(terms, HardMargin)
    alpha = theta / 2.0 if hard else theta / (2.0 * terms.lam)
    if solution.classes is not None:
        alpha = alpha * y
    top = float(np.abs(alpha).max(initial=0.0))
    return np.where(np.abs(alpha) <= NOTHING * top, 0.0, alpha)


class Told:
    """Attributes of a fitted machine with the hinge or the ε-insensitive loss.

    Arrays have an entry per row of the X that was fitted; a row of them per class beyond two.
    """

    solution_: Solution
    _told: tuple[Solution, tuple[Rows, ...]]

    def _tell(self, X: Any, y: Any) -> Solution:
        """The solution, exact where that can be had, with its rows kept for the attributes below."""
        size = np.prod(np.shape(X), dtype=float)
        if tells(self.solution_.terms.loss) and size <= LARGEST:
            self._told = rows_of(self.solution_, X, y)
            self.solution_ = self._told[0]
        return self.solution_

    def _each(self, name: str) -> tuple[Rows, ...]:
        told: tuple[Solution, tuple[Rows, ...]] | None = getattr(self, "_told", None)
        if told is None or told[0] is not self.solution_:
            raise AttributeError(
                f"{name} is there after a fit with the hinge or the epsilon_insensitive loss."
            )
        return told[1]

    def _stacked(self, values: list[NDArray[Any]]) -> NDArray[Any]:
        return values[0] if len(values) == 1 else np.array(values)

    @property
    def dual_coef_(self) -> NDArray[np.float64]:
        """α of every row: w = Σ α y x with labels ±1 (w = Σ α x for numbers); zero for all but `support_`."""
        found = [rows.alpha for rows in self._each("dual_coef_")]
        if any(alpha is None for alpha in found):
            raise AttributeError("dual_coef_ is there with the l2 penalty and lam or C.")
        return self._stacked([alpha for alpha in found if alpha is not None])

    @property
    def support_(self) -> NDArray[np.intp]:
        """The rows with a dual coefficient, in any class."""
        return np.flatnonzero(np.atleast_2d(self.dual_coef_).any(axis=0))


class ToldClasses(Told):
    """Of a classifier."""

    @property
    def slack_(self) -> NDArray[np.float64]:
        """ξ = (1 − y f(x))₊ of every row."""
        return self._stacked([np.maximum(1.0 - r.y * r.prediction, 0.0) for r in self._each("slack_")])

    @property
    def margin_(self) -> Any:
        """1/‖w‖: from the plane to the margin."""
        with np.errstate(divide="ignore"):
            found = [float(np.divide(1.0, rows.norm)) for rows in self._each("margin_")]
        return found[0] if len(found) == 1 else np.array(found)

    @property
    def geometric_margins_(self) -> NDArray[np.float64]:
        """y f(x)/‖w‖ of every row: its distance from the plane, negative on the wrong side."""
        rows = self._each("geometric_margins_")
        with np.errstate(divide="ignore", invalid="ignore"):
            return self._stacked([r.y * r.prediction / r.norm for r in rows])

    @property
    def kind_(self) -> NDArray[np.str_]:
        """ "outside" the margin, "on the margin", "inside" it on the right side, or "misclassified"."""
        return self._stacked([_kind_of_margin(r.y * r.prediction) for r in self._each("kind_")])


class ToldNumbers(Told):
    """Of a regression."""

    @property
    def slack_(self) -> NDArray[np.float64]:
        """ξ = (|f(x) − y| − ε)₊ of every row: how far it is outside the tube."""
        (rows,) = self._each("slack_")
        return np.maximum(np.abs(rows.prediction - rows.y) - self.tube_, 0.0)

    @property
    def tube_(self) -> float:
        """ε, half the width of the tube."""
        self._each("tube_")
        return float(getattr(self.solution_.terms.loss, "epsilon"))  # noqa: B009

    @property
    def kind_(self) -> NDArray[np.str_]:
        """ "inside" the tube, "on the tube" or "outside"."""
        (rows,) = self._each("kind_")
        past = np.abs(rows.prediction - rows.y) - self.tube_
        edge = ON_IT * max(1.0, float(np.abs(rows.y).max()))
        return np.where(past > edge, "outside", np.where(past < -edge, "inside", "on the tube"))


def _kind_of_margin(m: Vector) -> NDArray[np.str_]:
    edge = ON_IT * max(1.0, float(np.abs(m).max()) * 1e-3)
    inside = np.where(m <= 0.0, "misclassified", "inside")
    return np.where(m > 1.0 + edge, "outside", np.where(m >= 1.0 - edge, "on the margin", inside))
