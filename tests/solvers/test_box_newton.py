"""Smooth losses with bounds over few and many columns: what SciPy and scikit-learn find, with a proof."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.optimize import lsq_linear, nnls

import dualgap as dg
from dualgap.arrays import Matrix, Vector

SHAPES = [(60, 8), (900, 400), (500, 490), (300, 450), (60, 400)]


def _data(n: int, p: int) -> tuple[Matrix, Vector]:
    """Correlated columns; where there are more of them than rows, of positive numbers."""
    rng = np.random.default_rng(n + p)
    X = rng.standard_normal((n, p)) + rng.standard_normal((n, 1))
    X = np.abs(X) if p > n else X
    w = rng.standard_normal(p) * (rng.random(p) < 0.2)
    return X, X @ (np.abs(w) if p > n else w) + 3.0 * rng.standard_normal(n)


def _value(X: Matrix, y: Vector, w: Any) -> float:
    return float(np.square(X @ w - y).mean())


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_weights_of_one_sign(shape: tuple[int, int]) -> None:
    X, y = _data(*shape)
    found = dg.fit(X, y, loss="squared", penalty="none", fit_intercept=False, bounds="nonnegative")
    assert found.converged and (found.coef >= 0.0).all()
    best = _value(X, y, nnls(X, y)[0])
    assert found.bound <= best * (1.0 + 1e-9) + 1e-12
    assert found.objective <= best + 1e-6 * max(best, 1e-4 * float(np.square(y).mean()))


@pytest.mark.parametrize("shape", SHAPES[:3], ids=str)
def test_weights_between_two_ends(shape: tuple[int, int]) -> None:
    X, y = _data(*shape)
    found = dg.fit(X, y, loss="squared", penalty="none", fit_intercept=False, bounds=(-0.3, 0.1))
    assert found.converged
    best = _value(X, y, lsq_linear(X, y, (-0.3, 0.1), method="bvls", tol=1e-13, max_iter=10_000).x)
    assert found.bound <= best * (1.0 + 1e-9)
    assert found.objective <= best * (1.0 + 1e-6)


@pytest.mark.parametrize("shape", [(6000, 150), (900, 400), (300, 450)], ids=str)
def test_a_price_and_one_sign(shape: tuple[int, int]) -> None:
    from sklearn.linear_model import Lasso

    X, y = _data(*shape)
    lam = float(np.abs((X - X.mean(axis=0)).T @ y).max()) / len(y) / 10.0
    found = dg.fit(X, y, loss="squared", penalty="l1", lam=lam, bounds="nonnegative")
    other = Lasso(alpha=lam / 2.0, positive=True, tol=1e-12, max_iter=100_000).fit(X, y)
    best = _value(X, y - other.intercept_, other.coef_) + lam * float(other.coef_.sum())
    assert found.converged
    assert found.bound <= best * (1.0 + 1e-9)
    assert found.objective <= best * (1.0 + 1e-6)
