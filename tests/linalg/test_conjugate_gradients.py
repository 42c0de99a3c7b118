"""Conjugate gradients against a direct solve."""

from __future__ import annotations

import numpy as np
import pytest

from dualgap.linalg.conjugate_gradients import conjugate_gradients, conjugate_steps


def system(n: int, rank: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rank, n)) * 10.0 ** rng.uniform(-3, 3, n)
    A = X.T @ X
    return A, A @ (rng.normal(size=n) / np.sqrt(A.diagonal()))


@pytest.mark.parametrize("rank", [60, 12])
def test_a_diagonal_takes_out_the_scales(rank: int) -> None:
    A, b = system(20, rank)  # full rank, and singular with a consistent right side
    x = conjugate_gradients(lambda d: A @ d, b, A.diagonal(), 1e-10)
    size = np.sqrt(A.diagonal())
    np.testing.assert_allclose(A @ x / size, b / size, atol=1e-8 * np.abs(b / size).max())


@pytest.mark.parametrize("accuracy", [0.5, 1e-2, 1e-6])
def test_the_residual_is_what_was_asked_for(accuracy: float) -> None:
    A, b = system(50, 80)
    r = b - A @ conjugate_gradients(lambda d: A @ d, b, A.diagonal(), accuracy)
    assert r @ (r / A.diagonal()) <= 1.0001 * accuracy**2 * (b @ (b / A.diagonal()))


def test_no_more_products_than_allowed_and_a_pause_after_each() -> None:
    A, b = system(50, 80)
    count = 0

    def apply(d: np.ndarray) -> np.ndarray:
        nonlocal count
        count += 1
        return np.asarray(A @ d)

    steps = conjugate_steps(apply, b, A.diagonal(), 0.0, 7)
    assert [count for _ in steps] == [1, 2, 3, 4, 5, 6, 7]


def test_ends_where_the_matrix_is_not_positive() -> None:
    x = conjugate_gradients(lambda d: -d, np.ones(3), np.ones(3), 1e-8)
    np.testing.assert_array_equal(x, 0.0)


def test_nothing_wanted_and_nothing_there() -> None:
    np.testing.assert_array_equal(conjugate_gradients(lambda d: d, np.zeros(3), np.ones(3), 1e-8), 0.0)
    assert conjugate_gradients(lambda d: d, np.zeros(0), np.zeros(0), 1e-8).shape == (0,)
