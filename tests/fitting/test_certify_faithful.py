"""What certify judges is what the model minimised, or it refuses."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import logsumexp
from sklearn import linear_model, svm
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.decomposition import NMF
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer, SimpleImputer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler, TargetEncoder

import dualgap as dg
from dualgap.errors import DataError

Array = NDArray[np.float64]

pytestmark = [
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.DataConversionWarning"),
    pytest.mark.filterwarnings("ignore:.*:FutureWarning"),
]

RNG = np.random.default_rng(7)
N, P = 60, 4
X = RNG.normal(size=(N, P)) + 0.4
TRUE = np.array([1.0, -1.5, 0.0, 0.5])
Z = X @ TRUE + 2.0 * RNG.normal(size=N)
Y = Z + 1.0
BINARY = (Z > 0.8).astype(int)
THREE = np.digitize(Z, [-0.5, 1.5])
WEIGHTS = RNG.uniform(0.2, 3.0, size=N)
WEIGHTS[::7] = 0.0  # these rows do not count
TWICE = np.column_stack([Y, Y])
TIGHT, NEAR = 2e-6, 5e-3  # of what certify proves, and of what stochastic steps reach

Stated = Callable[[Any, Array, Array, Array, Array], tuple[float, float]]
# (model, z, y or ±1, w, sample weights) → the objective as the peer documents it, and its share of mean loss


def square(z: Array, y: Array) -> Array:
    return (z - y) ** 2


def pinball(z: Array, y: Array, q: float) -> Array:
    return np.maximum(q * (y - z), (q - 1.0) * (y - z))


def half_huber(z: Array, y: Array, e: float) -> Array:
    r = np.abs(z - y)
    return np.where(r <= e, 0.5 * r * r, e * r - 0.5 * e * e)


def tube(z: Array, y: Array, e: float) -> Array:
    return np.maximum(np.abs(z - y) - e, 0.0)


def hinge(z: Array, y: Array) -> Array:
    return np.maximum(1.0 - y * z, 0.0)


def log_loss(z: Array, y: Array) -> Array:
    return np.logaddexp(0.0, -y * z)


def ridge(m: Any, z: Array, y: Array, w: Array, s: Array) -> tuple[float, float]:
    alpha = getattr(m, "alpha_", getattr(m, "alpha", 0.0))
    return float(s @ square(z, y) + alpha * w @ w), s.sum()


def elastic(m: Any, z: Array, y: Array, w: Array, s: Array) -> tuple[float, float]:
    alpha = getattr(m, "alpha_", getattr(m, "alpha", 0.0))
    ratio = getattr(m, "l1_ratio_", getattr(m, "l1_ratio", 1.0))
    penalty = alpha * (ratio * np.abs(w).sum() + 0.5 * (1.0 - ratio) * w @ w)
    return s @ square(z, y) / (2.0 * s.sum()) + penalty, 0.5


def quantile(m: Any, z: Array, y: Array, w: Array, s: Array) -> tuple[float, float]:
    return s @ pinball(z, y, m.quantile) / s.sum() + m.alpha * np.abs(w).sum(), 1.0


def logistic(ratio: float, free: bool = False) -> Stated:
    def stated(m: Any, z: Array, y: Array, w: Array, s: Array) -> tuple[float, float]:
        if free:
            return float(s @ log_loss(z, y)), s.sum()
        C = float(np.ravel(getattr(m, "C_", m.C if hasattr(m, "C") else 0.0))[0])
        penalty = ratio * np.abs(w).sum() + 0.5 * (1.0 - ratio) * w @ w
        return C * s @ log_loss(z, y) + penalty, C * s.sum()

    return stated


def machine(loss: Callable[[Array, Array], Array], l1: bool = False) -> Stated:
    def stated(m: Any, z: Array, y: Array, w: Array, s: Array) -> tuple[float, float]:
        return m.C * s @ loss(z, y) + (np.abs(w).sum() if l1 else 0.5 * w @ w), m.C * s.sum()

    return stated


def stochastic(loss: Callable[[Array, Array], Array], ratio: float = 0.0, half: bool = False) -> Stated:
    """The rows of weight zero count in the mean: the penalty is applied at every row."""

    def stated(m: Any, z: Array, y: Array, w: Array, s: Array) -> tuple[float, float]:
        alpha = 0.0 if m.penalty is None else m.alpha
        penalty = alpha * (ratio * np.abs(w).sum() + 0.5 * (1.0 - ratio) * w @ w)
        return s @ loss(z, y) / len(s) + penalty, (0.5 if half else 1.0) * s.sum() / len(s)

    return stated


def sgd(kind: type = linear_model.SGDRegressor, **more: Any) -> Any:
    # an unlucky order may leave SGD a little above the optimum, but not by the share of a wrong strength
    steps: dict[str, Any] = dict(
        alpha=0.2, learning_rate="adaptive", eta0=0.02, max_iter=4000, tol=1e-8, random_state=0
    )
    return kind(**{**steps, **more})


def sgd_classifier(**more: Any) -> Any:
    return sgd(linear_model.SGDClassifier, **more)


EXACT = dict(tol=1e-10, max_iter=99_999)
Case = tuple[Any, Array, Stated, float]

PEERS: dict[str, Case] = {
    "LinearRegression": (linear_model.LinearRegression(), Y, ridge, TIGHT),
    "Ridge": (linear_model.Ridge(alpha=3.0), Y, ridge, TIGHT),
    "Ridge of one alpha in an array": (linear_model.Ridge(alpha=np.array([3.0])), Y, ridge, TIGHT),
    "Ridge free": (linear_model.Ridge(alpha=0.0), Y, ridge, TIGHT),
    **{
        f"Ridge {solver}": (
            linear_model.Ridge(alpha=3.0, solver=solver, random_state=0, **EXACT),
            Y,
            ridge,
            TIGHT,
        )
        for solver in ("svd", "cholesky", "lsqr", "sparse_cg", "sag", "saga")
    },
    "RidgeCV": (linear_model.RidgeCV(), Y, ridge, TIGHT),
    "RidgeCV by folds": (linear_model.RidgeCV(cv=3), Y, ridge, TIGHT),
    "RidgeClassifier": (linear_model.RidgeClassifier(alpha=3.0), BINARY, ridge, TIGHT),
    "RidgeClassifierCV": (linear_model.RidgeClassifierCV(), BINARY, ridge, TIGHT),
    "RidgeClassifierCV by folds": (linear_model.RidgeClassifierCV(cv=3), BINARY, ridge, TIGHT),
    "Lasso": (linear_model.Lasso(alpha=0.2, **EXACT), Y, elastic, TIGHT),
    "Lasso with a Gram matrix": (linear_model.Lasso(alpha=0.2, precompute=True, **EXACT), Y, elastic, TIGHT),
    "Lasso in random order": (
        linear_model.Lasso(alpha=0.2, selection="random", random_state=0, **EXACT),
        Y,
        elastic,
        TIGHT,
    ),
    "LassoCV": (linear_model.LassoCV(cv=3, **EXACT), Y, elastic, TIGHT),
    **{
        f"ElasticNet {ratio}": (
            linear_model.ElasticNet(alpha=0.2, l1_ratio=ratio, **EXACT),
            Y,
            elastic,
            TIGHT,
        )
        for ratio in (0.0, 0.3, 1.0)
    },
    "ElasticNetCV": (linear_model.ElasticNetCV(l1_ratio=[0.2, 0.7], cv=3, **EXACT), Y, elastic, TIGHT),
    "QuantileRegressor": (linear_model.QuantileRegressor(quantile=0.7, alpha=0.05), Y, quantile, TIGHT),
    **{
        f"LogisticRegression {solver}": (
            linear_model.LogisticRegression(C=0.3, solver=solver, random_state=0, **EXACT),
            BINARY,
            logistic(0.0),
            TIGHT,
        )
        for solver in ("lbfgs", "newton-cg", "newton-cholesky", "sag", "saga")
    },
    "LogisticRegression l1": (
        linear_model.LogisticRegression(C=0.3, l1_ratio=1.0, solver="saga", random_state=0, **EXACT),
        BINARY,
        logistic(1.0),
        TIGHT,
    ),
    "LogisticRegression mixed": (
        linear_model.LogisticRegression(C=0.3, l1_ratio=0.4, solver="saga", random_state=0, **EXACT),
        BINARY,
        logistic(0.4),
        TIGHT,
    ),
    "LogisticRegression free": (
        linear_model.LogisticRegression(C=np.inf, **EXACT),
        BINARY,
        logistic(0.0, free=True),
        TIGHT,
    ),
    **{
        f"liblinear {ratio:g} {dual}": (
            linear_model.LogisticRegression(
                C=0.3, l1_ratio=ratio, dual=dual, solver="liblinear", fit_intercept=False, **EXACT
            ),
            BINARY,
            logistic(ratio),
            TIGHT,
        )
        for ratio, dual in ((0.0, False), (0.0, True), (1.0, False))
    },
    "LogisticRegressionCV": (
        linear_model.LogisticRegressionCV(cv=3, Cs=[0.1, 0.3], **EXACT),
        BINARY,
        logistic(0.0),
        TIGHT,
    ),
    "LogisticRegressionCV mixed": (
        linear_model.LogisticRegressionCV(
            cv=3, Cs=[0.1, 0.3], l1_ratios=[0.4], solver="saga", random_state=0, **EXACT
        ),
        BINARY,
        logistic(0.4),
        TIGHT,
    ),
    "LinearSVC": (
        svm.LinearSVC(C=0.3, fit_intercept=False, **EXACT),
        BINARY,
        machine(lambda z, y: hinge(z, y) ** 2),
        TIGHT,
    ),
    "LinearSVC l1": (
        svm.LinearSVC(C=0.3, penalty="l1", dual=False, fit_intercept=False, **EXACT),
        BINARY,
        machine(lambda z, y: hinge(z, y) ** 2, l1=True),
        TIGHT,
    ),
    "LinearSVC hinge": (
        svm.LinearSVC(C=0.3, loss="hinge", fit_intercept=False, **EXACT),
        BINARY,
        machine(hinge),
        TIGHT,
    ),
    "LinearSVR": (
        svm.LinearSVR(C=0.3, epsilon=0.2, fit_intercept=False, **EXACT),
        Y,
        machine(lambda z, y: tube(z, y, 0.2)),
        TIGHT,
    ),
    "LinearSVR squared": (
        svm.LinearSVR(C=0.3, epsilon=0.2, loss="squared_epsilon_insensitive", fit_intercept=False, **EXACT),
        Y,
        machine(lambda z, y: tube(z, y, 0.2) ** 2),
        TIGHT,
    ),
    "SVC": (svm.SVC(kernel="linear", C=0.3, tol=1e-10), BINARY, machine(hinge), TIGHT),
    "SVR": (
        svm.SVR(kernel="linear", C=0.3, epsilon=0.2, tol=1e-10),
        Y,
        machine(lambda z, y: tube(z, y, 0.2)),
        TIGHT,
    ),
    "SGDRegressor": (sgd(), Y, stochastic(lambda z, y: 0.5 * square(z, y), half=True), NEAR),
    "SGDRegressor l1": (
        sgd(penalty="l1"),
        Y,
        stochastic(lambda z, y: 0.5 * square(z, y), ratio=1.0, half=True),
        NEAR,
    ),
    "SGDRegressor mixed": (
        sgd(penalty="elasticnet", l1_ratio=0.4),
        Y,
        stochastic(lambda z, y: 0.5 * square(z, y), ratio=0.4, half=True),
        NEAR,
    ),
    "SGDRegressor free": (
        sgd(penalty=None),
        Y,
        stochastic(lambda z, y: 0.5 * square(z, y), half=True),
        NEAR,
    ),
    "SGDRegressor averaged": (
        sgd(average=True),
        Y,
        stochastic(lambda z, y: 0.5 * square(z, y), half=True),
        NEAR,
    ),
    "SGDRegressor inverse steps": (
        sgd(learning_rate="invscaling", power_t=0.5, tol=None, max_iter=2000),
        Y,
        stochastic(lambda z, y: 0.5 * square(z, y), half=True),
        NEAR,
    ),
    "SGDRegressor huber": (
        sgd(loss="huber", epsilon=0.7),
        Y,
        stochastic(lambda z, y: half_huber(z, y, 0.7), half=True),
        NEAR,
    ),
    "SGDRegressor tube": (
        sgd(loss="epsilon_insensitive", epsilon=0.2),
        Y,
        stochastic(lambda z, y: tube(z, y, 0.2)),
        NEAR,
    ),
    "SGDRegressor squared tube": (
        sgd(loss="squared_epsilon_insensitive", epsilon=0.2),
        Y,
        stochastic(lambda z, y: tube(z, y, 0.2) ** 2),
        NEAR,
    ),
    "SGDClassifier": (sgd_classifier(), BINARY, stochastic(hinge), NEAR),
    "SGDClassifier log": (sgd_classifier(loss="log_loss"), BINARY, stochastic(log_loss), NEAR),
    "SGDClassifier optimal steps": (
        sgd_classifier(loss="log_loss", learning_rate="optimal", tol=None, max_iter=2000),
        BINARY,
        stochastic(log_loss),
        NEAR,
    ),
    "SGDClassifier squared hinge": (
        sgd_classifier(loss="squared_hinge"),
        BINARY,
        stochastic(lambda z, y: hinge(z, y) ** 2),
        NEAR,
    ),
    "SGDClassifier squared": (
        sgd_classifier(loss="squared_error"),
        BINARY,
        stochastic(lambda z, y: 0.5 * square(z, y), half=True),
        NEAR,
    ),
    "SGDClassifier huber": (
        sgd_classifier(loss="huber", epsilon=0.7),
        BINARY,
        stochastic(lambda z, y: half_huber(z, y, 0.7), half=True),
        NEAR,
    ),
    "Perceptron": (
        linear_model.Perceptron(penalty="elasticnet", alpha=0.2, l1_ratio=0.4, random_state=0),
        BINARY,
        stochastic(lambda z, y: np.maximum(-y * z, 0.0), ratio=0.4),
        np.inf,  # the best perceptron is w = 0, of objective 0, and no perceptron goes there
    ),
}


def targets(y: Array) -> Array:
    return np.where(y == 1, 1.0, -1.0) if y is BINARY else y


def weights_of(model: Any) -> tuple[Array, float]:
    coef = model.coef_.toarray() if sp.issparse(model.coef_) else model.coef_
    return np.ravel(coef), float(np.ravel(model.intercept_)[0])


@pytest.mark.parametrize("weighted", [False, True], ids=["", "weighted"])
@pytest.mark.parametrize("name", PEERS)
def test_the_objective_is_the_one_that_the_peer_minimised(name: str, weighted: bool) -> None:
    """The same value by the peer's own formula, which no other weights lower by much."""
    model, y, stated, excess = PEERS[name]
    model = clone(model).fit(X, y, sample_weight=WEIGHTS if weighted else None)
    found = dg.certify(X, y, model, sample_weight=WEIGHTS if weighted else None)
    w, b = weights_of(model)
    value, per_mean = stated(model, X @ w + b, targets(y), w, WEIGHTS if weighted else np.ones(N))
    assert found.objective * per_mean == pytest.approx(value, rel=1e-10)
    assert found.excess <= excess
    assert not found.notes


CLASS_WEIGHTS: dict[str, tuple[Any, bool]] = {  # does "balanced" count the rows by their weight?
    "LogisticRegression": (linear_model.LogisticRegression(**EXACT), True),
    "LogisticRegressionCV": (linear_model.LogisticRegressionCV(cv=3, Cs=[0.3], **EXACT), True),
    "LinearSVC": (svm.LinearSVC(fit_intercept=False, **EXACT), True),
    "SVC": (svm.SVC(kernel="linear", tol=1e-10), False),
    "RidgeClassifier": (linear_model.RidgeClassifier(), False),
    "RidgeClassifierCV": (linear_model.RidgeClassifierCV(), False),
    "SGDClassifier": (
        sgd_classifier(loss="log_loss", learning_rate="optimal", tol=None, max_iter=2000),
        False,
    ),
}


@pytest.mark.parametrize("weight", ["balanced", {0: 3.0, 1: 0.5}])
@pytest.mark.parametrize("name", CLASS_WEIGHTS)
def test_class_weights_multiply_the_weights_of_the_rows(name: str, weight: Any) -> None:
    """The same model is the one without class_weight on rows weighed by hand."""
    model, by_weight = CLASS_WEIGHTS[name]
    if weight == "balanced":
        counts = np.bincount(BINARY, weights=WEIGHTS if by_weight else None)
        factors = counts.sum() / (2.0 * counts)
    else:
        factors = np.array([3.0, 0.5])
    weighed = clone(model).set_params(class_weight=weight).fit(X, BINARY, sample_weight=WEIGHTS)
    by_hand = clone(model).fit(X, BINARY, sample_weight=WEIGHTS * factors[BINARY])
    found = dg.certify(X, BINARY, weighed, sample_weight=WEIGHTS)
    again = dg.certify(X, BINARY, by_hand, sample_weight=WEIGHTS * factors[BINARY])
    assert found.words == again.words
    assert found.objective == pytest.approx(again.objective, rel=1e-6)
    assert found.excess <= (NEAR if name == "SGDClassifier" else TIGHT)


@pytest.mark.parametrize("weight", [None, "balanced", {0: 3.0, 1: 0.5, 2: 1.0}])
def test_several_classes_of_ridge_share_the_weights_of_the_rows(weight: Any) -> None:
    for intercept in (True, False):
        model = linear_model.RidgeClassifier(class_weight=weight, fit_intercept=intercept).fit(X, THREE)
        found = dg.certify(X, THREE, model)
        counts = np.bincount(THREE)
        balanced = N / (3.0 * counts)
        s = {None: np.ones(3), "balanced": balanced}.get(
            weight if not isinstance(weight, dict) else "", np.array([3.0, 0.5, 1.0])
        )[THREE]
        each = [
            s @ square(X @ w + b, np.where(k == THREE, 1.0, -1.0)) + w @ w
            for k, (w, b) in enumerate(zip(model.coef_, np.broadcast_to(model.intercept_, 3), strict=True))
        ]
        assert found.objective * s.sum() == pytest.approx(sum(each), rel=1e-10)
        assert found.excess <= TIGHT


@pytest.mark.parametrize("weight", [None, "balanced"])
@pytest.mark.parametrize("ratio", [0.0, 0.4, 1.0])
def test_several_classes_of_logistic_are_one_problem(ratio: float, weight: Any) -> None:
    model = linear_model.LogisticRegression(
        C=0.3, l1_ratio=ratio, solver="saga", class_weight=weight, random_state=0, **EXACT
    ).fit(X, THREE)
    found = dg.certify(X, THREE, model)
    s = (N / (3.0 * np.bincount(THREE)) if weight else np.ones(3))[THREE]
    scores = X @ model.coef_.T + model.intercept_
    loss = logsumexp(scores, axis=1) - scores[np.arange(N), THREE]
    w = model.coef_.ravel()
    value = 0.3 * s @ loss + ratio * np.abs(w).sum() + 0.5 * (1.0 - ratio) * w @ w
    assert found.objective * 0.3 * s.sum() == pytest.approx(value, rel=1e-10)
    assert found.excess <= TIGHT


def test_several_classes_of_a_machine_are_one_against_the_rest() -> None:
    model = svm.LinearSVC(C=0.3, fit_intercept=False, **EXACT).fit(X, THREE)
    found = dg.certify(X, THREE, model)
    each = [
        0.3 * np.sum(hinge(X @ w, np.where(k == THREE, 1.0, -1.0)) ** 2) + 0.5 * w @ w
        for k, w in enumerate(model.coef_)
    ]
    assert found.objective * 0.3 * N == pytest.approx(sum(each), rel=1e-10)
    assert found.excess <= TIGHT


PENALISED: dict[str, tuple[Any, Array, str, str]] = {
    "LinearSVC": (svm.LinearSVC(C=0.3, **EXACT), BINARY, "squared_hinge", "l2"),
    "LinearSVC l1": (
        svm.LinearSVC(C=0.3, penalty="l1", dual=False, intercept_scaling=5.0, **EXACT),
        BINARY,
        "squared_hinge",
        "l1",
    ),
    "LinearSVR": (
        svm.LinearSVR(C=0.3, epsilon=0.2, intercept_scaling=5.0, **EXACT),
        Y,
        "epsilon_insensitive(0.2)",
        "l2",
    ),
    "liblinear": (
        linear_model.LogisticRegression(C=0.3, solver="liblinear", intercept_scaling=5.0, **EXACT),
        BINARY,
        "logistic",
        "l2",
    ),
    "liblinear by folds": (
        linear_model.LogisticRegressionCV(Cs=[0.3], cv=3, solver="liblinear", **EXACT),
        BINARY,
        "logistic",
        "l2",
    ),
}


@pytest.mark.parametrize("name", PENALISED)
def test_a_penalised_intercept_is_stated_as_it_is(name: str) -> None:
    """It minimised with a column of intercept_scaling; what is judged has a free intercept, and says so."""
    model, y, loss, penalty = PENALISED[name]
    model = clone(model).fit(X, y)
    w, b = weights_of(model)
    scaling = model.intercept_scaling
    strength = 1.0 / (0.3 * N) * (0.5 if penalty == "l2" else 1.0)
    wider = np.column_stack([X, np.full(N, scaling)])
    inside = dg.certify(
        wider, y, np.append(w, b / scaling), loss=loss, penalty=penalty, lam=strength, fit_intercept=False
    )
    assert inside.excess <= TIGHT
    found = dg.certify(X, y, model)
    free = dg.certify(X, y, w, b, loss=loss, penalty=penalty, lam=strength)
    assert found.objective == pytest.approx(free.objective, rel=1e-12)
    assert found.bound == pytest.approx(free.bound, rel=1e-5)
    (note,) = found.notes
    assert "penalises its intercept" in note
    assert ("b/5" in note) == (scaling == 5.0)
    assert "not the one it minimised" in note


def huber_with_scale(model: Any, w: Array, b: float, scale: float, s: Array) -> float:
    """What HuberRegressor minimises over w, b and the scale."""
    r = np.abs(X @ w + b - Y) / scale
    e = model.epsilon
    return float(s @ (scale + scale * np.where(r <= e, r * r, 2.0 * e * r - e * e)) + model.alpha * w @ w)


@pytest.mark.parametrize("intercept", [True, False])
def test_huber_is_judged_at_its_scale(intercept: bool) -> None:
    model = linear_model.HuberRegressor(alpha=0.3, fit_intercept=intercept, tol=1e-9, max_iter=9999)
    model.fit(X, Y, sample_weight=WEIGHTS)
    found = dg.certify(X, Y, model, sample_weight=WEIGHTS)
    w, b = weights_of(model)
    total, scale = WEIGHTS.sum(), model.scale_
    value = scale * (huber_with_scale(model, w, b, scale, WEIGHTS) - scale * total)
    assert found.objective * total == pytest.approx(value, rel=1e-10)
    assert found.excess <= TIGHT
    (note,) = found.notes
    assert f"{scale:.6g}" in note and "not judged" in note


def test_a_scale_that_is_not_the_best_is_mentioned() -> None:
    """At the best weights for a wrong scale the excess is 0, and yet the model's objective is not least."""
    model = linear_model.HuberRegressor(tol=1e-9, max_iter=9999).fit(X, Y)

    def at(scale: float) -> Callable[[Array], float]:
        return lambda v: huber_with_scale(model, v[:-1], v[-1], scale, np.ones(N))

    wrong = 2.0 * model.scale_
    best = minimize(at(wrong), np.append(model.coef_, model.intercept_), tol=1e-12).x
    assert at(wrong)(best) > 1.01 * at(model.scale_)(np.append(model.coef_, model.intercept_))
    model.coef_, model.intercept_, model.scale_ = best[:-1], best[-1], wrong
    found = dg.certify(X, Y, model)
    assert found.excess <= TIGHT
    assert "that scale is not the best" in found.notes[1]


def fitted(model: Any, y: Any = BINARY, table: Any = X) -> Any:
    return model.fit(table, y)


def refit(kind: Any, y: Any, **parameters: Any) -> Any:
    return kind(**parameters).fit(X, y)


class Louder(linear_model.Ridge):  # type: ignore[misc]
    """Any subclass may minimise something else."""


REFUSED: dict[str, tuple[Callable[[], Any], Any, str]] = {
    "SGD weighs a class in its own problem, squared": (
        lambda: fitted(sgd_classifier(loss="squared_error", class_weight="balanced"), THREE),
        THREE,
        "one by one",
    ),
    "SGD weighs a class in its own problem, huber": (
        lambda: fitted(sgd_classifier(loss="huber", class_weight={0: 2.0, 1: 1.0, 2: 1.0}), THREE),
        THREE,
        "one by one",
    ),
    "SGD weighs a class in its own problem": (
        lambda: fitted(sgd_classifier(class_weight="balanced"), THREE),
        THREE,
        "one by one",
    ),
    "Perceptron weighs a class in its own problem": (
        lambda: fitted(linear_model.Perceptron(class_weight="balanced"), THREE),
        THREE,
        "one by one",
    ),
    "LinearSVC weighs a class in its own problem": (
        lambda: fitted(svm.LinearSVC(class_weight="balanced"), THREE),
        THREE,
        "one by one",
    ),
    "rows kept back": (lambda: fitted(sgd(early_stopping=True), Y), Y, "early_stopping"),
    "rows kept back by a classifier": (
        lambda: fitted(sgd_classifier(early_stopping=True)),
        BINARY,
        "early_stopping",
    ),
    "rows kept back by a perceptron": (
        lambda: fitted(linear_model.Perceptron(early_stopping=True)),
        BINARY,
        "early_stopping",
    ),
    "passive-aggressive I": (lambda: fitted(sgd_classifier(learning_rate="pa1")), BINARY, "pa1"),
    "passive-aggressive II": (
        lambda: fitted(sgd(loss="epsilon_insensitive", learning_rate="pa2"), Y),
        Y,
        "pa2",
    ),
    "PassiveAggressiveClassifier": (
        lambda: fitted(linear_model.PassiveAggressiveClassifier()),
        BINARY,
        "cannot read",
    ),
    "PassiveAggressiveRegressor": (
        lambda: fitted(linear_model.PassiveAggressiveRegressor(), Y),
        Y,
        "cannot read",
    ),
    "averaged folds": (
        lambda: fitted(linear_model.LogisticRegressionCV(cv=3, refit=False)),
        BINARY,
        "refit=True",
    ),
    "folds with intercept_scaling": (
        lambda: fitted(linear_model.LogisticRegressionCV(cv=3, solver="liblinear", intercept_scaling=5.0)),
        BINARY,
        "intercept_scaling",
    ),
    **{
        f"signs of {kind.__name__}": (partial(refit, kind, Y, positive=True), Y, "positive")
        for kind in (
            linear_model.LinearRegression,
            linear_model.Ridge,
            linear_model.Lasso,
            linear_model.LassoCV,
            linear_model.ElasticNet,
            linear_model.ElasticNetCV,
        )
    },
    "signs of RidgeClassifier": (
        lambda: fitted(linear_model.RidgeClassifier(positive=True)),
        BINARY,
        "positive",
    ),
    "an alpha for each target": (
        lambda: fitted(linear_model.Ridge(alpha=[1.0, 2.0]), TWICE),
        Y,
        "single number",
    ),
    "an alpha for each class": (
        lambda: fitted(linear_model.RidgeClassifier(alpha=[1.0, 2.0, 3.0]), THREE),
        THREE,
        "single number",
    ),
    "several labels": (
        lambda: fitted(linear_model.RidgeClassifier(), np.column_stack([BINARY, 1 - BINARY, BINARY])),
        THREE,
        "several labels",
    ),
    "two targets": (lambda: fitted(linear_model.ElasticNet(), TWICE), Y, "has 2 targets, y 1"),
    **{
        f"{kind.__name__}": (partial(refit, kind, TWICE), Y, said)
        for kind, said in (
            (linear_model.MultiTaskLasso, "has 2 targets, y 1"),
            (linear_model.MultiTaskElasticNet, "has 2 targets, y 1"),
            (linear_model.MultiTaskLassoCV, "has 2 targets, y 1"),
            (linear_model.MultiTaskElasticNetCV, "has 2 targets, y 1"),
        )
    },
    **{
        f"{kind.__name__}": (
            partial(refit, kind, np.exp(0.2 * Y)),
            np.exp(0.2 * Y),
            "cannot read",
        )
        for kind in (
            linear_model.LassoLars,
            linear_model.Lars,
            linear_model.OrthogonalMatchingPursuit,
            linear_model.BayesianRidge,
            linear_model.ARDRegression,
            linear_model.TheilSenRegressor,
            linear_model.RANSACRegressor,
        )
    },
    "NuSVC": (lambda: fitted(svm.NuSVC(kernel="linear")), BINARY, "cannot read"),
    "NuSVR": (lambda: fitted(svm.NuSVR(kernel="linear"), Y), Y, "cannot read"),
    "SGDOneClassSVM": (lambda: fitted(linear_model.SGDOneClassSVM()), BINARY, "cannot read"),
    "a subclass": (lambda: fitted(Louder(), Y), Y, "something else than the Ridge"),
    "a namesake": (
        lambda: refit(type("Ridge", (linear_model.Ridge,), {"__module__": "elsewhere"}), Y),
        Y,
        "something else than the Ridge",
    ),
    "a search without a refit": (
        lambda: fitted(GridSearchCV(linear_model.Ridge(), {"alpha": [1.0, 2.0]}, refit=False), Y),
        Y,
        "best_estimator_",
    ),
    "parts of the rows": (
        lambda: sgd().partial_fit(X[:25], Y[:25]).partial_fit(X[25:40], Y[25:40]),
        Y,
        "40 rows in all",
    ),
    "SGD of other rows": (lambda: fitted(sgd(), Y[:40], X[:40]), Y, "40 rows"),
    "SVC of other rows": (lambda: fitted(svm.SVC(kernel="linear"), BINARY[:40], X[:40]), BINARY, "40 rows"),
    "Huber of other rows": (lambda: fitted(linear_model.HuberRegressor(), Y[:40], X[:40]), Y, "40 rows"),
    "other columns": (lambda: fitted(linear_model.Ridge(), Y, X[:, :3]), Y, "coef has the shape"),
    "other columns, classes": (
        lambda: fitted(linear_model.RidgeClassifier(), THREE, X[:, :3]),
        THREE,
        "coef has the shape",
    ),
    "other classes": (lambda: fitted(linear_model.RidgeClassifier()), BINARY + 1, "fitted on [0, 1]"),
    "a pipeline that is not fitted": (
        lambda: make_pipeline(StandardScaler(), linear_model.Ridge()),
        Y,
        "not fitted",
    ),
    "a pipeline of other columns": (
        lambda: fitted(make_pipeline(StandardScaler(), linear_model.Ridge()), Y, X[:, :3]),
        Y,
        "refuse this X",
    ),
}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("kind", REFUSED)
def test_what_cannot_be_read_faithfully_is_refused(kind: str) -> None:
    model, y, said = REFUSED[kind]
    with pytest.raises(DataError) as caught:
        dg.certify(X, y, model())
    assert said in str(caught.value)


def test_steps_that_change_their_columns_are_refused() -> None:
    """The model was fitted on other columns than the fitted pipeline gives."""
    names = np.array(["a", "b", "c"])[THREE][:, None]
    for pipeline, table in (
        (make_pipeline(TargetEncoder(cv=3), linear_model.Ridge()), names),
        (
            make_pipeline(
                make_column_transformer((TargetEncoder(cv=3), [0]), remainder="passthrough"),
                linear_model.Ridge(),
            ),
            np.column_stack([THREE, X]),
        ),
        (make_pipeline(NMF(2, max_iter=20), linear_model.Ridge()), np.abs(X)),
        (make_pipeline(IterativeImputer(sample_posterior=True), linear_model.Ridge()), X),
    ):
        pipeline.fit(table, Y)
        with pytest.raises(DataError, match="other columns in fitting than afterwards"):
            dg.certify(table, Y, pipeline)


def test_pipelines_of_others_are_refused() -> None:
    """They may resample the rows."""

    class Theirs(Pipeline):  # type: ignore[misc]
        pass

    model = Theirs([("scale", StandardScaler()), ("fit", linear_model.Ridge())]).fit(X, Y)
    with pytest.raises(DataError, match="may change the rows"):
        dg.certify(X, Y, model)


def test_pipelines_in_pipelines() -> None:
    inner = make_pipeline(StandardScaler(), linear_model.Ridge(alpha=3.0))
    model = make_pipeline(SimpleImputer(), inner).fit(X, Y)
    found = dg.certify(X, Y, model)
    alone = linear_model.Ridge(alpha=3.0).fit(StandardScaler().fit_transform(X), Y)
    assert found.objective == pytest.approx(dg.certify(StandardScaler().fit_transform(X), Y, alone).objective)
    assert found.excess <= TIGHT
    assert "SimpleImputer" in found.notes[0] and "StandardScaler" in found.notes[1]


def test_a_pipeline_that_ends_in_ours() -> None:
    model = make_pipeline(StandardScaler(), dg.LinearRegressor(lam=0.1)).fit(X, Y)
    found = dg.certify(X, Y, model)
    assert found.objective == model[-1].solution_.objective
    assert "StandardScaler" in found.notes[0]


def test_the_best_of_a_search_is_read() -> None:
    inner = make_pipeline(StandardScaler(), linear_model.Ridge())
    search = GridSearchCV(inner, {"ridge__alpha": [1.0, 2.0]}).fit(X, Y)
    found = dg.certify(X, Y, search)
    assert found.excess <= TIGHT and found.objective == dg.certify(X, Y, search.best_estimator_).objective
    assert (
        "the best of GridSearchCV, {'ridge__alpha':" in found.notes[0] and "StandardScaler" in found.notes[1]
    )


def test_columns_in_another_order_are_refused() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=list("abcd"))
    turned = frame[list("badc")]
    model = linear_model.Ridge().fit(frame, Y)
    assert dg.certify(frame, Y, model).excess <= TIGHT
    assert dg.certify(X, Y, model).excess <= TIGHT
    for other in (model, make_pipeline(StandardScaler(), linear_model.Ridge()).fit(frame, Y)):
        with pytest.raises(DataError):
            dg.certify(turned, Y, other)
    with pytest.raises(DataError, match="b, a, d, c"):
        dg.certify(turned, Y, model)
    with pytest.raises(DataError, match="another order"):
        dg.certify(turned, Y, dg.fit(frame, Y, loss="squared", penalty="l2", lam=0.1))


@pytest.mark.parametrize("kind", ["logistic", "ridge", "sgd"])
def test_labels_of_any_kind(kind: str) -> None:
    model = {
        "logistic": linear_model.LogisticRegression(**EXACT),
        "ridge": linear_model.RidgeClassifier(),
        "sgd": sgd_classifier(loss="squared_error"),
    }[kind]
    plain = dg.certify(X, BINARY, clone(model).fit(X, BINARY))
    for y in (np.array(["no", "yes"])[BINARY], BINARY == 1, BINARY[:, None], BINARY.astype(float)):
        found = dg.certify(X, y, clone(model).fit(X, y))
        assert found.objective == pytest.approx(plain.objective, rel=1e-12)
    words = np.array(["no", "yes"])[BINARY]
    weighed = clone(model).set_params(class_weight={"no": 3.0, "yes": 0.5}).fit(X, words)
    numbers = clone(model).set_params(class_weight={0: 3.0, 1: 0.5}).fit(X, BINARY)
    found = dg.certify(X, words, weighed)
    assert found.objective == pytest.approx(dg.certify(X, BINARY, numbers).objective, rel=1e-9)


def test_a_target_of_one_column() -> None:
    for model in (
        linear_model.LinearRegression(),
        linear_model.Ridge(),
        linear_model.Lasso(alpha=0.1, **EXACT),
    ):
        assert dg.certify(X, Y[:, None], model.fit(X, Y[:, None])).excess <= TIGHT


def test_sparse_tables_and_sparse_weights() -> None:
    table = sp.csr_array(np.where(np.abs(X) > 0.3, X, 0.0))
    for model, y in (
        (
            linear_model.LogisticRegression(C=0.3, l1_ratio=1.0, solver="saga", random_state=0, **EXACT),
            BINARY,
        ),
        (linear_model.LogisticRegression(C=0.3, **EXACT), THREE),
        (svm.LinearSVC(C=0.3, fit_intercept=False, **EXACT), THREE),
        (svm.SVC(kernel="linear", C=0.3, tol=1e-10), BINARY),
    ):
        dense = dg.certify(table, y, model.fit(table, y))
        assert dense.excess <= TIGHT
        if hasattr(model, "sparsify"):
            found = dg.certify(table, y, model.sparsify())
            assert found.objective == dense.objective


def test_models_of_single_precision() -> None:
    """Judged on the numbers as they are: what is lost is what single precision loses."""
    table = X.astype(np.float32)
    for model, y in (
        (linear_model.Ridge(), Y),
        (linear_model.Lasso(alpha=0.2, **EXACT), Y),
        (linear_model.LogisticRegression(**EXACT), BINARY),
        (sgd(), Y),
    ):
        model.fit(table, y)
        assert model.coef_.dtype == np.float32
        assert dg.certify(table, y, model).excess <= (NEAR if model.get_params().get("eta0") else TIGHT)


def test_a_warm_start_and_parts_that_make_whole_passes() -> None:
    model = sgd(warm_start=True)
    for _ in range(2):
        model.fit(X, Y)
    assert dg.certify(X, Y, model).excess <= NEAR
    parts = sgd(learning_rate="invscaling", power_t=0.5)
    for _ in range(300):
        parts.partial_fit(X[:25], Y[:25]).partial_fit(X[25:], Y[25:])
    assert dg.certify(X, Y, parts).excess <= 5e-2
    lasso = linear_model.Lasso(alpha=0.5, warm_start=True, **EXACT).fit(X, Y)
    lasso.set_params(alpha=0.2).fit(X, Y)
    assert dg.certify(X, Y, lasso).excess <= TIGHT


def test_a_class_without_weight_is_refused() -> None:
    model = linear_model.LogisticRegression(class_weight="balanced").fit(X, BINARY)
    with pytest.raises(DataError, match="a class has no rows"):
        dg.certify(X, BINARY, model, sample_weight=(BINARY == 1).astype(float))


def test_solutions_of_other_data_are_refused() -> None:
    solution = dg.fit(X, BINARY, loss="logistic", penalty="l2", lam=0.1)
    with pytest.raises(DataError, match=r"\(0, 1\)"):
        dg.certify(X, BINARY + 5, solution)
    with pytest.raises(DataError, match=r"\(0, 1\)"):
        dg.certify(X, THREE, solution)
    with pytest.raises(DataError, match="leave sample_weight and offset out"):
        dg.certify(X, BINARY, solution, sample_weight=WEIGHTS)
    apart = (X[:, 0] > 0.4).astype(int)
    with pytest.raises(DataError, match="hard margin"):
        dg.certify(X, apart, dg.fit(X, apart, loss="hinge", penalty="l2", C=np.inf))
