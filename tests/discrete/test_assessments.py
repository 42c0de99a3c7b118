"""dg.certify where nothing is convex: the bound is a search's, and what it could not prove is said."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dualgap as dg
from brute_force import Subsets, best_squares, fewest_errors
from dualgap.arrays import Matrix, Vector
from dualgap.errors import DataError, NotCertifiedWarning


def draw(n: int = 40, p: int = 6) -> tuple[Matrix, Vector]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, p))
    return X, X[:, 0] - X[:, min(3, p - 1)] + 0.5 * rng.normal(size=n)


def test_best_subset_exactly() -> None:
    X, y = draw()
    w = np.array([1.0, 0.0, 0.0, -1.0, 0.0, 0.0])
    found = dg.certify(X, y, w, 0.1, loss="squared", penalty="l0", budget=2)
    best = best_squares(X, y, np.ones(40), Subsets(limit=2))
    assert found.objective == pytest.approx(np.mean((y - X @ w - 0.1) ** 2), rel=1e-12)
    assert found.bound == pytest.approx(best, rel=1e-6) and found.bound <= best * (1 + 1e-9)
    assert found.best_known == pytest.approx(best, rel=1e-9)
    assert found.theta is None and found.coef_error is None
    assert "branch_and_bound has found and proven" in str(found)
    assert found.certificate.recheck(X, y).bound == pytest.approx(found.bound, rel=1e-9)
    assert "branch_and_bound" in repr(found.certificate)


def test_a_solution_and_a_budget_broken() -> None:
    X, y = draw()
    solution = dg.fit(X, y, loss="squared", penalty="l0_l2(0.3)", budget=2)
    assert dg.certify(X, y, solution).relative_gap <= 1e-6
    with pytest.raises(DataError, match="the penalty is 2, the budget 1"):
        dg.certify(X, y, solution.coef, 0.0, loss="squared", penalty="l0_l2(0.3)", budget=1)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"loss": "squared", "penalty": "lp(0.5)", "lam": 0.1}, "not proven optimal"),
        ({"loss": "squared", "penalty": "bridge(0.5)", "budget": 1.5}, "not proven optimal"),
        ({"loss": "sigmoid(3)", "penalty": "l2", "lam": 0.01}, "could prove"),
        ({"loss": "absolute", "penalty": "l0", "lam": 0.1}, "found and proven"),
        ({"loss": "zero_one", "penalty": "l2", "lam": 0.1}, "found and proven"),
    ],
)
def test_every_kind_has_a_bound_that_holds(asked: dict[str, Any], said: str) -> None:
    X, y = draw(30, 3)
    y = np.sign(y) if asked["loss"] in ("sigmoid(3)", "zero_one") else y
    found = dg.certify(X, y, [0.5, 0.0, -0.5], 0.0, **asked)
    with pytest.warns(NotCertifiedWarning) if "proven optimal" in said or "could" in said else _quiet():
        best = dg.fit(X, y, **asked)
    assert 0.0 <= found.bound <= best.objective * (1 + 1e-9)
    assert found.best_known <= found.objective and said in str(found)
    if "found" in said:
        assert found.bound == pytest.approx(best.bound, rel=2e-6, abs=1e-9)


def _quiet() -> Any:
    import contextlib

    return contextlib.nullcontext()


def test_errors_counted() -> None:
    X, y = draw(9, 2)
    labels = np.sign(y)
    found = dg.certify(X, labels, [1.0, 1.0], 0.0, loss="zero_one", penalty="none")
    assert found.bound == pytest.approx(fewest_errors(X, labels, np.ones(9)), abs=1e-9)
    assert found.objective == pytest.approx(np.mean(labels * X.sum(axis=1) <= 0), rel=1e-12)


def test_several_classes() -> None:
    X, _ = draw(30, 3)
    y = np.arange(30) % 3
    solution = dg.fit(X, y, loss="hinge", penalty="l0", budget=1)
    found = dg.certify(X, y, solution)
    assert found.objective == pytest.approx(solution.objective, rel=1e-12)
    assert found.relative_gap <= 1e-6 and np.shape(found.certificate.coef) == (3, 3)


def test_no_bound_is_said() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 300)), rng.normal(size=30)
    w = np.zeros(300)
    w[0] = 1.0
    found = dg.certify(X, y, w, 0.0, loss="squared", penalty="l0", budget=5)
    assert found.bound == 0.0 and "no useful bound" in str(found)
    assert found.best_known < found.objective
