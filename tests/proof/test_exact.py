"""Exact decisions against a judge in rational arithmetic, and against points that floats would let pass."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from dualgap.arrays import Matrix, Vector
from dualgap.kernel_machines.hull import Hulls, nearing, plane
from dualgap.proof import exact
from dualgap.proof.exact import clears, hulls_meet, leads, margin_at_most, separates, signs, whole

FORMS = (np.asarray, sp.csr_array, sp.csc_array, sp.coo_array, sp.csr_matrix)
TINY = 5e-324


def nearest_points(X: Matrix, y: Vector, *, intercept: bool, factors: Vector | None = None) -> Hulls:
    return list(nearing(X, y, intercept=intercept, factors=factors))[-1]


def dot(x: Any, w: Any, *more: float) -> Fraction:
    terms = [Fraction(float(a)) * Fraction(float(b)) for a, b in zip(x, w, strict=True)]
    return sum([*terms, *(Fraction(float(value)) for value in more)], Fraction(0))


def sign(value: Fraction) -> int:
    return (value > 0) - (value < 0)


def judged(X: Matrix, w: Vector, level: float) -> list[int]:
    return [sign(dot(x, w, level)) for x in X]


@pytest.mark.parametrize("form", FORMS)
@given(seed=st.integers(0, 10_000))
@settings(max_examples=25, deadline=None)
def test_signs_at_all_scales(form: Any, seed: int) -> None:
    """Rows on the plane, an ulp beside it, and anywhere, with numbers from subnormal to nearly infinite."""
    rng = np.random.default_rng(seed)
    n, p = int(rng.integers(0, 9)), int(rng.integers(0, 6))
    top = int(rng.integers(-1070, 1000))
    X = np.ldexp(rng.integers(-4, 5, (n, p)), rng.integers(top - 8, top + 8, (n, p)))
    w = np.ldexp(rng.integers(-4, 5, p), rng.integers(-8, 8, p) + min(max(-top, -1060), 1000))
    level = float(rng.choice([0.0, 1.0, TINY, -1e308, rng.normal()]))
    if n and p > 1 and rng.random() < 0.5:
        X[:, 0], w[0], w[1] = X[:, 1], 3.0, -3.0
        X[0, 0] = np.nextafter(X[0, 0], np.inf)
    assert signs(form(X), w, level).tolist() == judged(X, w, level)


def test_the_last_bit_counts() -> None:
    big = 2.0**53
    X = np.array([[big, 1.0], [big + 2.0, 1.0], [big - 1.0, 1.0], [big, -1.0]])
    w, level = np.array([1.0, 1.0]), -big
    assert (X @ w + level).tolist() == [0.0, 4.0, 0.0, -1.0]  # what floats make of 1, 3, 0 and −1
    assert signs(X, w, level).tolist() == [1, 1, 0, -1]


def test_rounding_of_either_sign_is_not_believed() -> None:
    """Sums that floats round to the wrong side of zero, however they are ordered."""
    rng = np.random.default_rng(0)
    wrong = 0
    for _ in range(200):
        x = rng.normal(size=6)
        w = rng.normal(size=6)
        w[-1] = -float(dot(x[:-1], w[:-1]) / Fraction(float(x[-1])))
        level = float(rng.choice([0.0, 1e-17, -1e-17]))
        truth = sign(dot(x, w, level))
        wrong += int(np.sign(x @ w + level)) == -truth
        assert signs(x[None], w, level)[0] == truth
        both = np.vstack([np.zeros(6), w]), np.array([0.0, level])
        assert leads(x[None], np.array([0]), *both).tolist() == [[0, -truth]]  # the other class cancels
    assert wrong >= 5


@pytest.mark.parametrize("k", [1, 2, 5])
@pytest.mark.parametrize("own", [0, 1])
def test_what_floats_may_be_off_by(k: int, own: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sizes of both classes, and k + 5 times a rounding and an underflow, made so large that they show."""
    asked: list[int] = []
    row = exact._row

    def watched(part: Any, i: int) -> Any:
        asked.append(i)
        return row(part, i)

    monkeypatch.setattr(exact, "_row", watched)
    X, w, level = np.ones((1, k)), np.array([np.full(k, 3.0), np.full(k, -1.0)]), np.array([-0.5, 2.0])
    ahead, size = (1 if own == 0 else -1) * (4.0 * k - 2.5), 4.0 * k + 2.5
    for rounded, under in ((2.0**-6, 2.0**-1073), (2.0**-52, 2.0**-6)):
        monkeypatch.setattr(exact, "ROUNDED", rounded)
        monkeypatch.setattr(exact, "SMALLEST", under / 2.0)
        off = (k + 5) * (rounded * size + under)
        for target, open_ in ((1.001 * off, False), (0.999 * off, True)):
            for side in (1.0, -1.0):
                asked.clear()
                found = leads(X, np.array([own]), w, level, ahead - side * target)
                assert found[0].tolist() == ([0, side] if own == 0 else [side, 0])
                assert bool(asked) == open_


def test_what_underflows_is_not_lost() -> None:
    half, unit = 2.0**-537, 2.0**-538
    assert half * unit == 0.0
    X = np.array([[half, half, half, half * 2]])
    w = np.array([unit, unit, unit, -unit])
    assert float((X @ w)[0]) < 0.0 < dot(X[0], w)
    assert signs(X, w).tolist() == [1]
    assert signs(np.array([[1e-200], [-1e-200], [0.0]]), np.array([1e-200])).tolist() == [1, -1, 0]


def test_overflow_decides_nothing() -> None:
    X = np.array([[1e300, 1e300, 1.0], [1e300, 1e300, -1.0], [1e300, -1e300, 0.0], [1e300, 0.0, 0.0]])
    w = np.array([1e300, -1e300, 1.0])
    assert signs(X, w).tolist() == [1, -1, 1, 1]
    assert signs(X, w, -1.0).tolist() == [0, -1, 1, 1]


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_what_is_no_number_proves_nothing(bad: float) -> None:
    X, y = np.array([[1.0], [-1.0]]), np.array([1.0, -1.0])
    assert separates(X, y, np.ones(1), 0.0)
    assert not separates(X, y, np.array([bad]), 0.0)
    assert not separates(X, y, np.ones(1), bad)
    assert not clears(X, y, np.array([bad]), 0.0)
    assert not clears(X, y, np.ones(1), bad)
    two = np.column_stack([X, X])
    assert separates(two, y, np.ones(2)) and not separates(two, y, np.array([1.0, bad]))
    assert not separates(X, np.array([1.0, 0.0]), np.array([[0.0], [1.0]]), np.array([0.0, bad]))
    for broken in (np.array([[bad], [-1.0]]), sp.csr_array(np.array([[bad], [-1.0]]))):
        with pytest.raises((ValueError, OverflowError)):
            signs(broken, np.ones(1))
        with pytest.raises((ValueError, OverflowError)):
            hulls_meet(broken, y, np.ones(2), intercept=True)
    weights = np.array([1.0, bad])
    assert not hulls_meet(np.zeros((2, 1)), y, weights, intercept=True)
    assert margin_at_most(X, y, weights, intercept=True) == np.inf


def test_blocks_of_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    X, w = rng.integers(-2, 3, (37, 3)).astype(float), np.array([1.0, -2.0, 1.0])
    truth = judged(X, w, 0.0)
    for block in (1, 3, 10, 111):
        monkeypatch.setattr("dualgap.proof.rows.CELLS", block)
        for form in FORMS:
            assert signs(form(X), w).tolist() == truth


def test_rows_that_floats_decide_are_left_to_them(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(part: Any, i: int) -> Any:
        raise AssertionError("integers were asked")

    rng = np.random.default_rng(2)
    X = rng.normal(size=(1000, 20))
    monkeypatch.setattr(exact, "_row", never)
    w = rng.normal(size=20)
    truth = np.sign(X @ w)
    assert np.array_equal(signs(X, w), truth)
    with pytest.raises(AssertionError, match="asked"):
        signs(X, w, -float(X[3] @ w))


def test_separation() -> None:
    X = np.array([[1.0, 5.0], [0.0, -3.0], [-1.0, 2.0]])
    w = np.array([1.0, 0.0])
    assert separates(X, np.array([1.0, 1.0, -1.0]), w)
    assert separates(X, np.array([1.0, -1.0, -1.0]), w)
    assert not separates(X, np.array([1.0, 1.0, 1.0]), w)
    assert not separates(X, np.array([-1.0, -1.0, 1.0]), w)
    assert separates(X, np.array([1.0, 1.0, 1.0]), w, 1.0)
    assert not separates(X, np.array([1.0, 1.0, 1.0]), w, 1.0 - 2.0**-53)
    assert not separates(X, np.array([1.0, -1.0, -1.0]), np.zeros(2))
    assert not separates(X[:0], np.zeros(0), w, 1.0)
    shifted = 1.0 + np.array([-1.0, -0.5, 0.5, 1.0, 1e-10, -1e-10])[:, None]
    y = np.array([-1.0, -1.0, 1.0, 1.0, -1.0, 1.0])
    assert not any(separates(shifted, y, np.ones(1), -value) for value in shifted[:, 0])


def test_numbers_in_lists_and_labels_of_zero() -> None:
    X: Any = [[1, 5], [0, -3], [-1, 2]]
    table, half = np.array(X), np.array(X, dtype=np.float32)
    for y in (np.array([1.0, 1.0, -1.0]), np.array([1, 1, 0])):
        w: Any = [1, 0]
        assert separates(table, y, w) and separates(half, y, w, 0)
        assert not separates(table, -y, w) and not clears(table, y, w, 0)
    weights: Any = [1, 2, 1]
    line, sides = np.array([[1.0], [2.0], [3.0]]), np.array([1.0, 0.0, 1.0])
    assert hulls_meet(line, sides, weights, intercept=True) is True
    assert margin_at_most(line, sides, weights, intercept=True) <= 4 * TINY


def test_levels_that_swallow_the_rest() -> None:
    """1.2 beside 1e16 is 2 to floats, which is more than 1.5."""
    x, W = np.array([[1.2]]), np.array([[1.0], [0.0]])
    for level in (1e16, -1e16):
        both = np.array([level, level])
        assert float((x @ W.T + both)[0] @ [1.0, -1.0]) == 2.0
        assert leads(x, np.array([0]), W, both, 1.5).tolist() == [[0, -1]]
        assert leads(x, np.array([0]), W, both, 1.0).tolist() == [[0, 1]]


def test_classes_ahead_of_each_other() -> None:
    """Every pair counts, and differences of weights are not rounded."""
    X = np.array([[1.0], [2.0], [4.0]])
    W, b = np.array([[0.0], [2.0], [3.0]]), np.array([3.0, 0.0, -3.0])
    scores = X @ W.T + b  # 3 2 0, 3 4 3, 3 8 9
    assert scores.tolist() == [[3.0, 2.0, 0.0], [3.0, 4.0, 3.0], [3.0, 8.0, 9.0]]
    assert leads(X, np.array([0, 1, 2]), W, b).tolist() == [[0, 1, 1], [1, 0, 1], [1, 1, 0]]
    assert leads(X, np.array([0, 1, 2]), W, b, 1.0).tolist() == [[0, 0, 1], [0, 0, 0], [1, 0, 0]]
    assert leads(X, np.array([2, 2, 2]), W, b).tolist() == [[-1, -1, 0], [0, -1, 0], [1, 1, 0]]
    y = np.array([0.0, 1.0, 2.0])
    assert separates(X, y, W, b) and separates(sp.csr_array(X), y, W, b)
    assert clears(X, y, W, b) and not clears(X, y, W, b, 1.0 + 2.0**-52)
    assert not separates(X, np.array([0.0, 2.0, 2.0]), W, b)
    assert not separates(X, y, np.ones((3, 1)), np.ones(3))
    assert separates(X, np.array([2, 2, 2]), W) and not separates(X, np.array([1, 1, 1]), W)
    large = np.array([[1.0], [1.0 + 2.0**-52], [-(2.0**-52)]])
    assert leads(np.array([[1.0], [2.0**60]]), np.array([1, 1]), large, np.zeros(3)).tolist() == [
        [1, 0, 1],
        [1, 0, 1],
    ]
    level = np.array([0.0, 2.0**-60, 1.0])
    assert leads(np.ones((1, 1)), np.array([1]), np.ones((3, 1)), level).tolist() == [[1, 0, -1]]


@given(st.integers(0, 10_000))
@settings(max_examples=60, deadline=None)
def test_classes_against_rationals(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, p, classes = 6, int(rng.integers(1, 4)), int(rng.integers(2, 5))
    X = rng.integers(-3, 4, (n, p)) + rng.choice([0.0, 1e9, 0.1])
    W = rng.integers(-2, 3, (classes, p)) * rng.choice([1.0, 0.1, 1e-9])
    b = np.array([float(-dot(X[0], w)) for w in W]) + rng.integers(0, 2, classes) * rng.choice([0.0, 1e-9])
    own, by = rng.integers(0, classes, n), float(rng.choice([0.0, 1.0, 1e-9]))
    expected = [
        [0 if k == mine else sign(dot(x, W[mine], b[mine], -by) - dot(x, W[k], b[k])) for k in range(classes)]
        for x, mine in zip(X, own, strict=True)
    ]
    assert leads(X, own, W, b, by).tolist() == expected
    assert leads(sp.csr_array(X), own, W, b, by).tolist() == expected


def test_a_margin_of_one_is_one() -> None:
    X, y = np.array([[1.0], [-1.0], [3.0]]), np.array([1.0, -1.0, 1.0])
    w = np.ones(1)
    assert clears(X, y, w, 0.0)
    assert not clears(X, y, np.array([1.0 - 2.0**-53]), 0.0)
    assert not clears(X, y, w, TINY) and not clears(X, y, w, -TINY)
    assert clears(X, y, np.array([2.0]), 0.0, 2.0) and not clears(X, y, w, 0.0, 2.0)
    far = X + 1e9
    assert clears(far, y, w, -1e9) and not clears(far, y, np.array([0.5]), -0.5e9)


def planes(X: Matrix, y: Vector, *, intercept: bool) -> bool:
    """Has some plane all rows strictly on their side? By elimination (Fourier and Motzkin) of rationals."""
    rows = {
        tuple(Fraction(float(v)) * int(s) for v in (*x, *([1.0] if intercept else [])))
        for x, s in zip(X, y, strict=True)
    }
    for _ in range(X.shape[1] + intercept):
        if not all(any(row) for row in rows):
            return False
        above, below = [r for r in rows if r[0] > 0], [r for r in rows if r[0] < 0]
        rows = {r[1:] for r in rows if r[0] == 0} | {
            tuple(u / a[0] - v / b[0] for u, v in zip(a[1:], b[1:], strict=True))
            for a, b in itertools.product(above, below)
        }
    return not rows


@given(st.integers(0, 10_000), st.booleans())
@settings(max_examples=150, deadline=None)
def test_hulls_are_never_said_to_meet_that_do_not(seed: int, intercept: bool) -> None:
    """Any weights whatever, the data touching, nearly touching or apart."""
    rng = np.random.default_rng(seed)
    n, p = int(rng.integers(2, 7)), int(rng.integers(1, 3))
    X = rng.integers(-2, 3, (n, p)) + rng.choice([0.0, 1e9, 0.1])
    X[rng.random((n, p)) < 0.3] += rng.choice([0.0, 1e-7, 1e-12])
    y = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    weights = rng.choice([0.0, 1.0, 0.5, 1e-9, -1.0, 3.3], n)
    if hulls_meet(X, y, weights, intercept=intercept):
        assert not planes(X, y, intercept=intercept)
        assert hulls_meet(sp.csr_array(X), y, weights, intercept=intercept)
    if hulls_meet(X, y, np.ones(n), intercept=intercept):
        assert not planes(X, y, intercept=intercept)


def overlapping(
    rng: np.random.Generator, p: int, offset: float, *, intercept: bool
) -> tuple[Matrix, Vector, Vector]:
    """As few rows as can meet, generic ones, with the weights that make them, rounded."""
    s = p + 1 + intercept
    t = rng.uniform(0.2, 1.0, s)
    y = np.where(np.arange(s) % 2 == 0, 1.0, -1.0)
    if intercept:
        t[y > 0] /= t[y > 0].sum()
        t[y < 0] /= t[y < 0].sum()
    X = rng.normal(size=(s, p))
    X[-1] = -y[-1] * ((t * y)[:-1] @ X[:-1]) / t[-1]
    return X + offset, y, t


@pytest.mark.parametrize("route", ["nearby", "exactly"])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("p", [1, 2, 5, 12])
def test_generic_hulls_that_meet(
    p: int, intercept: bool, route: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One combination is left, and it is rational: both ways to show it do, and not where it has gone."""
    other = "_meet_exactly" if route == "nearby" else "_meet_nearby"
    monkeypatch.setattr(exact, other, lambda table, near: False)
    rng = np.random.default_rng(p)
    for offset in (0.0, 1e6) if intercept else (0.0,):
        X, y, t = overlapping(rng, p, offset, intercept=intercept)
        assert hulls_meet(X, y, t, intercept=intercept)
        assert hulls_meet(sp.csc_array(X), y, 1e-306 * t, intercept=intercept)
        for lost in range(len(t)):
            fewer = np.where(np.arange(len(t)) == lost, 0.0, t)
            assert not hulls_meet(X, y, fewer, intercept=intercept)
            flipped = np.where(np.arange(len(t)) == lost, -y, y)
            assert not hulls_meet(X, flipped, t, intercept=intercept)


def test_hulls_that_touch_in_a_point() -> None:
    X = np.array([[0.1, 0.7], [0.1, 0.7], [5.0, 1.0], [-3.0, 2.0]])
    y = np.array([1.0, -1.0, 1.0, -1.0])
    assert hulls_meet(X, y, np.array([1.0, 1.0, 0.0, 0.0]), intercept=True)
    assert hulls_meet(X, y, np.array([1.0, 1.0, 1e-17, 2e-17]), intercept=True)
    assert hulls_meet(X, y, np.array([1.0, 1.0 - 1e-15, 1e-16, 0.0]), intercept=True)
    X[1, 1] = np.nextafter(0.7, 1.0)
    assert not hulls_meet(X, y, np.array([1.0, 1.0, 0.0, 0.0]), intercept=True)
    assert not hulls_meet(X, y, np.array([1.0, 1.0, 1e-17, 2e-17]), intercept=True)


def test_what_is_too_light_is_let_go() -> None:
    """Rounding left weight where none belongs: as it is, it would pull another weight below zero."""
    X = np.array([[0.0, 0.0], [0.0, 0.0], [0.0, 1.0], [0.0, 2.0]])
    y = np.array([1.0, -1.0, 1.0, 1.0])
    assert hulls_meet(X, y, np.array([1.0, 1.0, 2e-17, 1e-17]), intercept=True)
    assert not hulls_meet(X[1:], y[1:], np.ones(3), intercept=True)


@pytest.mark.parametrize("route", ["nearby", "exactly"])
def test_the_heaviest_rows_carry_the_proof(route: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows that hold nothing but rounding are no basis, wherever in the table they are."""
    other = "_meet_exactly" if route == "nearby" else "_meet_nearby"
    monkeypatch.setattr(exact, other, lambda table, near: False)
    for seed in range(12):
        rng = np.random.default_rng(seed)
        X, y, t = overlapping(rng, 3, 0.0, intercept=True)
        X = np.vstack([rng.normal(size=(1, 3)), X, rng.normal(size=(1, 3))])
        y, t = np.concatenate([[1.0], y, [-1.0]]), np.concatenate([[1e-17], t, [2e-17]])
        assert hulls_meet(X, y, t, intercept=True)


def test_without_an_intercept_the_hull_holds_zero() -> None:
    assert hulls_meet(np.zeros((1, 2)), np.ones(1), np.ones(1), intercept=False)
    X = np.array([[1.0, 2.0], [3.0, 6.0]])
    assert hulls_meet(X, np.array([1.0, -1.0]), np.array([1.0, 0.3]), intercept=False)
    assert hulls_meet(X, np.array([1.0, 1.0]), np.ones(2), intercept=False) is False
    assert not hulls_meet(X, np.array([1.0, -1.0]), np.ones(2), intercept=True)
    assert not hulls_meet(X, np.array([1.0, -1.0]), np.zeros(2), intercept=False)
    assert not hulls_meet(X, np.array([1.0, -1.0]), -np.ones(2), intercept=False)
    assert not hulls_meet(X[:0], np.zeros(0), np.zeros(0), intercept=True)


def test_more_columns_than_rows() -> None:
    """Rows that meet in a space of many columns, dependent ones among them, by exact numbers alone."""
    rng = np.random.default_rng(5)
    A = rng.integers(-9, 10, (4, 30)).astype(float)
    X = np.vstack([A, A.sum(axis=0) / 4.0])
    y = np.array([1.0, 1.0, 1.0, 1.0, -1.0])
    assert hulls_meet(X, y, np.array([0.25, 0.25, 0.25, 0.25 + 1e-12, 1.0]), intercept=True)
    X[4, 7] += 2.0**-40
    assert not hulls_meet(X, y, np.array([0.25, 0.25, 0.25, 0.25, 1.0]), intercept=True)


def test_beyond_elimination_generic_data_are_still_decided(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(table: Any, near: Any) -> bool:
        raise AssertionError("would take minutes")

    monkeypatch.setattr(exact, "_meet_exactly", never)
    X, y, t = overlapping(np.random.default_rng(0), 150, 0.0, intercept=True)
    assert hulls_meet(X, y, t, intercept=True)
    assert not hulls_meet(X, y, np.where(np.arange(len(t)) == 9, 0.0, t), intercept=True)
    doubled = np.column_stack([X, X[:, 0]])
    assert not hulls_meet(doubled, y, t, intercept=True)
    with pytest.raises(AssertionError, match="minutes"):
        hulls_meet(doubled[:, [0, -1]], y, t, intercept=True)


def test_what_elimination_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Up to 64 equations, which take a second; more would take too long."""
    asked: list[int] = []
    monkeypatch.setattr(exact, "_meet_nearby", lambda table, near: False)
    monkeypatch.setattr(exact, "_meet_exactly", lambda table, near: bool(asked.append(len(table))))
    rng = np.random.default_rng(0)
    for p, intercept in ((63, True), (64, False), (64, True), (65, False), (100, False)):
        y = np.where(np.arange(70) % 2 == 0, 1.0, -1.0)
        assert not hulls_meet(rng.normal(size=(70, p)), y, np.ones(70), intercept=intercept)
    assert asked == [64, 64]


def test_far_hulls_are_seen_from_one_of_their_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two lines that cross, 2⁵⁰ from zero: counted from there, the equations would be singular to floats."""
    monkeypatch.setattr(exact, "_meet_exactly", lambda table, near: False)
    X, y = np.array([[0.0, 0.0], [0.0, 4.0], [4.0, 4.0], [4.0, 0.0]]), np.array([1.0, -1.0, 1.0, -1.0])
    for offset in (0.0, 2.0**50):
        assert hulls_meet(X + offset, y, np.ones(4), intercept=True)


def integers(rows: Any) -> Any:
    return np.array(rows, dtype=object)


def test_light_weights_have_little_to_give() -> None:
    """t_1 = −t_2/4: from weights of 0.3 and 0.2 a move of 0.35 is more than there is."""
    near = np.array([1.0, 0.3, 0.2])
    assert not exact._meet_nearby(integers([[1, 0, -5], [0, 4, 1]]), near)
    assert exact._meet_nearby(integers([[1, 0, -5], [0, 2, -3]]), near)


def test_the_rounding_of_an_inverse(monkeypatch: pytest.MonkeyPatch) -> None:
    """m + 5 roundings of |R||C|, made so large that they show; 0.4 is as much as there may be."""
    for m in (1, 3):
        table = integers(np.column_stack([np.eye(m, dtype=int), -np.ones(m, dtype=int)]).tolist())
        for share, near in ((0.999, True), (1.0, False), (1.001, False)):
            monkeypatch.setattr(exact, "ROUNDED", share * 0.4 / (m + 5))
            assert exact._meet_nearby(table, np.ones(m + 1)) is near


def test_a_nearby_solution_is_near() -> None:
    """t = 1 solves none of these, and what does is further off than t itself: no proof."""
    for gone in (1.0, 0.4):  # the solution of t_1 = gone·t_2 moves t_1 by 1 − gone
        table = integers([[10, round(-10 * gone)]])
        assert exact._meet_nearby(table, np.ones(2)) is (gone == 1.0)
    assert not exact._meet_nearby(integers([[1, -1], [1, -1], [1, 1]]), np.ones(2))
    assert not exact._meet_nearby(integers([[1, -1], [1, -1]]), np.ones(2))  # singular
    nearly = integers([[2**60, -(2**60), 0], [2**60, -(2**60) + 1, -1]])
    assert not exact._meet_nearby(nearly, np.ones(3))  # singular to rounding
    assert exact._meet_exactly(nearly, np.ones(3))


# Tables without a solution t > 0, so nearly singular that floats see one: each passes if a part of what is
# charged for rounding is left out.
CLOSE = (
    [[36028797018963782, 36028797018963921, -72057594037927677],
     [36028797018963696, 36028797018963835, -72057594037927574]],
    [[-2305843009213694338, -2305843009213693867, 4611686018427388084],
     [-2305843009213694136, -2305843009213693658, 4611686018427387832]],
    [[-18014398509481736, -18014398509481670, 36028797018963433],
     [-18014398509482079, -18014398509482085, 36028797018964276]],
    [[-18014398509481800, -18014398509481693, 36028797018963791],
     [-18014398509482062, -18014398509481627, 36028797018963404]],
)  # fmt: skip


@pytest.mark.parametrize("rows", CLOSE)
def test_rounding_is_no_solution(rows: list[list[int]]) -> None:
    assert not exact._meet_nearby(integers(rows), np.ones(3))
    assert not exact._meet_exactly(integers(rows), np.ones(3))


def test_row_sums_count() -> None:
    """Rounding of 0.16 in each row but one, all in the first column: a solution that is there is found."""
    m, light = 5, 2**45
    basis = np.eye(m, dtype=int).astype(object)
    basis[:, 0] = 1
    last = [-light - (i > 0) for i in range(m)]
    table = np.column_stack([basis, integers(last)])
    near = np.array([1.0] + m * [1.0 / light])
    assert exact._meet_nearby(table, near)


def test_an_inverse_need_not_be_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """10 t_1 + 3 t_3 = 0 has no solution t > 0, whatever is taken for the inverse."""
    table = integers([[10, 0, 3], [0, 10, -10]])
    assert not exact._meet_nearby(table, np.ones(3))
    for wrong in ([[0.5, 0.9], [0.0, 1.0]], [[0.1, 0.0], [0.0, 1.0]], [[0.0, 0.0], [0.0, 0.0]]):
        monkeypatch.setattr(np.linalg, "inv", lambda C, R=wrong: np.array(R))
        assert not exact._meet_nearby(table, np.ones(3))


def test_what_is_nearby_is_there() -> None:
    rng = np.random.default_rng(0)
    near = 0
    for _ in range(3000):
        m, bits = int(rng.integers(1, 4)), int(rng.integers(20, 62))
        base = [int(value) for value in rng.integers(-3, 4, m)]
        noise = rng.integers(-400, 401, (m, m + 1))
        table = [[base[i] * 2**bits + int(noise[i, j]) for j in range(m)] for i in range(m)]
        full = integers([[*row, -sum(row) + int(noise[i, m]) // 40] for i, row in enumerate(table)])
        if (full != 0).any(axis=1).all() and exact._meet_nearby(full, np.ones(m + 1)):
            near += 1
            assert exact._meet_exactly(full, np.ones(m + 1))
    assert near > 100


def test_the_proof_is_checked() -> None:
    table = integers([[1, 2, -3], [0, 1, -1]])
    assert exact._solves(table, integers([1, 1, 1]))
    assert not exact._solves(table, integers([1, 1, 2]))
    assert not exact._solves(table, integers([-1, -1, -1]))
    assert not exact._solves(table, integers([0, 0, 0]))
    assert not exact._solves(table, integers([2, 1, 1]))


@given(st.integers(0, 10_000))
@settings(max_examples=60, deadline=None)
def test_elimination(seed: int) -> None:
    rng = np.random.default_rng(seed)
    m, s = int(rng.integers(0, 5)), int(rng.integers(1, 7))
    table = rng.integers(-3, 4, (m, s)).astype(object) * (10**20 if seed % 2 else 1)
    before = table.copy()
    pivots, solved, unit = exact.eliminated(table)
    assert np.array_equal(table, before)
    rank = len(pivots)
    assert rank == (np.linalg.matrix_rank(table.astype(float)) if m else 0)
    assert not solved[rank:].any()
    assert np.array_equal(solved[:rank][:, pivots], np.eye(rank, dtype=int).astype(object) * unit)
    for j in set(range(s)) - set(pivots):  # unit · column_j = Σ solved · columns of the pivots, all before it
        assert np.array_equal(unit * table[:, j], table[:, pivots] @ solved[:rank, j])
        assert not any(solved[k, j] for k in range(rank) if pivots[k] > j)


def test_floats_as_integers() -> None:
    """Python's integers, never NumPy's, which round or wrap."""
    for values, numbers, unit in [
        ([0.75, -2.0, 0.0], [3, -8, 0], 4),
        ([TINY], [1], 2**1074),
        ([], [], 1),
        ([1e300], [int(1e300)], 1),
        ([1.5 * 2.0**63, -1.0], [3 * 2**62, -1], 1),
    ]:
        found, below = whole(values)
        assert found.tolist() == numbers and below == unit
        assert all(type(number) is int for number in found)


@given(st.integers(0, 10_000), st.booleans())
@settings(max_examples=80, deadline=None)
def test_a_margin_is_bounded_from_above_and_tightly(seed: int, intercept: bool) -> None:
    rng = np.random.default_rng(seed)
    n, p = int(rng.integers(2, 8)), int(rng.integers(1, 5))
    scale = float(rng.choice([1.0, 1e-160, 1e150, 1e-310]))
    X = (rng.normal(size=(n, p)) + rng.choice([0.0, 1e8])) * scale
    y = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
    weights = rng.choice([0.0, 1e-20, 1.0, 0.3, 7.0], n)
    weights[:2] = rng.uniform(0.5, 1.0, 2)
    factors = rng.uniform(0.5, 2.0, p) if seed % 2 else None
    t = [Fraction(float(v)) for v in weights]
    if intercept:
        sums = {s: sum(v for v, side in zip(t, y, strict=True) if side == s) for s in (1.0, -1.0)}
        t = [v / sums[side] for v, side in zip(t, y, strict=True)]
    square = Fraction(0)
    for j in range(p):
        terms = [v * int(s) * Fraction(float(x)) for v, s, x in zip(t, y, X[:, j], strict=True)]
        square += (sum(terms, Fraction(0)) / (1 if factors is None else Fraction(float(factors[j])))) ** 2
    square /= sum(t, Fraction(0)) ** 2
    for form in (np.asarray, sp.csr_array):
        found = Fraction(margin_at_most(form(X), y, weights, intercept=intercept, factors=factors))
        assert found**2 >= square
        slack = Fraction(2 * p + 3) * Fraction(TINY)
        assert (found - slack) ** 2 <= square * (1 + Fraction(1, 2**49)) or found <= slack


def test_a_margin_of_nothing_known() -> None:
    X, y = np.array([[0.0], [2.0], [5.0]]), np.array([-1.0, 1.0, 1.0])
    assert margin_at_most(X, y, np.array([1.0, 1.0, 0.0]), intercept=True) == pytest.approx(1.0, rel=1e-15)
    assert margin_at_most(X, y, np.array([1.0, 1.0, 1.0]), intercept=True) == pytest.approx(1.75, rel=1e-15)
    assert margin_at_most(X, y, np.array([0.0, 1.0, 1.0]), intercept=True) == np.inf
    assert margin_at_most(X, y, np.array([1.0, 0.0, 0.0]), intercept=True) == np.inf
    assert margin_at_most(X, y, np.zeros(3), intercept=False) == np.inf
    assert margin_at_most(X, y, np.array([0.0, 1.0, 1.0]), intercept=False) == pytest.approx(3.5, rel=1e-15)
    assert margin_at_most(X, y, np.array([-9.0, 1.0, -1.0]), intercept=False) == pytest.approx(2.0, rel=1e-15)
    huge = np.array([[1.7e308], [-1.7e308]])
    assert margin_at_most(huge, y[1:] * [1, -1], np.ones(2), intercept=True) == pytest.approx(1.7e308)
    assert margin_at_most(np.tile(huge, 2), y[1:] * [1, -1], np.ones(2), intercept=True) == np.inf
    small = np.array([1e-10])
    assert margin_at_most(huge, y[1:] * [1, -1], np.ones(2), intercept=True, factors=small) == np.inf
    assert margin_at_most(np.ones((2, 1)), y[1:] * [1, -1], np.ones(2), intercept=True) <= 4 * TINY
    with pytest.raises(ValueError):
        margin_at_most(X, y, np.ones(3), intercept=True, factors=np.ones(2))
    assert math.isfinite(margin_at_most(np.zeros((2, 0)), np.array([1.0, -1.0]), np.ones(2), intercept=True))


def nearly_touching(rng: np.random.Generator, p: int, gap: float, offset: float) -> tuple[Matrix, Vector]:
    """Two classes `gap` apart, p + 3 rows of which lie on the edges."""
    n = 6 * p + 10
    X, w = rng.normal(size=(n, p)), rng.normal(size=p)
    w /= np.linalg.norm(w)
    y = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
    along = X @ w
    beyond = np.where(np.arange(n) < p + 3, 0.0, np.abs(along))
    return X + np.outer(y * (gap / 2 + beyond) - along, w) + offset, y


@pytest.mark.parametrize("gap", [1e-1, 1e-6, 1e-9, 1e-12, 1e-13])
@pytest.mark.parametrize("offset", [0.0, 1e6, 1e9])
@pytest.mark.parametrize("p", [1, 2, 5, 12])
def test_planes_between_hulls_that_nearly_touch(p: int, offset: float, gap: float) -> None:
    """Found, exact, and as wide as can be, but for what the rounding of w and b must cost."""
    if offset * 1e-14 > gap:
        return
    for seed in range(4):
        X, y = nearly_touching(np.random.default_rng(seed), p, gap, offset)
        hulls = nearest_points(X, y, intercept=True)
        found = plane(X, y, hulls, intercept=True)
        assert found is not None and clears(X, y, *found)
        assert not hulls_meet(X, y, hulls.weights, intercept=True)
        most = margin_at_most(X, y, hulls.weights, intercept=True)
        margin = 1.0 / float(np.linalg.norm(found[0]))
        assert margin <= most
        assert most - margin <= 2.0**-52 * 30.0 * (10.0 * p + offset) + 1e-9 * most


def test_planes_in_units_of_their_columns_and_through_zero() -> None:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(40, 3))
    y = np.where(X @ [1.0, -2.0, 0.5] > 0, 1.0, -1.0)
    X += 0.1 * y[:, None] * [1.0, -2.0, 0.5]
    factors = np.array([0.3, 1.7, 4.0])
    for intercept in (True, False):
        hulls = nearest_points(X, y, intercept=intercept, factors=factors)
        found = plane(X, y, hulls, intercept=intercept, factors=factors)
        assert found is not None and clears(X, y, *found)
        assert intercept or found[1] == 0.0
        most = margin_at_most(X, y, hulls.weights, intercept=intercept, factors=factors)
        assert 1.0 / np.linalg.norm(factors * found[0]) == pytest.approx(most, rel=1e-9)


def mixed(rng: np.random.Generator, kind: str, p: int) -> tuple[Matrix, Vector]:
    n = 12 * p + 10
    y = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
    X = rng.normal(size=(n, p))
    if kind == "whole":
        X = rng.integers(0, 4, (n, p)).astype(float)
    if kind == "tenths":
        X = rng.integers(0, 10, (n, p)) / 10.0
    if kind == "far":
        X = X + 1e9
    if kind == "one point":
        X[:, 0] = np.abs(X[:, 0]) * y
        X[0], X[1] = 0.1, 0.1
        X[0, 0], X[1, 0] = 0.0, 0.0
    return X, y


@pytest.mark.parametrize("kind", ["normal", "whole", "tenths", "far", "one point"])
@pytest.mark.parametrize("intercept", [True, False])
def test_hulls_of_data_are_decided(kind: str, intercept: bool) -> None:
    """Either the plane or the proof that there is none, never neither."""
    for p in (1, 2, 5, 20):
        for seed in range(4):
            X, y = mixed(np.random.default_rng(seed), kind, p)
            hulls = nearest_points(X, y, intercept=intercept)
            found = plane(X, y, hulls, intercept=intercept)
            meet = hulls_meet(X, y, hulls.weights, intercept=intercept)
            assert meet is (found is None)
            assert found is None or clears(X, y, *found)


def test_hulls_without_a_plane_in_floats() -> None:
    """A digit apart at 1e9 in two columns: no plane through floats is found, and none is promised."""
    X = np.array([[1e9, 0.0], [1e9, 1.0], [np.nextafter(1e9, 2e9), 0.5]])
    y = np.array([-1.0, -1.0, 1.0])
    hulls = nearest_points(X, y, intercept=True)
    found = plane(X, y, hulls, intercept=True)
    assert found is None or clears(X, y, *found)
    assert not hulls_meet(X, y, hulls.weights, intercept=True)
    assert margin_at_most(X, y, hulls.weights, intercept=True) == pytest.approx(0.5 * 2.0**-23, rel=1e-9)
    same = np.zeros((2, 1))
    still = nearest_points(same, np.array([1.0, -1.0]), intercept=True)
    assert plane(same, np.array([1.0, -1.0]), still, intercept=True) is None
