"""What the linear estimators share: the call of `dualgap.fit`, and learning row by row."""

from __future__ import annotations

from typing import Any

import numpy as np

from dualgap.errors import DataError, NoSolverError
from dualgap.estimators.base import DEFAULT_C, Model, shaped
from dualgap.fitting.fit import fit
from dualgap.fitting.names import penalty_named
from dualgap.fitting.offsets import named, parted
from dualgap.fitting.solution import Solution
from dualgap.fitting.stream import Stream, learn, row_by_row
from dualgap.penalties import Penalty

FITTED_AS = (
    "fit_intercept penalty_factors standardize groups constraints solver tol max_iter max_time random_state"
)


class LinearModel(Model):
    """A linear model fitted by `dualgap.fit`."""

    penalty: str | Penalty
    lam: float | None
    C: float | None
    budget: float | None
    fit_intercept: bool
    penalty_factors: Any
    standardize: bool
    groups: Any
    bounds: Any
    constraints: Any
    positive: bool
    solver: Any
    tol: float
    max_iter: int | None
    max_time: float | None
    warm_start: bool
    random_state: Any

    solution_: Solution

    def _solve(self, X: Any, y: Any, sample_weight: Any, offset: Any = None, **more: Any) -> Solution:
        """The solution of the problem that the keywords state, kept as `solution_`."""
        self.__dict__.pop("_stream", None)  # what partial_fit learnt is for partial_fit to go on with
        X, offset, name = parted(X, offset)
        asked = self._asked(X, y, sample_weight)
        self.solution_ = named(fit(**asked, offset=offset, **self._start(y), **more), name)
        return self.solution_

    def _asked(self, X: Any, y: Any, sample_weight: Any) -> dict[str, Any]:
        """What every way of fitting is asked."""
        self._checked_loss()
        asked = {name: getattr(self, name) for name in ("loss", "penalty", *FITTED_AS.split())}
        asked["bounds"] = self._bounds()
        return {"X": self._table(X, reset=True), "y": y, "sample_weight": shaped(sample_weight), **asked}

    def _bounds(self) -> Any:
        """`positive` is scikit-learn's word for bounds="nonnegative"."""
        if not self.positive:
            return self.bounds
        if self.bounds is not None:
            raise DataError("positive=True is bounds='nonnegative'; give one of both.")
        return "nonnegative"

    def _start(self, y: Any) -> dict[str, Any]:
        """The strength, and the last solution to start from where it has the shape of this fit."""
        given = {"lam": self.lam, "C": self.C, "budget": self.budget}
        if penalty_named(self.penalty).takes_strength and all(value is None for value in given.values()):
            given["C"] = DEFAULT_C
        last: Solution | None = getattr(self, "solution_", None) if self.warm_start else None
        if last is not None:
            same_columns = np.atleast_2d(last.coef).shape[1] == self.n_features_in_
            same_classes = last.classes is None or np.array_equal(last.classes, np.unique(y))
            last = last if same_columns and same_classes else None
        return {**given, "warm_start": last}

    def _learn(self, X: Any, y: Any, sample_weight: Any, classes: Any = None) -> None:
        """The solution after some more rows, kept as `solution_`; the schedule goes on from call to call."""
        self._checked_loss()
        last: Solution | None = getattr(self, "solution_", None)
        stream: Stream | None = getattr(self, "_stream", None)
        X = self._table(X, reset=stream is None and last is None)
        if stream is None:
            rule, tied = row_by_row(self.solver), bool(self.fit_intercept)
            stream = self._stream = Stream.after(rule, classes, self.n_features_in_, last, tied=tied)
        self.solution_ = learn(self, stream, X, y, shaped(sample_weight))

    def _scores(self, X: Any, offset: Any) -> Any:
        return self.solution_.decision_function(X, offset)


def learns_by_rows(model: LinearModel) -> bool:
    """Whether the solver can go on from call to call."""
    try:
        row_by_row(model.solver)
    except NoSolverError as error:
        raise AttributeError(str(error)) from error
    return True
