"""fused(k): agreement with another solver, signals, and every place where it can be asked for."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import dualgap as dg
from dualgap.cli.main import main
from dualgap.losses import CATALOGUE
from dualgap.traits import Trait
from fitting.test_groups import CONVEX, data, risk

cp = pytest.importorskip("cvxpy")


def size(w: Any, order: int) -> Any:
    """Σ |Δᵏ w|."""
    return cp.norm(cp.diff(w, order), 1)


@pytest.mark.filterwarnings("ignore:Solution may be inaccurate")
@pytest.mark.parametrize("form", ["lam", "budget"])
@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize("loss", CONVEX)
def test_agrees_with_a_conic_solver(loss: str, order: int, form: str) -> None:
    X, y = data(loss)
    asked = {"lam": 0.05} if form == "lam" else {"budget": 0.4}
    found = dg.fit(
        sp.csr_array(X) if order == 2 else X, y, loss=loss, penalty=f"fused({order})", tol=1e-8, **asked
    )
    assert found.converged
    w, b = cp.Variable(6), cp.Variable()
    least = risk(loss, y, X @ w + b)
    if form == "lam":
        problem = cp.Problem(cp.Minimize(least + 0.05 * size(w, order)))
    else:
        problem = cp.Problem(cp.Minimize(least), [size(w, order) <= 0.4])
    problem.solve(solver="CLARABEL", tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10)
    at_zero = (
        CATALOGUE[loss]().value(y, np.zeros(len(y))).mean()
        - risk(loss, y, cp.Constant(np.zeros(len(y)))).value
    )
    assert found.objective == pytest.approx(float(problem.value + at_zero), rel=2e-7, abs=1e-8)
    if Trait.SMOOTH in CATALOGUE[loss]().traits:
        np.testing.assert_allclose(found.coef, w.value, atol=2e-3)


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("loss", ["squared", "logistic", "quantile"])
def test_weights_scales_and_no_intercept(loss: str, order: int) -> None:
    """Standardising is scaling the columns; a weight of a row is that row so many times."""
    X, y = data(loss)
    times = np.random.default_rng(0).integers(1, 4, len(y))
    asked: dict[str, Any] = {"loss": loss, "penalty": f"fused({order})", "lam": 0.05, "tol": 1e-9}
    weighted = dg.fit(X, y, sample_weight=times, fit_intercept=False, **asked)
    repeated = dg.fit(np.repeat(X, times, axis=0), np.repeat(y, times), fit_intercept=False, **asked)
    assert weighted.objective == pytest.approx(repeated.objective, rel=1e-8)
    spread = X.std(axis=0)
    scaled, plain = dg.fit(X, y, standardize=True, **asked), dg.fit(X / spread, y, **asked)
    assert scaled.converged and scaled.objective == pytest.approx(plain.objective, rel=1e-8)
    assert scaled.certificate.recheck(X, y).gap <= 1e-8 * scaled.objective


def steps(y: Any, lam: float) -> float:
    """min ½‖w − y‖² + λ Σ|w_j+1 − w_j| over w, by the taut string through every corner in turn.

    The cumulative sum of w is the shortest path between those of y, λ below and λ above, its ends held.
    """
    n, sums = len(y), np.append(0.0, np.cumsum(y))
    low, high = sums - lam, sums + lam
    low[0] = high[0] = 0.0
    low[n] = high[n] = sums[n]
    corners = [(0, 0.0)]
    while corners[-1][0] < n:
        i, at = corners[-1]
        least, most, below, above = -np.inf, np.inf, i, i
        for j in range(i + 1, n + 1):
            down, up = (low[j] - at) / (j - i), (high[j] - at) / (j - i)
            if down > most:
                corners.append((above, float(high[above])))
                break
            if up < least:
                corners.append((below, float(low[below])))
                break
            if down >= least:
                least, below = down, j
            if up <= most:
                most, above = up, j
        else:
            corners.append((n, float(sums[n])))
    w = np.concatenate([np.full(j - i, (b - a) / (j - i)) for (i, a), (j, b) in pairwise(corners)])
    return float(0.5 * np.sum((w - y) ** 2) + lam * np.abs(np.diff(w)).sum())


@pytest.mark.parametrize("lam", [0.3, 3.0, 30.0])
def test_a_signal_beside_its_taut_string(lam: float) -> None:
    rng = np.random.default_rng(0)
    y = np.repeat([0.0, 3.0, 1.0, -2.0], 60) + rng.normal(size=240)
    best = steps(y, lam)
    for X in (np.eye(240), sp.eye_array(240, format="csr")):
        found = dg.fit(X, y, loss="squared", penalty="fused(1)", lam=2.0 * lam / 240, fit_intercept=False)
        assert found.converged and found.objective * 120.0 == pytest.approx(best, rel=1e-6)
        with_level = dg.fit(X, y, loss="squared", penalty="fused(1)", lam=2.0 * lam / 240)
        assert with_level.converged and with_level.objective == pytest.approx(found.objective, rel=1e-6)


@pytest.mark.parametrize("order", [2, 3])
def test_trends_of_a_signal_are_proven(order: int) -> None:
    rng = np.random.default_rng(0)
    t = np.linspace(0.0, 1.0, 400)
    y = np.abs(t - 0.4) + 0.05 * rng.normal(size=400)
    found = dg.fit(
        sp.eye_array(400), y, loss="squared", penalty=f"fused({order})", lam=0.05, fit_intercept=False
    )
    assert found.converged
    bends = np.diff(found.coef, order)
    assert np.count_nonzero(np.abs(bends) > 1e-3 * np.abs(bends).max()) < 60


def test_points_from_anywhere_prove_no_more_than_is_true() -> None:
    """Weights and θ that are forged: never a bound above the optimum, never an objective below the truth."""
    X, y = data("squared", 60)
    asked: dict[str, Any] = {"loss": "squared", "penalty": "fused(2)", "lam": 0.1}
    best = dg.fit(X, y, tol=1e-10, **asked)
    problem = best.terms.problem(dg.design.Dense(X), y)
    rng = np.random.default_rng(1)
    w = np.append(best.coef, best.intercept)
    for scale in (1e-9, 1e-3, 1.0, 1e6):
        for k in range(20):
            forged = best.certificate.theta * (1.0 + scale * rng.normal(size=60) * (k % 2)) + scale * (k % 3)
            seen = problem.judged(w + scale * rng.normal(size=7), forged, 1e-6)
            assert seen.dual <= best.objective and seen.primal >= best.bound


def test_paths_folds_estimators_and_assessments() -> None:
    X, y = data("squared", 90)
    path = dg.path(X, y, loss="squared", penalty="fused(1)")
    assert path.exact and path.gaps.max() <= 1e-8
    assert np.abs(np.diff(path.coefs[0])).max() <= 1e-12
    grid = dg.path(X, y, loss="huber", penalty="fused(2)", n_lams=8, exact=False)
    assert grid.gaps.max() <= 1e-6
    lam = float(grid.lams[4])
    one = dg.fit(X, y, loss="huber", penalty="fused(2)", lam=lam)
    assert grid.solution(lam=lam).objective == pytest.approx(one.objective, rel=1e-6)
    search = dg.cross_validate(X, y, loss="squared", penalty="fused(1)", n_lams=6, cv=3, progress=False)
    model = dg.LinearRegressorCV("squared", "fused(1)", n_lams=6, cv=3).fit(X, y)
    assert model.lam_ == search.lam_min and search.solution.converged
    machine = dg.LinearClassifier("hinge", "fused(1)", lam=0.05).fit(X, y > 0)
    assert machine.solution_.converged
    claim: dict[str, Any] = {"loss": "huber", "penalty": "fused(2)", "lam": lam}
    assert dg.certify(X, y, one.coef, one.intercept, **claim).relative_gap <= 1e-6
    assert dg.certify(X, y, 1.1 * one.coef, one.intercept, **claim).relative_gap > 1e-4
    assert "D^2" in one.summary() and "D^2" in str(dg.explain(X, y, **claim))


def test_each_class_against_the_rest() -> None:
    X, z = data("squared", 60)
    y = np.digitize(z, [-0.7, 0.7])
    found = dg.fit(X, y, loss="logistic", penalty="fused(1)", lam=0.05)
    assert found.converged and found.multiclass == "one_vs_rest"
    assert found.certificate.recheck(X, y).objective == pytest.approx(found.objective)
    with pytest.raises(dg.errors.DataError, match="one_vs_rest"):
        dg.fit(X, y, loss="logistic", penalty="fused(1)", lam=0.05, multiclass="multinomial")


@pytest.mark.parametrize("form", [{"lam": 0.05}, {"budget": 0.5}], ids=str)
@pytest.mark.parametrize("bounds", [None, (-0.2, 0.8)])
def test_linear_constraints_and_bounds(bounds: Any, form: dict[str, float]) -> None:
    X, y = data("absolute")
    rows = np.ones((1, 6)), 0.2, 0.3
    asked: dict[str, Any] = {"constraints": rows, "bounds": bounds, "tol": 1e-8, **form}
    found = dg.fit(X, y, loss="absolute", penalty="fused(1)", **asked)
    w, b = cp.Variable(6), cp.Variable()
    least, held = risk("absolute", y, X @ w + b), [cp.sum(w) >= 0.2, cp.sum(w) <= 0.3]
    held += [w >= -0.2, w <= 0.8] if bounds else []
    held += [size(w, 1) <= 0.5] if "budget" in form else []
    problem = cp.Problem(cp.Minimize(least + form.get("lam", 0.0) * size(w, 1)), held)
    problem.solve(solver="CLARABEL")
    assert found.converged and found.objective == pytest.approx(float(problem.value), rel=1e-6)


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"penalty": "fused(4)"}, "k is 1, 2 or 3"),
        ({"penalty": "fused(1.5)"}, "not 1.5"),
        ({"penalty_factors": np.arange(6.0)}, "not with fused"),
        ({"groups": [0, 0, 1, 1, 2, 2]}, "not with fused"),
    ],
)
def test_refusals(more: dict[str, Any], words: str) -> None:
    X, y = data("squared")
    with pytest.raises(dg.errors.DataError, match=words):
        dg.fit(X, y, **({"loss": "squared", "penalty": "fused(1)", "lam": 1.0} | more))


def test_rows_in_blocks_are_refused() -> None:
    X, y = data("squared")
    with pytest.raises(dg.errors.DataError, match="all rows in memory"):
        dg.fit(dg.dataset(lambda: iter([(X, y)])), loss="squared", penalty="fused(1)", lam=1.0)


def test_too_few_columns_to_take_differences_of() -> None:
    """A line through two columns costs nothing."""
    X, y = data("squared")
    found = dg.fit(X[:, :2], y, loss="squared", penalty="fused(2)", lam=1.0)
    free = dg.fit(X[:, :2], y, loss="squared", penalty="none")
    np.testing.assert_allclose(found.coef, free.coef, atol=1e-6)


def test_nothing_but_a_constant_fits_a_budget_of_nothing() -> None:
    X, y = data("squared")
    found = dg.fit(X, y, loss="squared", penalty="fused(1)", budget=0.0)
    alone = dg.fit(X.sum(axis=1)[:, None], y, loss="squared", penalty="none")
    assert found.converged and np.ptp(found.coef) == 0.0
    assert found.objective == pytest.approx(alone.objective, rel=1e-6)


def test_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    X, y = data("squared")
    monkeypatch.chdir(tmp_path)
    np.savetxt("rows.csv", np.column_stack([X, y]), delimiter=",", header="a,b,c,d,e,f,y", comments="")
    asked = ["fit", "rows.csv", "--target", "y", "--penalty", "fused(1)", "--lam", "0.1", "--out", "m.json"]
    assert main(asked) == 0 and "D^1" in capsys.readouterr().out
    assert main(["verify", "m.json", "rows.csv"]) == 0


@pytest.mark.parametrize("budget", [0.0, 1e-16, 1e-12])
@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize("loss", CONVEX)
def test_a_budget_of_next_to_nothing_leaves_a_polynomial(loss: str, order: int, budget: float) -> None:
    X, y = data(loss)
    found = dg.fit(X, y, loss=loss, penalty=f"fused({order})", budget=budget)
    powers = np.arange(6.0)[:, None] ** np.arange(order)
    plain = dg.fit(X @ powers, y, loss=loss, penalty="none")
    assert found.converged
    assert found.objective == pytest.approx(plain.objective, rel=2e-6, abs=1e-9)
    if not budget:
        assert not np.diff(found.coef, order).any()
