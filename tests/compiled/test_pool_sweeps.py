"""The sweeps of the pool against the same thing in plain NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from dualgap.arrays import Matrix, Vector
from dualgap.solvers.lasso import pool_sweeps


def _problem(seed: int) -> tuple[Matrix, Vector, tuple[Vector, Vector, Vector, Vector]]:
    rng = np.random.default_rng(seed)
    array = rng.normal(size=(12, 40)).astype(np.float32)
    array[3] = 0.0
    price, ridge = rng.uniform(1.0, 8.0, 12), rng.uniform(0.0, 2.0, 12)
    ridge[3] = 0.0
    curvature = (array.astype(float) ** 2).sum(axis=1) + ridge
    return array, rng.normal(size=40), (price, ridge, curvature, price)


def test_one_sweep_is_coordinate_descent() -> None:
    array, y, penalty = _problem(0)
    price, _, curvature, _ = penalty
    w, moved, order = np.zeros(12), np.zeros(40, dtype=np.float32), np.arange(12)
    pull = array.astype(float) @ y
    largest, live = pool_sweeps.sweep_pool(array, moved, w, pull, penalty, order)
    expected, r, most = np.zeros(12), y.copy(), 0.0
    for j in range(12):
        if curvature[j] > 0.0:
            point = array[j] @ r
            expected[j] = np.sign(point) * max(abs(point) - price[j], 0.0) / curvature[j]
            r -= expected[j] * array[j]
            most = max(most, abs(expected[j]) * curvature[j] / price[j])
    np.testing.assert_allclose(w, expected, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(moved, r - y, atol=1e-4)
    assert largest == pytest.approx(most, rel=1e-4)
    np.testing.assert_array_equal(order[:live], np.flatnonzero(expected))


def test_descent_is_optimal_in_the_end() -> None:
    array, y, penalty = _problem(1)
    price, ridge, _, _ = penalty
    w, moved = np.zeros(12), np.zeros(40, dtype=np.float32)
    worst = pool_sweeps.descend_pool(array, moved, w, array.astype(float) @ y, penalty, (1e-5, 10_000))
    assert worst <= 1e-5
    slope = array.astype(float) @ (y - array.T.astype(float) @ w) - ridge * w
    support = w != 0.0
    assert support.any()
    np.testing.assert_allclose(slope[support], price[support] * np.sign(w[support]), rtol=1e-4)
    assert np.all(np.abs(slope[~support]) <= price[~support] * (1 + 1e-5))


def test_descent_ends_with_its_budget() -> None:
    array, y, penalty = _problem(2)
    pull = array.astype(float) @ y
    w, moved = np.zeros(12), np.zeros(40, dtype=np.float32)
    once, _ = pool_sweeps.sweep_pool(array, moved, w, pull, penalty, np.arange(12))
    w, moved = np.zeros(12), np.zeros(40, dtype=np.float32)
    assert pool_sweeps.descend_pool(array, moved, w, pull, penalty, (0.0, 12)) == once
