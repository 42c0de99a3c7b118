"""What is concluded from a gap: weights that are zero, and how far off the others are; never too much."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from dualgap.losses import Sigmoid
from dualgap.penalties import Penalised
from dualgap.penalties.separable import Separable
from dualgap.proof.check import Checked, check
from dualgap.proof.claims import distance, proven_zero, zeros_later
from dualgap.proof.constraints import Constraints
from dualgap.proof.joint import check_joint
from dualgap.proof.rows import Rows
from exact.arithmetic import as_real, rational, real
from exact.optimum import optimum
from proof.made import FAINT, SLACK, Made, labelled, made
from proof.test_joint import joint


def slope(one: Made, w: Any) -> Any:
    t, _ = one.problem.misses(w, exact=True)
    return -one.problem.a * one.problem.loss.derivative(one.problem.centred[1], t)


def drawn(rng: np.random.Generator, loss: str, penalty: str, intercept: bool) -> Made:
    n, p = 6, 3
    X = rng.normal(size=(n, p)) * [1.0, 0.3, 0.1]
    y = np.where(np.arange(n) % 2 == 0, 1.0, -1.0) if labelled(loss) else 2.0 * X[:, 0] + rng.normal(size=n)
    asked = {"factors": rng.choice([0.5, 1.0, 2.0], p), "s": rng.uniform(0.5, 2.0, n)}
    return made(X, y, loss, penalty, lam=float(10.0 ** rng.uniform(-2, 0)), intercept=intercept, **asked)


@pytest.mark.parametrize("penalty", ["l1", "elastic_net(0.5)"])
@pytest.mark.parametrize(
    "loss", ["squared", "huber(1.35)", "squared_hinge", "logistic", "squared_epsilon_insensitive(0.25)"]
)
def test_what_is_proven_zero_is_zero(loss: str, penalty: str) -> None:
    """At the optimum to a hundred digits, from points near it and far from it; and something is proven."""
    rng = np.random.default_rng(len(loss) + len(penalty))
    proven = 0
    for k in range(8):
        one = drawn(rng, loss, penalty, bool(k % 2))
        best = optimum(one.exact, [])
        truth = [*best.w, best.b] if one.exact.intercept else list(best.w)
        for size in (0.0, 1e-9, 1e-3):
            w = np.array([float(v) for v in truth])
            w = np.where(w == 0.0, 0.0, w + size * rng.normal(size=len(w)))
            found = check(one.problem, w, slope(one, w), 1e-9, 1.0)
            zero = proven_zero(one.problem, found)
            assert zero.dtype == bool and len(zero) == len(w) and not (one.exact.intercept and zero[-1])
            for j in np.flatnonzero(zero):
                assert abs(truth[j]) <= Fraction(1, 10**20) and w[j] == 0.0
                proven += 1
    assert proven >= 5


def test_a_weight_that_is_not_zero_is_never_proven_zero() -> None:
    one = made(np.eye(3), [1.0, 0.1, 0.1], "squared", "l1", lam=0.5, intercept=False)
    w = np.array([0.25, 0.0, 0.0])
    found = check(one.problem, w, slope(one, w))
    assert proven_zero(one.problem, found).tolist() == [False, True, True]
    faint = replace(found, w=np.array([0.25, 1e-300, -5e-324]))
    assert not proven_zero(one.problem, faint).any()


def known(one: Made, gap: float, v: Any, reach: Any, **changes: Any) -> Checked:
    p = one.width
    w, theta = np.zeros(p), np.full(len(one.problem.y), 0.1)
    return replace(Checked(w, theta, 2.0 + gap, 2.0, 0.0, np.asarray(v), np.asarray(reach)), **changes)


def test_the_rim_of_what_is_proven() -> None:
    """|v| + reach + √(2·curvature·gap)·‖√a x‖ strictly below the price, the rounding of both charged."""
    X = np.array([[3.0, 1.0], [4.0, 2.0]])
    for loss, curvature in (("squared", 2.0), ("logistic", 0.25)):
        one = made(X, [1.0, -1.0], loss, "l1", lam=0.5, factors=[2.0, 1.0], intercept=False)
        lengths = np.sqrt(0.5 * (X * X).sum(axis=0))
        for gap in (0.0, 2.0**-10):
            away = np.sqrt(2.0 * curvature * gap) * lengths
            for sign, side in ((1.0, 1.0), (-1.0, 1.0), (1.0, -1.0), (-1.0, -1.0)):
                for reach in (0.0, 0.125):
                    edge = np.array([1.0, 0.5]) - away - reach
                    room = edge * (1.0 - side * 4e-13) if side > 0 else edge * (1.0 + 4e-13)
                    found = known(one, gap, sign * room, np.full(2, reach))
                    zero = proven_zero(one.problem, found)
                    assert zero.tolist() == [side > 0] * 2
        exact = known(one, 0.0, [1.0, 0.5], [0.0, 0.0])
        assert not proven_zero(one.problem, exact).any()
        inside = known(one, 0.0, np.array([1.0, 0.5]) * (1.0 - 2.04 * SLACK), [0.0, 0.0])
        assert proven_zero(one.problem, inside).all()
        outside = known(one, 0.0, np.array([1.0, 0.5]) * (1.0 - 1.96 * SLACK), [0.0, 0.0])
        assert not proven_zero(one.problem, outside).any()


def test_prices_that_underflow_prove_nothing() -> None:
    one = made(np.zeros((2, 1)), [1.0, -1.0], "squared", "l1", lam=FAINT, intercept=False)
    assert not proven_zero(one.problem, known(one, 0.0, [0.0], [0.0])).any()
    twice = made(np.zeros((2, 1)), [1.0, -1.0], "squared", "l1", lam=2.0 * FAINT, intercept=False)
    assert proven_zero(twice.problem, known(twice, 0.0, [0.0], [0.0])).all()


def test_where_nothing_is_proven() -> None:
    """Other penalties, a budget, a loss without a curvature, a box, no bound, no convexity."""
    X, y = np.array([[1.0], [0.5]]), np.array([1.0, -1.0])
    fine = made(X, y, "squared", "l1", lam=100.0, intercept=False)
    found = known(fine, 0.0, [0.0], [0.0])
    assert proven_zero(fine.problem, found).all()
    blank = made(
        np.zeros((2, 1)), y, "squared", "l1", lam=100.0, intercept=False
    )  # a column without a length
    assert not proven_zero(blank.problem, replace(found, primal=np.inf)).any()
    steep = made(np.zeros((2, 1)), y, "hinge", "l1", lam=9.0, intercept=False)
    assert not proven_zero(steep.problem, replace(found, primal=3.0)).any()
    for penalty in ("l2", "l2_norm", "linf"):
        other = made(X, y, "squared", penalty, lam=100.0, intercept=False)
        assert proven_zero(other.problem, found).tolist() == [False]
    budget = made(X, y, "squared", "l1", budget=100.0, intercept=False)
    assert not proven_zero(budget.problem, found).any()
    for loss in ("hinge", "absolute", "exponential"):
        assert not proven_zero(made(X, y, loss, "l1", lam=100.0, intercept=False).problem, found).any()
    assert not proven_zero(fine.problem, replace(found, box=np.ones(1))).any()
    assert not proven_zero(fine.problem, replace(found, primal=np.inf)).any()
    assert not proven_zero(replace(fine.problem, loss=Sigmoid(1.0)), found).any()
    nothing = replace(found, primal=1e-9, dual=0.0)
    assert not proven_zero(fine.problem, nothing).any()  # that bound needs no θ
    assert not proven_zero(fine.problem, replace(nothing, theta=np.array([0.1, 0.0]))).any()
    assert proven_zero(fine.problem, replace(nothing, theta=np.zeros(2))).all()  # but 0 is as good as any
    assert proven_zero(fine.problem, replace(nothing, dual=1e-10)).all()
    mixed = replace(fine.problem, regulariser=Penalised(Separable(np.zeros(1), np.ones(1)), 1.0))
    assert not proven_zero(mixed, found).any()


def test_the_rows_are_as_they_were() -> None:
    """Lengths of columns stand in for their largest entries, which stay what they are."""
    X = np.array([[3.0, 1.0], [0.0, 2.0]])
    one = made(X, [1.0, -1.0], "squared", "l1", lam=1.0, intercept=False)
    found = known(one, 0.1, [0.0, 0.0], [0.0, 0.0])
    assert one.problem.rows.tops.tolist() == [3.0, 2.0]
    for _ in range(2):  # √0.4·√4.5 = 1.34 and √0.4·√2.5 = 0.9999…
        assert proven_zero(one.problem, replace(found, primal=2.0 + 0.0999)).tolist() == [False, True]
    assert one.problem.rows.tops.tolist() == [3.0, 2.0]


def test_only_columns_that_are_open_are_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lengths cost a pass over X: not where the largest entry is enough, nor where no length could be."""
    measured: list[list[int]] = []
    lengths = Rows.lengths

    def told(rows: Rows, a: Any, which: Any) -> Any:
        measured.append(which.tolist())
        return lengths(rows, a, which)

    monkeypatch.setattr(Rows, "lengths", told)
    one = made(np.diag([1.0, 0.1, 1.0, 1.0, 1.0]), np.ones(5), "squared", "l1", lam=1.0, intercept=False)
    found = known(one, 0.25, [0.5, 0.0, 1.5, 1.0, 0.1], np.zeros(5))
    w = np.array([0.0, 0.0, 0.0, 0.0, 2.0])
    assert proven_zero(one.problem, replace(found, w=w)).tolist() == [True, True, False, False, False]
    assert measured == [[0]]  # then: small enough, never below the price, at it, and a weight that is there
    assert proven_zero(one.problem, replace(found, w=w, primal=2.0)).tolist() == [True, True, *[False] * 3]
    assert measured == [[0]]  # without a gap no length counts


def test_an_intercept_has_no_price() -> None:
    one = made(np.zeros((2, 2)), [1.0, -1.0], "squared", "l1", lam=1.0, factors=[1.0, 0.0])
    found = known(one, 0.0, np.zeros(3), np.zeros(3))
    assert proven_zero(one.problem, found).tolist() == [True, False, False]


@pytest.mark.parametrize("penalty", ["l1", "elastic_net(0.5)"])
def test_classes_at_once(penalty: str) -> None:
    """Curvature ½: the weights of all classes, against the optimum to a hundred digits."""
    rng = np.random.default_rng(5)
    X, own = rng.normal(size=(6, 2)) * [1.0, 0.1], np.array([0, 1, 2, 0, 1, 2])
    problem, exact = joint(X, own, 3, penalty, lam=0.15, intercept=False)
    best = optimum(exact, [])
    w = np.array([float(v) for v in best.w])
    w = np.where(np.abs(w) < 1e-12, 0.0, w)
    theta = problem.slope(problem.predict(w))
    found = check_joint(problem, w, theta, 1e-9, 1.0)
    zero = proven_zero(problem, found)
    assert zero.any() and len(zero) == 6
    assert not np.any(zero & (np.abs([float(v) for v in best.w]) > 1e-12))
    away = 2.0**-4 * np.sqrt((X * X).sum(axis=0) / 6.0)  # √gap, for 2·½ = 1
    for side in (-1.0, 1.0):
        v = np.tile(0.15 - away * (1.0 + side * 1e-9), 3)
        rim = Checked(0.0 * w, theta, 1.0 + 2.0**-8, 1.0, 0.0, v, np.zeros(6))
        assert proven_zero(problem, rim).tolist() == [side > 0] * 6


# --- later, when the table may be another one ---------------------------------------------------------------


def later(one: Any, w: Any, theta: Any) -> Any:
    """What is proven zero of a point now, and the function that says so later."""
    found = (check_joint if theta.ndim == 2 else check)(one, w, theta, 1e-9, 1.0)
    ask = zeros_later(one, found)
    assert callable(ask)
    return proven_zero(one, found), ask


@pytest.mark.parametrize("classes", [1, 3])
def test_zeros_are_told_of_the_table_that_was_judged(classes: int) -> None:
    """Not of one with other squares, or other products with θ, be these kept from before."""
    rng = np.random.default_rng(8)
    X = rng.integers(-2, 3, size=(30, 6)) * 1.0
    if classes == 1:
        y = X[:, 0] - X[:, 1] + 0.1 * rng.normal(size=30)
        one, w = made(X, y, "squared", "l1", lam=4.0, intercept=False).problem, np.zeros(6)
        theta = slope_at(one, w)
    else:
        one, _ = joint(X, np.arange(30) % 3, 3, "l1", lam=0.5, intercept=False)
        w = np.zeros(18)
        theta = one.slope(one.predict(w))
    zero, ask = later(one, w, theta)
    assert zero.any() and np.array_equal(ask(), zero)
    before = X.copy()
    one.rows.against_ahead(np.ascontiguousarray(theta.T) if classes > 1 else theta[None, :])
    for change in (3.0 * X, np.roll(X, 1, axis=0), X[:, ::-1].copy(), np.where(X == 2.0, -2.0, X), 0.0 * X):
        X[:] = change
        assert not ask().any()
        X[:] = before
    assert np.array_equal(ask(), zero)
    X[4, 5] += 2.0**-30  # of 2: less than θ's rounding hides, more than that of the squares
    assert not ask().any()


@pytest.mark.parametrize("intercept", [False, True])
def test_another_number_is_another_table(intercept: bool) -> None:
    """A little more or less in a row without a θ, which the squares tell; or another sign, which θ tells."""
    rng = np.random.default_rng(8)
    X = rng.integers(1, 3, size=(30, 6)) * 2.0**-20
    y = np.where(np.arange(30) < 10, 0.0, np.where(np.arange(30) % 2, 1.0, -1.0))
    problem = made(X, y, "squared", "l1", lam=4.0, intercept=intercept).problem
    w = np.zeros(6 + intercept)
    zero, ask = later(problem, w, slope_at(problem, w))
    assert np.array_equal(ask(), zero) and zero[:6].all()
    for i, j in ((3, 0), (11, 2), (12, 3)):
        for factor in (1.0 + 1e-9, 1.0 - 1e-9) if i < 10 else (-1.0,):
            before = X[i, j]
            X[i, j] *= factor
            assert not ask().any()
            X[i, j] = before
    assert np.array_equal(ask(), zero)


def test_products_may_differ_by_what_both_are_off_by() -> None:
    rng = np.random.default_rng(8)
    X = rng.normal(size=(30, 4))
    problem = made(X, rng.normal(size=30), "squared", "l1", lam=4.0, intercept=False).problem
    w = np.zeros(4)
    found = check(problem, w, slope_at(problem, w))
    v, reach = Rows(X).against_roughly(found.theta)
    for sign in (-1.0, 1.0):
        for share, same in ((0.9, True), (1.2, False)):
            moved = v + sign * share * (reach + 3.0 * reach) * np.array([0.0, 0.0, 1.0, 0.0])
            ask = zeros_later(problem, replace(found, correlation=moved, reach=3.0 * reach))
            assert callable(ask) and ask().all() == same


def test_sums_in_another_order_are_of_the_same_table() -> None:
    """More threads add otherwise; the last digits of Σx² and Xᵀθ are no sign of another table."""
    rng = np.random.default_rng(9)
    X = rng.normal(size=(4000, 10))
    y = X[:, 0] + 0.3 * rng.normal(size=4000)
    one, w = made(X, y, "squared", "l1", lam=0.5, intercept=False).problem, np.zeros(10)
    w[0] = 0.75
    for first, second in ((1, 2), (2, 1)):
        with threadpool_limits(first):
            zero, ask = later(one, w, slope_at(one, w))
        with threadpool_limits(second):
            assert np.count_nonzero(zero) == 9 and np.array_equal(ask(), zero)


def slope_at(problem: Any, w: Any) -> Any:
    return -problem.a * problem.loss.derivative(problem.y, problem.predict(w))


def test_rows_of_another_kind_are_not_asked_later() -> None:
    """And of problems with constraints nothing is proven zero, whenever it is asked."""
    one = made(np.eye(3), [1.0, 0.1, 0.1], "squared", "l1", lam=0.5, intercept=False)
    w = np.array([0.25, 0.0, 0.0])
    found = check(one.problem, w, slope(one, w))

    class Other:
        def __getattr__(self, name: str) -> Any:
            return getattr(one.problem.rows, name)

    elsewhere = replace(one.problem)
    elsewhere.__dict__["rows"] = Other()
    told = zeros_later(elsewhere, found)
    assert not callable(told) and told.tolist() == [False, True, True]
    tied = replace(one.problem, constraints=Constraints(np.ones((1, 3)), np.zeros(1), np.ones(1)))
    found = check(tied, w, np.append(slope(one, w), 0.0))
    ask = zeros_later(tied, found)
    assert callable(ask) and ask().tolist() == [False] * 3


# --- how far off the weights are ----------------------------------------------------------------------------


@pytest.mark.parametrize("penalty", ["l2", "elastic_net(0.5)"])
@pytest.mark.parametrize("loss", ["squared", "absolute", "hinge", "logistic"])
def test_the_optimum_is_as_near_as_is_said(loss: str, penalty: str) -> None:
    rng = np.random.default_rng(len(loss) + len(penalty))
    for k in range(4):
        one = drawn(rng, loss, penalty, bool(k % 2))
        best = optimum(one.exact, [])
        for size in (0.0, 1e-6, 0.1):
            w = np.array([float(v) for v in ([*best.w, best.b] if one.exact.intercept else best.w)])
            w = w + size * rng.normal(size=len(w))
            found = check(one.problem, w, slope(one, w), 0.0, 1.0)
            error = distance(one.problem, found)
            away = sum((rational(a) - b) ** 2 for a, b in zip(w[:3], best.w, strict=True))
            assert error is not None and real.mpf(error) ** 2 >= as_real(Fraction(away)) * (
                1 - real.mpf(10) ** -30
            )


def test_the_distance_by_hand() -> None:
    one = made(np.eye(2), [1.0, 2.0], "squared", "l2", lam=0.5, factors=[0.5, 2.0])
    found = known(one, 0.0625, np.zeros(3), np.zeros(3))
    assert distance(one.problem, found) == 0.5 * (1.0 + SLACK)  # √(1/16 / (½·½))
    net = made(
        np.eye(2), [1.0, 2.0], "squared", "elastic_net(0.25)", lam=1.0, factors=[1.0, 4.0], intercept=False
    )
    assert distance(net.problem, known(net, 1.0, np.zeros(2), np.zeros(2))) == 2.0 * (1.0 + SLACK)
    assert distance(one.problem, known(one, 0.0, np.zeros(3), np.zeros(3))) == 0.0
    assert distance(one.problem, replace(found, primal=np.inf)) == np.inf


def test_where_no_distance_is_known() -> None:
    X, y = np.eye(2), [1.0, -1.0]
    fine = made(X, y, "squared", "l2", lam=0.5)
    found = known(fine, 1.0, np.zeros(3), np.zeros(3))
    assert distance(fine.problem, found) is not None
    assert distance(fine.problem, replace(found, box=np.ones(3))) is None
    tied = replace(fine.problem, constraints=Constraints(np.ones((1, 2)), np.zeros(1), np.ones(1)))
    assert distance(tied, found) is None  # weights that miss one by rounding may be below the optimum
    for penalty in ("l1", "l2_norm", "linf"):
        assert distance(made(X, y, "squared", penalty, lam=0.5).problem, found) is None
    assert distance(made(X, y, "squared", "l2", budget=0.5).problem, found) is None
    assert distance(made(X, y, "squared", "l2", lam=0.5, factors=[1.0, 0.0]).problem, found) is None
    assert distance(made(X, y, "squared", "none").problem, found) is None
    assert distance(made(X, y, "zero_one", "l2", lam=0.5).problem, found) is None  # not convex
    assert distance(made(X, y, "squared", "l2", lam=0.99 * FAINT).problem, found) is None
    assert distance(made(X, y, "squared", "l2", lam=FAINT).problem, found) is not None
