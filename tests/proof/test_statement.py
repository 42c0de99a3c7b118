"""What a problem is, and how far its predictions may be off, against rationals."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from dualgap.arrays import Matrix, Vector
from dualgap.losses import Loss
from dualgap.losses.hinge import Hinge
from dualgap.losses.quantile import Quantile
from dualgap.losses.shifted import Shifted, paired
from dualgap.losses.squared import Squared
from dualgap.penalties import Penalised
from dualgap.penalties.differences import Differences
from dualgap.penalties.separable import Separable
from dualgap.proof.constraints import Constraints
from dualgap.proof.rounding import FEW, U
from dualgap.proof.rows import Rows
from dualgap.proof.statement import SMALL, Statement, moved, moved_exactly
from dualgap.proof.unseen import unseen

FORMS: dict[str, Callable[[Matrix], Any]] = {"dense": np.asarray, "csr": sp.csr_array, "csc": sp.csc_array}


def stated(
    X: Any, y: Any, loss: Loss, *, intercept: bool, priced: Any = None, a: Vector | None = None
) -> Statement:
    """With an l1 price for every column, or for those said, and weights that add up to one."""
    price = np.ones(X.shape[1]) if priced is None else np.asarray(priced, dtype=float)
    gauge = Separable(price, 0.0 * price)
    y = np.asarray(y, dtype=float)
    share = np.full(len(y), 1.0 / max(len(y), 1)) if a is None else a
    regulariser = Penalised(gauge.extended() if intercept else gauge, 0.5)
    return Statement(SimpleNamespace(matrix=X), y, share, loss, regulariser, intercept)


def dot(x: Any, w: Any) -> Fraction:
    return sum((Fraction(float(a)) * Fraction(float(b)) for a, b in zip(x, w, strict=True)), Fraction(0))


def test_what_is_free() -> None:
    X = np.arange(12.0).reshape(3, 4)
    y = np.zeros(3)
    for form in FORMS.values():
        with_ones = stated(form(X), y, Squared(), intercept=True, priced=[1, 0, 0, 2])
        assert with_ones.free.tolist() == [False, True, True, False, True]
        assert with_ones.free_features.tolist() == [False, True, True, False]
        assert with_ones.free_columns(exact=False)[0].tolist() == [[1, 1, 2], [1, 5, 6], [1, 9, 10]]
        without = stated(form(X), y, Squared(), intercept=False, priced=[1, 0, 0, 2])
        assert without.free.tolist() == without.free_features.tolist() == [False, True, True, False]
        assert without.free_columns(exact=False)[0].tolist() == [[1, 2], [5, 6], [9, 10]]
    assert stated(X, y, Squared(), intercept=True).free_columns(exact=False)[0].tolist() == [[1], [1], [1]]
    assert stated(X, y, Squared(), intercept=False).free_columns(exact=False)[0].shape == (3, 0)


@pytest.mark.parametrize("intercept", [True, False])
def test_what_is_free_among_constraints_and_differences(intercept: bool) -> None:
    """Rows of constraints stand below, without an intercept; polynomials behind, and what they are off by."""
    rng = np.random.default_rng(1)
    X, A = rng.normal(size=(3, 4)), rng.normal(size=(2, 4))
    constraints = Constraints(A, np.array([-1.0, -np.inf]), np.array([np.inf, 2.0]))
    plain = stated(X, np.zeros(3), Squared(), intercept=intercept, priced=[1, 0, 0, 2])
    ones = np.array([[1.0], [1.0], [1.0], [0.0], [0.0]])[:, : int(intercept)]
    columns, off = replace(plain, constraints=constraints).free_columns(exact=False)
    np.testing.assert_array_equal(columns, np.hstack([ones, np.vstack([X, A])[:, 1:3]]))
    assert off is None
    scale = np.array([1.0, 3.0, 0.7, 2.0])
    gauge = Differences(2, np.append(scale, 0.0) if intercept else scale)
    fused = replace(plain, regulariser=Penalised(gauge, 0.5))
    for exact in (False, True):
        for problem, tables in ((fused, [X]), (replace(fused, constraints=constraints), [X, A])):
            columns, off = problem.free_columns(exact=exact)
            told = [unseen(Rows(table), gauge.sums, exact=exact) for table in tables]
            value, rest, error = (np.vstack([one[k] for one in told]) for k in range(3))
            np.testing.assert_array_equal(columns, np.hstack([ones[: len(value)], value]))
            assert off is not None and not off.rest[:, : int(intercept)].any()
            assert not off.error[:, : int(intercept)].any()
            np.testing.assert_array_equal(off.rest[:, int(intercept) :], rest)
            np.testing.assert_array_equal(off.error[:, int(intercept) :], error)


def test_a_number_for_each_coordinate() -> None:
    X, y = np.zeros((2, 2)), np.array([3.0, 4.0])
    columns = np.array([5.0, 6.0])
    assert stated(X, y, Squared(), intercept=True).spread(columns).tolist() == [5.0, 6.0, 0.0]
    assert stated(X, y, Squared(), intercept=False).spread(columns).tolist() == [5.0, 6.0]
    some = np.array([True, False, True])
    assert stated(X, y, Squared(), intercept=True).gathered(some).tolist() == [True, False]
    assert stated(X, y, Squared(), intercept=False).gathered(some[:2]).tolist() == [True, False]
    assert stated(X, y, Squared(), intercept=True).centred[1].tolist() == [0.0, 0.0]
    assert stated(X, y, Hinge(), intercept=True).centred[1].tolist() == [3.0, 4.0]
    assert stated(X, y, Squared(), intercept=True).curvature == 2.0
    assert stated(X, y, Hinge(), intercept=True).curvature == np.inf
    assert SMALL == 1e-4


def test_rows_are_made_once() -> None:
    problem = stated(np.eye(2), np.zeros(2), Squared(), intercept=True)
    assert isinstance(problem.rows, Rows) and problem.rows is problem.rows
    assert problem.rows.matrix is problem.design.matrix


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("loss", [Squared(), Hinge()])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("exact", [True, False])
def test_misses_are_off_by_what_is_said(form: str, loss: Loss, intercept: bool, exact: bool) -> None:
    """Far targets and levels that cancel, at many scales."""
    rng = np.random.default_rng(7)
    for scale in (0.0, 1.0, 1e8, 1e16, 1e-300, 1e290):
        X, y = rng.normal(size=(5, 3)), scale * rng.choice([1.0, 1.1, -2.0], 5) + rng.normal(size=5)
        w = np.append(rng.normal(size=3), [scale] if intercept else [])
        w[0] *= max(scale, 1.0) ** 0.5
        problem = stated(FORMS[form](X), y, loss, intercept=intercept)
        t, error = problem.misses(w, exact=exact)
        far = 0.0
        for i, x in enumerate(X):
            level = Fraction(w[3]) if intercept else Fraction(0)
            truth = dot(x, w[:3]) + level - (Fraction(y[i]) if loss.translates else 0)
            assert abs(truth - Fraction(float(t[i]))) <= Fraction(float(np.broadcast_to(error, 5)[i]))
            far = max(far, float(np.abs(x) @ np.abs(w[:3])) + float(abs(level)) + abs(y[i]))
        assert np.all(error <= 20 * U * far)
        if exact:
            assert np.all(error <= 5 * U * np.abs(t) + 1e-30 * far)


def test_plain_misses_are_charged_for_two_roundings() -> None:
    """4 U of the largest product and of the largest b − y, on top of what the products are off by."""
    X, y = np.array([[1.0, 2.0], [-30.0, 0.25]]), np.array([0.5, 900.0])
    for loss, intercept, w in [
        (Squared(), True, [1.0, -3.0, 7.0]),
        (Squared(), False, [1.0, -3.0]),
        (Hinge(), True, [-1.0, 3.0, -7.0]),
        (Hinge(), False, [-1.0, 0.0]),
    ]:
        problem = stated(X, y, loss, intercept=intercept)
        value, base = X @ w[:2], (w[2] if intercept else 0.0) - (y if loss.translates else 0.0)
        t, error = problem.misses(np.array(w))
        assert t.tolist() == (value + base).tolist()
        more = 4 * 2.0**-53 * (np.abs(value).max() + np.abs(base * np.ones(2)).max())
        assert error == pytest.approx(problem.rows.times(np.array(w[:2]))[2] + more, rel=1e-12, abs=0.0)
        assert problem.misses(np.array(w), exact=False)[1] == error
    zero = stated(np.zeros((2, 1)), y, Squared(), intercept=False).misses(np.zeros(1))
    assert zero[0].tolist() == [-0.5, -900.0] and zero[1] == 4 * 2.0**-53 * 900.0
    nothing = stated(np.zeros((2, 1)), y, Hinge(), intercept=True).misses(np.zeros(2))
    assert nothing[0].tolist() == [0.0, 0.0] and nothing[1] == 0.0


@pytest.mark.parametrize("loss", [Squared(), Hinge()])
@pytest.mark.parametrize("intercept", [True, False])
def test_offsets_are_charged_one_by_one(loss: Loss, intercept: bool) -> None:
    """Offsets, levels and targets that cancel: each sum rounds, and the largest number on the way counts."""
    rng = np.random.default_rng(8)
    for scale in (1.0, 1e8, 1e16):
        X, y, offset = rng.normal(size=(5, 2)), scale + rng.normal(size=5), scale * rng.normal(size=5)
        w = np.append(rng.normal(size=2), [-scale] if intercept else [])
        plain = stated(X, np.zeros(5), loss, intercept=intercept)
        problem = replace(plain, loss=Shifted(loss), y=paired(y, offset))
        truth = [
            dot(x, w[:2])
            + (Fraction(w[2]) if intercept else 0)
            + Fraction(o)
            - (Fraction(t) if loss.translates else 0)
            for x, o, t in zip(X, offset, y, strict=True)
        ]
        for how in ({"exact": False}, {"exact": True}, {"rough": True}):
            t, error = problem.misses(w, **how)
            for value, wanted, doubt in zip(t, truth, np.broadcast_to(error, 5), strict=True):
                assert abs(wanted - Fraction(float(value))) <= Fraction(float(doubt))
        value, _, error = problem.rows.times(w[:2])
        level = w[2] if intercept else 0.0
        first = level + offset
        way = [first, first - y] if loss.translates else [first]
        far = sum(np.abs(one).max() for one in way) + np.abs(value).max()
        assert problem.misses(w)[1] == pytest.approx(error + 4.0 * U * far, rel=1e-9, abs=0.0)
        for levels in (w[2:], np.array([1.0, -2.0])[:, None]):
            base, most = moved(
                np.broadcast_to(levels if len(levels) else [0.0], (max(len(levels), 1), 5)),
                problem.centred[2],
            )
            exactly, rest, slack = moved_exactly(
                float(levels.ravel()[0]) if len(levels) else 0.0, problem.centred[2]
            )
            lost = [
                (Fraction(float(levels.ravel()[0])) if len(levels) else 0)
                + sum((Fraction(float(s[i])) for s in problem.centred[2]), Fraction(0))
                for i in range(5)
            ]
            for i in range(5):
                assert abs(lost[i] - Fraction(float(base[0, i]))) <= Fraction(U) * Fraction(
                    float(np.ravel(most)[0])
                )
                assert abs(lost[i] - Fraction(float(exactly[i])) - Fraction(float(rest[i]))) <= Fraction(
                    U
                ) * Fraction(float(slack[i]))
                assert abs(rest[i]) <= slack[i] <= 2.0 * U * float(np.ravel(most)[0])


def test_no_rows_at_all() -> None:
    problem = stated(np.zeros((0, 2)), np.zeros(0), Squared(), intercept=True)
    for how in ({"exact": False}, {"exact": True}, {"rough": True}):
        t, error = problem.misses(np.array([1.0, 2.0, 0.0]), **how)
        assert t.shape == (0,) and np.all(error <= 1e-300)


def test_multipliers_have_ends_behind_those_of_rows() -> None:
    ends = Constraints(np.zeros((2, 1)), np.array([-1.0, -np.inf]), np.array([np.inf, 2.0]))
    plain = stated(np.zeros((2, 1)), [1.0, -1.0], Hinge(), intercept=False)
    low, high = replace(plain, constraints=ends).dual_bounds_inside()
    own = plain.dual_bounds_inside()
    assert low.tolist() == [*own[0], 0.0, -np.inf] and high.tolist() == [*own[1], np.inf, 0.0]


def test_both_roundings_happen() -> None:
    """b − y is off by half an ulp, and so is what is added to it, the same way."""
    X, y = np.array([[1.0 + 2.0**-52]]), np.array([-0.9 * 2.0**-52])
    problem = stated(X, y, Squared(), intercept=True)
    t, error = problem.misses(np.array([1.0, 2.0]))
    truth = Fraction(X[0, 0]) + 2 - Fraction(y[0])
    off = abs(truth - Fraction(float(t[0])))
    assert off > 3 * Fraction(2.0**-53) and off <= Fraction(error)


def test_exact_misses_are_charged_for_what_is_left() -> None:
    """4 U of t, of what the product has behind its value, and of what b − y leaves: t alone may cancel."""
    third, seventh = 1.0 / 3.0, 1.0 / 7.0
    X, w = np.array([[third]]), np.array([seventh])
    value, low, doubt = Rows(X).times(w, exact=True)
    # what is left of b − y after rounding, of the sign and of the size of what the product leaves, and others
    for side, share in [(1.0, 1.0), (-1.0, 1.0), (1.0, 0.25), (-1.0, 4.0)]:
        for flip in (1.0, -1.0):
            y = np.array([share * side * abs(float(low[0]))])
            level = -flip * float(value[0])
            problem = stated(flip * X, y, Squared(), intercept=True)
            t, error = problem.misses(np.append(w, level), exact=True)
            rest = Fraction(level) - Fraction(y[0]) - Fraction(level - y[0])
            truth = Fraction(flip * third) * Fraction(seventh) + Fraction(level) - Fraction(y[0])
            assert abs(Fraction(float(t[0])) - truth) <= Fraction(float(error[0]))
            parts = abs(Fraction(float(t[0]))) + abs(Fraction(float(low[0]))) + abs(rest)
            assert float(error[0]) == pytest.approx(doubt + 4 * 2.0**-53 * float(parts), rel=1e-9, abs=0.0)
            assert abs(float(t[0])) < 6 * abs(float(low[0]))
    t, error = stated(X, np.array([-1.0]), Hinge(), intercept=True).misses(np.append(w, 5.0), exact=True)
    assert float(error[0]) == pytest.approx(
        doubt + 4 * 2.0**-53 * (float(t[0]) + abs(float(low[0]))), rel=1e-9
    )


def test_exact_misses_keep_every_digit() -> None:
    """Products, the level less the target, and their sum: what each rounds away comes back."""
    X, w = np.array([[1.0 / 3.0, 2.0**40]]), np.array([1.0 / 7.0, 1.0 / 3.0, 2.0**40 / 3.0])
    for y in (2.0**41 / 3.0, 1.0, 0.1, -0.3):
        problem = stated(X, np.array([y]), Squared(), intercept=True)
        t, error = problem.misses(w, exact=True)
        truth = dot(X[0], w[:2]) + Fraction(w[2]) - Fraction(y)
        assert abs(truth - Fraction(float(t[0]))) <= Fraction(float(error[0]))
        assert float(error[0]) <= 4.1 * U * abs(float(t[0])) + 1e-19


def test_bounds_of_the_dual_point_leave_room_for_weights_that_are_rounded() -> None:
    """−θ/a is in the domain for any a within FEW of that given, also after some roundings more."""
    y = np.array([1.0, -1.0, 1.0, -1.0])
    a = np.array([0.1, 0.2, 0.3, 0.4])
    for loss, domain in [
        (Hinge(), [(-1, 0), (0, 1), (-1, 0), (0, 1)]),
        (Quantile(0.25), [(-0.25, 0.75)] * 4),
    ]:
        low, high = stated(np.zeros((4, 1)), y, loss, intercept=True, a=a).dual_bounds_inside()
        for i, (left, right) in enumerate(domain):
            for bound, slope in ((low[i], right), (high[i], left)):
                if not slope:
                    assert bound == 0.0
                    continue
                share = -Fraction(float(bound)) / (Fraction(a[i]) * Fraction(slope))
                assert share <= (1 - Fraction(FEW)) * (1 - 16 * Fraction(U))
                assert abs(share - (1 - 2 * Fraction(FEW))) <= 4 * Fraction(U)
        assert np.all(low <= 0.0) and np.all(high >= 0.0)


def test_losses_without_bounds() -> None:
    y = np.array([1.0, -2.0])
    low, high = stated(np.zeros((2, 1)), y, Squared(), intercept=True).dual_bounds_inside()
    assert low.tolist() == [-np.inf] * 2 and high.tolist() == [np.inf] * 2
    weightless = stated(np.zeros((2, 1)), y, Squared(), intercept=True, a=np.array([0.0, 1.0]))
    low, high = weightless.dual_bounds_inside()  # no warning, and nothing that is feasible
    assert np.isnan(low[0]) and np.isnan(high[0]) and low[1] == -np.inf


@pytest.mark.parametrize("where", [0, 3, 6])
def test_dual_points_made_ahead_are_those_of_the_same_numbers(where: int) -> None:
    """One number off, first, last or between, and the sum is made zero again; so it is if somebody writes to
    what was given out.
    """
    rng = np.random.default_rng(where)
    problem = stated(rng.normal(size=(7, 2)), rng.normal(size=7), Squared(), intercept=True)
    ahead = problem.levelled(rng.normal(size=7), ahead=True)
    assert sum(map(Fraction, ahead.tolist())) == 0
    assert problem.levelled(ahead.copy()).tolist() == ahead.tolist()
    off = ahead.copy()
    off[where] += 1.0
    for given in (off, ahead):
        found = problem.levelled(given)
        assert sum(map(Fraction, found.tolist())) == 0 and np.all(np.abs(found) <= np.abs(given))
        ahead[where] -= 1.0  # what was given out, for the next turn
    without = stated(np.ones((7, 2)), np.ones(7), Squared(), intercept=False)
    assert without.levelled(off, ahead=True).tolist() == off.tolist()
