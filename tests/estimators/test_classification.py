"""LinearClassifier: the same numbers as its peers, probabilities, class weights, more than two classes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.base import is_classifier
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import scale
from sklearn.svm import SVC, LinearSVC
from sklearn.utils import get_tags

import dualgap as dg
from dualgap.errors import DataError, UnboundedError

X, y = load_breast_cancer(return_X_y=True)
X = scale(X[:, :8])
FLOWERS, KINDS = load_iris(return_X_y=True)
LOGISTIC = LogisticRegression(C=0.5, solver="newton-cholesky", tol=1e-12)

PEERS: list[tuple[Any, dg.LinearClassifier]] = [
    (LOGISTIC, dg.LinearClassifier(tol=1e-12)),
    (SVC(kernel="linear", C=0.25, tol=1e-10), dg.LinearClassifier("hinge", C=0.5, tol=1e-12)),
    (
        LinearSVC(C=0.25, fit_intercept=False, tol=1e-10, max_iter=100000),
        dg.LinearClassifier("squared_hinge", C=0.5, fit_intercept=False, tol=1e-12),
    ),
]


@pytest.mark.parametrize(("peer", "model"), PEERS, ids=lambda model: str(model)[:40])
def test_same_as_scikit_learn(peer: Any, model: dg.LinearClassifier) -> None:
    peer.fit(X, y)
    model.fit(X, y)
    np.testing.assert_allclose(model.coef_, peer.coef_, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(model.intercept_, peer.intercept_, rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(model.predict(X), peer.predict(X))
    assert model.score(X, y) == peer.score(X, y)


def test_probabilities_as_in_scikit_learn() -> None:
    for table, labels in ((X, y), (FLOWERS, KINDS)):
        peer = LOGISTIC.fit(table, labels)
        model = dg.LinearClassifier(tol=1e-12).fit(table, labels)
        np.testing.assert_allclose(model.predict_proba(table), peer.predict_proba(table), atol=1e-6)


def test_what_a_fitted_model_shows() -> None:
    words = np.array(["benign", "malign"])[y]
    model = dg.LinearClassifier("hinge", "l1", lam=0.05).fit(X, words)
    assert model.classes_.tolist() == ["benign", "malign"]
    assert model.coef_.shape == (1, 8) and model.intercept_.shape == (1,)
    assert model.solution_.relative_gap <= 1e-6 and model.n_iter_ >= 1 and model.n_features_in_ == 8
    scores = model.decision_function(X)
    np.testing.assert_allclose(scores, X @ model.coef_[0] + model.intercept_[0])
    np.testing.assert_array_equal(model.predict(X), np.where(scores > 0, "malign", "benign"))
    assert is_classifier(model) and get_tags(model).input_tags.sparse


@pytest.mark.parametrize("loss", ["logistic", "exponential", "hinge"])
@pytest.mark.parametrize("multiclass", ["one_vs_rest", "auto"])
def test_more_than_two_classes(loss: str, multiclass: str) -> None:
    words = np.array(["setosa", "versicolor", "virginica"])[KINDS]
    model = dg.LinearClassifier(loss, multiclass=multiclass).fit(FLOWERS, words)
    assert model.coef_.shape == (3, 4) and model.intercept_.shape == (3,)
    scores = model.decision_function(FLOWERS)
    np.testing.assert_allclose(scores, FLOWERS @ model.coef_.T + model.intercept_)
    np.testing.assert_array_equal(model.predict(FLOWERS), model.classes_[scores.argmax(axis=1)])
    assert model.score(FLOWERS, words) > 0.9


@pytest.mark.parametrize("loss", ["logistic", "exponential"])
@pytest.mark.parametrize("multiclass", ["one_vs_rest", "auto"])
@pytest.mark.parametrize(("table", "labels"), [(X, y), (FLOWERS, KINDS)], ids=["two", "three"])
def test_probabilities_go_with_predictions(loss: str, multiclass: str, table: Any, labels: Any) -> None:
    model = dg.LinearClassifier(loss, multiclass=multiclass).fit(table, labels)
    probabilities = model.predict_proba(table)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0, rtol=1e-12)
    np.testing.assert_array_equal(model.classes_[probabilities.argmax(axis=1)], model.predict(table))
    np.testing.assert_allclose(np.log(probabilities), model.predict_log_proba(table), rtol=1e-9, atol=1e-12)
    assert np.all(np.isfinite(model.predict_log_proba(1e6 * table)))


def test_exponential_loss_is_half_the_log_odds() -> None:
    model = dg.LinearClassifier("exponential").fit(X, y)
    odds = model.predict_log_proba(X) @ [-1.0, 1.0]
    np.testing.assert_allclose(odds, 2.0 * model.decision_function(X), rtol=1e-9)


def test_probabilities_only_where_the_loss_has_them() -> None:
    model = dg.LinearClassifier("hinge").fit(X, y)
    assert not hasattr(model, "predict_proba") and not hasattr(model, "predict_log_proba")
    assert not hasattr(dg.LinearClassifier("nonsense"), "predict_proba")
    with pytest.raises(AttributeError) as caught:
        model.predict_proba(X)
    assert "gives no probabilities" in str(caught.value.__cause__)


@pytest.mark.parametrize("loss", ["logistic", "squared_hinge"])
def test_class_weights_multiply_row_weights(loss: str) -> None:
    rows = np.random.default_rng(0).integers(0, 4, len(y)).astype(float)
    by_class = dg.LinearClassifier(loss, class_weight={0: 5.0}).fit(X, y, sample_weight=rows)
    by_row = dg.LinearClassifier(loss).fit(X, y, sample_weight=rows * np.where(y == 0, 5.0, 1.0))
    np.testing.assert_allclose(by_class.coef_, by_row.coef_, rtol=1e-7)


def test_balanced_classes_count_weights_as_repetitions() -> None:
    rows = np.random.default_rng(0).integers(0, 4, len(y))
    weighted = dg.LinearClassifier(class_weight="balanced").fit(X, y, sample_weight=rows)
    repeated = dg.LinearClassifier(class_weight="balanced").fit(X.repeat(rows, axis=0), y.repeat(rows))
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, rtol=1e-6)
    assert weighted.solution_.terms.sample_weight[y == 0].sum() == pytest.approx(rows.sum() / 2)


def test_warm_start_where_it_fits() -> None:
    model = dg.LinearClassifier("hinge", "l1", lam=0.02, warm_start=True).fit(X, y)
    cold = model.n_iter_
    assert model.fit(X, y).n_iter_ < cold
    assert model.fit(FLOWERS, KINDS).coef_.shape == (3, 4)
    assert model.fit(FLOWERS, KINDS).solution_.converged
    assert model.fit(FLOWERS, KINDS > 0).coef_.shape == (1, 4)


def test_perceptron_says_that_zero_is_optimal() -> None:
    model = dg.LinearClassifier("perceptron")
    with pytest.warns(UserWarning, match=r'optimal.*every row is given the class 0. Use loss="hinge"'):
        model.fit(X, y)
    assert not model.coef_.any() and model.solution_.objective == 0.0 and model.solution_.converged
    assert get_tags(model).classifier_tags.poor_score
    assert not get_tags(dg.LinearClassifier()).classifier_tags.poor_score


REFUSED: list[tuple[dg.LinearClassifier, str]] = [
    (
        dg.LinearClassifier("squared"),
        "which the squared loss does not: use LinearRegressor",
    ),
    (dg.LinearClassifier("hing"), "Did you mean 'hinge'"),
    (dg.LinearClassifier(C=1.0, budget=1.0), "Give exactly one strength"),
    (dg.LinearClassifier(class_weight="even"), 'class_weight must be a dict, "balanced" or None'),
    (dg.LinearClassifier(class_weight={7: 2.0}), "not in class_weight"),
]


@pytest.mark.parametrize(("model", "sentence"), REFUSED, ids=lambda part: str(part)[:40])
def test_refusals(model: dg.LinearClassifier, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        model.fit(X, y)
    assert not hasattr(model, "coef_")


def test_multinomial_is_for_the_logistic_loss() -> None:
    with pytest.raises(DataError, match="multinomial"):
        dg.LinearClassifier("hinge", multiclass="multinomial").fit(FLOWERS, KINDS)


def test_numbers_and_single_classes_are_refused() -> None:
    with pytest.raises(DataError, match="Unknown label type"):
        dg.LinearClassifier().fit(X, X[:, 0])
    with pytest.raises(DataError, match="one class only"):
        dg.LinearClassifier().fit(X, np.zeros(len(y)))


def test_separable_classes_without_a_penalty_have_no_minimum() -> None:
    with pytest.raises(UnboundedError) as caught:
        dg.LinearClassifier("logistic", "none").fit(FLOWERS[:100], KINDS[:100])
    margins = FLOWERS[:100] @ caught.value.direction + caught.value.intercept
    assert np.all(margins * np.where(KINDS[:100] == 1, 1, -1) >= 0)
