"""What rows make of weights that a penalty of differences does not see, against rationals."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from dualgap.arrays import Matrix, Vector
from dualgap.penalties.differences import Sums
from dualgap.proof.rows import Rows
from dualgap.proof.unseen import unseen
from proof.made import LEAST, U

EPS = float(np.finfo(np.longdouble).eps)  # sparse rows are summed in that
FORMS: dict[str, Any] = {"C": np.ascontiguousarray, "csr": sp.csr_array, "csc": sp.csc_array}


def truth(X: Matrix, scale: Vector, values: Vector) -> list[Fraction]:
    """X times values·(largest scale)/scale, row by row."""
    top = Fraction(float(scale.max()))
    w = [Fraction(float(v)) * top / Fraction(float(s)) for v, s in zip(values, scale, strict=True)]
    return [sum((Fraction(float(x)) * v for x, v in zip(row, w, strict=True)), Fraction(0)) for row in X]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("order", [1, 2, 3])
def test_products_are_off_by_what_is_said(form: str, exact: bool, order: int) -> None:
    rng = np.random.default_rng(order)
    for scale in (np.ones(7), 2.0 ** rng.integers(-9, 9, 7), rng.uniform(0.1, 10.0, 7), np.arange(1.0, 8.0)):
        for X in (
            rng.normal(size=(4, 7)),
            rng.integers(-9, 9, (4, 7)) + 0.0,
            1e-310 * rng.normal(size=(4, 7)),
        ):
            sums = Sums(order, scale)
            value, low, error = unseen(Rows(FORMS[form](X)), sums, exact=exact)
            assert value.shape == low.shape == error.shape == (4, order)
            for k, values in enumerate(sums.polynomials().T):
                size = float(np.abs(X).max(axis=0) @ np.abs(values * scale.max() / scale))
                for i, product in enumerate(truth(X, scale, values)):
                    off = abs(product - Fraction(float(value[i, k])) - Fraction(float(low[i, k])))
                    assert off <= Fraction(float(error[i, k]))
                most = size * ((1e3 * U * U if form == "C" else 100.0 * EPS) if exact else 20.0 * U)
                assert error[:, k].max() <= most + 500.0 * LEAST


@pytest.mark.parametrize("form", FORMS)
def test_whole_numbers_are_not_rounded(form: str) -> None:
    X, scale = np.array([[1.0, -2.0, 3.0], [0.0, 5.0, 2.0**40]]), np.ones(3)
    for exact in (False, True):
        value, low, error = unseen(Rows(FORMS[form](X)), Sums(2, scale), exact=exact)
        assert not low.any() and not error.any()
        for k, values in enumerate(Sums(2, scale).polynomials().T):
            assert [Fraction(v) for v in value[:, k]] == truth(X, scale, values)
    for other in (X * [[1.0], [1.5]], X * [[1.25], [1.0]], X * [1.0, 1.0, 2.0**13]):
        assert unseen(Rows(FORMS[form](other)), Sums(2, scale), exact=False)[2].min() > 0.0
    assert unseen(Rows(FORMS[form](X)), Sums(2, np.array([1.0, 3.0, 2.0])), exact=False)[2].any()
    twice = unseen(Rows(FORMS[form](X)), Sums(2, np.array([1.0, 2.0, 2.0])), exact=False)
    assert not twice[2].any()  # quotients that are whole
