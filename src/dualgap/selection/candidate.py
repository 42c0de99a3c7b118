"""Weights as an estimator, for scorers to look at."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.metaestimators import available_if

from dualgap.fitting.decisions import decisions, log_probabilities, said
from dualgap.fitting.inputs import read_table
from dualgap.fitting.reading import Reading


def _has_probability(model: Candidate) -> bool:
    return hasattr(model.reading.terms.loss, "log_odds")


class Candidate(BaseEstimator):  # type: ignore[misc]
    """Fitted weights; the decision values of the rows held out are known already."""

    def __init__(self, reading: Reading, multiclass: str, seen: tuple[Any, Any]) -> None:
        self.reading, self.multiclass, self.seen = reading, multiclass, seen
        self.coef_: NDArray[np.float64] = np.zeros(0)
        self.intercept_: Any = 0.0

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def _decisions(self, X: Any) -> NDArray[np.float64]:
        known, scores = self.seen
        if X is known:
            return np.asarray(scores)
        return decisions(read_table(X).design, self.coef_, self.intercept_)


class CandidateRegressor(RegressorMixin, Candidate):  # type: ignore[misc]
    """Predicts numbers."""

    def predict(self, X: Any) -> NDArray[np.float64]:
        """The mean at Xw + b."""
        return self.reading.terms.loss.mean(self._decisions(X))


class CandidateClassifier(ClassifierMixin, Candidate):  # type: ignore[misc]
    """Predicts classes."""

    @property
    def classes_(self) -> Any:
        """All of them, sorted."""
        return self.reading.classes

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Xw + b, a column per class beyond two."""
        return self._decisions(X)

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of each row."""
        return np.asarray(self.classes_[said(self._decisions(X))])

    @available_if(_has_probability)  # type: ignore[untyped-decorator]
    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """log P(class), a column per class."""
        return log_probabilities(self.reading.terms.loss, self._decisions(X), self.multiclass)

    @available_if(_has_probability)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """P(class), a column per class."""
        return np.asarray(np.exp(self.predict_log_proba(X)))


def candidate(
    reading: Reading, multiclass: str, coef: NDArray[np.float64], intercept: Any, seen: tuple[Any, Any]
) -> Candidate:
    """The weights at one strength."""
    kind = CandidateRegressor if reading.classes is None else CandidateClassifier
    model: Candidate = kind(reading, multiclass, seen)
    model.coef_, model.intercept_ = coef, intercept
    return model
