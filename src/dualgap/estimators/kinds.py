"""What predicts classes and what predicts numbers, with columns or with a kernel."""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils.metaestimators import available_if

from dualgap.errors import DataError
from dualgap.estimators.base import one_column, shaped
from dualgap.estimators.documentation import described
from dualgap.fitting.decisions import explained, said
from dualgap.fitting.inputs import read_numbers, read_outputs, read_weights
from dualgap.fitting.names import loss_named
from dualgap.fitting.offsets import of_new_rows, read_offset
from dualgap.losses import Loss
from dualgap.traits import Trait


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
    if not loss.translates:  # those of several quantiles do not either
        return True
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

    @described
    def decision_function(self, X: Any, offset: Any = None) -> NDArray[np.float64]:
        """f(x), which is positive for the second of two classes and largest for the best of more.

        {rows}

        Returns
        -------
        scores : ndarray of shape (n_samples,) or (n_samples, n_classes)
            The decision values.
        """
        return np.asarray(self._scores(*self._scored(X, offset)))

    @described
    def predict(self, X: Any, offset: Any = None) -> NDArray[Any]:
        """Predict classes.

        {rows}

        Returns
        -------
        y : ndarray of shape (n_samples,)
            The classes.
        """
        numbers = said(self.decision_function(X, offset))  # first: it refuses a model that is not fitted
        return np.asarray(self.classes_[numbers])

    @available_if(_has_probability)  # type: ignore[untyped-decorator]
    @described
    def predict_log_proba(self, X: Any, offset: Any = None) -> NDArray[np.float64]:
        """Logarithms of the probabilities of the classes, finite however small these are.

        {rows}

        Returns
        -------
        logarithms : ndarray of shape (n_samples, n_classes)
            In the order of `classes_`.
        """
        return np.asarray(self._log_probabilities(self.decision_function(X, offset)))

    @available_if(_has_probability)  # type: ignore[untyped-decorator]
    @described
    def predict_proba(self, X: Any, offset: Any = None) -> NDArray[np.float64]:
        """Probabilities of the classes, monotone in the decision values.

        {rows}

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
            In the order of `classes_`; every row adds up to one.
        """
        return np.asarray(np.exp(self.predict_log_proba(X, offset)))

    @described
    def score(self, X: Any, y: Any, sample_weight: Any = None, offset: Any = None) -> float:
        """The share of rows that are given their class.

        {rows}

        Returns
        -------
        score : float
            From 0 to 1.
        """
        return float(accuracy_score(y, self.predict(X, offset), sample_weight=sample_weight))


class Regressor(RegressorMixin):  # type: ignore[misc]
    """Predictions are decision values, or the means that these speak of."""

    @property
    def intercept_(self) -> Any:
        """The constant, of several outputs one each."""
        level = self.solution_.intercept
        return level if np.ndim(level) else float(level)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        with contextlib.suppress(DataError):  # an unknown loss is for fit to refuse
            loss = loss_named(self.loss)
            tags.regressor_tags.poor_score = _lopsided(loss)
            tags.target_tags.positive_only = loss.lowest >= 0.0
        return tags

    @described
    def linear_predictor(self, X: Any, offset: Any = None) -> NDArray[np.float64]:
        """z = f(x), which the loss's link makes of the mean: for poisson, gamma and tweedie its logarithm.

        {rows}

        Returns
        -------
        z : ndarray of shape (n_samples,) or (n_samples, n_outputs)
            The decision values.
        """
        return np.asarray(self._scores(*self._scored(X, offset)))

    @described
    def predict(self, X: Any, offset: Any = None) -> NDArray[np.float64]:
        """Predict numbers.

        {rows}

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
            The predictions, on the scale of the targets.
        """
        return loss_named(self.loss).mean(self.linear_predictor(X, offset))

    @described
    def score(self, X: Any, y: Any, sample_weight: Any = None, offset: Any = None) -> float:
        """R²; of the losses of means D², the share of the deviance that the columns take away.

        {rows}

        Returns
        -------
        score : float
            1 for a perfect prediction, 0 for that of the best constant; of several outputs the mean.
        """
        loss = loss_named(self.loss)
        if loss.each:
            raise DataError(f"score compares one prediction with each target; {loss} makes {len(loss.each)}.")
        if Trait.MEANS not in loss.traits:
            return float(r2_score(y, self.predict(X, offset), sample_weight=sample_weight))
        z = self.linear_predictor(X, offset)
        n, weights = len(z), read_weights(sample_weight, len(z))
        targets = read_outputs(shaped(y), n)[0] if z.ndim == 2 else read_numbers(one_column(y), n)[:, None]
        shift = read_offset(of_new_rows(self._terms, X, offset)[1], n, loss)
        shares = []
        for own, scores in zip(targets.T, z.reshape(n, -1).T, strict=True):
            loss.check_targets(own)
            shares.append(explained(loss, own, scores, weights, shift))
        return float(np.mean(shares))
