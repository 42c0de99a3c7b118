"""bridge(p) and lp(p) with p < 1: stationary points, said to be no more, with bounds that hold."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import dualgap as dg
from dualgap.arrays import Matrix, Vector
from dualgap.errors import NotCertifiedWarning

PENALTIES = ("bridge(0.5)", "bridge(0.8)", "lp(0.5)", "lp(0.7)")


def data(n: int, p: int, seed: int = 0) -> tuple[Matrix, Vector]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    return X, 1.5 * X[:, 0] + 0.4 * rng.normal(size=n)


def fit(X: Matrix, y: Vector, **keywords: object) -> dg.Solution:
    """A fit of which nobody expects that it is proven."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotCertifiedWarning)
        return dg.fit(X, y, **keywords)  # type: ignore[arg-type]


@pytest.mark.parametrize("form", ["lam", "budget"])
@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("loss", ["squared", "absolute"])
def test_two_weights_against_a_grid(loss: str, penalty: str, form: str) -> None:
    X, y = data(20, 2)
    amount = {"lam": 0.3, "budget": 0.9}[form]
    found = fit(X, y, loss=loss, penalty=penalty, fit_intercept=False, **{form: amount})
    axis = np.linspace(-2.0, 2.0, 401)
    grid = np.array(np.meshgrid(axis, axis)).reshape(2, -1)
    residual = X @ grid - y[:, None]
    risk = (residual**2 if loss == "squared" else np.abs(residual)).mean(axis=0)
    p = float(penalty[penalty.index("(") + 1 : -1])
    size = (np.abs(grid) ** p).sum(axis=0) ** (1.0 if penalty.startswith("bridge") else 1.0 / p)
    values = risk + amount * size if form == "lam" else np.where(size <= amount, risk, np.inf)
    least = float(values.min())
    assert found.bound <= least + 1e-12
    assert found.objective <= least + 0.02
    assert found.converged or "not proven optimal" in found.status


@pytest.mark.parametrize("loss", ["squared", "logistic", "huber(1)"])
@pytest.mark.parametrize("penalty", PENALTIES)
def test_stationary_where_there_is_a_weight(loss: str, penalty: str) -> None:
    X, y = data(60, 6, seed=2)
    y = np.sign(y) if loss == "logistic" else y
    found = fit(X, y, loss=loss, penalty=penalty, lam=0.02)
    problem = found.terms.problem(dg.fitting.reading.read_table(X).design, y)
    w = np.append(found.coef, found.intercept)
    pull = problem.design.transpose_matvec(problem.slope(problem.design.matvec(w)))
    gauge = problem.regulariser.gauge
    prices = 0.02 * gauge.tangent(w, 0.0 if found.coef.all() else 1e-12)[:-1]  # type: ignore[attr-defined]
    live = found.coef != 0.0
    assert live.any()
    np.testing.assert_allclose(
        pull[:-1][live], np.sign(found.coef[live]) * prices[live], rtol=2e-3, atol=1e-5
    )
    assert abs(pull[-1]) < 1e-5


def test_never_worse_than_plain_l1_and_feasible() -> None:
    X, y = data(60, 8, seed=3)
    l1 = dg.fit(X, y, loss="squared", penalty="l1", budget=1.0, tol=1e-11)
    inside = fit(X, y, loss="squared", penalty="lp(0.5)", budget=1.0)
    assert (np.abs(inside.coef) ** 0.5).sum() ** 2 <= 1.0 + 1e-9
    assert inside.bound == pytest.approx(l1.bound, rel=1e-5)  # the hull of this ball is the l1 ball
    assert inside.objective >= l1.bound * (1 - 1e-9)
    wide = fit(X, y, loss="squared", penalty="bridge(0.5)", budget=3.0)
    assert (np.abs(wide.coef) ** 0.5).sum() <= 3.0 + 1e-9


def test_a_budget_that_does_not_bind_is_proven() -> None:
    X, y = data(60, 4)
    full = dg.fit(X, y, loss="squared", penalty="none")
    found = dg.fit(X, y, loss="squared", penalty="lp(0.5)", budget=1e3)
    assert found.converged and found.objective == pytest.approx(full.objective, rel=1e-6)


def test_options_and_factors() -> None:
    X, y = data(60, 4)
    found = fit(X, y, loss="squared", penalty="bridge(0.5)", lam=0.5, penalty_factors=[1, 0, 1, 1],
                solver=dg.discrete.ReweightedL1(starts=2))  # fmt: skip
    assert found.coef[1] != 0.0 and found.solver == "reweighted_l1"
    with pytest.raises(dg.errors.DataError, match="strictly between 0 and 1"):
        dg.penalties.Bridge(1.0)
    with pytest.raises(dg.errors.DataError, match="positive finite p"):
        dg.penalties.Lp(0.0)
