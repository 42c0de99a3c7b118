"""LinearClassifier: any classification loss with any penalty, behind scikit-learn's interface."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.metaestimators import available_if

from dualgap.drive.solver import Solver
from dualgap.errors import DataError
from dualgap.estimators.base import LinearModel, learns_by_rows, one_column, shaped
from dualgap.estimators.margins import MarginAttributes
from dualgap.fitting.inputs import read_labels, read_weights
from dualgap.fitting.names import loss_named
from dualgap.fitting.probability import log_probabilities
from dualgap.losses import Loss
from dualgap.penalties import Penalty


def _has_probability(model: LinearClassifier) -> bool:
    """Whether the loss says how likely a class is."""
    try:
        loss = loss_named(model.loss)
    except DataError as error:
        raise AttributeError(str(error)) from error
    if not hasattr(loss, "log_odds"):
        raise AttributeError(
            f'The {loss.name} loss gives no probabilities; fit with loss="logistic", or wrap the model in '
            "sklearn.calibration.CalibratedClassifierCV."
        )
    return True


def _zero_is_optimal(loss: Loss) -> bool:
    """Whether the loss is zero, its least, at w = 0: true of the perceptron loss."""
    return not np.any(loss.value(np.array([1.0, -1.0]), np.zeros(2)))


def _weighted_by_class(class_weight: Any, y: Any, sample_weight: Any) -> NDArray[np.float64]:
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


def _fixed_weights(class_weight: Any, classes: Any, y: Any, sample_weight: Any) -> NDArray[np.float64]:
    """Row weights times class weights that do not depend on rows not seen yet."""
    if isinstance(class_weight, str):
        raise DataError("partial_fit cannot balance classes whose rows are still to come: give a dict.")
    weights = read_weights(shaped(sample_weight), len(y))
    factors = compute_class_weight(class_weight, classes=classes, y=classes)
    return np.asarray(weights * factors[np.searchsorted(classes, y).clip(0, len(classes) - 1)])


class LinearClassifier(MarginAttributes, ClassifierMixin, LinearModel):  # type: ignore[misc]
    """Linear classification with any loss and any penalty, and a proof of optimality.

    It minimises C·Σ loss + penalty, or mean loss + lam·penalty, or the mean loss where penalty ≤ budget.

    Parameters
    ----------
    loss : str or Loss, default="logistic"
        "logistic", "hinge", "squared_hinge", "exponential", or an object of `dualgap.losses`. "perceptron"
        is taken, with a warning: weights of zero are always optimal for it.
    penalty : str or Penalty, default="l2"
        "none", "l1", "l2", "l2_norm", "elastic_net(0.5)", "linf", "lp(1.5)", or an object of
        `dualgap.penalties`.
    lam : float, default=None
        Strength of the penalty beside the mean loss. At most one of lam, C and budget may be given; without
        any, C = 1 (none for penalty="none").
    C : float, default=None
        Weight of the sum of the losses beside the penalty. With loss="hinge" and penalty="l2", C=inf is the
        hard margin; `InfeasibleError` holds the proof where the classes overlap.
    budget : float, default=None
        The most that the penalty may be.
    fit_intercept : bool, default=True
        Whether to fit a constant. It is never penalised.
    penalty_factors : array-like of shape (n_features,) or dict, default=None
        How much each column is penalised, by position or by name; 0 leaves a column free.
    standardize : bool, default=False
        Whether to penalise the weights of columns scaled to standard deviation one. The weights are
        reported on the scale of the X that was given.
    class_weight : dict or "balanced", default=None
        Weights of the classes, which multiply those of the rows; a class not named has 1. "balanced" gives
        every class the same total.
    multiclass : {"auto", "one_vs_rest", "multinomial"}, default="auto"
        What to do with more than two classes. "auto" is multinomial for the logistic loss, one against the
        rest for the others.
    solver : str or Solver, default="auto"
        A name from `dualgap.list_solvers()`, or an object of `dualgap.solvers`.
    tol : float, default=1e-6
        The relative duality gap to reach.
    max_iter : int, default=None
        The most iterations; None sets no limit.
    max_time : float, default=None
        The most seconds; None sets no limit.
    warm_start : bool, default=False
        Whether to start from the last solution, if it has the same columns and classes.
    random_state : int, RandomState instance or None, default=None
        Seed for solvers that draw random numbers.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes, sorted. With two of them a positive decision value means the second.
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        The weights.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        The constants; 0.0 if fit_intercept=False.
    solution_ : Solution
        What `dualgap.fit` returned: objective, bound, gap, certificate, summary().
    n_iter_ : int
        How many points were looked at, at least 1.
    n_features_in_ : int
        Number of columns seen by fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns seen by fit, where X has names that are all strings.
    slack_ : ndarray of shape (n_samples,) or (n_classes, n_samples)
        With loss="hinge", how far each row is inside the margin; `margin_`, `geometric_margins_`,
        `dual_coef_`, `support_` and `kind_` say more of every row, see `dualgap.estimators.margins`.

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

    classes_: NDArray[Any]
    coef_: NDArray[np.float64]
    intercept_: NDArray[np.float64]

    def __init__(  # noqa: PLR0913
        self,
        loss: str | Loss = "logistic",
        penalty: str | Penalty = "l2",
        *,
        lam: float | None = None,
        C: float | None = None,
        budget: float | None = None,
        fit_intercept: bool = True,
        penalty_factors: Any = None,
        standardize: bool = False,
        class_weight: Mapping[Any, float] | str | None = None,
        multiclass: str = "auto",
        solver: str | Solver = "auto",
        tol: float = 1e-6,
        max_iter: int | None = None,
        max_time: float | None = None,
        warm_start: bool = False,
        random_state: Any = None,
    ) -> None:
        self.loss = loss
        self.penalty = penalty
        self.lam = lam
        self.C = C
        self.budget = budget
        self.fit_intercept = fit_intercept
        self.penalty_factors = penalty_factors
        self.standardize = standardize
        self.class_weight = class_weight
        self.multiclass = multiclass
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.max_time = max_time
        self.warm_start = warm_start
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        with contextlib.suppress(DataError):  # an unknown loss is for fit to refuse
            tags.classifier_tags.poor_score = _zero_is_optimal(loss_named(self.loss))
        return tags

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            The columns.
        y : array-like of shape (n_samples,)
            The classes, of any kind that can be sorted.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows; a weight of 2 is the row given twice.

        Returns
        -------
        self : LinearClassifier
            The fitted model.
        """
        y = one_column(y)
        if self.class_weight is not None and y is not None:
            sample_weight = _weighted_by_class(self.class_weight, y, sample_weight)
        solution = self._solve(X, y, sample_weight, multiclass=self.multiclass)
        assert solution.classes is not None
        self.classes_ = solution.classes
        self.coef_ = np.atleast_2d(solution.coef)
        self.intercept_ = np.atleast_1d(np.asarray(solution.intercept, dtype=np.float64))
        if not self.coef_.any() and _zero_is_optimal(loss_named(self.loss)):
            warnings.warn(
                f"Weights of zero are optimal for the {solution.loss} loss, so every row is given the class "
                f'{self.classes_.tolist()[0]!r}. Use loss="hinge", which asks for a margin.',
                UserWarning,
                stacklevel=2,
            )
        return self

    @available_if(learns_by_rows)  # type: ignore[untyped-decorator]
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn from some more rows, in the order given; for the stochastic solvers, with lam or no penalty.

        More than two classes are learnt one against the rest.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            The columns.
        y : array-like of shape (n_samples,)
            The classes.
        classes : array-like of shape (n_classes,), default=None
            All classes that will ever come; needed in the first call, where not all rows are there to show.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows, beside 1 for a row without one.

        Returns
        -------
        self : LinearClassifier
            The model, a step further for every row.
        """
        y = one_column(y)
        known = self._known_classes(classes)
        if self.class_weight is not None:
            sample_weight = _fixed_weights(self.class_weight, known, y, sample_weight)
        solution = self._learn(X, y, sample_weight, known)
        self.classes_ = known
        self.coef_ = np.atleast_2d(solution.coef)
        self.intercept_ = np.atleast_1d(np.asarray(solution.intercept, dtype=np.float64))
        return self

    def _known_classes(self, classes: Any) -> NDArray[Any]:
        """Those of the first call, or of the fit before it."""
        before: NDArray[Any] | None = getattr(self, "classes_", None)
        if before is None and classes is None:
            raise DataError(
                "classes must be passed on the first call to partial_fit: all that will ever come."
            )
        if classes is None:
            assert before is not None
            return before
        found = read_labels(classes, len(classes))[0]
        if len(found) < 2:
            raise DataError("classes must hold at least two different labels.")
        if before is not None and not np.array_equal(before, found):
            raise DataError(f"classes are {found.tolist()}; the calls before had {before.tolist()}.")
        return found

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Xw + b, which is positive for the second of two classes and largest for the best of more.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            The columns, as in `fit`.

        Returns
        -------
        scores : ndarray of shape (n_samples,) or (n_samples, n_classes)
            The decision values.
        """
        X = self._scored(X)
        return self.solution_.decision_function(X)

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
        X = self._scored(X)
        return self.solution_.predict(X)

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
        scores = self.decision_function(X)
        return log_probabilities(self.solution_, scores)

    @available_if(_has_probability)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Probabilities of the classes.

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
