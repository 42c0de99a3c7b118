"""AIC and BIC along paths."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_diabetes
from sklearn.linear_model import LassoLarsIC

import dualgap as dg
from dualgap.errors import DataError
from dualgap.paths.criterion import degrees
from path_instances import ordinary


@pytest.mark.parametrize("name", ["aic", "bic"])
def test_the_lasso_is_chosen_as_elsewhere(name: str) -> None:
    X, y = load_diabetes(return_X_y=True)
    path = dg.path(X, y, loss="squared", penalty="l1")
    best = int(path.criterion(name).argmin())
    other = LassoLarsIC(name).fit(X, y)
    assert path.lams[best] == pytest.approx(2.0 * other.alpha_)
    n, rss = len(y), float(np.sum((y - X @ path.coefs[best] - path.intercepts[best]) ** 2))
    price = 2.0 if name == "aic" else np.log(n)
    expected = n * np.log(2.0 * np.pi * rss / n) + n + price * (path.n_nonzero[best] + 1)
    assert path.criterion(name)[best] == pytest.approx(expected)


@pytest.mark.parametrize("rows", [40, 5])
def test_the_ridge_has_the_trace_of_its_hat_matrix(rows: int) -> None:
    X, y = ordinary("squared", rows, 7, seed=1)
    weights = np.random.default_rng(0).uniform(0.5, 2.0, rows)
    path = dg.path(X, y, loss="squared", penalty="l2", sample_weight=weights, n_lams=4)
    a = weights / weights.sum()
    full = np.column_stack([X, np.ones(rows)])
    for lam, found in zip(path.lams, degrees(path), strict=True):
        hat = full @ np.linalg.solve(full.T * a @ full + np.diag([lam] * 7 + [0.0]), full.T * a)
        assert found == pytest.approx(np.trace(hat))


@pytest.mark.parametrize(("loss", "penalty"), [("squared", "elastic_net(0.5)"), ("logistic", "l2")])
def test_squares_use_fewer_degrees_than_weights(loss: str, penalty: str) -> None:
    X, y = ordinary(loss, 40, 5, seed=2)
    path = dg.path(X, y, loss=loss, penalty=penalty, n_lams=6)
    used = degrees(path)
    assert np.all(used >= 1.0 - 1e-9)
    assert np.all(used[1:] < path.n_nonzero[1:] + 1.0)
    assert np.all(np.diff(used) > 0.0)


def test_a_weight_of_two_is_a_row_given_twice() -> None:
    X, y = ordinary("absolute", 30, 4, seed=3)
    times = np.random.default_rng(1).integers(1, 4, 30)
    for loss in ("absolute", "quantile(0.2)", "squared"):
        lams = [0.2, 0.05, 0.01]
        weighed = dg.path(X, y, loss=loss, sample_weight=times, lams=lams)
        repeated = dg.path(np.repeat(X, times, axis=0), np.repeat(y, times), loss=loss, lams=lams)
        assert weighed.criterion("bic") == pytest.approx(repeated.criterion("bic"))


def test_no_criterion_where_the_rows_are_used_up() -> None:
    X, y = ordinary("squared", 8, 20, seed=4)
    path = dg.path(X, y, loss="squared", penalty="l1")
    assert np.isinf(path.criterion("aic")[-1])
    assert np.isfinite(path.criterion("aic")).any()


def test_what_is_not_defined_is_refused() -> None:
    X, y = ordinary("hinge", 20, 3, seed=5)
    with pytest.raises(DataError, match="likelihood"):
        dg.path(X, y, loss="hinge").criterion("aic")
    with pytest.raises(DataError, match="degrees of freedom of linf"):
        dg.path(X, y, loss="logistic", penalty="linf", n_lams=3).criterion("aic")
    with pytest.raises(DataError, match="degrees of freedom of absolute"):
        dg.path(X, y, loss="absolute", penalty="l2").criterion("aic")
    with pytest.raises(DataError, match="no criterion"):
        dg.path(X, y, loss="logistic", n_lams=3).criterion("cp")
    many = dg.path(X, np.arange(20) % 3, loss="logistic", n_lams=3)
    with pytest.raises(DataError, match="two classes"):
        many.criterion("aic")
