"""What sums and products lose, against rationals: no more than is claimed, and the claim is the formula."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dualgap.arrays import Matrix, Vector
from dualgap.proof.rounding import (
    FEW,
    LEAST,
    SPLITTER,
    U,
    added,
    added_up,
    gamma,
    lost,
    product,
    share_of,
    summed,
    sums_of,
    total,
    two_product,
    two_sum,
)

SCALES = (-1050, -1000, -540, -400, -30, 0, 30, 400)  # powers of two


def exact(values: Any) -> Fraction:
    return sum((Fraction(float(v)) for v in np.ravel(values)), Fraction(0))


def offs(a: Vector, b: Vector, value: Vector, error: Vector) -> list[Fraction]:
    """|ab − (value + error)|, one by one."""
    rows = zip(a.tolist(), b.tolist(), value.tolist(), error.tolist(), strict=True)
    return [abs(Fraction(x) * Fraction(y) - Fraction(v) - Fraction(e)) for x, y, v, e in rows]


def numbers(rng: np.random.Generator, shape: Any, scale: int, spread: int = 60) -> Matrix:
    """Of many sizes and both signs, with zeros and short mantissas among them."""
    found = np.ldexp(rng.normal(size=shape), rng.integers(scale - spread, scale + 1, shape))
    found = np.where(rng.random(shape) < 0.2, np.ldexp(np.sign(found), scale - spread // 2), found)
    return np.where(rng.random(shape) < 0.1, 0.0, found)


def test_what_a_rounding_is() -> None:
    assert np.finfo(np.float64).eps / 2 == U and 1.0 + U == 1.0 and 1.0 + 2 * U > 1.0
    assert FEW == 128 * U
    assert np.nextafter(0.0, 1.0) == LEAST
    assert SPLITTER == 134217729.0


@pytest.mark.parametrize("k", [0, 1, 2, 3, 10, 1000, 10**6, 10**9, 2**51, 2**52 - 1])
def test_gamma_is_the_textbook_formula(k: int) -> None:
    share = k * Fraction(U)
    assert abs(Fraction(gamma(k)) - share / (1 - share)) <= 2 * Fraction(U) * share / (1 - share)


def test_gamma_of_too_many_is_no_bound() -> None:
    assert gamma(2**52) == np.inf and gamma(2**54) == np.inf and gamma(2.0**60) == np.inf


@pytest.mark.parametrize("n", [1, 7, 8, 9, 127, 128, 129, 1000, 1 << 14])
def test_a_total_is_from_above(n: int) -> None:
    """One, and many that are too small beside it to be added one by one."""
    for shape in ([1.0], [1.0, 1.0], list(np.random.default_rng(n).random(5))):
        values = np.full(n, U)
        values[: len(shape)] = shape[:n]
        assert Fraction(total(values)) >= exact(values)
        assert total(values) == float(values.sum()) * (1.0 + 2.0**-46)
    assert total(np.zeros(n)) == 0.0 and total(np.zeros(0)) == 0.0


class Elsewhere:
    """An array that is not NumPy's, and adds its numbers one after the other."""

    def __init__(self, values: Any) -> None:
        self.values = np.array(values, dtype=np.float64)

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, which: Any) -> Any:
        found = self.values[which]
        return Elsewhere(found) if np.ndim(found) else found

    def __setitem__(self, which: Any, value: float) -> None:
        self.values[which] = value

    def reshape(self, shape: tuple[int, ...]) -> Elsewhere:
        return Elsewhere(self.values.reshape(shape))

    def sum(self, axis: int | None = None) -> Any:
        if axis is None:
            return self.values.cumsum()[-1]
        return Elsewhere(np.cumsum(self.values, axis=axis)[:, -1])

    def max(self) -> float:
        return float(self.values.max())


@pytest.mark.parametrize("n", [1, 5, 4095, 4096, 4097, 3 * 4096, 3 * 4096 + 5, 70_001])
def test_sums_that_add_in_any_order(n: int) -> None:
    """One first, and half ulps that vanish beside it: nothing of a run is left but its first number."""
    values = np.full(n, U)
    values[::4096] = 1.0
    exact = Fraction(int((values == 1.0).sum())) + int((values < 1.0).sum()) * Fraction(U)
    there = Elsewhere(values)
    off = abs(exact - Fraction(added_up(there)))
    assert off <= Fraction(share_of(there)) * exact + Fraction(U) * exact
    assert n < 4095 or off > Fraction(1, 4) * 4095 * Fraction(U)
    assert exact <= Fraction(total(there)) <= exact * (1 + 3 * Fraction(share_of(there)))
    assert abs(added_up(Elsewhere(np.arange(n, dtype=float))) - n * (n - 1) / 2) <= 1e-9 * n * n
    assert added_up(values) == values.sum() and share_of(values) == 0.0
    found = sums_of(lambda x, other: ([x, other], [x]), [there], [Elsewhere([2.0, 3.0])])
    assert found.values.tolist() == [added_up(there), 5.0]
    assert found.tops.tolist() == [1.0] and found.share == share_of(there)


def test_what_sums_in_any_order_are_off_by() -> None:
    for n, levels in [(0, 1), (1, 1), (4095, 1), (4097, 2), (10**7, 2), (10**8, 3)]:
        assert share_of(range(n)) == 2.0 * gamma(levels * 2 * 4096)
    assert added_up(Elsewhere([])) == 0.0 == total(Elsewhere([]))
    nothing = sums_of(lambda x: ([x], [x]), [np.zeros(0)])
    assert nothing.values.tolist() == [0.0] == nothing.tops.tolist()


def test_plain_sums_are_from_below() -> None:
    """Without FEW the sum would be no bound: seven numbers of a half ulp each are lost."""
    values = np.array([1.0, *[U] * 6])
    assert float(values.sum()) == 1.0 < total(values)
    assert exact(values) > Fraction(float(values.sum()))


def test_sums_of_a_few_are_on_their_side() -> None:
    """The next number on that side, and the sum itself where it is a number."""
    rng = np.random.default_rng(0)
    seen = set()
    for bits in [53] * 100 + [8] * 20:
        values = np.ldexp(np.trunc(np.ldexp(rng.normal(size=rng.integers(2, 6)), bits)), -bits).tolist()
        high, low, truth = added(iter(values), up=True), added(values, up=False), exact(values)
        assert Fraction(low) <= truth <= Fraction(high)
        same = Fraction(math.fsum(values)) == truth
        assert (low == high) == same
        assert same or high in (np.nextafter(low, np.inf), np.nextafter(np.nextafter(low, np.inf), np.inf))
        seen.add((same, len(values)))
    assert len(seen) == 8


@pytest.mark.parametrize("value", [0.0, 1.5, -2.0, 1e308, np.inf, LEAST])
def test_a_sum_of_one_is_that_one(value: float) -> None:
    assert added([value], up=True) == value and added((value,), up=False) == value


def test_sums_that_overflow() -> None:
    """They say nothing, on either side."""
    assert added([1e308, 1e308, 1.0], up=True) == np.inf
    assert added([1e308, 1e308], up=False) == -np.inf
    assert added([np.inf, 1.0], up=True) == np.inf == added([np.inf, 1.0], up=False)
    assert math.isnan(added([np.nan, 1.0], up=True))


@pytest.mark.parametrize("scale", [*SCALES, 1000])
def test_two_sum_is_exact(scale: int) -> None:
    rng = np.random.default_rng(scale + 2000)
    a, b = numbers(rng, 300, scale), numbers(rng, 300, scale)
    b[:50] = -a[:50] * (1.0 + rng.integers(-3, 4, 50) * 2 * U)
    value, error = two_sum(a, b)
    assert np.array_equal(value, a + b)
    assert all(exact((x, y)) == exact((v, e)) for x, y, v, e in zip(a, b, value, error, strict=True))
    assert np.count_nonzero(error) > (20 if scale > -1000 else -1)


@pytest.mark.parametrize("other", [-440, -30, 0, 3, 500])
@pytest.mark.parametrize("scale", [-430, -30, 0, 1, 430])
def test_two_product_is_exact(scale: int, other: int) -> None:
    rng = np.random.default_rng(scale * 7 + other + 9999)
    a, b = numbers(rng, 200, scale, 20), numbers(rng, 200, other, 20)
    a[:20] = np.ldexp(1.0 + (rng.integers(0, 2, 20) * 2 - 1) * 2 * U, scale)
    b[:20] = np.ldexp(2.0 - 2 * U, other)
    value, error = two_product(a, b)
    assert np.array_equal(value, a * b)
    assert not any(offs(a, b, value, error))
    assert np.count_nonzero(error) > 50


def test_two_product_that_underflows() -> None:
    """Off by eight of the smallest numbers at most, wherever the bits end."""
    rng = np.random.default_rng(3)
    worst = Fraction(0)
    for scale in range(-1080, -960, 2):
        half = int(rng.integers(-1060, -10))
        a, b = numbers(rng, 40, half, 3), numbers(rng, 40, scale - half, 3)
        value, error = two_product(a, b)
        worst = max(worst, *offs(a, b, value, error))
    assert Fraction(LEAST) / 4 < worst <= 8 * Fraction(LEAST)


@pytest.mark.parametrize("a", [1e301, -(2.0**1000), 1.7e308, np.inf, np.nan])
def test_what_cannot_be_split_is_no_number(a: float) -> None:
    with np.errstate(all="ignore"):
        value, error = two_product(np.array([a]), np.array([1e-10]))
    assert not np.isfinite(value + error).any()


@pytest.mark.parametrize("shape", [(0,), (1,), (2,), (3,), (8,), (13,), (0, 3), (1, 3), (5, 2), (64, 2)])
def test_sums_in_twice_the_digits(shape: tuple[int, ...]) -> None:
    """Terms that cancel to nothing: the sum of doubles is off by all of it."""
    rng = np.random.default_rng(shape[0])
    for scale in (-300, 0, 300):
        terms = numbers(rng, shape, scale, 70)
        terms[-1:] = -terms[:-1].sum(axis=0)
        before = terms.copy()
        value, low = summed(terms)
        assert np.array_equal(terms, before)
        assert np.shape(value) == np.shape(low) == shape[1:]
        table = terms.reshape(shape[0], math.prod(shape[1:]))
        for j, (v, e) in enumerate(zip(np.ravel(value), np.ravel(low), strict=True)):
            size = exact(np.abs(table[:, j]))
            off = abs(exact(table[:, j]) - exact((v, e)))
            levels = max(1, math.ceil(math.log2(max(shape[0], 1))))
            assert off <= levels * Fraction(U) * Fraction(gamma(shape[0])) * size
            if shape[0] <= 2:
                assert off == 0
            assert abs(e) <= 2 * levels * U * float(size)


def test_levels_of_a_tree() -> None:
    """As many additions behind each other as the logarithm says, and half ulps beside a one are kept."""
    terms = np.array([1.0] + [U] * 63)
    value, low = summed(terms)
    assert exact((value, low)) == 1 + 63 * Fraction(U)
    big = np.full(1 << 10, 0.1)
    value, low = summed(big)
    assert value == float(big[0]) * 1024 and low == 0.0  # added in pairs, sums of equal numbers round nothing


@pytest.mark.parametrize("k", [0, 1, 2, 5, 64, 1000, 10**6])
def test_what_is_lost_is_the_formula(k: int) -> None:
    share = (2 * k + 4) * U
    formula = (math.log(k + 1) / math.log(2) + 3) * U * share / (1 - share)
    assert lost(k) == pytest.approx(formula, rel=1e-12, abs=0.0)
    assert isinstance(lost(k), float)


def column_products(high: Matrix, low: Matrix, M: Matrix) -> tuple[Any, Any, Any]:
    """(high + low)·M, |high||M| and |low||M| as rationals."""
    F = np.vectorize(Fraction, otypes=[object])
    H, L, T = (F(part) if part.size else part.astype(object) for part in (high, low, M))
    return (H + L) @ T, np.abs(H) @ np.abs(T), np.abs(L) @ np.abs(T)


@pytest.mark.parametrize(("n", "k", "m"), [(3, 4, 2), (2, 1, 1), (4, 9, 3), (2, 0, 2), (3, 3, 0)])
@pytest.mark.parametrize("scale", [-200, 0, 200])
def test_products_in_twice_the_digits(n: int, k: int, m: int, scale: int) -> None:
    rng = np.random.default_rng(n * 100 + k * 10 + m)
    high, M = numbers(rng, (n, k), scale, 20), numbers(rng, (k, m), -scale + 3, 20)
    if k > 2:
        M[0] = -(high[0, 1:] @ M[1:]) / (high[0, 0] or 1.0)  # the first row cancels
    low = high * rng.uniform(-U, U, (n, k))
    value, rest = product(high, low, M)
    truth, size, small = column_products(high, low, M)
    assert value.shape == rest.shape == (n, m)
    for i in range(n):
        for j in range(m):
            off = abs(truth[i, j] - exact((value[i, j], rest[i, j])))
            assert off <= Fraction(lost(k)) * size[i, j] + Fraction(gamma(k + 2)) * small[i, j]
    assert np.all(np.abs(rest) <= U * np.abs(value))


def test_a_long_product_keeps_every_digit() -> None:
    """Products and sums that all round the same way: what plain doubles lose is in the correction."""
    k = 64
    high, low = np.full((1, k), 1.0 + 2.0**-30), np.full((1, k), 2.0**-60)
    M = np.full((k, 1), 1.0 + 2.0**-30)
    value, rest = product(high, low, M)
    truth = k * (Fraction(1.0 + 2.0**-30) + Fraction(2.0**-60)) * Fraction(1.0 + 2.0**-30)
    assert abs(truth - exact((value, rest))) < Fraction(2.0**-100)
    assert abs(truth - Fraction(float(value[0, 0]))) > Fraction(2.0**-53)


def test_products_that_underflow() -> None:
    """Nine of the smallest numbers a term at most."""
    rng = np.random.default_rng(5)
    for scale in range(-1078, -1000, 6):
        high, M = numbers(rng, (3, 4), -500, 5), numbers(rng, (4, 2), scale + 500, 5)
        low = high * U
        value, rest = product(high, low, M)
        truth, size, small = column_products(high, low, M)
        for i in range(3):
            for j in range(2):
                off = abs(truth[i, j] - exact((value[i, j], rest[i, j])))
                room = Fraction(lost(4)) * size[i, j] + Fraction(gamma(6)) * small[i, j]
                assert off <= room + 9 * 4 * Fraction(LEAST)


def test_a_sum_of_products_loses_what_is_told() -> None:
    """The dot product of Ogita, Rump and Oishi's kind, at every condition number."""
    rng = np.random.default_rng(7)
    worst = 0.0
    for k in (2, 3, 10, 50):
        for condition in (1, 2.0**30, 2.0**60, 2.0**90):
            x, y = _cancelling(rng, k, condition)
            value, error = two_product(x, y)
            high, low = summed(value)
            small = low + error.sum()
            truth = sum(Fraction(a) * Fraction(b) for a, b in zip(x, y, strict=True))
            size = sum(abs(Fraction(a) * Fraction(b)) for a, b in zip(x, y, strict=True))
            off = abs(truth - exact((high, small)))
            assert off <= Fraction(lost(k)) * size
            worst = max(worst, float(off / size))
    assert worst > U * U / 64  # it does lose something


def _cancelling(rng: np.random.Generator, k: int, condition: float) -> tuple[Vector, Vector]:
    """Vectors with x·y about Σ|x||y| over the condition."""
    x, y = rng.normal(size=k), rng.normal(size=k)
    rest = sum((Fraction(a) * Fraction(b) for a, b in zip(x[:-1], y[:-1], strict=True)), Fraction(0))
    y[-1] = -float(rest / Fraction(x[-1])) * (1.0 + 1.0 / condition)
    return x, y
