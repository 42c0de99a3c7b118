from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import dualgap as dg
from cases import LOSSES, vectors
from dualgap import losses, penalties
from dualgap.arrays import Matrix, Vector
from dualgap.design import Dense, Design, WithOnes
from dualgap.drive import memory
from dualgap.drive.solver import Iterate
from dualgap.losses import Loss
from dualgap.penalties import Constrained, Penalised, Penalty
from dualgap.problem.precondition import precondition
from dualgap.problem.problem import Problem
from dualgap.solvers.active_set import Finish
from dualgap.solvers.interior_point import InteriorPoint
from dualgap.solvers.interior_point.boxes import Boxes
from dualgap.solvers.interior_point.extension import ColumnBeside, Equations, RowBelow
from dualgap.solvers.interior_point.system import Tall, Wide
from dualgap.traits import Trait
from random_problems import Recipe, relative_gap, run

EVERY = [loss for loss in LOSSES if type(loss)() == loss]


def _smooth(loss: Loss) -> bool:
    """Has it no boxes for the method?"""
    return Trait.PIECEWISE_QUADRATIC not in loss.traits


PENALTIES: list[Penalty] = [
    penalties.L1(),
    penalties.L2(),
    penalties.ElasticNet(0.5),
    penalties.Linf(),
]
RECIPES = {
    "tall": Recipe(90, 8),
    "weighted": Recipe(90, 8, intercept=False, weighted=True, share=0.001),
    "wide": Recipe(25, 60, share=0.02),
    "square": Recipe(30, 30, intercept=False, share=0.01),
    "sparse": Recipe(80, 30, kind="sparse"),
    "integer": Recipe(60, 6, kind="integer"),
    "duplicate": Recipe(40, 12, kind="duplicate"),
    "slight": Recipe(60, 6, share=1e-5),
    "pair": Recipe(2, 3),
}


@pytest.mark.parametrize("name", RECIPES)
@pytest.mark.parametrize("penalty", PENALTIES, ids=str)
@pytest.mark.parametrize("loss", EVERY, ids=str)
def test_penalised(loss: Loss, penalty: Penalty, name: str) -> None:
    problem = RECIPES[name].build(loss, penalty)
    assert relative_gap(problem, run(problem, InteriorPoint())) <= 1e-9


NORMS: list[Penalty] = [penalties.L2Norm(), penalties.Lp(2.5), penalties.Lp(3.0), penalties.Lp(6.0)]


@pytest.mark.parametrize("name", RECIPES)
@pytest.mark.parametrize("penalty", NORMS, ids=str)
@pytest.mark.parametrize("loss", [loss for loss in EVERY if not _smooth(loss)], ids=str)
def test_norms_smooth_but_at_zero(loss: Loss, penalty: Penalty, name: str) -> None:
    problem = RECIPES[name].build(loss, penalty)
    assert relative_gap(problem, run(problem, InteriorPoint(), 1e-6)) <= 1e-6


@pytest.mark.parametrize("name", RECIPES)
@pytest.mark.parametrize("penalty", NORMS, ids=str)
@pytest.mark.parametrize("loss", EVERY, ids=str)
def test_balls_of_norms(loss: Loss, penalty: Penalty, name: str) -> None:
    recipe = RECIPES[name]
    problem = recipe.build(loss, penalty)
    gauge = problem.regulariser.gauge
    problem = problem.with_regulariser(Constrained(gauge, 0.3))
    assert relative_gap(problem, run(problem, InteriorPoint(), 1e-7)) <= 1e-7


@pytest.mark.parametrize("recipe", [Recipe(120, 6), Recipe(120, 6, intercept=False, weighted=True)], ids=str)
@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_without_a_penalty(loss: Loss, recipe: Recipe) -> None:
    problem = recipe.build(loss, penalties.Unpenalised())
    assert relative_gap(problem, run(problem, InteriorPoint())) <= 1e-9


@pytest.mark.parametrize("recipe", [Recipe(90, 8), Recipe(25, 60), Recipe(50, 20, kind="sparse")], ids=str)
@pytest.mark.parametrize("penalty", [*PENALTIES, penalties.L2Norm()], ids=str)
@pytest.mark.parametrize("loss", EVERY, ids=str)
def test_constrained(loss: Loss, penalty: Penalty, recipe: Recipe) -> None:
    problem = recipe.build(loss, penalty)
    for radius in (0.01, 0.3, 2.0):
        inside = problem.with_regulariser(Constrained(problem.regulariser.gauge, radius))
        outcome = run(inside, InteriorPoint())
        assert relative_gap(inside, outcome) <= 1e-9
        assert inside.regulariser.gauge.value(outcome.bounds.w) <= radius


@pytest.mark.parametrize("shape", [(50, 10), (12, 40)], ids=str)
@pytest.mark.parametrize("loss", [losses.Absolute(), losses.Huber(0.5), losses.Hinge()], ids=str)
def test_columns_without_a_price(loss: Loss, shape: tuple[int, int]) -> None:
    problem = Recipe(*shape, free=3).build(loss, penalties.ElasticNet(0.1))
    assert relative_gap(problem, run(problem, InteriorPoint())) <= 1e-9


@pytest.mark.parametrize("penalty", PENALTIES, ids=str)
@pytest.mark.parametrize("loss", [losses.Absolute(), losses.Squared(), losses.Logistic()], ids=str)
def test_a_fit_without_error_is_proven_by_the_bound_zero(loss: Loss, penalty: Penalty) -> None:
    problem = Recipe(10, 40).build(loss, penalty)
    loose = problem.with_regulariser(Constrained(problem.regulariser.gauge, 1e3))
    outcome = run(loose, InteriorPoint())
    assert outcome.bounds.primal <= 1e-9 * problem.null
    assert relative_gap(loose, outcome) <= 1e-6


@pytest.mark.parametrize("seed", range(6))
def test_rows_of_very_different_weight_do_not_make_it_run_in_circles(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = rng.integers(-2, 3, (80, 7)).astype(float)
    y, a = X @ [1.0, 0.0, -2.0, 0.0, 0.0, 3.0, 0.0], np.exp(4.0 * rng.normal(size=80))
    gauge = penalties.ElasticNet(0.5).gauge(np.ones(7), np.ones(7))
    problem = Problem(Dense(X), y, a / a.sum(), losses.Huber(0.7), Penalised(gauge, 1e-6), False)
    assert relative_gap(problem, run(problem, InteriorPoint())) <= 1e-9


@pytest.mark.parametrize("radius", [1e2, 1e5, 1e8])
@pytest.mark.parametrize("penalty", PENALTIES, ids=str)
def test_an_overflow_is_an_end_and_not_an_error(penalty: Penalty, radius: float) -> None:
    base = Recipe(40, 72, kind="collinear").build(losses.Exponential(), penalty)
    problem = base.with_regulariser(Constrained(base.regulariser.gauge, radius))
    outcome = run(problem, InteriorPoint())
    # which is not rounded up
    assert outcome.bounds.dual <= outcome.bounds.primal <= problem.null * (1 + 1e-12)


AIR_WATER_ACID_LOSS = """80 27 89 42  80 27 88 37  75 25 90 37  62 24 87 28  62 22 87 18  62 23 87 18
62 24 93 19  62 24 93 20  58 23 87 15  58 18 80 14  58 18 89 14  58 17 88 13  58 18 82 11  58 19 93 12
50 18 89 8  50 18 86 7  50 19 72 8  50 19 79 8  50 20 80 9  56 20 82 15  70 20 91 15"""


def test_the_stack_loss_plant() -> None:
    rows = np.array(AIR_WATER_ACID_LOSS.split(), dtype=float).reshape(-1, 4)
    gauge = penalties.Unpenalised().gauge(np.ones(3), np.ones(3)).extended()
    X, a = WithOnes(Dense(np.ascontiguousarray(rows[:, :3]))), np.full(21, 1.0 / 21)
    problem = Problem(X, rows[:, 3], a, losses.Absolute(), Penalised(gauge, 1.0), True)
    found = run(problem, InteriorPoint(), 1e-10).bounds.w
    assert found == pytest.approx([0.831884058, 0.573913043, -0.060869565, -39.689855072], abs=1e-9)


def test_it_says_what_it_cannot_do() -> None:
    problem = Recipe().build(losses.Absolute(), penalties.Lp(1.5))
    assert InteriorPoint().missing(problem) == (
        "the penalty is neither separable nor of groups nor a norm of order two or more",
    )
    smooth = Recipe().build(losses.Logistic(), penalties.L2Norm())
    assert InteriorPoint().missing(smooth) == ("neither the loss nor the penalty has an edge",)
    assert InteriorPoint().missing(Recipe().build(losses.Absolute(), penalties.L1())) == ()
    point = problem.with_regulariser(Constrained(penalties.L1().gauge(np.ones(13), np.ones(13)), 0.0))
    assert InteriorPoint().missing(point) == ("the ball has no inside",)


class _Huge:
    shape = (40_000, 30_000)


def test_it_refuses_systems_that_do_not_fit_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = Recipe().build(losses.Absolute(), penalties.L1())
    huge = dataclasses.replace(problem, design=_Huge())  # type: ignore[arg-type]
    monkeypatch.setattr(memory, "free_bytes", lambda: 20 << 30)
    assert InteriorPoint().missing(huge) == (
        "needs 30.2 GiB for dense 30000×30000 systems, 20.0 GiB are free",
    )


FINISHED: list[tuple[Loss, Penalty]] = [
    (losses.Absolute(), penalties.L1()),
    (losses.Absolute(), penalties.L2()),
    (losses.Hinge(), penalties.ElasticNet(0.5)),
    (losses.EpsilonInsensitive(0.2), penalties.L1()),
    (losses.Squared(), penalties.L1()),
    (losses.Huber(0.5), penalties.ElasticNet(0.5)),
    (losses.SquaredHinge(), penalties.L2()),
    (losses.SquaredEpsilonInsensitive(0.2), penalties.L1()),
]


@pytest.mark.parametrize("recipe", [Recipe(80, 10), Recipe(20, 50)], ids=str)
@pytest.mark.parametrize(("loss", "penalty"), FINISHED, ids=str)
def test_the_active_set_finishes_what_is_nearly_done(loss: Loss, penalty: Penalty, recipe: Recipe) -> None:
    problem = precondition(recipe.build(loss, penalty)).problem
    near = run(problem, InteriorPoint(), 1e-9).bounds
    rng = np.random.default_rng(0)
    theta = near.theta * (1.0 + 1e-7 * rng.normal(size=problem.n))
    found = Finish(problem)(near.w * (1.0 + 1e-7 * rng.normal(size=problem.p)), theta)
    assert found is not None and found.theta is not None
    point, v = problem.feasible(found.theta)
    gap = problem.primal(found.w) - problem.dual(point, v)
    assert problem.relative(gap, problem.primal(found.w)) <= 1e-12


def test_the_same_guess_is_not_tried_twice() -> None:
    problem = precondition(Recipe().build(losses.Absolute(), penalties.L1())).problem
    best = run(problem, InteriorPoint()).bounds
    attempt = Finish(problem)
    assert attempt(best.w, best.theta) is not None
    assert attempt(best.w, best.theta) is None


def test_there_is_no_finish_for_curved_losses_or_balls() -> None:
    curved = Recipe().build(losses.Logistic(), penalties.L1())
    sharp = Recipe().build(losses.Absolute(), penalties.L1())
    ball = sharp.with_regulariser(Constrained(sharp.regulariser.gauge, 1.0))
    for problem in (curved, ball):
        assert Finish(problem)(problem.null_weights, problem.null_dual) is None


def test_iterates_come_with_their_prediction() -> None:
    problem = precondition(Recipe().build(losses.Hinge(), penalties.Linf())).problem
    for iterate in InteriorPoint().iterates(problem, Iterate(problem.null_weights)):
        assert iterate.prediction is not None
        assert np.allclose(iterate.prediction, problem.design.matvec(iterate.w))


@given(vectors(6), vectors(6), st.floats(-6.0, 2.0), st.sampled_from(["both", "above", "below", "neither"]))
def test_boxes_start_inside_with_equal_products(z: Vector, kink: Vector, scale: float, sides: str) -> None:
    mu, far = 10.0**scale, np.full(6, np.inf)
    lower = -far if sides in ("above", "neither") else np.full(6, -0.5)
    upper = far if sides in ("below", "neither") else np.full(6, 2.0)
    boxes = Boxes(kink, lower, upper, 0.0 if sides == "both" else 0.3)
    slack, price = boxes.start(z, mu)
    assert np.all(slack > 0) and np.all(price > 0) and np.allclose(slack * price, mu)
    boxes.bind(slack, price)
    boxes.linearise(z)
    assert np.allclose(boxes.offset(np.zeros(boxes.count)), 0.0, atol=1e-6 * (1.0 + np.abs(z - kink)))


def _matrix(n: int, p: int) -> Matrix:
    return np.random.default_rng(n + p).normal(size=(n, p))


@pytest.mark.parametrize("shape", [(7, 3), (3, 7)])
def test_a_row_below_and_a_column_beside(shape: tuple[int, int]) -> None:
    X, rng = _matrix(*shape), np.random.default_rng(0)
    row, column = rng.normal(size=shape[1]), rng.normal(size=shape[0])
    for extended, whole in (
        (RowBelow(Dense(X), row), np.vstack([X, row])),
        (ColumnBeside(Dense(X), column), np.column_stack([X, column])),
    ):
        n, p = whole.shape
        w, d = rng.uniform(0.1, 2.0, (2, p))
        theta, h = rng.uniform(0.1, 2.0, (2, n))
        assert extended.shape == (n, p)
        assert np.allclose(extended.matvec(w), whole @ w)
        assert np.allclose(extended.transpose_matvec(theta), whole.T @ theta)
        assert np.allclose(extended.weighted_gram(h), (whole.T * h) @ whole)
        assert np.allclose(extended.weighted_outer(d), (whole * d) @ whole.T)


@pytest.mark.parametrize("shape", [(9, 4), (4, 9), (5, 5)])
@pytest.mark.parametrize("refined", [False, True])
def test_both_ways_to_eliminate_solve_the_same_equations(shape: tuple[int, int], refined: bool) -> None:
    (n, p), rng = shape, np.random.default_rng(1)
    X: Design = Dense(_matrix(n, p))
    free = np.arange(p) == p - 1
    h, diagonal = rng.uniform(0.1, 5.0, n), np.where(free, 0.0, rng.uniform(0.1, 5.0, p))
    k, rho = rng.normal(size=n), rng.normal(size=p)
    for system in (Tall(), Wide(X, free)):
        system.factorise(Equations(X, h, diagonal))
        delta, dw = system.solve(k, rho, refined)
        assert np.allclose(X.matvec(dw) - delta / h, k)
        assert np.allclose(X.transpose_matvec(delta) + diagonal * dw, rho)


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("penalty", PENALTIES, ids=str)
def test_sparse_rows_that_weights_in_the_ball_fit(penalty: Penalty, intercept: bool) -> None:
    """By products alone, where a dense factor is to be spared; a ball that is too small is no obstacle."""
    rng = np.random.default_rng(5)
    X = sp.random_array((400, 1200), density=0.005, format="csr", rng=rng)
    y = X @ rng.normal(size=1200) + 3.0 * intercept
    fits = [
        dg.fit(X, y, loss="absolute", penalty=penalty, budget=budget, fit_intercept=intercept)
        for budget in (3000.0, 0.01)
    ]
    assert all(s.converged for s in fits)
    assert fits[0].objective <= 1e-9 < fits[1].objective


@pytest.mark.parametrize("penalty", ["l2", "linf", "lp(3)"])
def test_rows_fitted_within_a_ball_lose_nothing_at_all(penalty: str) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 60)), np.where(rng.normal(size=40) > 0.0, 1.0, -1.0)
    found = dg.fit(X, y, loss="hinge", penalty=penalty, budget=3.0)
    assert found.objective == 0.0
