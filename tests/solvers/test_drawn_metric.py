"""Newton by products on larger tables: metrics of drawn rows near the system, and answers as of others."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dualgap as dg
from dualgap.arrays import Matrix, Vector
from dualgap.solvers import plain_products
from dualgap.solvers.drawn_metric import drawn_metric


@pytest.mark.parametrize("free", [True, False])
@pytest.mark.parametrize("n", [300, 20_000])  # all rows, and some that are drawn
def test_a_metric_is_near_the_inverse(n: int, free: bool) -> None:
    rng = np.random.default_rng(n)
    X, h = rng.standard_normal((n, 40)) + 0.5, rng.random(n) ** 8
    ridge = np.full(40, 0.1 * float(h.sum()) / n)
    system = (X.T * h) @ X + np.diag(ridge)
    if free:
        system -= np.outer(h @ X, h @ X) / h.sum()
    solve = drawn_metric(X.astype(np.float32), h, ridge.astype(np.float32), free=free)
    solved = np.array([solve(column.astype(np.float32)) for column in system.T])
    sizes = np.linalg.eigvals(solved).real
    assert sizes.min() > 0.0
    assert sizes.max() / sizes.min() <= (1.001 if n == 300 else 10.0)


def decaying(n: int, p: int) -> tuple[Matrix, Vector]:
    """Columns in which few directions hold most: products go on for long."""
    rng = np.random.default_rng(n + p)
    turn = np.linalg.qr(rng.standard_normal((p, p)))[0]
    X = rng.standard_normal((n, p)) / (1.0 + np.arange(p)) @ turn
    z = X @ rng.standard_normal(p)
    return X, np.where(z + 0.1 * rng.logistic(size=n) > 0.0, 1.0, -1.0)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("size", [(1200, 500), (12_000, 100)])
def test_a_metric_is_made_and_the_answer_is_that_of_good_coordinates(
    size: tuple[int, int], fit_intercept: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = []

    def counted(*given: Any, **more: Any) -> Any:
        made.append(given)
        return drawn_metric(*given, **more)

    monkeypatch.setattr(plain_products, "drawn_metric", counted)
    monkeypatch.setattr(plain_products, "METRIC_MORE", 0.2)
    X, y = decaying(*size)
    asked: dict[str, Any] = {"loss": "logistic", "penalty": "l2", "lam": 1e-7, "fit_intercept": fit_intercept}
    found = dg.fit(X, y, **asked)
    assert made and found.converged
    named = dg.fit(X, y, solver="newton", **asked)
    assert abs(found.objective - named.objective) <= 2e-6 * named.objective


def test_without_a_factor_matrices_do_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def none(*given: Any, **more: Any) -> Any:
        raise np.linalg.LinAlgError

    monkeypatch.setattr(plain_products, "drawn_metric", none)
    monkeypatch.setattr(plain_products, "METRIC_MORE", 0.1)
    X, y = decaying(2000, 600)
    assert dg.fit(X, y, loss="logistic", penalty="l2", lam=1e-7).converged
