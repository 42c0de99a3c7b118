"""Vectors balanced inside their bounds."""

from __future__ import annotations

import numpy as np
import pytest

from dualgap.linalg.balance import balance, orthogonal


@pytest.mark.parametrize("bounds", ["box", "above", "none"])
@pytest.mark.parametrize("seed", range(5))
def test_sums_vanish_inside_the_bounds(bounds: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    lower, upper = -rng.uniform(0, 1, 50), rng.uniform(0, 1, 50)
    if bounds != "box":
        upper[:] = np.inf
    if bounds == "none":
        lower[:] = -np.inf
    theta = np.clip(rng.normal(size=50) + 0.3, lower, upper)
    found = balance(theta, lower, upper)
    assert np.all((found >= lower) & (found <= upper))
    assert abs(found.sum()) <= 1e-15 * np.abs(found).sum()


def test_what_sums_to_zero_stays() -> None:
    theta = np.array([0.5, -0.25, -0.25])
    np.testing.assert_array_equal(balance(theta, np.full(3, -1.0), np.full(3, 1.0)), theta)


@pytest.mark.parametrize("twice", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_orthogonal_to_columns_also_where_one_is_given_twice(seed: int, twice: bool) -> None:
    rng = np.random.default_rng(seed)
    F = np.column_stack([np.ones(60), rng.normal(size=(60, 3))])
    if twice:
        F = np.column_stack([F, F[:, 1] - F[:, 2]])
    lower, upper = np.full(60, -1.0), np.full(60, 1.0)
    found = orthogonal(rng.uniform(-0.9, 0.9, 60), lower, upper, F)
    assert np.all((found >= lower) & (found <= upper))
    np.testing.assert_allclose(F.T @ found, 0.0, atol=1e-12)


def test_no_room_no_move() -> None:
    theta = np.ones(4)
    np.testing.assert_array_equal(orthogonal(theta, -theta, theta, np.ones((4, 1))), theta)


def test_what_overflows_is_left_alone() -> None:
    theta = np.array([np.inf, 1.0])
    np.testing.assert_array_equal(orthogonal(theta, np.zeros(2), np.full(2, np.inf), np.eye(2)), theta)
