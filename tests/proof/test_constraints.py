"""Constraints against rationals: what they add to the gap, how far weights miss them, and who contradicts."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dualgap.arrays import Vector
from dualgap.proof.check import _checked, _feasible, check
from dualgap.proof.constraints import Constraints, contradicts
from proof.made import FEW, LEAST, SLACK, U, close, made
from proof.test_check import stage

EXACT = [False, True]


def fractions(values: Any) -> list[Fraction]:
    return [Fraction(v) for v in np.ravel(np.asarray(values, dtype=np.float64)).tolist()]


def image(matrix: Any, w: Vector) -> list[Fraction]:
    """Aw."""
    return [
        sum((Fraction(a) * v for a, v in zip(row, fractions(w), strict=True)), Fraction(0))
        for row in matrix.tolist()
    ]


def drawn(seed: int) -> tuple[Constraints, Vector]:
    """Rows of very different sizes, some without terms; ends on both sides, on one, or on none."""
    rng = np.random.default_rng(seed)
    m, p = int(rng.integers(1, 6)), int(rng.integers(1, 6))
    matrix = rng.normal(size=(m, p)) * 2.0 ** rng.integers(-20, 20, size=(m, 1)).astype(float)
    matrix = np.where(rng.random((m, p)) < 0.3, 0.0, matrix)
    matrix[rng.random(m) < 0.15] = 0.0
    w = np.where(rng.random(p) < 0.2, 0.0, rng.normal(size=p))
    size = np.abs(matrix) @ np.abs(w)
    lower, upper = matrix @ w - size * rng.normal(size=m), matrix @ w + size * rng.normal(size=m)
    lower, upper = np.minimum(lower, upper), np.maximum(lower, upper)
    same = rng.random(m) < 0.3
    upper[same] = lower[same]
    lower[(rng.random(m) < 0.2) & ~same] = -np.inf
    upper[(rng.random(m) < 0.2) & ~same] = np.inf
    return Constraints(matrix, lower, upper), w


def miss(constraints: Constraints, w: Vector) -> list[Fraction]:
    """By how much each row is missed."""
    found = []
    for value, low, high in zip(
        image(constraints.matrix, w), constraints.lower, constraints.upper, strict=True
    ):
        below = Fraction(float(low)) - value if np.isfinite(low) else Fraction(0)
        above = value - Fraction(float(high)) if np.isfinite(high) else Fraction(0)
        found.append(max(below, above, Fraction(0)))
    return found


@pytest.mark.parametrize("seed", range(60))
@pytest.mark.parametrize("exact", EXACT)
def test_how_far_weights_miss_is_never_less_than_it_is(seed: int, exact: bool) -> None:
    constraints, w = drawn(seed)
    away, doubt, beyond = constraints.missed(w, exact=exact)
    truth, off = image(constraints.matrix, w), miss(constraints, w)
    ends = [
        max((abs(Fraction(float(e))) for e in pair if np.isfinite(e)), default=Fraction(0))
        for pair in zip(constraints.lower, constraints.upper, strict=True)
    ]
    assert fractions(constraints.ends) == ends
    sizes = [
        sum((abs(Fraction(a) * v) for a, v in zip(row, fractions(w), strict=True)), Fraction(0))
        for row in constraints.matrix.tolist()
    ]
    assert constraints.sizes(w).tolist() == pytest.approx(
        [float(s + e) for s, e in zip(sizes, ends, strict=True)]
    )
    error, terms = Fraction(constraints.rows.times(w, exact=exact)[2]), len(w) + 2
    for k in range(len(constraints)):
        assert abs(truth[k] - Fraction(float(away[k]))) <= Fraction(float(doubt[k]))
        assert Fraction(float(beyond[k])) >= off[k]
        assert beyond[k] == 0.0 or Fraction(float(beyond[k])) <= (off[k] + 2 * Fraction(float(doubt[k]))) * (
            1 + Fraction(1, 10**9)
        )
        own = terms * Fraction(U) / (1 - terms * Fraction(U)) * sizes[k] + 8 * len(w) * Fraction(LEAST)
        wanted = (min(error, own) if sizes[k] else 0) + 2 * Fraction(U) * (
            abs(Fraction(float(away[k]))) + ends[k]
        )
        assert wanted <= Fraction(float(doubt[k])) <= wanted * (1 + Fraction(1, 10**6))
    worst, fine = constraints.kept(w)
    assert Fraction(worst) >= max(off) and worst == constraints.missed(w)[2].max()
    assert fine == all(
        b <= 1e-9 * s + 1e-280 for b, s in zip(constraints.missed(w)[2], constraints.sizes(w), strict=True)
    )


def test_no_more_than_a_billionth_is_missed() -> None:
    """Of what the terms and the larger end of the row add up to."""
    both = Constraints(np.array([[2.0, -2.0]]), np.array([-np.inf]), np.array([6.0]))
    w, just, far = np.array([4.0, 1.0]), np.array([7.9e-9, 0.0]), np.array([8.1e-9, 0.0])  # sizes: 8 + 2 + 6
    assert both.kept(w) == (close(0.0, rel=1e-9, abs=1e-14), True)
    assert both.kept(w + just)[1] and not both.kept(w + far)[1]
    below = Constraints(-both.matrix, -both.upper, -both.lower)
    assert below.kept(w + just)[1] and not below.kept(w + far)[1]
    two = both.beside(Constraints(np.array([[1.0, 0.0]]), np.array([5.0]), np.array([np.inf])))
    assert len(two) == 2 and two.kept(w) == (close(1.0, rel=1e-14), False)
    nothing = Constraints(np.zeros((0, 2)), np.zeros(0), np.zeros(0))
    assert nothing.kept(w) == (0.0, True)
    inside = Constraints(np.eye(2), np.array([-np.inf, 0.0]), np.array([4.5, np.inf]))
    assert inside.kept(w) == (0.0, True)
    empty = Constraints(np.zeros((1, 2)), np.array([0.0]), np.array([0.0]))
    assert empty.kept(w) == (0.0, True) and not empty.missed(w)[1].any()


def test_the_same_in_other_coordinates() -> None:
    constraints, w = drawn(3)
    factor = 2.0 ** np.arange(len(w))
    moved = constraints.substituted(factor, 4.0)
    again = moved.missed(w / factor / 4.0)[0] * 4.0
    assert again.tolist() == constraints.missed(w)[0].tolist()
    assert moved.ends.tolist() == (constraints.ends / 4.0).tolist()
    keep = w != 0.0
    fewer = constraints.restricted(keep)
    assert fewer.missed(w[keep])[0].tolist() == pytest.approx(constraints.missed(w)[0].tolist(), rel=1e-14)
    assert np.array_equal(fewer.lower, constraints.lower) and np.array_equal(fewer.upper, constraints.upper)
    below, above = constraints.domain
    for low, high, least, most in zip(constraints.lower, constraints.upper, below, above, strict=True):
        assert most == (np.inf if np.isfinite(low) else 0.0) and least == (
            -np.inf if np.isfinite(high) else 0.0
        )


@pytest.mark.parametrize("seed", range(60))
@pytest.mark.parametrize("exact", EXACT)
def test_what_multipliers_add_is_from_above(seed: int, exact: bool) -> None:
    """For all multipliers within reach: the worst is at an end, and terms below zero count as zero."""
    constraints, w = drawn(seed)
    rng = np.random.default_rng(seed + 1000)
    mu = rng.normal(size=len(constraints))
    reach = np.where(rng.random(len(mu)) < 0.5, 0.0, rng.random(len(mu)) * 10.0 ** rng.integers(-9, 1))
    found = Fraction(constraints.terms(w, mu, reach, exact=exact))
    _, doubt, _ = constraints.missed(w, exact=exact)
    least = most = Fraction(0)
    for value, low, high, price, room, off in zip(
        image(constraints.matrix, w),
        constraints.lower,
        constraints.upper,
        fractions(mu),
        fractions(reach),
        fractions(doubt),
        strict=True,
    ):
        for end, sign in ((low, 1), (high, -1)):
            if np.isfinite(end):
                ahead, own = sign * (value - Fraction(float(end))), max(sign * price + room, Fraction(0))
                least += own * max(ahead, Fraction(0))
                most += own * max(ahead + 3 * off, Fraction(0))
    assert least <= found <= most * (1 + Fraction(1, 10**9))


def test_weights_and_bounds_that_nobody_meets() -> None:
    """Farkas: in exact arithmetic, and only where ends are finite that are asked."""
    one, inf = Fraction(1), np.inf
    free, box = np.full(2, inf), np.ones(2)
    for total, low, high, mu, expected in [
        (2.0, -free, box, [one], False),  # just met
        (2.0 + 2.0**-50, -free, box, [one], True),
        (2.0 + 2.0**-50, -free, box, [-one], False),
        (2.0 + 2.0**-50, -free, free, [one], False),
        (2.0 + 2.0**-50, -free, np.array([1.0, inf]), [one], False),
        (2.0 + 2.0**-50, -free, box, [0 * one], False),
        (3.0, -free, box, [one / 3], True),
    ]:
        lower = Constraints(np.array([[1.0, 1.0]]), np.array([total]), np.array([inf]))
        assert contradicts(lower, low, high, mu) == expected
        upper = Constraints(-lower.matrix, -lower.upper, -lower.lower)
        assert contradicts(upper, low, high, [-price for price in mu]) == expected
        turned = Constraints(-lower.matrix, lower.lower, lower.upper)
        assert contradicts(turned, -high, -low, mu) == expected
    both = Constraints(
        np.array([[1.0, 1.0], [1.0, 0.0], [0.0, 0.0]]), np.array([4.0, -inf, -inf]), np.array([inf, 2.0, inf])
    )
    assert contradicts(both, -free, np.array([inf, 1.5]), [one, -one, 0 * one])  # the first column leaves
    assert not contradicts(both, -free, np.array([inf, 2.0]), [one, -one, 0 * one])
    assert not contradicts(both, -free, np.array([inf, 1.5]), [one, -2 * one, 0 * one])
    assert not contradicts(both, -free, np.array([inf, 1.5]), [one, -one, one])  # no end there


@pytest.mark.parametrize("exact", EXACT)
@pytest.mark.parametrize("intercept", [False, True])
def test_what_constraints_change_in_a_check(exact: bool, intercept: bool) -> None:
    """v = Xᵀθ + Aᵀμ, with the errors of both and of their sum; and what the multipliers add."""
    problem, w, theta = stage(priced=(1e-3, 0.0), intercept=intercept)
    rng = np.random.default_rng(1)
    constraints = Constraints(1e6 * rng.normal(size=(2, 3)), np.full(2, -1e12), np.full(2, 1e12))
    tied: Any = replace(problem, constraints=constraints)
    mu = np.array([2.0, -3.0])
    theta = _feasible(problem, theta, exact=exact).theta
    plain = _checked(problem, w, theta, 0.0, 0.0, exact=exact)
    tied.regulariser.asked.clear()
    found = _checked(tied, w, np.append(theta, mu), 0.0, 0.0, exact=exact)
    (_, v, reach), *_ = tied.regulariser.asked
    own, doubt = tied.rows.against(theta, exact=exact)
    more, loose = constraints.rows.against(mu, exact=exact)
    np.testing.assert_array_equal(v[:3], own + more)
    assert not v[3:].any() and not reach[3:].any()
    wanted = doubt + loose + U * (np.abs(own) + np.abs(more))
    assert np.all(wanted * (1.0 - 1e-12) <= reach[:3]) and np.all(reach[:3] <= wanted * (1.0 + 1e-9))
    linear = constraints.terms(w[:3], mu, np.zeros(2), exact=exact)
    assert linear > 1e12 and found.violation == 0.0 and found.primal == plain.primal
    assert found.rounding >= plain.rounding + SLACK * linear * (1.0 - 1e-6)
    assert _checked(tied, w, np.append(theta, 0.0 * mu), 0.0, 0.0, exact=exact).gap == close(
        plain.gap, rel=1e-6
    )


@pytest.mark.parametrize("exact", EXACT)
def test_what_is_moved_to_balance_free_columns_is_within_reach(exact: bool) -> None:
    """Where θ and μ are moved until nothing is left of free columns, they may be off by as much."""
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(6, 2)), 10.0 * rng.normal(size=6)
    one = made(X, y, "squared", "none", intercept=False)
    matrix = rng.normal(size=(2, 2))
    problem = replace(one.problem, constraints=Constraints(matrix, np.full(2, -1.0), np.full(2, 1.0)))
    w = 0.01 * np.linalg.lstsq(X, y, rcond=None)[0]
    theta = np.append(-problem.a * problem.loss.derivative(y, X @ w), 1e-3 * rng.normal(size=2))
    given, dual = theta, _feasible(problem, theta, exact=exact)
    (theta, mu), (moves, loose) = problem.split(dual.theta), problem.split(dual.reach)
    assert moves.any() and loose.any()
    found = _checked(problem, w, given, np.inf, 1.0, exact=exact)
    assert found.theta.any() and np.array_equal(found.theta, dual.theta)
    (own, doubt), (more, other) = (
        problem.rows.against(theta, exact=exact),
        problem.constraints.rows.against(mu, exact=exact),  # type: ignore[union-attr]
    )
    wanted = doubt + other + U * (np.abs(own) + np.abs(more))
    wanted += moves.sum() * np.abs(X).max(axis=0) + loose.sum() * np.abs(matrix).max(axis=0)
    np.testing.assert_allclose(found.reach, wanted, rtol=1e-9, atol=0.0)
    assert np.all(found.reach >= wanted * (1.0 - 4.0 * U))


@pytest.mark.parametrize("seed", range(25))
@pytest.mark.parametrize("penalty", ["l2", "none"])
def test_no_weights_that_keep_to_them_beat_the_bound(seed: int, penalty: str) -> None:
    """Whatever θ, μ and w are; weights outside are no answer, and their miss is told."""
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(6, 2)), rng.normal(size=6)
    matrix = rng.normal(size=(2, 2))
    how = {"lam": 0.1} if penalty == "l2" else {}
    one = made(X, y, "squared", penalty, intercept=bool(seed % 2), **how)
    centre = rng.normal(size=2)
    constraints = Constraints(matrix, matrix @ centre - rng.random(2), matrix @ centre + rng.random(2))
    problem = replace(one.problem, constraints=constraints)
    candidates = [
        np.append(centre + step * rng.normal(size=2), rng.normal(size=int(problem.intercept)))
        for step in (0.0, 0.1, 0.1, 0.3, 1.0, 3.0)
    ]
    kept = [w for w in candidates if not any(miss(constraints, w[:2]))]
    for w in candidates:
        theta = -problem.a * problem.loss.derivative(problem.y, one.problem.predict(w))
        for mu in (np.zeros(2), rng.normal(size=2), 1e3 * rng.normal(size=2)):
            found = check(problem, w, np.append(theta + 0.01 * rng.normal(size=6), mu))
            assert (found.primal == np.inf) == (max(miss(constraints, w[:2])) > 1e-3)
            assert found.violation >= max(miss(constraints, w[:2]))
            for other in kept:
                inside = found.box is None or np.all(np.abs(other) <= found.box)
                assert not inside or found.dual <= float(one.primal(other)) * (1.0 + FEW)
