"""Smooth losses with an l1 part over dense columns, few of them at a time."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dualgap as dg
from dualgap import losses, penalties
from dualgap.arrays import Vector
from dualgap.design import Dense, WithOnes
from dualgap.drive.solver import Iterate
from dualgap.losses import Loss
from dualgap.penalties import Penalty
from dualgap.problem.precondition import precondition
from dualgap.problem.problem import Problem
from dualgap.proof.rows import Rows
from dualgap.solvers.lasso.coordinate_descent import CoordinateDescent
from dualgap.solvers.lasso.priced_point import PricedPoint
from random_problems import Recipe, relative_gap, run

RECIPES = {
    "tall": Recipe(400, 80, share=0.05),
    "wide": Recipe(60, 200, weighted=True, share=0.05),
    "slight": Recipe(80, 80, share=1e-3, intercept=False),
    "duplicate": Recipe(60, 120, kind="duplicate", share=0.01),
    "collinear": Recipe(60, 120, kind="collinear", share=1e-3),
    "scaled": Recipe(60, 90, kind="scaled", share=0.01),
    "free": Recipe(90, 120, free=3, share=0.02),
}
PENALTIES: list[Penalty] = [penalties.L1(), penalties.ElasticNet(0.5), penalties.ElasticNet(1e-6)]


@pytest.mark.parametrize("tolerance", [1e-6, 1e-8])
@pytest.mark.parametrize("penalty", PENALTIES, ids=str)
@pytest.mark.parametrize("name", RECIPES)
def test_the_gap_is_proven(name: str, penalty: Penalty, tolerance: float) -> None:
    problem = RECIPES[name].build(losses.Squared(), penalty)
    assert relative_gap(problem, run(problem, CoordinateDescent(), tolerance)) <= tolerance


@pytest.mark.parametrize("loss", [losses.Logistic(), losses.SquaredHinge(), losses.Huber(0.5)], ids=str)
@pytest.mark.parametrize("name", RECIPES)
def test_other_losses_alone(name: str, loss: Loss) -> None:
    """Without the engines that come after it, on the columns as they are."""
    problem = RECIPES[name].build(loss, penalties.L1())
    alone = CoordinateDescent().at_once(problem)
    if name == "free":
        assert alone is None
    else:
        assert alone is not None
        assert relative_gap(problem, run(problem, alone, 1e-6)) <= 1e-6


def test_a_level_far_from_zero_and_a_constant_column() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 30))
    y = X[:, 0] + 0.1 * rng.normal(size=80)
    far = X + 1e4 * rng.normal(size=30)
    far[:, 7] = 3.0
    near, moved = (dg.fit(table, y, loss="squared", penalty="l1", lam=0.05) for table in (X, far))
    assert near.converged and moved.converged
    assert moved.coef[7] == 0.0
    support = near.coef != 0.0
    support[7] = False
    np.testing.assert_allclose(moved.coef[support], near.coef[support], atol=1e-2)


@pytest.mark.parametrize("loss", ["poisson", "logistic"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_bent_losses_over_columns_far_from_zero_and_a_constant_one(loss: str, order: str) -> None:
    """Columns are read where they lie until these are seen to be far out."""
    rng = np.random.default_rng(1)
    X, where = rng.normal(size=(400, 40)), 1e3 * rng.normal(size=40)
    z = X[:, :3].sum(axis=1)
    y = rng.poisson(np.exp(0.3 * z)).astype(float) if loss == "poisson" else np.where(z > 0.0, 1.0, -1.0)
    where[:20] = 0.0  # those of the first set lie near
    X[:, 7], where[7] = 3.0, 0.0
    far = X + where
    near, moved = (
        dg.fit(np.require(table, requirements=order), y, loss=loss, penalty="l1", lam=0.003)
        for table in (X, far)
    )
    assert near.converged and moved.converged
    assert moved.coef[7] == 0.0
    assert moved.objective == pytest.approx(near.objective, rel=2e-6)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("intercept", [True, False])
def test_a_dual_point_foreseen_is_the_one_that_is_proven(order: str, intercept: bool) -> None:
    plain = Recipe(3000, 11, share=2.0, intercept=intercept).build(losses.Poisson(), penalties.L1())
    X = np.require(plain.design.features.toarray(), requirements=order)
    dense = Dense(X, Rows(X))
    problem = replace(plain, design=WithOnes(dense) if intercept else dense)
    assert plain.foreseen(plain.null_dual, 1.1)[2] == 1.0  # nothing would be kept
    slopes = problem.null_dual * np.random.default_rng(5).uniform(0.99, 1.0, problem.n)
    theta, pull, unit = problem.foreseen(slopes, 1.1)
    assert unit == 1.1
    np.testing.assert_allclose(pull, X.T @ theta, rtol=0.0, atol=1e-12)
    proven, afresh = (one.judged(one.null_weights, theta, 1e-6) for one in (problem, plain))
    np.testing.assert_array_equal(proven.theta, theta)
    np.testing.assert_array_equal(proven.correlation[:11], pull)
    assert proven.dual == pytest.approx(afresh.dual, rel=1e-12)


@pytest.mark.parametrize("shape", [(300, 60), (60, 200), (3000, 60)])
def test_groups_whose_columns_lie_far_out_or_not(shape: tuple[int, int]) -> None:
    """Bent losses read columns where they lie until these are seen to be far out; others copy them."""
    rng = np.random.default_rng(2)
    X, where = np.asfortranarray(rng.normal(size=shape)), 1e3 * rng.normal(size=shape[1])
    z, groups = X[:, :4].sum(axis=1), np.arange(shape[1]) // 5
    for loss, y in (("squared", z), ("logistic", np.sign(z)), ("poisson", rng.poisson(np.exp(0.2 * z)))):
        asked = {"loss": loss, "penalty": "group_lasso", "groups": groups, "lam": 0.01}
        near, moved = (dg.fit(np.asfortranarray(table), y + 0.0, **asked) for table in (X, X + where))
        assert near.converged and moved.converged
        assert moved.objective == pytest.approx(near.objective, rel=2e-6)


def test_a_price_above_all_columns_leaves_none() -> None:
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(50, 20)), rng.normal(size=50)
    found = dg.fit(X, y, loss="squared", penalty="l1", lam=100.0)
    assert found.converged and not found.coef.any()
    assert found.intercept == pytest.approx(y.mean())


@given(
    seed=st.integers(0, 10**6),
    n=st.integers(2, 60),
    p=st.integers(51, 120),
    share=st.floats(1e-3, 0.9),
    kind=st.sampled_from(["normal", "integer", "duplicate", "collinear"]),
    ratio=st.sampled_from([0.0, 1e-3, 0.5]),
)
def test_any_shape(seed: int, n: int, p: int, share: float, kind: str, ratio: float) -> None:
    penalty = penalties.ElasticNet(ratio) if ratio else penalties.L1()
    problem = Recipe(n, p, kind=kind, share=share, seed=seed).build(losses.Squared(), penalty)
    assert relative_gap(problem, run(problem, CoordinateDescent(), 1e-7)) <= 1e-7


def test_well_conditioned_problems_need_few_rounds() -> None:
    problem = Recipe(200, 300, share=0.1).build(losses.Squared(), penalties.L1())
    outcome = run(problem, CoordinateDescent(), 1e-6)
    assert relative_gap(problem, outcome) <= 1e-6
    assert outcome.iterations <= 5


def test_gaps_finer_than_short_numbers() -> None:
    problem = Recipe(60, 120).build(losses.Squared(), penalties.L1())
    assert relative_gap(problem, run(problem, CoordinateDescent(), 1e-12)) <= 1e-12


def test_a_start_brings_its_correlation() -> None:
    working = precondition(Recipe(60, 120).build(losses.Squared(), penalties.L1())).problem
    point = PricedPoint(working, working.null_weights)
    theta, correlation = point.dual()
    start = Iterate(working.null_weights, 0.25 * theta, correlation=0.25 * correlation)

    class Counted(Problem):
        def correlation(self, theta: Vector) -> Vector:
            raise AssertionError("it is known")

    point.problem = Counted(**{name: getattr(working, name) for name in working.__dataclass_fields__})
    np.testing.assert_allclose(point.dual(start)[1], correlation, rtol=1e-12)
    with pytest.raises(AssertionError, match="it is known"):
        point.dual(replace(start, theta=np.abs(theta)))


@pytest.mark.parametrize("shape", [(40, 60), (150, 8)])
@pytest.mark.parametrize("loss", ["squared", "huber(0.7)", "squared_epsilon_insensitive(0.2)"])
def test_theta_itself_is_feasible(loss: str, shape: tuple[int, int]) -> None:
    """Not only with what the kernel adds for a θ that is a little too long."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=shape) + 0.5 * rng.normal(size=(shape[0], 1))
        signal = X @ (rng.normal(size=shape[1]) * (rng.random(shape[1]) < 0.4)) + 0.3
        y = signal + rng.standard_t(2, size=shape[0])
        found = dg.fit(X, y, loss=loss, penalty="l1", lam=0.05)
        theta = found.certificate.theta
        assert found.converged
        assert abs(theta.sum()) <= 1e-12 * np.abs(theta).sum()
        assert np.abs(X.T @ theta).max() <= 0.05 * (1.0 + 1e-12)


def test_columns_far_from_zero_that_lean_on_each_other() -> None:
    """Signs that never settle: another solver is sooner done."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(170, 1800)) + 100.0 * rng.normal(size=1800)
    y = X[:, :10] @ rng.normal(size=10)
    y = (y - y.mean()) / y.std() + rng.standard_t(3, size=170)
    s = dg.fit(X, y, loss="huber(1.35)", penalty="elastic_net(0.5)", lam=0.07, fit_intercept=False)
    assert s.converged
