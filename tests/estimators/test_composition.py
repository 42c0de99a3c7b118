"""The estimators inside scikit-learn's machinery: pipelines, searches, routing, cloning, pickling, pages."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import dualgap as dg


def test_search_over_losses_penalties_and_strengths() -> None:
    X, y = load_diabetes(return_X_y=True)
    grid = {"loss": ["squared", "huber(50)"], "penalty": ["l1", dg.penalties.L2()], "lam": [1e-3, 1e3]}
    search = GridSearchCV(dg.LinearRegressor(), grid, cv=3).fit(X, y)
    assert search.best_params_["lam"] == 1e-3
    assert search.best_score_ > 0.4
    assert search.best_estimator_.solution_.converged


def test_cross_val_score_of_a_pipeline() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    model = make_pipeline(StandardScaler(), dg.LinearClassifier("squared_hinge", C=0.05))
    assert cross_val_score(model, X, y, cv=3).min() > 0.93


def test_columns_of_words_beside_columns_of_numbers() -> None:
    rng = np.random.default_rng(0)
    colour = rng.choice(["red", "green", "blue"], 60)
    frame = pd.DataFrame({"colour": colour, "size": rng.normal(size=60)})
    y = np.where(colour == "red", 2.0, 0.0) + 3.0 * frame["size"]
    columns = ColumnTransformer([("words", OneHotEncoder(), ["colour"])], remainder=StandardScaler())
    model = make_pipeline(columns, dg.LinearRegressor("absolute", "l1", lam=1e-3)).fit(frame, y)
    assert model.score(frame, y) > 0.99


def test_target_transformer_and_calibration() -> None:
    X, y = load_diabetes(return_X_y=True)
    logarithmic = TransformedTargetRegressor(dg.LinearRegressor(), func=np.log, inverse_func=np.exp)
    assert logarithmic.fit(X, y).score(X, y) > 0.3
    X, y = load_iris(return_X_y=True)
    calibrated = CalibratedClassifierCV(dg.LinearClassifier("hinge"), cv=3).fit(X, y)
    assert calibrated.predict_proba(X).shape == (150, 3)


def test_weights_are_routed_to_fit_and_score() -> None:
    X, y = load_diabetes(return_X_y=True)
    w = np.random.default_rng(0).integers(0, 4, len(y)).astype(float)
    with sklearn.config_context(enable_metadata_routing=True):
        model = dg.LinearRegressor().set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        search = GridSearchCV(model, {"C": [0.1, 10.0]}, cv=3).fit(X, y, sample_weight=w)
        with pytest.raises(UnsetMetadataPassedError, match="sample_weight"):
            GridSearchCV(dg.LinearRegressor(), {"C": [0.1, 10.0]}, cv=3).fit(X, y, sample_weight=w)
    direct = dg.LinearRegressor(C=search.best_params_["C"]).fit(X, y, sample_weight=w)
    np.testing.assert_allclose(search.best_estimator_.coef_, direct.coef_)
    unweighted = dg.LinearRegressor(C=search.best_params_["C"]).fit(X, y)
    assert np.abs(direct.coef_ - unweighted.coef_).max() > 1.0


MODELS: list[Any] = [
    dg.LinearRegressor(dg.losses.Quantile(0.9), "l1", lam=0.1),
    dg.LinearClassifier("logistic", dg.penalties.ElasticNet(0.5), C=2.0, class_weight={0: 1, 1: 3}),
]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_clones_and_pickles(model: Any) -> None:
    X, y = load_breast_cancer(return_X_y=True)
    assert clone(model).get_params() == model.get_params()
    fitted = clone(model).fit(X[:, :5], y)
    copy = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(copy.predict(X[:, :5]), fitted.predict(X[:, :5]))
    assert copy.solution_.gap == fitted.solution_.gap
    again = copy.solution_.certificate.recheck(X[:, :5], y)
    assert again.gap == fitted.solution_.certificate.recheck(X[:, :5], y).gap
    assert (
        again.gap <= fitted.solution_.certificate.gap
    )  # a fit may be content with a rougher charge of rounding


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_page_and_line(model: Any) -> None:
    X, y = load_breast_cancer(return_X_y=True)
    fitted = clone(model).fit(X[:, :5], y)
    page = fitted._repr_html_() if hasattr(fitted, "_repr_html_") else fitted._repr_html_inner()
    assert type(model).__name__ in page
    assert "fitted" in page
    assert repr(dg.LinearRegressor("huber", lam=0.1)) == "LinearRegressor(lam=0.1, loss='huber')"
