"""Tables so large that XᵀX is made in 4-byte numbers: what these miss is mended, or all digits are spent."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.optimize import lsq_linear

import dualgap as dg
from dualgap.arrays import Matrix, Vector
from dualgap.solvers.one_gram import SINGLE

N, P = 10_500, 100
RNG = np.random.default_rng(5)


def _plain() -> Matrix:
    return RNG.standard_normal((N, P))


def _alike() -> Matrix:
    X = _plain()
    X[:, 1] = X[:, 0] + 1e-5 * X[:, 1]
    return X


TABLES = {
    "plain": _plain(),
    "row by row": np.asfortranarray(_plain()),
    "far from zero": _plain() + 300.0,
    "of many sizes": _plain() * np.logspace(-3, 3, P),
    "beyond 4 bytes": _plain() * 1e25,
    "nearly alike": _alike(),
}
every_table = pytest.mark.parametrize("name", TABLES)


def _targets(X: Matrix, seed: int = 0) -> Vector:
    rng = np.random.default_rng(seed)
    return np.asarray(X / X.std(axis=0) @ rng.standard_normal(P) + rng.standard_normal(N))


def _ridge(X: Matrix, y: Vector, lam: float) -> float:
    """The objective of the textbook's formula, in columns that are centred first."""
    own, target = X - X.mean(axis=0), y - y.mean()
    w = np.linalg.lstsq(
        np.vstack([own, np.sqrt(N * lam) * np.eye(P)]), np.append(target, np.zeros(P)), rcond=None
    )[0]
    return float(np.square(own @ w - target).mean() + lam * w @ w)


def test_these_tables_are_large_enough() -> None:
    assert N * P * P > SINGLE


@every_table
def test_one_system(name: str) -> None:
    X, lam = TABLES[name], 1e-3 * float(TABLES[name].std(axis=0).min()) ** 2
    y = _targets(X)
    found = dg.fit(X, y, loss="squared", penalty="l2", lam=lam, tol=1e-9)
    assert found.converged
    assert found.objective == pytest.approx(_ridge(X, y, lam), rel=1e-8)


@every_table
@pytest.mark.parametrize("share", [1e-3, 1e-9])  # the other asks for more digits than the matrix has
def test_outputs_side_by_side(name: str, share: float) -> None:
    X, lam = TABLES[name], share * float(TABLES[name].std(axis=0).min()) ** 2
    Y = np.column_stack([_targets(X, seed) for seed in range(3)])
    found = dg.fit(X, Y, loss="squared", penalty="l2", lam=lam)
    assert found.converged
    assert found.objective == pytest.approx(sum(_ridge(X, y, lam) for y in Y.T), rel=1e-6)


@every_table
@pytest.mark.parametrize("bounds", ["nonnegative", (-0.5, 0.5)], ids=str)
def test_weights_in_a_box(name: str, bounds: Any) -> None:
    X = TABLES[name]
    y, unit = _targets(X), X.std(axis=0)
    low, high = (0.0, np.inf) if bounds == "nonnegative" else bounds
    ends = (low / unit, high / unit)
    given = bounds if bounds == "nonnegative" else ends
    found = dg.fit(X, y, loss="squared", penalty="none", bounds=given, fit_intercept=False)
    assert found.converged
    assert np.all((found.coef >= ends[0]) & (found.coef <= ends[1]))
    best = lsq_linear(X / unit, y, (low, high), method="bvls", tol=1e-14)
    assert found.objective <= 2.0 * best.cost / N * (1.0 + 2e-6)
    assert found.bound <= 2.0 * best.cost / N * (1.0 + 1e-9)
