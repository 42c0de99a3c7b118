"""LinearRegressorCV and LinearClassifierCV: the strength chosen on rows held out."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Self

from dualgap.estimators.classification import Classification
from dualgap.estimators.documentation import described, documented
from dualgap.estimators.linear import LinearModel
from dualgap.estimators.regression import Regression
from dualgap.fitting.offsets import named, parted
from dualgap.fitting.solution import Solution
from dualgap.losses import Loss
from dualgap.selection.cross_validate import cross_validate
from dualgap.selection.search import Search

SHOWN = "coef_ intercept_ solution_ n_iter_ n_features_in_ feature_names_in_"


@dataclass(eq=False, repr=False, kw_only=True)
class OverStrengths:
    """What is searched over, and how it is scored."""

    cv: Any = 5
    scoring: Any = "loss"
    rule: Any = "min"
    form: str = "penalised"
    lams: Any = None
    budgets: Any = None
    n_lams: int = 100
    lam_min_ratio: float | None = None
    n_jobs: int | None = None


class Searched(LinearModel, OverStrengths):
    """A linear model whose strength `dualgap.cross_validate` chooses."""

    search_: Search

    @property
    def lam_(self) -> float:
        """The λ that the rule chose."""
        return self.search_.lam

    @property
    def budget_(self) -> float:
        """The budget that the rule chose, with form="constrained"."""
        return self.search_.budget

    @described
    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None, *, offset: Any = None
    ) -> Self:
        """Choose the strength and fit the model.

        {rows}

        Returns
        -------
        self : estimator
            The fitted model.
        """
        self._fit(X, self._targets(y), sample_weight, groups=groups, offset=offset)
        return self

    def _solve(self, X: Any, y: Any, sample_weight: Any, offset: Any = None, **more: Any) -> Solution:
        """The search and its solution on all rows, kept."""
        X, offset, name = parted(X, offset)
        over = {one.name: getattr(self, one.name) for one in fields(OverStrengths)}
        asked = self._asked(X, y, sample_weight)
        asked["column_groups"] = asked.pop("groups")
        self.search_ = cross_validate(**asked, score=over.pop("scoring"), **over, offset=offset, **more)
        self.solution_ = self.search_.solution = named(self.search_.solution, name)
        return self.solution_


@documented(
    f"search_ lam_,budget_ {SHOWN}",
    loss=("str or Loss", "As in `LinearRegressor`."),
    penalty='As in `LinearRegressor`; "none" has no strength to choose.',
    tol="The relative duality gap to reach in every fold and in the end.",
)
@dataclass(eq=False, repr=False)
class LinearRegressorCV(Searched, Regression):
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

    loss: str | Loss = "squared"


@documented(
    f"search_ lam_,budget_ classes_ {SHOWN}",
    loss=("str or Loss", "As in `LinearClassifier`."),
    penalty='As in `LinearClassifier`; "none" has no strength to choose.',
    tol="The relative duality gap to reach in every fold and in the end.",
)
@dataclass(eq=False, repr=False)
class LinearClassifierCV(Searched, Classification):
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

    loss: str | Loss = "logistic"
