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
from dualgap.penalties import Penalised
from dualgap.penalties.separable import Separable
from dualgap.proof.blocks import StreamStatement
from dualgap.proof.moments import (
    MomentSums,
    _about,
    _constant,
    _correlation,
    _Known,
    _pivots,
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
    assert one.share == close(share * (1.0 + FEW), rel=3e-15)
    sizes = np.sqrt(np.diagonal(sums.matrix))
    np.testing.assert_allclose(one.sizes, sizes * math.sqrt(1.0 + 2.0 * sums.share), rtol=1e-15)
    for j in range(4):
        assert M[j][j] <= Fraction(float(one.sizes[j])) ** 2
    assert (
        one.loose == close(share, rel=1e-9)
        and abs(M[-1][-1] - Fraction(sums.weight)) <= Fraction(one.loose) * M[-1][-1]
    )
    k, F = rng.normal(size=4), rng.normal(size=(2, 4))
    length = one.length(np.abs(k))
    assert length == close(float(np.abs(k) @ one.sizes) * (1.0 + FEW), rel=3e-15)

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
    assert doubt == close(one.share * length**2 * (1.0 + FEW), rel=3e-15)
    value, error = one.along(F, k)
    for f, found, off in zip(F, value, error, strict=True):
        assert abs(times(f, k) - Fraction(float(found))) <= Fraction(float(off))
        wanted = one.share * float(np.abs(f) @ one.sizes) * length
        assert off == close(wanted * (1.0 + FEW), rel=3e-15)


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
    assert np.all(tiny.sizes**2 * tiny.share >= 4.0 * (sums.rows + 3.5) * LEAST)
    faint = replace(sums, matrix=2.0**-1005 * sums.matrix)
    assert _Known(faint, faint).loose == np.inf > one.loose


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


def freed(free: list[bool], intercept: bool) -> StreamStatement:
    """Columns without a price, and an intercept."""
    gauge = Separable(np.append(1.0 - np.array(free), [0.0] * intercept), np.zeros(len(free) + intercept))
    return StreamStatement.stated(Squared(), Penalised(gauge, 1.0), intercept=intercept)


def solved(G: list[list[Fraction]], g: list[Fraction]) -> list[Fraction]:
    """G⁻¹ g."""
    rows = [[*line, value] for line, value in zip(G, g, strict=True)]
    for k in range(len(rows)):
        rows[k] = [v / rows[k][k] for v in rows[k]]
        for i in range(len(rows)):
            if i != k:
                rows[i] = [a - rows[i][k] * b for a, b in zip(rows[i], rows[k], strict=True)]
    return [line[-1] for line in rows]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("intercept", [False, True])
def test_how_far_a_rule_is_from_one_that_is_balanced(intercept: bool, seed: int) -> None:
    """√(gᵀ(FMFᵀ)⁻¹g) at least, g = FMκ, of the true M; and no more than the text says."""
    rng = np.random.default_rng(seed)
    X, y, s, shift = rng.normal(size=(9, 2)), rng.normal(size=9), rng.uniform(0.5, 2.0, 9), rng.normal(size=3)
    seen, M = moments_of(X, y, s, shift), truth(X, y, s, shift)
    F = np.zeros((1 + intercept, 4))
    F[0, 1], F[0, -1], F[-1, -1] = 1.0, shift[1], 1.0 if intercept else shift[1]
    if intercept:
        F[0, -1] = 0.0
    problem, kappa = freed([False, True], intercept), rng.normal(size=4)
    FM = [
        [sum((f * M[k][j] for k, f in enumerate(exactly(row))), Fraction(0)) for j in range(4)] for row in F
    ]
    g = [sum((a * b for a, b in zip(row, exactly(kappa), strict=True)), Fraction(0)) for row in FM]
    G = [[sum((a * b for a, b in zip(row, exactly(f), strict=True)), Fraction(0)) for f in F] for row in FM]
    least = sum(a * b for a, b in zip(g, solved(G, g), strict=True))
    for scale in (1.0, 1e10):
        one = _Known(seen, replace(seen, matrix=scale * seen.matrix))
        tied = _Tied.of(problem, seen, one)
        assert tied is not None and np.array_equal(tied.F, F) and not len(tied.open_)
        found = tied.distance(kappa)
        assert least <= Fraction(found) ** 2 and (
            scale > 1.0 or Fraction(found) ** 2 <= least * Fraction(1001, 1000)
        )
        few, floats, inner = 1.0 + FEW + gamma(len(F) ** 2), F @ seen.matrix @ F.T, tied.inverse
        size = np.abs(inner) @ (np.abs(F) @ one.sizes)
        off = float(np.linalg.norm(inner @ floats @ inner.T - np.eye(len(F))))
        assert off < 1e-12
        assert tied.eta == close((off + (one.share + gamma(16)) * float(size @ size)) * few, rel=3e-15)
        value, error = one.along(F, kappa)
        length = float(np.linalg.norm(np.abs(inner @ value) + np.abs(inner) @ error * (1.0 + FEW)))
        length += gamma(len(F)) * float(np.linalg.norm(np.abs(inner) @ np.abs(value)))
        few = 1.0 + FEW + gamma(len(F))
        assert found == close(math.sqrt(1.0 + tied.eta) * length / (1.0 - tied.eta) * few, rel=3e-15)
    assert 1e-6 < tied.eta < 0.4
    for share, known_to in ((0.49, True), (0.51, False)):
        wide = replace(seen, matrix=share / tied.eta * 1e10 * seen.matrix)
        assert (_Tied.of(problem, seen, _Known(seen, wide)) is not None) == known_to
    none = _Tied.of(freed([False, False], False), seen, one)
    assert none is not None and none.distance(kappa) == 0.0 and none.eta == 0.0


def test_columns_of_which_next_to_nothing_is_left_are_open() -> None:
    base = np.array([[2.0, 1.0], [1.0, 3.0], [0.0, 1.0]])
    A = np.column_stack([base, base @ [1.0, -1.0], base[:, 0] + [0.0, 0.0, 1e-2], 3.0 * base[:, 1]])
    kept, others = _pivots(A.T @ A)
    assert kept.tolist() == [0, 1, 3] and others.tolist() == [2, 4]
    assert [part.tolist() for part in _pivots(np.zeros((2, 2)))] == [[], [0, 1]]
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(9, 2)), rng.normal(size=9)
    X[:, 1] = X[:, 0]
    one = made(X, y, "squared", "none", intercept=False)
    sums, w = moments_of(X, y, None, np.zeros(3)), np.array([0.5, 0.0])
    w[0] = float(X[:, 0] @ y / (X[:, 0] @ X[:, 0]))
    found = judged_by_moments(stated(one), sums, sums, w, np.array([*w, -1.0, 0.0]), 1e-3, 1.0)
    assert found.box is not None and found.box[0] == np.inf and 1e3 < found.box[1] < np.inf
    assert 0.0 < found.gap <= 1e-3 * found.primal
    budget = 0.125 * 1e-3 * found.primal
    assert found.gap >= budget and found.box[1] >= budget / (1e-12 * found.primal)


@pytest.mark.parametrize("intercept", [False, True])
def test_what_columns_make_of_a_rule(intercept: bool) -> None:
    """Of columns as they are, or counted from the shift where ones are orthogonal too."""
    rng = np.random.default_rng(9)
    X, y, s, shift = rng.normal(size=(9, 2)), rng.normal(size=9), rng.uniform(0.5, 2.0, 9), rng.normal(size=3)
    seen, M = moments_of(X, y, s, shift), truth(X, y, s, shift)
    problem, kappa = freed([False, False], intercept), rng.normal(size=4)
    F = np.eye(2 + intercept, 4)
    if intercept:
        F[2] = [0.0, 0.0, 0.0, 1.0]
    else:
        F[:, -1] = shift[:2]
    for scale, rho in ((1.0, 0.0), (1e10, 0.0), (1e10, 0.25)):
        one = _Known(seen, replace(seen, matrix=scale * seen.matrix))
        v, reach = _correlation(problem, seen, one, kappa, rho)
        for f, found, off in zip(F, v, reach, strict=True):
            wanted = sum(
                (a * M[j][k] * b for j, a in enumerate(exactly(f)) for k, b in enumerate(exactly(kappa))),
                Fraction(0),
            )
            assert abs(-2 * wanted / M[-1][-1] - Fraction(float(found))) <= Fraction(float(off))
        value, error = one.along(F, kappa)
        few = 1.0 + FEW + 2.0 * one.loose
        told = error + np.abs(F) @ one.sizes * rho + (one.loose + FEW) * np.abs(value)
        np.testing.assert_allclose(reach, told * 2.0 / seen.weight * few, rtol=3e-15)


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
