"""Paths on a grid, and points that keep a promise between them."""

from __future__ import annotations

import numpy as np
import pytest

import dualgap as dg
from dualgap.errors import DataError, NoSolverError
from path_instances import ordinary

PAIRS = [
    ("logistic", "l1"),
    ("logistic", "l2"),
    ("exponential", "elastic_net(0.5)"),
    ("squared", "linf"),
    ("hinge", "l2_norm"),
    ("logistic", "lp(1.5)"),
]


@pytest.mark.parametrize(("loss", "penalty"), PAIRS)
def test_every_point_is_proven(loss: str, penalty: str) -> None:
    X, y = ordinary(loss, 60, 8, seed=1)
    path = dg.path(X, y, loss=loss, penalty=penalty, n_lams=12)
    assert not path.exact
    assert len(path) == 12
    assert np.all(path.gaps <= 1e-6)
    assert np.all(np.diff(path.lams) < 0.0)
    assert np.all(np.diff(path.budgets) >= -1e-4 * path.budgets.max())
    lam = float(np.sqrt(path.lams[5] * path.lams[6]))
    fit = dg.fit(X, y, loss=loss, penalty=penalty, lam=lam, tol=1e-8)
    found = path.solution(lam=lam)
    assert found.relative_gap <= 1e-6
    assert found.objective == pytest.approx(fit.objective, rel=2e-6)


@pytest.mark.parametrize("penalty", ["l1", "linf", "l2_norm", "elastic_net(0.5)"])
def test_all_weights_are_zero_at_the_first_strength_and_not_below(penalty: str) -> None:
    X, y = ordinary("logistic", 50, 6, seed=2)
    path = dg.path(X, y, loss="logistic", penalty=penalty, n_lams=5)
    assert np.abs(path.coefs[0]).max() == 0.0
    assert np.abs(path.coef(lam=0.98 * float(path.lams[0]))).max() > 0.0


def test_more_columns_than_rows() -> None:
    X, y = ordinary("logistic", 60, 200, seed=3)
    path = dg.path(X, y, loss="logistic", penalty="l1", n_lams=15)
    assert np.all(path.gaps <= 1e-6)
    for k in (3, 9, 14):
        fit = dg.fit(X, y, loss="logistic", penalty="l1", lam=path.lams[k], tol=1e-8)
        assert path.solution(lam=float(path.lams[k])).objective == pytest.approx(fit.objective, rel=2e-6)


def test_budgets_and_strengths_belong_together() -> None:
    X, y = ordinary("logistic", 60, 6, seed=4)
    path = dg.path(X, y, loss="logistic", penalty="l1", n_lams=20, tol=1e-9)
    budget = float(path.budgets[10])
    assert path.lam(budget) == pytest.approx(path.lams[10], rel=1e-3)
    found = path.solution(budget=budget)
    assert np.abs(found.coef).sum() <= budget * (1.0 + 1e-9)
    assert found.relative_gap <= 1e-9
    assert found.coef == pytest.approx(path.coefs[10], rel=1e-3, abs=1e-4)


@pytest.mark.parametrize(
    ("loss", "penalty", "exact"),
    [
        ("logistic", "l1", "auto"),
        ("logistic", "l2", "auto"),
        ("squared", "l2_norm", "auto"),
        ("hinge", "l1", False),
        ("squared", "elastic_net(0.5)", False),
    ],
)
def test_the_promise_holds_everywhere(loss: str, penalty: str, exact: bool | str) -> None:
    X, y = ordinary(loss, 60, 6, seed=5)
    promise = 1e-3
    path = dg.path(X, y, loss=loss, penalty=penalty, exact=exact, everywhere=promise)
    assert not path.exact
    random = np.random.default_rng(6)
    for lam in np.exp(random.uniform(np.log(path.lams[-1]), np.log(path.lams[0]), 60)):
        assert path.solution(lam=lam).relative_gap <= promise
    for lam in np.exp(random.uniform(np.log(path.lams[-1]), np.log(path.lams[0]), 5)):
        best = dg.fit(X, y, loss=loss, penalty=penalty, lam=lam).bound
        for nearest in (np.argmin(np.abs(path.lams - lam)), np.argmin(np.abs(np.log(path.lams / lam)))):
            check = dg.certify(
                X, y, path.coefs[nearest], path.intercepts[nearest], loss=loss, penalty=penalty, lam=lam
            )
            assert check.objective - best <= 1.01 * promise * check.objective


def test_a_promise_needs_few_points() -> None:
    X, y = ordinary("logistic", 60, 6, seed=7)
    coarse, fine = (
        dg.path(X, y, loss="logistic", penalty="l1", everywhere=promise) for promise in (1e-2, 1e-4)
    )
    assert 5 * len(coarse) < len(fine) < 20 * len(coarse)  # the number goes with 1 / sqrt(promise)


def test_what_cannot_be_is_refused() -> None:
    X, y = ordinary("logistic", 20, 3, seed=8)
    with pytest.raises(NoSolverError, match="not piecewise"):
        dg.path(X, y, loss="logistic", exact=True)
    with pytest.raises(NoSolverError, match="not l1, l2 or elastic_net"):
        dg.path(X, y, loss="hinge", penalty="linf", exact=True)
    with pytest.raises(DataError, match="no path"):
        dg.path(X, y, loss="logistic", penalty="none")
    for wrong in ({"lams": [-1.0]}, {"n_lams": 0}, {"lam_min_ratio": 2.0}, {"form": "both"}, {"exact": "no"}):
        with pytest.raises(DataError):
            dg.path(X, y, loss="logistic", **wrong)
    path = dg.path(X, y, loss="hinge")
    for wrong in ({}, {"lam": 1.0, "budget": 1.0}, {"lam": -1.0}, {"budget": "much"}):
        with pytest.raises(DataError):
            path.coef(**wrong)


@pytest.mark.parametrize(("loss", "multiclass"), [("logistic", "multinomial"), ("hinge", "one_vs_rest")])
def test_more_than_two_classes(loss: str, multiclass: str) -> None:
    random = np.random.default_rng(9)
    X = random.standard_normal((60, 4))
    y = np.array(["a", "b", "c"])[np.argmax(X[:, :3] + random.standard_normal((60, 3)), axis=1)]
    path = dg.path(X, y, loss=loss, penalty="l1", multiclass=multiclass, n_lams=5)
    assert path.coefs.shape == (5, 3, 4)
    assert path.intercepts.shape == (5, 3)
    assert np.all(path.gaps <= 1e-6)
    assert path.n_nonzero[0] == 0
    lam = float(np.sqrt(path.lams[2] * path.lams[3]))
    fit = dg.fit(X, y, loss=loss, penalty="l1", multiclass=multiclass, lam=lam, tol=1e-8)
    assert path.solution(lam=lam).objective == pytest.approx(fit.objective, rel=2e-6)
    assert np.all(np.diff(path.budgets) >= -1e-6)
    with pytest.raises(NoSolverError, match="more than two classes"):
        dg.path(X, y, loss=loss, penalty="l1", multiclass=multiclass, exact=True)
