"""KernelClassifier: any convex classification loss with a kernel, behind scikit-learn's interface."""

from __future__ import annotations

import contextlib
import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, clone
from sklearn.utils.metaestimators import available_if

from dualgap.arrays import Index, Matrix, Vector
from dualgap.drive.limits import Limits
from dualgap.errors import DataError, NotCertifiedWarning
from dualgap.estimators.base import one_column, shaped
from dualgap.estimators.calibration import Calibration, calibrated, folds, own_probabilities
from dualgap.estimators.classification import _weighted_by_class, _zero_is_optimal
from dualgap.estimators.kernel_base import KernelModel
from dualgap.fitting.inputs import read_labels, read_weights
from dualgap.fitting.names import loss_named
from dualgap.fitting.options import is_infinite
from dualgap.kernel_machines.answer import KernelSolution, Statement, together
from dualgap.kernel_machines.hard_margin import refuse_hard
from dualgap.kernels import Kernel
from dualgap.losses import Loss


def _has_probability(model: KernelClassifier) -> bool:
    """Whether the loss says how likely a class is, or calibration was asked for."""
    try:
        loss = loss_named(model.loss)
    except DataError as error:
        raise AttributeError(str(error)) from error
    if not model.probability and not hasattr(loss, "log_odds"):
        raise AttributeError(f"The {loss.name} loss gives no probabilities; fit with probability=True.")
    return True


class KernelClassifier(ClassifierMixin, KernelModel):  # type: ignore[misc]
    """Classification with any convex loss and a kernel, and a proof of optimality.

    It minimises C·Σ loss + ‖f‖², or mean loss + lam·‖f‖², over f in the kernel's space plus a constant that
    is not penalised. scikit-learn's `SVC(C)` is loss="hinge" with C twice as large.

    Parameters
    ----------
    loss : str or Loss, default="hinge"
        "hinge", "squared_hinge", "logistic", "exponential", or an object of `dualgap.losses`.
    kernel : str, Kernel or callable, default="rbf"
        "linear", "poly" (coef0 + γ x·x')^degree, "rbf" exp(−γ‖x − x'‖²), "laplacian" exp(−γ‖x − x'‖₁),
        "sigmoid" tanh(γ x·x' + coef0) where it is positive semi-definite on the data, a function of two
        tables that returns the matrix of all pairs, or "precomputed": X is that matrix.
    gamma : float, "scale" or "auto", default="scale"
        γ; "scale" is 1/(n_features · X.var()), "auto" 1/n_features.
    degree : int, default=3
        Of kernel="poly".
    coef0 : float, default=1.0
        Of kernel="poly" and "sigmoid".
    lam : float, default=None
        Strength of the penalty beside the mean loss. At most one of lam and C may be given; without, C = 1.
    C : float, default=None
        Weight of the sum of the losses beside the penalty. With the hinge loss C=inf is the hard margin: the
        surface of largest margin without any error, or InfeasibleError with the proof that there is none.
    fit_intercept : bool, default=True
        Whether to fit a constant.
    class_weight : dict or "balanced", default=None
        Weights of the classes, which multiply those of the rows.
    probability : bool, default=False
        Whether to calibrate probabilities on held-out decision values, at the price of five more fits. The
        logistic and the exponential loss have their own.
    approximation : {"nystroem", "random_features"}, default=None
        Solve with few features; `solution_` says what that proves of the exact problem.
    n_components : int, default=300
        How many features.
    tol : float, default=1e-6
        The relative duality gap to reach.
    max_iter : int, default=None
        The most iterations.
    max_time : float, default=None
        The most seconds.
    cache_bytes : float, default=5e8
        The most that kernel rows may take in memory.
    random_state : int, RandomState instance or None, default=None
        Seed of the approximation and of the held-out folds.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes, sorted.
    support_ : ndarray of shape (n_support,)
        The rows with a coefficient.
    support_vectors_ : ndarray of shape (n_support, n_features)
        Those rows; empty for kernel="precomputed".
    dual_coef_ : ndarray of shape (1, n_support) or (n_classes, n_support)
        β: f(x) = Σ β k(x_i, x) + b.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        The constants.
    solution_ : KernelSolution
        objective, bound, gap, status, certificate. Both values are of the matrix of all pairs of rows in
        double precision, which `certificate.recheck(kernel_(X, X), y)` takes.
    kernel_ : Kernel
        The kernel with its γ; None if precomputed.
    n_iter_ : int
        How many points were looked at, at least 1.
    n_features_in_ : int
        Number of columns seen by fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns seen by fit, where X has names that are all strings.

    Examples
    --------
    >>> from dualgap import KernelClassifier
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = KernelClassifier().fit(X, y)
    >>> round(model.score(X, y), 3), model.solution_.relative_gap <= 1e-6
    (0.947, True)
    """

    classes_: NDArray[Any]
    intercept_: NDArray[np.float64]
    calibration_: Calibration

    def __init__(  # noqa: PLR0913
        self,
        loss: str | Loss = "hinge",
        kernel: str | Kernel | Callable[[Matrix, Matrix], Any] = "rbf",
        *,
        gamma: float | str = "scale",
        degree: int = 3,
        coef0: float = 1.0,
        lam: float | None = None,
        C: float | None = None,
        fit_intercept: bool = True,
        class_weight: Mapping[Any, float] | str | None = None,
        probability: bool = False,
        approximation: str | None = None,
        n_components: int = 300,
        tol: float = 1e-6,
        max_iter: int | None = None,
        max_time: float | None = None,
        cache_bytes: float = 5e8,
        random_state: Any = None,
    ) -> None:
        self.loss = loss
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.lam = lam
        self.C = C
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.probability = probability
        self.approximation = approximation
        self.n_components = n_components
        self.tol = tol
        self.max_iter = max_iter
        self.max_time = max_time
        self.cache_bytes = cache_bytes
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
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The columns; the kernel matrix for kernel="precomputed".
        y : array-like of shape (n_samples,)
            The classes, of any kind that can be sorted.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows; a weight of 2 is the row given twice.

        Returns
        -------
        self : KernelClassifier
            The fitted model.
        """
        loss, limits = self._loss(classes=True), self._limits()
        if self.lam is None and is_infinite(self.C):
            refuse_hard(loss, self.approximation)
        table = self._table(X, reset=True)
        y = one_column(y)
        self.classes_, which = read_labels(y, table.shape[0])
        weights = read_weights(shaped(sample_weight), table.shape[0])
        if self.class_weight is not None:
            weights = _weighted_by_class(self.class_weight, y, sample_weight)
        _refuse_one_class(self.classes_, which[weights > 0])
        statement = self._statement(table, weights, loss, self.classes_)
        self._keep(self._each_class(statement, which, limits), table)
        self.intercept_ = np.atleast_1d(np.asarray(self.solution_.intercept, dtype=np.float64))
        if self.probability and not hasattr(loss, "log_odds"):
            self.calibration_ = calibrated(*self._held_out(table, which, weights))
        return self

    def _each_class(self, statement: Statement, which: Index, limits: Limits) -> KernelSolution:
        """Two classes: one problem. More: one against the rest for each, on the same rows of the kernel."""
        if len(self.classes_) == 2:
            return self._solved(statement, np.where(which == 1, 1.0, -1.0), limits)
        began, parts = time.perf_counter(), []
        for k in range(len(self.classes_)):
            seconds = limits.seconds
            if seconds is not None:
                seconds = max(seconds - (time.perf_counter() - began), 1e-3)
            own = replace(limits, tolerance=0.5 * limits.tolerance, seconds=seconds)
            parts.append(self._solved(statement, np.where(which == k, 1.0, -1.0), own))
        return together(parts, limits.tolerance)

    def _held_out(self, X: Any, which: Index, weights: Vector) -> tuple[Any, Index, Vector]:
        """Decision values of rows that their fit did not see."""
        used = np.flatnonzero(weights > 0)
        parts = folds(X[used] if self.kernel_ is not None else None, which[used], self.random_state)
        if parts.max() < 1:
            return self._shaped_scores(self._scores(X[used])), which[used], weights[used]
        plain = clone(self).set_params(
            probability=False, class_weight=None, kernel=self.kernel_ or self.kernel, tol=min(self.tol, 1e-9)
        )
        scores: list[Any] = []
        order: list[Index] = []
        for part in range(int(parts.max()) + 1):
            train, test = used[parts != part], used[parts == part]
            columns = train if self.kernel_ is None else np.arange(X.shape[1])
            with warnings.catch_warnings():  # a gap above what was asked for is told, not one above 1e-9
                warnings.simplefilter("ignore", NotCertifiedWarning)
                plain.fit(X[train][:, columns], which[train], weights[train])
            plain._warn_above(self.tol)
            scores.append(plain.decision_function(X[test][:, columns]))
            order.append(test)
        rows = np.concatenate(order)
        return np.concatenate(scores), which[rows], weights[rows]

    def _shaped_scores(self, scores: Matrix) -> Any:
        return scores[:, 0] if len(self.classes_) == 2 else scores

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """f(x), which is positive for the second of two classes and largest for the best of more.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The columns, as in `fit`; for kernel="precomputed" the kernel with every row of `fit`.

        Returns
        -------
        scores : ndarray of shape (n_samples,) or (n_samples, n_classes)
            The decision values.
        """
        return np.asarray(self._shaped_scores(self._scores(X)))

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict classes.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The columns, as in `fit`.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            The classes.
        """
        scores = self.decision_function(X)
        if scores.ndim == 1:
            return np.asarray(self.classes_[(scores > 0).astype(int)])
        return np.asarray(self.classes_[np.argmax(scores, axis=1)])

    @available_if(_has_probability)  # type: ignore[untyped-decorator]
    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """Logarithms of the probabilities of the classes.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The columns, as in `fit`.

        Returns
        -------
        logarithms : ndarray of shape (n_samples, n_classes)
            In the order of `classes_`.
        """
        scores = self.decision_function(X)
        loss: Any = loss_named(self.loss)
        if hasattr(loss, "log_odds"):
            return own_probabilities(loss.log_odds(scores))
        return self.calibration_.log_probabilities(scores)

    @available_if(_has_probability)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Probabilities of the classes, monotone in the decision values; the largest is the predicted class.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The columns, as in `fit`.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
            In the order of `classes_`; every row adds up to one.
        """
        return np.asarray(np.exp(self.predict_log_proba(X)))


def _refuse_one_class(classes: NDArray[Any], present: Index) -> None:
    if len(classes) == 1:
        raise DataError(
            f"y has one class only, {classes.tolist()[0]!r}: a classifier needs at least two classes; "
            "there is nothing to tell apart."
        )
    if len(np.unique(present)) < len(classes):
        raise DataError("After leaving out the rows of weight zero a class has no rows; classes need weight.")
