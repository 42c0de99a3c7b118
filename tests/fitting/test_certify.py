from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn import linear_model, svm
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import dualgap as dg
from dualgap.errors import DataError
from dualgap.fitting.certify import Assessment

CANCER, BENIGN = load_breast_cancer(return_X_y=True)
SCALED = (CANCER - CANCER.mean(axis=0)) / CANCER.std(axis=0)
DIABETES, PROGRESS = load_diabetes(return_X_y=True, scaled=False)
STANDARD = (DIABETES - DIABETES.mean(axis=0)) / DIABETES.std(axis=0)
UNIT = (PROGRESS - PROGRESS.mean()) / PROGRESS.std()
IRIS, SPECIES = load_iris(return_X_y=True)

pytestmark = [
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore:.*:FutureWarning"),
]


def sound(found: Assessment, table: Any, target: Any) -> None:
    """The certificate says the same when it is recomputed, and the bound is the optimum up to 1e-6."""
    again = found.certificate.recheck(table, target)
    assert again.objective == pytest.approx(found.objective, rel=1e-10)
    assert again.bound == pytest.approx(found.bound, rel=1e-9, abs=1e-12)
    assert found.best_known - found.bound <= 1.01e-6 * abs(found.objective)


def test_default_logistic_regression_on_raw_data_is_thirty_per_cent_off() -> None:
    model = linear_model.LogisticRegression()
    with pytest.warns(ConvergenceWarning):
        model.fit(CANCER, BENIGN)
    found = dg.certify(CANCER, BENIGN, model)
    assert 0.29 < found.excess < 0.32
    assert f"at most {100.0 * found.excess:.1f} % above the best possible" in str(found)
    assert found.coef_error is not None
    sound(found, CANCER, BENIGN)


OPTIMAL: dict[str, tuple[Any, Any, Any]] = {
    "LinearRegression": (linear_model.LinearRegression(), DIABETES, PROGRESS),
    "Ridge": (linear_model.Ridge(alpha=2.5), DIABETES, PROGRESS),
    "Ridge without intercept": (linear_model.Ridge(alpha=2.5, fit_intercept=False), DIABETES, PROGRESS),
    "RidgeCV": (linear_model.RidgeCV(), DIABETES, PROGRESS),
    "Lasso": (linear_model.Lasso(alpha=0.5, tol=1e-10), DIABETES, PROGRESS),
    "LassoCV": (linear_model.LassoCV(tol=1e-9, max_iter=100_000, cv=3), STANDARD, PROGRESS),
    "ElasticNet": (linear_model.ElasticNet(alpha=0.5, l1_ratio=0.3, tol=1e-10), DIABETES, PROGRESS),
    "LogisticRegression": (linear_model.LogisticRegression(tol=1e-9, max_iter=9999), SCALED, BENIGN),
    "LogisticRegression balanced": (
        linear_model.LogisticRegression(tol=1e-9, max_iter=9999, class_weight="balanced"),
        SCALED,
        BENIGN,
    ),
    "LogisticRegression free": (
        linear_model.LogisticRegression(C=np.inf, tol=1e-10, max_iter=9999),
        SCALED[:, :3],
        BENIGN,
    ),
    "LogisticRegression multinomial": (
        linear_model.LogisticRegression(tol=1e-9, max_iter=9999),
        IRIS,
        SPECIES,
    ),
    "LinearSVC": (svm.LinearSVC(fit_intercept=False, tol=1e-9, max_iter=99999), SCALED, BENIGN),
    "LinearSVC hinge": (
        svm.LinearSVC(loss="hinge", C=0.01, fit_intercept=False, tol=1e-9, max_iter=999_999),
        SCALED,
        BENIGN,
    ),
    "LinearSVR": (
        svm.LinearSVR(epsilon=0.1, C=0.1, fit_intercept=False, tol=1e-9, max_iter=999_999),
        STANDARD,
        UNIT,
    ),
    "SVC": (svm.SVC(kernel="linear", tol=1e-9), SCALED, BENIGN),
    "SVR": (svm.SVR(kernel="linear", tol=1e-9), STANDARD, UNIT),
    "QuantileRegressor": (linear_model.QuantileRegressor(quantile=0.8, alpha=0.1), STANDARD, PROGRESS),
    "HuberRegressor": (linear_model.HuberRegressor(tol=1e-10, max_iter=9999), STANDARD, UNIT),
    "RidgeClassifier": (linear_model.RidgeClassifier(), CANCER, BENIGN),
    "RidgeClassifier many": (linear_model.RidgeClassifier(), IRIS, SPECIES),
}


@pytest.mark.parametrize("name", OPTIMAL)
def test_a_model_that_minimises_what_it_says_is_optimal(name: str) -> None:
    """This is the proof that each objective is read off its model rightly."""
    model, table, target = OPTIMAL[name]
    found = dg.certify(table, target, model.fit(table, target))
    assert found.excess <= 2e-6
    assert "optimal" in str(found) or found.relative_gap > 1e-6
    sound(found, table, target)


@pytest.mark.parametrize("ratio", [0.0, 0.5, 1.0])
def test_the_old_and_the_new_way_to_name_a_penalty(ratio: float) -> None:
    """`penalty=` until scikit-learn 1.7, `l1_ratio=` alone from 1.8 on."""
    name = {0.0: "l2", 1.0: "l1"}.get(ratio, "elasticnet")
    model = linear_model.LogisticRegression(C=0.1, solver="saga", tol=1e-9, max_iter=9999)
    if model.get_params()["penalty"] == "deprecated":
        model.set_params(l1_ratio=ratio)
    else:
        model.set_params(penalty=name, l1_ratio=ratio if name == "elasticnet" else None)
    found = dg.certify(SCALED, BENIGN, model.fit(SCALED, BENIGN))
    assert found.excess <= 1e-5
    model.set_params(penalty=name)
    assert dg.certify(SCALED, BENIGN, model).objective == pytest.approx(found.objective, rel=1e-12)


FAR: dict[str, tuple[Any, Any, Any]] = {
    "SGDClassifier": (linear_model.SGDClassifier(random_state=0), IRIS, SPECIES),
    "SGDClassifier log": (
        linear_model.SGDClassifier(loss="log_loss", alpha=0.01, random_state=0),
        SCALED,
        BENIGN,
    ),
    "SGDClassifier squared": (
        linear_model.SGDClassifier(loss="huber", alpha=0.01, random_state=0),
        SCALED,
        BENIGN,
    ),
    "SGDRegressor": (linear_model.SGDRegressor(random_state=0, penalty="elasticnet"), STANDARD, UNIT),
    "SGDRegressor huber": (linear_model.SGDRegressor(loss="huber", random_state=0), STANDARD, UNIT),
    "Perceptron": (linear_model.Perceptron(random_state=0), SCALED, BENIGN),
    "LinearSVC": (svm.LinearSVC(), IRIS, SPECIES),
}


@pytest.mark.parametrize("name", FAR)
def test_a_model_that_does_not_is_measured(name: str) -> None:
    model, table, target = FAR[name]
    found = dg.certify(table, target, model.fit(table, target))
    assert found.gap > 0.0
    assert found.objective >= found.best_known >= found.bound
    sound(found, table, target)


def test_stochastic_models_come_close_in_the_end() -> None:
    """The halves that SGD puts before squared and huber are read rightly."""
    for loss in ("squared_error", "huber", "epsilon_insensitive", "squared_epsilon_insensitive"):
        model = linear_model.SGDRegressor(
            loss=loss, alpha=0.01, max_iter=3000, tol=1e-7, learning_rate="adaptive", random_state=0
        )
        assert dg.certify(STANDARD, UNIT, model.fit(STANDARD, UNIT)).excess <= 2e-3


def test_a_penalised_intercept_is_mentioned() -> None:
    model = svm.LinearSVC(tol=1e-8, max_iter=99_999).fit(CANCER[:, :3], BENIGN)
    found = dg.certify(CANCER[:, :3], BENIGN, model)
    assert "penalises its intercept" in str(found)


def test_a_pipeline_is_judged_on_what_its_model_saw() -> None:
    pipeline = make_pipeline(StandardScaler(), linear_model.LogisticRegression(tol=1e-9))
    found = dg.certify(CANCER, BENIGN, pipeline.fit(CANCER, BENIGN))
    assert found.excess <= 1e-6
    assert "StandardScaler" in str(found)


REFUSED: dict[str, tuple[Any, Any, Any, str]] = {
    "another kind": (RandomForestClassifier(n_estimators=2), CANCER, BENIGN, "LogisticRegression"),
    "a kernel": (svm.SVC(), SCALED, BENIGN, "kernel"),
    "pairs of classes": (svm.SVC(kernel="linear"), IRIS, SPECIES, "every pair"),
    "signs": (linear_model.Lasso(positive=True), DIABETES, PROGRESS, "positive"),
    "another loss": (linear_model.SGDClassifier(loss="modified_huber"), SCALED, BENIGN, "modified_huber"),
    "crammer": (svm.LinearSVC(multi_class="crammer_singer"), IRIS, SPECIES, "crammer_singer"),
    "class weights": (linear_model.SGDClassifier(class_weight="balanced"), IRIS, SPECIES, "one by one"),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_what_cannot_be_read_is_refused(kind: str) -> None:
    model, table, target, said = REFUSED[kind]
    with pytest.raises(DataError) as caught:
        dg.certify(table, target, model.fit(table, target))
    assert said in str(caught.value)


def test_an_unfitted_model_is_refused() -> None:
    for model in (linear_model.Ridge(), linear_model.LogisticRegression(), linear_model.HuberRegressor()):
        with pytest.raises(DataError, match="fit it first"):
            dg.certify(SCALED, BENIGN, model)


def test_other_classes_are_refused() -> None:
    model = linear_model.LogisticRegression().fit(SCALED, BENIGN)
    with pytest.raises(DataError, match="the model was fitted on"):
        dg.certify(SCALED, BENIGN + 1, model)


@pytest.mark.parametrize("penalty", ["none", "l1", "l2", "l2_norm", "elastic_net(0.5)", "linf", "lp(3)"])
def test_weights_of_any_origin(penalty: str) -> None:
    strength: dict[str, Any] = {} if penalty == "none" else {"lam": 0.05}
    best = dg.fit(STANDARD, UNIT, loss="absolute", penalty=penalty, **strength)
    found = dg.certify(
        STANDARD, UNIT, best.coef, best.intercept, loss="absolute", penalty=penalty, **strength
    )
    assert found.relative_gap <= 2e-6
    worse = dg.certify(STANDARD, UNIT, 1.3 * best.coef, loss="absolute", penalty=penalty, **strength)
    truth = worse.objective / best.objective - 1.0
    assert truth - 1e-6 <= worse.excess <= truth + 3e-6
    sound(worse, STANDARD, UNIT)


def test_weights_of_many_classes() -> None:
    for loss, multiclass in (("logistic", "multinomial"), ("hinge", "one_vs_rest")):
        best = dg.fit(IRIS, SPECIES, loss=loss, penalty="l1", lam=0.01)
        assert best.multiclass == multiclass
        found = dg.certify(IRIS, SPECIES, best.coef, best.intercept, loss=loss, penalty="l1", lam=0.01)
        assert found.relative_gap <= 2e-6
        worse = dg.certify(IRIS, SPECIES, best.coef * 0.5, best.intercept, loss=loss, penalty="l1", lam=0.01)
        assert worse.excess == pytest.approx(worse.objective / best.objective - 1.0, abs=1e-5)
        sound(worse, IRIS, SPECIES)


def test_weights_in_a_budget() -> None:
    best = dg.fit(STANDARD, UNIT, loss="squared", penalty="l1", budget=0.5)
    keywords: dict[str, Any] = {"loss": "squared", "penalty": "l1", "budget": 0.5}
    assert dg.certify(STANDARD, UNIT, best.coef, best.intercept, **keywords).relative_gap <= 2e-6
    over = best.coef * (0.5 * (1 + 1e-8) / np.abs(best.coef).sum())
    nearly = dg.certify(STANDARD, UNIT, over, best.intercept, **keywords)
    assert nearly.relative_gap <= 2e-6
    assert "moved into the budget" in str(nearly)
    with pytest.raises(DataError, match="break the budget"):
        dg.certify(STANDARD, UNIT, 2.0 * best.coef, best.intercept, **keywords)


def test_a_solution_is_certified_again() -> None:
    solution = dg.fit(SCALED, BENIGN, loss="logistic", penalty="l1", lam=0.01, standardize=True)
    found = dg.certify(SCALED, BENIGN, solution)
    assert found.objective == solution.objective
    assert found.relative_gap <= 1e-6


def test_nothing_above_nothing() -> None:
    """The perceptron loss is zero at zero: an excess over nothing has no ratio, and says so."""
    found = dg.certify(SCALED, BENIGN, np.ones(30), loss="perceptron", penalty="none")
    assert found.excess == np.inf
    assert f"at most {found.gap:.4g} above the best possible" in str(found)
    assert dg.certify(SCALED, BENIGN, np.zeros(30), loss="perceptron", penalty="none").excess == 0.0


@pytest.mark.parametrize(
    ("coef", "more", "said"),
    [
        (np.ones(3), {}, "shape (3,)"),
        (np.full(10, np.nan), {}, "NaN"),
        (np.ones(10), {"intercept": [1.0, 2.0]}, "intercept has 2"),
        (np.ones(10), {"intercept": 1.0, "fit_intercept": False}, "fit_intercept=False"),
        ("weights", {}, "must be numbers or a fitted model"),
        (np.ones(10), {"C": 1.0}, "exactly one strength"),
    ],
)
def test_bad_weights_are_refused(coef: Any, more: dict[str, Any], said: str) -> None:
    with pytest.raises(DataError) as caught:
        dg.certify(STANDARD, UNIT, coef, loss="squared", penalty="l1", lam=0.1, **more)
    assert said in str(caught.value)


def test_numbers_without_an_objective_are_refused() -> None:
    with pytest.raises(DataError, match="it reads"):
        dg.certify(STANDARD, UNIT, np.ones(10))
    with pytest.raises(DataError, match="Give loss="):
        dg.certify(STANDARD, UNIT, np.ones(10), lam=0.1)


@pytest.mark.parametrize("loss", ["logistic", "exponential", "hinge", "squared_hinge"])
@pytest.mark.parametrize("only", [0.0, 1.0])
def test_a_certificate_is_asked_of_rows_of_one_class(loss: str, only: float) -> None:
    """What it says of them is true: nobody does worse than nothing."""
    rng = np.random.default_rng(0)
    X, y, s = rng.normal(size=(20, 2)), np.repeat([0.0, 1.0], 10), np.repeat([0.0, 1.0, 1.0, 0.0], 5)
    solution = dg.fit(X, y, loss=loss, penalty="l2", lam=0.1, sample_weight=s)
    other = np.where(s > 0, only, 1.0 - only)
    again = solution.certificate.recheck(X, other)
    assert 0.0 <= again.bound <= again.objective < np.inf


def test_weights_that_meet_every_target_are_proven_as_well_as_fitted_ones() -> None:
    """Where nothing is left of the loss the penalty alone says how small a gap has to be."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(12, 30))
    y = X[:, 0] + 0.3 * rng.standard_t(3, size=12)
    asked: dict[str, Any] = dict(loss="absolute", penalty="slope(0.1)", lam=0.005, fit_intercept=False)
    solution = dg.fit(X, y, **asked)
    assert dg.certify(X, y, solution.coef, 0.0, **asked).relative_gap <= 1e-4
