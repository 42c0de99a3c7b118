"""partial_fit on pieces is one long pass over the whole."""

from __future__ import annotations

import pickle
import warnings
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import dualgap as dg
import transcriptions as source
from dualgap.errors import DataError, NotCertifiedWarning

X, Y, LABELS = source.data(90, 4)
NAMES = np.where(LABELS > 0, "yes", "no")
RULE = dg.solvers.StochasticSubgradient(dg.steps.Ratio(0.5, 20.0), order="given")


def one_pass(y: Any, solver: Any, weights: Any = None, **keywords: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotCertifiedWarning)
        return dg.fit(X, y, solver=solver, max_iter=1, sample_weight=weights, **keywords)


def in_pieces(model: Any, y: Any, weights: Any = None, matrix: Any = X, **first: Any) -> Any:
    for part in np.array_split(np.arange(len(X)), [1, 10, 11, 50]):
        more = {} if weights is None else {"sample_weight": weights[part]}
        model.partial_fit(matrix[part], y[part], **more, **first)
    return model


@pytest.mark.parametrize("averaged", [False, True])
@pytest.mark.parametrize("matrix", [X, sp.csr_array(X)], ids=["dense", "sparse"])
def test_pieces_are_the_whole(averaged: bool, matrix: Any) -> None:
    rule = dg.solvers.StochasticSubgradient(RULE.step, order="given", averaged=averaged)
    model = dg.LinearRegressor("absolute", "elastic_net(0.5)", lam=0.1, solver=rule)
    in_pieces(model, Y, matrix=matrix)
    whole = one_pass(Y, rule, loss="absolute", penalty="elastic_net(0.5)", lam=0.1)
    np.testing.assert_allclose(model.coef_, whole.coef, rtol=1e-10)
    assert model.intercept_ == pytest.approx(whole.intercept)
    assert model.n_iter_ == len(X)


def test_weights_and_classes_known_up_front() -> None:
    weights = np.random.default_rng(0).uniform(0.2, 2.0, len(X))
    weights /= weights.mean()
    rule = dg.solvers.Pegasos(order="given")
    model = dg.LinearClassifier("hinge", lam=0.1, solver=rule)
    in_pieces(model, NAMES, weights, classes=["yes", "no"])
    whole = one_pass(NAMES, rule, weights, loss="hinge", penalty="l2", lam=0.1)
    np.testing.assert_allclose(model.coef_[0], whole.coef, rtol=1e-10)
    assert model.classes_.tolist() == ["no", "yes"]
    assert set(model.predict(X)) <= {"no", "yes"}


def test_more_classes_one_against_the_rest() -> None:
    y = np.digitize(Y, np.quantile(Y, [0.3, 0.6]))
    model = dg.LinearClassifier("logistic", lam=0.01, solver=dg.solvers.StochasticGradient(0.05))
    for _ in range(20):
        in_pieces(model, y, classes=[0, 1, 2])
    assert model.coef_.shape == (3, 4)
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)
    assert model.score(X, y) > 0.6


def test_the_schedule_survives_storage() -> None:
    model = dg.LinearRegressor("squared", lam=0.1, solver="stochastic_gradient").partial_fit(X[:40], Y[:40])
    other = pickle.loads(pickle.dumps(model))
    for one in (model, other):
        one.partial_fit(X[40:], Y[40:])
    assert np.array_equal(model.coef_, other.coef_)
    assert model.n_iter_ == len(X)


def test_it_goes_on_from_a_fit() -> None:
    model = dg.LinearRegressor("squared", lam=0.1, solver=dg.solvers.StochasticGradient(1e-12), max_iter=200)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotCertifiedWarning)
        model.set_params(solver="stochastic_gradient").fit(X, Y)
    before = model.coef_.copy()
    model.set_params(solver=dg.solvers.StochasticGradient(1e-12)).partial_fit(X, Y)
    np.testing.assert_allclose(model.coef_, before, rtol=1e-6)


def test_refusals() -> None:
    model = dg.LinearClassifier("hinge", lam=0.1, solver="pegasos")
    with pytest.raises(ValueError, match="classes must be passed on the first call"):
        model.partial_fit(X, NAMES)
    model.partial_fit(X, NAMES, classes=["no", "yes"])
    with pytest.raises(DataError, match="not among the classes"):
        model.partial_fit(X, np.where(LABELS > 0, "maybe", "no"))
    with pytest.raises(DataError, match="calls before"):
        model.partial_fit(X, NAMES, classes=["no", "yes", "maybe"])
    with pytest.raises(DataError, match="how many rows"):
        dg.LinearRegressor(C=1.0, solver="stochastic_gradient").partial_fit(X, Y)
    assert not hasattr(dg.LinearRegressor(), "partial_fit")
    with pytest.raises(ValueError, match="features"):
        model.partial_fit(X[:, :2], NAMES)
