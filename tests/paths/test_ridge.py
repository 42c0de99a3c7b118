"""Ridge paths: one decomposition, any λ."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import dualgap as dg
from dualgap.arrays import Matrix, Vector
from path_instances import ordinary


def closed_form(X: Matrix, y: Vector, lam: float) -> Vector:
    """(XᵀX + nλ)⁻¹Xᵀy on centred data."""
    X, y = X - X.mean(axis=0), y - y.mean()
    return np.asarray(np.linalg.solve(X.T @ X + len(y) * lam * np.eye(X.shape[1]), X.T @ y), np.float64)


@pytest.mark.parametrize(("n", "p"), [(40, 6), (12, 12), (12, 30)])
def test_every_strength(n: int, p: int) -> None:
    X, y = ordinary("squared", n, p, seed=1)
    path = dg.path(X, y, loss="squared", penalty="l2")
    assert path.exact
    assert len(path) == 100
    assert np.max(path.gaps) <= 1e-9
    for k in (0, 30, 60):
        assert path.coefs[k] == pytest.approx(closed_form(X, y, path.lams[k]), rel=1e-6, abs=1e-9)
    between = float(np.sqrt(path.lams[50] * path.lams[51]))
    assert path.coef(lam=between) == pytest.approx(closed_form(X, y, between), rel=1e-6, abs=1e-9)


@pytest.mark.parametrize(("n", "p"), [(40, 6), (12, 30)])
@pytest.mark.parametrize("intercept", [True, False])
def test_factors_weights_and_sparse(n: int, p: int, intercept: bool) -> None:
    random = np.random.default_rng(2)
    X, y = ordinary("squared", n, p, seed=3)
    X[random.random(X.shape) < 0.3] = 0.0
    factors = random.integers(0, 3, p).astype(float)
    factors[:3] = 1.0, 2.0, 0.0
    factors[4:] = np.where(factors[4:] == 0.0, 1.0, factors[4:]) if p > n else factors[4:]
    asked: dict[str, Any] = {
        "penalty_factors": factors,
        "sample_weight": random.uniform(0.5, 2.0, n),
        "fit_intercept": intercept,
    }
    for matrix in (X, sp.csr_array(X)):
        path = dg.path(matrix, y, loss="squared", penalty="l2", **asked)
        assert np.max(path.gaps) <= 1e-8
        lam = float(path.lams[40])
        fit = dg.fit(matrix, y, loss="squared", penalty="l2", lam=lam, tol=1e-11, **asked)
        assert path.solution(lam=lam).objective == pytest.approx(fit.objective, rel=1e-9)


@pytest.mark.parametrize(("n", "p"), [(40, 6), (12, 30)])
def test_budgets(n: int, p: int) -> None:
    X, y = ordinary("squared", n, p, seed=4)
    path = dg.path(X, y, loss="squared", penalty="l2")
    for share in (0.1, 0.6, 0.95):
        budget = share * float(path.budgets[-1])
        found = path.solution(budget=budget)
        assert found.relative_gap <= 1e-9
        assert found.coef @ found.coef == pytest.approx(budget, rel=1e-9)
        assert path.budget(path.lam(budget)) == pytest.approx(budget, rel=1e-8)
