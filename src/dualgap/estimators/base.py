"""What the estimators share: read the keywords, call `fit`, keep the solution."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from dualgap.drive.solver import Solver
from dualgap.errors import DataError, NoSolverError
from dualgap.estimators.stream import Stream, learn, stochastic
from dualgap.fitting.fit import fit
from dualgap.fitting.inputs import read_table
from dualgap.fitting.names import loss_named, penalty_named
from dualgap.fitting.solution import Solution
from dualgap.losses import Loss
from dualgap.penalties import Penalty
from dualgap.traits import Trait


def learns_by_rows(model: LinearModel) -> bool:
    """Whether the solver can go on from call to call."""
    try:
        stochastic(model.solver)
    except NoSolverError as error:
        raise AttributeError(str(error)) from error
    return True


DEFAULT_C = 1.0  # with the squared loss and the l2 penalty this is scikit-learn's Ridge()


class LinearModel(BaseEstimator):  # type: ignore[misc]
    """A linear model fitted by `dualgap.fit`."""

    loss: str | Loss
    penalty: str | Penalty
    lam: float | None
    C: float | None
    budget: float | None
    fit_intercept: bool
    penalty_factors: Any
    standardize: bool
    solver: str | Solver
    tol: float
    max_iter: int | None
    max_time: float | None
    warm_start: bool
    random_state: Any

    solution_: Solution
    n_iter_: int

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _solve(self, X: Any, y: Any, sample_weight: Any, **more: Any) -> Solution:
        """The solution of the problem that the keywords state, kept as `solution_`."""
        self._refuse_loss()
        self.__dict__.pop("_stream", None)  # what partial_fit learnt is for partial_fit to go on with
        X = self._table(X, reset=True)
        self.solution_ = fit(
            X,
            y,
            loss=self.loss,
            penalty=self.penalty,
            **self._strength(),
            fit_intercept=self.fit_intercept,
            sample_weight=shaped(sample_weight),
            penalty_factors=self.penalty_factors,
            standardize=self.standardize,
            solver=self.solver,
            tol=self.tol,
            max_iter=self.max_iter,
            max_time=self.max_time,
            warm_start=self._previous(y),
            random_state=self.random_state,
            **more,
        )
        self.n_iter_ = max(self.solution_.n_iter, 1)  # w = 0 is always looked at
        return self.solution_

    def _learn(self, X: Any, y: Any, sample_weight: Any, classes: Any = None) -> Solution:
        """The solution after some more rows, kept as `solution_`; the schedule goes on from call to call."""
        self._refuse_loss()
        first = getattr(self, "_stream", None) is None
        X = self._table(X, reset=first and not hasattr(self, "solution_"))
        if first:
            self._stream = Stream(stochastic(self.solver), classes, self._starts(classes))
        self.solution_ = learn(self, self._stream, X, y, shaped(sample_weight))
        self.n_iter_ = self._stream.steps
        return self.solution_

    def _starts(self, classes: Any) -> tuple[Any, ...]:
        """Where to go on from: the weights of a fit, if there was one, else zero; a row per run."""
        count = 1 if classes is None or len(classes) == 2 else len(classes)
        width = self.n_features_in_ + bool(self.fit_intercept)
        last: Solution | None = getattr(self, "solution_", None)
        if last is None:
            return tuple(np.zeros((count, width)))
        coef = np.atleast_2d(last.coef)
        if not self.fit_intercept:
            return tuple(coef)
        return tuple(np.column_stack([coef, np.atleast_1d(last.intercept)]))

    def _refuse_loss(self) -> None:
        """Numbers and classes have losses of their own."""
        loss = loss_named(self.loss)
        classes = self.__sklearn_tags__().estimator_type == "classifier"
        if (Trait.CLASSIFICATION in loss.traits) == classes:
            return
        purpose, other = ("classes", "LinearRegressor") if classes else ("numbers", "LinearClassifier")
        raise DataError(
            f"{type(self).__name__} predicts {purpose}, which the {loss} loss does not: use {other}."
        )

    def _strength(self) -> dict[str, Any]:
        given = {"lam": self.lam, "C": self.C, "budget": self.budget}
        if penalty_named(self.penalty).takes_strength and all(value is None for value in given.values()):
            given["C"] = DEFAULT_C
        return given

    def _previous(self, y: Any) -> Solution | None:
        """The last solution, to start from, where it has the shape that this fit will have."""
        last: Solution | None = getattr(self, "solution_", None)
        if not self.warm_start or last is None:
            return None
        same_columns = np.atleast_2d(last.coef).shape[1] == self.n_features_in_
        same_classes = last.classes is None or np.array_equal(last.classes, np.unique(y))
        return last if same_columns and same_classes else None

    def _table(self, X: Any, *, reset: bool) -> Any:
        """X with two dimensions, its columns recorded or compared; the values are read by the fit."""
        X = shaped(X)
        if len(X.shape) != 2:
            read_table(X)  # says what is wrong
        validate_data(self, X, reset=reset, skip_check_array=True)
        return X

    def _scored(self, X: Any) -> Any:
        """X for a prediction."""
        check_is_fitted(self)
        return self._table(X, reset=False)


def shaped(values: Any) -> Any:
    """Frames, sparse matrices, arrays and None as they are; lists and the like as arrays."""
    return values if values is None or hasattr(values, "shape") else np.asarray(values)


def one_column(y: Any) -> Any:
    """y with one dimension; a column is taken with scikit-learn's warning."""
    return y if y is None else column_or_1d(y, warn=True)
