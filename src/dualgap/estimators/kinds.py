"""What predicts classes and what predicts numbers, with columns or with a kernel."""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.metaestimators import available_if

from dualgap.errors import DataError
from dualgap.fitting.decisions import said
from dualgap.fitting.names import loss_named
from dualgap.losses import Loss


def _has_probability(model: Any) -> bool:
    """Whether the loss says how likely a class is, or calibration was asked for."""
    try:
        loss = loss_named(model.loss)
    except DataError as error:
        raise AttributeError(str(error)) from error
    if not hasattr(loss, "log_odds") and not getattr(model, "probability", False):
        raise AttributeError(f"The {loss.name} loss gives no probabilities; {model._probability_hint}")
    return True


def zero_is_optimal(loss: Loss) -> bool:
    """Whether the loss is zero, its least, at w = 0: true of the perceptron loss."""
    return not np.any(loss.value(np.array([1.0, -1.0]), np.zeros(2)))


def _lopsided(loss: Loss) -> bool:
    """Whether over- and underestimates cost differently: the prediction then leans, and R² suffers."""
    over, under = loss.value(np.zeros(2), np.array([1.0, -1.0]))
    return bool(over != under)


class Classifier(ClassifierMixin):  # type: ignore[misc]
    """Decision values made into classes and probabilities."""

    classes_: Any

    @property
    def intercept_(self) -> NDArray[np.float64]:
        """The constants, one for two classes, else one per class."""
        return np.atleast_1d(np.asarray(self.solution_.intercept, dtype=np.float64))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        with contextlib.suppress(DataError):  # an unknown loss is for fit to refuse
            tags.classifier_tags.poor_score = zero_is_optimal(loss_named(self.loss))
        return tags

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """f(x), which is positive for the second of two classes and largest for the best of more.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            The columns, as in `fit`; for kernel="precomputed" the kernel with every row of `fit`.

        Returns
        -------
        scores : ndarray of shape (n_samples,) or (n_samples, n_classes)
            The decision values.
        """
        return np.asarray(self._scores(self._scored(X)))

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict classes.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            The columns, as in `fit`.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            The classes.
        """
        numbers = said(self.decision_function(X))  # first: it refuses a model that is not fitted
        return np.asarray(self.classes_[numbers])

    @available_if(_has_probability)  # type: ignore[untyped-decorator]
    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """Logarithms of the probabilities of the classes, finite however small these are.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            The columns, as in `fit`.

        Returns
        -------
        logarithms : ndarray of shape (n_samples, n_classes)
            In the order of `classes_`.
        """
        return np.asarray(self._log_probabilities(self.decision_function(X)))

    @available_if(_has_probability)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Probabilities of the classes, monotone in the decision values.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            The columns, as in `fit`.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
            In the order of `classes_`; every row adds up to one.
        """
        return np.asarray(np.exp(self.predict_log_proba(X)))


class Regressor(RegressorMixin):  # type: ignore[misc]
    """Decision values are the predictions."""

    @property
    def intercept_(self) -> float:
        """The constant."""
        return float(self.solution_.intercept)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        with contextlib.suppress(DataError):  # an unknown loss is for fit to refuse
            tags.regressor_tags.poor_score = _lopsided(loss_named(self.loss))
        return tags

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Predict numbers.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            The columns, as in `fit`; for kernel="precomputed" the kernel with every row of `fit`.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            The predictions.
        """
        return np.asarray(self._scores(self._scored(X)))
