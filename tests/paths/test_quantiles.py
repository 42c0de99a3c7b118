"""The path over quantiles: against linear programs and fits at any quantile, on ordinary data and on ties."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

import dualgap as dg
from dualgap.errors import DataError, NoSolverError, NotCertifiedWarning

ENGEL = Path(__file__).parents[3] / "shared" / "data" / "engel" / "engel.csv"
PROVEN = 1e-8


def program(X: Any, y: Any, q: float, price: Any, a: Any, *, intercept: bool) -> float:
    """The optimum, by an independent solver."""
    n = len(y)
    ones = np.ones((n, int(intercept)))
    A = np.hstack([X, -X, ones, -ones, np.eye(n), -np.eye(n)])
    cost = np.concatenate([price, price, np.zeros(2 * ones.shape[1]), q * a, (1 - q) * a])
    found = linprog(cost, A_eq=A, b_eq=y, method="highs")
    assert found.status == 0
    return float(found.fun)


def data(kind: str, seed: int, n: int = 40, p: int = 3) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    y = X @ rng.standard_normal(p) + rng.standard_normal(n) * (1.0 + np.abs(X[:, 0]))
    if kind == "whole numbers":
        X, y = np.round(X), np.round(y)
    if kind == "dummies":
        X = np.eye(p)[rng.integers(0, p, n)]
        y = np.round(3.0 * y)
    if kind == "repeated":
        X, y = np.repeat(X[: n // 4], 4, axis=0), np.repeat(y[: n // 4], 4)
    if kind == "far away":
        X, y = 1e4 + X, 1e6 + y
    if kind == "dependent":
        X = np.column_stack([X, X[:, 0] + X[:, 1], np.ones(n)])
    return X, y


KINDS = ["ordinary", "whole numbers", "dummies", "repeated", "far away", "dependent"]


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("lam", [None, 0.03])
@pytest.mark.parametrize("kind", KINDS)
@given(q=st.floats(0.01, 0.99), seed=st.integers(0, 2**20))
def test_every_quantile_is_the_optimum(kind: str, lam: Any, intercept: bool, q: float, seed: int) -> None:
    if kind == "far away" and not intercept:
        return
    X, y = data(kind, seed)
    path = dg.path(X, y, loss="quantile", over="quantile", lam=lam, fit_intercept=intercept)
    found = path.solution(quantile=q)
    best = program(X, y, q, np.full(X.shape[1], lam or 0.0), np.full(len(y), 1 / len(y)), intercept=intercept)
    assert found.relative_gap <= PROVEN
    assert found.objective == pytest.approx(best, rel=1e-7, abs=1e-9 * np.abs(y).max())
    assert np.array_equal(found.coef, path.coef(quantile=q)) or found.solver != "quantile_path"


def test_weights_factors_and_standardised_columns() -> None:
    X, y = data("ordinary", 5)
    X = X * [1.0, 10.0, 0.1]
    rng = np.random.default_rng(6)
    s = rng.uniform(0.5, 2.0, len(y)) * (rng.random(len(y)) < 0.9)
    how: dict[str, Any] = {
        "sample_weight": s,
        "penalty_factors": [1.0, 0.0, 2.0],
        "standardize": True,
        "lam": 0.05,
    }
    path = dg.path(X, y, loss="quantile", over="quantile", **how)
    for q in rng.uniform(0.02, 0.98, 8):
        fit = dg.fit(X, y, loss=f"quantile({float(q)!r})", penalty="l1", tol=1e-10, **how)
        found = path.solution(quantile=q)
        assert found.relative_gap <= PROVEN
        assert found.objective == pytest.approx(fit.objective, rel=1e-8)
        assert found.certificate.recheck(X, y).gap <= 1e-7 * found.objective


def test_pieces_are_constant_and_complete() -> None:
    X, y = data("ordinary", 7)
    path = dg.path(sp.csr_array(X), y, loss="quantile", over="quantile")
    assert path.exact and path.breakpoints and path.constant and not path.stopped
    assert path.quantiles[0] == 0.0 and path.quantiles[-1] == 1.0
    assert np.all(np.diff(path.quantiles) > 0.0)
    assert path.coefs.shape == (len(path), 3) and len(path.quantiles) == len(path) + 1
    assert np.max(path.gaps) <= PROVEN
    for k in (0, 5, len(path) - 1):
        low, high = path.quantiles[k : k + 2]
        for q in low + (high - low) * np.array([0.01, 0.5, 0.99]):
            np.testing.assert_array_equal(path.coef(quantile=q), path.coefs[k])
            assert path.intercept(quantile=q) == path.intercepts[k]
    # the mean of the conditional quantile at the mean of X rises with q (Bassett and Koenker 1982)
    assert np.all(np.diff(path.decision_functions(X.mean(axis=0, keepdims=True))[:, 0]) >= -1e-9)


@pytest.mark.skipif(not ENGEL.exists(), reason="the Engel data are beside the project, not in it")
def test_engel() -> None:
    """Koenker and Bassett's food expenditure, as quantreg's documentation prints it."""
    income, food = np.loadtxt(ENGEL, delimiter=",", skiprows=1).T
    path = dg.path(income[:, None], food, loss="quantile", over="quantile")
    printed = {
        0.05: (124.880, 0.3434),
        0.25: (95.4835, 0.4741),
        0.5: (81.4822, 0.5602),
        0.75: (62.3966, 0.6440),
    }
    for q, (b, w) in printed.items():
        assert path.intercept(quantile=q) == pytest.approx(b, abs=6e-4)
        assert path.coef(quantile=q)[0] == pytest.approx(w, abs=6e-5)


def test_what_cannot_be_asked() -> None:
    X, y = data("ordinary", 8)
    with pytest.raises(DataError, match='is for loss="quantile"'):
        dg.path(X, y, loss="squared", over="quantile")
    with pytest.raises(NoSolverError, match="one quantile at a time"):
        dg.path(X, y, loss="quantile", over="quantile", penalty="l2", lam=0.1)
    with pytest.raises(DataError, match="'strength' or 'quantile'"):
        dg.path(X, y, loss="quantile", over="time")
    with pytest.raises(DataError, match="goes over all strengths"):
        dg.path(X, y, loss="quantile", lam=0.1)
    path = dg.path(X, y, loss="quantile", over="quantile")
    for q in (0.0, 1.0, "half", np.nan):
        with pytest.raises(DataError, match="quantile must be"):
            path.coef(quantile=q)  # type: ignore[arg-type]


def test_time_ends_it_with_the_middle() -> None:
    X, y = data("ordinary", 9, n=2000, p=6)
    with pytest.warns(NotCertifiedWarning, match="time limit came first: there are quantiles from"):
        path = dg.path(X, y, loss="quantile", over="quantile", max_time=1e-9)
    assert path.stopped and 0.0 < path.quantiles[0] < 0.5 < path.quantiles[-1] < 1.0
    assert path.solution(quantile=0.5).relative_gap <= PROVEN
    with pytest.raises(DataError, match=r"no quantile 0\.999"):
        path.coef(quantile=0.999)


def test_the_picture_is_a_staircase() -> None:
    pytest.importorskip("matplotlib").use("Agg")
    X, y = data("whole numbers", 10)
    path = dg.path(X, y, loss="quantile", over="quantile")
    ax = path.plot(names=["a", "b", "c"]).axes[0]
    lines = {line.get_label(): line for line in ax.lines}
    assert {"a", "b", "c"} <= set(lines) and ax.get_xlabel() == "quantile"
    np.testing.assert_array_equal(lines["b"].get_ydata()[::2], path.coefs[:, 1])
