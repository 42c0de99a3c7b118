"""Several quantiles that do not cross: against linear programs, on ordinary data and on ties."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import linprog
from sklearn.datasets import load_diabetes

import dualgap as dg
from dualgap.errors import DataError

mpl.use("Agg")
ENGEL = Path(__file__).parents[3] / "shared" / "data" / "engel" / "engel.csv"
LEVELS = (0.1, 0.5, 0.9)
LOSS = "quantiles(0.1, 0.5, 0.9)"


def program(X: Any, y: Any, lam: float, levels: Any = LEVELS, *, intercept: bool = True) -> float:
    """The optimum of the joint problem with l1, by an independent solver."""
    n, m = len(y), len(levels)
    Z = np.column_stack([X, np.ones(n)]) if intercept else X
    p = Z.shape[1]
    price = np.append(np.full(X.shape[1], lam), [0.0] * intercept)
    cost = [np.tile(price, 2)] * m + [np.concatenate([np.full(n, q), np.full(n, 1 - q)]) / n for q in levels]
    # of each quantile w⁺, w⁻, then of each what is missing above and below
    A = np.zeros((m * n, 2 * p * m + 2 * n * m))
    C = np.zeros(((m - 1) * n, A.shape[1]))
    for k in range(m):
        here, rows = slice(2 * p * k, 2 * p * (k + 1)), slice(k * n, (k + 1) * n)
        rest = 2 * p * m + 2 * n * k
        A[rows, here] = np.hstack([Z, -Z])
        A[rows, rest : rest + n], A[rows, rest + n : rest + 2 * n] = np.eye(n), -np.eye(n)
        if k < m - 1:
            C[rows, here] = np.hstack([Z, -Z])
            C[rows, 2 * p * (k + 1) : 2 * p * (k + 2)] = np.hstack([-Z, Z])
    found = linprog(
        np.concatenate(cost), A_ub=C, b_ub=np.zeros(len(C)), A_eq=A, b_eq=np.tile(y, m), method="highs"
    )
    assert found.status == 0
    return float(found.fun)


def data(kind: str, seed: int = 0, n: int = 40, p: int = 3) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    y = X @ rng.standard_normal(p) + rng.standard_normal(n) * (1.0 + np.abs(X[:, 0]))
    if kind == "whole numbers":
        X, y = np.round(X), np.round(y)
    if kind == "dummies":
        X = np.eye(p)[rng.integers(0, p, n)]
        y = np.round(3.0 * y)
    if kind == "far away":
        X, y = 1e3 + X, 1e4 + y
    if kind == "dependent":
        X = np.column_stack([X, X[:, 0] + X[:, 1], np.ones(n)])
    if kind == "few rows":
        X, y = X[:8], y[:8]
    if kind == "constant":
        y = np.full(n, 3.0)
    return X, y


KINDS = ["ordinary", "whole numbers", "dummies", "far away", "dependent", "few rows", "constant"]


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("lam", [0.0, 0.03])
@pytest.mark.parametrize("kind", KINDS)
def test_the_linear_program_agrees(kind: str, lam: float, intercept: bool) -> None:
    X, y = data(kind)
    how: dict[str, Any] = {"penalty": "l1", "lam": lam} if lam else {"penalty": "none"}
    found = dg.fit(X, y, loss=LOSS, fit_intercept=intercept, **how)
    best = program(X, y, lam, intercept=intercept)
    size = float(np.abs(y).max())
    assert found.converged
    assert found.coef.shape == (3, X.shape[1]) and found.intercept.shape == (3,)
    assert found.objective == pytest.approx(best, rel=2e-6, abs=1e-9 * size)
    assert found.bound <= best + 1e-9 * size
    z = found.predict(X)
    assert z.shape == (len(y), 3)
    assert np.diff(z, axis=1).min() >= -1e-8 * size
    assert np.diff(z, axis=1).min() >= -found.certificate.violation - 1e-12 * np.abs(z).max()
    again = found.certificate.recheck(X, y)
    assert (again.objective, again.bound) == pytest.approx((found.objective, found.bound), rel=1e-12)
    assert again.violation == found.certificate.violation


@pytest.mark.parametrize("how", [{"penalty": "l2", "lam": 0.1}, {"penalty": "elastic_net(0.5)", "lam": 0.1}])
def test_cvxpy_agrees(how: dict[str, Any]) -> None:
    cp = pytest.importorskip("cvxpy")
    X, y = data("ordinary")
    W, b = cp.Variable((3, 3)), cp.Variable(3)
    risk = 0.0
    for k, q in enumerate(LEVELS):
        r = y - X @ W[k] - b[k]
        risk = risk + cp.sum(cp.maximum(q * r, (q - 1) * r)) / len(y)
    l1 = 0.0 if how["penalty"] == "l2" else cp.sum(cp.abs(W))
    share = 1.0 if how["penalty"] == "l2" else 0.5
    apart = [X @ (W[k + 1] - W[k]) + b[k + 1] - b[k] >= 0 for k in range(2)]
    best = cp.Problem(cp.Minimize(risk + how["lam"] * (l1 + share * cp.sum_squares(W))), apart).solve(
        solver="CLARABEL"
    )
    assert dg.fit(X, y, loss=LOSS, tol=1e-8, **how).objective == pytest.approx(best, rel=1e-6)


def test_lines_that_cross_are_held_apart() -> None:
    X, y = load_diabetes(return_X_y=True)
    levels = "quantiles(0.45, 0.5, 0.55)"
    free = dg.fit(X, y, loss=levels, penalty="none", crossing=True)
    held = dg.fit(X, y, loss=levels, penalty="none")
    assert np.diff(free.predict(X), axis=1).min() < 0.0 <= np.diff(held.predict(X), axis=1).min() + 1e-9
    assert free.objective < held.bound, "what is asked beside costs something, provably"
    each = [dg.fit(X, y, loss=f"quantile({q})", penalty="none") for q in (0.45, 0.5, 0.55)]
    assert free.objective == pytest.approx(sum(one.objective for one in each), rel=2e-6)
    assert held.outputs == ("quantile(0.45)", "quantile(0.5)", "quantile(0.55)")
    assert "none crosses another" in held.summary() and "each output alone" in free.summary()
    assert dg.certify(X, y, held).relative_gap <= 1e-6
    assert dg.certify(X, y, free).relative_gap <= 1e-6


def test_where_none_crosses_they_are_the_same() -> None:
    rng = np.random.default_rng(4)
    X = rng.normal(size=(300, 2))
    y = X @ [1.0, -1.0] + rng.normal(size=300)
    both = [dg.fit(X, y, loss="quantiles(0.1, 0.9)", penalty="none", crossing=flag) for flag in (True, False)]
    assert np.diff(both[0].predict(X), axis=1).min() > 0.0
    assert both[0].objective == pytest.approx(both[1].objective, rel=2e-6)
    assert np.abs(both[1].certificate.multipliers).max() <= 1e-6


@pytest.mark.skipif(not ENGEL.exists(), reason="the Engel data are beside the project, not in it")
def test_engel() -> None:
    income, food = np.loadtxt(ENGEL, delimiter=",", skiprows=1).T
    found = dg.fit(income[:, None], food, loss="quantiles(0.05, 0.25, 0.5, 0.75)", penalty="none", tol=1e-9)
    np.testing.assert_allclose(found.intercept, [124.880, 95.4835, 81.4822, 62.3966], atol=6e-3)
    np.testing.assert_allclose(found.coef[:, 0], [0.3434, 0.4741, 0.5602, 0.6440], atol=6e-5)


def test_weights_sparse_columns_and_other_levels() -> None:
    X, y = data("ordinary", n=60)
    s = np.random.default_rng(1).integers(0, 3, 60).astype(float)
    repeated = np.repeat(np.arange(60), s.astype(int))
    how: dict[str, Any] = {"loss": "quantiles(0.2, 0.4, 0.6, 0.8)", "penalty": "l2", "lam": 0.05}
    weighted = dg.fit(X, y, sample_weight=s, standardize=False, **how)
    again = dg.fit(X[repeated], y[repeated], **how)
    assert weighted.objective == pytest.approx(again.objective, rel=2e-6)
    assert not weighted.certificate.theta[s == 0.0].any()
    assert not weighted.certificate.multipliers[s == 0.0].any()
    thin = dg.fit(sp.csr_array(X), y, sample_weight=s, **how)
    assert thin.objective == pytest.approx(weighted.objective, rel=2e-6)


def test_zeros_paths_and_folds() -> None:
    X, y = data("ordinary", n=80, p=6)
    found = dg.fit(X, y, loss=LOSS, penalty="l1", lam=0.05)
    assert 0 < np.count_nonzero(found.coef) < found.coef.size, "weights of nothing are zeros"
    path = dg.path(X, y, loss=LOSS, penalty="l1", n_lams=6)
    assert path.coefs.shape == (6, 3, 6) and path.coefs[-1].any() and path.gaps.max() <= 1e-6
    search = dg.cross_validate(X, y, loss=LOSS, penalty="l1", n_lams=5, cv=3)
    assert search.solution.converged
    model = dg.LinearRegressor(LOSS, "l1", lam=0.05).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), found.predict(X))
    assert model.coef_.shape == (3, 6) and model.intercept_.shape == (3,)
    with pytest.raises(DataError, match="compares one prediction with each target"):
        model.score(X, y)


def test_a_false_certificate_is_found_out() -> None:
    X, y = data("ordinary")
    proof = dg.fit(X, y, loss=LOSS, penalty="l1", lam=0.03).certificate
    best = program(X, y, 0.03)
    rng = np.random.default_rng(0)
    for size in (1e-6, 1e-2, 1.0, 1e3):
        noise = size * rng.normal(size=proof.multipliers.shape)
        for changes in (
            {"multipliers": proof.multipliers + noise},
            {"multipliers": np.abs(noise), "theta": 0.0 * proof.theta},
            {"theta": proof.theta + size * rng.normal(size=proof.theta.shape)},
            {"multipliers": np.full_like(noise, np.nan)},
        ):
            assert replace(proof, bound=1e9, **changes).recheck(X, y).bound <= best * (1.0 + 1e-9)
    crossed = replace(proof, intercept=proof.intercept[::-1].copy(), objective=0.0).recheck(X, y)
    assert crossed.objective == np.inf and crossed.violation > 0.1, "weights that cross are no answer"


def test_pictures() -> None:
    X, y = data("ordinary")
    figure = dg.fit(X, y, loss=LOSS, penalty="none").plot()
    assert len(figure.axes[0].lines) == 3 and figure.axes[0].get_xlabel() == "quantile"
    lines = dg.fit(X[:, :1], y, loss=LOSS, penalty="none").plot().axes[0].lines
    assert len(lines) == 4, "the rows, and a line for each quantile"
    low, middle, high = (line.get_ydata() for line in lines[1:])
    assert np.all(low <= middle + 1e-9) and np.all(middle <= high + 1e-9)
    with pytest.raises(DataError, match="draws the lines of several quantiles"):
        dg.fit(X, y, loss="squared", lam=1.0).plot()


@pytest.mark.parametrize("ask", [dg.fit, dg.path, dg.cross_validate])
def test_rows_in_blocks_have_one_prediction(ask: Any) -> None:
    with pytest.raises(DataError, match="not for rows that are read in blocks"):
        ask(dg.dataset(*data("ordinary")), loss=LOSS, penalty="l1")


def test_what_cannot_be_had() -> None:
    X, y = data("ordinary")
    found = dg.fit(X, y, loss=LOSS, penalty="none")
    with pytest.raises(DataError, match="of one output, and this fit has 3"):
        found.intervals()
    with pytest.raises(DataError, match="not for kernels"):
        dg.KernelRegressor(LOSS).fit(X, y)
    for loss, said in (
        ("quantiles(0.1)", "two levels or more"),
        ("quantiles(0.9, 0.1)", "rising levels between 0 and 1"),
        ("quantiles(0.1, 1.5)", "rising levels between 0 and 1"),
        ("quantiles(0.1, half)", "not a list of numbers"),
    ):
        with pytest.raises(DataError, match=said):
            dg.fit(X, y, loss=loss, penalty="none")
    with pytest.raises(DataError, match="predicts 3 numbers for one target"):
        dg.fit(X, X, loss=LOSS, penalty="none")
    with pytest.raises(DataError, match="go with none, l1, l2 and elastic_net"):
        dg.fit(X, y, loss=LOSS, penalty="linf", lam=0.1)
    with pytest.raises(DataError, match="subtract it from y"):
        dg.fit(X, y, loss=LOSS, penalty="none", offset=y)
    with pytest.raises(DataError, match="constraints= cannot be had with quantiles"):
        dg.fit(X, y, loss=LOSS, penalty="none", constraints=(np.ones((1, 3)), 0.0, 1.0))
    with pytest.raises(DataError, match="crossing= is for"):
        dg.fit(X, y, loss="absolute", penalty="none", crossing=True)
