"""LinearRegressor: any regression loss with any penalty, behind scikit-learn's interface."""

from __future__ import annotations

import contextlib
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import RegressorMixin
from sklearn.utils.metaestimators import available_if

from dualgap.drive.solver import Solver
from dualgap.errors import DataError
from dualgap.estimators.base import LinearModel, learns_by_rows, one_column
from dualgap.estimators.margins import TubeAttributes
from dualgap.fitting.names import loss_named
from dualgap.losses import Loss
from dualgap.penalties import Penalty


def _lopsided(loss: Loss) -> bool:
    """Whether over- and underestimates cost differently: the prediction then leans, and R² suffers."""
    over, under = loss.value(np.zeros(2), np.array([1.0, -1.0]))
    return bool(over != under)


class LinearRegressor(TubeAttributes, RegressorMixin, LinearModel):  # type: ignore[misc]
    """Linear regression with any loss and any penalty, and a proof of optimality.

    It minimises C·Σ loss + penalty, or mean loss + lam·penalty, or the mean loss where penalty ≤ budget.

    Parameters
    ----------
    loss : str or Loss, default="squared"
        "squared", "absolute", "quantile(0.9)", "huber(1.35)", "epsilon_insensitive(0.1)",
        "squared_epsilon_insensitive(0.1)", or an object of `dualgap.losses`.
    penalty : str or Penalty, default="l2"
        "none", "l1", "l2", "l2_norm", "elastic_net(0.5)", "linf", "lp(1.5)", or an object of
        `dualgap.penalties`.
    lam : float, default=None
        Strength of the penalty beside the mean loss. At most one of lam, C and budget may be given; without
        any, C = 1 (none for penalty="none").
    C : float, default=None
        Weight of the sum of the losses beside the penalty.
    budget : float, default=None
        The most that the penalty may be.
    fit_intercept : bool, default=True
        Whether to fit a constant. It is never penalised.
    penalty_factors : array-like of shape (n_features,) or dict, default=None
        How much each column is penalised, by position or by name; 0 leaves a column free.
    standardize : bool, default=False
        Whether to penalise the weights of columns scaled to standard deviation one. The weights are
        reported on the scale of the X that was given.
    solver : str or Solver, default="auto"
        A name from `dualgap.list_solvers()`, or an object of `dualgap.solvers`.
    tol : float, default=1e-6
        The relative duality gap to reach.
    max_iter : int, default=None
        The most iterations; None sets no limit.
    max_time : float, default=None
        The most seconds; None sets no limit.
    warm_start : bool, default=False
        Whether to start from the last solution, if it has the same columns.
    random_state : int, RandomState instance or None, default=None
        Seed for solvers that draw random numbers.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        The weights.
    intercept_ : float
        The constant; 0.0 if fit_intercept=False.
    solution_ : Solution
        What `dualgap.fit` returned: objective, bound, gap, certificate, summary().
    n_iter_ : int
        How many points were looked at, at least 1.
    n_features_in_ : int
        Number of columns seen by fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns seen by fit, where X has names that are all strings.
    slack_ : ndarray of shape (n_samples,)
        With loss="epsilon_insensitive(...)", how far each row is outside the tube; `tube_`, `dual_coef_`,
        `support_` and `kind_` say more of every row, see `dualgap.estimators.margins`.

    See Also
    --------
    LinearClassifier : The same for classes.

    Examples
    --------
    >>> from dualgap import LinearRegressor
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = LinearRegressor(loss="absolute", penalty="l1", lam=0.01).fit(X, y)
    >>> model.coef_.round().astype(int)
    array([  0,   0, 442, 147,   0,   0, -94,   0, 395,   0])
    >>> model.solution_.relative_gap <= 1e-6
    True
    """

    coef_: NDArray[np.float64]
    intercept_: float

    def __init__(  # noqa: PLR0913
        self,
        loss: str | Loss = "squared",
        penalty: str | Penalty = "l2",
        *,
        lam: float | None = None,
        C: float | None = None,
        budget: float | None = None,
        fit_intercept: bool = True,
        penalty_factors: Any = None,
        standardize: bool = False,
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
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.max_time = max_time
        self.warm_start = warm_start
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
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            The columns.
        y : array-like of shape (n_samples,)
            The numbers to predict.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows; a weight of 2 is the row given twice.

        Returns
        -------
        self : LinearRegressor
            The fitted model.
        """
        solution = self._solve(X, one_column(y), sample_weight)
        self.coef_ = solution.coef
        self.intercept_ = float(solution.intercept)
        return self

    @available_if(learns_by_rows)  # type: ignore[untyped-decorator]
    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from some more rows, in the order given; for the stochastic solvers, with lam or no penalty.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            The columns.
        y : array-like of shape (n_samples,)
            The numbers to predict.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows, beside 1 for a row without one.

        Returns
        -------
        self : LinearRegressor
            The model, a step further for every row.
        """
        solution = self._learn(X, one_column(y), sample_weight)
        self.coef_ = solution.coef
        self.intercept_ = float(solution.intercept)
        return self

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Predict numbers.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            The columns, as in `fit`.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            The predictions Xw + b.
        """
        X = self._scored(X)
        return self.solution_.decision_function(X)
