"""The kernel estimators: scikit-learn's checks, its machines, probabilities, refusals."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_iris, make_classification, make_moons
from sklearn.gaussian_process.kernels import RBF
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV
from sklearn.preprocessing import PolynomialFeatures
from sklearn.svm import SVC, SVR
from sklearn.utils.estimator_checks import parametrize_with_checks

import dualgap as dg
from dualgap.errors import DataError

CLASSES = ("hinge", "squared_hinge", "logistic", "exponential")
NUMBERS = (
    "squared",
    "absolute",
    "huber",
    "epsilon_insensitive",
    "squared_epsilon_insensitive",
    "quantile(0.8)",
)


def _estimators() -> Iterator[Any]:
    for loss in CLASSES:
        yield dg.KernelClassifier(loss)
    for loss in NUMBERS:
        yield dg.KernelRegressor(loss)
    # tables that lie 100 from zero: at the usual gamma entries of 1e12 would round away what is asked for
    yield dg.KernelClassifier("hinge", "poly", gamma=1e-4)
    yield dg.KernelRegressor("huber", "laplacian", C=10.0)
    yield dg.KernelClassifier(kernel="precomputed")
    yield dg.KernelRegressor("huber", "precomputed")
    yield dg.KernelClassifier(approximation="nystroem", n_components=20, random_state=0)
    yield dg.KernelRegressor(approximation="nystroem", n_components=20, random_state=0)
    yield dg.KernelClassifier(probability=True, random_state=0)


def _checks() -> pytest.MarkDecorator:
    mark = parametrize_with_checks(list(_estimators()))
    names, cases = mark.args
    return pytest.mark.parametrize(names, list(cases), **mark.kwargs)


@_checks()
def test_scikit_learn(estimator: Any, check: Callable[[Any], None]) -> None:
    check(estimator)


def moons(n: int = 150, seed: int = 0) -> tuple[Any, Any]:
    X, y = make_moons(n, noise=0.3, random_state=seed)
    return X, y


def curve(n: int = 120, seed: int = 0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.uniform(-3, 3, (n, 2))
    return X, np.sin(X[:, 0]) + 0.3 * X[:, 1] + 0.2 * rng.normal(size=n)


@pytest.mark.parametrize("C", [0.1, 1.0, 10.0])
@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly"])
def test_the_machine_of_scikit_learn(kernel: str, C: float) -> None:
    X, y = moons()
    model = dg.KernelClassifier("hinge", kernel, gamma=0.7, degree=2, C=2 * C).fit(X, y)
    peer = SVC(kernel=kernel, gamma=0.7, degree=2, coef0=1.0, C=C, tol=1e-9).fit(X, y)
    # libsvm keeps kernel rows in single precision; tests/kernels/test_inputs.py has rows that survive it
    np.testing.assert_allclose(model.decision_function(X), peer.decision_function(X), atol=2e-4)
    assert set(model.support_) == set(peer.support_)
    assert model.solution_.relative_gap <= 1e-9


def test_support_vector_regression_of_scikit_learn() -> None:
    X, y = curve()
    model = dg.KernelRegressor("epsilon_insensitive(0.1)", gamma=0.5, C=4.0).fit(X, y)
    peer = SVR(gamma=0.5, C=2.0, epsilon=0.1, tol=1e-9).fit(X, y)
    np.testing.assert_allclose(model.predict(X), peer.predict(X), atol=2e-5)
    assert len(model.support_vectors_) == len(model.support_) < len(y)


def test_kernel_ridge_without_constant() -> None:
    X, y = curve()
    model = dg.KernelRegressor("squared", gamma=0.5, C=5.0, fit_intercept=False).fit(X, y)
    peer = KernelRidge(alpha=0.2, kernel="rbf", gamma=0.5).fit(X, y)
    np.testing.assert_allclose(model.predict(X), peer.predict(X), atol=1e-9)


def test_basis_expansion_equals_the_polynomial_kernel() -> None:
    """(1 + x·x')² is the inner product of the monomials, those of mixed degree times √2."""
    X, y = moons()
    powers = PolynomialFeatures(2, include_bias=False).fit(X)
    weights = np.where(powers.powers_.max(axis=1) == 2, 1.0, np.sqrt(2.0))
    linear = dg.LinearClassifier("hinge", C=1.0, tol=1e-9).fit(powers.transform(X) * weights, y)
    kernel = dg.KernelClassifier("hinge", "poly", gamma=1.0, degree=2, C=1.0).fit(X, y)
    np.testing.assert_allclose(
        kernel.decision_function(X), linear.decision_function(powers.transform(X) * weights), atol=1e-6
    )
    assert kernel.solution_.objective == pytest.approx(linear.solution_.objective, rel=1e-6)


def test_precomputed_and_callable_are_the_kernel_itself() -> None:
    X, y = moons()
    K = rbf_kernel(X, gamma=0.7)
    named = dg.KernelClassifier(gamma=0.7).fit(X[:100], y[:100])
    given = dg.KernelClassifier(kernel="precomputed").fit(K[:100, :100], y[:100])
    called = dg.KernelClassifier(kernel=RBF(np.sqrt(0.5 / 0.7))).fit(X[:100], y[:100])
    expected = named.decision_function(X[100:])
    np.testing.assert_allclose(given.decision_function(K[100:, :100]), expected, atol=1e-7)
    np.testing.assert_allclose(called.decision_function(X[100:]), expected, atol=1e-7)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("loss", ["hinge", "logistic"])
def test_probabilities_agree_with_predictions(loss: str, classes: int) -> None:
    X, y = make_classification(
        150, 5, n_informative=4, n_redundant=0, n_classes=classes, flip_y=0.2, random_state=3
    )
    model = dg.KernelClassifier(loss, probability=True, random_state=0).fit(X[:100], y[:100])
    found = model.predict_proba(X)
    np.testing.assert_allclose(found.sum(axis=1), 1.0)
    np.testing.assert_array_equal(model.classes_[found.argmax(axis=1)], model.predict(X))
    if classes == 2:
        order = np.argsort(model.decision_function(X))
        assert np.all(np.diff(found[order, 1]) >= 0.0)


def test_weights_are_repetitions() -> None:
    X, y = moons(60)
    weights = np.arange(60) % 3
    weighted = dg.KernelClassifier(C=1.0, gamma=1.0).fit(X, y, weights)
    repeated = dg.KernelClassifier(C=1.0, gamma=1.0).fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    np.testing.assert_allclose(weighted.decision_function(X), repeated.decision_function(X), atol=1e-5)
    assert not set(weighted.support_) & set(np.flatnonzero(weights == 0))


def test_many_classes_are_one_against_the_rest() -> None:
    X, y = load_iris(return_X_y=True)
    model = dg.KernelClassifier(gamma=0.5).fit(X, y)
    alone = dg.KernelClassifier(gamma=0.5).fit(X, y == 1)
    np.testing.assert_allclose(model.decision_function(X)[:, 1], alone.decision_function(X), atol=1e-6)
    assert model.dual_coef_.shape == (3, len(model.support_))


def test_every_certificate_can_be_rechecked() -> None:
    X, y = moons()
    model = dg.KernelClassifier("logistic", gamma=0.7, C=3.0).fit(X, y)
    again = model.solution_.certificate.recheck(rbf_kernel(X, gamma=0.7), 2.0 * y - 1.0)
    assert again.objective == pytest.approx(model.solution_.objective, rel=1e-10)
    assert again.bound == pytest.approx(model.solution_.bound, rel=1e-10)
    false = model.solution_.certificate.recheck(rbf_kernel(X, gamma=0.7), 1.0 - 2.0 * y)
    assert false.bound <= model.solution_.bound  # the same problem mirrored has the same optimum
    assert false.gap > 0.5 * false.objective


def test_two_rows_far_out_return_at_once() -> None:
    """The libsvm loop does not end on these."""
    X = np.array([[1.0, 99999.0], [2.0, 99999.0]])
    model = dg.KernelClassifier("hinge", "poly", gamma=1.0, degree=2, max_iter=10_000).fit(X, [0, 1])
    assert model.n_iter_ < 10_000
    np.testing.assert_array_equal(model.predict(X), [0, 1])


def test_a_sigmoid_that_is_no_kernel_is_refused_with_its_eigenvalue() -> None:
    X, y = moons()
    with pytest.raises(DataError, match="smallest eigenvalue"):
        dg.KernelClassifier(kernel="sigmoid", gamma=1.0, coef0=-1.0).fit(X, y)


@pytest.mark.parametrize("method", ["nystroem", "random_features"])
def test_low_rank_says_what_it_proves_of_the_exact_problem(method: str) -> None:
    X, y = moons()
    exact = dg.KernelClassifier(gamma=0.7).fit(X, y).solution_
    model = dg.KernelClassifier(gamma=0.7, approximation=method, n_components=40, random_state=0).fit(X, y)
    found = model.solution_
    assert found.bound <= exact.objective * (1 + 1e-9)
    assert found.objective >= exact.bound * (1 - 1e-9)
    assert "exact problem" in found.status
    again = found.certificate.recheck(rbf_kernel(X, gamma=0.7), 2.0 * y - 1.0)
    assert again.objective == pytest.approx(found.objective, rel=1e-8)
    assert again.bound == pytest.approx(found.bound, rel=1e-8)


def test_a_full_nystroem_is_exact() -> None:
    X, y = curve()
    model = dg.KernelRegressor("huber", gamma=0.5, approximation="nystroem", n_components=500, tol=1e-5)
    assert model.fit(X, y).solution_.relative_gap <= 1e-5


def test_a_time_limit_answers_with_the_gap() -> None:
    X, y = make_classification(1600, 10, flip_y=0.3, random_state=0)
    with pytest.warns(dg.errors.NotCertifiedWarning):
        model = dg.KernelClassifier(C=100.0, max_time=1e-3).fit(X, y)
    assert 0.0 < model.solution_.gap < np.inf


def test_grid_search_over_a_precomputed_kernel() -> None:
    X, y = moons(80)
    search = GridSearchCV(dg.KernelClassifier(kernel="precomputed"), {"C": [0.1, 10.0]}, cv=3)
    assert search.fit(rbf_kernel(X), y).best_score_ > 0.7


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"kernel": "rfb"}, "There is no kernel"),
        ({"gamma": -1.0}, "gamma must be"),
        ({"loss": "squared"}, "use KernelRegressor"),
        ({"loss": "zero_one"}, "convex"),
        ({"lam": 0.0}, "lam must be positive"),
        ({"approximation": "magic"}, "approximation must be"),
    ],
)
def test_refusals(keywords: dict[str, Any], message: str) -> None:
    X, y = moons(20)
    with pytest.raises(DataError, match=message):
        dg.KernelClassifier(**keywords).fit(X, y)
