"""Sums over blocks: no claim is false, whatever the blocks and the rule; good points are proven good."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from dualgap.arrays import Vector
from dualgap.proof.blocks import Charged, StreamStatement, Weighed, judged, visited, weigh
from dualgap.proof.check import inside
from dualgap.proof.moments import MomentSums, judged_by_moments, moments_of
from exact.optimum import optimum
from proof.made import CONVEX, Made, labelled, made
from proof.test_check import PENALTIES, competitors, drawn
from proof.test_check import judged as true


def stated(one: Made) -> StreamStatement:
    problem = one.problem
    return StreamStatement.stated(problem.loss, problem.regulariser, intercept=problem.intercept)


def cut(one: Made, rng: np.random.Generator) -> list[slice]:
    """The rows in one to three blocks."""
    n = len(one.problem.y)
    edges = sorted({0, n, *rng.integers(0, n, size=2).tolist()})
    return [slice(a, b) for a, b in pairwise(edges)]


def weighed(one: Made, w: Vector, u: Vector, blocks: list[slice], *, exact: bool = False) -> Weighed:
    X, y = np.array(one.exact.X), one.problem.y
    s = np.array([float(v) for v in one.exact.s])
    weight: Any = None if np.all(s == 1.0) else s
    parts = [
        weigh(stated(one), X[k], y[k], None if weight is None else weight[k], w, u[k], exact=exact)
        for k in blocks
    ]
    total = parts[0]
    for part in parts[1:]:
        total = total.plus(part)
    return total


def slopes(rng: np.random.Generator, one: Made, w: Vector) -> Vector:
    """L' at the weights, as it is, scaled, unbalanced by a little, beyond its domain, or anything."""
    problem, draw = one.problem, int(rng.integers(6))
    with np.errstate(all="ignore"):
        u = problem.loss.derivative(problem.y, problem.predict(w))
        if draw == 1:
            u = u * rng.uniform(0.0, 1.2)
        elif draw == 2:
            u = u + rng.normal(size=len(u)) * 10.0 ** rng.uniform(-16, -3)
        elif draw == 3:
            u = rng.normal(size=len(u)) * 10.0 ** rng.uniform(-3, 1)
        elif draw == 4:
            u = np.sign(u) * 2.0 * np.abs(u).max()
        elif draw == 5:
            u = np.where(np.arange(len(u)) == 0, np.nan, u)
    return np.asarray(u)


def near_optimum(one: Made, w: Vector) -> Vector:
    best = optimum(one.exact, [one.parts(w)])
    return np.array([float(v) for v in ([*best.w, best.b] if one.exact.intercept else best.w)])


@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("loss", CONVEX)
def test_no_claim_is_false(loss: str, penalty: str) -> None:
    rng = np.random.default_rng([len(loss), len(penalty), ord(loss[0]), ord(penalty[1])])
    for form in ("lam", "budget"):
        one = drawn(rng, loss, penalty, form)
        w = np.asarray(rng.normal(size=one.width) * float(rng.choice([0.0, 0.3, 1.0])))
        if rng.random() < 0.7:
            w = near_optimum(one, w)
        statement = stated(one)
        w = inside(statement, w)
        better = competitors(one, w, rng)
        for k in range(4):
            u, blocks = slopes(rng, one, w), cut(one, rng)
            found = judged(statement, weighed(one, w, u, blocks, exact=k == 3), w, 1e-3, 1.0)
            true(one, found, better)


@pytest.mark.parametrize("penalty", PENALTIES)
def test_no_claim_from_moments_is_false(penalty: str) -> None:
    rng = np.random.default_rng([3, len(penalty), ord(penalty[1])])
    for form in ("lam", "budget", "lam"):
        one = drawn(rng, "squared", penalty, form)
        X, y, s = np.array(one.exact.X), one.problem.y, np.array([float(v) for v in one.exact.s])
        shift = np.append(X[0], y[-1]) + float(rng.choice([0.0, 1.0]))
        sums = summed(X, y, s, shift, cut(one, rng))
        w = inside(stated(one), near_optimum(one, np.zeros(one.width)))
        better = competitors(one, w, rng)
        for draw in range(4):
            coef, level = (w[:-1], w[-1]) if one.exact.intercept else (w, 0.0)
            omega = np.concatenate([coef, [-1.0, level + shift[:-1] @ coef - shift[-1]]])
            kappa = omega * (1.0 if draw < 2 else rng.uniform(0.0, 1.2))
            if draw == 3:
                kappa = kappa + rng.normal(size=len(kappa))
            found = judged_by_moments(stated(one), sums, sums, w, kappa, 1e-3, 1.0)
            true(one, found, better)


def summed(X: Any, y: Vector, s: Vector, shift: Vector, blocks: list[slice]) -> MomentSums:
    parts = [moments_of(X[k], y[k], None if np.all(s == 1.0) else s[k], shift) for k in blocks]
    total = parts[0]
    for part in parts[1:]:
        total = total.plus(part)
    return total


@pytest.mark.parametrize("loss", ["squared", "huber(1.35)", "squared_hinge", "logistic", "exponential"])
@pytest.mark.parametrize("penalty", ["l2", "elastic_net(0.5)", "l1", "none"])
def test_good_points_are_proven_good(loss: str, penalty: str) -> None:
    """At an optimum rounded to floats, with slopes from there, next to nothing is left of the gap."""
    rng = np.random.default_rng(7)
    for intercept in (True, False):
        n, p = 12, 2
        X = rng.normal(size=(n, p))
        y = np.where(rng.random(n) < 0.5, 1.0, -1.0) if labelled(loss) else rng.normal(size=n)
        asked = {} if penalty == "none" else {"lam": 0.1}
        one = made(X, y, loss, penalty, intercept=intercept, **asked)
        w = near_optimum(one, np.zeros(one.width))
        u = one.problem.loss.derivative(y, one.problem.predict(w))
        found = judged(stated(one), weighed(one, w, u, [slice(0, 7), slice(7, n)]), w, 1e-6, 1.0)
        assert found.gap <= 1e-9 * max(found.primal, 1.0)


def test_sums_charge_every_addition() -> None:
    total = Charged(np.array([1.0]), np.array([0.0]))
    for _ in range(100):
        total = total.plus(Charged(np.array([1e-17]), np.array([0.0])))
    assert total.value[0] == 1.0 and total.error[0] >= 1e-15
    assert total.most[0] >= 1.0 + 1e-15


def test_free_columns_are_balanced_or_nothing_is_proven() -> None:
    """Slopes that one free column does not balance at all: the bound is that of no slopes."""
    one = made(np.ones((4, 1)) + np.arange(4)[:, None], np.arange(4.0), "absolute", "none", intercept=True)
    w = np.zeros(2)
    found = judged(stated(one), weighed(one, w, np.ones(4), [slice(0, 4)]), w)
    assert found.dual == 0.0


@pytest.mark.parametrize("weight", [1e-290, 1e-300])
@pytest.mark.parametrize("tau", [1.0, 0.3])
def test_weights_times_slopes_that_underflow_are_charged(weight: float, tau: float) -> None:
    """A slope times a weight may have no digits left, and the row may be large."""
    rng = np.random.default_rng(3)
    n = 30
    X, y = rng.normal(size=(n, 1)) * 1e15, np.where(rng.random(n) < 0.5, 1.0, -1.0)
    one = made(X, y, "logistic", "l1", lam=1.0, intercept=False)
    u = -y * rng.random(n) * 1e-23 * (1e-300 / weight)
    visit = visited(stated(one), X, y, np.full(n, weight), np.zeros(1), lambda y, z: u)
    found = visit.weighed(tau).pull
    true = sum(Fraction(weight) * Fraction(a * tau) * Fraction(x) for a, x in zip(u, X[:, 0], strict=True))
    assert abs(Fraction(found.value[0, 0]) - true) <= Fraction(found.error[0, 0])


@pytest.mark.parametrize(
    ("size", "weight"), [(1e-12, 1e-299), (1e-12, 1e-290), (1e-100, 1e-200), (1.0, 1e-307)]
)
def test_moments_that_underflow_claim_nothing_false(size: float, weight: float) -> None:
    """Squares of small numbers times small weights may have no digits left, or be zero."""
    rng = np.random.default_rng(4)
    n = 20
    X = rng.normal(size=(n, 2))
    y, s = (X @ [1.0, 2.0] + rng.normal(size=n)) * size, np.full(n, weight)
    one = made(X, y, "squared", "l2", lam=0.1, intercept=True, s=s)
    sums = summed(X, y, s, np.zeros(3), [slice(0, 11), slice(11, n)])
    w = near_optimum(made(X, y, "squared", "l2", lam=0.1, intercept=True), np.zeros(3))
    omega = np.array([*w[:2], -1.0, w[2]])
    true(one, judged_by_moments(stated(one), sums, sums, w, omega, 1e-3, 1.0), [w, np.zeros(3)])


def test_weights_are_known_to_a_share_of_all_rows() -> None:
    """What is left of moments when a heavy row is taken away is no better known than they were."""
    s = np.array([0.3, 0.3, 0.3, 1e14])
    X, y = np.array([[1.0], [2.0], [3.0], [0.0]]), np.array([1.0, 0.0, 2.0, 0.0])
    one = made(X[:3], y[:3], "squared", "l2", lam=0.1, intercept=False, s=s[:3])
    whole = summed(X, y, s, np.zeros(2), [slice(0, 4)])
    left, w = whole.less(moments_of(X[3:], y[3:], s[3:], np.zeros(2))), near_optimum(one, np.zeros(1))
    true(one, judged_by_moments(stated(one), left, whole, w, np.array([w[0], -1.0, 0.0]), 1e-3, 1.0), [w])
