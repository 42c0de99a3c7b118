"""The judge itself: it finds exact optima, and false claims that were planted do not pass."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from exact.arithmetic import Echelon, as_rational, low_bit, rational, real, solve_semidefinite
from exact.judge import (
    Question,
    Verdict,
    judge_certificate,
    judge_consistency,
    judge_direction,
    judge_solution,
    total,
)
from exact.margins import hinge_statement, judge_plane, judge_square, separable, widest
from exact.model_files import checksum
from exact.optimum import null, optimum
from exact.statement import Statement, as_values, below, stated

PIECEWISE = (
    "squared",
    "absolute",
    "quantile(0.3)",
    "huber(0.7)",
    "epsilon_insensitive(0.2)",
    "squared_epsilon_insensitive(0.2)",
    "hinge",
    "squared_hinge",
    "perceptron",
)
ENDLESS = ("logistic", "exponential")
FORMS: tuple[dict[str, Any], ...] = (
    {"penalty": "none"},
    {"penalty": "l1", "lam": 0.1},
    {"penalty": "l2", "lam": 0.1},
    {"penalty": "elastic_net(0.5)", "C": 0.7},
    {"penalty": "linf", "lam": 0.1},
    {"penalty": "l2_norm", "lam": 0.1},
    {"penalty": "lp(1.5)", "lam": 0.1},
    {"penalty": "lp(3)", "lam": 0.1},
    {"penalty": "l1", "budget": 0.3},
    {"penalty": "l2", "budget": 0.1},
    {"penalty": "elastic_net(0.5)", "budget": 0.3},
    {"penalty": "linf", "budget": 0.2},
    {"penalty": "l2_norm", "budget": 0.3},
    {"penalty": "lp(3)", "budget": 0.3},
    {"penalty": "fused(1)", "lam": 0.1},
    {"penalty": "fused(1)", "budget": 0.3},
    {"penalty": "group_lasso", "lam": 0.1, "groups": (0, 0)},
    {"penalty": "sparse_group(0.3)", "lam": 0.1, "groups": (0, 0)},
    {"penalty": "group_lasso", "budget": 0.3, "groups": (0, 1)},
    {"penalty": "slope(0.5)", "lam": 0.1},
    {"penalty": "slope(0.5)", "budget": 0.3},
)


def data(loss: str, n: int = 7, seed: int = 0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    y = X[:, 0] + rng.normal(size=n)
    if loss in (*ENDLESS, "hinge", "squared_hinge", "perceptron"):
        y = np.where(y > np.median(y), 1.0, -1.0)
    return X, y


def float_above(value: Any) -> float:
    found = float(value)
    return found if not below(stated(found), value) else float(np.nextafter(found, math.inf))


def float_below(value: Any) -> float:
    found = float(value)
    return found if not below(value, stated(found)) else float(np.nextafter(found, -math.inf))


@dataclass(frozen=True)
class Claims:
    """A solution as the library returns it, and true, unless a test makes it false."""

    coef: Any
    intercept: Any
    objective: float
    bound: float
    relative_gap: float
    gap: float
    proven_zero: Any
    coef_error: float | None
    certificate: Any = field(default=None)
    converged: bool = True


def true_claims(question: Question) -> Claims:
    best = question.best(question.points(np.zeros(2), 0.0))[0]
    coef = np.array([float(v) for v in best.w])
    if question.statements[0].budget is not None:
        coef = coef * (1.0 - 1e-12)
    b = float(best.b)
    points = question.points(coef, b)
    objective, bound = float_above(question.value(points)), float_below(best.value)
    distance = real.sqrt(sum((as_rational(rational(a)) - c) ** 2 for a, c in zip(coef, best.w, strict=True)))
    error = float(np.nextafter(float(distance), math.inf)) if question.statements[0].strongly_convex else None
    gap = objective - bound
    zero = np.array([v == 0 for v in best.w])
    return Claims(coef, b, objective, bound, gap / (abs(objective) or 1.0) * (1 + 1e-12), gap, zero, error)


def false_names(solution: Claims, question: Question, tol: float | None = 1e-6) -> set[str]:
    verdict = Verdict()
    judge_solution(verdict, solution, question, tol)
    return {name for name, _, _ in verdict.false}


# -- optima -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", PIECEWISE + ENDLESS)
@pytest.mark.parametrize("form", FORMS, ids=lambda form: "-".join(map(str, form.values())))
def test_nothing_near_an_optimum_is_better(loss: str, form: dict[str, Any]) -> None:
    X, y = data(loss)
    question = Question(X, y, {"loss": loss, **form})
    statement = question.statements[0]
    start = ([Fraction(1, 7), Fraction(-1, 5)], Fraction(1, 3))
    theta = np.sign(y - y.mean())  # any hint will do
    best = optimum(statement, [start], theta.tolist())
    if not best.settled:  # a start from nowhere: then the point is a candidate and no more
        sorted_prices, flat = form["penalty"] == "slope(0.5)", ("l1", "linf", "fused(1)")
        budget = "budget" in form and not sorted_prices and form["penalty"] not in flat
        assert "groups" in form or budget or (sorted_prices and loss in ENDLESS)
        return
    rng = np.random.default_rng(1)
    for size in 10.0 ** -np.arange(0, 16, 1.5):
        moved = [v + rational(size * rng.normal()) for v in (*best.w, best.b)]
        assert not below(statement.value(moved[:-1], moved[-1]), best.value)
    polyhedral = form["penalty"] in ("none", "l1", "linf", "slope(0.5)", "fused(1)")
    if loss in PIECEWISE and (
        polyhedral or (form["penalty"] in ("l2", "elastic_net(0.5)") and "budget" not in form)
    ):
        assert best.proven


def test_optima_that_are_known() -> None:
    X, y = [[1.0], [1.0], [1.0]], [3.0, 1.0, 7.0]
    middle = optimum(
        Question(X, y, {"loss": "absolute", "penalty": "none", "fit_intercept": False}).statements[0], []
    )
    assert middle.w == [3] and middle.value == 2 and middle.proven
    soft = optimum(
        Question(X, y, {"loss": "squared", "penalty": "l1", "lam": 2.0, "fit_intercept": False}).statements[
            0
        ],
        [],
    )
    assert soft.w == [Fraction(11, 3) - 1] and soft.proven
    ball = optimum(
        Question(
            X, y, {"loss": "squared", "penalty": "l2", "budget": 0.25, "fit_intercept": False}
        ).statements[0],
        [],
    )
    assert abs(ball.w[0] - Fraction(1, 2)) < Fraction(1, 10**25)
    odds = optimum(
        Question(
            [[0.0]] * 4, [1.0, 1.0, 1.0, -1.0], {"loss": "logistic", "penalty": "l2", "lam": 1.0}
        ).statements[0],
        [],
    )
    assert abs(real.exp(odds.b.numerator / real.mpf(odds.b.denominator)) - 3) < 1e-20


def test_columns_that_only_exact_arithmetic_tells_apart() -> None:
    rng = np.random.default_rng(0)
    g, d = rng.normal(size=(2, 6))
    X = np.column_stack([g, g + 2.0**-45 * d])
    exact = [[rational(a), rational(b)] for a, b in X]
    y = [float(3 * a - 2 * b) for a, b in exact]
    best = optimum(Question(X, np.array(y), {"loss": "squared", "penalty": "none"}).statements[0], [])
    assert best.proven and best.value <= Fraction(1, 10**30)


def test_the_vertices_of_a_small_linear_programme() -> None:
    rng = np.random.default_rng(2)
    X, y = rng.integers(-3, 4, size=(6, 2)).astype(float), rng.integers(-5, 6, size=6).astype(float)
    statement = Question(X, y, {"loss": "absolute", "penalty": "none", "fit_intercept": False}).statements[0]
    least = None
    for i, j in itertools.combinations(range(6), 2):
        system = Echelon(2)
        if system.offer([int(v) for v in X[i]], int(y[i]), 0) and system.offer(
            [int(v) for v in X[j]], int(y[j]), 1
        ):
            value = statement.value(system.completed([Fraction(0)] * 2), Fraction(0))
            least = value if least is None else min(least, value)
    found = optimum(statement, [])
    assert found.proven and found.value == least


def test_softmax_and_null_objectives() -> None:
    X, y = [[0.0]] * 4, np.array([0, 0, 1, 2])
    statement = Question(X, y, {"loss": "logistic", "penalty": "l2", "lam": 0.1}).statements[0]
    expected = real.log(2) / 2 + real.log(4) / 2
    assert abs(null(statement) - expected) < 1e-40
    assert abs(optimum(statement, []).value - expected) < 1e-40
    against = Question(X, y, {"loss": "hinge", "penalty": "l2", "lam": 0.1})
    assert len(against.statements) == 3
    assert total([null(one) for one in against.statements]) == against.null == 2


def test_semidefinite_systems() -> None:
    H = [[2, 2, 0], [2, 2, 0], [0, 0, 3]]
    assert solve_semidefinite(H, [4, 4, 3])[1]
    found, consistent = solve_semidefinite(H, [4, 5, 3])
    assert not consistent
    assert all(sum(h * x for h, x in zip(row, found, strict=True)) == 0 for row in H)
    assert sum(r * x for r, x in zip([4, 5, 3], found, strict=True)) > 0


def test_numbers_are_exact() -> None:
    assert low_bit(0.75) == -2 and low_bit(2.0**60) == 60 and low_bit(5e-324) == -1074
    assert as_rational(real.mpf(0.1)) == Fraction(0.1)
    statement = Question(
        [[0.1], [0.2]], [0.3, 0.6], {"loss": "squared", "penalty": "l2", "C": 3.0}
    ).statements[0]
    assert statement.lam == Fraction(1, 6)
    assert statement.value([Fraction(3)], Fraction(0)) > Fraction(9, 6)


# -- planted falsehoods -------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", ["squared", "huber(0.7)", "hinge", "logistic"])
@pytest.mark.parametrize("penalty", ["l1", "l2", "elastic_net(0.5)", "l2_norm"])
def test_true_claims_pass_and_false_ones_do_not(loss: str, penalty: str) -> None:
    X, y = data(loss)
    question = Question(X, y, {"loss": loss, "penalty": penalty, "lam": 0.15})
    truth = true_claims(question)
    assert false_names(truth, question) == set()
    high = truth.bound * (1 + 1e-9)
    assert "fit bound" in false_names(replace(truth, bound=high, gap=truth.objective - high), question)
    ulp = float(
        np.nextafter(float_above(question.best(question.points(truth.coef, truth.intercept))[0].value), 9)
    )
    assert "fit bound" in false_names(replace(truth, bound=ulp), question)
    low = float(np.nextafter(truth.objective, -math.inf))
    low = float(np.nextafter(low, -math.inf))
    assert "fit objective" in false_names(replace(truth, objective=low), question)
    assert "fit order" in false_names(replace(truth, objective=1.0, bound=2.0), question)
    assert "fit gap" in false_names(replace(truth, gap=truth.gap + 1e-9), question)
    assert "fit NaN" in false_names(replace(truth, objective=math.nan), question)
    assert "zero weight" in false_names(replace(truth, proven_zero=truth.coef != 0), question)
    assert "fit relative gap" in false_names(
        replace(truth, bound=truth.bound / 2, gap=truth.objective - truth.bound / 2), question
    )
    assert "fit converged" in false_names(replace(truth, relative_gap=1e-3), question)


def test_a_zero_at_the_optimum_only() -> None:
    X, y = data("squared")
    question = Question(X, y, {"loss": "squared", "penalty": "l1", "lam": 0.1})
    truth = true_claims(question)
    assert truth.coef[0] != 0
    planted = replace(
        truth,
        coef=truth.coef * np.array([0.0, 1.0]),
        proven_zero=np.array([True, False]),
        objective=9.0,
        gap=9.0,
    )
    assert "zero" in false_names(planted, question)


@pytest.mark.parametrize("loss", ["squared", "hinge", "logistic"])
@pytest.mark.parametrize("penalty", ["l2", "elastic_net(0.5)"])
def test_half_an_error_bar(loss: str, penalty: str) -> None:
    X, y = data(loss)
    question = Question(X, y, {"loss": loss, "penalty": penalty, "lam": 0.15})
    truth = true_claims(question)
    away = replace(
        truth,
        coef=truth.coef + np.array([3e-4, 4e-4]),
        objective=9.0,
        gap=9.0,
        relative_gap=1.0,
        coef_error=5.01e-4,
    )
    away = replace(away, proven_zero=np.zeros(2, bool))
    assert "fit distance" not in false_names(away, question)
    assert "fit distance" in false_names(replace(away, coef_error=2.5e-4), question)
    assert "fit distance" in false_names(replace(away, coef_error=4.99e-4), question)
    assert "fit distance" in false_names(replace(away, coef_error=math.nan), question)


@pytest.mark.parametrize("penalty", ["l1", "l2", "elastic_net(0.5)", "linf", "l2_norm", "lp(1.5)", "lp(3)"])
def test_a_budget_broken_by_an_ulp(penalty: str) -> None:
    X, y = data("squared")
    question = Question(X, y, {"loss": "squared", "penalty": penalty, "budget": 0.25})
    inside, outside = np.array([0.0, 0.25]), np.array([0.0, np.nextafter(0.25, 1)])
    if penalty == "l2":
        inside, outside = np.array([0.0, 0.5]), np.array([0.0, np.nextafter(0.5, 1)])
    if penalty == "elastic_net(0.5)":
        inside, outside = np.array([0.0, 0.2]), np.array([0.0, 0.225])
    zero = np.zeros(2, bool)
    honest = Claims(inside, 0.0, 99.0, 0.0, 1.0, 99.0, zero, None, converged=False)
    assert false_names(honest, question) == set()
    assert "fit budget" in false_names(replace(honest, coef=outside), question)


def test_a_box_limits_what_is_compared() -> None:
    @dataclass(frozen=True)
    class Boxed:
        box: Any
        objective: float
        bound: float

    X, y = [[1.0], [-1.0]], np.array([2.0, -2.0])
    question = Question(X, y, {"loss": "squared", "penalty": "none"})
    points = question.points([0.0], 0.0)
    best = question.best(points)
    for box, false in ((None, True), ([1.0, math.inf], False), ([3.0, math.inf], True)):
        verdict = Verdict()
        judge_certificate(verdict, "boxed", Boxed(box, 4.0, 0.9), question, best, points)
        assert bool(verdict.false) == false


def test_directions() -> None:
    X, y = [[1.0], [2.0], [3.0]], np.array([-1.0, 1.0, 1.0])
    statement = Question(X, y, {"loss": "logistic", "penalty": "none"}).statements[0]
    cases = (
        (1.0, -2.0, True),
        (1.0, -1.0 - 1e-16, True),
        (1.0, -np.nextafter(2.0, 3), False),
        (0.0, 0.0, False),
    )
    for d, b, holds in cases:
        verdict = Verdict()
        judge_direction(verdict, statement, [d], b)
        assert (not verdict.false) == holds
    priced = Question(X, y, {"loss": "logistic", "penalty": "l1", "lam": 0.1}).statements[0]
    verdict = Verdict()
    judge_direction(verdict, priced, [1.0], -2.0)
    assert verdict.false


def test_margins() -> None:
    X, y = 1e9 + np.array([[-1.0], [1.0], [2.0]]), np.array([-1.0, 1.0, 1.0])
    statement = hinge_statement(X, y, {"loss": "hinge", "penalty": "l2"})
    best = widest(statement)
    assert (
        separable(statement)
        and best is not None
        and best.square == 1
        and best.w == [1]
        and best.b == -(10**9)
    )
    for w, b, objective, holds in (
        (1.0, -1e9, 1.0, True),
        (0.5, -0.5e9, 0.25, False),
        (0.5, -0.5e9, math.inf, True),
    ):
        verdict = Verdict()
        judge_plane(verdict, "margin", statement, (as_values([w]), rational(b)), objective)
        assert (not verdict.false) == holds
    for bound, holds in ((1.0, True), (float(np.nextafter(1.0, 2)), False), (-math.inf, True)):
        verdict = Verdict()
        judge_square(verdict, "margin", bound, best)
        assert (not verdict.false) == holds
    touching = hinge_statement([[0.0], [1.0], [1.0]], [-1.0, -1.0, 1.0], {"loss": "hinge", "penalty": "l2"})
    assert separable(touching) is False and widest(touching) is None


def test_infinite_values_are_consistent_only_with_infinite_gaps() -> None:
    X, y = data("squared")
    question = Question(X, y, {"loss": "squared", "penalty": "l2", "lam": 0.1})
    truth = true_claims(question)
    verdict = Verdict()
    judge_consistency(
        verdict, "fit", question, replace(truth, bound=-math.inf, gap=math.inf, relative_gap=math.inf), None
    )
    assert not verdict.false
    judge_consistency(verdict, "fit", question, replace(truth, bound=-math.inf, gap=0.0), None)
    assert verdict.false


def test_a_checksum_sees_every_value() -> None:
    document = {"answer": {"bound": 1.0}, "checksum": "old"}
    assert checksum(document) == checksum({"answer": {"bound": 1.0}})
    assert checksum(document) != checksum({"answer": {"bound": 1.0000000000000002}})


def test_rows_of_weight_zero_and_unequal_weights() -> None:
    weights = np.array([1.0, 0.0, 3.0])
    question = Question(
        [[1.0], [9.0], [1.0]],
        [0.0, 99.0, 4.0],
        {"loss": "squared", "penalty": "none", "sample_weight": weights},
    )
    statement: Statement = question.statements[0]
    assert len(statement.y) == 2 and statement.value([Fraction(0)], Fraction(3)) == Fraction(9 + 3, 4)
