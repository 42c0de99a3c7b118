"""Moments against rationals: entries are as wrong as claimed at most, and good points are proven good."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dualgap.arrays import Matrix, Vector
from dualgap.errors import DataError
from dualgap.losses import Squared
from dualgap.penalties.separable import Separable
from dualgap.proof.blocks import StreamStatement
from dualgap.proof.moments import (
    MomentSums,
    _about,
    _constant,
    _correlation,
    _Known,
    _Tied,
    judged_by_moments,
    moments_of,
)
from proof.made import FEW, LEAST, SLACK, U, close, gamma, made
from proof.test_blocks import near_optimum, stated
from proof.test_check import Priced


def exactly(values: Any) -> list[Fraction]:
    return [Fraction(v) for v in np.ravel(np.asarray(values, dtype=np.float64)).tolist()]


def truth(X: Matrix, y: Matrix, s: Vector, shift: Vector) -> list[list[Fraction]]:
    """Σ s r rᵀ."""
    p = X.shape[1]
    found = [[Fraction(0)] * (p + 2) for _ in range(p + 2)]
    for x, target, weight in zip(X, y, exactly(s), strict=True):
        parts = exactly(target)
        r = [a - b for a, b in zip(exactly(x), exactly(shift[:-1]), strict=True)]
        r += [parts[0] - sum(parts[1:]) - Fraction(float(shift[-1])), Fraction(1)]
        for j in range(p + 2):
            for k in range(p + 2):
                found[j][k] += weight * r[j] * r[k]
    return found


def table(n: int, seed: int, *, offset: bool) -> tuple[Matrix, Matrix, Vector, Vector]:
    rng = np.random.default_rng(seed)
    far = float(rng.choice([0.0, 1e3, 1e9]))
    X = rng.normal(size=(n, 2)) * [1.0, 1e-3] + far
    y = rng.normal(size=(n, 2) if offset else n) + far
    return X, y, rng.uniform(0.1, 3.0, n), np.append(X[0], rng.normal()) + float(rng.choice([0.0, 0.5]))


@pytest.mark.parametrize("offset", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n", [1, 3, 4, 5, 8, 11])
def test_entries_are_known_to_their_share(
    n: int, weighted: bool, offset: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By parts of four rows: a term is rounded in its part, once a part, and before it is added."""
    monkeypatch.setattr("dualgap.proof.moments.PART", 4)
    for seed in range(5):
        X, y, s, shift = table(n, seed, offset=offset)
        sums = moments_of(X, y, s if weighted else None, shift)
        M = truth(X, y, s if weighted else np.ones(n), shift)
        for j, line in enumerate(M):
            for k, wanted in enumerate(line):
                off = abs(wanted - Fraction(float(sums.matrix[j, k])))
                assert off * off <= Fraction(sums.share) ** 2 * M[j][j] * M[k][k]
        assert sums.roundings == min(n, 4) + -(-n // 4) + 8 + 4 * offset
        assert sums.share == close(gamma(sums.roundings) * (1.0 + FEW), rel=1e-12)
        assert gamma(sums.roundings) < sums.share
        assert sums.rows == n and sums.finite and sums.weight == sums.matrix[-1, -1]
        targets = y[:, 0] - y[:, 1] if offset else y
        assert sums.tops == pytest.approx(
            np.append(np.abs(X - shift[:-1]).max(axis=0), np.abs(targets - shift[-1]).max()),
            rel=1e-12,
            abs=1e-6,
        )
        assert sums.tops[:2].tolist() == np.abs(X - shift[:-1]).max(axis=0).tolist()
    X[0, 1] = np.nan
    assert not moments_of(X, y, None, shift).finite


def test_the_largest_on_either_side_counts() -> None:
    X, shift = np.array([[1.0, -4.0], [3.0, 1.0]]), np.zeros(3)
    assert moments_of(X, np.array([-7.0, 2.0]), None, shift).tops.tolist() == [3.0, 4.0, 7.0]
    assert moments_of(-X, np.array([7.0, -2.0]), None, shift).tops.tolist() == [3.0, 4.0, 7.0]


def test_lots_of_rows_are_added_and_taken_away() -> None:
    X, y, s, shift = table(9, 3, offset=False)
    first, second = moments_of(X[:4], y[:4], s[:4], shift), moments_of(X[4:], y[4:], s[4:], shift)
    first = replace(first, roundings=40)
    for one, other in ((first, second), (second, first)):
        both = one.plus(other)
        assert both.rows == 9 and both.roundings == 41 and both.shift is one.shift
        np.testing.assert_array_equal(both.matrix, first.matrix + second.matrix)
        np.testing.assert_array_equal(both.tops, np.maximum(first.tops, second.tops))
    left = both.less(first)
    assert left.rows == 5 and left.roundings == 41 + 40 + 1
    np.testing.assert_array_equal(left.matrix, both.matrix - first.matrix)
    with pytest.raises(DataError, match="one shift"):
        first.plus(replace(second, shift=shift + 1.0))


def test_targets_counted_from_an_offset_lose_three_roundings() -> None:
    rng = np.random.default_rng(2)
    for scale in (1.0, 1e8, 1e16):
        y = scale * rng.normal(size=(200, 2)) + rng.normal(size=(200, 2))
        y[:50, 1] = y[:50, 0] + rng.normal(size=50)
        level = float(rng.normal() * scale)
        for (target, offset), found in zip(y, _about(y, level), strict=True):
            wanted = Fraction(target) - Fraction(offset) - Fraction(level)
            assert abs(wanted - Fraction(float(found))) <= 3 * Fraction(U) * abs(wanted)
        for target, found in zip(y[:, 0], _about(y[:, 0], level), strict=True):
            wanted = Fraction(target) - Fraction(level)
            assert abs(wanted - Fraction(float(found))) <= Fraction(U) * abs(wanted)


def test_the_constant_of_predictions() -> None:
    """b + shift·w − level, to the last digit but one."""
    rng = np.random.default_rng(3)
    for _ in range(50):
        coef, shift = rng.normal(size=3), 1e6 * rng.normal(size=4)
        level = float(shift[-1] - shift[:-1] @ coef) * float(rng.choice([1.0, 1.1]))
        value, wide = _constant(coef, level, shift)
        wanted = Fraction(level) - Fraction(float(shift[-1]))
        wanted += sum((a * b for a, b in zip(exactly(shift[:-1]), exactly(coef), strict=True)), Fraction(0))
        assert abs(wanted - Fraction(value)) <= Fraction(wide)
        assert wide == close(2.0 * U * abs(value) + 16.0 * LEAST * 3, rel=1e-12)
    value, wide = _constant(np.array([1e-170]), 0.0, np.array([1e-154, 0.0]))
    assert Fraction(1e-170) * Fraction(1e-154) - Fraction(value) <= Fraction(wide)
    with np.errstate(invalid="ignore"):
        assert _constant(np.array([np.inf]), 0.0, np.ones(2))[0] == np.inf


def known(seed: int) -> tuple[_Known, list[list[Fraction]], MomentSums]:
    X, y, s, shift = table(6, seed, offset=False)
    sums = moments_of(X, y, s, shift)
    return _Known(sums, sums), truth(X, y, s, shift), sums


@pytest.mark.parametrize("seed", range(10))
def test_products_of_moments_are_off_by_what_is_said(seed: int) -> None:
    rng = np.random.default_rng(seed)
    one, M, sums = known(seed)
    share = gamma(sums.roundings + 2 * 4 + 8)
    assert share <= one.share == close(share, rel=1e-9)
    sizes = np.sqrt(np.diagonal(sums.matrix))
    assert one.sizes == pytest.approx(sizes, rel=1e-9) and np.all(one.sizes >= sizes)
    for j in range(4):
        assert M[j][j] <= Fraction(float(one.sizes[j])) ** 2
    assert (
        one.loose == close(share, rel=1e-9)
        and abs(M[-1][-1] - Fraction(sums.weight)) <= Fraction(one.loose) * M[-1][-1]
    )
    k, F = rng.normal(size=4), rng.normal(size=(2, 4))
    length = one.length(np.abs(k))
    assert length == close(float(np.abs(k) @ one.sizes), rel=1e-9) and length >= float(np.abs(k) @ one.sizes)

    def times(a: Any, b: Any) -> Fraction:
        return sum(
            (
                x * m * y
                for x, row in zip(exactly(a), M, strict=True)
                for m, y in zip(row, exactly(b), strict=True)
            ),
            Fraction(0),
        )

    square, doubt = one.square(k)
    assert abs(times(k, k) - Fraction(square)) <= Fraction(doubt)
    assert one.share * length**2 <= doubt == close(one.share * length**2, rel=1e-9)
    value, error = one.along(F, k)
    for f, found, off in zip(F, value, error, strict=True):
        assert abs(times(f, k) - Fraction(float(found))) <= Fraction(float(off))
        wanted = one.share * float(np.abs(f) @ one.sizes) * length
        assert wanted <= off == close(wanted, rel=1e-9)


def test_folds_are_known_to_as_much_of_the_whole() -> None:
    """What is left without rows is small, and its error is that of all of them."""
    one, _, sums = known(4)
    part = replace(sums, matrix=1e-6 * sums.matrix)
    less = _Known(part, sums)
    assert less.sizes.tolist() == one.sizes.tolist() and less.share == one.share
    assert less.loose == close(1e6 * one.loose, rel=1e-9)
    nothing = _Known(replace(sums, matrix=0.0 * sums.matrix), sums)
    assert nothing.loose == np.inf
    tiny = _Known(replace(sums, matrix=0.0 * sums.matrix), replace(sums, matrix=0.0 * sums.matrix))
    assert np.all(tiny.sizes**2 * tiny.share >= 4.0 * (sums.rows + 3) * LEAST)


@pytest.mark.parametrize("penalty", ["l2", "l1", "elastic_net(0.5)", "none"])
@pytest.mark.parametrize("intercept", [True, False])
def test_good_points_are_proven_good(penalty: str, intercept: bool) -> None:
    """And only their own: another κ, other weights or a fold's rows leave a gap."""
    rng = np.random.default_rng(7)
    X, y = rng.normal(size=(30, 2)), rng.normal(size=30)
    one = made(X, y, "squared", penalty, intercept=intercept, **({} if penalty == "none" else {"lam": 0.1}))
    statement = stated(one)
    w = near_optimum(one, np.zeros(one.width))
    shift = np.append(X.mean(axis=0), y.mean())
    sums = moments_of(X[:20], y[:20], None, shift).plus(moments_of(X[20:], y[20:], None, shift))

    def found(w: Vector, kappa: Vector | None = None, seen: MomentSums = sums) -> Any:
        coef, level = (w[:-1], w[-1]) if intercept else (w, 0.0)
        omega = np.concatenate([coef, [-1.0, level + shift[:-1] @ coef - shift[-1]]])
        return judged_by_moments(statement, seen, sums, w, omega if kappa is None else kappa, 1e-6, 1.0)

    proven = found(w)
    assert proven.gap <= 1e-9 * proven.primal and not proven.moved and proven.box is None
    assert proven.primal == close(float(one.primal(w)), rel=1e-9) and proven.width <= 1e-11
    assert proven.rounding <= 1e-9 and proven.rounding > 0.0
    u = 2.0 * (X @ w[:2] + (w[2] if intercept else 0.0) - y) / 30.0
    v = -X.T @ u if penalty != "none" else np.zeros(2)
    assert proven.correlation[:2] == pytest.approx(v, abs=1e-12) and np.all(proven.reach <= 1e-11)
    assert proven.theta == close(
        2.0
        * float(
            _Known(sums, sums).length(
                np.abs(np.append(w[:2], [-1.0, (w[2] if intercept else 0.0) + shift[:2] @ w[:2] - shift[2]]))
            )
        )
        / 30.0,
        rel=1e-9,
    )
    assert found(w, np.zeros(4)).dual <= proven.dual and found(w + 0.1).gap > 1e-3
    fold = sums.less(moments_of(X[20:], y[20:], None, shift))
    apart = made(
        X[:20], y[:20], "squared", penalty, intercept=intercept, **({} if penalty == "none" else {"lam": 0.1})
    )
    best = near_optimum(apart, np.zeros(one.width))
    held = found(best, seen=fold)
    assert held.gap <= 1e-9 * held.primal and held.primal >= float(apart.primal(best))
    assert held.dual <= float(apart.primal(best)) * (1.0 + 1e-15)


@pytest.mark.parametrize("free", [False, True])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("apart", [0.0, 0.5])
def test_the_sum_of_the_terms_and_its_charges(
    apart: float, intercept: bool, free: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Number by number as the text says, where every charge shows: of rows known to a little of all."""
    rng = np.random.default_rng(5)
    X, y, shift = rng.normal(size=(8, 2)), rng.normal(size=8), np.array([0.5, -0.25, 0.125])
    seen = moments_of(X, y, rng.uniform(0.5, 2.0, 8), shift)
    whole = replace(seen, matrix=1e11 * seen.matrix)
    w, wide = np.append(rng.normal(size=2), [0.75] * intercept), 0.25
    monkeypatch.setattr("dualgap.proof.moments._constant", lambda *a: (_constant(*a)[0], wide))
    gauge = Separable(np.append([1.0, float(not free)], [0.0] * intercept), np.zeros(2 + intercept))
    regulariser = Priced(gauge, (3.0, 0.125), (2.0, 0.0625))
    problem = StreamStatement.stated(Squared(), regulariser, intercept=intercept)
    omega = np.array([*w[:2], -1.0, (w[2] if intercept else 0.0) + float(shift[:2] @ w[:2]) - shift[2]])
    kappa, one = (1.0 - apart) * omega, _Known(seen, whole)
    found = judged_by_moments(problem, seen, whole, w, kappa, 1e-3, 1e9)
    assert 1e-4 < one.loose < 1e-2
    n, few = 1.0 / (seen.weight * (1.0 - one.loose - 8.0 * U)), 1.0 + FEW
    far = wide * math.sqrt(seen.weight * (1.0 + one.loose))
    square, doubt = one.square(omega)
    root = math.sqrt(square + doubt) + far
    primal = (root * root * n + 3.0) * few + 0.125
    least = max((square - doubt) / seen.weight * (1.0 - one.loose - FEW), 0.0)
    width = primal - least - 3.0 + 2.0 * 0.125
    tied = _Tied.of(problem, seen, one)
    assert tied is not None and found.width == close(width, rel=1e-12)
    other, unsure = one.square(omega - kappa)
    rest = math.sqrt(max(other, 0.0) + unsure) + tied.distance(kappa) + far
    rest += 4.0 * U * one.length(np.abs(omega) + np.abs(kappa))
    v, reach = _correlation(problem, seen, one, kappa, tied.distance(kappa))
    pull = np.abs(v) + reach
    v[problem.free] = reach[problem.free] = 0.0
    (_, asked, room), *_ = regulariser.asked  # type: ignore[attr-defined]
    assert np.array_equal(asked, v) and np.array_equal(room, reach)
    rounding = width + SLACK * (primal + 2.0 + float(np.abs(w) @ np.abs(v))) + 0.0625 * primal
    assert found.primal == close(primal, rel=1e-14) and found.rounding == close(rounding, rel=1e-12)
    assert not len(tied.open_) and pull.shape == v.shape and found.box is None
    gap = rest * rest * n * few + 2.0 + rounding
    assert found.gap == close(min(gap, primal), rel=1e-12)
    if gap < primal:
        assert found.theta == close(2.0 * one.length(np.abs(kappa)) * n, rel=1e-12)


def test_nothing_is_proven_of_rows_that_are_not_known() -> None:
    """Too little is left of them, or a number is none."""
    X, y = np.random.default_rng(6).normal(size=(5, 2)), np.arange(5.0)
    one = made(X, y, "squared", "l2", intercept=False, lam=0.1)
    sums = moments_of(X, y, None, np.zeros(3))
    w, kappa = np.array([0.1, 0.2]), np.array([0.1, 0.2, -1.0, 0.0])
    for scale in (1e13, 1e14, 1e15, np.inf, np.nan):
        with np.errstate(invalid="ignore"):
            whole = replace(sums, matrix=scale * sums.matrix)
        found = judged_by_moments(stated(one), sums, whole, w, kappa, 1e-6, 1.0)
        assert found.primal == np.inf or found.primal >= float(one.primal(w))
        assert found.dual == 0.0 or _Known(sums, whole).loose < 0.5
    assert found.primal == np.inf and not found.correlation.any() and found.theta.tolist() == [0.0]


def test_weights_that_break_a_budget_are_told() -> None:
    X, y = np.eye(3)[:, :2], np.array([1.0, 2.0, 3.0])
    one = made(X, y, "squared", "l1", intercept=False, budget=0.5)
    sums = moments_of(X, y, None, np.zeros(3))
    statement: StreamStatement = stated(one)
    for w, moved in ((np.array([0.2, 0.2]), False), (np.array([1.0, 2.0]), True)):
        assert (
            judged_by_moments(statement, sums, sums, w, np.array([*w, -1.0, 0.0]), 1e-6, 1.0).moved == moved
        )
