from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer, load_iris

import dualgap as dg
from dualgap.errors import UnboundedError
from dualgap.fitting.separation import project_onto_cone, separating

RNG = np.random.default_rng(4)
X = RNG.normal(size=(120, 4))
SCORE = X @ [1.0, 2.0, -1.0, 0.0]
APART = np.where(SCORE + 0.3 > 0, 1.0, -1.0)
MIXED = np.where(SCORE + RNG.logistic(size=120) > 0, 1.0, -1.0)
LOSSES = ("logistic", "exponential")


def refused(table: Any, labels: Any, **keywords: Any) -> UnboundedError:
    """The error, its direction checked on the arrays."""
    with pytest.raises(UnboundedError) as caught:
        dg.fit(table, labels, **{"loss": "logistic", "penalty": "none", **keywords})
    error = caught.value
    signs = np.where(labels == np.unique(labels)[1], 1.0, -1.0)
    dense = table.toarray() if sp.issparse(table) else np.asarray(table)
    margins = signs * (dense @ error.direction + error.intercept)
    assert margins.min() >= -1e-9 * np.abs(margins).max()
    assert margins.max() > 0.0
    if not keywords.get("fit_intercept", True):
        assert error.intercept == 0.0
    return error


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_separated_classes_have_no_minimiser(loss: str, fit_intercept: bool) -> None:
    labels = APART if fit_intercept else np.where(SCORE > 0, 1.0, -1.0)
    error = refused(X, labels, loss=loss, fit_intercept=fit_intercept)
    assert "separates the classes" in str(error)
    assert loss in str(error)


@pytest.mark.parametrize("loss", LOSSES)
def test_mixed_classes_are_fitted(loss: str) -> None:
    solution = dg.fit(X, MIXED, loss=loss, penalty="none")
    assert solution.converged
    assert solution.certificate.recheck(X, MIXED).gap <= 1e-6 * solution.objective


@pytest.mark.parametrize("loss", LOSSES)
def test_one_column_that_separates_some_rows_is_named(loss: str) -> None:
    rare = ((RNG.random(120) < 0.2) & (MIXED > 0)).astype(float)
    table = pd.DataFrame(np.column_stack([X, rare]), columns=["a", "b", "c", "d", "rare"])
    error = refused(table, MIXED, loss=loss)
    assert "rare > 0 separates" in str(error)
    assert np.array_equal(error.direction, [0.0, 0.0, 0.0, 0.0, 1.0])


def test_a_threshold_is_named() -> None:
    frame = pd.DataFrame({"noise": X[:, 3], "x1": SCORE})
    error = refused(frame, np.where(SCORE > 0.7, 1, 0))
    assert "x1 > 0." in str(error)
    assert "x1 < " in str(refused(frame, np.where(SCORE > 0.7, 0, 1)))


def test_a_combination_that_touches_is_found_exactly() -> None:
    table = RNG.integers(0, 4, (80, 2)).astype(float)
    difference = table[:, 0] - table[:, 1]
    coin = np.where(RNG.random(80) < 0.5, 1.0, -1.0)
    labels = np.where(difference == 0, coin, np.sign(difference))
    error = refused(table, labels)
    assert np.array_equal(error.direction, [1.0, -1.0])
    assert error.intercept == 0.0
    assert "+1*x0 -1*x1 > 0" in str(error)


def test_more_columns_than_rows_always_separate() -> None:
    refused(RNG.normal(size=(20, 50)), np.where(np.arange(20) % 3 == 0, 1.0, -1.0))


def test_raw_breast_cancer_is_separable() -> None:
    error = refused(*load_breast_cancer(return_X_y=True))
    assert "30 columns" in str(error)


def test_iris_two_ways() -> None:
    table, labels = load_iris(return_X_y=True)
    assert "x2 > " in str(refused(table[labels < 2], labels[labels < 2]))
    assert dg.fit(table[labels > 0], labels[labels > 0], loss="logistic", penalty="none").converged


def test_sparse_data() -> None:
    table = sp.csr_array(np.where(RNG.random((60, 3)) < 0.5, X[:60, :3], 0.0))
    labels = np.where(table.toarray() @ [1.0, -2.0, 0.5] > 0.1, 1.0, -1.0)
    refused(table, labels)


@pytest.mark.parametrize("strength", [{"lam": 0.01}, {"budget": 1.0}])
def test_only_free_columns_can_separate(strength: dict[str, float]) -> None:
    keywords: dict[str, Any] = {"penalty": "l1", **strength}
    assert dg.fit(X, APART, loss="logistic", **keywords).converged
    rare = ((RNG.random(120) < 0.2) & (MIXED > 0)).astype(float)
    table = np.column_stack([X, rare])
    assert dg.fit(table, MIXED, loss="logistic", **keywords).converged
    error = refused(table, MIXED, penalty_factors=[1, 1, 1, 0, 0], **keywords)
    assert not error.direction[:3].any()
    free = dg.fit(table, MIXED, loss="logistic", penalty_factors=[1, 1, 1, 0, 1], **keywords)
    assert free.converged


def test_a_strength_of_zero_is_no_penalty() -> None:
    refused(X, APART, penalty="l2", lam=0.0)


def test_losses_that_reach_their_minimum_are_fitted() -> None:
    for loss in ("hinge", "squared_hinge", "perceptron"):
        solution = dg.fit(X, APART, loss=loss, penalty="none")
        assert solution.converged
        assert solution.objective <= 1e-9


def test_rows_of_weight_zero_do_not_hinder() -> None:
    labels = APART.copy()
    labels[:5] *= -1.0
    weights = np.ones(120)
    weights[:5] = 0.0
    with pytest.raises(UnboundedError):
        dg.fit(X, labels, loss="logistic", penalty="none", sample_weight=weights)
    assert dg.fit(X, labels, loss="logistic", penalty="none").converged


def test_collinear_columns_are_no_separation() -> None:
    table = np.column_stack([X, X[:, 0] + X[:, 1]])
    assert dg.fit(table, MIXED, loss="logistic", penalty="none").converged


def test_one_against_the_rest_names_the_class() -> None:
    table, labels = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])[labels]
    with pytest.raises(UnboundedError, match=r"Class 'setosa' against the rest: .* x2 < 2\.45 separates"):
        dg.fit(table, names, loss="logistic", penalty="none", multiclass="one_vs_rest")


def test_many_classes() -> None:
    table, labels = load_iris(return_X_y=True)
    with pytest.raises(UnboundedError) as caught:
        dg.fit(table, labels, loss="logistic", penalty="none")
    direction, intercept = caught.value.direction, np.asarray(caught.value.intercept)
    assert direction.shape == (3, 4)
    scores = table @ direction.T + intercept
    ahead = scores[np.arange(150), labels][:, None] - scores
    assert ahead.min() >= -1e-9 * np.abs(ahead).max()
    assert ahead.max() > 0.0
    noise = RNG.integers(0, 3, 150)
    assert dg.fit(table, noise, loss="logistic", penalty="none").converged


@given(st.integers(0, 10_000), st.integers(1, 4), st.integers(1, 12))
def test_projecting_onto_a_cone_decides(seed: int, columns: int, rows: int) -> None:
    """Gordan and Stiemke: either a direction separates, or positive multiples of the rows add up to zero."""
    rng = np.random.default_rng(seed)
    A = rng.integers(-2, 3, (rows, columns)).astype(float)
    A = A[A.any(axis=1)]
    if not len(A):
        return
    A /= np.linalg.norm(A, axis=1)[:, None]
    d = separating(A)
    if d is not None:
        margins = A @ d
        assert margins.min() >= -1e-9 * margins.max()
        assert margins.max() > 0.0
        return
    assert project_onto_cone(A) is None
    # no direction: (1 + θ) combines the rows to zero for some θ ≥ 0, found here by non-negative least squares
    from scipy.optimize import nnls

    assert nnls(A.T, -A.sum(axis=0))[1] <= 1e-7


def test_separating_is_as_strict_as_can_be() -> None:
    A = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    d = separating(A)
    assert d is not None
    assert (A @ d).min() > 0.0
    flat = np.array([[1.0, 0.0], [-1.0, 0.0], [0.3, 1.0]])
    d = separating(flat)
    assert d is not None
    np.testing.assert_allclose(flat @ d / np.linalg.norm(d), [0.0, 0.0, 1.0], atol=1e-9)
