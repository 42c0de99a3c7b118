"""A factor carried over from support to support, in double and in single precision."""

from __future__ import annotations

import numpy as np
import pytest

from dualgap.linalg.support_factor import SupportFactor


class Held:
    """A matrix in memory, which counts how often it is factored."""

    def __init__(self, G: np.ndarray, dtype: type = np.float64) -> None:
        self.G, self.dtype, self.count = G, dtype, 0

    def block(self, which: np.ndarray) -> np.ndarray:
        self.count += 1
        return np.ascontiguousarray(self.G[np.ix_(which, which)], dtype=self.dtype)

    def cross(self, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        return np.asarray(self.G[np.ix_(rows, columns)])


def gram(n: int, rank: int) -> np.ndarray:
    X = np.random.default_rng(0).normal(size=(rank, n))
    return X.T @ X / rank


@pytest.mark.parametrize(("dtype", "close"), [(np.float64, 1e-9), (np.float32, 1e-4)])
def test_a_walk_over_supports(dtype: type, close: float) -> None:
    G, rng = gram(200, 600), np.random.default_rng(1)
    held = Held(G, dtype)
    factor = SupportFactor(held)
    inside = np.zeros(200, dtype=bool)
    inside[rng.permutation(200)[:120]] = True
    for _ in range(40):
        inside[rng.integers(0, 200, 2)] ^= True
        support = np.flatnonzero(inside)
        for right in (rng.normal(size=len(support)), rng.normal(size=(len(support), 3))):
            found = factor.solve(support, right)
            np.testing.assert_allclose(G[np.ix_(support, support)] @ found, right, atol=close)
    assert 2 <= held.count <= 20


def test_damping_raises_the_diagonal() -> None:
    G = gram(30, 60)
    factor, right = SupportFactor(Held(G)), np.ones(29)
    factor.solve(np.arange(30), np.ones(30), 0.1)
    some = np.delete(np.arange(30), 7)
    A = G[np.ix_(some, some)] + 0.1 * np.diag(G.diagonal()[some])
    np.testing.assert_allclose(factor.solve(some, right, 0.1), np.linalg.solve(A, right), rtol=1e-9)
    np.testing.assert_allclose(factor.solve(some, right), np.linalg.solve(G[np.ix_(some, some)], right))


def test_an_entry_that_says_the_same_is_factored_anew() -> None:
    G = gram(20, 50)
    G = np.block([[G, G[:, :1]], [G[:1], G[:1, :1]]])  # the last is the first once more
    held = Held(G)
    factor = SupportFactor(held)
    factor.solve(np.arange(20), np.ones(20))
    right = G @ np.random.default_rng(2).normal(size=21)
    np.testing.assert_allclose(G @ factor.solve(np.arange(21), right), right, atol=1e-6)


def test_forgotten_matrices_are_read_again() -> None:
    held = Held(gram(10, 30))
    factor = SupportFactor(held)
    factor.solve(np.arange(10), np.ones(10))
    held.G = 2.0 * held.G
    factor.forget()
    np.testing.assert_allclose(held.G @ factor.solve(np.arange(10), np.ones(10)), 1.0)
    assert held.count == 2


def test_nothing_on_the_support() -> None:
    factor = SupportFactor(Held(gram(5, 9)))
    assert factor.solve(np.zeros(0, dtype=np.int64), np.zeros(0)).shape == (0,)
    np.testing.assert_allclose(gram(5, 9)[:1, :1] @ factor.solve(np.array([0]), np.ones(1)), 1.0)


def test_what_needs_a_raise_that_is_not_allowed() -> None:
    with pytest.raises(np.linalg.LinAlgError):
        SupportFactor(Held(-np.eye(3)), (0.0,)).solve(np.arange(3), np.ones(3))
