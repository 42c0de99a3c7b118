from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dualgap as dg
from dualgap import losses, penalties
from dualgap.arrays import Matrix, Vector
from dualgap.drive.solver import Iterate
from dualgap.losses import Loss
from dualgap.problem.precondition import precondition
from dualgap.solvers.dual_ascent.method import DualCoordinateAscent
from dualgap.solvers.dual_ascent.sweeps import settle_entropy
from dualgap.solvers.prices import prices
from random_problems import Recipe, relative_gap, run

DUAL: list[Loss] = [
    losses.Hinge(),
    losses.Absolute(),
    losses.Quantile(0.8),
    losses.EpsilonInsensitive(0.3),
    losses.SquaredHinge(),
    losses.Huber(0.5),
    losses.SquaredEpsilonInsensitive(0.3),
    losses.Squared(),
    losses.Logistic(),
]
RECIPES = {
    "tall": Recipe(120, 8),
    "no intercept": Recipe(120, 8, intercept=False, weighted=True),
    "wide": Recipe(40, 60, weighted=True),
    "duplicate": Recipe(60, 30, kind="duplicate"),
    "free": Recipe(60, 30, free=2, share=0.3),
    "sparse": Recipe(150, 80, kind="sparse", share=0.02),
}


@pytest.mark.parametrize("name", RECIPES)
@pytest.mark.parametrize("loss", DUAL, ids=str)
def test_losses_with_terms_and_a_ridge(loss: Loss, name: str) -> None:
    problem = RECIPES[name].build(loss, penalties.L2())
    assert relative_gap(problem, run(problem, DualCoordinateAscent(), 1e-7)) <= 1e-7


@pytest.mark.parametrize("loss", [losses.Hinge(), losses.EpsilonInsensitive(0.3), losses.Logistic()], ids=str)
def test_short_numbers_give_way_to_long_ones(loss: Loss) -> None:
    problem = Recipe(150, 80, kind="sparse", share=0.05, intercept=False).build(loss, penalties.L2())
    assert relative_gap(problem, run(problem, DualCoordinateAscent(), 1e-12)) <= 1e-12


def test_the_dual_never_falls_and_the_weights_belong_to_it() -> None:
    problem = precondition(Recipe(80, 20, intercept=False).build(losses.Hinge(), penalties.L2())).problem
    before = -np.inf
    for iterate, _ in zip(
        DualCoordinateAscent().iterates(problem, Iterate(problem.null_weights)), range(6), strict=False
    ):
        assert iterate.theta is not None
        value = problem.dual(iterate.theta)
        assert value >= before - 1e-14
        before = value
        pull = problem.design.transpose_matvec(iterate.theta)
        np.testing.assert_allclose(prices(problem)[1] * iterate.w, pull, atol=1e-13)


@pytest.mark.parametrize("loss", [losses.Hinge(), losses.EpsilonInsensitive(0.3)], ids=str)
def test_starts_from_a_given_dual_point(loss: Loss) -> None:
    problem = precondition(Recipe(80, 20, intercept=False).build(loss, penalties.L2())).problem
    cold = DualCoordinateAscent().iterates(problem, Iterate(problem.null_weights))
    last = [iterate for iterate, _ in zip(cold, range(8), strict=False)][-1]
    assert last.theta is not None
    warm = next(iter(DualCoordinateAscent().iterates(problem, last)))
    assert warm.theta is not None
    assert problem.dual(warm.theta) >= problem.dual(last.theta) - 1e-14


@pytest.mark.parametrize("lam", [1e-2, 1e-6])
def test_long_rows_with_an_entropy(lam: float) -> None:
    """Each row alone could turn its own prediction round: steps go from one end of a slope to the other."""
    rng = np.random.default_rng(5)
    X = rng.standard_normal((40, 900)) + 3.0 * rng.standard_normal((40, 1))
    y = np.where(rng.standard_normal(40) > 0, 1.0, -1.0)
    ascent = dg.fit(
        X, y, loss="logistic", penalty="l2", lam=lam, fit_intercept=False, solver="dual_coordinate_ascent"
    )
    newton = dg.fit(X, y, loss="logistic", penalty="l2", lam=lam, fit_intercept=False, solver="newton")
    assert ascent.converged
    unit = max(newton.objective, 1e-4 * np.log(2.0))  # what a gap is relative to
    assert abs(ascent.objective - newton.objective) <= 1e-6 * unit


@settings(max_examples=300)
@given(
    st.floats(0.0, 1.0),
    st.sampled_from([(-1.0, 0.0), (0.0, 1.0)]),
    st.floats(0.0, 1e6),
    st.floats(-1e6, 1e6),
)
def test_a_variable_with_an_entropy_settles(
    place: float, bounds: tuple[float, float], stiff: float, z: float
) -> None:
    """d·z − entropy − stiff·(d − here)²/2 is never less than at the start, and its slope changes sign."""
    low, high = bounds
    here = low + place * (high - low)
    ahead, gap = settle_entropy(here, low, high, stiff, z)
    assert low <= ahead <= high
    assert gap >= 0.0
    s = ahead - low
    if 1e-12 < s < 1.0 - 1e-12:
        scale = max(1.0, abs(z), stiff)
        assert abs(np.log(s / (high - ahead)) + stiff * (ahead - here) - z) <= 1e-3 * scale


@pytest.mark.parametrize("loss", [losses.Hinge(), losses.EpsilonInsensitive(0.1), losses.Logistic()], ids=str)
def test_a_start_is_taken_up(loss: Loss) -> None:
    """From the optimal θ, which the terms of the loss share between them, the first iterate is optimal."""
    problem = Recipe(40, 6, intercept=False).build(loss, penalties.L2())
    best = run(problem, DualCoordinateAscent(), 1e-10).bounds
    first = next(iter(DualCoordinateAscent().iterates(problem, Iterate(best.w, best.theta))))
    assert problem.primal(first.w) == pytest.approx(best.primal, rel=1e-8)


def test_reasons_for_refusing() -> None:
    exponential = Recipe().build(losses.Exponential(), penalties.L2())
    lasso = Recipe().build(losses.Hinge(), penalties.L1())
    many = Recipe(free=9).build(losses.Hinge(), penalties.L2())
    assert DualCoordinateAscent().missing(exponential) == (
        "the loss is neither piecewise quadratic nor logistic",
    )
    assert DualCoordinateAscent().missing(lasso) == ("the penalty is not l2",)
    assert DualCoordinateAscent().missing(many) == ("more than 4 columns are free",)
    assert not DualCoordinateAscent().missing(Recipe().build(losses.Absolute(), penalties.L2()))


def _classes(noise: float) -> tuple[Matrix, Vector]:
    rng = np.random.default_rng(7)
    X = rng.normal(size=(900, 250))
    X[:, 0] *= 1.0 if noise else 30.0  # one column that tells the classes apart
    return X, np.sign(X[:, 0] + noise * rng.normal(size=900))


def test_auto_attempts_what_may_be_easy() -> None:
    X, y = _classes(noise=0.0)
    found = dg.fit(X, y, loss="hinge", penalty="l2", C=1.0)
    assert found.converged
    assert found.solver == "dual_coordinate_ascent"


def test_an_attempt_that_fails_leaves_the_rest_to_others() -> None:
    X, y = _classes(noise=3.0)
    found = dg.fit(X, y, loss="hinge", penalty="l2", C=10.0)
    assert found.converged
    assert found.solver != "dual_coordinate_ascent"
