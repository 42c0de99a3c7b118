from __future__ import annotations

import warnings
from fractions import Fraction
from operator import mul
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer, load_iris

import dualgap as dg
from dualgap.errors import NotCertifiedWarning, UnboundedError
from dualgap.linalg.cone import project_onto_cone, separating

RNG = np.random.default_rng(4)
X = RNG.normal(size=(120, 4))
SCORE = X @ [1.0, 2.0, -1.0, 0.0]
APART = np.where(SCORE + 0.3 > 0, 1.0, -1.0)
MIXED = np.where(SCORE + RNG.logistic(size=120) > 0, 1.0, -1.0)
LOSSES = ("logistic", "exponential")


def rational(values: Any) -> list[Fraction]:
    return [Fraction(float(value)) for value in values]


def told_exactly(table: Any, numbers: Any, error: UnboundedError) -> None:
    """The direction does what the error says, as real numbers: `numbers` are those of the classes."""
    dense = table.toarray() if sp.issparse(table) else np.asarray(table)
    W, levels = np.atleast_2d(error.direction), np.atleast_1d(error.intercept)
    if len(W) == 1:
        W, levels = np.vstack([0.0 * W, W]), np.append(0.0, levels)
    blocks, bases = [rational(w) for w in W], rational(levels)
    ahead = []
    for x, own in zip(dense, numbers, strict=True):
        row = rational(x)
        scores = [sum(map(mul, row, w), b) for w, b in zip(blocks, bases, strict=True)]
        ahead += [scores[int(own)] - score for k, score in enumerate(scores) if k != own]
    assert min(ahead) >= 0 and max(ahead) > 0


def exists(table: Any, numbers: Any, classes: int, *, intercept: bool) -> bool:
    """The judge: has some direction all pairs (row, other class) ≥ 0 and one > 0?

    None has (Stiemke) if and only if Aᵀθ = 0 for some θ ≥ 1: the simplex method on θ − 1, rationals only, the
    least index first.
    """
    rows = []
    for x, own in zip(np.asarray(table), numbers, strict=True):
        full = rational([*x, 1.0] if intercept else x)
        for other in set(range(classes)) - {int(own)}:
            blocks = [[Fraction(0)] * len(full) for _ in range(classes)]
            blocks[int(own)], blocks[other] = full, [-value for value in full]
            rows.append([value for block in blocks[1:] for value in block])
    n, system = len(rows), []
    for column in zip(*rows, strict=True):
        sign = -1 if sum(column) > 0 else 1
        system.append([sign * value for value in column] + [-sign * sum(column)])
    cost = [-sum(line[i] for line in system) for i in range(n + 1)]
    basis = list(range(n, n + len(system)))
    while (enter := next((i for i in range(n) if cost[i] < 0), None)) is not None:
        ratios = [(line[-1] / line[enter], basis[k], k) for k, line in enumerate(system) if line[enter] > 0]
        leave = min(ratios)[2]
        system[leave] = [value / system[leave][enter] for value in system[leave]]
        for line in [*(line for k, line in enumerate(system) if k != leave), cost]:
            share = line[enter]
            line[:] = [a - share * b for a, b in zip(line, system[leave], strict=True)]
        basis[leave] = enter
    return bool(cost[-1] != 0)


def refused(table: Any, labels: Any, **keywords: Any) -> UnboundedError:
    """The error, its direction checked on the arrays without rounding."""
    with pytest.raises(UnboundedError) as caught:
        dg.fit(table, labels, **{"loss": "logistic", "penalty": "none", **keywords})
    error = caught.value
    told_exactly(table, np.searchsorted(np.unique(labels), labels), error)
    if not keywords.get("fit_intercept", True):
        assert error.intercept == 0.0
    return error


def decided(table: Any, numbers: Any, classes: int = 2, **keywords: Any) -> bool:
    """Is what a fit says of these rows, whatever it is, true? And did it tell of a direction?"""
    dense = table.toarray() if sp.issparse(table) else table
    intercept = keywords.get("fit_intercept", True)
    truth = exists(dense, numbers, classes, intercept=intercept)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NotCertifiedWarning)
            dg.fit(table, numbers, **{"loss": "logistic", "penalty": "none", **keywords})
    except UnboundedError as error:
        told_exactly(table, numbers, error)
        assert truth
        return True
    assert not truth
    return False


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
    error = refused(table, labels)
    assert error.direction.shape == (3, 4)
    noise = RNG.integers(0, 3, 150)
    assert dg.fit(table, noise, loss="logistic", penalty="none").converged


def apart(rng: np.random.Generator, offset: float) -> tuple[Any, Any]:
    """Classes a tenth of a standard deviation apart, far from zero."""
    n, p = int(rng.integers(10, 61)), int(rng.integers(1, 7))
    table, w = rng.normal(size=(n, p)), rng.normal(size=p)
    w /= np.linalg.norm(w)
    score = table @ w
    numbers = (score > np.quantile(score, rng.uniform(0.2, 0.8))).astype(int)
    return table + np.outer(0.1 * (numbers - 0.5), w) + offset, numbers


@pytest.mark.parametrize("offset", [0.0, 1e3, 1e6, 1e9])
def test_separated_classes_far_from_zero_are_all_told(offset: float) -> None:
    for seed in range(25):
        table, numbers = apart(np.random.default_rng(seed), offset)
        refused(table, numbers, loss=LOSSES[seed % 2])


@pytest.mark.parametrize("offset", [0.0, 1e6, 1e9])
def test_what_is_said_of_noisy_classes_is_true(offset: float) -> None:
    told = []
    for seed in range(15):
        rng = np.random.default_rng(seed)
        n, p = int(rng.integers(10, 41)), int(rng.integers(1, 5))
        table = rng.normal(size=(n, p))
        numbers = (table @ rng.normal(size=p) + 0.1 * rng.logistic(size=n) > 0).astype(int)
        told.append(decided(table + offset, numbers))
    assert 2 < sum(told) < 13  # some of either kind


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("offset", [0.0, 1e6, 1e9])
def test_planes_through_whole_numbers(offset: float, form: Any) -> None:
    """Rows on the plane, of either class: told wherever the judge says so, at every offset."""
    told = []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        table = rng.integers(0, 4, (int(rng.integers(10, 50)), int(rng.integers(2, 5)))).astype(float)
        score = table @ rng.integers(-3, 4, table.shape[1]).astype(float)
        score -= np.quantile(score, rng.uniform(0.2, 0.8), method="nearest")
        numbers = np.where(score == 0, rng.random(len(score)) < 0.5, score > 0).astype(int)
        if seed % 3 == 0:
            numbers[rng.integers(len(numbers))] ^= 1
        numbers[:2] = 0, 1
        told.append(decided(form(table + offset), numbers, fit_intercept=seed % 4 != 1))
    assert 3 <= sum(told) <= 11


@pytest.mark.parametrize("offset", [0.0, 1e6, 1e9])
def test_many_classes_on_planes_through_whole_numbers(offset: float) -> None:
    told = []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        classes, p = 3 + seed % 2, int(rng.integers(1, 4))
        table = rng.integers(0, 4, (20, p)).astype(float)
        score = table @ rng.integers(-2, 3, (p, classes)).astype(float)
        score = score - np.round(np.median(score, axis=0)) + 1e-3 * rng.random(score.shape)
        numbers = np.argmax(score, axis=1)
        numbers[:classes] = np.arange(classes) if seed % 3 else numbers[:classes]
        if len(set(numbers)) == classes:
            told.append(decided(table + offset, numbers, classes))
    assert len(told) >= 4 and any(told)


@pytest.mark.parametrize("offset", [0.0, 1e6, 1e9])
def test_many_classes_apart_far_from_zero(offset: float) -> None:
    for seed in range(6):
        rng = np.random.default_rng(seed)
        classes, p = 3 + seed % 2, 2 + seed % 2
        centres = 8.0 * rng.normal(size=(classes, p))
        numbers = np.arange(40) % classes
        refused(centres[numbers] + rng.uniform(-0.5, 0.5, (40, p)) + offset, numbers)


def test_a_minimiser_that_is_far_off_is_no_separation() -> None:
    """Two rows, 2e-10 beyond each other: the best slope is about 46."""
    table = 1.0 + np.array([-1.0, -0.5, 0.5, 1.0, 1e-10, -1e-10])[:, None]
    assert not decided(table, np.array([0, 0, 1, 1, 0, 1]))
    assert decided(table, np.array([0, 0, 1, 1, 1, 0]))


def test_an_overlap_of_one_digit_is_no_separation() -> None:
    step = np.spacing(1e6)
    table = np.array([1e6 - 1.0, 1e6, 1e6 + step, 1e6 + 1.0])[:, None]
    assert decided(table, np.array([0, 0, 1, 1]))
    assert not decided(table, np.array([0, 1, 0, 1]))
    both = np.column_stack([table, table])
    assert decided(both, np.array([0, 0, 1, 1]))
    assert not decided(both, np.array([0, 1, 0, 1]))


def test_a_plane_of_thirds_is_solved_for() -> None:
    """No decimals of 3 : 7 : −5 lie on it; the rows of either class that touch it determine it."""
    rng = np.random.default_rng(0)
    grid = rng.permutation(np.stack(np.meshgrid(*3 * [np.arange(-6.0, 7.0)]), axis=-1).reshape(-1, 3))
    score = grid @ [3.0, 7.0, -5.0] - 4.0
    kept = np.concatenate([np.flatnonzero(score == 0)[:20], np.flatnonzero(np.abs(score) > 2)[:100]])
    table, score = grid[kept], score[kept]
    numbers = np.where(score == 0, np.arange(120) % 2, score > 0).astype(int)
    for offset in (0.0, 1e6, 1e9):
        error = refused(table + offset, numbers)
        assert np.array_equal(error.direction / error.direction[0], np.array([3.0, 7.0, -5.0]) / 3.0)


def test_zeros_do_not_hinder_where_there_is_no_intercept() -> None:
    rng = np.random.default_rng(2)
    table = rng.integers(0, 3, (50, 2)).astype(float)
    difference = table[:, 1] - table[:, 0]
    numbers = np.where(difference == 0, rng.random(50) < 0.5, difference > 0).astype(int)
    numbers[~table.any(axis=1)] = 0
    assert decided(table, numbers, fit_intercept=False)


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
