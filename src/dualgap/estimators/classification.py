"""LinearClassifier: any classification loss with any penalty, behind scikit-learn's interface."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.metaestimators import available_if

from dualgap.errors import DataError
from dualgap.estimators.base import one_column, weighted_bit_by_bit, weighted_by_class
from dualgap.estimators.documentation import described, documented
from dualgap.estimators.kinds import Classifier, zero_is_optimal
from dualgap.estimators.linear import FittedLinear, LinearModel, OfClasses, learns_by_rows
from dualgap.estimators.margins import MarginAttributes
from dualgap.fitting.decisions import log_probabilities
from dualgap.fitting.inputs import read_labels
from dualgap.losses import Loss


class Classification(MarginAttributes, Classifier, LinearModel, OfClasses):
    """Classes predicted by columns."""

    counterpart = "LinearRegressor"
    _probability_hint = (
        'fit with loss="logistic", or wrap the model in sklearn.calibration.CalibratedClassifierCV.'
    )

    @property
    def classes_(self) -> NDArray[Any]:
        """The classes, sorted."""
        assert self.solution_.classes is not None
        return self.solution_.classes

    @property
    def coef_(self) -> NDArray[np.float64]:
        """The weights, a row for two classes, else a row per class."""
        return np.atleast_2d(self.solution_.coef)

    def _fit(self, X: Any, y: Any, sample_weight: Any, **more: Any) -> None:
        if self.class_weight is not None and y is not None:
            sample_weight = weighted_by_class(self.class_weight, y, sample_weight)
        solution = self._solve(X, y, sample_weight, multiclass=self.multiclass, **more)
        if not solution.coef.any() and zero_is_optimal(solution.terms.loss):
            warnings.warn(
                f"Weights of zero are optimal for the {solution.loss} loss, so every row is given the class "
                f'{self.classes_.tolist()[0]!r}. Use loss="hinge", which asks for a margin.',
                UserWarning,
                stacklevel=3,
            )

    def _log_probabilities(self, scores: Any) -> Any:
        return log_probabilities(self.solution_.terms.loss, scores, self.solution_.multiclass)


@documented(
    "classes_ coef_ intercept_ solution_ n_iter_ n_features_in_ feature_names_in_ slack_",
    loss=(
        "str or Loss",
        '"logistic", "hinge", "squared_hinge", "exponential", or an object of `dualgap.losses`. "perceptron" '
        "is taken, with a warning: weights of zero are always optimal for it.",
    ),
    C=(
        'Weight of the sum of the losses beside the penalty. With loss="hinge" and penalty="l2", C=inf is '
        "the hard margin; `InfeasibleError` holds the proof where the classes overlap."
    ),
    coef_=("ndarray of shape (1, n_features) or (n_classes, n_features)", "The weights."),
    intercept_=("ndarray of shape (1,) or (n_classes,)", "The constants; 0.0 if fit_intercept=False."),
)
@dataclass(eq=False, repr=False)
class LinearClassifier(Classification, FittedLinear):
    """Linear classification with any loss and any penalty, and a proof of optimality.

    It minimises C·Σ loss + penalty, or mean loss + lam·penalty, or the mean loss where penalty ≤ budget.

    {sections}

    See Also
    --------
    LinearRegressor : The same for numbers.

    Examples
    --------
    >>> from dualgap import LinearClassifier
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = LinearClassifier(loss="hinge", penalty="l1", lam=0.1).fit(X, y)
    >>> int((model.coef_ != 0).sum()), round(model.score(X, y), 3)
    (5, 0.949)
    >>> model.solution_.relative_gap <= 1e-6
    True
    """

    loss: str | Loss = "logistic"

    @available_if(learns_by_rows)  # type: ignore[untyped-decorator]
    @described
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn from some more rows, in the order given; for the stochastic solvers, with lam or no penalty.

        More than two classes are learnt one against the rest.

        {rows}

        Returns
        -------
        self : LinearClassifier
            The model, a step further for every row.
        """
        y, known = one_column(y), self._known_classes(classes)
        if self.class_weight is not None:
            sample_weight = weighted_bit_by_bit(self.class_weight, known, y, sample_weight)
        self._learn(X, y, sample_weight, known)
        return self

    def _known_classes(self, classes: Any) -> NDArray[Any]:
        """Those of the first call, or of the fit before it."""
        before: NDArray[Any] | None = getattr(self, "classes_", None)
        if classes is None:
            if before is None:
                raise DataError(
                    "classes must be passed on the first call to partial_fit: all that will ever come."
                )
            return before
        found = read_labels(classes, len(classes))[0]
        if len(found) < 2:
            raise DataError("classes must hold at least two different labels.")
        if before is not None and not np.array_equal(before, found):
            raise DataError(f"classes are {found.tolist()}; the calls before had {before.tolist()}.")
        return found
