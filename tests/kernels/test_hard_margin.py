"""C = ∞ with a kernel: the surface of largest margin, or the proof that there is none."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.datasets import make_moons
from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel

import dualgap as dg
from dualgap.errors import DataError, InfeasibleError


def moons(n: int, noise: float = 0.1) -> tuple[Any, Any, Any]:
    X, y = make_moons(n, noise=noise, random_state=0)
    return X, y, 2.0 * y - 1.0


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize(("n", "noise", "gamma"), [(60, 0.1, 1.0), (150, 0.3, 20.0), (400, 0.15, 5.0)])
def test_the_surface_of_largest_margin(n: int, noise: float, gamma: float, intercept: bool) -> None:
    X, y, sign = moons(n, noise)
    model = dg.KernelClassifier(C=np.inf, gamma=gamma, fit_intercept=intercept).fit(X, y)
    margins = sign * model.decision_function(X)
    assert margins.min() == pytest.approx(1.0, abs=1e-6)
    np.testing.assert_allclose(margins[model.support_], 1.0, atol=1e-5)
    assert np.all(model.dual_coef_[0] * sign[model.support_] > 0.0)
    K = model.kernel_(X, X)
    np.testing.assert_allclose(K, rbf_kernel(X, gamma=gamma), rtol=1e-12)
    for labels in (sign, y):
        again = model.solution_.certificate.recheck(K, labels)
        assert again.objective - again.bound <= 1e-6 * again.objective
        assert again.objective == pytest.approx(model.solution_.objective, rel=1e-6)
    other = model.solution_.certificate.recheck(K, -sign)
    assert other.objective == np.inf and other.bound == 0.0


def test_the_limit_of_large_C() -> None:
    X, y, _ = moons(80)
    hard = dg.KernelClassifier(C=np.inf, gamma=1.0).fit(X, y)
    soft = dg.KernelClassifier(C=1e5, gamma=1.0, tol=1e-9).fit(X, y)
    np.testing.assert_allclose(hard.decision_function(X), soft.decision_function(X), atol=1e-6)


def test_the_linear_kernel_is_the_plane() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 5))
    z = X @ np.ones(5)
    X, z = X[np.abs(z) > 1e-3], z[np.abs(z) > 1e-3]
    plane = dg.LinearClassifier("hinge", C=np.inf).fit(X, z > 0)
    model = dg.KernelClassifier(kernel="linear", C=np.inf).fit(X, z > 0)
    assert model.solution_.objective == pytest.approx(plane.solution_.objective, rel=1e-6)
    np.testing.assert_allclose(model.dual_coef_ @ model.support_vectors_, plane.coef_, rtol=1e-5)


def test_hulls_that_meet_are_proven_to() -> None:
    X, y, _ = moons(100, 0.3)
    X[7], X[11] = X[3], X[3]
    y[3], y[7] = 0, 1
    with pytest.raises(InfeasibleError, match="meet") as caught:
        dg.KernelClassifier(C=np.inf, gamma=2.0).fit(X, y)
    proof = caught.value.proof
    assert proof is not None
    assert proof[y == 1].sum() == pytest.approx(1.0)
    assert proof[y == 0].sum() == pytest.approx(-1.0)
    assert np.all(proof * (2.0 * y - 1.0) >= 0.0)
    assert abs(proof @ rbf_kernel(X, gamma=2.0) @ proof) <= 1e-12


def test_a_polynomial_that_bends_too_little() -> None:
    """Classes in rings by turns: a circle apart for degree 2, which three rings defeat."""
    rng = np.random.default_rng(0)
    radius = np.repeat([1.0, 2.0, 3.0], 30)
    angle = rng.uniform(0, 2 * np.pi, 90)
    X = radius[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
    model = dg.KernelClassifier(kernel="poly", degree=2, gamma=1.0, C=np.inf)
    assert model.fit(X[:60], radius[:60] > 1.5).score(X[:60], radius[:60] > 1.5) == 1.0
    y = radius == 2.0
    with pytest.raises(InfeasibleError) as caught:
        model.fit(X, y)
    proof = caught.value.proof
    assert proof is not None
    K = polynomial_kernel(X, degree=2, gamma=1.0, coef0=1.0)
    assert abs(proof @ K @ proof) <= 1e-9 * K.max()


def test_many_classes_and_rows_of_weight_zero() -> None:
    X = np.array([[0.0, 0.0], [0.2, 0.0], [2.0, 0.0], [2.2, 0.0], [0.0, 2.0], [0.2, 2.0], [2.1, 0.1]])
    y, weights = np.array([0, 0, 1, 1, 2, 2, 0]), np.array([1.0, 2.0, 1.0, 1.0, 1.0, 1.0, 0.0])
    model = dg.KernelClassifier(C=np.inf, gamma=1.0).fit(X, y, weights)
    np.testing.assert_array_equal(model.predict(X[:6]), y[:6])
    assert 6 not in model.support_


def test_refusals() -> None:
    X, y, _ = moons(40)
    with pytest.raises(DataError, match="hinge"):
        dg.KernelClassifier("logistic", C=np.inf).fit(X, y)
    with pytest.raises(DataError, match="exact kernel"):
        dg.KernelClassifier(C=np.inf, approximation="nystroem").fit(X, y)
    with pytest.raises(DataError, match="hard tube"):
        dg.KernelRegressor("epsilon_insensitive(0.1)", C=np.inf).fit(X, X[:, 0])
