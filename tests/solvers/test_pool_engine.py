"""Squares and an l1 part by sweeps over copies of the columns in 4-byte numbers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dualgap import losses, penalties
from dualgap.arrays import Vector
from dualgap.design import Dense, Standardised, WithOnes
from dualgap.drive.solver import Iterate
from dualgap.penalties import Penalty
from dualgap.problem.precondition import precondition
from dualgap.problem.problem import Problem
from dualgap.solvers.lasso.column_pool import ColumnPool, PoolDescent
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


def test_columns_are_copied_alike_from_either_order() -> None:
    rng = np.random.default_rng(3)
    array, root = rng.normal(size=(30, 70)), rng.uniform(0.5, 1.0, 30)
    centre, scale = array.mean(axis=0), rng.uniform(1.0, 2.0, 70)
    which = np.array([2, 3, 11, 69])
    expected = ((array - centre) / scale)[:, which].T * root
    for inner in (Dense(array), Dense(np.asfortranarray(array))):
        pool = ColumnPool(WithOnes(Standardised(inner, centre, scale)), root)
        pool.add(np.array([70]))
        pool.add(which)
        np.testing.assert_allclose(pool.lines[0], root, rtol=1e-7)
        np.testing.assert_allclose(pool.lines[1:], expected, rtol=1e-6, atol=1e-7)
        np.testing.assert_allclose(pool.squares[1:], (expected**2).sum(axis=1), rtol=1e-5)
        np.testing.assert_array_equal(pool.columns, [70, *which])


def test_a_pool_grows_and_keeps_what_it_has() -> None:
    array = np.random.default_rng(4).normal(size=(5, 3000))
    pool = ColumnPool(Dense(array), np.ones(5))
    for k in range(0, 3000, 600):
        pool.add(np.arange(k, k + 600))
    np.testing.assert_allclose(pool.lines, array.T, rtol=1e-6)
    assert pool.inside.all()


def test_rounding_is_relative_to_the_move() -> None:
    """From the exact gradient near the optimum, descent reaches digits that 4-byte gradients do not have."""
    rng = np.random.default_rng(5)
    array, y = rng.normal(size=(100, 60)), 1e3 * rng.normal(size=100)
    price = np.full(60, 0.3 * np.abs(array.T @ y).max())
    pool = ColumnPool(Dense(array), np.ones(100))
    pool.add(np.arange(60))
    w = np.zeros(60)
    for _ in range(4):
        pull = array.T @ (y - array @ w)
        PoolDescent(pool, w, pull, (price, np.zeros(60), price)).solve(1e-9)
    pull, support = array.T @ (y - array @ w), w != 0.0
    np.testing.assert_allclose(pull[support], price[support] * np.sign(w[support]), rtol=1e-9)
    assert np.all(np.abs(pull[~support]) <= price[~support] * (1 + 1e-9))


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
