"""LinearRegressor: any regression loss with any penalty, behind scikit-learn's interface."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.metaestimators import available_if

from dualgap.estimators.base import one_column
from dualgap.estimators.documentation import described, documented
from dualgap.estimators.kinds import Regressor
from dualgap.estimators.linear import FittedLinear, LinearModel, learns_by_rows
from dualgap.estimators.margins import TubeAttributes
from dualgap.losses import Loss

LOSSES = (
    "str or Loss",
    '"squared", "absolute", "quantile(0.9)", "huber(1.35)", "epsilon_insensitive(0.1)", '
    '"squared_epsilon_insensitive(0.1)", "poisson", "gamma", "tweedie(1.5)", "binomial" (which predict '
    'means), "quantiles(0.1, 0.5, 0.9)" (several outputs of one target), or an object of `dualgap.losses`.',
)


class Regression(TubeAttributes, Regressor, LinearModel):
    """Numbers predicted by columns."""

    counterpart = "LinearClassifier"

    @property
    def coef_(self) -> NDArray[np.float64]:
        """The weights."""
        return self.solution_.coef

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def _fit(self, X: Any, y: Any, sample_weight: Any, **more: Any) -> None:
        self._solve(X, y, sample_weight, **more)


@documented(
    "coef_ intercept_ solution_ n_iter_ n_features_in_ feature_names_in_ slack_",
    loss=LOSSES,
    coef_=("ndarray of shape (n_features,) or (n_outputs, n_features)", "The weights."),
    intercept_=("float or ndarray of shape (n_outputs,)", "The constant; 0.0 if fit_intercept=False."),
)
@dataclass(eq=False, repr=False)
class LinearRegressor(Regression, FittedLinear):
    """Linear regression with any loss and any penalty, and a proof of optimality.

    It minimises C·Σ loss + penalty, or mean loss + lam·penalty, or the mean loss where penalty ≤ budget.

    {sections}

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

    loss: str | Loss = "squared"

    @available_if(learns_by_rows)  # type: ignore[untyped-decorator]
    @described
    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from some more rows, in the order given; for the stochastic solvers, with lam or no penalty.

        {rows}

        Returns
        -------
        self : LinearRegressor
            The model, a step further for every row.
        """
        self._learn(X, one_column(y), sample_weight)
        return self
