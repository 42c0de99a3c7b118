"""KernelRegressor: any convex regression loss with a kernel, behind scikit-learn's interface."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import RegressorMixin

from dualgap.arrays import Matrix
from dualgap.errors import DataError
from dualgap.estimators.base import one_column, shaped
from dualgap.estimators.kernel_base import KernelModel
from dualgap.estimators.regression import _lopsided
from dualgap.fitting.inputs import read_numbers, read_weights
from dualgap.fitting.names import loss_named
from dualgap.fitting.options import is_infinite
from dualgap.kernels import Kernel
from dualgap.losses import Loss


class KernelRegressor(RegressorMixin, KernelModel):  # type: ignore[misc]
    """Regression with any convex loss and a kernel, and a proof of optimality.

    It minimises C·Σ loss + ‖f‖², or mean loss + lam·‖f‖². "squared" is kernel ridge regression,
    "epsilon_insensitive(0.1)" support vector regression (scikit-learn's `SVR(C)` has C half as large).

    Parameters
    ----------
    loss : str or Loss, default="squared"
        "squared", "absolute", "quantile(0.9)", "huber(1.35)", "epsilon_insensitive(0.1)",
        "squared_epsilon_insensitive(0.1)", or an object of `dualgap.losses`.
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
        Weight of the sum of the losses beside the penalty.
    fit_intercept : bool, default=True
        Whether to fit a constant.
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
        Seed of the approximation.

    Attributes
    ----------
    support_ : ndarray of shape (n_support,)
        The rows with a coefficient.
    support_vectors_ : ndarray of shape (n_support, n_features)
        Those rows; empty for kernel="precomputed".
    dual_coef_ : ndarray of shape (1, n_support)
        β: f(x) = Σ β k(x_i, x) + b.
    intercept_ : float
        The constant.
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
    >>> from dualgap import KernelRegressor
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = KernelRegressor("absolute", C=10).fit(X, y)
    >>> model.solution_.relative_gap <= 1e-6
    True
    """

    intercept_: float

    def __init__(  # noqa: PLR0913
        self,
        loss: str | Loss = "squared",
        kernel: str | Kernel | Callable[[Matrix, Matrix], Any] = "rbf",
        *,
        gamma: float | str = "scale",
        degree: int = 3,
        coef0: float = 1.0,
        lam: float | None = None,
        C: float | None = None,
        fit_intercept: bool = True,
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
            tags.regressor_tags.poor_score = _lopsided(loss_named(self.loss))
        return tags

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The columns; the kernel matrix for kernel="precomputed".
        y : array-like of shape (n_samples,)
            The numbers to predict.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows; a weight of 2 is the row given twice.

        Returns
        -------
        self : KernelRegressor
            The fitted model.
        """
        loss, limits = self._loss(classes=False), self._limits()
        if self.lam is None and is_infinite(self.C):
            raise DataError(
                "C=inf asks that no row lie outside the tube; such a hard tube is not solved here. Give a "
                "finite C: the larger, the nearer to it."
            )
        table = self._table(X, reset=True)
        targets = read_numbers(one_column(y), table.shape[0])
        weights = read_weights(shaped(sample_weight), table.shape[0])
        statement = self._statement(table, weights, loss)
        self._keep(self._solved(statement, targets, limits), table)
        self.intercept_ = float(self.solution_.intercept)
        return self

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Predict numbers.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The columns, as in `fit`.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            The predictions.
        """
        return np.asarray(self._scores(X)[:, 0])
