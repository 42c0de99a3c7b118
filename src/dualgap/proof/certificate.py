"""The proof that a user holds: two values, and the points that anyone can check again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from dualgap.arrays import Vector
from dualgap.proof.check import Checked
from dualgap.proof.processor import PlainArithmetic
from dualgap.proof.rounding import added


class Task(Protocol):
    """A problem stated on rows, and how the kernel judges it: linear, joint, kernel, margin or search."""

    def judged(self, w: Vector, theta: Any) -> Checked:
        """What is true of w and θ."""


class Question(Protocol):
    """What was asked. It can be asked again, of any rows."""

    @property
    def fit_intercept(self) -> bool:
        """Is there a b?"""

    def tasks(self, certificate: Certificate, X: Any, y: Any) -> Sequence[Task]:
        """The problem on these rows; one per class where each is held against the rest."""


@dataclass(frozen=True, eq=False, repr=False)
class Certificate:
    """`objective` is not below the true value of these weights, and no weights do better than `bound`.

    `theta` is the θ of the documentation's dual, an entry (for several classes a row) per row given; None
    where a search proves the bound. One class against the rest: both values are sums over the classes. `box`,
    where it is not None, holds the size of each weight, the intercept last, up to which the bound is claimed:
    columns that only rounding tells apart leave no more to be said.
    """

    theta: Any
    coef: Any
    intercept: Any
    objective: float
    bound: float
    terms: Question
    classes: tuple[Any, ...] | None = None
    form: str = (
        "single"  # "one_vs_rest" and "multinomial" beyond two classes, "outputs" and "joint" of several
    )
    box: Any = None
    tolerance: float = 1e-6
    search: Any = None
    # μ of the linear constraints, > 0 at a lower end, < 0 at an upper one; behind them those of bounds, where
    # the penalty knows no box and each bound is a row
    multipliers: Any = None
    bound_multipliers: Any = None  # the same of the bounds of single weights, as θ and μ imply them
    violation: float = 0.0  # how far the weights miss a constraint at most

    @property
    def gap(self) -> float:
        """objective − bound."""
        return self.objective - self.bound

    @property
    def beta(self) -> Any:
        """The coefficients of the rows, where a kernel stands for the columns."""
        return self.coef

    def recheck(self, X: Any, y: Any = None) -> Certificate:
        """Both values from the arrays, the weights and θ alone, and as true of these rows whatever they are.

        A θ that is not feasible here is moved until it is; one that is good for nothing proves what is
        plain: no loss is below its minimum. Weights that break a budget are worth ∞.
        """
        with PlainArithmetic():
            tasks = self.terms.tasks(self, X, y)
            points = zip(tasks, self.points(), strict=True)
            found = [task.judged(w, finite(theta)) for task, (w, theta) in points]
        return replace(
            self,
            objective=added((np.inf if one.moved else one.primal for one in found), up=True),
            bound=added((one.dual for one in found), up=False),
            box=narrowest([one.box for one in found]),
            violation=max(one.violation for one in found),
        )

    def points(self) -> list[tuple[Vector, Any]]:
        """w, its intercept last, and θ, of each problem."""
        level = np.asarray(self.intercept, dtype=np.float64)
        if self.form == "single":
            w = np.append(self.coef, level) if self.terms.fit_intercept else np.asarray(self.coef)
            return [(w, self.theta if self.multipliers is None else np.append(self.theta, self.multipliers))]
        table = np.column_stack([self.coef, level]) if self.terms.fit_intercept else np.asarray(self.coef)
        if self.form == "multinomial":
            return [(table.ravel(), self.theta)]
        if self.form == "joint":  # output after output, the multipliers between them behind
            theta = np.asarray(self.theta).T.ravel()
            between = () if self.multipliers is None else np.asarray(self.multipliers).T.ravel()
            return [(table.ravel(), np.append(theta, between))]
        return [(w, self._with(_own(self.theta, k), k)) for k, w in enumerate(table)]

    def _with(self, theta: Any, k: int) -> Any:
        """θ of one class with its multipliers behind."""
        return theta if self.multipliers is None else np.append(theta, self.multipliers[k])

    def __repr__(self) -> str:
        by = "by a rule for θ" if self.search is None else f"by {self.search.solver.name}"
        by = f"θ for {len(self.theta)} rows" if isinstance(self.theta, np.ndarray) else by
        held = "" if self.box is None else ", for weights in a box"
        return f"Certificate(objective {self.objective:.10g}, proven bound {self.bound:.10g}, {by}{held})"


def narrowest(boxes: Sequence[Vector | None]) -> Vector | None:
    """A box inside all of these, for bounds that are added; None where none is needed."""
    some = [box for box in boxes if box is not None]
    return np.min(some, axis=0) if some else None


def _own(theta: Any, k: int) -> Any:
    """The θ of one class against the rest: a column, or a rule of its own."""
    return theta if theta is None else theta[k] if isinstance(theta, tuple) else theta[:, k]


def finite(theta: Any) -> Any:
    """θ, or a rule for it; 0, which proves next to nothing, where it holds what is no number."""
    wrong = isinstance(theta, np.ndarray) and not np.all(np.isfinite(theta))
    return np.zeros_like(theta) if wrong else theta
