"""ν-machines: the same answers as libsvm's and a conic solver's, proven; what ν promises; refusals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cvxpy as cp
import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.svm import SVC, NuSVC, NuSVR, OneClassSVM
from sklearn.utils.estimator_checks import parametrize_with_checks

import dualgap as dg


def data(seed: int = 0, n: int = 120) -> Any:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3)) + 0.5
    z = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.5 * rng.normal(size=n)
    return X, z, np.where(z > np.median(z), "up", "down"), rng.integers(1, 4, n).astype(float)


@pytest.mark.parametrize("kernel", ["rbf", "poly"])
@pytest.mark.parametrize("nu", [0.6, 0.8])
@pytest.mark.parametrize("weighted", [False, True])
def test_same_decisions_as_libsvm(kernel: str, nu: float, weighted: bool) -> None:
    X, z, labels, s = data()
    weights = s if weighted else None
    shape: dict[str, Any] = {"kernel": kernel, "gamma": 0.4, "degree": 2, "coef0": 1.0, "nu": nu}
    pairs = [
        (dg.NuClassifier(**shape, tol=1e-10), NuSVC(**shape, tol=1e-9), labels, "decision_function"),
        (dg.NuRegressor(**shape, C=6.0, tol=1e-10), NuSVR(**shape, C=3.0, tol=1e-9), z, "predict"),
        (dg.OneClass(**shape, tol=1e-10), OneClassSVM(**shape, tol=1e-9), None, "decision_function"),
    ]
    for ours, theirs, y, how in pairs:
        ours.fit(X, y, sample_weight=weights)
        theirs.fit(X, y, sample_weight=weights)
        assert ours.solution_.relative_gap <= 1e-10
        np.testing.assert_allclose(getattr(ours, how)(X), getattr(theirs, how)(X), rtol=1e-4, atol=1e-4)
        beta = np.zeros(len(X))
        beta[theirs.support_] = theirs.dual_coef_[0]
        mine = np.zeros(len(X))
        mine[ours.support_] = ours.dual_coef_[0]
        np.testing.assert_allclose(mine, beta, rtol=1e-3, atol=1e-3 * np.abs(beta).max())


def test_pairs_of_classes_vote_as_in_libsvm() -> None:
    X, y = load_iris(return_X_y=True)
    ours, theirs = dg.NuClassifier(0.3, gamma=0.2).fit(X, y), NuSVC(nu=0.3, gamma=0.2, tol=1e-8).fit(X, y)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-4)
    again = ours.solution_.certificate.recheck(ours.kernel_(X, X), y)
    assert again.bound <= ours.solution_.objective and again.gap <= 1e-5 * abs(again.objective)


def test_c_and_nu_are_two_names_of_one_machine() -> None:
    X, _, labels, _ = data()
    ours = dg.NuClassifier(0.5, gamma=0.4, tol=1e-10).fit(X, labels)
    soft = SVC(C=1.0 / float(ours.rho_[0]), gamma=0.4, tol=1e-9).fit(X, labels)
    np.testing.assert_allclose(ours.decision_function(X), soft.decision_function(X), atol=1e-5)


def test_same_values_as_a_conic_solver() -> None:
    X, z, labels, s = data(n=60)
    a, y = s / s.sum(), np.where(labels == "up", 1.0, -1.0)
    w, b, rho = cp.Variable(3), cp.Variable(), cp.Variable()
    flat, nu = 0.5 * cp.sum_squares(w) / s.sum(), 0.6
    problems: dict[str, Any] = {
        "classes": flat - nu * rho + a @ cp.pos(rho - cp.multiply(y, X @ w + b)),
        "numbers": flat + nu * rho + a @ cp.pos(cp.abs(X @ w + b - z) - rho),
        "one": flat - nu * rho + a @ cp.pos(rho - X @ w),
    }
    models: dict[str, tuple[Any, Any]] = {
        "classes": (dg.NuClassifier(nu, "linear", tol=1e-9), labels),
        "numbers": (dg.NuRegressor(nu, "linear", C=2.0, tol=1e-9), z),
        "one": (dg.OneClass(nu, "linear", tol=1e-9), None),
    }
    for name, objective in problems.items():
        model, targets = models[name]
        model.fit(X, targets, sample_weight=s)
        best = cp.Problem(cp.Minimize(objective)).solve(solver=cp.CLARABEL)
        assert model.solution_.objective == pytest.approx(best, rel=1e-6, abs=1e-9)
        if name == "numbers":
            np.testing.assert_allclose(model.coef_[0], w.value, atol=1e-4)
            assert model.epsilon_ == pytest.approx(float(rho.value), abs=1e-5)


def test_nu_is_between_the_shares_of_errors_and_of_support_vectors() -> None:
    X, z, labels, _ = data()
    sign = np.where(labels == "up", 1.0, -1.0)
    for nu in (0.25, 0.5, 0.75):
        tube = dg.NuRegressor(nu, C=10.0, gamma=0.4, tol=1e-10).fit(X, z)
        outside = np.abs(tube.predict(X) - z) > tube.epsilon_ + 1e-7
        assert outside.mean() <= nu <= len(tube.support_) / len(X) + 1e-12
        plane = dg.NuClassifier(nu, gamma=0.4, tol=1e-10).fit(X, labels)
        assert (sign * plane.decision_function(X) < 1.0 - 1e-7).mean() <= nu <= len(plane.support_) / len(X)
        one = dg.OneClass(nu, gamma=0.4, tol=1e-10).fit(X)
        assert (one.decision_function(X) < -1e-7).mean() <= nu <= len(one.support_) / len(X) + 1e-12


def test_a_certificate_is_checked_again_and_a_forged_one_proves_nothing_false() -> None:
    X, z, _, _ = data()
    model = dg.NuRegressor(0.5, C=4.0, gamma=0.4, tol=1e-9).fit(X, z)
    K, proof = model.kernel_(X, X), model.solution_.certificate
    again = proof.recheck(K, z)
    assert again.gap <= 1e-9 * again.objective
    from dataclasses import replace

    assert replace(proof, theta=2.0 * proof.theta).recheck(K, z).bound < again.bound
    assert replace(proof, coef=2.0 * proof.coef).recheck(K, z).objective > again.objective
    assert replace(proof, theta=np.full(len(z), np.nan)).recheck(K, z).bound < again.bound


REFUSED: list[tuple[Callable[[Any, Any, Any], Any], str]] = [
    (lambda X, z, y: dg.OneClass(0.0).fit(X), "nu is the share of rows .* not 0.0"),
    (lambda X, z, y: dg.NuRegressor("half").fit(X, z), "nu is the share"),
    (lambda X, z, y: dg.NuClassifier(0.9).fit(X[:80], np.arange(80) < 20), "nu=0.9 is too large: class True"),
    (lambda X, z, y: dg.NuClassifier(0.1, "linear").fit(X, y), "nu=0.1 is too small"),
    (lambda X, z, y: dg.OneClass(0.5, "linear").fit(np.vstack([X, -X])), "leaves no plane"),
]


@pytest.mark.parametrize(("call", "words"), REFUSED)
def test_refusals(call: Callable[[Any, Any, Any], Any], words: str) -> None:
    X, z, labels, _ = data()
    with pytest.raises(dg.errors.DataError, match=words):
        call(X, z, labels)


CHECKED = [dg.NuClassifier(0.3, tol=1e-8), dg.NuRegressor(tol=1e-10), dg.OneClass(tol=1e-10)]


def _impossible(estimator: Any) -> dict[str, str]:
    """A ν of 0.3 has no place in a class of weight 1e-7, and is no use with labels drawn at random."""
    return (
        {
            "check_class_weight_classifiers": "nu is above twice the weight of a class",
            "check_estimator_sparse_tag": "labels at random",
        }
        if hasattr(estimator, "class_weight")
        else {}
    )


@parametrize_with_checks(CHECKED, expected_failed_checks=_impossible)
def test_checks_of_scikit_learn(estimator: Any, check: Callable[[Any], None]) -> None:
    check(estimator)
