"""Sums over blocks number by number: what is charged for each, and shares that balance free columns."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog

from dualgap.losses import Absolute, Logistic, Squared
from dualgap.penalties import Penalised
from dualgap.penalties.separable import Separable
from dualgap.proof.blocks import (
    Charged,
    StreamStatement,
    Weighed,
    _balanced,
    _independent,
    _shares,
    judged,
    visited,
    weigh,
)
from proof.made import FAINT, FEW, LEAST, SLACK, U, close, gamma
from proof.test_check import Priced


def statement(
    loss: Any, free: list[bool], *, intercept: bool = False, regulariser: Any = None
) -> StreamStatement:
    gauge = Separable(np.append(1.0 - np.array(free), [0.0] * intercept), np.zeros(len(free) + intercept))
    found = Penalised(gauge, 1.0) if regulariser is None else regulariser(gauge)
    return StreamStatement.stated(loss, found, intercept=intercept)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("tau", [1.0, 0.5])
@pytest.mark.parametrize("loss", [Squared(), Logistic(), Absolute()])
def test_the_sums_of_a_block(loss: Any, tau: float, weighted: bool) -> None:
    rng = np.random.default_rng(3)
    X, y, w = rng.normal(size=(5, 2)), np.where(rng.random(5) < 0.5, 1.0, -1.0), rng.normal(size=2)
    s, u = rng.uniform(0.5, 2.0, 5), rng.uniform(-0.4, 0.0, 5) * y
    u[2] = np.nan
    problem = statement(loss, [False, False])
    weight = s if weighted else np.ones(5)
    visit = visited(problem, X, y, s if weighted else None, w, lambda y, z: u)
    found = visit.weighed(tau)
    t, (inner, centre, _) = visit.t, loss.centred(y)
    assert np.array_equal(visit.u, np.where(np.isfinite(u), u, 0.0)) and t == pytest.approx(
        X @ w - y * loss.translates
    )
    v, error = visit.u * tau, np.broadcast_to(visit.error, 5)
    low, high = (loss.derivative(y, X @ w + side * error) for side in (-1.0, 1.0))
    room = 2.0 * max(inner.curvature, 0.0) * error if np.isfinite(inner.curvature) else 0.0 * error
    steep = np.maximum(np.abs(low), np.abs(high))
    assert (
        float(weight @ (error * steep))
        <= found.spread
        <= float(weight @ (error * (steep + room))) * (1.0 + 1e-9)
    )
    off = np.maximum(np.abs(v - low), np.abs(v - high))
    least, most = float(weight @ (error * off)), float(weight @ (error * (np.abs(v) + steep + room)))
    assert least <= found.apart <= most * (1.0 + 1e-9)
    size = sum(Fraction(a) * Fraction(abs(b)) for a, b in zip(weight.tolist(), v.tolist(), strict=True))
    assert size <= Fraction(found.size) <= size * (1 + Fraction(1, 10**12))
    risk, paid = float(weight @ inner.value(centre, t)), float(weight @ inner.fenchel_young(centre, t, v))
    under = 8.0 * LEAST * 7
    assert found.risk.value == close([risk], rel=1e-14) and found.terms.value == close([paid], rel=1e-12)
    assert found.risk.error == close([FEW * risk + under], rel=1e-9)
    assert found.terms.error == close([FEW * (paid + risk) + under], rel=1e-9)
    heavy = float(weight.sum())
    assert found.weight.value == heavy and found.weight.error == (FEW * heavy if weighted else 0.0)
    assert found.rows == 5 and found.least == (s.min() if weighted else 1.0)
    assert found.tops.tolist() == np.abs(X).max(axis=0).tolist() and found.finite
    pull = found.pull
    for j, column in enumerate([*X.T, np.ones(5)]):
        exact = sum(
            Fraction(a) * Fraction(b) * Fraction(x)
            for a, b, x in zip(weight.tolist(), v.tolist(), column.tolist(), strict=True)
        )
        assert abs(exact - Fraction(float(pull.value[j, 0]))) <= Fraction(float(pull.error[j, 0]))
        top, parts = float(np.abs(column).max()), float(size)
        told = (gamma(5) if j < 2 else FEW) + (2.0 * U if weighted else 0.0)
        least = told * top * parts / tau * (tau if tau < 1.0 else 1.0)
        most = least + (2.0 * U * (abs(float(pull.value[j, 0])) / tau + top * parts) if tau < 1.0 else 0.0)
        assert least <= pull.error[j, 0] <= most * (1.0 + 1e-6)
        assert tau == 1.0 or pull.error[j, 0] >= most * (1.0 - 1e-6)


def test_no_slopes_no_numbers_no_rows() -> None:
    X, y, w = np.eye(3)[:, :2], np.array([1.0, -1.0, 1.0]), np.array([0.5, 0.25])
    problem = statement(Logistic(), [False, False])
    found = weigh(problem, X, y, None, w, None)
    assert not found.pull.value.any() and not found.pull.error.any() and found.size == 0.0
    assert found.terms.value.tolist() == found.risk.value.tolist()
    for bad in (np.nan, np.inf):
        assert not weigh(problem, np.where(X == 0.0, bad, X), y, None, w, None).finite
        assert not weigh(problem, X, y, np.array([1.0, bad, 1.0]), w, None).finite
    nothing = weigh(problem, X[:0], y[:0], None, w, np.zeros(0))
    assert nothing.rows == 0 and nothing.risk.value.tolist() == [0.0] and nothing.weight.value == 0.0
    zero = weigh(problem, X, y, np.array([0.0, 2.0, 3.0]), w, None)
    assert zero.least == 2.0
    assert weigh(problem, X, y, np.zeros(3), w, None).least == np.inf
    flat = statement(Absolute(), [False, False])
    assert weigh(flat, X, 0.0 * y, None, 0.0 * w, None).risk.error[0] <= 8.0 * LEAST * 5


def lot(rng: np.random.Generator, groups: int = 1, count: int = 3) -> Weighed:
    def some(*shape: int) -> Charged:
        return Charged(rng.uniform(1.0, 2.0, shape), 1e-3 * rng.random(shape))

    pull = Charged(rng.normal(size=(count, groups)), 1e-3 * rng.random((count, groups)))
    rest = rng.uniform(1e-3, 2e-3, 3).tolist()
    return Weighed(
        Charged(7.0, 1e-3), some(groups), some(groups), pull, *rest, rng.random(2), float(rng.random()), 5
    )


def test_lots_of_rows_are_added() -> None:
    rng = np.random.default_rng(4)
    one, other = lot(rng), lot(rng)
    both, up = one.plus(other), 1.0 + 4.0 * U
    for name in ("weight", "risk", "terms", "pull"):
        first, second, found = (getattr(each, name) for each in (one, other, both))
        np.testing.assert_array_equal(found.value, first.value + second.value)
        np.testing.assert_array_equal(
            found.error, (first.error + second.error + U * np.abs(found.value)) * up
        )
        np.testing.assert_array_equal(found.most, (found.value + found.error) * up)
    for name in ("spread", "apart", "size"):
        assert getattr(both, name) == (getattr(one, name) + getattr(other, name)) * up
    assert both.tops.tolist() == np.maximum(one.tops, other.tops).tolist() and both.rows == 10
    assert both.least == min(one.least, other.least)


@pytest.mark.parametrize("free", [[False, False], [False, True]])
def test_the_sum_of_the_terms_and_its_charges(free: list[bool]) -> None:
    """Number by number as the text says, where every charge shows."""
    rng = np.random.default_rng(5)
    problem = statement(
        Squared(), free, regulariser=lambda gauge: Priced(gauge, (300.0, 0.125), (2.0, 0.0625))
    )
    seen, w = lot(rng, 4 if any(free) else 1), rng.normal(size=2)
    found = judged(problem, seen, w, 1e-3, 1.0)
    least = 7.0 - 1e-3
    n, shares = 1.0 / (least * (1.0 - 8.0 * U)), _shares(problem, seen)
    assert shares is not None and not len(shares.open_)
    t, off = shares.share, shares.off
    risk, spread = float(seen.risk.most.sum()) * n, seen.spread * n
    share = 2e-3 / least + FEW
    lost = share * (risk + spread + 300.0) + 0.125 + LEAST
    objective = risk + spread + 300.0 + lost
    width = 2.0 * (spread + lost) + float((seen.risk.most - seen.risk.value + seen.risk.error).sum()) * n
    low, high = np.maximum(t - off, 0.0), np.minimum(t + off, 1.0)
    paid = np.maximum(*(part * seen.terms.most + (1.0 - part) * seen.risk.most for part in (low, high)))
    v = -(seen.pull.value @ t)[:2] * n
    size = np.abs(seen.pull.value)
    reach = seen.pull.error @ high + size @ off + (gamma(len(t) + 8) + share) * (size @ high)
    reach = reach[:2] * n * (1.0 + FEW)
    v[problem.free] = reach[problem.free] = 0.0
    (_, asked, room), *_ = problem.regulariser.asked  # type: ignore[attr-defined]
    np.testing.assert_allclose(asked, v, rtol=1e-14)
    np.testing.assert_allclose(room, reach, rtol=1e-14)
    along = float(np.abs(w) @ np.abs(v))
    rounding = width + seen.apart * n + (SLACK + share) * (objective + 2.0 + along) + 0.0625 * objective
    gap = float(paid.sum()) * n * (1.0 + FEW) + 2.0 + rounding
    assert found.primal == close(objective, rel=1e-14) and found.width == close(width, rel=1e-12)
    assert found.rounding == close(rounding, rel=1e-13) and found.gap == close(gap, rel=1e-13)
    assert found.box is None and found.theta == close([seen.size * n], rel=1e-14)
    faint = judged(problem, replace(seen, least=0.99 * FAINT), w, 1e-3, 1.0)
    assert faint.primal == np.inf and faint.dual == 0.0
    unknown = judged(problem, replace(seen, risk=Charged(seen.risk.value * np.nan, seen.risk.error)), w)
    assert unknown.primal == np.inf and unknown.dual == 0.0


@pytest.mark.parametrize("seed", range(8))
def test_some_shares_within_reach_balance_every_table_within_reach(seed: int) -> None:
    rng = np.random.default_rng(seed)
    k, count = int(rng.integers(1, 3)), int(rng.integers(4, 7))
    A = np.abs(rng.normal(size=(k, count))) * np.where(np.arange(count) % 2, -1.0, 1.0)
    E = 1e-3 * rng.random((k, count)) * 10.0 ** -float(rng.integers(0, 3))
    found = _balanced(A, E)
    assert found is not None
    t, off = found
    assert np.abs(A @ t).max() <= 1e-12
    for _ in range(20):
        near = A + E * rng.choice([-1.0, 1.0], E.shape)
        way = linprog(
            np.zeros(count), A_eq=near, b_eq=np.zeros(k), bounds=list(zip(t - off, t + off, strict=True))
        )
        assert way.status == 0
    exact = _balanced(A, 0.0 * E)
    assert exact is not None and exact[1].max() <= 1e-12 * np.abs(exact[0]).max()
    assert _balanced(A, 1e3 * np.abs(A)) is None
    empty = _balanced(np.zeros((0, 3)), np.zeros((0, 3)))
    assert empty is not None and empty[0].tolist() == [1.0] * 3 and not empty[1].any()


def test_what_balancing_is_charged() -> None:
    """One column that two groups pull to and fro: by hand."""
    A, E = np.array([[3.0, -4.0]]), np.array([[0.25, 0.125]])
    found = _balanced(A, E)
    assert found is not None
    t, off = found
    np.testing.assert_allclose(t, [1.0 + 3.0 / 25.0, 1.0 - 4.0 / 25.0], rtol=1e-12)
    few = 1.0 + FEW + gamma(3)
    loose = gamma(8) * np.abs(A[0]) + E[0]
    eta = (float(loose @ [0.6, 0.8]) / 5.0) * few
    length = float(loose @ np.abs(t)) / 5.0 * few / (1.0 - eta) * few
    np.testing.assert_allclose(off, np.array([0.6, 0.8]) * length * few, rtol=1e-9)


def test_rows_that_say_the_same_twice_are_left_open() -> None:
    base = np.random.default_rng(6).normal(size=(2, 5))
    A = np.vstack([base[0], 2.0 * base[0], np.zeros(5), base[1], base[0] - base[1], base[1] + 1e-6])
    kept, others = _independent(A, np.abs(A).sum(axis=1))
    assert kept.tolist() == [0, 3, 5] and others.tolist() == [1, 4]


def test_shares_are_from_zero_to_one_or_none() -> None:
    rng = np.random.default_rng(7)
    problem = statement(Squared(), [False, True])
    good = lot(rng, 4)
    found = _shares(problem, good)
    assert found is not None and np.all(found.share - found.off >= -1e-15)
    assert np.all(found.share + found.off <= 1.0 + 1e-12) and (found.share + found.off).max() > 0.9
    value = np.abs(good.pull.value)  # all to one side: nothing balances them
    assert _shares(problem, replace(good, pull=Charged(value, 0.0 * value))) is None
    wide = replace(good, pull=Charged(good.pull.value, 10.0 * np.abs(good.pull.value)))
    assert _shares(problem, wide) is None
    plain = _shares(statement(Squared(), [False, False]), good)
    assert plain is not None and plain.share.tolist() == [1.0] * 4 and not plain.off.any()
    scaled = _shares(problem, replace(good, pull=Charged(1e200 * good.pull.value, 1e200 * good.pull.error)))
    assert scaled is not None
    np.testing.assert_allclose(scaled.share, found.share, rtol=1e-9)
    np.testing.assert_allclose(scaled.off, found.off, rtol=1e-6)
