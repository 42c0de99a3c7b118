"""What all estimators share: read the keywords, check the columns, keep the solution."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from dualgap.errors import DataError
from dualgap.estimators.documentation import described
from dualgap.fitting.inputs import has_columns, read_labels, read_table, read_weights
from dualgap.fitting.names import loss_named
from dualgap.fitting.offsets import of_new_rows
from dualgap.losses import Loss
from dualgap.traits import Trait

DEFAULT_C = 1.0  # with the squared loss and the l2 penalty this is scikit-learn's Ridge()


class Model(BaseEstimator):  # type: ignore[misc]
    """A model with a loss and a solution."""

    loss: str | Loss
    n_features_in_: int
    solution_: Any
    counterpart: ClassVar[str]  # the estimator for losses that this one does not take

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    @property
    def n_iter_(self) -> int:
        """How many points were looked at; w = 0 always is."""
        return max(int(self.solution_.n_iter), 1)

    @described
    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, offset: Any = None) -> Self:
        """Fit the model.

        {rows}

        Returns
        -------
        self : estimator
            The fitted model.
        """
        self._fit(X, self._targets(y), sample_weight, offset=offset)
        return self

    def _targets(self, y: Any) -> Any:
        """One column, or as many as there are where the model takes several."""
        several = self.__sklearn_tags__().target_tags.multi_output and has_columns(shaped(y))
        return shaped(y) if several else one_column(y)

    def _fit(self, X: Any, y: Any, sample_weight: Any, **more: Any) -> None:
        raise NotImplementedError

    def _checked_loss(self) -> Loss:
        """The loss; numbers and classes have losses of their own."""
        loss = loss_named(self.loss)
        classes = self.__sklearn_tags__().estimator_type == "classifier"
        if (Trait.CLASSIFICATION in loss.traits) != classes:
            own, what = type(self).__name__, "classes" if classes else "numbers"
            raise DataError(f"{own} predicts {what}, which the {loss} loss does not: use {self.counterpart}.")
        return loss

    def _table(self, X: Any, *, reset: bool) -> Any:
        """X with two dimensions, its columns recorded or compared; the values are read by the fit."""
        X = shaped(X)
        if len(X.shape) != 2:
            read_table(X)  # says what is wrong
        validate_data(self, X, reset=reset, skip_check_array=True)
        return X

    def _scored(self, X: Any, offset: Any) -> tuple[Any, Any]:
        """X and the offset for a prediction."""
        check_is_fitted(self)
        X, offset = of_new_rows(self._terms, X, offset)
        return self._table(X, reset=False), offset

    @property
    def _terms(self) -> Any:
        """What was asked of the fit, where that may have an offset."""
        return getattr(self.solution_, "terms", None)

    def _scores(self, X: Any, offset: Any) -> Any:
        """The decision values."""
        raise NotImplementedError


def shaped(values: Any) -> Any:
    """Frames, sparse matrices, arrays and None as they are; lists and the like as arrays."""
    return values if values is None or hasattr(values, "shape") else np.asarray(values)


def one_column(y: Any) -> Any:
    """y with one dimension; a column is taken with scikit-learn's warning."""
    return y if y is None else column_or_1d(y, warn=True)


def weighted_by_class(class_weight: Any, y: Any, sample_weight: Any) -> NDArray[np.float64]:
    """Row weights times class weights. What balances is the weight of a class, not its number of rows."""
    classes, which = read_labels(y, len(y))
    weights = read_weights(shaped(sample_weight), len(y))
    if isinstance(class_weight, str):
        if class_weight != "balanced":
            raise DataError(f'class_weight must be a dict, "balanced" or None, not {class_weight!r}.')
        totals = np.bincount(which, weights)
        factors = weights.sum() / (len(classes) * np.where(totals > 0, totals, 1.0))
    else:
        factors = compute_class_weight(class_weight, classes=classes, y=y)
    return np.asarray(weights * factors[which])


def weighted_bit_by_bit(class_weight: Any, classes: Any, y: Any, sample_weight: Any) -> NDArray[np.float64]:
    """Row weights times class weights that do not depend on rows not seen yet."""
    if isinstance(class_weight, str):
        raise DataError("partial_fit cannot balance classes whose rows are still to come: give a dict.")
    weights = read_weights(shaped(sample_weight), len(y))
    factors = compute_class_weight(class_weight, classes=classes, y=classes)
    return np.asarray(weights * factors[np.searchsorted(classes, y).clip(0, len(classes) - 1)])
