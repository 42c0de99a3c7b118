from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp

from cases import FORMS, LOSSES
from dualgap import losses, penalties
from dualgap.arrays import Mask, Matrix, Vector
from dualgap.design import Compressed, Dense, Design
from dualgap.drive import memory
from dualgap.drive.limits import Limits, Status
from dualgap.drive.run import drive
from dualgap.drive.solver import Iterate
from dualgap.losses import Loss
from dualgap.penalties import Constrained, Gauge, Penalised, Penalty
from dualgap.penalties.base import BlockSum
from dualgap.penalties.norm import Norm
from dualgap.problem.certificate import bounds
from dualgap.problem.precondition import precondition
from dualgap.problem.problem import Problem
from dualgap.solvers import augmented_lagrangian
from dualgap.solvers.augmented_lagrangian import AugmentedLagrangian, scope
from dualgap.solvers.augmented_lagrangian.lagrangian import begin
from dualgap.solvers.augmented_lagrangian.rows import KinkedLoss, SmoothLoss, rows_of
from dualgap.solvers.augmented_lagrangian.scope import Scope
from dualgap.solvers.augmented_lagrangian.system import Grams, NewtonSystem
from dualgap.solvers.augmented_lagrangian.weights import QuadraticWeights, SplitWeights, WeightCurve
from dualgap.solvers.sampling import worth
from exact.arithmetic import solve_square
from random_problems import Recipe, relative_gap, run

PENALTIES: dict[str, Penalty] = {
    "l1": penalties.L1(),
    "l2": penalties.L2(),
    "l2_norm": penalties.L2Norm(),
    "elastic_net": penalties.ElasticNet(0.5),
    "linf": penalties.Linf(),
    "lp(1.2)": penalties.Lp(1.2),
    "lp(1.5)": penalties.Lp(1.5),
    "lp(3)": penalties.Lp(3.0),
    "lp(4)": penalties.Lp(4.0),
}
RECIPES = {
    "tall": Recipe(80, 6),
    "wide": Recipe(25, 40, weighted=True, intercept=False, share=0.2),
    "sparse": Recipe(60, 20, kind="sparse", weighted=True),
    "integer": Recipe(50, 8, kind="integer", share=0.03),
    "duplicate": Recipe(30, 12, kind="duplicate", share=0.05),
    "collinear": Recipe(20, 30, kind="collinear", weighted=True),
    "scaled": Recipe(40, 10, kind="scaled", share=1e-3),
}


def build(recipe: Recipe, loss: Loss, penalty: Penalty, form: str) -> Problem:
    """The penalised problem, or the ball with half the penalty of a ridge fit."""
    problem = recipe.build(loss, penalty)
    if form == "penalised":
        gauge = problem.regulariser.gauge
        at_zero = gauge.smallest_strength_at_zero(problem.design.transpose_matvec(problem.null_dual))
        strength = recipe.share * at_zero if 0.0 < at_zero < np.inf else recipe.share
        return problem.with_regulariser(Penalised(gauge, strength))
    ridge = recipe.build(losses.Squared(), penalties.L2())
    w = run(ridge, AugmentedLagrangian(), 1e-3).bounds.w
    return problem.with_regulariser(
        Constrained(problem.regulariser.gauge, 0.5 * problem.regulariser.gauge.value(w))
    )


@pytest.mark.parametrize("name", RECIPES)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("penalty", PENALTIES)
def test_every_penalty_is_certified(penalty: str, form: str, name: str) -> None:
    """One loss of each kind: quadratic, kinked, smooth, and two that flatten."""
    for loss in (
        losses.Squared(),
        losses.Hinge(),
        losses.Logistic(),
        losses.Quantile(0.8),
        losses.Huber(0.7),
    ):
        problem = build(RECIPES[name], loss, PENALTIES[penalty], form)
        outcome = run(problem, AugmentedLagrangian(), 1e-8)
        assert relative_gap(problem, outcome) <= 1e-8, str(loss)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_every_loss_is_certified(loss: Loss, form: str) -> None:
    for name in ("tall", "wide"):
        for penalty in (penalties.L2Norm(), penalties.Lp(1.5), penalties.L2()):
            problem = build(RECIPES[name], loss, penalty, form)
            assert relative_gap(problem, run(problem, AugmentedLagrangian(), 1e-8)) <= 1e-8, (
                f"{name} {penalty}"
            )


@pytest.mark.parametrize("loss", [losses.Absolute(), losses.Huber(0.1), losses.Squared()], ids=str)
@pytest.mark.parametrize("recipe", [Recipe(80, 6), Recipe(30, 12, kind="duplicate")], ids=str)
def test_no_penalty(recipe: Recipe, loss: Loss) -> None:
    problem = recipe.build(loss, penalties.Unpenalised())
    assert relative_gap(problem, run(problem, AugmentedLagrangian(), 1e-7)) <= 1e-7


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("penalty", ["l1", "l2_norm", "linf", "lp(1.5)", "lp(4)"])
@pytest.mark.parametrize("loss", [losses.Hinge(), losses.Squared(), losses.Logistic()], ids=str)
def test_columns_of_every_size(loss: Loss, penalty: str, form: str) -> None:
    """Some weights are next to free, others next to forbidden.

    In a ball 1e±4, since its bound is radius·‖Xᵀθ‖: with 1e±6 the rounding of Xᵀθ alone is a gap of 1e-6.
    """
    rng = np.random.default_rng(3)
    decades = 6.0 if form == "penalised" else 4.0
    array = rng.normal(size=(50, 9)) * 10.0 ** rng.uniform(-decades, decades, 9)
    y = array @ (rng.normal(size=9) / array.std(axis=0)) + rng.normal(size=50)
    if loss != losses.Squared():
        y = np.sign(y)
    gauge = PENALTIES[penalty].gauge(np.ones(9), np.ones(9))
    amount = 0.3 * gauge.value(1.0 / array.std(axis=0))
    if form == "penalised":
        amount = 0.05 * gauge.smallest_strength_at_zero(array.T @ y / 50)
    regulariser = Penalised(gauge, amount) if form == "penalised" else Constrained(gauge, amount)
    problem = Problem(Dense(array), y, np.full(50, 0.02), loss, regulariser, False)
    assert relative_gap(problem, run(problem, AugmentedLagrangian(), 1e-6)) <= 1e-6


@pytest.mark.parametrize("delta", [1e-9, 1e-4, 1e-2])
@pytest.mark.parametrize("name", ["tall", "wide"])
def test_huber_with_a_zone_far_narrower_than_the_errors(name: str, delta: float) -> None:
    problem = build(RECIPES[name], losses.Huber(delta), penalties.L2Norm(), "penalised")
    working = precondition(problem).problem
    rows = rows_of(working, working.design.matvec(working.null_weights), None)
    assert isinstance(rows, KinkedLoss)
    assert relative_gap(problem, run(problem, AugmentedLagrangian(), 1e-8)) <= 1e-8


@pytest.mark.parametrize("penalty", ["l2_norm", "lp(3)", "l1"])
@pytest.mark.parametrize("loss", [losses.Logistic(), losses.Exponential(), losses.Hinge()], ids=str)
def test_separable_classes_in_a_ball_that_hardly_binds(loss: Loss, penalty: str) -> None:
    """The loss flattens by many orders on the way, and the optimum is all but zero."""
    rng = np.random.default_rng(1)
    array = rng.normal(size=(20, 40))
    gauge = PENALTIES[penalty].gauge(np.ones(40), np.ones(40))
    ball = Constrained(gauge, 1e4 * gauge.value(np.ones(40)))
    problem = Problem(Dense(array), np.sign(array[:, 0]), np.full(20, 0.05), loss, ball, False)
    assert relative_gap(problem, run(problem, AugmentedLagrangian(), 1e-6)) <= 1e-6


@pytest.mark.parametrize("rows", [1, 2, 3])
@pytest.mark.parametrize(
    "loss", [losses.Absolute(), losses.Squared(), losses.EpsilonInsensitive(0.1)], ids=str
)
def test_few_rows(rows: int, loss: Loss) -> None:
    for form in FORMS:
        problem = build(Recipe(rows, 4, seed=2), loss, penalties.L2Norm(), form)
        assert relative_gap(problem, run(problem, AugmentedLagrangian(), 1e-8)) <= 1e-8


def test_closed_form_of_the_shrunken_mean() -> None:
    """min Σ (w − y)²/n + λ|w| on one column of ones: w = mean − λ/2."""
    y = np.array([1.0, 2.0, 6.0])
    regulariser = Penalised(Norm(2.0, np.ones(1)), 0.8)
    problem = Problem(Dense(np.ones((3, 1))), y, np.full(3, 1 / 3), losses.Squared(), regulariser, False)
    outcome = run(problem, AugmentedLagrangian(), 1e-12)
    np.testing.assert_allclose(outcome.bounds.w, [2.6], rtol=1e-9)


def test_lasso_has_exact_zeros() -> None:
    problem = build(Recipe(60, 12, share=0.3), losses.Absolute(), penalties.L1(), "penalised")
    weights = run(problem, AugmentedLagrangian(), 1e-9).bounds.w[:-1]
    assert 0 < np.count_nonzero(weights == 0.0) < 12


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("loss", [losses.Hinge(), losses.Logistic()], ids=str)
def test_a_start_next_to_the_answer_saves_steps(loss: Loss, form: str) -> None:
    problem = build(Recipe(120, 10), loss, penalties.Lp(1.5), form)
    done = run(problem, AugmentedLagrangian(), 1e-9)
    cold = run(problem, AugmentedLagrangian(), 1e-7)
    working = precondition(problem)
    near = working.coordinates(done.bounds.w) * (1 + 1e-6)
    start = Iterate(near, working.working_theta(done.bounds.theta) * (1 - 1e-6))
    warm = drive(working, lambda: [AugmentedLagrangian()], start, Limits(1e-7))
    assert warm.status is Status.CERTIFIED and warm.iterations < cold.iterations


def test_iterates_end_when_nothing_more_is_to_be_had() -> None:
    problem = precondition(build(RECIPES["tall"], losses.Hinge(), penalties.L2Norm(), "penalised")).problem
    seen = list(AugmentedLagrangian().iterates(problem, Iterate(problem.null_weights)))
    assert len(seen) < 500
    final = bounds(problem, seen[-1].w, seen[-1].theta, seen[-1].prediction)
    assert problem.relative(final.gap, final.primal) <= 1e-9


@pytest.fixture
def keen(monkeypatch: pytest.MonkeyPatch) -> None:
    """RowLosses rest, and samples are drawn, however small the problem is."""
    monkeypatch.setattr(scope, "SMALL", 0)
    monkeypatch.setattr(scope, "WATCHED", 1)
    monkeypatch.setattr(augmented_lagrangian, "SMALL", 0)


ROUGH = (losses.Hinge(), losses.Absolute(), losses.EpsilonInsensitive(0.1), losses.Huber(0.05))


@pytest.mark.parametrize("penalty", ["l1", "l2", "l2_norm", "linf"])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("loss", ROUGH, ids=str)
@pytest.mark.usefixtures("keen")
def test_rows_at_rest_change_nothing_in_the_answer(loss: Loss, form: str, penalty: str) -> None:
    problem = build(Recipe(600, 6, weighted=True), loss, PENALTIES[penalty], form)
    assert worth(problem)
    found = run(problem, AugmentedLagrangian(), 1e-8)
    assert found.status is Status.CERTIFIED


@pytest.mark.parametrize(("loss", "rounds"), list(zip(ROUGH[:3], (3, 3, 5), strict=True)), ids=str)
@pytest.mark.usefixtures("keen")
def test_a_scope_narrowed_and_widened_is_the_same_round(loss: Loss, rounds: int) -> None:
    problem = precondition(build(Recipe(400, 6), loss, penalties.L2Norm(), "penalised")).problem
    whole = Scope(*begin(problem, Iterate(problem.null_weights)))
    for _ in range(rounds):
        *_, (whole, _, _) = whole.walk(40)
        whole = whole.moved(3.0)
    inner = whole.narrowed()
    assert not inner.whole and inner.live is not None and 0 < len(inner.live) <= 0.5 * problem.n
    np.testing.assert_allclose(
        inner.lagrangian.gradient(inner.point), whole.lagrangian.gradient(whole.point), atol=1e-14
    )
    ahead, steps, _ = inner.end(40)
    wide = ahead.widened()
    afresh = wide.lagrangian.at(wide.point.w, problem.predict(wide.point.w))
    assert steps > 0
    np.testing.assert_allclose(wide.point.pull, afresh.pull, atol=1e-12)
    np.testing.assert_allclose(wide.point.rows.slope, afresh.rows.slope, atol=1e-14)


@pytest.mark.usefixtures("keen")
def test_a_walk_ends_at_its_fence() -> None:
    problem = precondition(build(Recipe(400, 6), losses.Absolute(), penalties.L2(), "penalised")).problem
    whole = Scope(*begin(problem, Iterate(problem.null_weights)))
    assert list(whole.walk(1))
    fenced = Scope(whole.lagrangian, whole.point, fences=((whole.point.z, 1e-9),))
    assert fenced.end(10) == (fenced, 0, False)


def test_a_gram_matrix_is_kept_and_given_out_as_a_copy() -> None:
    design, h = Dense(np.arange(6.0).reshape(3, 2)), np.array([1.0, 2.0, 0.5])
    grams = Grams()
    grams.of(design, h)[...] = 0.0
    np.testing.assert_array_equal(grams.of(design, h.copy()), design.weighted_gram(h))
    np.testing.assert_allclose(grams.of(design, 2.0 * h), 2.0 * design.weighted_gram(h), rtol=1e-14)


def test_refuses_what_is_not_convex_or_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = build(RECIPES["tall"], losses.Hinge(), penalties.L2Norm(), "penalised")
    assert AugmentedLagrangian().missing(problem) == ()
    monkeypatch.setattr(memory, "free_bytes", lambda: 100)
    monkeypatch.setattr(memory, "LITTLE", 0)
    (reason,) = AugmentedLagrangian().missing(problem)
    assert "GiB" in reason and "7×7" in reason


def test_quadratic_and_smooth_parts_are_not_split() -> None:
    ridge = precondition(build(RECIPES["tall"], losses.Logistic(), penalties.L2(), "penalised")).problem
    lagrangian, _ = begin(ridge, Iterate(ridge.null_weights))
    assert isinstance(lagrangian.rows, SmoothLoss) and isinstance(lagrangian.weights, QuadraticWeights)
    ball = precondition(build(RECIPES["tall"], losses.Hinge(), penalties.L2(), "constrained")).problem
    lagrangian, _ = begin(ball, Iterate(ball.null_weights))
    assert isinstance(lagrangian.rows, KinkedLoss) and isinstance(lagrangian.weights, SplitWeights)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("rows", [0, 3, 7, 40])
@pytest.mark.parametrize("shape", ["none", "ball", "norm", "soft_ball", "soft_norm", "groups", "groups_ball"])
def test_newton_systems_by_rows_and_by_columns(shape: str, rows: int, sparse: bool) -> None:
    rng = np.random.default_rng(4)
    array = rng.normal(size=(40, 9))
    design: Design = Compressed(sp.csr_array(array)) if sparse else Dense(array)
    curvature = np.where(np.arange(40) < rows, rng.uniform(0.1, 3.0, 40), 0.0)
    free: Mask = np.arange(9) == 8
    delta, rank_one, blocks = _second_derivative(shape, rng)
    eta = 1e-9 if rows >= 7 else 1e-3  # so faint only where the rows hold the soft coordinates
    right = rng.normal(size=9)
    curve = WeightCurve(right, delta, rank_one, blocks, right)
    rest = np.diag(delta) + np.array([curve.times(axis) - delta * axis for axis in np.eye(9)])
    found = NewtonSystem(design, curvature, curve, eta).solve(right, free)
    expected = _solved_exactly(array, curvature, rest, eta, right)
    np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-7 * np.abs(expected).max())


def _solved_exactly(array: Matrix, curvature: Vector, rest: Matrix, eta: float, right: Vector) -> Vector:
    """(Xᵀ diag(h) X + rest + η) x = right. Doubles lose six digits of it where coordinates are faint."""
    X = [[Fraction(value) for value in line] for line in array.tolist()]
    h = [Fraction(value) for value in curvature.tolist()]
    size = range(len(right))
    matrix = [
        [sum(a * row[i] * row[j] for a, row in zip(h, X, strict=True) if a) for j in size] for i in size
    ]
    for i in size:
        matrix[i] = [value + Fraction(rest[i, j]) for j, value in enumerate(matrix[i])]
        matrix[i][i] += Fraction(eta)
    found = solve_square(matrix, [Fraction(value) for value in right.tolist()], Fraction(0))
    return np.array([float(value) for value in found])


def _second_derivative(shape: str, rng: np.random.Generator) -> tuple[Vector, Vector | None, BlockSum | None]:
    """Of a norm (singular along the point), of a ball, or of neither; soft: zero in some coordinates."""
    point = rng.normal(size=9)
    if shape == "none":
        return np.append(np.ones(8), 0.0), None, None
    gauges: dict[str, Gauge] = {
        "ball": Norm(1.5, np.ones(8)),
        "norm": Norm(1.5, np.ones(8)),
        "soft_ball": penalties.L1().gauge(np.ones(8), np.ones(8)),
        "soft_norm": penalties.Linf().gauge(np.ones(8), np.ones(8)),
        "groups": penalties.GroupLasso(parts=(0, 0, 1, 1, 1, 2, 2, 2)).gauge(
            np.ones(8), np.linspace(1, 2, 8)
        ),
        "groups_ball": penalties.SparseGroup(0.3, parts=(0, 0, 1, 1, 1, 2, 2, 2)).gauge(
            np.ones(8), np.ones(8)
        ),
    }
    gauge = gauges[shape].extended()
    regulariser = Constrained(gauge, 0.5) if shape.endswith("ball") else Penalised(gauge, 0.5)
    half = regulariser.dual_prox(point, 2.0)
    assert half.rank_one is not None or half.blocks is not None
    assert shape.startswith("soft") == bool(np.any(half.diagonal[:-1] == 0.0))
    rank_one = None if half.rank_one is None else np.sqrt(1e3) * half.rank_one
    return 1e3 * half.diagonal, rank_one, None if half.blocks is None else half.blocks.over(1e3)
