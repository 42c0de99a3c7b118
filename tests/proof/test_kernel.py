"""Kernel machines in the trusted kernel: both values by exact arithmetic, and every charge of rounding."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import dualgap as dg
from dualgap import losses
from dualgap.kernels import Gaussian, Polynomial
from dualgap.losses import Loss
from dualgap.proof import kernel as module
from dualgap.proof.check import SHARE, SLACK, Checked, slopes
from dualgap.proof.kernel import (
    DEFINITE,
    PART,
    TWICE,
    Entries,
    KernelStatement,
    Product,
    Spanned,
    check_kernel,
    distance_between,
    kernel_value,
)
from dualgap.proof.rounding import FEW, LEAST, U, gamma, lost
from exact.arithmetic import rational
from exact.machines import Machine, dot, rationals
from exact.statement import below, stated

LOSSES: tuple[Loss, ...] = (
    losses.Hinge(),
    losses.SquaredHinge(),
    losses.Logistic(),
    losses.Exponential(),
    losses.Squared(),
    losses.Absolute(),
    losses.Quantile(0.8),
    losses.Huber(0.7),
    losses.EpsilonInsensitive(0.2),
    losses.SquaredEpsilonInsensitive(0.2),
)
CLASSES = LOSSES[:4]
N = 7


def rows(seed: int, n: int = N, p: int = 2) -> Any:
    X = np.random.default_rng(seed).normal(size=(n, p))
    X[1] = X[0]
    return X


def matrix(kind: str, seed: int) -> Any:
    """Kernel matrices as they come; whole numbers, which are semi-definite without any rounding."""
    X = rows(seed)
    if kind == "whole":
        A = np.round(4 * X)
        return A @ A.T
    K = {"flat": Gaussian(1e-3), "poly": Polynomial(1.0, 3)}[kind](X, X)
    return 0.5 * (K + K.T)


def stated_on(K: Any, loss: Loss, C: float, seed: int, intercept: bool) -> tuple[KernelStatement, Machine]:
    rng = np.random.default_rng(seed + 100)
    s = rng.integers(1, 5, len(K)).astype(float)
    y = np.where(np.arange(len(K)) % 3 > 0, 1.0, -1.0) if loss in CLASSES else rng.normal(size=len(K)) + 3.0
    lam = 1.0 / (C * len(K))
    problem = KernelStatement(Entries.held(K), y, s / s.sum(), loss, lam, intercept)
    return problem, Machine(K, y, s, str(loss), lam)


def taus(n: int) -> list[Fraction]:
    """None, some, and the most that K may be raised by."""
    most = rational(DEFINITE) * rational(np.sqrt(n))
    return [Fraction(0), most / 3, most]


def judge(found: Checked, machine: Machine, intercept: bool) -> None:
    """Objective and bound are true for every τ, without any tolerance."""
    beta, b, theta = rationals(found.w[:-1]), rational(found.w[-1]), rationals(found.theta)
    for tau in taus(len(beta)):
        raised = replace(machine, tau=tau)
        assert not below(stated(found.primal), raised.value(beta, b)), (found.primal, tau)
        dual = raised.dual(theta, intercept=intercept)
        assert dual is not None
        if found.dual > 0.0:
            assert not below(dual, stated(found.dual)), (found.dual, tau)


def points(problem: KernelStatement, seed: int) -> list[tuple[Any, float, Any]]:
    """β, b and θ: the two of a pair, a pair of strangers, and nonsense."""
    rng = np.random.default_rng(seed + 200)
    n, lam = len(problem.y), problem.lam
    side = problem.y if problem.loss in CLASSES else rng.choice([-1.0, 1.0], n)
    theta = problem.feasible(problem.a * side * rng.uniform(0, 0.7, n))
    beta = theta / (2 * lam)
    other = rng.normal(size=n) * np.abs(beta).max()
    return [
        (beta, 0.3, theta),
        (beta * (1 + 1e-9 * rng.normal(size=n)), -0.1, theta),
        (other, 2.0, 1e3 * rng.normal(size=n)),
        (np.zeros(n), 0.5, theta),
    ]


# --- the charges, one by one --------------------------------------------------------------------------------


def exact_image(K: Any, v: Any) -> list[Fraction]:
    return [dot(rationals(row), rationals(v)) for row in K]


def awkward(n: int, seed: int) -> tuple[Any, Any]:
    """Entries and coefficients of every size, which cancel."""
    rng = np.random.default_rng(seed)
    A = np.ldexp(rng.uniform(0.5, 1.0, size=(n, n)), rng.integers(-20, 20, size=(n, n)))
    v = np.ldexp(rng.uniform(-1.0, 1.0, size=n), rng.integers(-20, 20, size=n))
    v[-1] = -(A[0, :-1] @ v[:-1]) / A[0, -1]
    return 0.5 * (A + A.T), v


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("n", [1, 2, 7, 30])
def test_a_product_is_as_near_as_it_says(n: int, exact: bool) -> None:
    for seed in range(5):
        K, v = awkward(n, seed)
        found = Entries.held(K).times(v, exact=exact)
        assert found.low.any() <= exact
        for i, true in enumerate(exact_image(K, v)):
            off = abs(rational(found.value[i]) + rational(found.low[i]) - true)
            assert off <= rational(found.error[i])
            assert rational(found.size[i]) >= dot(rationals(abs(K[i])), rationals(abs(v)))
        size = np.abs(K) @ np.abs(v)
        np.testing.assert_allclose(found.size, size, rtol=1e-12)
        np.testing.assert_allclose(found.error, (lost(n) if exact else gamma(n + 1)) * size, rtol=1e-12)
        np.testing.assert_allclose(found.shift, 8 * U * np.sqrt(n) * np.abs(np.diagonal(K)) * v, rtol=1e-15)


def test_the_worst_rounding_of_a_plain_product_is_within_what_is_charged() -> None:
    """Sums that round down every time: of k terms more than a third of the bound is really lost."""
    n = 400
    K, v = np.full((n, n), 1.0 + 2.0**-52), np.full(n, 1.0 - 2.0**-53)
    v[0] = 2.0**9  # beside it every other term is rounded
    found = Entries.held(K).times(v)
    off = max(abs(rational(found.value[i]) - true) for i, true in enumerate(exact_image(K[:3], v)))
    assert off > 0
    assert off <= rational(found.error[0])


@pytest.mark.parametrize("exact", [False, True])
def test_what_underflows_is_charged(exact: bool) -> None:
    K, v = np.full((3, 3), 2.0**-540), np.full(3, 1.5 * 2.0**-538)
    found = Entries.held(K).times(v, exact=exact)
    assert not found.value.any()
    true = exact_image(K, v)[0]
    assert 0 < true <= rational(found.error[0])
    assert found.error[0] == 24 * LEAST
    square, doubt = found.along(v)
    assert square == 0.0 and doubt == 24 * LEAST


def never(part: slice, columns: Any) -> Any:
    raise AssertionError("nothing is to be read")


@pytest.mark.parametrize("products", [Entries.held(np.ones((3, 3))), Entries(never, np.ones(3))])
def test_zero_is_zero(products: Any) -> None:
    found = products.times(np.zeros(3))
    for part in (found.value, found.low, found.error, found.size, found.shift):
        assert part.shape == (3,) and not part.any()
    assert found.along(np.zeros(3)) == (0.0, 0.0)


def test_computed_entries_are_asked_for_once_and_doubted() -> None:
    K, v = awkward(50, 1)
    v[10:40] = 0.0
    seen: list[Any] = []

    def rows_of(part: slice, columns: Any) -> Any:
        seen.append((part, columns))
        return K[part][:, columns]

    computed, held = Entries(rows_of, np.diagonal(K)), Entries.held(K)
    first, other = computed.times(v), held.times(v)
    np.testing.assert_array_equal(first.value, other.value)
    np.testing.assert_allclose(first.error - other.error, TWICE * other.size, rtol=1e-9)
    assert len(seen) == 1 and seen[0][0].start == 0
    np.testing.assert_array_equal(seen[0][1], np.flatnonzero(v))
    assert computed.times(v.copy()) is first  # the same numbers
    assert len(seen) == 1
    assert computed.times(v, exact=True) is not first
    np.testing.assert_allclose(computed.times(2.0 * v).value, 2.0 * first.value, rtol=1e-12)
    assert len(seen) == 3


def test_a_matrix_that_is_held_is_not_copied() -> None:
    K = lump(0)
    assert np.shares_memory(Entries.held(K).rows(slice(1, 3), np.arange(5)), K)


def test_blocks_of_rows_make_up_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    K, v = awkward(30, 2)
    v[3:25] = 0.0
    whole = [Entries.held(K).times(v, exact=exact) for exact in (False, True)]
    monkeypatch.setattr("dualgap.proof.rows.CELLS", 64)
    for exact, before in zip((False, True), whole, strict=True):
        found = Entries.held(K).times(v, exact=exact)
        assert np.all(np.abs(found.value - before.value) <= 1e-12 * before.size)
        assert np.all(np.abs(found.low - before.low) <= 1e-24 * before.size)
        np.testing.assert_allclose(found.error, before.error, rtol=1e-12)
        np.testing.assert_allclose(found.size, before.size, rtol=1e-12)


@pytest.mark.parametrize("exact", [False, True])
def test_the_square_is_as_near_as_it_says(exact: bool) -> None:
    for seed in range(40):
        n = 1 + seed % 9
        K, v = awkward(n, seed)
        found = Entries.held(K).times(v, exact=exact)
        square, doubt = found.along(v)
        true = dot(rationals(v), exact_image(K, v))
        assert abs(rational(square) - true) <= rational(doubt)


def test_what_the_square_is_charged() -> None:
    """Each part alone: products, corrections, the error of Kv, and the sum itself."""
    n, zero = 64, np.zeros(64)
    v = np.random.default_rng(0).normal(size=n)
    other = np.random.default_rng(1).normal(size=n)
    square, doubt = Product(other, zero, zero, zero, zero).along(v)
    assert square == pytest.approx(float(v @ other), rel=1e-12)
    expected = lost(n) * float(np.abs(v) @ np.abs(other)) + gamma(n + 4) * abs(square)
    assert doubt == pytest.approx(expected, rel=1e-12)
    square, doubt = Product(zero, other, zero, zero, zero).along(v)
    assert square == pytest.approx(float(v @ other), rel=1e-12)
    low = float(np.abs(v) @ np.abs(other))
    assert doubt == pytest.approx(gamma(n + 4) * (low + abs(square)), rel=1e-12)
    square, doubt = Product(zero, zero, np.abs(other), zero, zero).along(v)
    assert square == 0.0
    assert doubt == pytest.approx(float(np.abs(v) @ np.abs(other)), rel=1e-12)
    high = np.full(n, 1.0 + 2.0**-30)
    square, doubt = Product(high, zero, zero, zero, zero).along(high)
    assert abs(rational(square) - n * rational(high[0]) ** 2) <= rational(doubt)


def test_corrections_reach_the_square() -> None:
    K, v = awkward(8, 5)
    found = Entries.held(K).times(v, exact=True)
    true = dot(rationals(v), exact_image(K, v))
    with_low, without = found.along(v), replace(found, low=np.zeros(8)).along(v)
    assert abs(rational(with_low[0]) - true) <= abs(rational(without[0]) - true)
    assert abs(rational(with_low[0]) - true) <= abs(true) * rational(2 * U) + rational(with_low[1])


@pytest.mark.parametrize("exact", [False, True])
def test_a_span_is_multiplied_without_its_matrix(exact: bool) -> None:
    for seed in range(10):
        X, v = np.random.default_rng(seed).normal(size=(12, 3)) * [1.0, 1e3, 1e-3], awkward(12, seed)[1]
        found = Spanned(X).times(v, exact=exact)
        table = [rationals(row) for row in X]
        w = [dot([row[j] for row in table], rationals(v)) for j in range(3)]
        for i in range(12):
            true = dot(table[i], w)
            off = abs(rational(found.value[i]) + rational(found.low[i]) - true)
            assert off <= rational(found.error[i])
            size = sum((abs(dot(table[i], table[j]) * rational(v[j])) for j in range(12)), Fraction(0))
            assert size <= rational(found.size[i])
        assert not found.shift.any() and found.shift.shape == found.low.shape == (12,)
        tops = np.abs(X).max(axis=0)
        np.testing.assert_allclose(found.size, tops @ tops * np.abs(v).sum(), rtol=1e-12)
        span = Spanned(X).span
        values, reach = span.against(v, exact=exact)
        error = span.times(values, exact=exact)[2] + float(tops @ reach)
        np.testing.assert_allclose(found.error, error, rtol=1e-12)


def simple(loss: Loss, y: Any, lam: float = 0.5, intercept: bool = False) -> KernelStatement:
    y = np.asarray(y, dtype=np.float64)
    return KernelStatement(Entries.held(np.eye(len(y))), y, np.full(len(y), 1 / len(y)), loss, lam, intercept)


def image_of(value: Any, low: Any = 0.0, error: Any = 0.0, shift: Any = 0.0) -> Product:
    value = np.asarray(value, dtype=np.float64)
    ones = np.ones(len(value))
    return Product(value, low * ones, error * ones, np.abs(value), shift * ones)


def test_misses_keep_their_digits() -> None:
    """b − y first: a level of 2^40 in both leaves no trace."""
    far = 2.0**40
    problem = simple(losses.Squared(), [far + 0.25, far - 0.5])
    t, error = problem.misses(image_of([1.0, 2.0]), far)
    np.testing.assert_array_equal(t, [0.75, 2.5])
    np.testing.assert_allclose(error, 4 * U * t, rtol=1e-10)
    np.testing.assert_array_equal(problem.centred[1], 0.0)
    labels = simple(losses.Hinge(), [1.0, -1.0])
    t, _ = labels.misses(image_of([1.0, 2.0]), -3.0)
    np.testing.assert_array_equal(t, [-2.0, -1.0])
    np.testing.assert_array_equal(labels.centred[1], [1.0, -1.0])


def test_misses_know_their_error() -> None:
    rng = np.random.default_rng(0)
    for _ in range(60):
        y, b = np.ldexp(rng.normal(size=4), rng.integers(-30, 30, 4)), float(np.ldexp(rng.normal(), 10))
        value, low = np.ldexp(rng.normal(size=4), rng.integers(-30, 30, 4)), 1e-17 * rng.normal(size=4)
        t, error = simple(losses.Absolute(), y).misses(image_of(value, low), b)
        for i in range(4):
            true = rational(value[i]) + rational(low[i]) + rational(b) - rational(y[i])
            assert abs(rational(t[i]) - true) <= rational(error[i])
            assert rational(error[i]) <= 9 * rational(U) * (
                abs(true) + rational(2.0**-50 * abs(value[i]) + 1e-16)
            )


def test_every_part_of_the_error_of_misses() -> None:
    problem = simple(losses.Absolute(), [1.0 / 3.0])
    base = problem.misses(image_of([2.0 / 7.0]), 1e6)[1]
    assert problem.misses(image_of([2.0 / 7.0], error=1.0), 1e6)[1] == pytest.approx(base + 1.0, rel=1e-9)
    assert problem.misses(image_of([2.0 / 7.0], low=0.5), 1e6)[1] >= base + 4 * U * 0.5
    t = problem.misses(image_of([2.0 / 7.0]), 1e6)[0]
    rest = abs(1e6 - 1.0 / 3.0 - t) + 2.0**-34  # b − y rounds, and so does Kβ beside it
    assert 4 * U * abs(t) <= base <= 4 * U * (abs(t) + rest) * (1 + 1e-9)


def test_the_intercept_alone_balances() -> None:
    theta = np.array([0.3, -0.1, 0.05])
    y = np.array([1.0, -1.0, 1.0])
    free, tied = (simple(losses.Hinge(), y, intercept=tied) for tied in (False, True))
    np.testing.assert_array_equal(free.feasible(theta), theta)
    assert sum(rationals(tied.feasible(theta))) == 0
    clipped = free.feasible(np.array([2.0, 2.0, -1.0]))
    assert 0.33 < clipped[0] < 1 / 3 and not clipped[1:].any()


def test_how_far_tau_moves_the_objective() -> None:
    """By the slopes at either end, a loss that falls and a penalty that rises."""
    rise, fall = module._moved(np.array([-3.0, -1.0]), np.array([-2.0, 0.5]), np.array([1.0, 0.5]))
    slack = SLACK * (3.0 + 1.0 + 2.0 + 0.5 + 1.5)
    assert rise == pytest.approx(slack, rel=1e-12)  # −2 + 0.5 + 1.5 = 0
    assert fall == pytest.approx(3.0 + 1.0 - 1.5 + slack, rel=1e-12)
    rise, fall = module._moved(np.array([1.0]), np.array([2.0]), np.array([0.25]))
    assert rise == pytest.approx(2.25, rel=1e-12) and fall == 0.0
    assert module._moved(np.zeros(2), np.zeros(2), np.zeros(2)) == (0.0, 0.0)


def apart(products: Any, beta: Any, theta: Any, lam: float, scale: float, exact: bool = False) -> Any:
    image = Entries.held(np.eye(len(beta))).times(beta) if products is None else products.times(beta)
    with np.errstate(all="ignore"):
        return distance_between(products, image, beta, theta, lam, scale, exact=exact)


def test_the_distance_of_a_pair() -> None:
    """dᵀKd/(4λ), from above and to a few roundings; nothing where d is only rounding."""
    rng = np.random.default_rng(0)
    for seed in range(30):
        A = rng.integers(-5, 6, size=(6, 4)).astype(float)
        K, lam = A @ A.T, float(rng.uniform(0.01, 10.0))
        products, beta = Entries.held(K), np.random.default_rng(seed).normal(size=6)
        plain, raised = (Machine(K, [], [], "squared", lam, tau) for tau in taus(6)[::2])
        for theta in (rng.normal(size=6), 2 * lam * beta + rng.normal(size=6), np.zeros(6)):
            d = [t - 2 * rational(lam) * v for t, v in zip(rationals(theta), rationals(beta), strict=True)]
            most = raised.square(d) / (4 * rational(lam))
            for exact in (False, True):
                found, doubt = apart(products, beta, theta, lam, 1.0, exact)
                assert rational(found) + rational(doubt) >= most
                assert found == pytest.approx(
                    float(plain.square(d) / (4 * rational(lam))), rel=1e-10, abs=1e-12
                )
                assert doubt <= 1e-12 * (1.0 + float(most))
        found, doubt = apart(products, beta, 2 * lam * beta, lam, 1.0)
        assert found == 0.0 and 0.0 < doubt <= 1e-26
        assert apart(products, np.zeros(6), np.zeros(6), lam, 1.0) == (0.0, 0.0)


class Refused:
    """A matrix that must not be asked, but for the product with β."""

    def __init__(self, K: Any) -> None:
        self.inner, self.n, self.asked = Entries.held(K), len(K), 0

    def times(self, v: Any, *, exact: bool = False) -> Product:
        self.asked += 1
        return self.inner.times(v, exact=exact)


def test_a_pair_that_is_nearly_one_asks_for_no_product() -> None:
    beta, lam = np.array([1.0, -2.0, 0.5]), 0.25
    products = Refused(np.full((3, 3), 2.0))
    theta = 2 * lam * beta * (1 + 1e-9)
    none, loose = apart(products, beta, theta, lam, 1.0)
    assert none == 0.0 and products.asked == 1
    assert loose == pytest.approx(lam * (1e-9) ** 2 * 2.0 * 3.5**2, rel=1e-5)
    assert apart(products, beta, theta, lam, 1.01 * loose / FEW) == (0.0, loose)
    assert products.asked == 2
    found, doubt = apart(products, beta, theta, lam, 0.99 * loose / FEW)  # no longer nothing: K is asked
    assert products.asked == 4 and 0.0 < found + doubt < loose
    other = theta + np.array([0.0, 0.0, 1e-3])
    worse = apart(products, beta, other, lam, 1e30)
    assert worse[1] == pytest.approx(lam * (1e-3 / 0.25) ** 2 * 2.0 * 3.5**2, rel=1e-3)
    assert products.asked == 5
    apart(products, np.array([1.0, -2.0, 0.0]), theta, lam, 1e30)  # a row with θ and without β
    assert products.asked == 7
    apart(products, np.array([1.0, -2.0, 0.0]), theta * [1.0, 1.0, 0.0], lam, 1e30)  # and without either
    assert products.asked == 8


def test_what_the_rounding_of_d_costs() -> None:
    """θ = 2λβ but for a row: the others, of any size, are off by their rounding."""
    beta, lam = np.array([1e10, 0.0]), 0.5
    found, doubt = apart(Entries.held(np.eye(2) * 4.0), beta, np.array([1e10, 1.0]), lam, 0.0, exact=True)
    root = 2.0 + PART * np.sqrt(4.0 * 1e20 + 4.0)
    assert found == 2.0
    assert found + doubt == pytest.approx(root**2 / 2.0, rel=1e-12)
    assert PART == 4 * U
    mixed = apart(Entries.held(np.ones((2, 2))), beta, np.array([1e10, 3.0]), lam, 0.0, exact=True)
    crossed = 1e20 + 2 * 3.0 * 1e10 + 9.0
    assert sum(mixed) == pytest.approx((3.0 + PART * np.sqrt(crossed)) ** 2 / 2.0, rel=1e-12)


def test_values_fall_apart_into_what_they_are() -> None:
    """One row, K = 4, squared loss: P = (4β + b − y)² + λ 4β²."""
    y, a = np.array([1.0]), np.array([1.0])
    problem = KernelStatement(Entries.held(np.array([[4.0]])), y, a, losses.Squared(), 0.25, False)
    for beta, b, theta in ((0.125, 0.25, 0.1), (0.0, 0.0, 0.05), (-1.0, 3.0, -2.0)):
        found = check_kernel(problem, np.array([beta]), b, np.array([theta]), 1e-9)
        value = (4 * beta - 1.0) ** 2 + beta**2  # there is no b without an intercept
        assert found.primal == pytest.approx(value, rel=1e-12)
        bound = theta - theta**2 / 4 - theta**2 * 4
        assert found.dual == pytest.approx(max(bound, 0.0), rel=1e-9, abs=1e-12)
        np.testing.assert_array_equal(found.w, [beta, 0.0])
        assert found.correlation.shape == found.reach.shape == (0,)
        assert kernel_value(problem, np.array([beta]), b, 1e-9) == found.primal


def test_more_digits_are_spent_where_they_can_help() -> None:
    problem, _ = stated_on(matrix("flat", 0), losses.Hinge(), 1e6, 0, True)
    beta, b, theta = points(problem, 0)[0]
    plain = check_kernel(problem, beta, b, theta, 1.0)
    exact = check_kernel(problem, beta, b, theta, 0.0)
    assert 0.0 < exact.rounding < 0.5 * plain.rounding < plain.rounding < plain.gap

    def digits(tolerance: float, null: float = 0.0) -> bool:
        return check_kernel(problem, beta, b, theta, tolerance, null).rounding != plain.rounding

    missed = plain.rounding / SHARE / plain.primal
    assert missed < 0.9 * plain.gap / plain.primal  # here rounding is not what is missing
    assert not digits(1.01 * missed) and digits(0.99 * missed)
    assert not digits(0.99 * missed, null=1.1e4 * plain.primal)  # objectives near zero count for more
    assert digits(0.99 * missed, null=0.9e4 * plain.primal)
    assert digits(0.99 * missed) and digits(0.99 * missed, null=0.0)
    near = stated_on(matrix("flat", 0), losses.Squared(), 1e6, 0, False)[0]
    pair = np.linalg.solve(matrix("flat", 0) + np.diag(near.lam / near.a), near.y)
    first = check_kernel(near, pair, 0.0, 2 * near.lam * pair, 1.0)
    assert first.gap < first.rounding / SHARE
    relative = first.gap / first.primal
    assert check_kernel(near, pair, 0.0, 2 * near.lam * pair, 1.01 * relative).rounding == first.rounding
    assert check_kernel(near, pair, 0.0, 2 * near.lam * pair, 0.99 * relative).rounding < first.rounding
    small = replace(near, y=2.0**-40 * near.y)  # the same with an objective of 2^-80
    point = (2.0**-40 * pair, 0.0, 2.0**-39 * near.lam * pair, 0.5 * relative)
    assert check_kernel(small, *point).rounding < check_kernel(small, *point, 1.0).rounding


def test_the_value_alone() -> None:
    problem, machine = stated_on(matrix("flat", 0), losses.Hinge(), 1e8, 0, True)
    beta, b, theta = points(problem, 0)[0]
    rough, fine = kernel_value(problem, beta, b, 1.0), kernel_value(problem, beta, b, 0.0)
    assert fine < rough == check_kernel(problem, beta, b, theta, 1.0).primal
    for tau in taus(N):
        value = replace(machine, tau=tau).value(rationals(beta), rational(b))
        assert value <= rational(fine) <= rational(rough)


def test_nonsense_proves_nothing() -> None:
    problem, _ = stated_on(matrix("flat", 0), losses.Logistic(), 1.0, 0, True)
    n = len(problem.y)
    for bad in (np.nan, np.inf, 1e308):
        found = check_kernel(problem, np.full(n, bad), 0.0, np.zeros(n))
        assert found.primal == np.inf and found.dual == 0.0
        assert kernel_value(problem, np.full(n, bad), 0.0) == np.inf
        found = check_kernel(problem, np.zeros(n), 0.0, np.full(n, bad))
        assert 0.0 <= found.dual <= found.primal == pytest.approx(np.log(2.0))
        found = check_kernel(problem, np.zeros(n), bad, np.zeros(n))
        assert found.dual == 0.0 and found.primal >= 1e300


@pytest.mark.parametrize("faint", ["weight", "price"])
def test_weights_and_prices_that_underflow_leave_nothing_known(faint: str) -> None:
    """4/3 of the smallest number is the smallest number, to floats: beside a loss of 1e300 that shows."""
    y, zero, few = np.array([0.0, 1e150]), np.zeros(2), 2.0**-1000
    for size, known in ((few, True), (0.99 * few, False), (4.0 * LEAST, False)):
        s = np.array([3.0, size if faint == "weight" else 1.0])
        lam = size if faint == "price" else 1.0
        a = s / s.sum() if size < few else np.array([1.0, s[1]])
        problem = KernelStatement(Entries.held(np.eye(2)), y, a, losses.Squared(), lam, False)
        found = check_kernel(problem, zero, 0.0, zero)
        assert (found.primal < np.inf) == known
        assert size == few or found.primal >= Machine(np.eye(2), y, s, "squared", lam).value([0, 0], 0)
        assert (kernel_value(problem, zero, 0.0) < np.inf) == known


def test_a_loss_of_zero_is_zero() -> None:
    problem = simple(losses.Perceptron(), [1.0, -1.0])
    found = check_kernel(problem, np.zeros(2), 0.0, np.zeros(2))
    assert found.primal == found.dual == found.rounding == 0.0
    watched = Refused(np.eye(2))
    assert kernel_value(replace(problem, products=watched), np.zeros(2), 0.0) == 0.0
    assert watched.asked == 1  # no digit is missing


def test_an_indefinite_matrix_is_found_out() -> None:
    """Two answers that contradict each other prove nothing at all."""
    rng = np.random.default_rng(0)
    A = rng.normal(size=(30, 30))
    K = A @ A.T
    sizes, vectors = np.linalg.eigh(K)
    sizes[0] = -1e-7 * sizes[-1]
    K = (vectors * sizes) @ vectors.T
    y = np.where(vectors[:, 0] > 0, 1, 0)
    with pytest.warns(dg.errors.NotCertifiedWarning):
        model = dg.KernelClassifier(kernel="precomputed", C=1e9, fit_intercept=False).fit(0.5 * (K + K.T), y)
    assert not model.solution_.converged


# --- every charge made loud, against the formulas written out -----------------------------------------------


@pytest.fixture
def loud(monkeypatch: pytest.MonkeyPatch) -> None:
    """Roundings of a size that nobody can overlook."""
    for name, value in {"FEW": 1 / 64, "SLACK": 1 / 16, "U": 1 / 256, "LEAST": 1 / 1024}.items():
        monkeypatch.setattr(module, name, value)
    for name, value in {"PART": 1 / 128, "AWAY": 1.25, "FAINT": 1 / 32, "DEFINITE": 1 / 100}.items():
        monkeypatch.setattr(module, name, value)
    monkeypatch.setattr(module, "gamma", lambda k: k / 512)
    monkeypatch.setattr(module, "lost", lambda k: k / 4096)
    monkeypatch.setattr(module, "total", lambda values: float(values.sum()) * (1 + 1 / 64))


def some(n: int, seed: int) -> Any:
    return np.random.default_rng(seed).normal(size=n)


def lump(seed: int, n: int = 5) -> Any:
    A = np.random.default_rng(seed).normal(size=(n, n + 1))
    return A @ A.T


def test_loud_products(loud: None) -> None:
    K, v = lump(0) - 2.0, some(5, 1)
    v[2] = 0.0
    size = np.abs(K) @ np.abs(v) * (1 + 5 / 512)
    shift = np.sqrt(5) / 100 * np.abs(np.diagonal(K)) * v
    for exact, share in ((False, 5 / 512), (True, 4 / 4096)):
        for doubt, products in ((0.0, Entries.held(K)), (0.25, Entries(held_rows(K), np.diagonal(K), 0.25))):
            found = products.times(v, exact=exact)
            np.testing.assert_allclose(found.value + found.low, K @ v, rtol=1e-12)
            error = ((share + doubt) * size + 4 * 8 / 1024) * (1 + 1 / 64)
            np.testing.assert_allclose(found.error, error, rtol=1e-12)
            np.testing.assert_allclose(found.size, size + np.abs(shift), rtol=1e-12)
            np.testing.assert_allclose(found.shift, shift, rtol=1e-12)


def held_rows(K: Any) -> Any:
    return lambda part, columns: K[part][:, columns]


def test_loud_squares(loud: None) -> None:
    n, v = 5, some(5, 2)
    value, low, error = some(5, 3), some(5, 4), np.abs(some(5, 5))
    square, doubt = Product(value, low, error, value, value).along(v)
    assert square == pytest.approx(float(v @ (value + low)), rel=1e-12)
    size = np.abs(v)
    expected = n / 4096 * (size @ np.abs(value)) + size @ error
    expected += (n + 4) / 512 * (size @ np.abs(low) + abs(square))
    assert doubt == pytest.approx(expected * (1 + 1 / 64 + n / 512) + 8 / 1024 * n, rel=1e-12)


def test_loud_spans(loud: None) -> None:
    X, v = np.random.default_rng(6).normal(size=(6, 2)), some(6, 7)
    span = Spanned(X).span
    for exact in (False, True):
        w, reach = span.against(v, exact=exact)
        tops, few = np.abs(X).max(axis=0), 1 + 1 / 64 + 2 / 512
        found = Spanned(X).times(v, exact=exact)
        np.testing.assert_allclose(found.value + found.low, X @ (X.T @ v), rtol=1e-12)
        np.testing.assert_allclose(
            found.error, (span.times(w, exact=exact)[2] + tops @ reach) * few, rtol=1e-12
        )
        np.testing.assert_allclose(found.size, tops @ tops * np.abs(v).sum() * (1 + 1 / 64) * few, rtol=1e-12)
    np.testing.assert_array_equal(Spanned(X).times(v).value, Spanned(X).times(v, exact=False).value)
    assert not Spanned(X).times(v).low.any()


def test_loud_misses(loud: None) -> None:
    problem = simple(losses.Absolute(), some(4, 8))
    value, low, error = some(4, 9), some(4, 10), np.abs(some(4, 11))
    t, found = problem.misses(Product(value, low, error, value, value), 0.7)
    np.testing.assert_allclose(t, value + low + 0.7 - problem.y, rtol=1e-12)
    np.testing.assert_allclose(
        found, (error + 4 / 256 * (np.abs(t) + np.abs(low))) * (1 + 1 / 64), rtol=1e-12
    )
    far = 2.0**53  # b − y loses a quarter, of either sign
    for y, rest in ((1.25, -0.25), (0.75, 0.25)):
        t, found = simple(losses.Absolute(), [y], intercept=True).misses(image_of([1.0 - far]), far)
        assert t == [rest] and found[0] == pytest.approx(4 / 256 * 0.5 * (1 + 1 / 64), rel=1e-12)


def test_what_cancels_is_kept() -> None:
    """In Kβ + b − y and in βᵀKβ: each correction alone, beside parts that leave nothing of themselves."""
    far = 2.0**53
    t, error = simple(losses.Squared(), [0.75]).misses(image_of([-far]), far)
    assert t == [-0.75] and error[0] >= 4 * U * (0.75 + 0.25)
    bit = 0.75 * 2.0**-53
    t, error = simple(losses.Hinge(), [1.0], intercept=True).misses(image_of([bit], low=bit), 1.0)
    assert t == [1.0 + 2.0**-52] and error[0] >= 4 * U * (1.0 + 2 * bit)
    near = [1.0 + 2.0**-30, 1.0]
    one = Product(np.array([far, 1.0, far]), *[np.zeros(3)] * 4)
    assert one.along(np.array([1.0, 1.0, -1.0]))[0] == 1.0
    two = Product(np.array([near[0], -1.0 - 2.0**-29]), *[np.zeros(2)] * 4)
    assert two.along(np.array(near))[0] == 2.0**-60
    low = Product(np.array([far, -far]), np.array([0.25, 0.5]), *[np.zeros(2)] * 3)
    assert low.along(np.ones(2))[0] == 0.75


def written_out(problem: KernelStatement, beta: Any, b: float) -> tuple[float, float, Any, Any, Any, Any]:
    """Objective, width, t, the reach of t and both slopes, by the formulas, with the roundings of `loud`."""
    a, lam, y = problem.a, problem.lam, problem.centred[1]
    image = problem.products.times(beta)
    t, error = problem.misses(image, b)
    wide = error + np.abs(image.shift)
    low, high = slopes(problem.loss, y, t, wide)
    square, doubt = image.along(beta)
    most = 1 + 1 / 64
    risk = float((a * problem.loss.value(y, t)).sum()) * most
    spread = float((a * error * np.maximum(np.abs(low), np.abs(high))).sum()) * most
    spread += lam * (doubt + max(-square, 0.0))
    moved = np.array([a * low * image.shift, a * high * image.shift])
    paid, slack = (
        lam * float(beta @ image.shift),
        np.abs(moved).sum() + lam * np.abs(beta * image.shift).sum(),
    )
    rise = max(float(moved.max(axis=0).sum()) + paid + slack / 16, 0.0)
    fall = max(-(float(moved.min(axis=0).sum()) + paid - slack / 16), 0.0)
    rounded = (risk + lam * max(square, 0.0) + spread + rise) / 64 + 16 / 1024 * len(a)
    objective = risk + lam * max(square, 0.0) + spread + rise + rounded
    return objective, 2 * (spread + rounded) + rise + fall, t, wide, low, high


@pytest.mark.parametrize("shift", [0.0, -30.0])
@pytest.mark.parametrize("loss", [losses.Squared(), losses.Quantile(0.8), losses.Hinge()], ids=str)
def test_loud_values(loss: Loss, shift: float, loud: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """−30 on the diagonal makes βᵀKβ negative, as rounding can."""
    monkeypatch.setattr(module, "gamma", lambda k: k / 51200)  # or no slope would be left certain
    monkeypatch.setattr(module, "told", lambda found: found)  # the gap is still in place of the bound
    K, a = lump(12) + shift * np.eye(5), np.array([0.1, 0.3, 0.2, 0.15, 0.25])
    y = np.array([1.0, -1.0, 1.0, 1.0, -1.0]) if loss in CLASSES else 10.0 * some(5, 13)
    problem = KernelStatement(Entries.held(K), y, a, loss, 0.7, True)
    for seed in range(4):
        beta, b, theta = some(5, 20 + seed), 0.4, a * y * np.abs(some(5, 30 + seed)) / 20
        objective, width, t, wide, low, high = written_out(problem, beta, b)
        assert kernel_value(problem, beta, b, 1e9) == pytest.approx(objective, rel=1e-12)
        found = module._checked(problem, beta, b, theta, exact=False)
        assert found.primal == pytest.approx(objective, rel=1e-12)
        theta = problem.feasible(theta)
        u = -theta / a * 1.25
        apart = np.maximum(np.abs(low - u), np.abs(high - u)) + 1 / 32
        terms = float((a * loss.fenchel_young(problem.centred[1], t, u)).sum()) * (1 + 1 / 64)
        image = problem.products.times(beta)
        bracket, doubt = distance_between(problem.products, image, beta, theta, 0.7, objective, exact=False)
        rounding = width + float((a * wide * apart).sum()) * (1 + 1 / 64) + (objective + bracket) / 16 + doubt
        assert found.rounding == pytest.approx(rounding, rel=1e-12)
        assert found.dual == pytest.approx(terms + bracket + rounding, rel=1e-12)


def test_the_dual_point_is_made_feasible() -> None:
    problem = simple(losses.Hinge(), [1.0, -1.0, 1.0], intercept=True)
    found = check_kernel(problem, np.zeros(3), 0.0, np.array([0.3, 0.2, -0.1]))
    np.testing.assert_array_equal(found.theta, 0.0)  # nothing against it on the other side
    found = check_kernel(problem, np.zeros(3), 0.0, np.array([0.3, -0.2, 0.2]))
    assert sum(rationals(found.theta)) == 0 and found.theta[1] == pytest.approx(-0.2)
    assert found.dual > 0.0


def test_loud_distances(loud: None) -> None:
    K, lam = lump(14), 0.35
    products = Entries.held(K)
    for seed in range(3):
        beta, theta = some(5, 40 + seed), some(5, 50 + seed)
        image = products.times(beta)
        d, pair = theta - 0.7 * beta, 0.7 * np.abs(beta)
        length, few = np.abs(d), 1 + 1 / 16 + 5 / 512
        for exact in (False, True):
            found, doubt = distance_between(products, image, beta, theta, lam, 0.0, exact=exact)
            apart_ = products.times(d, exact=exact)
            square, off = apart_.along(d)
            crossed = 0.7 * ((pair + 2 * length) @ image.size) + length @ apart_.size
            root = np.sqrt(square + off + (d @ apart_.shift) * few) + np.sqrt(crossed) / 128
            assert found == pytest.approx(square / 1.4, rel=1e-12)
            assert doubt == pytest.approx(root**2 / 1.4 * few - found * (1 - 1 / 64), rel=1e-12)
        share = np.max((length + (pair + length) / 128) / pair)
        none, loose = distance_between(products, image, beta, theta, lam, 1e9, exact=False)
        assert none == 0.0
        assert loose == pytest.approx(lam * share**2 * (np.abs(beta) @ image.size) * few, rel=1e-12)
        edge = distance_between(products, image, beta, theta, lam, loose * 64, exact=False)
        assert edge == (0.0, loose)


def test_a_square_below_zero_counts_as_none(loud: None) -> None:
    """dᵀKd ≥ 0 in truth: rounding alone can make it less."""
    products = Entries.held(-np.eye(2))
    beta, theta = np.array([1.0, 0.0]), np.array([1.0, 1.0])
    found, doubt = apart(products, beta, theta, 0.5, 0.0)
    apart_ = products.times(np.array([0.0, 1.0]))
    off = apart_.along(np.array([0.0, 1.0]))[1]
    root = (
        np.sqrt(off + apart_.shift[1] * (1 + 1 / 16 + 2 / 512))
        + np.sqrt(products.times(beta).size[0] + 2 * products.times(beta).size[1] + apart_.size[1]) / 128
    )
    assert found == 0.0
    assert doubt == pytest.approx(root**2 / 2 * (1 + 1 / 16 + 2 / 512), rel=1e-12)


def test_loud_underflow(loud: None) -> None:
    """Charged wherever a slope or a coefficient is not zero, and nowhere else."""
    a, K = np.array([0.25, 0.75]), np.eye(2) * 1e-9
    for y, b, beta, charged in (
        ([1.0, 1.0], 9.0, [0.0, 0.0], False),  # both beyond the margin
        ([1.0, 1.0], -9.0, [0.0, 0.0], True),
        ([1.0, 1.0], 1.0, [0.0, 0.0], True),  # on it: slopes from −1 to 0
        ([-1.0, -1.0], -1.0, [0.0, 0.0], True),  # and from 0 to 1
        ([1.0, -1.0], 9.0, [0.0, 0.0], True),  # one of two
        ([-1.0, 1.0], -9.0, [0.0, 0.0], True),
        ([1.0, 1.0], 9.0, [1e-3, 0.0], True),  # a coefficient alone
    ):
        problem = KernelStatement(Entries.held(K), np.array(y), a, losses.Hinge(), 0.5, True)
        objective, width = written_out(problem, np.array(beta), b)[:2]
        found = module._valued(problem, np.array(beta), b, exact=False)
        spare = 0.0 if charged else 16 / 1024 * 2
        assert found.objective == pytest.approx(objective - spare, rel=1e-12)
        assert found.width == pytest.approx(width - 2 * spare, rel=1e-12)
    for y in ([0.5, 0.0], [-0.5, 0.0]):  # one of two at an edge of the tube: only low, or only high
        problem = KernelStatement(Entries.held(K), np.array(y), a, losses.EpsilonInsensitive(0.5), 0.5, True)
        found = module._valued(problem, np.zeros(2), 0.0, exact=False)
        assert found.low.any() != found.high.any() and not (found.low.all() or found.high.all())
        assert found.objective == pytest.approx(written_out(problem, np.zeros(2), 0.0)[0], rel=1e-12)


def test_when_the_value_alone_takes_more_digits() -> None:
    problem = stated_on(matrix("flat", 0), losses.Squared(), 1e6, 0, True)[0]
    beta, b, _ = points(problem, 0)[0]
    plain, exact = (module._valued(problem, beta, b, exact=exact) for exact in (False, True))
    assert plain.objective > 2.0 and exact.objective != plain.objective
    edge = plain.width / SHARE / plain.objective
    assert kernel_value(problem, beta, b, 1.01 * edge) == plain.objective
    assert kernel_value(problem, beta, b, 0.99 * edge) == exact.objective
    assert kernel_value(problem, beta, b) == exact.objective
    found = check_kernel(problem, beta, b, np.zeros(N))
    assert found.primal == exact.objective  # no tolerance is none


def test_loud_moves(loud: None) -> None:
    low, high, paid = np.array([-3.0, 5.0, 0.5]), np.array([-2.0, -1.0, 2.0]), np.array([1.0, -0.5, 0.25])
    size = (3.0 + 5.0 + 0.5 + 2.0 + 1.0 + 2.0 + 1.75) / 16
    rise, fall = module._moved(low, high, paid)
    assert rise == pytest.approx(-2.0 + 5.0 + 2.0 + 0.75 + size, rel=1e-12)
    assert fall == pytest.approx(3.0 + 1.0 - 0.5 - 0.75 + size, rel=1e-12)


# --- whole points, and whole fits ---------------------------------------------------------------------------


@pytest.mark.parametrize("tolerance", [0.0, 1.0])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("C", [1.0, 1e8])
@pytest.mark.parametrize("kind", ["whole", "flat", "poly"])
@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_both_values_are_true_of_any_point(
    loss: Loss, kind: str, C: float, intercept: bool, tolerance: float
) -> None:
    """Tolerance 1 asks for no more digits than there are, 0 for all there can be."""
    problem, machine = stated_on(matrix(kind, 0), loss, C, 0, intercept)
    for beta, b, theta in points(problem, 0):
        judge(check_kernel(problem, beta, b, theta, tolerance), machine, intercept)


@pytest.mark.parametrize("C", [1.0, 1e4, 1e8])
@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_fits_are_proven_to_their_tolerance_and_the_proof_is_true(loss: Loss, C: float) -> None:
    X, y = np.random.default_rng(3).normal(size=(14, 2)), np.arange(14) % 2
    targets = y if loss in CLASSES else X[:, 0] + 0.3 * np.cos(np.arange(14))
    kind: Any = dg.KernelClassifier if loss in CLASSES else dg.KernelRegressor
    model = kind(loss, gamma=0.3, C=C).fit(X, targets)
    found, K = model.solution_, model.kernel_(X, X)
    assert found.converged and 0.0 <= found.gap <= 1e-6 * max(found.objective, 1e-4 * found.null)
    signs = 2.0 * y - 1.0 if loss in CLASSES else targets
    machine = Machine(0.5 * (K + K.T), signs, np.ones(14), str(loss), model.solution_.certificate.terms.lam)
    proof = found.certificate
    point = Checked(
        np.append(proof.coef, proof.intercept), proof.theta, proof.objective, proof.bound, 0, K[0], K[0]
    )
    judge(point, machine, True)
    again = proof.recheck(K, targets)
    assert again.objective <= found.objective * (1 + 1e-9) + 1e-15
    assert again.bound >= found.bound * (1 - 1e-9) - 1e-15
    judge(replace(point, primal=again.objective, dual=again.bound), machine, True)


@pytest.mark.parametrize("gamma_", [1e-3, 0.5])
@pytest.mark.parametrize("C", [1e4, 1e6, 1e8])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "logistic"])
def test_large_C(loss: str, C: float, gamma_: float) -> None:
    """The centred matrix said 0.498 of weights that are worth 12,549 (hinge, γ = 1e-3, C = 1e8)."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    y = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.5 * rng.normal(size=60) > 0
    model = dg.KernelClassifier(loss, gamma=gamma_, C=C).fit(X, y)
    found, K = model.solution_, model.kernel_(X, X)
    assert found.converged
    proof = found.certificate
    point = Checked(
        np.append(proof.coef, proof.intercept), proof.theta, proof.objective, proof.bound, 0, K[0], K[0]
    )
    lam = proof.terms.lam
    judge(point, Machine(0.5 * (K + K.T), np.where(y, 1.0, -1.0), np.ones(60), loss, lam), True)
    again = proof.recheck(K, y)
    assert again.objective == pytest.approx(found.objective, rel=1e-9)
    assert again.gap <= 1.01 * found.gap


def test_what_double_precision_cannot_prove_is_not_claimed() -> None:
    """Entries of 1e12: their rounding alone moves predictions by 1e-4."""
    rng = np.random.default_rng(0)
    X = rng.normal(loc=100.0, size=(40, 2))
    y = X[:, 0] + 0.3 * rng.normal(size=40) > 100.0
    with pytest.warns(dg.errors.NotCertifiedWarning, match="smaller C"):
        model = dg.KernelClassifier(kernel="poly").fit(X, y)
    assert not model.solution_.converged
    assert model.solution_.gap > 1e-6 * model.solution_.objective
    assert model.solution_.certificate.recheck(model.kernel_(X, X), y).gap > 1e-6 * model.solution_.objective
