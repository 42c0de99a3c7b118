"""Data made to trip a search: ties, copies, constants, dependence, few rows, odd scales, odd weights.

Every answer is held against brute force, every bound also of runs that were cut short.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import dualgap as dg
from brute_force import Subsets, best_fit, best_squares, fewest_errors
from dualgap.arrays import Matrix, Vector
from dualgap.errors import NotCertifiedWarning
from dualgap.fitting.names import loss_named
from dualgap.traits import Trait

LOSSES = ("absolute", "quantile(0.3)", "huber(0.5)", "epsilon_insensitive(0.1)", "hinge", "squared_hinge")


def fit(X: Any, y: Vector, **keywords: Any) -> dg.Solution:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotCertifiedWarning)
        return dg.fit(X, y, **keywords)


def table(rng: np.random.Generator, n: int, p: int) -> Matrix:
    X = np.round(2.0**20 * rng.normal(size=(n, p))) / 2.0**20  # so that sums are exact
    kind = int(rng.integers(6))
    if kind == 1:
        X += 3.0 * rng.normal(size=(n, 1))
    elif kind == 2:
        X = rng.integers(-1, 2, (n, p)).astype(float)
    elif kind == 3:
        X = np.round(X, 1)
    elif kind == 4:
        X[:, rng.integers(p)] = X[:, rng.integers(p)]
    elif kind == 5 and p > 3:
        X[:, 0] = X[:, 1] + X[:, 2] - X[:, 3]
    if rng.random() < 0.2:
        X[:, rng.integers(p)] = rng.choice([0.0, 1.0, 5.0])
    if rng.random() < 0.3 and n > 6:
        X[:3] = X[3:6]
    return X


def row_weights(rng: np.random.Generator, n: int) -> Vector:
    weights = [np.ones(n), rng.integers(0, 4, n).astype(float), rng.random(n)][rng.integers(3)]
    return weights if weights.any() else np.ones(n)


def squares(rng: np.random.Generator, X: Matrix) -> Vector:
    size = np.maximum(np.abs(X).max(axis=0), 1e-9)
    y = X @ np.where(rng.random(X.shape[1]) < 0.5, rng.normal(size=X.shape[1]) / size, 0.0)
    y = y + rng.choice([0.0, 0.1, 1.0, 3.0]) * rng.normal(size=len(X))
    if rng.random() < 0.3:
        y = np.round(y)
    return np.full(len(X), 2.0) if rng.random() < 0.1 else y


@pytest.mark.parametrize("block", range(6))
def test_squares(block: int) -> None:
    for seed in range(25 * block, 25 * block + 25):
        rng = np.random.default_rng(seed)
        n, p = int(rng.integers(4, 25)), int(rng.integers(1, 8))
        X = table(rng, n, p)
        if rng.random() < 0.3:
            X = X * 8.0 ** rng.integers(-4, 5, p)
        y, weights, intercept = squares(rng, X), row_weights(rng, n), bool(rng.random() < 0.7)
        always = tuple(int(j) for j in np.flatnonzero(rng.random(p) < 0.15))
        ridge = float(rng.choice([0.0, 0.0, 0.1, 1.0]))
        price = float(rng.choice([0.0, 0.05, 0.2])) * max(float(y.var()), 1e-3)
        limit = 99 if price else int(rng.integers(0, p + 2))
        used = weights > 0
        rule = Subsets(price, limit, ridge * (price or 1.0), intercept, always)
        best = best_squares(X[used], y[used], weights[used], rule)
        asked: dict[str, Any] = {"lam": price} if price else {"budget": limit}
        asked |= {"penalty": f"l0_l2({ridge})" if ridge else "l0", "fit_intercept": intercept}
        asked["penalty_factors"] = [0.0 if j in always else 1.0 for j in range(p)]
        rows = sp.csr_array(X) if rng.random() < 0.3 else X
        for nodes in (None, 1, 3):
            found = fit(rows, y, loss="squared", sample_weight=weights, max_iter=nodes, **asked)
            scale = max(best, 1e-4 * found.facts["null"])
            slack = 1e-9 * scale + 1e-13 * float(weights / weights.sum() @ (y * y))
            assert found.bound <= best + slack, seed
            assert found.objective >= best - 100 * slack - 1e-12, seed
        full = fit(rows, y, loss="squared", sample_weight=weights, **asked)
        assert full.objective <= best + 1e-6 * scale + slack and full.converged, seed


@pytest.mark.parametrize("name", LOSSES)
def test_other_losses(name: str) -> None:
    loss = loss_named(name)
    for seed in range(5):
        rng = np.random.default_rng(100 * len(name) + seed)
        n, p = int(rng.integers(3, 18)), int(rng.integers(1, 5))
        X = table(rng, n, p)
        y, weights, intercept = squares(rng, X), row_weights(rng, n), bool(rng.random() < 0.7)
        if Trait.CLASSIFICATION in loss.traits:
            y = np.where(y + y.std() * rng.normal(size=n) > 0, 1.0, -1.0)
            y[:2], weights = (1.0, -1.0), np.maximum(weights, 0.1)
        ridge, price = float(rng.choice([0.0, 0.1])), float(rng.choice([0.0, 0.05]))
        limit = 99 if price else int(rng.integers(0, p + 1))
        used = weights > 0
        rule = Subsets(price, limit, ridge * (price or 1.0), intercept)
        best = best_fit(X[used], y[used], weights[used], loss, rule)
        asked: dict[str, Any] = {"lam": price} if price else {"budget": limit}
        asked["penalty"] = f"l0_l2({ridge})" if ridge else "l0"
        for nodes in (1, None):
            found = fit(
                X, y, loss=loss, fit_intercept=intercept, sample_weight=weights, max_iter=nodes, **asked
            )
            scale = max(best, 1e-4 * found.facts["null"])
            assert found.bound <= best + 2e-8 * scale + 1e-13, seed
        assert found.objective <= best + 3e-6 * scale + 1e-12 and found.converged, seed


@pytest.mark.parametrize("solver", ["arrangement", "hitting_set", "local_planes"])
def test_errors(solver: str) -> None:
    for seed in range(14):
        rng = np.random.default_rng(seed)
        n, p = int(rng.integers(3, 9)), int(rng.integers(1, 5))
        X, intercept = table(rng, n, p), bool(rng.random() < 0.7)
        y = np.where(rng.random(n) < 0.5, 1.0, -1.0)
        y[:2] = 1.0, -1.0
        weights = rng.random(n) + 0.01 if seed % 2 else np.ones(n)
        best = fewest_errors(X, y, weights, intercept=intercept)
        for nodes in (1, None):
            found = fit(X, y, loss="zero_one", penalty="none", solver=solver, fit_intercept=intercept,
                        sample_weight=weights, max_iter=nodes)  # fmt: skip
            assert found.bound <= best + 1e-9 and found.objective >= best - 1e-12, seed
        if solver != "local_planes":
            assert found.objective == pytest.approx(best, abs=1e-9) and found.converged, seed


@pytest.mark.parametrize("strength", [{"lam": 0.1}, {"budget": 1}])
@pytest.mark.parametrize("loss", ["squared", "absolute"])
@pytest.mark.parametrize("solver", ["auto", "greedy_forward", "greedy_backward", "hard_thresholding"])
def test_nothing_to_choose(solver: str, loss: str, strength: dict[str, float]) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(12, 2)), rng.normal(size=12)
    plain = dg.fit(X, y, loss=loss, penalty="none")
    free = dg.fit(X, y, loss=loss, penalty="l0", penalty_factors=[0, 0], solver=solver, **strength)
    assert free.objective == pytest.approx(plain.objective, rel=1e-6) and free.converged
    constant = dg.fit(np.full((12, 2), 3.0), y, loss=loss, penalty="l0", solver=solver, **strength)
    assert constant.objective == pytest.approx(constant.facts["null"]) and not constant.coef.any()
    same = dg.fit(X, np.full(12, 2.0), loss=loss, penalty="l0", solver=solver, **strength)
    assert same.objective == pytest.approx(0.0, abs=1e-12) and same.converged


def test_a_sparse_column_far_from_zero_is_not_lost() -> None:
    rng = np.random.default_rng(0)
    X = np.column_stack([150.0 + 1e-4 * rng.normal(size=30), rng.normal(size=(30, 3))])
    y = 1e4 * (X[:, 0] - 150.0) + 0.1 * rng.normal(size=30)
    for loss in ("squared", "absolute"):
        found = dg.fit(sp.csr_array(X), y, loss=loss, penalty="l0", budget=1)
        assert found.coef[0] != 0.0 and found.objective < 0.2 * found.facts["null"]


def test_no_useful_bound_is_said_for_every_loss() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 80))
    y = X[:, 0] + X[:, 5] + X[:, 9] + 0.3 * rng.normal(size=20)
    with pytest.warns(NotCertifiedWarning, match="no useful bound"):
        found = dg.fit(X, y, loss="absolute", penalty="l0", budget=4)
    assert found.bound == 0.0 and np.all(found.coef[[0, 5, 9]] != 0.0)
