"""Exact paths: against fits anywhere between breakpoints, on ordinary and on degenerate data."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_diabetes
from sklearn.linear_model import lars_path

import dualgap as dg
from dualgap.paths.homotopy import engine
from dualgap.paths.path import Path
from path_instances import KINDS, PAIRS, PENALTIES, degenerate, ordinary

PROVEN = 1e-9


def strengths(path: Path, count: int, seed: int) -> list[float]:
    """Strengths between breakpoints, down to a thousandth of the largest."""
    top = float(path.lams[0])
    low = max(float(path.lams[-1]), 1e-3 * top)
    return list(np.exp(np.random.default_rng(seed).uniform(np.log(low), np.log(1.1 * top), count)))


@pytest.mark.parametrize(("loss", "penalty"), PAIRS)
def test_agrees_with_fits_at_any_strength(loss: str, penalty: str) -> None:
    X, y = ordinary(loss, 60, 6, seed=1)
    path = dg.path(X, y, loss=loss, penalty=penalty)
    assert path.exact
    assert np.max(path.gaps) <= PROVEN
    for lam in strengths(path, 4, seed=2):
        fit = dg.fit(X, y, loss=loss, penalty=penalty, lam=lam, tol=1e-10)
        found = path.solution(lam=lam)
        assert found.objective == pytest.approx(fit.objective, rel=1e-8)
        assert found.relative_gap <= PROVEN
        assert np.abs(found.coef - fit.coef).max() <= 1e-4 * max(np.abs(fit.coef).max(), 1e-12)
        assert path.coef(lam=lam) == pytest.approx(found.coef, rel=1e-10, abs=1e-12)
        assert path.intercept(lam=lam) == pytest.approx(found.intercept, rel=1e-10)


@pytest.mark.parametrize(("loss", "penalty"), PAIRS)
def test_agrees_with_fits_under_any_budget(loss: str, penalty: str) -> None:
    X, y = ordinary(loss, 50, 5, seed=3)
    path = dg.path(X, y, loss=loss, penalty=penalty)
    for share in (0.07, 0.4, 0.83):
        budget = share * float(path.budgets.max())
        fit = dg.fit(X, y, loss=loss, penalty=penalty, budget=budget, tol=1e-9)
        found = path.solution(budget=budget)
        assert found.objective == pytest.approx(fit.objective, rel=1e-7)
        assert found.relative_gap <= PROVEN
        lam = path.lam(budget)
        assert path.budget(lam) == pytest.approx(budget, rel=1e-6) or penalty == "l1"  # a slide at one λ
        assert path.solution(lam=lam).relative_gap <= PROVEN


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("penalty", PENALTIES)
def test_degenerate_data(kind: str, penalty: str) -> None:
    for seed, (loss, _) in enumerate(PAIRS[::3]):
        X, y = degenerate(kind, loss, seed)
        path = dg.path(X, y, loss=loss, penalty=penalty)
        assert path.exact
        assert np.max(path.gaps) <= PROVEN, (loss, float(np.max(path.gaps)))
        assert np.all(np.diff(path.lams) <= 0.0)
        assert np.all(np.diff(path.budgets) >= -1e-9 * max(float(path.budgets.max()), 1e-3))
        if path.lams[0] > 0.0:
            for lam in strengths(path, 2, seed):
                assert path.solution(lam=lam).relative_gap <= PROVEN
            budget = 0.6 * float(path.budgets[-1])
            assert path.solution(budget=budget).relative_gap <= PROVEN


@pytest.mark.parametrize(("loss", "penalty"), PAIRS)
def test_weights_factors_and_no_intercept(loss: str, penalty: str) -> None:
    random = np.random.default_rng(5)
    X, y = ordinary(loss, 40, 5, seed=4)
    weights = random.integers(0, 4, len(y)).astype(float)
    weights[:2] = 1.0
    factors = np.array([1.0, 0.0, 2.0, 0.5, 1.0])
    for intercept in (True, False):
        asked: dict[str, Any] = {
            "loss": loss,
            "penalty": penalty,
            "sample_weight": weights,
            "penalty_factors": factors,
            "fit_intercept": intercept,
        }
        path = dg.path(X, y, **asked)
        assert np.max(path.gaps) <= PROVEN
        lam = float(path.lams[0]) * 0.08
        fit = dg.fit(X, y, lam=lam, tol=1e-9, **asked)
        assert path.solution(lam=lam).objective == pytest.approx(fit.objective, rel=1e-8)


@pytest.mark.parametrize(("loss", "penalty"), PAIRS)
def test_sparse_is_dense(loss: str, penalty: str) -> None:
    random = np.random.default_rng(6)
    X, y = ordinary(loss, 40, 8, seed=7)
    X[random.random(X.shape) < 0.6] = 0.0
    one, other = (dg.path(part, y, loss=loss, penalty=penalty) for part in (X, sp.csr_array(X)))
    assert other.exact
    assert np.max(other.gaps) <= PROVEN
    lam = 0.1 * float(one.lams[0])
    assert one.solution(lam=lam).objective == pytest.approx(other.solution(lam=lam).objective, rel=1e-9)


def test_the_lasso_is_linear_between_breakpoints_and_that_of_lars() -> None:
    X, y = ordinary("squared", 50, 12, seed=8)
    path = dg.path(X, y, loss="squared", penalty="l1")
    assert path.breakpoints
    for k in range(0, len(path) - 1, 3):
        middle = 0.5 * (path.lams[k] + path.lams[k + 1])
        straight = 0.5 * (path.coefs[k] + path.coefs[k + 1])
        assert path.coef(lam=middle) == pytest.approx(straight, rel=1e-9, abs=1e-10)
    alphas, _, coefs = lars_path(X - X.mean(axis=0), y - y.mean(), method="lasso")
    assert path.lams == pytest.approx(2.0 * alphas, abs=1e-9)
    assert path.coefs == pytest.approx(coefs.T, rel=1e-6, abs=1e-8)


def test_diabetes_variables_enter_and_leave_as_printed() -> None:
    X, y = load_diabetes(return_X_y=True)
    path = dg.path(X, y, loss="squared", penalty="l1", exact=True)
    alive = [set(np.flatnonzero(np.abs(w) > 1e-9)) for w in path.coefs]
    moves: list[int] = []
    for before, after in itertools.pairwise(alive):
        moves += [int(j) + 1 for j in sorted(after - before)] + [-int(j) - 1 for j in sorted(before - after)]
    assert moves == [3, 9, 4, 7, 2, 10, 5, 8, 6, 1, -7, 7]
    assert np.abs(path.coefs[-1]).sum() == pytest.approx(3460.00, abs=0.05)
    assert path.lams[-1] == 0.0
    assert path.n_nonzero[0] == 0


@pytest.mark.parametrize("loss", ["absolute", "hinge", "huber(0.7)", "squared_hinge"])
def test_above_the_unregularised_budget_nothing_changes(loss: str) -> None:
    X, y = ordinary(loss, 60, 4, seed=9)
    path = dg.path(X, y, loss=loss, penalty="l1")
    free = dg.fit(X, y, loss=loss, penalty="none", tol=1e-9)
    end = path.solution(lam=0.0)
    assert end.objective == pytest.approx(free.objective, rel=1e-7)
    for budget in (1.0001 * float(path.budgets[-1]), 10.0 * float(path.budgets[-1])):
        assert path.coef(budget=budget) == pytest.approx(end.coef, rel=1e-7, abs=1e-9)
        assert path.lam(budget) == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("penalty", PENALTIES)
def test_goes_on_below_its_end(penalty: str) -> None:
    X, y = ordinary("hinge", 40, 5, seed=10)
    path = dg.path(X, y, loss="hinge", penalty=penalty, lam_min_ratio=0.1)
    end = float(path.lams[-1])
    fit = dg.fit(X, y, loss="hinge", penalty=penalty, lam=0.01 * end, tol=1e-9)
    assert path.solution(lam=0.01 * end).objective == pytest.approx(fit.objective, rel=1e-8)
    assert path.lams[-1] == end


def test_given_strengths_are_the_points() -> None:
    X, y = ordinary("absolute", 40, 5, seed=11)
    whole = dg.path(X, y, loss="absolute", penalty="l1")
    asked = np.array([0.01, 0.3, 0.1]) * whole.lams[0]
    path = dg.path(X, y, loss="absolute", penalty="l1", lams=asked)
    assert path.exact
    assert not path.breakpoints
    assert path.lams == pytest.approx(np.sort(asked)[::-1])
    assert np.max(path.gaps) <= PROVEN
    for lam, w in zip(path.lams, path.coefs, strict=True):
        assert w == pytest.approx(whole.coef(lam=lam), rel=1e-9, abs=1e-11)


@pytest.mark.parametrize("loss", ["epsilon_insensitive(50)", "squared_epsilon_insensitive(50)", "huber(0.7)"])
def test_where_nothing_is_lost_at_zero_the_path_is_constant(loss: str) -> None:
    X = np.random.default_rng(12).standard_normal((20, 3))
    y = np.full(20, 4.0) if "huber" in loss else np.linspace(-3.0, 3.0, 20)
    path = dg.path(X, y, loss=loss, penalty="l1")
    assert path.exact
    assert not path.coefs.any()
    assert path.solution(lam=0.1).relative_gap == 0.0
    assert path.solution(budget=1.0).objective == 0.0


@pytest.mark.parametrize("delta", [1e-1, 1e-3, 1e-5, 1e-7])
def test_narrow_huber(delta: float) -> None:
    X, y = ordinary("squared", 40, 5, seed=13)
    path = dg.path(X, y, loss=f"huber({delta * y.std()})", penalty="l1", lam_min_ratio=1e-2)
    assert np.max(path.gaps) <= 1e-6
    assert path.solution(lam=0.2 * float(path.lams[0])).relative_gap <= 1e-6


def test_a_row_twice_is_a_weight_of_two() -> None:
    X, y = ordinary("hinge", 30, 4, seed=14)
    twice = dg.path(np.vstack([X, X[:10]]), np.append(y, y[:10]), loss="hinge", penalty="l2")
    weighted = dg.path(X, y, loss="hinge", penalty="l2", sample_weight=np.where(np.arange(30) < 10, 2.0, 1.0))
    lam = 1e-3 * float(twice.lams[0])
    assert twice.coef(lam=lam) == pytest.approx(weighted.coef(lam=lam), rel=1e-9)


def test_a_long_path_keeps_every_other_record(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = ordinary("absolute", 60, 5, seed=15)
    for penalty in ("l1", "l2"):
        whole = dg.path(X, y, loss="absolute", penalty=penalty)
        monkeypatch.setattr(engine, "MOST_VALUES", 200)
        short = dg.path(X, y, loss="absolute", penalty=penalty)
        assert len(short) < len(whole) / 2
        assert not short.breakpoints
        assert np.max(short.gaps) <= PROVEN
        for lam in strengths(whole, 5, seed=16):
            assert short.solution(lam=lam).relative_gap <= PROVEN
        budget = 0.5 * float(whole.budgets[-1])
        assert short.coef(budget=budget) == pytest.approx(whole.coef(budget=budget), rel=1e-8, abs=1e-10)
        monkeypatch.undo()


def test_many_more_columns_than_rows_with_squares() -> None:
    X, y = ordinary("hinge", 25, 80, seed=17)
    for matrix in (X, sp.csc_array(np.where(np.abs(X) > 1.0, X, 0.0))):
        path = dg.path(matrix, y, loss="hinge", penalty="l2")
        assert path.exact
        assert np.max(path.gaps) <= PROVEN
        lam = 1e-3 * float(path.lams[0])
        fit = dg.fit(matrix, y, loss="hinge", penalty="l2", lam=lam, tol=1e-9)
        assert path.solution(lam=lam).objective == pytest.approx(fit.objective, rel=1e-8)
