"""scikit-learn's own checks of the estimators that choose their strength; none is expected to fail."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

import dualgap as dg

ESTIMATORS = [
    dg.LinearRegressorCV(cv=3, n_lams=8),
    dg.LinearRegressorCV("squared", "l1", cv=3, n_lams=4, rule="1se", form="constrained"),
    dg.LinearClassifierCV(cv=3, n_lams=3),
]


def _checks() -> pytest.MarkDecorator:
    """`parametrize_with_checks` with the list that pytest wants; scikit-learn 1.6 hands over a generator."""
    mark = parametrize_with_checks(ESTIMATORS)
    names, cases = mark.args
    return pytest.mark.parametrize(names, list(cases), **mark.kwargs)


@_checks()
def test_scikit_learn(estimator: Any, check: Callable[[Any], None]) -> None:
    check(estimator)
