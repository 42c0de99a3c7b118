from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import dualgap as dg
from dualgap import losses, penalties
from dualgap.design import Compressed
from dualgap.drive.solver import Iterate
from dualgap.losses import Loss
from dualgap.penalties import Penalised, Penalty
from dualgap.penalties.separable import Separable
from dualgap.problem.precondition import precondition
from dualgap.problem.problem import Problem
from dualgap.solvers.lasso.coordinate_descent import CoordinateDescent
from dualgap.solvers.lasso.priced_point import PricedPoint
from random_problems import Recipe, relative_gap, run

SMOOTH: list[Loss] = [
    losses.Squared(),
    losses.Logistic(),
    losses.Huber(0.5),
    losses.SquaredHinge(),
    losses.SquaredEpsilonInsensitive(0.3),
    losses.Exponential(),
]
RECIPES = {
    "tall": Recipe(150, 8),
    "wide": Recipe(40, 90, weighted=True, share=0.05),
    "slight": Recipe(50, 50, share=1e-3, intercept=False),
    "integer": Recipe(60, 40, kind="integer", share=0.01),
    "duplicate": Recipe(60, 80, kind="duplicate", share=0.01),
    "collinear": Recipe(40, 80, kind="collinear", share=1e-3),
    "scaled": Recipe(40, 60, kind="scaled", share=0.01),
    "free": Recipe(60, 30, free=2),
    "sparse": Recipe(120, 200, kind="sparse", share=0.05),
}
PENALTIES: list[Penalty] = [penalties.L1(), penalties.ElasticNet(0.5)]


@pytest.mark.parametrize("penalty", PENALTIES, ids=str)
@pytest.mark.parametrize("name", RECIPES)
@pytest.mark.parametrize("loss", SMOOTH, ids=str)
def test_smooth_losses_with_an_l1_part(loss: Loss, name: str, penalty: Penalty) -> None:
    problem = RECIPES[name].build(loss, penalty)
    assert relative_gap(problem, run(problem, CoordinateDescent())) <= 1e-9


@pytest.mark.parametrize("loss", [losses.Squared(), losses.Logistic(), losses.Huber(0.5)], ids=str)
def test_a_price_a_ridge_both_or_neither(loss: Loss) -> None:
    problem = Recipe(80, 40, weighted=True).build(loss, penalties.ElasticNet(0.5))
    assert isinstance(problem.regulariser, Penalised) and isinstance(problem.regulariser.gauge, Separable)
    l1, l2 = problem.regulariser.gauge.l1.copy(), problem.regulariser.gauge.l2.copy()
    l1[::3] = 0.0
    l2[1::3] = 0.0
    l2[:6:3] = 0.0
    mixed = Penalised(Separable(l1, l2), problem.regulariser.strength)
    problem = problem.with_regulariser(mixed)
    assert relative_gap(problem, run(problem, CoordinateDescent())) <= 1e-9


def test_support_nearly_as_large_as_the_rows() -> None:
    problem = Recipe(100, 400, kind="sparse", share=1e-3).build(losses.Squared(), penalties.L1())
    outcome = run(problem, CoordinateDescent())
    assert np.count_nonzero(outcome.bounds.w) > 70
    assert relative_gap(problem, outcome) <= 1e-9


@pytest.mark.parametrize("loss", [losses.Squared(), losses.SquaredHinge()])
@pytest.mark.parametrize("penalty", [penalties.L1(), penalties.ElasticNet(0.05)])
def test_more_columns_live_on_the_way_than_there_are_rows(loss: Loss, penalty: Penalty) -> None:
    problem = Recipe(100, 600, kind="sparse", share=1e-3).build(loss, penalty)
    assert relative_gap(problem, run(problem, CoordinateDescent(), 1e-6)) <= 1e-6


@given(
    seed=st.integers(0, 10**6),
    n=st.integers(2, 40),
    p=st.integers(1, 60),
    share=st.floats(1e-3, 0.9),
    kind=st.sampled_from(["normal", "integer", "duplicate", "sparse"]),
    intercept=st.booleans(),
)
def test_lasso_of_any_shape(seed: int, n: int, p: int, share: float, kind: str, intercept: bool) -> None:
    recipe = Recipe(n, p, kind=kind, share=share, intercept=intercept, seed=seed)
    problem = recipe.build(losses.Squared(), penalties.L1())
    assert relative_gap(problem, run(problem, CoordinateDescent(), 1e-8)) <= 1e-8


def test_optimality_of_a_lasso() -> None:
    problem = Recipe(60, 100, intercept=False).build(losses.Squared(), penalties.L1())
    w = run(problem, CoordinateDescent(), 1e-12).bounds.w
    correlation = problem.design.transpose_matvec(problem.slope(problem.design.matvec(w)))
    strength = problem.regulariser.strength  # type: ignore[union-attr]
    np.testing.assert_allclose(correlation[w != 0], strength * np.sign(w[w != 0]), rtol=1e-9)
    assert np.abs(correlation).max() <= strength * (1 + 1e-9)


def test_dense_and_sparse_agree() -> None:
    sparse = Recipe(80, 120, kind="sparse", share=0.05).build(losses.Logistic(), penalties.L1())
    dense = Problem(
        type(sparse.design)(_dense(sparse)),  # type: ignore[call-arg]
        sparse.y,
        sparse.a,
        sparse.loss,
        sparse.regulariser,
        sparse.intercept,
    )
    values = [run(problem, CoordinateDescent(), 1e-14).bounds.w for problem in (sparse, dense)]
    np.testing.assert_allclose(values[0], values[1], atol=1e-8)


def _dense(problem: Problem) -> object:
    from dualgap.design import Dense, WithOnes

    assert isinstance(problem.design, WithOnes) and isinstance(problem.design.inner, Compressed)
    return Dense(problem.design.inner.toarray())


def test_warm_start_at_the_answer_takes_one_round() -> None:
    working = precondition(Recipe(60, 100).build(losses.Logistic(), penalties.L1()))
    answer = run(working.asked, CoordinateDescent(), 1e-12)
    start = Iterate(working.coordinates(answer.bounds.w))
    first = next(iter(CoordinateDescent().iterates(working.problem, start)))
    assert working.problem.primal(first.w) == pytest.approx(working.problem.primal(start.w), rel=1e-12)


def test_what_a_first_attempt_on_sparse_columns_leaves_is_solved_by_others() -> None:
    """Nearly as many live columns as rows, weak prices."""
    draw = np.random.default_rng(7)
    X = sp.random_array((400, 560), density=0.05, rng=draw, data_sampler=lambda size: draw.random(size) + 0.1)
    y = X[:, :20] @ draw.standard_normal(20) + draw.standard_normal(400)
    for share in (1e-2, 1e-4):
        lam = 2.0 * share * float(np.abs(X.T @ (y - y.mean())).max()) / len(y)
        fitted = dg.fit(sp.csr_array(X), y, loss="squared", penalty="l1", lam=lam)
        assert fitted.converged
        other = dg.fit(sp.csr_array(X), y, loss="squared", penalty="l1", lam=lam, solver="interior_point")
        assert fitted.objective == pytest.approx(other.objective, rel=3e-6)


def test_runs_are_reproducible() -> None:
    problem = Recipe(60, 90, kind="sparse").build(losses.Logistic(), penalties.L1())
    first, second = (run(problem, CoordinateDescent()).bounds.w for _ in range(2))
    np.testing.assert_array_equal(first, second)


def test_a_step_onto_a_kink_is_taken_in_full() -> None:
    problem = Recipe(40, 3, intercept=False, share=0.01).build(losses.Squared(), penalties.L1())
    point = PricedPoint(problem, np.array([0.0, 0.0, 1e-9]))
    which = np.array([2])
    change = np.array([-1e-9])
    along = problem.design.columns(which).matvec(change)
    point.price[2] = 1e6  # zero is the minimiser along this line, and the slope jumps there
    assert point.advance(which, change, along) == 1.0
    assert point.w[2] == 0.0


def test_reasons_for_refusing() -> None:
    hinge = Recipe().build(losses.Hinge(), penalties.L1())
    ridge = Recipe().build(losses.Squared(), penalties.L2())
    assert CoordinateDescent().missing(hinge) == ("the loss is not smooth",)
    assert CoordinateDescent().missing(ridge) == ("the penalty has no l1 part",)
    assert not CoordinateDescent().missing(Recipe(free=1).build(losses.Huber(), penalties.ElasticNet()))
