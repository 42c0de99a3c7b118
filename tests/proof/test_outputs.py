"""Several outputs as one statement: every product along the diagonal is off by no more than it says."""

from __future__ import annotations

from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from dualgap.design import BlockDiagonal, Dense, WithOnes
from dualgap.losses import Squared
from dualgap.outputs.rising import Rising
from dualgap.proof.constraints import Constraints
from dualgap.proof.outputs import OutputRows, StackedOutputs
from dualgap.proof.rounding import U
from dualgap.proof.rows import Rows

OUTPUTS = 3


def table(seed: int, n: int = 7, p: int = 4) -> Any:
    """Numbers of very different sizes, and zeros."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, p)) * 10.0 ** rng.integers(-8, 9, size=(n, p)) * (rng.random((n, p)) < 0.8)


def exactly(array: Any) -> Any:
    return [[Fraction(float(v)) for v in row] for row in array]


def product(rows: Any, w: Any) -> list[Fraction]:
    return [sum((x * Fraction(float(v)) for x, v in zip(row, w, strict=True)), Fraction(0)) for row in rows]


@pytest.mark.parametrize("store", [np.asarray, sp.csc_array, sp.csr_array])
@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("seed", range(4))
def test_products_are_off_by_no_more_than_they_say(store: Any, tied: bool, exact: bool, seed: int) -> None:
    X, rng = table(seed), np.random.default_rng(seed + 100)
    rows = OutputRows(Rows(store(X)), OUTPUTS, tied)
    one: Any = WithOnes(Dense(X)) if tied else Dense(X)
    whole = exactly(BlockDiagonal((one,) * OUTPUTS).toarray())
    assert (rows.n, rows.p) == (len(whole), len(whole[0]))
    w = rng.normal(size=rows.p) * 10.0 ** rng.integers(-9, 10, size=rows.p) * (rng.random(rows.p) < 0.7)
    value, low, error = rows.times(w, exact=exact)
    for k, true in enumerate(product(whole, w)):
        told = Fraction(float(value[k])) + Fraction(float(low[k if exact else 0]))
        assert abs(told - true) <= Fraction(error), (k, float(told - true), error)
    theta = rng.normal(size=rows.n) * 10.0 ** rng.integers(-9, 10, size=rows.n)
    told_v, errors = rows.against(theta, exact=exact)
    across = [list(column) for column in zip(*whole, strict=True)]
    for v, off, true in zip(told_v, errors, product(across, theta), strict=True):
        assert abs(Fraction(float(v)) - true) <= Fraction(float(off))


@pytest.mark.parametrize("tied", [True, False])
def test_what_is_said_is_the_formula(tied: bool) -> None:
    """To a millionth: no charge can be dropped, halved or doubled. A level that is added rounds too."""
    X, rng = table(11), np.random.default_rng(12)
    rows, one = OutputRows(Rows(X), OUTPUTS, tied), Rows(X)
    w, theta = rng.normal(size=(OUTPUTS, rows.width)), rng.normal(size=(OUTPUTS, 7))
    if tied:
        w[:, -1] *= [1e3, 1e9, 1e12]
    value, low, error = rows.times(w.ravel())
    assert value.shape == (rows.n,) and not low.any() and (value + low).shape == (rows.n,)
    wanted = one.times_many(np.ascontiguousarray(w[:, :4]))[1].max() + 2.0 * U * np.abs(value).max() * tied
    assert wanted <= error <= wanted * (1.0 + 1e-6)
    if tied:
        w[:, -1] = 0.0
        assert rows.times(w.ravel())[2] <= one.times_many(np.ascontiguousarray(w[:, :4]))[1].max() * (
            1.0 + 1e-6
        )
        w[:, -1] = [1e3, 1.0, 1e9]
    value, low, error = rows.times(w.ravel(), exact=True)
    apart = [one.times(row[:4], exact=True) for row in w]
    lows = np.abs(low.reshape(OUTPUTS, -1)).max(axis=1)
    wanted = max(part[2] + 2.0 * U * most for part, most in zip(apart, lows, strict=True))
    assert wanted <= error <= wanted * (1.0 + 1e-6)
    for exact in (False, True):
        found, errors = (part.reshape(OUTPUTS, -1) for part in rows.against(theta.ravel(), exact=exact))
        for k, line in enumerate(theta):
            v, off = one.against(line, exact=True) if exact else (part[k] for part in one.against_many(theta))
            assert np.array_equal(found[k, :4], v) and np.array_equal(errors[k, :4], off)
            if tied:
                off = 7.0 * U / (1.0 - 7.0 * U) * np.abs(line).sum()
                assert off <= errors[k, 4] <= off * (1.0 + 1e-6)


def test_a_number_that_vanishes_beside_its_level_is_paid_for() -> None:
    rows = OutputRows(Rows(np.array([[1.0]])), 2, True)
    value, _, error = rows.times(np.array([2.0**-60, 0.0, 2.0**-60, 1.0]))
    assert value.tolist() == [2.0**-60, 1.0] and error >= 2.0**-60


def stacked(free: list[bool], tied: bool, constraints: Any = None) -> StackedOutputs:
    """Two outputs of three rows, of two columns, and of one of ones each."""
    design = SimpleNamespace(alike=SimpleNamespace(matrix=np.arange(6.0).reshape(3, 2)))
    regulariser: Any = SimpleNamespace(free=np.array(free))
    return StackedOutputs(
        design,
        np.zeros(6),
        np.full(6, 1 / 6),
        Squared(),
        regulariser,
        False,
        outputs=2,
        tied=tied,
        constraints=constraints,
    )


def test_levels_alone_are_balanced_output_by_output() -> None:
    """Where nothing else is free and nothing is tied; else what is free is for the projection."""
    theta = np.array([0.3, -0.1, 0.7, 2.0, 0.1, -0.5])
    levels, more = [False, False, True] * 2, [False, False, True, True, False, True]
    plain = stacked(levels, True)
    moved = plain.levelled(theta).reshape(2, 3)
    assert [sum(map(Fraction, line.tolist())) for line in moved] == [0, 0]
    assert np.all(np.abs(moved) <= np.abs(theta.reshape(2, 3))) and np.all(moved * theta.reshape(2, 3) >= 0.0)
    assert plain.plain and plain.free_features.tolist() == [False] * 6
    between = Constraints(np.ones((1, 6)), np.zeros(1), np.ones(1))
    for other in (stacked(more, True), stacked(levels, True, between), stacked([False] * 4, False)):
        assert not other.plain and np.array_equal(other.free_features, other.free)
        assert other.levelled(theta) is theta


def test_columns_tops_and_lengths() -> None:
    X = table(9)
    rows = OutputRows(Rows(X), OUTPUTS, True)
    whole = BlockDiagonal((WithOnes(Dense(X)),) * OUTPUTS).toarray()
    which = np.array([0, 3, 4, 6, 9, 14])
    np.testing.assert_array_equal(rows.columns(which), whole[:, which])
    np.testing.assert_array_equal(rows.tops, np.abs(whole).max(axis=0))
    a = np.tile(np.random.default_rng(0).dirichlet(np.ones(7)), OUTPUTS)
    seen = which[which % 5 < 4]
    squares = [sum(Fraction(s) * x[j] ** 2 for s, x in zip(a, exactly(whole), strict=True)) for j in seen]
    assert np.isinf(rows.lengths(a, which)).tolist() == (which % 5 == 4).tolist()
    assert np.array_equal(rows.lengths(a, which)[which % 5 < 4], rows.lengths(a, seen))
    assert OutputRows(Rows(X), 2, False).tops.tolist() == [*np.abs(X).max(axis=0)] * 2
    for length, square in zip(rows.lengths(a, seen), squares, strict=True):
        assert square <= Fraction(float(length)) ** 2 <= square * Fraction(1001, 1000)


@pytest.mark.parametrize("rising", [False, True])
def test_the_designs_of_solvers_are_these_matrices(rising: bool) -> None:
    rng = np.random.default_rng(2)
    X = rng.normal(size=(5, 3))
    blocks = BlockDiagonal((WithOnes(Dense(X)),) * OUTPUTS)
    design: Any = Rising(blocks) if rising else blocks
    Z = np.column_stack([X, np.ones(5)])
    along = np.kron(np.eye(OUTPUTS), Z)
    steps = np.diff(np.eye(OUTPUTS), axis=0)
    full = np.vstack([along, np.kron(steps, Z)]) if rising else along
    np.testing.assert_allclose(design.toarray(), full)
    n, p = design.shape
    h, w, theta = rng.random(n), rng.normal(size=p), rng.normal(size=n)
    np.testing.assert_allclose(design.matvec(w), full @ w)
    np.testing.assert_allclose(design.transpose_matvec(theta), full.T @ theta)
    np.testing.assert_allclose(design.weighted_gram(h), full.T @ (h[:, None] * full), atol=1e-12)
    np.testing.assert_allclose(design.weighted_outer(w * w), full @ (w[:, None] ** 2 * full.T), atol=1e-12)
    np.testing.assert_allclose(design.weighted_square_norms(h), h @ full**2)
    np.testing.assert_allclose(design.absolute_transpose_matvec(h), np.abs(full).T @ h)
    np.testing.assert_allclose(design.row_square_norms(), (full**2).sum(axis=1))
    some = np.array([0, 4, 6, 11, 13])
    np.testing.assert_allclose(design.rows(some).toarray(), full[some])
    np.testing.assert_allclose(design.columns(some[:4]).toarray(), full[:, some[:4]])
    np.testing.assert_allclose(design.matvecs(np.array([w, 2 * w])), np.array([w, 2 * w]) @ full.T)
    np.testing.assert_allclose(design.transpose_matvecs(np.array([theta])), (theta @ full)[None])
    np.testing.assert_allclose(design.rows(some[::-1]).toarray(), full[some[::-1]])
    assert design.same_rows(np.array([0, 1]), np.array([0, 6])).tolist() == [True, False]
