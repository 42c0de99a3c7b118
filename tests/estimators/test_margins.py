"""The linear machine told fully: slack, margins, dual coefficients, kinds, and the hard margin."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_iris, make_classification
from sklearn.svm import SVC, SVR

import dualgap as dg
from dualgap.errors import DataError, InfeasibleError


def data(seed: int = 1) -> tuple[Any, Any, Any]:
    X, y = make_classification(150, 4, n_informative=3, n_redundant=0, flip_y=0.1, random_state=seed)
    return X, y, 2.0 * y - 1.0


@pytest.mark.parametrize("C", [0.01, 1.0, 50.0])
def test_conditions_of_optimality(C: float) -> None:
    X, y, sign = data()
    model = dg.LinearClassifier("hinge", C=C, tol=1e-9).fit(X, y)
    alpha, slack, kind = model.dual_coef_, model.slack_, model.kind_
    w, b = model.coef_[0], model.intercept_[0]
    np.testing.assert_allclose(w, (alpha * sign) @ X, atol=1e-10)
    np.testing.assert_allclose(slack, np.maximum(1 - sign * (X @ w + b), 0.0), atol=1e-12)
    assert abs(alpha @ sign) <= 1e-10 * alpha.sum()
    assert np.all((alpha >= 0) & (alpha <= C / 2 * (1 + 1e-12)))
    assert np.all(alpha[kind == "outside"] == 0.0)
    np.testing.assert_allclose(alpha[(kind == "inside") | (kind == "misclassified")], C / 2, rtol=1e-12)
    assert np.all(slack[kind == "outside"] == 0.0)
    assert np.all(slack[kind == "misclassified"] >= 1.0)
    np.testing.assert_array_equal(model.support_, np.flatnonzero(alpha))
    assert model.margin_ == pytest.approx(1 / np.linalg.norm(w))
    np.testing.assert_allclose(model.geometric_margins_, sign * (X @ w + b) * model.margin_, atol=1e-12)
    lam = model.solution_.terms.lam
    assert lam * (2 * alpha.sum() - w @ w) == pytest.approx(model.solution_.bound, rel=1e-9)


@pytest.mark.parametrize("C", [0.1, 1.0, 10.0])
def test_the_machine_of_scikit_learn(C: float) -> None:
    X, y, _ = data()
    X = np.round(16 * X) / 16  # inner products that libsvm can hold in single precision without rounding
    model = dg.LinearClassifier("hinge", C=2 * C, tol=1e-11).fit(X, y)
    peer = SVC(kernel="linear", C=C, tol=1e-12).fit(X, y)
    np.testing.assert_allclose(model.coef_, peer.coef_, atol=1e-6)
    np.testing.assert_allclose(model.intercept_, peer.intercept_, atol=1e-6)
    np.testing.assert_array_equal(model.support_, np.sort(peer.support_))


def test_regression_and_its_tube() -> None:
    X, _, _ = data()
    X = np.round(16 * X) / 16  # see above
    rng = np.random.default_rng(0)
    y = X @ [1.0, 2.0, 0.0, -1.0] + 0.3 * rng.normal(size=len(X))
    model = dg.LinearRegressor("epsilon_insensitive(0.2)", C=2.0, tol=1e-9).fit(X, y)
    peer = SVR(kernel="linear", C=1.0, epsilon=0.2, tol=1e-12).fit(X, y)
    np.testing.assert_allclose(model.coef_, peer.coef_[0], atol=1e-6)
    np.testing.assert_allclose(model.coef_, model.dual_coef_ @ X, atol=1e-10)
    assert model.tube_ == 0.2
    assert np.all(model.dual_coef_[model.kind_ == "inside"] == 0.0)
    np.testing.assert_allclose(np.abs(model.dual_coef_[model.kind_ == "outside"]), 1.0, rtol=1e-12)
    np.testing.assert_allclose(model.slack_, np.maximum(np.abs(model.predict(X) - y) - 0.2, 0.0), atol=1e-12)


def test_many_classes_have_a_row_each() -> None:
    X, y = load_iris(return_X_y=True)
    model = dg.LinearClassifier("hinge").fit(X, y)
    assert model.slack_.shape == model.kind_.shape == model.dual_coef_.shape == (3, 150)
    for k in range(3):
        np.testing.assert_allclose(
            (model.dual_coef_[k] * np.where(y == k, 1, -1)) @ X, model.coef_[k], atol=1e-6
        )
    again = model.solution_.certificate.recheck(X, y)
    assert again.objective == pytest.approx(model.solution_.objective, rel=1e-9)
    assert again.bound == pytest.approx(model.solution_.bound, rel=1e-9)


def test_what_is_not_there() -> None:
    X, y, _ = data()
    with pytest.raises(AttributeError, match="hinge"):
        _ = dg.LinearClassifier("logistic").fit(X, y).slack_
    model = dg.LinearClassifier("hinge", "l1", lam=0.01).fit(X, y)
    assert model.slack_.shape == (150,)
    with pytest.raises(AttributeError, match="l2"):
        _ = model.dual_coef_


def separable(n: int, p: int, margin: float, seed: int) -> tuple[Any, Any, Any]:
    """Rows at `margin` or further from a plane, p + 3 of each class exactly there: its margin is known."""
    rng = np.random.default_rng(seed)
    w = rng.normal(size=p)
    w /= np.linalg.norm(w)
    X = rng.normal(size=(n, p))
    X -= np.outer(X @ w, w)
    y = (np.arange(n) % 2).astype(int)
    out = margin + np.where(np.arange(n) < 2 * p + 6, 0.0, rng.exponential(size=n))
    X[2 : 2 * p + 6 : 2] = X[3 : 2 * p + 6 : 2]  # both hulls touch the margin at the same place
    return X + np.outer(np.where(y == 1, 1.0, -1.0) * out, w) + 0.5 * w, y, w


@pytest.mark.parametrize("margin", [1.0, 1e-3, 1e-6])
@pytest.mark.parametrize("p", [2, 5, 20])
def test_hard_margin(p: int, margin: float) -> None:
    X, y, w = separable(200, p, margin, seed=p)
    model = dg.LinearClassifier("hinge", C=np.inf).fit(X, y)
    assert model.margin_ == pytest.approx(margin, rel=1e-6)
    np.testing.assert_allclose(model.coef_[0] * model.margin_, w, atol=1e-7)
    assert model.score(X, y) == 1.0
    assert model.geometric_margins_.min() >= margin * (1 - 1e-6)
    alpha = model.dual_coef_ * (2 * y - 1)
    assert np.linalg.norm(alpha @ X - model.coef_[0]) <= 1e-6 * np.linalg.norm(model.coef_)
    assert set(model.kind_) <= {"outside", "on the margin"}
    again = model.solution_.certificate.recheck(X, y)
    assert again.bound <= again.objective * (1 + 1e-9)
    assert again.bound == pytest.approx(again.objective, rel=1e-6)


@given(st.integers(0, 10_000), st.integers(1, 6))
def test_either_a_plane_or_a_proof(seed: int, p: int) -> None:
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(14, p)), np.arange(14) % 2
    try:
        solution = dg.fit(X, y, loss="hinge", C=float("inf"))
    except InfeasibleError as error:
        proof = error.proof
        assert proof is not None
        assert np.all(proof * (2 * y - 1) >= 0.0)
        assert proof[y == 1].sum() == pytest.approx(1.0)
        assert proof[y == 0].sum() == pytest.approx(-1.0)
        assert np.abs(proof @ X).max() <= 1e-10
    else:
        margins = (2 * y - 1) * (X @ solution.coef + solution.intercept)
        assert margins.min() >= 1.0 - 1e-9
        assert solution.relative_gap <= 1e-6


def test_the_hard_margin_is_the_limit_of_large_C() -> None:
    X, y, _ = separable(60, 3, 0.3, seed=0)
    hard = dg.fit(X, y, loss="hinge", C=np.inf)
    soft = dg.fit(X, y, loss="hinge", C=1e6, tol=1e-9)
    np.testing.assert_allclose(hard.coef, soft.coef, rtol=1e-4)


def test_hulls_that_touch_are_not_separable() -> None:
    X = np.array([[0.0], [1.0], [1.0], [2.0]])
    with pytest.raises(InfeasibleError, match="hulls") as caught:
        dg.LinearClassifier("hinge", C=np.inf).fit(X, [0, 0, 1, 1])
    np.testing.assert_allclose(caught.value.proof @ X, 0.0)


def test_a_hard_margin_needs_a_loss_with_a_margin() -> None:
    X, y, _ = separable(40, 2, 0.5, seed=0)
    with pytest.raises(DataError, match="hinge"):
        dg.fit(X, y, loss="logistic", C=np.inf)
    with pytest.raises(DataError, match="l2"):
        dg.fit(X, y, loss="hinge", penalty="l1", C=np.inf)
