"""LinearRegressor: the same numbers as its peers, weights as repetitions, refusals in a sentence."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.base import is_regressor
from sklearn.datasets import load_diabetes
from sklearn.linear_model import ElasticNet, Lasso, LinearRegression, QuantileRegressor, Ridge
from sklearn.utils import get_tags

import dualgap as dg
from dualgap.errors import DataError, NotCertifiedWarning
from dualgap.losses import Huber, Logistic

X, y = load_diabetes(return_X_y=True)
N = len(y)

PEERS: list[tuple[Any, dg.LinearRegressor]] = [
    (LinearRegression(), dg.LinearRegressor("squared", "none")),
    (Ridge(), dg.LinearRegressor()),
    (Ridge(alpha=0.3), dg.LinearRegressor(lam=0.3 / N)),
    (Ridge(fit_intercept=False), dg.LinearRegressor(fit_intercept=False)),
    (Lasso(alpha=0.1, tol=1e-12, max_iter=100000), dg.LinearRegressor("squared", "l1", lam=0.2, tol=1e-12)),
    (
        ElasticNet(alpha=0.1, l1_ratio=0.8, tol=1e-12, max_iter=100000),
        dg.LinearRegressor("squared", "elastic_net(0.125)", lam=0.16, tol=1e-12),
    ),
    (
        QuantileRegressor(quantile=0.8, alpha=0.1),
        dg.LinearRegressor("quantile(0.8)", "l1", lam=0.1, tol=1e-12),
    ),
]


@pytest.mark.parametrize(("peer", "model"), PEERS, ids=lambda model: str(model)[:40])
def test_same_as_scikit_learn(peer: Any, model: dg.LinearRegressor) -> None:
    peer.fit(X, y)
    model.fit(X, y)
    np.testing.assert_allclose(model.coef_, peer.coef_, rtol=1e-5, atol=1e-5 * np.abs(peer.coef_).max())
    assert model.intercept_ == pytest.approx(peer.intercept_, rel=1e-6)
    np.testing.assert_allclose(model.predict(X), peer.predict(X), rtol=1e-5)
    assert model.score(X, y) == pytest.approx(peer.score(X, y), rel=1e-6)


def test_what_a_fitted_model_shows() -> None:
    model = dg.LinearRegressor("huber(50)", "l1", lam=1.0).fit(X, y)
    solution = dg.fit(X, y, loss="huber(50)", penalty="l1", lam=1.0)
    assert model.coef_.shape == (10,) and isinstance(model.intercept_, float)
    assert model.n_features_in_ == 10 and not hasattr(model, "feature_names_in_")
    assert model.n_iter_ == max(solution.n_iter, 1)
    assert model.solution_.relative_gap <= 1e-6
    np.testing.assert_array_equal(model.coef_, solution.coef)
    np.testing.assert_array_equal(model.predict(X), X @ solution.coef + solution.intercept)
    assert is_regressor(model) and not hasattr(model, "decision_function")


def test_zero_weights_still_count_one_point() -> None:
    model = dg.LinearRegressor("squared", "l1", lam=1e6).fit(X, y)
    assert not model.coef_.any() and model.n_iter_ == 1
    assert model.intercept_ == pytest.approx(y.mean())


@pytest.mark.parametrize("loss", ["squared", "huber(50)"])
def test_weights_are_repetitions(loss: str) -> None:
    w = np.random.default_rng(0).integers(0, 4, N)
    weighted = dg.LinearRegressor(loss, C=0.5).fit(X, y, sample_weight=w)
    repeated = dg.LinearRegressor(loss, C=0.5).fit(X.repeat(w, axis=0), y.repeat(w))
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, rtol=1e-6)
    assert weighted.score(X, y, w) == pytest.approx(repeated.score(X.repeat(w, axis=0), y.repeat(w)))


@pytest.mark.parametrize("given", [list, np.float32, sp.csr_array, sp.coo_matrix, pd.DataFrame, pl.DataFrame])
def test_tables_of_every_kind(given: Any) -> None:
    table = X.tolist() if given is list else X.astype(given) if given is np.float32 else given(X)
    model = dg.LinearRegressor().fit(table, y)
    np.testing.assert_allclose(model.coef_, dg.LinearRegressor().fit(X, y).coef_, rtol=1e-4)
    assert model.predict(table).shape == (N,)


NAMES = load_diabetes().feature_names


def test_names_of_columns_are_kept_and_compared() -> None:
    frame = pd.DataFrame(X, columns=NAMES)
    model = dg.LinearRegressor().fit(frame, y)
    assert list(model.feature_names_in_) == NAMES
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(frame[NAMES[::-1]])
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        assert model.predict(X).shape == (N,)
    model.fit(X, y)
    assert not hasattr(model, "feature_names_in_")
    with pytest.raises(ValueError, match="X has 9 features, but LinearRegressor is expecting 10"):
        model.predict(X[:, :9])


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame])
def test_columns_may_be_called_by_name(kind: Any) -> None:
    frame = kind(dict(zip(NAMES, X.T, strict=True)))
    model = dg.LinearRegressor("squared", "l1", lam=1e6, penalty_factors={"bmi": 0.0}).fit(frame, y)
    assert model.solution_.names == tuple(NAMES)
    assert np.flatnonzero(model.coef_) == [NAMES.index("bmi")]
    with pytest.raises(ValueError, match=r"feature names should match|the fit had"):
        model.predict(frame[NAMES[::-1]])


def test_warm_start_where_it_fits() -> None:
    model = dg.LinearRegressor("absolute", "l2", lam=1e-3, warm_start=True).fit(X, y)
    cold = model.n_iter_
    assert model.fit(X, y).n_iter_ < cold
    assert model.fit(X[:, :4], y).coef_.shape == (4,)
    assert model.solution_.converged


REFUSED = [
    (dg.LinearRegressor("hinge"), "predicts numbers, which the hinge loss does not: use LinearClassifier"),
    (dg.LinearRegressor(Logistic()), "use LinearClassifier"),
    (dg.LinearRegressor("hubber"), "Did you mean 'huber'"),
    (dg.LinearRegressor(penalty="l1_norm"), "There is no penalty 'l1_norm'"),
    (dg.LinearRegressor(lam=0.1, C=1.0), "Give exactly one strength"),
    (dg.LinearRegressor(penalty="none", C=1.0), "takes no strength"),
    (dg.LinearRegressor(lam=-1.0), "lam must be"),
    (dg.LinearRegressor(tol=-1.0), "tol must be"),
    (dg.LinearRegressor(solver="newtn"), "There is no solver 'newtn'"),
    (dg.LinearRegressor(penalty_factors=[1.0, 2.0]), "penalty_factors"),
]


@pytest.mark.parametrize(("model", "sentence"), REFUSED, ids=lambda part: str(part)[:40])
def test_refusals(model: dg.LinearRegressor, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        model.fit(X, y)
    assert not hasattr(model, "coef_")


def test_missing_value_is_named() -> None:
    frame = pd.DataFrame(X, columns=load_diabetes().feature_names)
    frame.loc[42, "bmi"] = np.nan
    with pytest.raises(DataError, match=r"NaN in column 'bmi'.*row 42"):
        dg.LinearRegressor().fit(frame, y)
    with pytest.raises(DataError, match=r"NaN in column 'bmi'.*row 42"):
        dg.LinearRegressor().fit(frame.fillna(0.0), y).predict(frame)


def test_unproven_answers_come_with_a_warning() -> None:
    model = dg.LinearRegressor("absolute", "l1", lam=0.01, max_iter=1)
    with pytest.warns(NotCertifiedWarning, match="relative duality gap"):
        model.fit(X, y)
    assert not model.solution_.converged and model.n_iter_ == 1


def test_tags_tell_the_truth() -> None:
    assert get_tags(dg.LinearRegressor()).input_tags.sparse
    assert not get_tags(dg.LinearRegressor(Huber(2.0))).regressor_tags.poor_score
    assert get_tags(dg.LinearRegressor("quantile(0.9)")).regressor_tags.poor_score
    assert not get_tags(dg.LinearRegressor("nonsense")).regressor_tags.poor_score
