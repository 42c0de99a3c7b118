"""Sparse tables, matrices computed elsewhere, kernels that are none, weights of classes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_moons
from sklearn.metrics.pairwise import chi2_kernel, laplacian_kernel, rbf_kernel
from sklearn.svm import SVC

import dualgap as dg
from dualgap.errors import DataError
from dualgap.fitting.calibration import folds


def counts(n: int = 80, seed: int = 0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.poisson(0.4, size=(n, 12)).astype(float)
    return X, (X[:, 0] + X[:, 1] > X[:, 2] + 0.5 * rng.normal(size=n)).astype(int)


@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf", "laplacian", "sigmoid", rbf_kernel])
def test_sparse_tables_give_what_arrays_give(kernel: Any) -> None:
    X, y = counts()
    asked: dict[str, Any] = {"kernel": kernel, "degree": 2, "coef0": 0.0}
    if kernel == "sigmoid":
        X, asked["gamma"], asked["fit_intercept"] = X[:, :1] + 1.0, 1e-3, True
        X[0], y = 2.0, (X[:, 0] > 1.0).astype(int)
        asked["gamma"] = 1e-9  # all but linear
    dense = dg.KernelClassifier(**asked).fit(X, y)
    for kind in (sp.csr_array, sp.csc_matrix):
        thin = dg.KernelClassifier(**asked).fit(kind(X), y)
        assert sp.issparse(thin.support_vectors_)
        np.testing.assert_allclose(thin.decision_function(kind(X)), dense.decision_function(X), atol=1e-6)
        np.testing.assert_allclose(thin.decision_function(X), dense.decision_function(kind(X)), atol=1e-6)


def test_a_large_sparse_table() -> None:
    X, y = counts(1600)
    thin = dg.KernelClassifier().fit(sp.csr_array(X), y)
    dense = dg.KernelClassifier().fit(X, y)
    np.testing.assert_allclose(thin.decision_function(X[:50]), dense.decision_function(X[:50]), atol=1e-5)


def test_a_kernel_of_ones_own() -> None:
    X, y = counts()
    called = dg.KernelClassifier(kernel=chi2_kernel).fit(X, y)
    given = dg.KernelClassifier(kernel="precomputed").fit(chi2_kernel(X), y)
    np.testing.assert_allclose(
        called.decision_function(X), given.decision_function(chi2_kernel(X)), atol=1e-7
    )
    with pytest.raises(DataError, match="gave shape"):
        dg.KernelClassifier(kernel=lambda A, B: np.ones(3)).fit(X, y)


def test_laplacian_is_the_one_of_scikit_learn() -> None:
    X, y = counts()
    named = dg.KernelClassifier("logistic", "laplacian", gamma=0.3).fit(X, y)
    given = dg.KernelClassifier("logistic", "precomputed").fit(laplacian_kernel(X, gamma=0.3), y)
    np.testing.assert_allclose(named.solution_.objective, given.solution_.objective, rtol=1e-8)


def exact_in_single(n: int = 120) -> tuple[Any, Any]:
    """A kernel matrix that libsvm, which keeps rows in single precision, can hold without rounding."""
    X, y = make_moons(n, noise=0.3, random_state=0)
    K = rbf_kernel(X, gamma=0.7)
    return (np.round(K * 2**14) / 2**14 + np.eye(n) / 2**8), y


@pytest.mark.parametrize("C", [0.1, 1.0, 10.0])
def test_the_machine_of_scikit_learn_run_tight(C: float) -> None:
    K, y = exact_in_single()
    model = dg.KernelClassifier(kernel="precomputed", C=2 * C).fit(K, y)
    peer = SVC(kernel="precomputed", C=C, tol=1e-12).fit(K, y)
    np.testing.assert_allclose(model.decision_function(K), peer.decision_function(K), atol=1e-6)
    np.testing.assert_allclose(model.intercept_, peer.intercept_, atol=1e-6)
    np.testing.assert_array_equal(model.support_, np.sort(peer.support_))
    np.testing.assert_allclose(model.dual_coef_[0], peer.dual_coef_[0][np.argsort(peer.support_)], atol=1e-6)


def test_class_weights_are_those_of_scikit_learn() -> None:
    K, y = exact_in_single()
    weights = {0: 0.5, 1: 3.0}
    model = dg.KernelClassifier(kernel="precomputed", C=2.0 / len(y), class_weight=weights)
    total = float(np.where(y == 1, 3.0, 0.5).sum())
    peer = SVC(kernel="precomputed", C=1.0, class_weight=weights, tol=1e-12).fit(K, y)
    found = model.set_params(C=None, lam=0.5 / total).fit(K, y)
    np.testing.assert_allclose(found.decision_function(K), peer.decision_function(K), atol=1e-6)


def test_a_matrix_off_by_a_constant_is_definite_where_it_counts() -> None:
    """With an intercept Σβ = 0, and a constant in K adds nothing."""
    K, y = exact_in_single()
    plain = dg.KernelClassifier(kernel="precomputed").fit(K, y)
    lower = dg.KernelClassifier(kernel="precomputed").fit(K - 5.0, y)
    np.testing.assert_allclose(plain.decision_function(K), lower.decision_function(K - 5.0), atol=1e-7)
    with pytest.raises(DataError, match="smallest eigenvalue of the kernel matrix is -"):
        dg.KernelClassifier(kernel="precomputed", fit_intercept=False).fit(K - 5.0, y)


def test_a_matrix_that_is_no_kernel() -> None:
    K, y = exact_in_single()
    with pytest.raises(DataError, match="smallest eigenvalue"):
        dg.KernelClassifier(kernel="precomputed").fit(-K, y)
    with pytest.raises(DataError, match="not symmetric"):
        dg.KernelClassifier(kernel="precomputed").fit(K + np.triu(np.ones_like(K)), y)
    with pytest.raises(DataError, match="square"):
        dg.KernelClassifier(kernel="precomputed").fit(K[:, :50], y)


@pytest.mark.parametrize("gamma", [1.0, "auto", "scale"])
def test_two_rows_far_out(gamma: Any) -> None:
    """libsvm does not come back from these."""
    X = np.array([[1.0, 99999.0], [2.0, 99999.0]])
    model = dg.KernelClassifier("hinge", "poly", degree=2, gamma=gamma, max_iter=1000).fit(X, [0, 1])
    assert model.n_iter_ < 1000
    np.testing.assert_array_equal(model.predict(X), [0, 1])


def test_equal_rows_share_a_fold() -> None:
    rng = np.random.default_rng(0)
    X = rng.integers(0, 4, size=(60, 2)).astype(float)
    which = rng.integers(0, 2, 60)
    number = folds(X, which, 0)
    assert set(number) == set(range(5))
    for i in range(60):
        same = (which == which[i]) & (X[i] == X).all(axis=1)
        assert len(set(number[same])) == 1
