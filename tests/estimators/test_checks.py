"""scikit-learn's own checks, for every loss and every penalty of the catalogues; none is expected to fail."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

import dualgap as dg
from dualgap import losses, penalties
from dualgap.losses import Loss
from dualgap.penalties import Penalty
from dualgap.traits import Trait

# What is not convex has checks of its own; scikit-learn's know no targets that are shares.
CONVEX = [loss for cls in losses.CATALOGUE.values() if Trait.CONVEX in (loss := cls()).traits]
LOSSES = [loss for loss in CONVEX if loss.highest == np.inf]
PENALTIES = [
    penalty
    for cls in penalties.CATALOGUE.values()
    if not cls.takes_groups and Trait.CONVEX in (penalty := cls()).gauge(np.ones(2), np.ones(2)).traits
]


def _classifies(loss: Loss) -> bool:
    return Trait.CLASSIFICATION in loss.traits


def _beside_logistic(penalty: Penalty) -> Loss:
    """The logistic loss, except where a column may go without a price (none; fused with one column): on
    separable data, as in the checks, it has no minimum.
    """
    if not penalty.gauge(np.ones(1), np.ones(1)).free.any():
        return losses.Logistic()
    return losses.SquaredHinge() if penalty.takes_strength else losses.Hinge()


def _estimators() -> Iterator[Any]:
    for loss in LOSSES:
        yield dg.LinearClassifier(loss) if _classifies(loss) else dg.LinearRegressor(loss)
    for penalty in PENALTIES:
        yield dg.LinearRegressor(penalty=penalty)
        yield dg.LinearClassifier(_beside_logistic(penalty), penalty)
    yield dg.LinearRegressor("quantile(0.9)", "l1", lam=0.01)
    yield dg.LinearRegressor("absolute", "none")
    yield dg.LinearRegressor("squared", "l1", budget=5.0, standardize=True)
    yield dg.LinearRegressor("huber", "linf", budget=5.0, fit_intercept=False)
    yield dg.LinearClassifier("logistic", "l2", budget=5.0, multiclass="one_vs_rest")
    yield dg.LinearClassifier("hinge", "l1", C=10.0, standardize=True, class_weight="balanced")
    yield dg.LinearClassifier("squared_hinge", "none")


def _checks() -> pytest.MarkDecorator:
    """`parametrize_with_checks` with the list that pytest wants; scikit-learn 1.6 hands over a generator."""
    mark = parametrize_with_checks(list(_estimators()))
    names, cases = mark.args
    return pytest.mark.parametrize(names, [case for case in cases if not _beyond_tags(*case)], **mark.kwargs)


def _beyond_tags(estimator: Any, check: Any) -> bool:
    """Several outputs are drawn below zero whatever the tags say of targets; tests/fitting has some above."""
    positive = estimator.__sklearn_tags__().target_tags.positive_only
    return bool(positive) and check.func.__name__ == "check_regressor_multioutput"


@pytest.mark.filterwarnings("ignore:Weights of zero are optimal")  # the perceptron loss says so
@_checks()
def test_scikit_learn(estimator: Any, check: Callable[[Any], None]) -> None:
    check(estimator)
