"""LinearRegressorCV and LinearClassifierCV: the strength chosen on rows held out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

from dualgap.drive.solver import Solver
from dualgap.estimators.base import LinearModel, shaped
from dualgap.estimators.classification import LinearClassifier
from dualgap.estimators.regression import LinearRegressor
from dualgap.fitting.solution import Solution
from dualgap.losses import Loss
from dualgap.penalties import Penalty
from dualgap.selection.cross_validate import cross_validate
from dualgap.selection.search import Search


class Searched(LinearModel):
    """A linear model whose strength `dualgap.cross_validate` chooses."""

    cv: Any
    scoring: Any
    rule: Any
    form: str
    lams: Any
    budgets: Any
    n_lams: int
    lam_min_ratio: float | None
    n_jobs: int | None

    search_: Search
    _groups: Any = None

    @property
    def lam_(self) -> float:
        """The λ that the rule chose."""
        return self.search_.lam

    @property
    def budget_(self) -> float:
        """The budget that the rule chose, with form="constrained"."""
        return self.search_.budget

    @property
    def partial_fit(self) -> Any:
        """Folds need all rows at once."""
        raise AttributeError(f"{type(self).__name__} has no partial_fit: folds need all rows at once.")

    def _solve(self, X: Any, y: Any, sample_weight: Any, **more: Any) -> Solution:
        """The search and its solution on all rows, kept."""
        self._refuse_loss()
        X = self._table(X, reset=True)
        self.search_ = cross_validate(
            X,
            y,
            loss=self.loss,
            penalty=self.penalty,
            cv=self.cv,
            score=self.scoring,
            rule=self.rule,
            groups=self._groups,
            form=self.form,
            lams=self.lams,
            budgets=self.budgets,
            n_lams=self.n_lams,
            lam_min_ratio=self.lam_min_ratio,
            fit_intercept=self.fit_intercept,
            sample_weight=shaped(sample_weight),
            penalty_factors=self.penalty_factors,
            standardize=self.standardize,
            solver=self.solver,
            tol=self.tol,
            max_iter=self.max_iter,
            max_time=self.max_time,
            random_state=self.random_state,
            n_jobs=self.n_jobs,
            **more,
        )
        self.solution_ = self.search_.solution
        self.n_iter_ = max(self.solution_.n_iter, 1)  # w = 0 is always looked at
        return self.solution_

    def _fit_groups(self, groups: Any, X: Any, y: Any, sample_weight: Any) -> Self:
        """Fit with groups, which are not kept."""
        self._groups = groups
        try:
            super().fit(X, y, sample_weight)
        finally:
            del self._groups
        return self


class LinearRegressorCV(Searched, LinearRegressor):
    """Linear regression with any loss and any penalty, its strength chosen by cross-validation.

    Parameters
    ----------
    loss : str or Loss, default="squared"
        As in `LinearRegressor`.
    penalty : str or Penalty, default="l2"
        As in `LinearRegressor`; "none" has no strength to choose.
    cv : int, splitter or iterable, default=5
        A number of folds (whole groups where fit is given groups, shuffled where there is a random_state),
        a splitter of scikit-learn, or pairs of row numbers to fit and to score.
    scoring : str or callable, default="loss"
        "loss", the name of a scikit-learn scorer, or a function (estimator, X, y) of which more is better.
    rule : {"min", "1se"} or callable, default="min"
        The best mean score; the strongest regularisation within one standard error of it; or a function
        that takes the Search and returns the number of a strength.
    form : {"penalised", "constrained"}, default="penalised"
        Whether to search over lam or over budgets.
    lams : array-like, default=None
        The strengths to try; None makes a grid from the data.
    budgets : array-like, default=None
        The budgets to try.
    n_lams : int, default=100
        How many strengths the grid has.
    lam_min_ratio : float, default=None
        Smallest over largest strength of the grid.
    fit_intercept : bool, default=True
        Whether to fit a constant. It is never penalised.
    penalty_factors : array-like of shape (n_features,) or dict, default=None
        How much each column is penalised, by position or by name; 0 leaves a column free.
    standardize : bool, default=False
        Whether to penalise the weights of columns scaled to standard deviation one, in each fold by its own.
    solver : str or Solver, default="auto"
        A name from `dualgap.list_solvers()`, or an object of `dualgap.solvers`.
    tol : float, default=1e-6
        The relative duality gap to reach in every fold and in the end.
    max_iter : int, default=None
        The most iterations of a solve; None sets no limit.
    max_time : float, default=None
        The most seconds of a solve; None sets no limit.
    random_state : int, RandomState instance or None, default=None
        Seed for folds given by their number, and for solvers that draw random numbers.
    n_jobs : int, default=None
        How many folds run side by side.

    Attributes
    ----------
    search_ : Search
        What `dualgap.cross_validate` returned: lams, mean, se, lam_min, lam_1se, frame(), plot().
    lam_, budget_ : float
        The strength that was chosen, whichever was searched over.
    coef_ : ndarray of shape (n_features,)
        The weights of the fit on all rows.
    intercept_ : float
        The constant; 0.0 if fit_intercept=False.
    solution_ : Solution
        The fit on all rows: objective, bound, gap, certificate, summary().
    n_iter_ : int
        How many points that fit looked at, at least 1.
    n_features_in_ : int
        Number of columns seen by fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns seen by fit, where X has names that are all strings.

    See Also
    --------
    LinearClassifierCV : The same for classes.

    Examples
    --------
    >>> from dualgap import LinearRegressorCV
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = LinearRegressorCV("absolute", "l1", cv=10, rule="1se").fit(X, y)
    >>> model.lam_ >= model.search_.lam_min, bool(model.solution_.relative_gap <= 1e-6)
    (True, True)
    """

    def __init__(  # noqa: PLR0913
        self,
        loss: str | Loss = "squared",
        penalty: str | Penalty = "l2",
        *,
        cv: Any = 5,
        scoring: Any = "loss",
        rule: Any = "min",
        form: str = "penalised",
        lams: Any = None,
        budgets: Any = None,
        n_lams: int = 100,
        lam_min_ratio: float | None = None,
        fit_intercept: bool = True,
        penalty_factors: Any = None,
        standardize: bool = False,
        solver: str | Solver = "auto",
        tol: float = 1e-6,
        max_iter: int | None = None,
        max_time: float | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.loss = loss
        self.penalty = penalty
        self.cv = cv
        self.scoring = scoring
        self.rule = rule
        self.form = form
        self.lams = lams
        self.budgets = budgets
        self.n_lams = n_lams
        self.lam_min_ratio = lam_min_ratio
        self.fit_intercept = fit_intercept
        self.penalty_factors = penalty_factors
        self.standardize = standardize
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.max_time = max_time
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Self:
        """Choose the strength and fit the model.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            The columns.
        y : array-like of shape (n_samples,)
            The numbers to predict.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows in grid, fits and scores; a weight of 2 is the row given twice.
        groups : array-like of shape (n_samples,), default=None
            Groups of rows for `cv` to keep together.

        Returns
        -------
        self : LinearRegressorCV
            The fitted model.
        """
        return self._fit_groups(groups, X, y, sample_weight)


class LinearClassifierCV(Searched, LinearClassifier):
    """Linear classification with any loss and any penalty, its strength chosen by cross-validation.

    Parameters
    ----------
    loss : str or Loss, default="logistic"
        As in `LinearClassifier`.
    penalty : str or Penalty, default="l2"
        As in `LinearClassifier`; "none" has no strength to choose.
    cv : int, splitter or iterable, default=5
        A number of stratified folds (whole groups where fit is given groups, shuffled where there is a
        random_state), a splitter of scikit-learn, or pairs of row numbers to fit and to score.
    scoring : str or callable, default="loss"
        "loss", "zero_one", the name of a scikit-learn scorer, or a function (estimator, X, y) of which more
        is better.
    rule : {"min", "1se"} or callable, default="min"
        The best mean score; the strongest regularisation within one standard error of it; or a function
        that takes the Search and returns the number of a strength.
    form : {"penalised", "constrained"}, default="penalised"
        Whether to search over lam or over budgets.
    lams : array-like, default=None
        The strengths to try; None makes a grid from the data.
    budgets : array-like, default=None
        The budgets to try.
    n_lams : int, default=100
        How many strengths the grid has.
    lam_min_ratio : float, default=None
        Smallest over largest strength of the grid.
    fit_intercept : bool, default=True
        Whether to fit a constant. It is never penalised.
    penalty_factors : array-like of shape (n_features,) or dict, default=None
        How much each column is penalised, by position or by name; 0 leaves a column free.
    standardize : bool, default=False
        Whether to penalise the weights of columns scaled to standard deviation one, in each fold by its own.
    class_weight : dict or "balanced", default=None
        Weights of the classes, which multiply those of the rows, in the scores as in the fits.
    multiclass : {"auto", "one_vs_rest", "multinomial"}, default="auto"
        What to do with more than two classes, as in `LinearClassifier`.
    solver : str or Solver, default="auto"
        A name from `dualgap.list_solvers()`, or an object of `dualgap.solvers`.
    tol : float, default=1e-6
        The relative duality gap to reach in every fold and in the end.
    max_iter : int, default=None
        The most iterations of a solve; None sets no limit.
    max_time : float, default=None
        The most seconds of a solve; None sets no limit.
    random_state : int, RandomState instance or None, default=None
        Seed for folds given by their number, and for solvers that draw random numbers.
    n_jobs : int, default=None
        How many folds run side by side.

    Attributes
    ----------
    search_ : Search
        What `dualgap.cross_validate` returned: lams, mean, se, lam_min, lam_1se, frame(), plot().
    lam_, budget_ : float
        The strength that was chosen, whichever was searched over.
    classes_ : ndarray of shape (n_classes,)
        The classes, sorted. With two of them a positive decision value means the second.
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        The weights of the fit on all rows.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        The constants; 0.0 if fit_intercept=False.
    solution_ : Solution
        The fit on all rows: objective, bound, gap, certificate, summary().
    n_iter_ : int
        How many points that fit looked at, at least 1.
    n_features_in_ : int
        Number of columns seen by fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns seen by fit, where X has names that are all strings.

    See Also
    --------
    LinearRegressorCV : The same for numbers.

    Examples
    --------
    >>> from dualgap import LinearClassifierCV
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = LinearClassifierCV("hinge", "l2", scoring="zero_one", standardize=True, n_lams=20).fit(X, y)
    >>> model.score(X, y) > 0.97, bool(model.search_.worst_gaps.max() <= 1e-6)
    (True, True)
    """

    def __init__(  # noqa: PLR0913
        self,
        loss: str | Loss = "logistic",
        penalty: str | Penalty = "l2",
        *,
        cv: Any = 5,
        scoring: Any = "loss",
        rule: Any = "min",
        form: str = "penalised",
        lams: Any = None,
        budgets: Any = None,
        n_lams: int = 100,
        lam_min_ratio: float | None = None,
        fit_intercept: bool = True,
        penalty_factors: Any = None,
        standardize: bool = False,
        class_weight: Mapping[Any, float] | str | None = None,
        multiclass: str = "auto",
        solver: str | Solver = "auto",
        tol: float = 1e-6,
        max_iter: int | None = None,
        max_time: float | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.loss = loss
        self.penalty = penalty
        self.cv = cv
        self.scoring = scoring
        self.rule = rule
        self.form = form
        self.lams = lams
        self.budgets = budgets
        self.n_lams = n_lams
        self.lam_min_ratio = lam_min_ratio
        self.fit_intercept = fit_intercept
        self.penalty_factors = penalty_factors
        self.standardize = standardize
        self.class_weight = class_weight
        self.multiclass = multiclass
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.max_time = max_time
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Self:
        """Choose the strength and fit the model.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            The columns.
        y : array-like of shape (n_samples,)
            The classes, of any kind that can be sorted.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows in grid, fits and scores; a weight of 2 is the row given twice.
        groups : array-like of shape (n_samples,), default=None
            Groups of rows for `cv` to keep together.

        Returns
        -------
        self : LinearClassifierCV
            The fitted model.
        """
        return self._fit_groups(groups, X, y, sample_weight)
