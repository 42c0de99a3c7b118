"""The certificate a user holds: θ on the X that was given, and the two values it proves."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dualgap.arrays import Mask, Vector
from dualgap.errors import DataError
from dualgap.fitting.inputs import read_labels, read_numbers, read_table
from dualgap.fitting.objective import Objective
from dualgap.penalties import Penalised
from dualgap.penalties.separable import Separable
from dualgap.problem.certificate import Bounds, Told
from dualgap.problem.problem import Problem


@dataclass(frozen=True, eq=False, repr=False)
class Certificate(Told):
    """objective − bound ≥ 0 says how far these weights can be from the best there is.

    `theta` is the θ of the documentation's dual, one entry per row given, labels ±1.
    """

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

    def recheck(self, X: Any, y: Any) -> Certificate:
        """Both values recomputed from the arrays, the weights and θ alone.

        A θ that is not feasible for these data proves nothing: its bound is −∞.
        """
        table = read_table(X)
        n, p = table.design.shape
        if (n, p) != (len(self.theta), len(self.coef)):
            raise DataError(
                f"This certificate is for {len(self.theta)} rows and {len(self.coef)} columns, "
                f"X has {n} and {p}."
            )
        targets = read_targets(y, n, self.classes)
        problem = self.terms.problem(table.design, targets)
        w = np.append(self.coef, self.intercept) if self.terms.fit_intercept else self.coef
        used = self.terms.used
        bound = problem.dual(self.theta[used]) if np.all(self.theta[~used] == 0) else -np.inf
        return replace(self, objective=problem.primal(w), bound=bound)


def read_targets(y: Any, n: int, classes: tuple[Any, ...] | None) -> Vector:
    """Numbers for a regression, ±1 for two classes (the second is +1)."""
    if classes is None:
        return read_numbers(y, n)
    return np.where(class_numbers(y, n, classes) == 1, 1.0, -1.0)


def class_numbers(y: Any, n: int, classes: tuple[Any, ...]) -> Vector:
    """The number of each row's class among those of the fit."""
    found, which = read_labels(y, n)
    if not set(found.tolist()) <= set(classes):
        raise DataError(f"y has the classes {found.tolist()}, the fit had {list(classes)}.")
    return np.array([float(classes.index(label)) for label in found.tolist()])[which]


def proven_zero(problem: Problem, best: Bounds) -> Mask:
    """Columns whose weight is zero at every optimum, by the ball around θ that the gap allows.

    The dual is strongly concave where the loss is smooth: ‖(θ − θ*)/√a‖² ≤ 2·curvature·gap, so
    |x_j·θ*| ≤ |x_j·θ| + √(2·curvature·gap)·‖√a x_j‖, and below the l1 price the weight is zero.
    """
    regulariser, curvature = problem.regulariser, problem.loss.curvature
    gauge = regulariser.gauge
    if (
        not isinstance(gauge, Separable)
        or not isinstance(regulariser, Penalised)
        or not np.isfinite(curvature)
    ):
        return np.zeros(problem.p, dtype=bool)
    reach = np.sqrt(2.0 * curvature * best.gap * problem.column_squares)
    v = problem.correlation(best.theta) if best.correlation is None else best.correlation
    return np.asarray(np.abs(v) + reach < regulariser.strength * gauge.l1)


def coefficient_error(problem: Problem, gap: float, scale: Vector) -> float | None:
    """Proven bound on ‖w − w*‖₂, from the strong convexity of the penalty; None where there is none."""
    modulus = problem.regulariser.strong_convexity()
    if modulus <= 0.0 or problem.free[: len(scale)].any():
        return None
    return float(np.sqrt(gap / modulus))


def no_error_bar(terms: Objective) -> str:
    """Why the gap says nothing of the distance to the optimum."""
    if terms.budget is not None:
        return "a constrained problem need not be strongly convex"
    return f"the penalty {terms.penalty} is not strongly convex in every weight"
