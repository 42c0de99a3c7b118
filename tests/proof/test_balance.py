"""Dual points that are feasible as real numbers: every claim is checked with rationals.

What is charged for rounding is compared with the formulas too, in sixty digits, so that no charge can be
dropped or halved unseen.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dualgap.arrays import Matrix, Vector
from dualgap.proof import balance
from dualgap.proof.balance import LARGE, Balanced, grid, orthogonal, taken, zero_sum, zero_sums

U, FEW, TINY = Fraction(1, 2**53), Fraction(1, 2**46), 5e-324
LEAST = Fraction(TINY)
NONE = np.zeros(0, dtype=np.intp)
Bounds = tuple[Vector, Vector]


def gamma(k: int) -> Fraction:
    return k * U / (1 - k * U)


def lost(k: int) -> Fraction:
    return Fraction(float(np.log2(k + 1.0)) + 3) * U * gamma(2 * k + 4)


def exact(values: Any) -> Any:
    values = np.asarray(values, dtype=np.float64)
    return np.array([Fraction(v) for v in values.ravel().tolist()], dtype=object).reshape(values.shape)


def root(value: Fraction) -> Fraction:
    """√ to sixty digits."""
    with localcontext() as context:
        context.prec = 60
        return Fraction((Decimal(value.numerator) / Decimal(value.denominator)).sqrt())


def length(values: Any) -> Fraction:
    return root(sum((v * v for v in np.ravel(values)), Fraction(0)))


def same(found: Any, formula: Any, ulps: int = 16) -> None:
    """Equal to a few roundings."""
    for one, wanted in zip(np.ravel(found), np.ravel(np.asarray(formula, dtype=object)), strict=True):
        assert abs(Fraction(float(one)) - wanted) <= ulps * U * wanted, (float(one), float(wanted))


def endless(n: int) -> Bounds:
    return np.full(n, -np.inf), np.full(n, np.inf)


# --- Σθ = 0 -------------------------------------------------------------------------------------------------


def unit_of(theta: Vector) -> Fraction:
    """The power of two whose multiples are taken: 53 bits for the largest, 61 for the sum."""
    top = int(np.frexp(float(max(np.abs(exact(theta)))))[1])
    return max(Fraction(2) ** (top - 53), finest_unit(theta))


def finest_unit(theta: Vector) -> Fraction:
    """The same where one entry alone may bear the rest: 61 bits for the sum."""
    most = int(np.frexp(float(sum(np.abs(exact(theta)))))[1])
    return Fraction(2) ** max(most - 61, -1074)


def settled(theta: Vector, found: Vector) -> None:
    """Adds up to nothing; no entry has grown or changed sides."""
    assert found.dtype == np.float64 and found.shape == theta.shape
    assert sum(exact(found)) == 0
    assert np.all(np.abs(found) <= np.abs(theta)) and np.all(found * np.sign(theta) >= 0.0)


BOTH: list[Callable[[Vector], Vector]] = [zero_sum, lambda theta: zero_sums(np.vstack([theta, -theta]))[0]]
both = pytest.mark.parametrize("balanced", BOTH, ids=["one", "many"])


@both
@pytest.mark.parametrize("scale", [-1074, -1060, -1020, -500, -30, 0, 30, 500, 950])
def test_sums_are_zero_as_real_numbers(balanced: Callable[[Vector], Vector], scale: int) -> None:
    rng = np.random.default_rng(scale + 2000)
    for n in (1, 2, 3, 10, 40):
        for spread in (0, 5, 60):
            theta = np.ldexp(rng.normal(size=n), rng.integers(scale - spread, scale + 1, n))
            settled(theta, balanced(theta))
            settled(theta, balanced(np.abs(theta)) * np.sign(theta))  # one side only: nothing is left
            assert not balanced(np.abs(theta)).any()


@both
@pytest.mark.parametrize("scale", [-1000, 0, 900])
@pytest.mark.parametrize("n", [2, 7, 100, 1100])
def test_what_is_nearly_balanced_hardly_moves(
    balanced: Callable[[Vector], Vector], n: int, scale: int
) -> None:
    """By a unit of the grid where it is rounded, and by one a row where it bears the rest."""
    theta = np.random.default_rng(n).normal(size=n)
    theta[-1] = -float(sum(exact(theta[:-1])))
    theta = np.ldexp(theta, scale)
    found = balanced(theta)
    settled(theta, found)
    moved, unit = np.abs(exact(theta) - exact(found)), unit_of(theta)
    assert np.count_nonzero(moved >= unit) <= 1 and max(moved) <= (n + 1) * unit
    assert all(value % finest_unit(theta) == 0 for value in exact(found))


@both
def test_no_entry_too_large_for_its_digits_bears_the_rest(balanced: Callable[[Vector], Vector]) -> None:
    """Entries of all sizes, some zero, nearly balanced: the heavy side may have large ones alone."""
    rng = np.random.default_rng(7)
    for n in range(3, 200):
        theta = rng.normal(size=n) * 10.0 ** rng.integers(-8, 3, n) * (rng.random(n) < 0.7)
        theta[-1] -= theta.sum()
        settled(theta, balanced(theta))


@pytest.mark.parametrize("scale", [-900, 0, 900])
@pytest.mark.parametrize("large", [0.4, -0.7])
def test_small_entries_beside_a_large_one_keep_their_digits(large: float, scale: int) -> None:
    """As of rows that rest in groups: all of them weigh as much as their group."""
    rng = np.random.default_rng(3)
    theta = np.append(rng.normal(size=4000) * 1e-6, large)
    theta[-2] = 1e-3
    theta[-3] = -float(sum(exact(np.delete(theta, -3))))
    theta = np.ldexp(theta, scale)
    found = zero_sum(theta)
    settled(theta, found)
    assert float(sum(np.abs(exact(theta) - exact(found)))) <= 1e-14 * float(np.ldexp(1.0, scale))


@both
def test_many_equal_numbers_fit_in_the_integers(balanced: Callable[[Vector], Vector]) -> None:
    """Fifty-three bits each, and four thousand of them: their sum is kept below 2^62."""
    theta = np.full(4096, 2.0 - 2.0**-52)
    assert not balanced(theta).any()
    theta[::2] = -1.0
    found = balanced(theta)
    settled(theta, found)
    assert np.array_equal(found[::2], theta[::2]) and found[1] == pytest.approx(1.0)


@both
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1.7e308, 2.0**961])
def test_what_is_no_number_gives_zeros(balanced: Callable[[Vector], Vector], bad: float) -> None:
    assert not balanced(np.array([1.0, bad, -3.0])).any()
    assert not balanced(np.full(5000, bad) * np.where(np.arange(5000) % 3, 1.0, -1.0)).any()


@both
def test_numbers_whose_sums_never_overflow(balanced: Callable[[Vector], Vector]) -> None:
    assert LARGE == 2.0**960
    for top, kept in ((LARGE, True), (np.nextafter(LARGE, np.inf), False)):
        found = balanced(np.array([top, -top]))
        assert found.tolist() == ([top, -top] if kept else [0.0, 0.0])


@both
def test_a_row_of_nothing(balanced: Callable[[Vector], Vector]) -> None:
    assert balanced(np.zeros(3)).tolist() == [0.0, 0.0, 0.0]
    assert balanced(np.array([0.0, -0.0, 1.0])).tolist() == [0.0, 0.0, 0.0]
    assert balanced(np.array([1.0, -1.0])).tolist() == [1.0, -1.0]
    assert balanced(np.array([3 * TINY, -3 * TINY])).tolist() == [3 * TINY, -3 * TINY]
    assert balanced(np.array([5 * TINY, 2 * TINY, -4 * TINY])).sum() == 0.0


def test_one_bad_row_spoils_no_other() -> None:
    rows = np.array([[1.0, -1.0, 0.5], [np.nan, 1.0, 2.0], [1.0, 1.0, -1.0], [3.0, 3.0, -1.0]])
    found = zero_sums(rows)
    assert found[1].tolist() == [0.0, 0.0, 0.0] and found.shape == (4, 3)
    for k in (0, 2, 3):
        settled(rows[k], found[k])
        assert found[k].any()
    assert zero_sums(np.zeros((0, 3))).shape == (0, 3)


def test_an_empty_point() -> None:
    assert zero_sum(np.zeros(0)).shape == (0,)


def test_who_gives_what_is_too_much() -> None:
    """Alone, in proportion; of many rows, the largest if it can, and otherwise in proportion too."""
    theta = np.array([3.0, 1.0, -2.0])
    assert zero_sum(theta) == pytest.approx([1.5, 0.5, -2.0], rel=1e-12)
    assert zero_sum(-theta) == pytest.approx([-1.5, -0.5, 2.0], rel=1e-12)
    found = zero_sums(np.array([theta, -theta, [3.0, 3.0, -1.0], [-3.0, -3.0, 1.0], [2.0, 2.0, -2.0]]))
    wanted = [[1.0, 1.0, -2.0], [-1.0, -1.0, 2.0], [0.5, 0.5, -1.0], [-0.5, -0.5, 1.0], [0.0, 2.0, -2.0]]
    assert found == pytest.approx(np.array(wanted), rel=1e-12)


def test_the_grid() -> None:
    units, exponent = grid(np.array([1.0, -0.5]))
    assert (units.tolist(), exponent) == ([2**52, -(2**51)], -52) and units.dtype == np.int64
    assert isinstance(exponent, int)
    units, exponent = grid(np.array([[1.75 - 2.0**-52, -1.0], [0.0, 1.5 * 2.0**-52]]))
    assert (units.tolist(), exponent) == ([[7 * 2**50 - 1, -(2**52)], [0, 1]], -52)  # towards 0
    assert grid(np.array([-1.0, -1.5 * 2.0**-52]))[0].tolist() == [-(2**52), -1]
    assert (
        grid(np.ones(4096))[1] == 13 - 61 and grid(np.ones(256))[1] == 1 - 53 and grid(np.ones(512))[1] == -51
    )
    assert grid(np.array([TINY]))[1] == -1074 and grid(np.array([2.0**-1030, 1.0]))[0][0] == 0
    assert grid(np.zeros(2))[0].tolist() == [0, 0]


def test_taken_in_proportion() -> None:
    assert taken(np.array([10, 20, 30]), 30).tolist() == [4, 9, 17]  # a little less each, the rest at once
    assert taken(np.array([10, 20, 30]), 1).tolist() == [0, 0, 1]
    assert taken(np.array([10, 20, 30]), 31).tolist() == [5, 10, 16]
    assert taken(np.array([10, 20, 30]), 60).tolist() == [10, 20, 30]
    assert sorted(taken(np.ones(10, dtype=np.int64), 7).tolist()) == [0] * 3 + [1] * 7
    found = taken(np.array([1, 1, 1, 1, 4]), 5).tolist()  # shares 2 and 0, then the largest first
    assert found[-1] == 4 and sum(found) == 5


def test_taken_exactly() -> None:
    """Never more than is there, and in all what is wanted, also where shares are rounded up."""
    rng = np.random.default_rng(0)
    for _ in range(300):
        there = rng.integers(0, 2 ** rng.integers(1, 54), rng.integers(1, 6))
        whole = int(there.sum())
        if not whole:
            continue
        wanted = int(rng.integers(1, whole + 1))
        found = taken(there, wanted)
        assert found.dtype == np.int64 and int(found.sum()) == wanted
        assert np.all((found >= 0) & (found <= there))
        near = [abs(int(f) - Fraction(int(t) * wanted, whole)) for f, t in zip(found, there, strict=True)]
        assert max(near) <= len(there) + FEW * wanted


# --- x·θ = 0 for columns ------------------------------------------------------------------------------------


def solved(A: Any, b: Any) -> Any:
    """A⁻¹b in rationals."""
    table = [[*row, value] for row, value in zip(A, b, strict=True)]
    for i in range(len(table)):
        at = next(r for r in range(i, len(table)) if table[r][i])
        table[i], table[at] = table[at], table[i]
        for r in range(len(table)):
            if r != i and table[r][i]:
                share = table[r][i] / table[i][i]
                table[r] = [x - share * y for x, y in zip(table[r], table[i], strict=True)]
    return np.array([row[-1] / row[i] for i, row in enumerate(table)], dtype=object)


def independent(columns: Any, live: Any) -> list[int]:
    """The first columns that are independent on the rows that may move."""
    reduced: list[tuple[int, Any]] = []
    kept = []
    for j in range(columns.shape[1]):
        x = columns[live, j]
        for at, other in reduced:
            x = x - x[at] / other[at] * other
        if any(x):
            reduced.append((next(i for i, v in enumerate(x) if v), x))
            kept.append(j)
    return kept


def nearest(F: Matrix, found: Balanced, omega: Vector) -> Any:
    """The point that the claim is about: θ less the weighted least squares of what is left of it."""
    theta, weight = exact(found.theta), exact(omega) ** 2
    closed = exact(np.delete(F, found.open_, axis=1))
    basis = closed[:, independent(closed, weight > 0)]
    if not basis.shape[1]:
        return theta
    share = solved(basis.T @ (weight[:, None] * basis), basis.T @ theta)
    return theta - weight * (basis @ share)


def judged(F: Matrix, theta: Vector, bounds: Bounds, *, digits: bool = False) -> Balanced | None:
    """What is claimed, and that it is true."""
    made: list[tuple[Vector, Any]] = []
    corrected = balance._corrected

    def spy(basis: Any, omega: Vector, *others: Any) -> Any:
        made.append((omega, corrected(basis, omega, *others)))
        return made[-1][1]

    with pytest.MonkeyPatch.context() as patch, np.errstate(all="ignore"):
        patch.setattr(balance, "_corrected", spy)
        found = orthogonal(F, theta, bounds, exact=digits)
    if found is None:
        return None
    omegas = [omega for omega, pair in made if pair is not None and pair[0] is found.theta]
    point = nearest(F, found, omegas[0] if omegas else np.ones(len(theta)))
    assert np.all(np.abs(point - exact(found.theta)) <= exact(found.reach))
    for side, bound in ((1, bounds[0]), (-1, bounds[1])):
        finite = np.isfinite(bound)
        assert np.all(side * point[finite] >= side * exact(bound[finite]))
    products = exact(F).T @ point
    assert not any(np.delete(products, found.open_))
    assert len(found.open_) == len(found.pull)
    for value, pull in zip(products[found.open_], found.pull, strict=True):
        assert pull == np.inf or abs(value) <= Fraction(float(pull))
    return found


def some(rng: np.random.Generator, kind: str, n: int, k: int) -> Matrix:
    """Columns of many kinds."""
    F = rng.normal(size=(n, k)) * 10.0 ** rng.integers(-5, 6, k)
    if kind == "close":
        F[:, -1] = F[:, 0] * (1.0 + 2.0 ** -rng.integers(5.0, 53.0) * rng.normal(size=n))
    elif kind == "zeros and ones":
        F = rng.integers(0, 2, (n, k)).astype(float)
        F[:, 0] = 1.0
    elif kind == "twice":
        F[:, -1] = F[:, 0]
    elif kind == "powers":
        F = np.vander(np.linspace(0.1, 1.1, n), k)
    elif kind == "uneven":
        F *= 10.0 ** rng.integers(-150, 150, (n, 1))
    elif kind == "nothing":
        F[:, rng.integers(0, k)] = 0.0
    return F


KINDS = ("any", "close", "zeros and ones", "twice", "powers", "uneven", "nothing")
SCALES = (0, 0, 0, -5, 5, -150, -160, -170, -290, -305, -310, 150, 250)


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_claimed_of_a_point_is_true(kind: str) -> None:
    """At all scales, with and without bounds, near feasible points and far from them."""
    shown = 0
    for seed in range(24):
        rng = np.random.default_rng([seed, KINDS.index(kind)])
        n, k = int(rng.integers(1, 8)), int(rng.integers(1, 5))
        F, scale = some(rng, kind, n, k), 10.0 ** rng.choice(SCALES)
        theta, half = rng.normal(size=n) * scale, rng.random(n) < 0.5
        bounds = [
            endless(n),
            (np.full(n, -1.5 * scale), np.full(n, 1.5 * scale)),
            (np.where(half, 0.0, -scale), np.where(half, 2.0 * scale, scale)),
            (np.full(n, -np.inf), np.where(half, scale, np.inf)),
        ][seed % 4]
        if seed % 3:
            Q = np.linalg.qr(F / np.maximum(np.abs(F).max(axis=0), 1e-300))[0]
            theta = theta - Q @ (Q.T @ theta)
        for digits in (False, True):
            shown += judged(F, np.clip(theta, *bounds), bounds, digits=digits) is not None
    assert shown >= 30


def test_points_that_are_shown_stay_near() -> None:
    """Well-conditioned columns: θ as the projection has it, and a reach of rounding."""
    rng = np.random.default_rng(1)
    for n, k in [(3, 1), (10, 4), (60, 5)]:
        F, theta = rng.normal(size=(n, k)), rng.normal(size=n)
        Q = np.linalg.qr(F)[0]
        wanted = theta - Q @ (Q.T @ theta)
        for digits in (False, True):
            found = orthogonal(F, theta, endless(n), exact=digits)
            assert found is not None and not len(found.open_) and not len(found.pull)
            assert found.theta == pytest.approx(wanted, abs=1e-13)
            assert np.all(found.reach <= 40 * n * float(U)) and np.all(found.reach > 0.0)
            again = orthogonal(F, found.theta, endless(n), exact=digits)
            assert again is not None and again.theta == pytest.approx(found.theta, rel=1e-13, abs=1e-15)


def test_columns_that_span_all_rows_leave_nothing_but_zero() -> None:
    """At once, however many there are; where a row is nearly others, or none, it takes a closer look."""
    rng = np.random.default_rng(3)
    F, theta = rng.normal(size=(5, 4000)), rng.normal(size=5)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(balance, "_basis", lambda *given, **others: pytest.fail("a closer look"))
        found = orthogonal(F, theta, endless(5))
        assert found is not None and not found.theta.any() and not found.reach.any()
        assert not len(found.open_) and not len(found.pull)
        found = orthogonal(np.diag([1.0, 2.0**40, 2.0**-40]), theta[:3], endless(3))
        assert found is not None and not found.theta.any()
    for k in (5, 40):
        twice = np.vstack([F[:4, :k], F[0, :k] * 2.0])
        found = orthogonal(twice, np.array([2.0, 0.0, 0.0, 0.0, -1.0]), endless(5), exact=True)
        assert found is not None and found.theta == pytest.approx([2.0, 0.0, 0.0, 0.0, -1.0], abs=1e-12)
        without = np.vstack([F[:4, :k], np.zeros(k)])
        found = orthogonal(without, np.array([0.0, 0.0, 0.0, 0.0, 1.0]), endless(5), exact=True)
        assert found is not None and found.theta == pytest.approx([0.0, 0.0, 0.0, 0.0, 1.0], abs=1e-12)


@pytest.mark.parametrize("short", [1.0, 1e-4, 1e-8])
def test_rows_span_whatever_their_length_but_not_if_they_are_nearly_alike(short: float) -> None:
    right, other = np.array([1.0, 0.0, 0.0]), np.array([0.0, short, 0.0])
    assert balance._spanning(np.vstack([right, other]))
    for share in (0.0, 1e-4):
        assert not balance._spanning(np.vstack([right, short * right + share * other]))


def test_the_scale_of_a_column_is_nothing() -> None:
    rng = np.random.default_rng(2)
    F, theta = -np.abs(rng.normal(size=(6, 3))), rng.normal(size=6)
    F[:, 2] = F[:, 0] + 2.0**-52 * F[:, 1]  # rounding tells it apart
    first = orthogonal(F, theta, endless(6))
    scaled = orthogonal(F * [2.0**600, 2.0**-700, 2.0**50], theta, endless(6))
    assert first is not None and scaled is not None
    assert np.array_equal(first.theta, scaled.theta) and np.array_equal(first.reach, scaled.reach)
    assert first.open_.tolist() == scaled.open_.tolist() == [2]
    assert scaled.pull[0] == pytest.approx(first.pull[0] * 2.0**50)


def test_entries_that_scaling_would_round_prove_nothing() -> None:
    theta, bounds = np.array([1.0, -1.0]), endless(2)
    assert orthogonal(np.array([[1024.0], [TINY]]), theta, bounds) is None
    assert orthogonal(np.array([[2.0**900], [3 * 2.0**-122]]), theta, bounds) is not None
    assert orthogonal(np.array([[2.0**900], [3 * 2.0**-174]]), theta, bounds) is None
    for bad in (np.nan, np.inf):
        with np.errstate(all="ignore"):
            assert orthogonal(np.array([[1.0], [bad]]), theta, bounds) is None
            assert orthogonal(np.ones((2, 1)), np.array([1.0, bad]), bounds) is None
            assert orthogonal(np.ones((2, 1)), np.array([1.0, bad]), bounds, exact=True) is None


@pytest.mark.parametrize("bits", range(10, 53))
def test_columns_that_are_nearly_equal(bits: int) -> None:
    """Told apart down to rounding, and open beyond: then the product is at most what is said."""
    d = np.array([1.0, -2.0, 3.0, 1.0, -1.0, 2.0])
    g = np.array([1.5, 1.25, -1.0, 1.75, 1.125, -1.0])
    F = np.column_stack([np.ones(6), g, g + 2.0**-bits * d])
    theta = np.array([1.0, 2.0, -3.0, 0.5, 0.25, -1.0])
    for digits in (False, True):
        found = judged(F, theta, endless(6), digits=digits)
        assert found is not None
        assert found.open_.tolist() == ([2] if bits > 46 else [])
        if bits > 46:
            assert 1e-15 < found.pull[0] < 10 * 2.0**-bits + 1e-14
        # what the inverse of the Gram matrix loses is charged until more digits are taken
        assert np.all(found.reach <= (1e-14 if digits or bits > 26 else 4e-15 * 2.0**bits))


def test_where_a_column_is_only_rounding() -> None:
    """At 64 √k roundings of its length beside those before it, here 2^-46.5 of it."""
    for bits, open_ in ((45, []), (46, [1])):
        F = np.array([[1.0, 1.0], [1.0, 1.0 + 2.0**-bits]])
        found = orthogonal(F, np.array([1.0, 2.0]), endless(2), exact=True)
        assert found is not None and found.open_.tolist() == open_


def test_rounding_is_seen_behind_dependent_columns() -> None:
    """A copy takes up no direction: what comes after it is as independent as without it."""
    F = np.array([[1.0, 1.0, 1.0], [1.0, 1.0, 2.0], [1.0, 1.0, 4.0]])
    found = judged(F, np.array([1.0, 2.0, 4.0]), endless(3))
    assert found is not None and not len(found.open_)
    F = np.array([[1.0, 1.0, 1.0, 0.0], [1.0, 1.0, 2.0, 0.0]])  # more columns than rows
    found = judged(F, np.array([1.0, 2.0]), endless(2))
    assert found is not None and not len(found.open_) and np.all(np.abs(found.theta) <= 1e-15)


def one_hot(levels: Any) -> Matrix:
    return (np.asarray(levels)[:, None] == np.unique(levels)).astype(float)


def test_exact_combinations_are_left_out() -> None:
    """Ones, and columns of two factors that add up to them: nothing is open."""
    first, second = np.arange(9) % 3, (np.arange(9) // 2) % 4
    theta = np.random.default_rng(3).normal(size=9)
    for F in (
        np.column_stack([np.ones(9), one_hot(first)]),
        np.column_stack([np.ones(9), one_hot(first), one_hot(second)]),
        np.column_stack([one_hot(second), np.ones(9), one_hot(first)]),
    ):
        for digits in (False, True):
            found = judged(F, theta, endless(9), digits=digits)
            assert found is not None and not len(found.open_)


@pytest.mark.parametrize("share", [1.0, -1.0, 0.0625, 3.5, -7.5, 16.0, 0.0])
def test_combinations_in_sixteenths(share: float) -> None:
    """x_2 = x_0 + share·x_1, and the same but for a bit."""
    x = np.array([1.0, 2.0, 3.0, 5.0])
    z = np.array([1.0, -1.0, 4.0, 2.0])
    F = np.column_stack([x, z, (x + share * z) / 16.0])
    theta = np.array([1.0, -2.0, 0.5, 3.0])
    found = judged(F, theta, endless(4))
    assert found is not None and not len(found.open_)
    F[1, 2] = np.nextafter(F[1, 2], 9.0)
    found = judged(F, theta, endless(4))
    assert found is not None and found.open_.tolist() == [2]


def test_combinations_that_only_rounding_makes() -> None:
    """Equal as floats add and multiply, not as real numbers."""
    big, one = np.array([2.0**53, 1.0, 3.0]), np.array([1.0, 1.0, 7.0])
    F = np.column_stack([big, one, big + one])
    assert F[0, 2] == 2.0**53
    found = judged(F, np.array([1.0, 2.0, 3.0]), endless(3))
    assert found is not None and found.open_.tolist() == [2]
    third = np.array([1.0 / 3.0, 1.0, 1.0 + 2.0**-52])
    F = np.column_stack([third, one, 3.0 * third / 16.0])
    found = judged(F, np.array([1.0, 2.0, 3.0]), endless(3))
    assert found is not None and found.open_.tolist() == [2]
    # a sixteenth of the least number is none, and nothing is what a float makes of it
    F = np.array([[0.5, 0.0, 0.5], [0.0, 0.5, 1.0 / 32.0], [TINY, TINY, TINY]])
    found = judged(F, np.array([1.0, 2.0, 3.0]), endless(3), digits=True)
    assert found is not None and found.open_.tolist() == [2]


def test_columns_of_zeros_are_orthogonal_to_anything() -> None:
    theta = np.array([1.0, -2.0])
    for F in (np.zeros((2, 2)), np.array([[0.0, 1.0], [0.0, 1.0]])):
        for digits in (False, True):
            found = judged(F, theta, endless(2), digits=digits)
            assert found is not None and not len(found.open_)
    found = judged(np.zeros((2, 1)), theta, endless(2))
    assert found is not None and np.array_equal(found.theta, theta) and np.all(found.reach == TINY)


def test_nothing_but_zero_is_left() -> None:
    """As many columns as rows: θ = 0 within rounding, and exactly where it is 0 already."""
    found = judged(np.eye(3), np.array([1.0, -2.0, 3.0]), endless(3))
    assert found is not None and np.all(np.abs(found.theta) < 1e-15)
    for bounds in (endless(2), (np.zeros(2), np.ones(2)), (np.full(2, -np.inf), np.zeros(2))):
        found = judged(np.ones((2, 1)), np.zeros(2), bounds)
        assert found is not None and not len(found.open_) and not len(found.pull)
        assert not found.theta.any() and not found.reach.any() and found.reach is not found.theta
    found = judged(np.ones((1, 1)), np.ones(1), (np.ones(1), 2.0 * np.ones(1)))  # nowhere to go
    assert found is not None and found.open_.tolist() == [0] and 1.0 <= found.pull[0] <= 1.0 + 1e-13


# --- bounds -------------------------------------------------------------------------------------------------


def test_entries_at_their_bounds_stay() -> None:
    F, bounds = np.ones((4, 1)), (np.zeros(4) - 1.0, np.ones(4))
    theta = np.array([1.0, 0.75, -0.5, -1.0 - 2.0**-40])
    found = judged(F, theta, bounds)
    assert found is not None and found.theta[[0, 3]].tolist() == [1.0, -1.0]
    assert found.reach[[0, 3]].tolist() == [0.0, 0.0] and np.all(found.reach[1:3] > 0.0)
    # the room of each, 0.25 and 0.5, is the share of what it moves
    assert found.theta[1:3] == pytest.approx([0.75 - 0.25 / 3.0, -0.5 - 0.25 * 2.0 / 3.0], rel=1e-12)


@pytest.mark.parametrize(("off", "give"), [(0.0, 2.0**-34), (2.0**-36, 2.0**-34), (2.0**-30, 2.0**-27)])
def test_a_little_is_given_up_where_there_is_no_room(off: float, give: float) -> None:
    """All entries at their bounds, balanced or not: they come inside by what is enough to show it."""
    theta = np.array([1.0, 1.0, -1.0, -1.0])
    F = np.column_stack([np.ones(4), [1.0, -1.0, 1.0, -1.0 + 4.0 * off]])
    bounds = (-np.abs(theta), np.abs(theta))
    found = judged(F, theta, bounds)
    assert found is not None and not len(found.open_)
    assert np.abs(found.theta) == pytest.approx(np.full(4, 1.0 - give), abs=2.0 * off + 1e-15)
    assert np.all(np.abs(found.theta) < 1.0)


def test_what_stays_open_is_told_of_the_point_given() -> None:
    """No share of θ that is given up shows it: then as much is said of all of θ."""
    theta = np.array([1.0, 1.0, -1.0, -1.0])
    F = np.column_stack([np.ones(4), [1.0, -1.0, 1.0, -1.0 + 2.0**-10]])
    found = judged(F, theta, (-np.abs(theta), np.abs(theta)))
    assert found is not None and found.theta.tolist() == theta.tolist() and not found.reach.any()
    assert found.open_.tolist() == [0, 1] and found.pull == pytest.approx([0.0, 2.0**-10], abs=1e-16)
    lower, upper = np.array([-2.0, -2.0, -1.0, -1.0]), np.array([1.0, 1.0, 2.0, 2.0])
    some_room = orthogonal(F, np.array([1.0, 0.5, -1.0, 0.25]), (lower, upper))
    assert some_room is not None and not len(some_room.open_)


@pytest.mark.parametrize(("ends", "tries"), [((-9.0, 9.0), 1), ((-9.0, 0.25), 2), ((0.25, 0.25), 3)])
def test_more_room_is_tried_where_some_have_none(
    ends: tuple[float, float], tries: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A column that rounding alone tells from another stays open: once is enough where all have room."""
    made: list[Any] = []
    whole = balance._basis
    monkeypatch.setattr(balance, "_basis", lambda *given, **named: made.append(0) or whole(*given, **named))
    theta = np.array([1.0, -0.5, -0.75, 0.25])
    F = np.column_stack([np.ones(4), [1.0, 1.0, 1.0, 1.0 + 2.0**-52]])
    found = orthogonal(F, theta, (np.array([-9.0, -9.0, -9.0, ends[0]]), np.array([9.0, 9.0, 9.0, ends[1]])))
    assert found is not None and found.open_.tolist() == [1] and len(made) == tries
    assert np.abs(found.theta - theta).max() <= 2.0**-53  # nothing is given up for it but what rounding takes


def test_a_point_just_outside_is_refused() -> None:
    """θ − reach is compared before it is rounded: the bound of a float may be met by rounding alone."""
    basis = balance._Basis(np.ones((1, 1)), np.zeros(1), np.ones(1), np.ones((1, 1)), 0.0, NONE)
    for low, fits in ((0.5 - 2.0**-54, True), (0.5, False)):
        theta, omega, bounds = (
            np.array([0.5]),
            np.array([0.85 * 2.0**-27]),
            (np.array([low]), np.array([4.0])),
        )
        found = balance._corrected(basis, omega, theta, bounds)
        assert (found is not None) == fits
        assert not fits or found[0][0] - found[1][0] == 0.5  # as floats
        mirrored = balance._corrected(basis, omega, -theta, (-bounds[1], -bounds[0]))
        assert (mirrored is not None) == fits


def test_rooms_of_many_sizes() -> None:
    """Where some entries can hardly move, others do; in more digits too, columns are turned as they count."""
    rng = np.random.default_rng(8)
    F, theta = rng.normal(size=(12, 4)), rng.normal(size=12)
    Q = np.linalg.qr(F)[0]
    theta = theta - Q @ (Q.T @ theta)
    room = 2.0 ** -np.repeat([3.0, 12.0, 25.0], 4)
    for digits in (False, True):
        found = judged(F, theta, (theta - room, theta + room), digits=digits)
        assert found is not None and not len(found.open_) and np.all(found.reach <= 1e-10 * room)


def test_room() -> None:
    """The distance from the nearer bound; the largest is 1, and no bound is as good as the largest θ."""
    theta = np.array([0.5, -1.0, 3.0, 0.0])
    lower, upper = np.array([0.0, -1.0, -np.inf, -2.0]), np.array([4.0, np.inf, np.inf, 1.0])
    assert balance._room(theta, lower, upper).tolist() == [0.5 / 3.0, 0.0, 1.0, 1.0 / 3.0]
    assert balance._room(theta, lower - 1.0, upper + 8.0).tolist() == [0.5, 1.0 / 3.0, 1.0, 1.0]
    assert balance._room(np.array([-4.0, 1.0]), np.array([-np.inf, 0.0]), 3.0 * np.ones(2)).tolist() == [
        1.0,
        1.0 / 7.0,
    ]
    assert balance._room(np.array([-4.0, 1.0]), np.array([-np.inf, 0.0]), np.full(2, np.inf)).tolist() == [
        1.0,
        0.25,
    ]
    assert balance._room(np.ones(2), np.ones(2), 2.0 * np.ones(2)).tolist() == [0.0, 0.0]
    assert balance._room(np.ones(1), np.array([2.0]), np.array([3.0])).tolist() == [0.0]


def test_rows_without_room_leave_columns_open() -> None:
    """A column that only such rows see: its product is what it is, however small."""
    F = np.array([[2.0**-1070, 0.0], [0.0, 1.0], [0.0, 1.0]])
    bounds = np.array([0.75 * 2.0**-6, -4.0, -4.0]), np.array([0.75 * 2.0**-6, 4.0, 4.0])
    theta = np.array([0.75 * 2.0**-6, 1.0, -1.0])
    for digits in (False, True):
        found = judged(F, theta, bounds, digits=digits)
        assert found is not None and found.open_.tolist() == [0]
        assert found.pull[0] == TINY


# --- the formulas -------------------------------------------------------------------------------------------


def test_the_reach() -> None:
    """ω²(‖C_i‖ + doubt_i‖share‖)‖s‖/(1 − η), and what each sum may have rounded."""
    n, k = 200, 20
    rng = np.random.default_rng(6)
    C, omega, theta = np.zeros((n, k)), np.zeros(n), np.zeros(n)
    C[0], C[1] = rng.integers(-8, 9, k), rng.integers(-8, 9, k) * 2.0**-30
    omega[:3], theta[:4] = [0.0, 1.0, 0.5], [-3.0, 0.25, 2.0, 7.0]
    share, doubt = np.linspace(1.0, 2.0, k), np.full(n, 2.0**-40)
    doubt[1], doubt[2] = 2.0**-31, 2.0**-5
    basis = balance._Basis(C, doubt, share, np.eye(k) * 2.0**60, 0.25, NONE)
    found = balance._corrected(basis, omega, theta, endless(n))
    assert found is not None
    assert found[0] == pytest.approx(theta, abs=1e-6)
    size, moved = np.abs(exact(found[0])), exact(found[0])
    s = np.abs(exact(C).T @ moved) + gamma(n) * (np.abs(exact(C)).T @ size)
    s = s + (exact(doubt) @ size) * exact(share)
    few = length(s) / Fraction(3, 4) * (1 + FEW + gamma(n + 3 * k))
    for i in range(3):
        row = length(exact(C[i])) + Fraction(doubt[i]) * length(exact(share))
        same(found[1][i], Fraction(omega[i]) ** 2 * row * few)
    assert not found[1][3:].any()


def test_the_reach_of_what_underflows() -> None:
    """Twice the least number for each product with θ, and for its share of a column."""
    n = 100
    C, omega = np.zeros((n, 2)), np.zeros(n)
    C[0], omega[:2] = [3.0 * 2.0**500, 4.0 * 2.0**500], 1.0
    for k, share in [(1, [0.0]), (2, [3.0 * 2.0**300, 4.0 * 2.0**300])]:
        few = 1 + FEW + gamma(n + 3 * k)
        basis = balance._Basis(C[:, :k], np.zeros(n), np.array(share), np.eye(k), 0.0, NONE)
        found = balance._corrected(basis, omega, np.zeros(n), endless(n))
        assert found is not None and not found[0].any()
        same(found[1][0], length(exact(C[0, :k])) * length(2 * n * LEAST * (1 + exact(share))) * few)
        assert found[1][1] == TINY and not found[1][2:].any()


def test_the_reach_of_a_point_that_nearly_underflows() -> None:
    """What is left of θ, what rounding makes of it, and what underflows are added up."""
    n = 100
    C, omega, theta = np.zeros((n, 1)), np.zeros(n), np.zeros(n)
    C[:2, 0], omega[1], theta[0] = [1.0, 2.0**400], 1.0, 2.0**-1007
    basis = balance._Basis(C, np.zeros(n), np.array([2.0**60]), np.array([[2.0**1000]]), 0.0, NONE)
    found = balance._corrected(basis, omega, theta, endless(n))
    assert found is not None and np.array_equal(found[0], theta)
    s = Fraction(theta[0]) * (1 + gamma(n)) + 2 * n * LEAST * (1 + 2**60)
    same(found[1][1], Fraction(2) ** 400 * s * (1 + FEW + gamma(n + 3)))


def test_the_reach_of_rows_whose_squares_underflow() -> None:
    n, k = 50, 2
    C, omega, theta = np.zeros((n, k)), np.zeros(n), np.zeros(n)
    C[0], C[1], omega[1], theta[0] = [3.0 * 2.0**300, 4.0 * 2.0**300], [2.0**-600, 0.0], 1.0, 2.0**100
    basis = balance._Basis(C, np.zeros(n), np.zeros(k), np.eye(k), 0.0, NONE)
    found = balance._corrected(basis, omega, theta, endless(n))
    assert found is not None
    s = 5 * Fraction(2) ** 400 * (1 + gamma(n))
    same(found[1][1], root(k * LEAST) * s * (1 + FEW + gamma(n + 3 * k)))


def test_lengths_that_would_underflow() -> None:
    """What is left of θ has a length, though its square is no number."""
    F = np.array([[1.0, 1.0], [1.0, -1.0], [1.0, 2.0]])
    for scale in (1e-150, 1e-200, 1e-290):
        theta = np.array([1.0, 2.0, 4.0]) * scale
        found = judged(F, theta, endless(3))
        assert found is not None and np.all(found.reach <= 1e-14 * scale)
        assert np.all(found.reach >= 1e-17 * scale)


def test_the_pull() -> None:
    """|x·θ'| for every θ' within reach: the product, its rounding, what underflows, and |x|·reach."""
    n = 1000
    columns, theta, reach = np.zeros((n, 3)), np.zeros(n), np.zeros(n)
    columns[:4] = [[1.0, 1.0, 1.0], [1.0, 1.0, -2.0], [0.0, 1.0, 4.0], [0.0, 0.5, 0.0]]
    theta[:4] = [3.0, -3.0, 2.0**-60, 0.0]
    size, away = np.abs(exact(columns)).T @ np.abs(exact(theta)), np.abs(exact(columns)).T
    few = 1 + FEW + gamma(n)
    same(
        balance._pull(columns, theta, reach), (np.abs(exact(columns).T @ exact(theta)) + lost(n) * size) * few
    )
    reach[:4] = [2.0**-70, 2.0**-71, 2.0**-65, 2.0**-66]
    wanted = (np.abs(exact(columns).T @ exact(theta)) + away @ exact(reach) + lost(n) * size) * few
    same(balance._pull(columns, theta, reach), wanted)
    same(balance._pull(-columns, theta, reach), wanted)
    nothing = balance._pull(columns, np.zeros(n), np.zeros(n))
    assert nothing.tolist() == [8 * n * TINY] * 3
    rng = np.random.default_rng(7)
    for _ in range(10):  # what is left of products that cancel, which are all rounding
        x, theta = rng.normal(size=(2, 4))
        theta[3] = -float(exact(x[:3]) @ exact(theta[:3]) / Fraction(x[3]))
        truth, size = abs(exact(x) @ exact(theta)), np.abs(exact(x)) @ np.abs(exact(theta))
        found = Fraction(float(balance._pull(x[:, None], theta, np.zeros(4))[0]))
        assert truth <= found <= truth * (1 + 2 * FEW) + 2 * lost(4) * size


def measured(C: Matrix, doubt: Vector, share: Vector, omega: Vector) -> Fraction:
    """η as it is defined: how far CᵀωωC may be from 1, C off by doubt·share, sums rounded."""
    n, k = C.shape
    few = 1 + FEW + gamma(n + k * k)
    turned = exact(omega)[:, None] * exact(C)
    gram = turned.T @ turned
    square = np.trace(gram) * few
    unsure = (length(exact(omega) * exact(doubt)) * length(exact(share)) + 2 * U * root(square)) * few
    off = length(gram - np.eye(k, dtype=int)) + gamma(n + 1) * square
    return (off + unsure * (2 * root(square) + unsure)) * few


def test_how_far_from_orthonormal() -> None:
    n, k = 40, 7
    omega, doubt, share = np.full(n, 0.5), np.zeros(n), np.zeros(k)
    C = np.zeros((n, k))
    C[np.arange(k), np.arange(k)] = 2.0
    for change in range(4):
        if change == 1:
            doubt[:3], share[:2] = [2.0**-9, 2.0**-8, 2.0**-8], [3.0 / 4.0, 1.0]
        elif change == 2:
            C[0, 1], C[10, 3] = 2.0**-5, -(2.0**-4)
        elif change == 3:
            omega[k:], omega[0] = 0.25, 0.5 + 2.0**-8
        found = balance._measured(C, doubt, share, omega, np.array([5]))
        assert found is not None and found.open_.tolist() == [5]
        assert found.C is C and found.doubt is doubt and found.share is share
        same([found.eta], [measured(C, doubt, share, omega)], ulps=24)


def test_what_is_too_far_from_orthonormal() -> None:
    one, zero = np.ones(1), np.zeros(1)
    for side in (1.0, -1.0):
        for off, fits in ((0.49, True), (0.51, False), (0.7, False)):
            C = np.array([[np.sqrt(1.0 + side * off)]])
            assert (balance._measured(C, zero, one, one, NONE) is not None) == fits
    assert balance._measured(np.ones((1, 1)), np.array([0.2]), one, one, NONE) is not None
    assert balance._measured(np.ones((1, 1)), np.array([0.23]), one, one, NONE) is None
    assert balance._measured(np.ones((1, 1)), np.array([np.nan]), one, one, NONE) is None


def test_a_basis_by_cholesky() -> None:
    """Each entry of C = FM is off by gamma(k)‖F_i‖‖M_j‖."""
    F = np.array([[0.5, 0.0], [0.0, 0.25], [0.0, 0.0], [3.0 / 8.0, 0.5]])
    omega = np.array([1.0, 0.5, 1.0, 0.0])
    found = balance._by_cholesky(F, omega)
    assert found is not None and not len(found.open_)
    assert np.array_equal(found.C, F @ np.diag([2.0, 8.0]))
    same(found.share, [Fraction(2), Fraction(8)])
    same(
        found.doubt, [gamma(2) * v for v in (Fraction(1, 2), Fraction(1, 4), root(2 * LEAST), Fraction(5, 8))]
    )
    assert balance._by_cholesky(np.ones((2, 2)), np.ones(2)) is None
    assert balance._by_cholesky(np.ones((2, 1)), np.full(2, np.nan)) is None
    rng = np.random.default_rng(4)
    F = rng.normal(size=(5, 3)) * [1.0, 1e-3, 1.0]
    found = balance._by_cholesky(F, np.ones(5))
    assert found is not None
    same(found.doubt, [gamma(3) * length(row) for row in exact(F)])
    M = np.linalg.inv(np.linalg.cholesky(F.T @ F)).T
    assert found.share == pytest.approx(np.sqrt((M * M).sum(axis=0)))


def followed(
    F: Matrix, monkeypatch: pytest.MonkeyPatch, passes: int, rests: list[float] | None = None
) -> list[tuple[Any, ...]]:
    """The first so many passes over F, however good: what each made, with which M; its rest may be forged."""
    made: list[tuple[Any, ...]] = []
    product, measure = balance.product, balance._measured

    def multiplied(high: Matrix, low: Matrix, M: Matrix) -> tuple[Matrix, Matrix]:
        value, rest = product(high, low, M)
        if rests is not None:
            rest = np.full_like(rest, rests[len(made)])
        made.append((high, low, M, value, rest))
        return value, rest

    def refused(C: Matrix, doubt: Vector, share: Vector, *others: Any) -> Any:
        assert C is made[-1][3] and share.tolist() == [1.0] * C.shape[1]
        made[-1] = (*made[-1], doubt)
        return measure(C, doubt, share, *others) if len(made) == passes else None

    with monkeypatch.context() as patch:
        patch.setattr(balance, "product", multiplied)
        patch.setattr(balance, "_measured", refused)
        assert (balance._basis(F, np.ones(len(F)), exact=True) is None) == (passes > 3)
    return made


def turned(rng: np.random.Generator, k: int) -> Matrix:
    """Columns that are nearly orthogonal, of many lengths, and a row of nothing behind them."""
    F = np.linalg.qr(rng.normal(size=(k + 1, k)))[0] * rng.uniform(0.5, 1.0, k)
    return np.vstack([F, np.zeros(k)])


@pytest.mark.parametrize(("k", "rests"), [(2, [2.0**-54, -(2.0**-53), 0.0]), (2, [0.0]), (20, [0.0])])
def test_a_basis_in_twice_the_digits(k: int, rests: list[float], monkeypatch: pytest.MonkeyPatch) -> None:
    """C is off by what its products lose, pass after pass, each times the M of those behind it."""
    error = np.zeros((k + 2, k), dtype=object)
    for high, low, M, _, rest, doubt in followed(
        turned(np.random.default_rng(5), k), monkeypatch, len(rests), rests
    ):
        size = np.abs(exact(M))
        error = (
            error @ size + lost(k) * (np.abs(exact(high)) @ size) + gamma(k + 2) * (np.abs(exact(low)) @ size)
        )
        error = error * (1 + FEW + gamma(k)) + 16 * k * LEAST
        whole = (error + np.abs(exact(rest))).max(axis=1) * (1 + FEW)
        same(doubt[:-1], whole[:-1], ulps=8)
        assert rest.any() or len(rests) > 1 or doubt[-1] == 16 * k * TINY


@pytest.mark.parametrize("passes", [1, 2, 3])
def test_a_basis_is_known_as_well_as_it_says(passes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    F = turned(np.random.default_rng(9), 3)
    F[:, 2] = F[:, 0] + 2.0**-40 * F[:, 2]
    made = followed(F, monkeypatch, passes)
    whole = exact(F)
    for _, _, M, C, _, doubt in made:
        whole = whole @ exact(M)
        assert np.all(np.abs(whole - exact(C)) <= exact(doubt)[:, None])


def test_passes_are_as_many_as_it_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(followed(np.eye(2), monkeypatch, 9)) == 3
    F = np.array([[1.0, 1.0], [1.0, 1.0 + 2.0**-40], [1.0, 1.0]])
    assert balance._basis(F, np.ones(3), exact=True) is not None


def test_more_digits_where_they_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []
    for name in ("_by_cholesky", "_independent"):
        whole = getattr(balance, name)
        monkeypatch.setattr(balance, name, lambda *given, f=whole, n=name: (calls.append(n), f(*given))[1])
    F, theta = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]), np.array([1.0, 2.0, 3.0])
    for digits, wanted in ((False, ["_by_cholesky"]), (True, ["_independent"])):
        calls.clear()
        assert orthogonal(F, theta, endless(3), exact=digits) is not None
        assert calls == wanted
    calls.clear()
    assert orthogonal(F, theta, endless(3)) is not None
    assert calls == ["_by_cholesky"]
    calls.clear()
    F[:, 1] = F[:, 0] * (1.0 + 2.0**-30 * np.arange(3))
    assert orthogonal(F, theta, endless(3)) is not None
    assert calls == ["_by_cholesky", "_independent"]


def test_what_cannot_be_inverted(monkeypatch: pytest.MonkeyPatch) -> None:
    def singular(*given: Any, **others: Any) -> Any:
        raise np.linalg.LinAlgError("singular")

    monkeypatch.setattr(np.linalg, "inv", singular)
    assert orthogonal(np.ones((3, 1)), np.arange(3.0), endless(3)) is None
