"""One Cholesky with a raised diagonal, and borders around it: against NumPy, and where NumPy gives up."""

from __future__ import annotations

import numpy as np
import pytest

from dualgap.linalg.cholesky import RAISES, Bordered, cholesky, definite, inverse


def gram(n: int, rank: int, seed: int = 0) -> np.ndarray:
    X = np.random.default_rng(seed).normal(size=(rank, n))
    return X.T @ X


@pytest.mark.parametrize("n", [1, 2, 17, 130])
@pytest.mark.parametrize("order", ["C", "F"])
def test_solves_as_numpy_does(n: int, order: str) -> None:
    A = gram(n, 2 * n)
    B = np.random.default_rng(1).normal(size=(n, 3))
    solve = cholesky(np.array(A, order=order))  # type: ignore[call-overload]
    np.testing.assert_allclose(solve(B), np.linalg.solve(A, B), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(solve(B[:, 0]), np.linalg.solve(A, B[:, 0]), rtol=1e-9, atol=1e-12)


def test_only_the_upper_triangle_of_a_definite_matrix_is_read() -> None:
    A = gram(9, 20)
    for spoilt in (np.triu(A), np.asfortranarray(np.triu(A))):
        spoilt[np.tril_indices(9, -1)] = np.nan
        np.testing.assert_allclose(cholesky(spoilt)(A[:, 3]), np.eye(9)[3], atol=1e-10)


def test_single_precision_by_the_type_of_the_matrix() -> None:
    A = gram(30, 90)
    b = np.random.default_rng(2).normal(size=(30, 2)) * 1e60  # beyond 4-byte numbers
    x = cholesky(A.astype(np.float32))(b)
    assert x.dtype == np.float64
    np.testing.assert_allclose(A @ x, b, atol=1e-3 * 1e60)


def test_nothing_to_solve() -> None:
    solve = cholesky(np.zeros((0, 0)))
    assert solve(np.zeros(0)).shape == (0,)
    assert solve(np.zeros((0, 2))).shape == (0, 2)


@pytest.mark.parametrize("scale", [1e-150, 1.0, 1e150])
def test_a_singular_matrix_is_raised_and_consistent_systems_are_solved(scale: float) -> None:
    A = gram(40, 25)
    x = np.random.default_rng(3).normal(size=40)
    b = A @ x
    found = cholesky(scale * A)(scale * b)
    np.testing.assert_allclose(A @ found, b, atol=1e-6 * np.abs(b).max())


def test_scales_far_apart_change_nothing() -> None:
    """A share of each entry is raised, so that powers of two on rows and columns go through exactly."""
    A = gram(12, 8)
    size = 2.0 ** np.random.default_rng(4).integers(-60, 60, 12)
    b = A @ np.ones(12)
    plain, scaled = cholesky(A.copy())(b), cholesky(A * size * size[:, None])(size * b)
    np.testing.assert_array_equal(scaled * size, plain)


def test_the_least_raise_that_serves() -> None:
    """1 − 1e-9 on the diagonal of 11ᵀ: eigenvalue −1e-9, so that 1e-8 is the first to serve."""
    A = np.ones((5, 5)) - 1e-9 * np.eye(5)
    shares = [cholesky(A.copy(), (r,)) for r in RAISES if r >= 1e-8]
    right = np.arange(5.0)
    np.testing.assert_array_equal(cholesky(A.copy())(right), shares[0](right))
    with pytest.raises(np.linalg.LinAlgError):
        cholesky(A.copy(), (0.0, 1e-12))


def test_rows_of_zeros_count_as_the_largest() -> None:
    A = np.diag([4.0, 0.0, 1.0])
    np.testing.assert_allclose(cholesky(A)(np.array([4.0, 0.0, 2.0])), [1.0, 0.0, 2.0], atol=1e-12)


@pytest.mark.parametrize("A", [-np.eye(3), np.array([[1.0, 2.0], [2.0, 1.0]]), np.full((2, 2), np.nan)])
def test_what_is_not_semidefinite_is_refused(A: np.ndarray) -> None:
    with pytest.raises(np.linalg.LinAlgError):
        cholesky(A.copy())


@pytest.mark.parametrize("columns", [0, 1, 4])
@pytest.mark.parametrize("held", [False, True])
def test_borders(columns: int, held: bool) -> None:
    rng = np.random.default_rng(5)
    A, B = gram(20, 50), rng.normal(size=(20, columns))
    P = gram(columns, 9) if held else np.zeros((columns, columns))
    right, last = rng.normal(size=20), rng.normal(size=columns)
    x, e = Bordered(cholesky(A.copy()), B, P if held else None).solve(right, last)
    whole = np.linalg.solve(np.block([[A, B], [B.T, -P]]), np.append(right, last))
    np.testing.assert_allclose(np.append(x, e), whole, rtol=1e-8, atol=1e-10)


def test_a_border_given_twice() -> None:
    rng = np.random.default_rng(6)
    A, B = gram(20, 50), np.repeat(rng.normal(size=(20, 1)), 2, axis=1)
    x, e = Bordered(cholesky(A.copy()), B).solve(rng.normal(size=20), np.full(2, 0.5))
    np.testing.assert_allclose(B.T @ x, 0.5, atol=1e-9)
    assert np.all(np.isfinite(e))


@pytest.mark.parametrize("order", ["C", "F"])
def test_definite_or_not(order: str) -> None:
    for least, expected in ((1e-9, True), (-1e-9, False)):
        A = np.array(np.ones((5, 5)) + least * np.eye(5), order=order)  # type: ignore[call-overload]
        assert definite(A) is expected


def test_inverses() -> None:
    A = gram(9, 20)
    found = inverse(A)
    assert found is not None
    np.testing.assert_allclose(found, np.linalg.inv(A), rtol=1e-9, atol=1e-12)
    assert inverse(-A) is None
