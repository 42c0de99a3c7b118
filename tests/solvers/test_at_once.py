"""Solvers that take a problem as it was asked: what they answer, what they leave to others."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dualgap as dg
import dualgap.solvers  # they enter the registry when they are imported
from dualgap import losses, penalties
from dualgap.drive.limits import Limits
from dualgap.drive.registry import at_once, candidates
from dualgap.drive.run import drive, drive_asked
from dualgap.drive.solver import Iterate
from dualgap.errors import NotCertifiedWarning
from dualgap.problem.problem import Problem
from dualgap.problem.repeated import reduced
from random_problems import Recipe, relative_gap

SHAPES = [(60, 5), (40, 39), (20, 60)]
KINDS = [
    (losses.Squared(), penalties.L2()),
    (losses.Squared(), penalties.L1()),
    (losses.Squared(), penalties.ElasticNet(0.5)),
    (losses.Squared(), penalties.Slope(0.1)),
    (losses.Logistic(), penalties.L2()),
    (losses.Logistic(), penalties.L1()),
    (losses.Logistic(), penalties.ElasticNet(0.1)),
    (losses.Poisson(), penalties.Slope(0.5)),
]


def asked(problem: Problem, limits: Limits) -> Any:
    first = at_once(problem)
    assert first is not None
    return drive_asked(problem, first, lambda working: candidates(working.problem, "auto"), limits)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize(("n", "p"), SHAPES)
@pytest.mark.parametrize(("loss", "penalty"), KINDS, ids=str)
def test_the_same_optimum_as_in_good_coordinates(
    loss: Any, penalty: Any, n: int, p: int, weighted: bool, intercept: bool
) -> None:
    problem = Recipe(n, p, weighted=weighted, intercept=intercept, share=0.05).build(loss, penalty)
    found = asked(problem, Limits())
    assert found.proven and relative_gap(problem, found) <= 1e-6
    working = reduced(problem)
    other = drive(working, lambda: candidates(working.problem, "auto"), None, Limits())
    assert found.bounds.dual <= other.bounds.primal and other.bounds.dual <= found.bounds.primal


BENT = [
    losses.Hinge(),
    losses.SquaredHinge(),
    losses.Huber(0.5),
    losses.Absolute(),
    losses.Quantile(0.9),
    losses.EpsilonInsensitive(0.1),
    losses.SquaredEpsilonInsensitive(0.1),
]


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("share", [0.3, 1e-2, 1e-4], ids=str)
@pytest.mark.parametrize("kind", ["normal", "scaled", "collinear"])
@pytest.mark.parametrize("loss", BENT, ids=str)
def test_losses_that_bend_with_a_ridge(loss: Any, kind: str, share: float, intercept: bool) -> None:
    """Alone on ordinary columns; with others after it on any."""
    problem = Recipe(90, 12, kind=kind, weighted=True, intercept=intercept, share=share).build(
        loss, penalties.L2()
    )
    found = asked(problem, Limits())
    assert found.proven and relative_gap(problem, found) <= 1e-6
    if kind == "normal":
        first = at_once(problem)
        assert drive_asked(problem, first, lambda working: (), Limits()).proven


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("share", [0.3, 1e-3, 1e-6], ids=str)
@pytest.mark.parametrize("spread", [0.0, 2.0], ids=["even", "uneven"])
@pytest.mark.parametrize(("n", "p"), [(200, 450), (250, 240), (400, 120)])
def test_tables_that_need_no_matrix(n: int, p: int, spread: float, share: float, intercept: bool) -> None:
    """Products with the table, or a matrix where these take too long: the optimum is the same."""
    problem = Recipe(n, p, weighted=True, intercept=intercept, share=share).build(
        losses.Logistic(), penalties.L2()
    )
    rng = np.random.default_rng(0)
    X = problem.design.features.toarray() * 10.0 ** rng.uniform(-spread, spread, p)
    strength = problem.regulariser.strength
    asked: dict[str, Any] = {
        "loss": "logistic",
        "lam": strength,
        "sample_weight": problem.a,
        "fit_intercept": intercept,
    }
    found = dg.fit(X, problem.y, **asked)
    other = dg.fit(X, problem.y, **asked, solver="newton")
    assert found.converged and other.converged
    assert found.bound <= other.objective and other.bound <= found.objective


@given(seed=st.integers(0, 10**6), power=st.integers(-6, 3), loss=st.sampled_from(["squared", "logistic"]))
def test_columns_of_any_scale(seed: int, power: int, loss: str) -> None:
    """What an attempt cannot prove, the solvers in good coordinates do."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(30, 6)) * 10.0 ** rng.integers(-4, 5, 6) + 10.0 ** rng.integers(-2, 5, 6)
    y = rng.normal(size=30)
    y = np.where(y > 0, 1.0, -1.0) if loss == "logistic" else y
    for penalty in ("l1", "l2"):
        assert dg.fit(X, y, loss=loss, penalty=penalty, lam=10.0**power).converged


def test_dependent_columns_are_left_to_the_shortest_weights() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(40, 1)), rng.normal(size=40)
    found = dg.fit(np.hstack([x, x]), y, loss="squared", penalty="none")
    assert found.converged
    np.testing.assert_allclose(found.coef[0], found.coef[1], rtol=1e-9)


@pytest.mark.parametrize("lam", [1.0, 1e-2, 1e-3])
def test_the_dual_point_of_raw_columns_keeps_its_prices(lam: float) -> None:
    """θ is levelled before it is measured: means of 200 beside a small price would push it out."""
    from sklearn.datasets import load_diabetes

    X, y = load_diabetes(return_X_y=True, scaled=False)
    found = dg.fit(X, y, loss="squared", penalty="l1", lam=lam)
    theta = found.certificate.theta
    assert abs(theta.sum()) <= 1e-12 and np.abs(X.T @ theta).max() <= lam * (1.0 + 1e-9)


def test_free_columns_and_sparse_tables_are_for_others() -> None:
    assert at_once(Recipe(60, 20, free=2).build(losses.Logistic(), penalties.L1())) is None
    assert at_once(Recipe(60, 20, free=2).build(losses.Logistic(), penalties.L2())) is None
    assert at_once(Recipe(120, 200, kind="sparse").build(losses.Squared(), penalties.L1())) is None
    assert at_once(Recipe(60, 20, free=2).build(losses.Hinge(), penalties.L2())) is None
    assert at_once(Recipe(60, 20, free=2).build(losses.Huber(), penalties.L2())) is None
    assert at_once(Recipe(120, 20, kind="sparse").build(losses.Hinge(), penalties.L2())) is None


def test_a_wrong_solver_is_followed_by_others() -> None:
    class Wrong:
        name = "wrong"

        def iterates(self, problem: Problem, start: Iterate) -> Any:
            yield Iterate(np.ones(problem.p), np.zeros(problem.n), outright=True)
            raise np.linalg.LinAlgError

    problem = Recipe(60, 5).build(losses.Squared(), penalties.L2())
    found = drive_asked(problem, Wrong(), lambda working: candidates(working.problem, "auto"), Limits())
    assert found.proven and found.solver == "closed_form"


@pytest.mark.parametrize("max_iter", [1, 2])
def test_limits_hold(max_iter: int) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 1000))
    y = X[:, :30].sum(axis=1) + rng.normal(size=200)
    seen: list[float] = []
    with pytest.warns(NotCertifiedWarning):
        found = dg.fit(
            X,
            y,
            loss="squared",
            penalty="l1",
            lam=0.01,
            max_iter=max_iter,
            callback=lambda r: seen.append(r.best),
        )
    assert not found.converged and found.n_iter == max_iter and len(seen) == max_iter


def test_facts_of_a_saved_solution_hold_no_table() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(500, 50)), rng.normal(size=500)
    found = dg.fit(X, y, loss="squared", penalty="l2", lam=0.1)
    packed = pickle.dumps(found)
    assert len(packed) < X.nbytes / 4
    again = pickle.loads(packed)
    np.testing.assert_allclose(again.facts["spread"], X.std(axis=0), rtol=1e-12)
    with pytest.raises(KeyError):
        found.facts["nothing"]
