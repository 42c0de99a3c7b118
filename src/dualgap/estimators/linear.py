"""What the linear estimators share: the keywords, the call of `dualgap.fit`, and learning row by row."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, fields
from typing import Any

import numpy as np

from dualgap.errors import DataError, NoSolverError
from dualgap.estimators.base import DEFAULT_C, Model, shaped
from dualgap.fitting.fit import fit
from dualgap.fitting.names import loss_named, penalty_named
from dualgap.fitting.offsets import named, parted
from dualgap.fitting.solution import Solution
from dualgap.fitting.stream import Stream, learn, row_by_row
from dualgap.losses import Loss
from dualgap.penalties import Penalty


@dataclass(eq=False, repr=False)
class LinearKeywords:
    """What a linear model is asked beside the strength of its penalty; `__init__` is made of it."""

    loss: str | Loss
    penalty: str | Penalty = "l2"
    _: KW_ONLY
    fit_intercept: bool = True
    penalty_factors: Any = None
    standardize: bool = False
    groups: Any = None
    bounds: Any = None
    constraints: Any = None
    positive: bool = False
    solver: Any = "auto"
    tol: float = 1e-6
    max_iter: int | None = None
    max_time: float | None = None
    random_state: Any = None


class LinearModel(LinearKeywords, Model):
    """A linear model."""

    solution_: Solution

    def _asked(self, X: Any, y: Any, sample_weight: Any) -> dict[str, Any]:
        """What every way of fitting is asked."""
        self._checked_loss()
        asked = {one.name: getattr(self, one.name) for one in fields(LinearKeywords)}
        asked["bounds"] = _bounds(asked.pop("positive"), self.bounds)
        return {"X": self._table(X, reset=True), "y": y, "sample_weight": shaped(sample_weight), **asked}

    def _solve(self, X: Any, y: Any, sample_weight: Any, offset: Any = None, **more: Any) -> Solution:
        """The solution of the problem that the keywords state, kept as `solution_`."""
        raise NotImplementedError

    def _scores(self, X: Any, offset: Any) -> Any:
        return self.solution_.decision_function(X, offset)


@dataclass(eq=False, repr=False, kw_only=True)
class OfClasses:
    """What only classes are asked."""

    class_weight: Mapping[Any, float] | str | None = None
    multiclass: str = "auto"


@dataclass(eq=False, repr=False, kw_only=True)
class Strengths:
    """How strong the penalty is, and where to start."""

    lam: float | None = None
    C: float | None = None
    budget: float | None = None
    warm_start: bool = False


class FittedLinear(LinearModel, Strengths):
    """A linear model of a given strength, fitted by `dualgap.fit`, or row by row."""

    def _solve(self, X: Any, y: Any, sample_weight: Any, offset: Any = None, **more: Any) -> Solution:
        self.__dict__.pop("_stream", None)  # what partial_fit learnt is for partial_fit to go on with
        X, offset, name = parted(X, offset)
        asked = self._asked(X, y, sample_weight)
        self.solution_ = named(fit(**asked, offset=offset, **self._start(y), **more), name)
        return self.solution_

    def _start(self, y: Any) -> dict[str, Any]:
        """The strength, and the last solution to start from where it has the shape of this fit."""
        given = {"lam": self.lam, "C": self.C, "budget": self.budget}
        if penalty_named(self.penalty).takes_strength and all(value is None for value in given.values()):
            given["C"] = DEFAULT_C
        last: Solution | None = getattr(self, "solution_", None) if self.warm_start else None
        if last is not None:
            each = loss_named(self.loss).each
            same_columns = np.atleast_2d(last.coef).shape[1] == self.n_features_in_
            same_classes = last.classes is None or np.array_equal(last.classes, np.unique(y))
            outputs = 1 if np.ndim(y) < 2 else np.shape(y)[1]
            same_outputs = last.classes is not None or len(np.atleast_2d(last.coef)) in (outputs, len(each))
            last = last if same_columns and same_classes and same_outputs else None
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


def _bounds(positive: bool, bounds: Any) -> Any:
    """`positive` is scikit-learn's word for bounds="nonnegative"."""
    if not positive:
        return bounds
    if bounds is not None:
        raise DataError("positive=True is bounds='nonnegative'; give one of both.")
    return "nonnegative"


def learns_by_rows(model: FittedLinear) -> bool:
    """Whether the solver can go on from call to call."""
    try:
        row_by_row(model.solver)
    except NoSolverError as error:
        raise AttributeError(str(error)) from error
    return True
