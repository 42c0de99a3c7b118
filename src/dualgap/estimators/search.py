"""LinearRegressorCV and LinearClassifierCV: the strength chosen on rows held out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

from dualgap.estimators.base import keep, one_column
from dualgap.estimators.classification import LinearClassifier
from dualgap.estimators.documentation import documented
from dualgap.estimators.linear import LinearModel
from dualgap.estimators.regression import LinearRegressor
from dualgap.fitting.offsets import named, parted
from dualgap.fitting.solution import Solution
from dualgap.losses import Loss
from dualgap.penalties import Penalty
from dualgap.selection.cross_validate import cross_validate
from dualgap.selection.search import Search

SEARCHED_OVER = "cv rule form lams budgets n_lams lam_min_ratio n_jobs"
SHOWN = "coef_ intercept_ solution_ n_iter_ n_features_in_ feature_names_in_"


class Searched(LinearModel):
    """A linear model whose strength `dualgap.cross_validate` chooses."""

    scoring: Any
    search_: Search

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

    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None, *, offset: Any = None
    ) -> Self:
        """Choose the strength and fit the model.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            The columns.
        y : array-like of shape (n_samples,)
            The numbers to predict, or the classes, of any kind that can be sorted.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows in grid, fits and scores; a weight of 2 is the row given twice.
        groups : array-like of shape (n_samples,), default=None
            Groups of rows for `cv` to keep together.
        offset : array-like of shape (n_samples,), number or str, default=None
            What is added to f(x), row by row, or the column of X that holds it; log(exposure) for rates.

        Returns
        -------
        self : estimator
            The fitted model.
        """
        self._fit(X, one_column(y), sample_weight, groups=groups, offset=offset)
        return self

    def _solve(self, X: Any, y: Any, sample_weight: Any, offset: Any = None, **more: Any) -> Solution:
        """The search and its solution on all rows, kept."""
        X, offset, name = parted(X, offset)
        over = {name: getattr(self, name) for name in SEARCHED_OVER.split()}
        asked = self._asked(X, y, sample_weight)
        asked["column_groups"] = asked.pop("groups")
        self.search_ = cross_validate(**asked, **over, score=self.scoring, offset=offset, **more)
        self.solution_ = self.search_.solution = named(self.search_.solution, name)
        return self.solution_


@documented(
    f"search_ lam_,budget_ {SHOWN}",
    loss=("str or Loss", "As in `LinearRegressor`."),
    penalty='As in `LinearRegressor`; "none" has no strength to choose.',
    tol="The relative duality gap to reach in every fold and in the end.",
)
class LinearRegressorCV(Searched, LinearRegressor):
    """Linear regression with any loss and any penalty, its strength chosen by cross-validation.

    {sections}

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
        groups: Any = None,
        bounds: Any = None,
        constraints: Any = None,
        positive: bool = False,
        solver: Any = "auto",
        tol: float = 1e-6,
        max_iter: int | None = None,
        max_time: float | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        keep(self, locals())


@documented(
    f"search_ lam_,budget_ classes_ {SHOWN}",
    loss=("str or Loss", "As in `LinearClassifier`."),
    penalty='As in `LinearClassifier`; "none" has no strength to choose.',
    tol="The relative duality gap to reach in every fold and in the end.",
)
class LinearClassifierCV(Searched, LinearClassifier):
    """Linear classification with any loss and any penalty, its strength chosen by cross-validation.

    {sections}

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
        groups: Any = None,
        bounds: Any = None,
        constraints: Any = None,
        positive: bool = False,
        class_weight: Mapping[Any, float] | str | None = None,
        multiclass: str = "auto",
        solver: Any = "auto",
        tol: float = 1e-6,
        max_iter: int | None = None,
        max_time: float | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        keep(self, locals())
