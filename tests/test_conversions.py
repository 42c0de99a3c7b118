"""The conversion tables of docs/coming-from: scikit-learn's weights are ours after the stated conversion.

Each case fits a scikit-learn model tightly, fits ours with the converted strength, and compares weights.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from sklearn import kernel_ridge, linear_model, svm
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris

import dualgap as dg

ROWS = 120


def scaled(values: Any) -> Any:
    return (values - values.mean(axis=0)) / values.std(axis=0)


X, Y = (part[:ROWS] for part in load_diabetes(return_X_y=True, scaled=False))
X, Y = scaled(X), scaled(Y)
CELLS, BENIGN = (part[:ROWS] for part in load_breast_cancer(return_X_y=True))
CELLS = scaled(CELLS[:, :6])
IRIS, SPECIES = load_iris(return_X_y=True)
IRIS = scaled(IRIS)
S = np.random.default_rng(0).uniform(0.5, 2.0, ROWS)  # sample weights

TIGHT: dict[str, Any] = {"tol": 1e-12, "max_iter": 1_000_000}
HOW: dict[str, Any] = {"tol": 1e-11}


def ones(table: Any, value: float = 1.0) -> Any:
    """The table with a constant column behind: an intercept that is penalised like any other weight."""
    return np.column_stack([table, np.full(len(table), value)])


def same(model: Any, solution: dg.Solution, *, digits: float = 1e-5) -> None:
    """The same weights and the same intercept."""
    size = np.abs(solution.coef).max()
    theirs = np.asarray(model.coef_, dtype=float).reshape(np.shape(solution.coef))
    assert size > 1e-3  # all zero would prove nothing
    np.testing.assert_allclose(theirs, solution.coef, atol=digits * size)
    level = np.asarray(model.intercept_, dtype=float).reshape(np.shape(solution.intercept))
    np.testing.assert_allclose(level, solution.intercept, atol=10 * digits * size)


@dataclass(frozen=True)
class Case:
    """A model of theirs, and the keywords of `dg.fit` that state the same problem."""

    model: Any
    ours: dict[str, Any]
    digits: float = 1e-5


n = ROWS
REGRESSION = {
    "LinearRegression": Case(linear_model.LinearRegression(), dict(loss="squared", penalty="none")),
    "Ridge": Case(linear_model.Ridge(alpha=3.0), dict(loss="squared", penalty="l2", lam=3.0 / n)),
    "Ridge, as C": Case(linear_model.Ridge(alpha=3.0), dict(loss="squared", penalty="l2", C=1.0 / 3.0)),
    "Lasso": Case(linear_model.Lasso(alpha=0.05, **TIGHT), dict(loss="squared", penalty="l1", lam=0.1)),
    "LassoLars": Case(linear_model.LassoLars(alpha=0.05), dict(loss="squared", penalty="l1", lam=0.1)),
    "ElasticNet": Case(
        linear_model.ElasticNet(alpha=0.1, l1_ratio=0.4, **TIGHT),
        dict(loss="squared", penalty="elastic_net(0.75)", lam=0.08),
    ),
    "Lasso, positive": Case(
        linear_model.Lasso(alpha=0.05, positive=True, **TIGHT),
        dict(loss="squared", penalty="l1", lam=0.1, bounds="nonnegative"),
    ),
    "Ridge, positive": Case(
        linear_model.Ridge(alpha=3.0, positive=True, **TIGHT),
        dict(loss="squared", penalty="l2", lam=3.0 / n, bounds="nonnegative"),
        1e-4,
    ),
    "QuantileRegressor": Case(
        linear_model.QuantileRegressor(quantile=0.7, alpha=0.02),
        dict(loss="quantile(0.7)", penalty="l1", lam=0.02),
    ),
    "LinearSVR without intercept": Case(
        svm.LinearSVR(epsilon=0.1, C=0.3, fit_intercept=False, **TIGHT),
        dict(loss="epsilon_insensitive(0.1)", penalty="l2", C=0.6, fit_intercept=False),
    ),
    "LinearSVR squared": Case(
        svm.LinearSVR(
            epsilon=0.1, C=0.3, loss="squared_epsilon_insensitive", fit_intercept=False, dual=False, **TIGHT
        ),
        dict(loss="squared_epsilon_insensitive(0.1)", penalty="l2", C=0.6, fit_intercept=False),
    ),
    "SVR linear": Case(
        svm.SVR(kernel="linear", epsilon=0.1, C=0.3, tol=1e-10),
        dict(loss="epsilon_insensitive(0.1)", penalty="l2", C=0.6),
    ),
}
CLASSES = {
    "LogisticRegression": Case(
        linear_model.LogisticRegression(C=0.5, **TIGHT), dict(loss="logistic", penalty="l2", C=1.0)
    ),
    "LogisticRegression, as lam": Case(
        linear_model.LogisticRegression(C=0.5, **TIGHT), dict(loss="logistic", penalty="l2", lam=1.0 / n)
    ),
    "LogisticRegression unpenalised": Case(
        linear_model.LogisticRegression(C=np.inf, **TIGHT), dict(loss="logistic", penalty="none")
    ),
    "LogisticRegression l1": Case(
        linear_model.LogisticRegression(C=0.5, l1_ratio=1.0, solver="saga", **TIGHT),
        dict(loss="logistic", penalty="l1", C=0.5),
    ),
    "LogisticRegression elastic net": Case(
        linear_model.LogisticRegression(C=0.5, l1_ratio=0.4, solver="saga", **TIGHT),
        dict(loss="logistic", penalty="elastic_net(0.75)", C=0.5 / 0.4),
    ),
    "LinearSVC without intercept": Case(
        svm.LinearSVC(C=0.3, fit_intercept=False, dual=False, **TIGHT),
        dict(loss="squared_hinge", penalty="l2", C=0.6, fit_intercept=False),
    ),
    "LinearSVC hinge": Case(
        svm.LinearSVC(C=0.03, loss="hinge", fit_intercept=False, **TIGHT),
        dict(loss="hinge", penalty="l2", C=0.06, fit_intercept=False),
    ),
    "LinearSVC l1": Case(
        svm.LinearSVC(C=0.3, penalty="l1", fit_intercept=False, dual=False, tol=1e-7, max_iter=100_000),
        dict(loss="squared_hinge", penalty="l1", C=0.3, fit_intercept=False),
    ),
    "SVC linear": Case(
        svm.SVC(kernel="linear", C=0.3, tol=1e-10), dict(loss="hinge", penalty="l2", C=0.6), digits=1e-4
    ),
}


@pytest.mark.parametrize("name", REGRESSION)
def test_regression(name: str) -> None:
    case = REGRESSION[name]
    same(case.model.fit(X, Y), dg.fit(X, Y, **case.ours, **HOW), digits=case.digits)


@pytest.mark.parametrize("name", CLASSES)
def test_two_classes(name: str) -> None:
    case = CLASSES[name]
    same(case.model.fit(CELLS, BENIGN), dg.fit(CELLS, BENIGN, **case.ours, **HOW), digits=case.digits)


@pytest.mark.parametrize(
    ("model", "strength"),
    [
        (linear_model.Ridge(alpha=3.0), lambda s: dict(penalty="l2", lam=3.0 / s.sum())),
        (linear_model.Lasso(alpha=0.05, **TIGHT), lambda s: dict(penalty="l1", lam=0.1)),
    ],
    ids=["Ridge", "Lasso"],
)
def test_sample_weights_of_squares(model: Any, strength: Callable[[Any], dict[str, Any]]) -> None:
    ours = dg.fit(X, Y, loss="squared", sample_weight=S, **strength(S), **HOW)
    same(model.fit(X, Y, sample_weight=S), ours)


@pytest.mark.parametrize(("loss", "power"), [("poisson", 1.0), ("gamma", 2.0), ("tweedie(1.5)", 1.5)])
def test_counts_and_amounts(loss: str, power: float) -> None:
    """PoissonRegressor and GammaRegressor are TweedieRegressor with these powers."""
    target = np.exp(0.5 * Y)
    how: dict[str, Any] = {"tol": 1e-10, "max_iter": 10_000, "solver": "newton-cholesky"}
    named: dict[float, Any] = {1.0: linear_model.PoissonRegressor, 2.0: linear_model.GammaRegressor}
    theirs = linear_model.TweedieRegressor(power=power, alpha=0.2, link="log", **how)
    for model in (theirs, *([named[power](alpha=0.2, **how)] if power in named else [])):
        same(model.fit(X, target), dg.fit(X, target, loss=loss, penalty="l2", lam=0.1, **HOW))


def test_sample_weights_of_other_losses() -> None:
    quantile = linear_model.QuantileRegressor(quantile=0.7, alpha=0.02).fit(X, Y, sample_weight=S)
    same(quantile, dg.fit(X, Y, loss="quantile(0.7)", penalty="l1", lam=0.02, sample_weight=S, **HOW))
    logistic = linear_model.LogisticRegression(C=0.5, **TIGHT).fit(CELLS, BENIGN, sample_weight=S)
    same(logistic, dg.fit(CELLS, BENIGN, loss="logistic", penalty="l2", C=1.0, sample_weight=S, **HOW))


def test_a_penalised_intercept_is_a_constant_column() -> None:
    """LinearSVC, LinearSVR and liblinear price the intercept: here it is a column of `intercept_scaling`."""
    theirs = svm.LinearSVC(C=0.3, dual=False, intercept_scaling=2.0, **TIGHT).fit(CELLS, BENIGN)
    ours = dg.fit(
        ones(CELLS, 2.0), BENIGN, loss="squared_hinge", penalty="l2", C=0.6, fit_intercept=False, **HOW
    )
    np.testing.assert_allclose(theirs.coef_[0], ours.coef[:-1], atol=1e-6)
    np.testing.assert_allclose(theirs.intercept_[0], 2.0 * ours.coef[-1], atol=1e-6)


def test_huber_has_its_scale_in_the_threshold() -> None:
    """HuberRegressor estimates σ too: ours at that σ is huber(ε'σ) with λ = α'σ/n."""
    theirs = linear_model.HuberRegressor(epsilon=1.2, alpha=0.5, max_iter=10_000, tol=1e-12).fit(X, Y)
    loss = dg.losses.Huber(1.2 * theirs.scale_)
    same(theirs, dg.fit(X, Y, loss=loss, penalty="l2", lam=0.5 * theirs.scale_ / n, **HOW), digits=1e-3)


def test_class_weights_are_row_weights() -> None:
    theirs = linear_model.LogisticRegression(C=0.5, class_weight="balanced", **TIGHT).fit(CELLS, BENIGN)
    ours = dg.LinearClassifier("logistic", "l2", C=1.0, class_weight="balanced", **HOW).fit(CELLS, BENIGN)
    same(theirs, ours.solution_)


def test_three_classes_jointly() -> None:
    theirs = linear_model.LogisticRegression(C=0.5, **TIGHT).fit(IRIS, SPECIES)
    ours = dg.fit(IRIS, SPECIES, loss="logistic", penalty="l2", C=1.0, **HOW)
    assert ours.multiclass == "multinomial"
    np.testing.assert_allclose(theirs.coef_, ours.coef, atol=1e-5)
    level = ours.intercept - np.mean(ours.intercept)  # a constant for all classes changes nothing
    np.testing.assert_allclose(theirs.intercept_ - theirs.intercept_.mean(), level, atol=1e-5)


def test_ridge_classifier_is_a_regression_on_plus_and_minus_one() -> None:
    theirs = linear_model.RidgeClassifier(alpha=3.0).fit(CELLS, BENIGN)
    same(theirs, dg.fit(CELLS, 2.0 * BENIGN - 1.0, loss="squared", penalty="l2", lam=3.0 / n, **HOW))


def test_stochastic_models_come_near() -> None:
    """SGDClassifier(alpha) minimises mean loss + ½ alpha ‖w‖²; it stops where its noise lets it."""
    theirs = linear_model.SGDClassifier(
        loss="log_loss", alpha=0.1, random_state=0, tol=1e-7, max_iter=5000, average=True
    ).fit(CELLS, BENIGN)
    found = dg.certify(
        CELLS, BENIGN, theirs.coef_[0], theirs.intercept_[0], loss="logistic", penalty="l2", lam=0.05
    )
    assert found.relative_gap < 1e-3


def test_kernel_machines() -> None:
    theirs = svm.SVC(C=0.5, gamma=0.2, tol=1e-10).fit(CELLS, BENIGN)
    ours = dg.KernelClassifier("hinge", "rbf", gamma=0.2, C=1.0, tol=1e-10).fit(CELLS, BENIGN)
    np.testing.assert_allclose(theirs.decision_function(CELLS), ours.decision_function(CELLS), atol=1e-4)
    tube = svm.SVR(C=0.5, gamma=0.2, epsilon=0.1, tol=1e-10).fit(X, Y)
    same_tube = dg.KernelRegressor("epsilon_insensitive(0.1)", gamma=0.2, C=1.0, tol=1e-10).fit(X, Y)
    np.testing.assert_allclose(tube.predict(X), same_tube.predict(X), atol=1e-4)
    ridge = kernel_ridge.KernelRidge(alpha=0.5, kernel="poly", degree=2, gamma=0.1, coef0=1.0).fit(X, Y)
    same_ridge = dg.KernelRegressor(
        "squared", "poly", degree=2, gamma=0.1, coef0=1.0, lam=0.5 / n, fit_intercept=False, tol=1e-11
    ).fit(X, Y)
    np.testing.assert_allclose(ridge.predict(X), same_ridge.predict(X), atol=1e-6)


def test_paths_and_grids() -> None:
    """lasso_path's alphas are half of ours; l1_min_c is where our path of the squared hinge begins."""
    alphas, theirs, _ = linear_model.lasso_path(X, Y - Y.mean(), alphas=[0.2, 0.05, 0.01], tol=1e-12)
    path = dg.path(X, Y, loss="squared", penalty="l1")
    for alpha, weights in zip(alphas, theirs.T, strict=True):
        np.testing.assert_allclose(path.coef(lam=2.0 * alpha), weights, atol=1e-6)
    first = svm.l1_min_c(CELLS, BENIGN, loss="log", fit_intercept=False)
    logistic = dg.path(CELLS, BENIGN, loss="logistic", penalty="l1", fit_intercept=False, n_lams=3)
    assert logistic.lams[0] == pytest.approx(1.0 / (first * n), rel=1e-6)


def test_certify_reads_the_same_conversions() -> None:
    """What `dg.certify` reads off a model is what the tables say."""
    model = linear_model.ElasticNet(alpha=0.1, l1_ratio=0.4, **TIGHT).fit(X, Y)
    found = dg.certify(X, Y, model)
    ours = dg.fit(X, Y, loss="squared", penalty="elastic_net(0.75)", lam=0.08, **HOW)
    assert found.best_known == pytest.approx(ours.objective, rel=1e-9)


def test_standardize_is_the_scaling_of_glmnet() -> None:
    """Columns over their standard deviation with divisor n; weights on the scale given."""
    raw = load_diabetes(return_X_y=True, scaled=False)[0][:ROWS]
    scale = raw.std(axis=0)
    ours = dg.fit(raw, Y, loss="squared", penalty="l1", lam=0.1, standardize=True, **HOW)
    by_hand = dg.fit(raw / scale, Y, loss="squared", penalty="l1", lam=0.1, **HOW)
    np.testing.assert_allclose(ours.coef, by_hand.coef / scale, atol=1e-7)
