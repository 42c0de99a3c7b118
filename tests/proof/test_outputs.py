"""Several outputs as one statement: every product along the diagonal is off by no more than it says."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from dualgap.design import BlockDiagonal, Dense, WithOnes
from dualgap.outputs.rising import Rising
from dualgap.proof.outputs import OutputRows
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
