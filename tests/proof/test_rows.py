"""Products of the rows against rationals: as wrong as claimed at most, and the claim is the textbook's.

A column's largest |x| stands for it in every bound, so that Σ|x||w| is Σ top·|w|; what is claimed must be the
formula to a millionth, so that no charge can be dropped, halved or doubled unseen.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from dualgap.arrays import Matrix
from dualgap.proof import rows as module
from dualgap.proof.rows import Rows, _parts, last_product, length

U, LEAST = Fraction(1, 2**53), Fraction(1, 2**1074)
EPS = Fraction(float(np.finfo(np.longdouble).eps))
TINY = 5e-324


def single(X: Matrix) -> Any:
    return X.astype(np.float32)


def sparse_single(X: Matrix) -> Any:
    return sp.csr_array(X.astype(np.float32))


def unsorted(X: Matrix) -> Any:
    """CSR that stores places twice, halves or what makes up for it, and out of order."""
    found = sp.csr_array(X)
    half = np.where(found.data / 2 * 2 == found.data, found.data / 2, found.data * 2)
    data = np.column_stack([half, found.data - half]).ravel()
    parts = (data, np.repeat(found.indices, 2), 2 * found.indptr)
    for a, b in zip(parts[2], parts[2][1:], strict=False):
        for part in parts[:2]:
            part[a:b] = part[a:b][::-1].copy()
    return sp.csr_array(parts, shape=X.shape)


FORMS: dict[str, Callable[[Matrix], Any]] = {
    "C": np.ascontiguousarray,
    "F": np.asfortranarray,
    "strided": lambda X: np.repeat(np.repeat(X, 2, axis=0), 2, axis=1)[::2, ::2],
    "csr": sp.csr_array,
    "csc": sp.csc_array,
    "csr_matrix": sp.csr_matrix,
    "twice": unsorted,
}
SPARSE = ("csr", "csc", "csr_matrix", "twice")
SHORT: dict[str, Callable[[Matrix], Any]] = {"float32": single, "float32 csr": sparse_single}
every = pytest.mark.parametrize("form", FORMS)
either = pytest.mark.parametrize("exact", [False, True])


def gamma(k: int) -> Fraction:
    return k * U / (1 - k * U)


def lost(k: int) -> Fraction:
    return Fraction(math.log2(k + 1) + 3) * U * gamma(2 * k + 4)


def fractions(values: Any) -> Any:
    values = np.asarray(values, dtype=np.float64)
    return np.array([Fraction(v) for v in values.ravel().tolist()], dtype=object).reshape(values.shape)


def numbers(rng: np.random.Generator, shape: Any, scale: int) -> Matrix:
    """Of sizes 2^-12 apart, a third of them zeros."""
    found = np.ldexp(rng.normal(size=shape), rng.integers(scale - 12, scale + 1, shape))
    return np.where(rng.random(shape) < 0.3, 0.0, found)


def widest(X: Matrix, form: str) -> int:
    return int((X != 0).sum(axis=1).max(initial=0)) if form in SPARSE else X.shape[1]


def tallest(X: Matrix, form: str) -> int:
    return int((X != 0).sum(axis=0).max(initial=0)) if form in SPARSE else X.shape[0]


def same(claimed: Any, formula: Any) -> None:
    """To a millionth of it, and not below."""
    for found, wanted in zip(np.ravel(claimed), np.ravel(np.asarray(formula, dtype=object)), strict=True):
        assert wanted <= Fraction(float(found)) <= wanted * (1 + Fraction(1, 10**6)), (
            float(found),
            float(wanted),
        )


DRAWS = [(0, 0, 0), (1, -40, 60), (2, 300, -280), (3, 0, -1050), (4, -1060, 4)]  # seed, scales of X and of w


@every
@either
@pytest.mark.parametrize(("seed", "scale", "other"), DRAWS)
def test_times(form: str, exact: bool, seed: int, scale: int, other: int) -> None:
    rng = np.random.default_rng(seed)
    for n, p in [(6, 5), (1, 1), (3, 17), (2, 0), (4, 1)]:
        X, w = numbers(rng, (n, p), scale), numbers(rng, p, other)
        value, low, error = Rows(FORMS[form](X)).times(w, exact=exact)
        truth = fractions(X) @ fractions(w) if p else np.zeros(n, dtype=object)
        assert value.dtype == np.float64 and value.shape == (n,)
        for i in range(n):
            off = abs(truth[i] - Fraction(float(value[i])) - Fraction(float(np.broadcast_to(low, n)[i])))
            assert off <= Fraction(error)
        support = np.flatnonzero(w)
        size = sum(
            (Fraction(float(np.abs(X[:, j]).max())) * Fraction(abs(w[j])) for j in support), Fraction(0)
        )
        terms = min(widest(X, form), len(support))
        share = gamma(terms)
        if exact:
            share = lost(len(support))
            if form in SPARSE:
                share = widest(X, form) * EPS + U * U
        if scale + other > -900:
            same(error, share * size + (8 if exact else 1) * terms * LEAST)
        else:
            assert share * size <= Fraction(error) <= share * size * 2 + (9 if exact else 2) * terms * LEAST


@every
@either
@pytest.mark.parametrize(("seed", "scale", "other"), DRAWS)
def test_against(form: str, exact: bool, seed: int, scale: int, other: int) -> None:
    rng = np.random.default_rng(seed + 10)
    for n, p in [(6, 5), (1, 1), (17, 3), (4, 0), (12, 2)]:
        X, theta = numbers(rng, (n, p), scale), numbers(rng, n, other)
        value, error = Rows(FORMS[form](X)).against(theta, exact=exact)
        truth = fractions(X).T @ fractions(theta) if p else np.zeros(0, dtype=object)
        assert value.dtype == np.float64 and value.shape == error.shape == (p,)
        length, live = sum(np.abs(fractions(theta)), Fraction(0)), int(np.count_nonzero(theta))
        for j in range(p):
            off = abs(truth[j] - Fraction(float(value[j])))
            assert off <= Fraction(float(error[j]))
            size = length * Fraction(float(np.abs(X[:, j]).max()))
            terms = min(tallest(X, form), live)
            share = gamma(terms)
            if exact:
                share = live * EPS + U * U if form in SPARSE else lost(live)
            wanted = share * size + (U * abs(Fraction(float(value[j]))) if exact else 0)
            if scale + other > -900:
                same(error[j], wanted + (8 * live if exact else terms) * LEAST)
            else:
                assert wanted <= Fraction(float(error[j])) <= wanted * 2 + (9 if exact else 2) * live * LEAST


def root(squares: Fraction) -> Fraction:
    """√ from above, to forty digits."""
    unit = 10**400
    if not squares:
        return squares
    return Fraction(math.isqrt(squares.numerator * unit * unit // squares.denominator) + 1, unit)


def norm(X: Any) -> Fraction:
    return root(sum((v * v for v in fractions(X).ravel()), Fraction(0)))


def near(claimed: float, formula: Fraction, count: int) -> None:
    """The formula, but for squares that vanish: then not below it, nor above what these may have been."""
    assert formula <= Fraction(claimed) <= formula * (1 + Fraction(1, 10**6)) + root(count * LEAST) * 2


@every
@pytest.mark.parametrize(("seed", "scale", "other"), DRAWS)
def test_products_with_the_norm_of_the_whole_table(form: str, seed: int, scale: int, other: int) -> None:
    """‖X‖‖w‖, or that of the columns that are read, stands for Σ|x||w|, and ‖X‖‖θ‖ for Σ|x||θ|."""
    rng = np.random.default_rng(seed + 20)
    for n, p in [(6, 5), (1, 1), (3, 17), (2, 0), (4, 1), (5, 12)]:
        X, w, theta = numbers(rng, (n, p), scale), numbers(rng, p, other), numbers(rng, n, other)
        if p > 8:
            w[2:] = 0.0
        rows = Rows(FORMS[form](X))
        near(rows.size, norm(X), X.size)
        value, low, error = rows.times_roughly(w)
        plain = rows.times(w)
        assert np.array_equal(value, plain[0]) and not low.any() and (value + low).shape == (n,)
        support = np.flatnonzero(w)
        apart = 3 * len(support) <= p and form in ("C", "F", "strided", "csc")
        read = X[:, support] if apart else X
        terms = min(widest(X, form), len(support))
        share = gamma(terms) * norm(read) * norm(w)
        truth = fractions(X) @ fractions(w) if p else np.zeros(n, dtype=object)
        assert np.all(abs(truth - fractions(value)) <= Fraction(error))
        found, reach = rows.against_roughly(theta)
        assert np.array_equal(found, rows.against(theta)[0]) and reach.shape == (p,)
        live = int(np.count_nonzero(theta))
        if form not in SPARSE or form == "csc":  # others count for as many as dense ones
            live = min(tallest(X, form), live)
        wanted = gamma(live) * norm(X) * norm(theta)
        truth = fractions(X).T @ fractions(theta) if p else np.zeros(0, dtype=object)
        assert np.all(abs(truth - fractions(found)) <= fractions(reach))
        if min(scale, other) > -300:
            same(error, share + terms * LEAST)
            same(reach, [wanted + live * LEAST] * p)
        else:
            assert share <= Fraction(error) and all(wanted <= Fraction(one) for one in reach.tolist())


@pytest.mark.parametrize(("more", "terms"), [(0, 5), (1, 3)])
def test_rows_of_a_sparse_column_are_counted_where_there_are_many(
    monkeypatch: pytest.MonkeyPatch, more: int, terms: int
) -> None:
    """By rows that takes as long as the product: of few rows, each counts for every column."""
    X, theta = np.diag(np.ones(5)) + np.eye(5, k=1) + np.eye(5, k=2), np.arange(1.0, 6.0)
    monkeypatch.setattr("dualgap.proof.rows.SHORT", 5 - more)
    _, reach = Rows(FORMS["csr"](X)).against_roughly(theta)
    same(reach, [gamma(terms) * norm(X) * norm(theta) + terms * LEAST] * 5)
    same(Rows(FORMS["csc"](X)).against_roughly(theta)[1], [gamma(3) * norm(X) * norm(theta) + 3 * LEAST] * 5)


@pytest.mark.parametrize("form", ["C", "csr"])
def test_the_last_product_is_given_out_for_the_same_numbers_only(form: str) -> None:
    X, w = np.arange(12.0).reshape(4, 3), np.array([1.0, -2.0, 0.5])
    rows = Rows(FORMS[form](X))
    assert last_product(rows, w) is None
    for asked in (rows.times, rows.times_roughly):
        value = asked(w)[0]
        assert last_product(rows, w.copy()) is value
        with pytest.raises(ValueError, match="read-only"):
            value[0] = 7.0
        w[1] += 1.0
        assert last_product(rows, w) is None
        np.testing.assert_array_equal(asked(w)[0], X @ w)
        assert last_product(rows, w) is not None
        w[1] -= 1.0


@every
def test_products_that_vanish_are_paid_for(form: str) -> None:
    """Each of them is a fifth of the least number, and rounded to nothing."""
    X, small = np.array([[1e-170, 0.0], [1e-170, 1e-170]]), np.full(2, 1e-154)
    rows = Rows(FORMS[form](X))
    value, low, error = rows.times_roughly(small)
    found, reach = rows.against_roughly(small)
    assert not (value.any() or low.any() or found.any())
    assert np.all(fractions(X) @ fractions(small) <= Fraction(error)) and error <= 3 * TINY
    assert np.all(fractions(X).T @ fractions(small) <= fractions(reach)) and reach.max() <= 3 * TINY


@pytest.mark.parametrize("order", ["C", "F"])
def test_products_made_ahead_are_those_of_the_same_numbers(order: Any) -> None:
    """They are given out once made, cannot be changed by who is given them, and claim no less."""
    rng = np.random.default_rng(5)
    X, weights, thetas = (rng.normal(size=shape) for shape in [(6, 4), (2, 4), (3, 6)])
    fresh, rows = Rows(np.array(X, order=order)), Rows(np.array(X, order=order))
    value = rows.times_ahead(weights)
    rows.against_ahead(thetas)
    for w in weights:
        for asked in (rows.times, rows.times_roughly):
            found, low, error = asked(w)
            assert np.shares_memory(found, value) and not low.any()
            assert error >= fresh.times(w)[2] if asked == rows.times else error >= gamma(4) * norm(w)
            with pytest.raises(ValueError, match="read-only"):
                found[0] = 7.0
        other = w.copy()
        other[-1] += 1.0
        assert np.array_equal(rows.times(other)[0], fresh.times(other)[0])
    for theta in thetas:
        for asked, plain in (
            (rows.against, fresh.against),
            (rows.against_roughly, fresh.against_roughly),
        ):
            found, reach = asked(theta)
            assert found is asked(theta)[0] and np.array_equal(reach, plain(theta)[1])
            np.testing.assert_allclose(found, X.T @ theta, rtol=1e-14, atol=1e-14)
            with pytest.raises(ValueError, match="read-only"):
                found[0] = 7.0
        other = theta.copy()
        other[-1] += 1.0
        assert np.array_equal(rows.against(other)[0], fresh.against(other)[0])
    seen = rows.foreseen(thetas[0] + 1.0)
    np.testing.assert_allclose(seen, X.T @ (thetas[0] + 1.0), rtol=1e-14, atol=1e-14)
    assert np.shares_memory(seen, rows.against(thetas[0] + 1.0)[0])


def test_norms_of_many_numbers_are_from_above() -> None:
    """Squares that are added one by one to a large one vanish beside it."""
    x = np.full(1 << 16, 2.0**-27)
    x[0] = 1.0
    for found in (Rows(x[:, None]).size, Rows(np.repeat(x[:, None], 2, axis=1)[:, ::2]).size, length(x)):
        assert norm(x) <= Fraction(found) <= norm(x) * (1 + 2 * gamma(len(x)))
    assert Rows(np.full((2, 2), 5e-324)).size >= 1e-323
    with np.errstate(over="ignore"):
        assert length(np.full(3, 1e200)) == np.inf


@pytest.mark.parametrize("form", SHORT)
@either
def test_numbers_of_four_bytes_are_what_they_are(form: str, exact: bool) -> None:
    """Products with them are those of doubles, bounds and lengths too."""
    rng = np.random.default_rng(20)
    X = numbers(rng, (9, 7), 2).astype(np.float32).astype(np.float64)
    w, theta, a = numbers(rng, 7, 0), numbers(rng, 9, 0), np.full(9, 1 / 9)
    short, long = Rows(SHORT[form](X)), Rows(sp.csr_array(X) if "csr" in form else X)
    for one, other in [
        (short.times(w, exact=exact), long.times(w, exact=exact)),
        (short.against(theta, exact=exact), long.against(theta, exact=exact)),
        (short.times_many(w[None]), long.times_many(w[None])),
        (short.against_many(theta[None]), long.against_many(theta[None])),
        (
            (short.tops, short.lengths(a, np.arange(short.p)), short.columns(np.arange(3))),
            (long.tops, long.lengths(a, np.arange(long.p)), X[:, :3]),
        ),
    ]:
        for got, wanted in zip(one, other, strict=True):
            assert np.asarray(got).dtype == np.float64
            assert np.array_equal(got, wanted)


@every
def test_columns_and_what_is_largest_in_them(form: str) -> None:
    X = np.array([[1.0, 0.0, -3.0, 0.0], [-2.0, 0.0, 0.5, 0.0], [0.0, 0.0, 2.0, 7.0]])
    rows = Rows(FORMS[form](X))
    assert (rows.n, rows.p) == (3, 4) and isinstance(rows.n, int) and isinstance(rows.p, int)
    assert rows.sparse == (form not in ("C", "F", "strided"))
    assert rows.tops.tolist() == [2.0, 0.0, 3.0, 7.0]
    assert rows.widest == widest(X, form) and rows.tallest == tallest(X, form)
    assert rows.columns(np.array([2, 0])).tolist() == X[:, [2, 0]].tolist()
    assert isinstance(rows.columns(np.array([1])), np.ndarray)
    assert rows.cells(slice(0, 3), 2).tolist() == [-3.0, 0.5, 2.0] and rows.cells(slice(1, 2), 0) == [-2.0]
    low = Rows(FORMS[form](-X))
    assert low.tops.tolist() == [2.0, 0.0, 3.0, 7.0]


@every
def test_nothing_at_all(form: str) -> None:
    """No rows, no columns, zeros only."""
    for n, p in [(0, 3), (3, 0), (3, 2)]:
        rows = Rows(FORMS[form](np.zeros((n, p))))
        assert rows.tops.tolist() == [0.0] * p
        for exact in (False, True):
            value, low, error = rows.times(np.ones(p), exact=exact)
            assert value.shape == (n,) and not value.any() and not low.any() and error <= 8 * p * TINY
            value, reach = rows.against(np.ones(n), exact=exact)
            assert value.shape == (p,) and not value.any() and np.all(reach <= 8 * n * TINY)
            zero = rows.times(np.zeros(p), exact=exact)
            assert zero[2] == 0.0 and not rows.against(np.zeros(n), exact=exact)[1].any()
        assert rows.times_many(np.ones((2, p)))[0].shape == (2, n)
        assert rows.against_many(np.ones((2, n)))[0].shape == (2, p)


def test_a_matrix_given_is_not_changed() -> None:
    X = unsorted(np.array([[1.0, 2.0], [0.0, 4.0]]))
    before = X.data.copy()
    assert Rows(X).matrix.data.tolist() == [1.0, 2.0, 4.0] and X.data.tolist() == before.tolist()
    once = sp.csr_array(np.eye(3))
    assert Rows(once).matrix is once
    dense = np.eye(3)
    assert Rows(dense).matrix is dense


def test_places_stored_twice_count_as_their_sum() -> None:
    """The largest number stored is half of what is meant, and there are twice as many as columns."""
    X = sp.csr_array((np.full(6, 0.1), np.array([0, 0, 0, 0, 0, 0]), np.array([0, 6])), shape=(1, 1))
    rows = Rows(X)
    assert rows.tops.tolist() == X.toarray()[0].tolist() and rows.widest == 1


@every
def test_rounding_all_one_way_is_paid_for(form: str) -> None:
    """One, and half ulps that vanish beside it: added one by one all of them do, and the bound is reached."""
    n = 1000
    small = np.full(n, 2.0**-53)
    small[0] = 1.0
    truth = 1 + (n - 1) * U
    column, line = Rows(FORMS[form](np.ones((n, 1)))), Rows(FORMS[form](np.ones((1, n))))
    worst = []
    for found, reach in (column.against(small), line.times(small)[::2]):
        off, claimed = abs(truth - Fraction(float(found[0]))), Fraction(float(np.ravel(reach)[0]))
        assert off <= claimed
        worst.append(off / claimed)
    assert not column.sparse or min(worst) > 0.99  # BLAS adds in another order
    value, reach = column.against(small, exact=True)
    assert abs(truth - Fraction(float(value[0]))) <= Fraction(float(reach[0])) < 2 * U
    value, low, error = line.times(small, exact=True)
    assert abs(truth - Fraction(float(value[0])) - Fraction(float(low[0]))) <= Fraction(error) < U


@either
def test_the_size_of_a_long_sum_is_not_its_rounded_one(exact: bool) -> None:
    """|x||w| is itself a sum that loses, a thousand ulps here: what is claimed counts all of it."""
    p = 1 << 16
    w = np.full(p, 2.0**-53)
    w[:64] = 1.0  # wherever a partial sum begins
    size = 64 + (p - 64) * U
    rows = Rows(np.ones((1, p)))
    assert Fraction(float(rows.tops @ w)) < size * (1 - 500 * U)
    same(rows.times(w, exact=exact)[2], (lost(p) if exact else gamma(p)) * size)
    same(rows.times_many(w[None])[1], gamma(p) * size)
    column = Rows(np.ones((p, 1)))
    same(column.against(w)[1], gamma(1024 + 63) * size)
    same(column.against_many(w[None])[1], gamma(1024 + 63) * size)


@pytest.mark.parametrize("form", ["C", "csr"])
def test_the_bound_is_from_above_itself(form: str) -> None:
    """Single numbers, where no other slack covers what the bound's own arithmetic loses: FEW does."""
    rng = np.random.default_rng(31)
    few = 1 + 100 * U
    for x, y in rng.uniform(1.0, 2.0, (20, 2)):
        rows, w = Rows(FORMS[form](np.array([[x]]))), np.array([y])
        size = Fraction(x) * Fraction(y) * few
        for many in (
            rows.times_many(w[None]),
            rows.against_many(w[None]),
            rows.against(w),
            rows.times(w)[1:],
        ):
            same(many[1], gamma(1) * size)
        share = lost(1) if form == "C" else EPS + U * U
        same(rows.times(w, exact=True)[2], share * size)
        value, error = rows.against(w, exact=True)
        same(error, share * size + U * Fraction(float(value[0])) * few)


@every
def test_what_underflows_is_counted(form: str) -> None:
    """Products far below the least number: one of it each, eight where they are taken apart."""
    X, w = np.full((3, 3), 2.0**-600), np.full(3, 2.0**-600)
    rows = Rows(FORMS[form](X))
    for exact, least in ((False, 3 * TINY), (True, 24 * TINY)):
        assert rows.times(w, exact=exact)[2] == least
        assert rows.against(w, exact=exact)[1].tolist() == [least] * 3
    assert rows.times_many(w[None])[1].tolist() == [3 * TINY]
    assert rows.against_many(w[None])[1].tolist() == [[3 * TINY] * 3]


@either
def test_tiny_weights_and_huge_columns(exact: bool) -> None:
    """A share of Σ|θ| underflows where one of |x|Σ|θ| does not."""
    X, theta = np.array([[1e150], [3e150], [7e150]]), np.array([3e-309, 1e-309, 7e-309])
    for form in (np.asarray, sp.csr_array):
        value, error = Rows(form(X)).against(theta, exact=exact)
        size = Fraction(7e150) * sum(fractions(theta))
        share = lost(3) if form is np.asarray else 3 * EPS + U * U
        same(error, share * size + U * Fraction(float(value[0])) if exact else gamma(3) * size)
        value, error = Rows(form(X)).against_many(theta[None])
        same(error, gamma(3) * size)


def test_every_product_may_underflow() -> None:
    """Also in blocks, where a term is rounded less often than there are terms: each loses half the least."""
    n = 10_000
    X, theta = np.full((n, 1), 2.0**-537), np.full(n, 2.0**-538)
    truth = n * LEAST / 2
    for found, error in (Rows(X).against(theta), Rows(X).against_many(theta[None])):
        assert found == 0.0 and truth <= Fraction(float(np.ravel(error)[0])) <= 2 * truth + 1000 * LEAST
    value, _, error = Rows(X.T).times(theta)
    assert value == 0.0 and truth <= Fraction(error) <= 2 * truth + 1000 * LEAST
    found, error = Rows(X.T).times_many(theta[None])
    assert found == 0.0 and truth <= Fraction(float(error[0])) <= 2 * truth + 1000 * LEAST


@pytest.mark.parametrize("n", [1, 1024, 1025, 10_000])
def test_blocks_of_rows(n: int) -> None:
    """A term is rounded once per term of its block, and once per block."""
    theta = np.ones(n)
    roundings = min(n, 1024) + (n - 1) // 1024
    rng = np.random.default_rng(n)
    X = rng.integers(-8, 9, (n, 2)).astype(float)
    X[0] = 8.0
    for value, error in (Rows(X).against(theta), Rows(X).against_many(theta[None])):
        assert np.ravel(value).tolist() == X.sum(axis=0).tolist()
        same(error, [gamma(roundings) * 8 * n] * 2)
    value, error = Rows(sp.csr_array(X)).against(theta)
    assert value.tolist() == X.sum(axis=0).tolist()
    same(error, [gamma(tallest(X, "csr")) * 8 * n] * 2)


def test_few_rows_of_many_are_rounded_a_few_times() -> None:
    n = 9000
    X, theta = np.full((n, 1), 3.0), np.zeros(n)
    for live in (1, 10, 2999, 3000, 3001, 4100, 9000):
        theta[:live] = 1.0
        value, error = Rows(X).against(theta)
        blocks = -(-(live if live <= 3000 else n) // 1024)
        assert value[0] == 3.0 * live
        same(error, gamma(min(live, 1024) + blocks - 1) * 3 * live)


@pytest.mark.parametrize("form", ["C", "csr", "csc"])
def test_columns_of_weight_zero_are_not_read(form: str) -> None:
    """Where two in three weights are zero; by rows of a sparse matrix they are, which is faster."""
    X = np.array([[1.0, 2.0, np.nan, np.nan, np.nan, np.nan], [3.0, 4.0, np.nan, np.nan, np.nan, np.nan]])
    rows, shorter = Rows(FORMS[form](X)), Rows(FORMS[form](X[:, :5]))
    w = np.array([1.0, 1.0, 0.0, 0.0, 0.0, 0.0])
    with np.errstate(invalid="ignore"):
        assert np.isnan(rows.tops).tolist() == [False, False, True, True, True, True]
        assert np.isnan(shorter.times(w[:5])[0]).all()
    value, _, error = rows.times(w)
    assert np.isnan(value).all() if form == "csr" else value.tolist() == [3.0, 7.0]
    same(error, gamma(2) * 7)
    for found in (rows.times(w, exact=True), shorter.times(w[:5], exact=True)):
        assert found[0].tolist() == [3.0, 7.0]


def test_rows_of_dual_zero_are_not_read() -> None:
    X = np.array([[1.0], [2.0], [np.nan], [np.nan], [np.nan], [np.nan]])
    theta = np.array([1.0, 1.0, 0.0, 0.0, 0.0, 0.0])
    assert Rows(X).against(theta)[0].tolist() == [3.0]
    assert np.isnan(Rows(X[:5]).against(theta[:5])[0]).all()
    assert Rows(X[:5]).against(theta[:5], exact=True)[0].tolist() == [3.0]


@pytest.mark.parametrize("form", ["C", "csr", "csc"])
def test_columns_without_weights_in_any_line_are_not_read(form: str) -> None:
    """Where two in three are, and lines enough to make up for the copy."""
    X = np.array([[1.0, 2.0, np.nan, np.nan, np.nan, np.nan], [3.0, 4.0, np.nan, np.nan, np.nan, np.nan]])
    W = np.outer([1.0, 0.0, -1.0, 2.0], [1.0, 1.0, 0.0, 0.0, 0.0, 0.0])
    W[1, 1] = 1.0
    with np.errstate(invalid="ignore"):
        value, few = Rows(FORMS[form](X)).times_many(W)[0], Rows(FORMS[form](X)).times_many(W[:3])[0]
        shorter = Rows(FORMS[form](X[:, :5])).times_many(W[:, :5])[0]
    if form == "C":
        assert value.tolist() == [[3.0, 7.0], [2.0, 4.0], [-3.0, -7.0], [6.0, 14.0]]
    else:
        assert np.isnan(value).all()
    assert np.isnan(few).all() and np.isnan(shorter).all()


def test_parts_hold_so_many_numbers() -> None:
    assert _parts(300, 1024) == [slice(0, 128), slice(128, 256), slice(256, 384)]
    assert _parts(3, 1 << 20) == [slice(0, 1), slice(1, 2), slice(2, 3)]
    assert _parts(5, 0) == [slice(0, 1 << 17)] and _parts(0, 5) == []
    assert _parts(2, (1 << 16) + 1) == [slice(0, 1), slice(1, 2)]


@either
def test_parts_make_no_difference(exact: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(30)
    for n, p in [(11, 6), (2, 9), (9, 2)]:
        X, w, theta = numbers(rng, (n, p), 0), rng.normal(size=p), rng.normal(size=n)
        before = Rows(X).times(w, exact=exact), Rows(X).against(theta, exact=exact)
        for cells in (1, 7, 24):
            with monkeypatch.context() as patch:
                patch.setattr(module, "CELLS", cells)
                after = Rows(X).times(w, exact=exact), Rows(X).against(theta, exact=exact)
            for one, other in zip([*before[0], *before[1]], [*after[0], *after[1]], strict=True):
                assert np.array_equal(one, other)


@every
@pytest.mark.parametrize(("seed", "scale", "other"), DRAWS)
def test_many_at_once(form: str, seed: int, scale: int, other: int) -> None:
    rng = np.random.default_rng(seed + 40)
    for n, p, count in [(6, 5, 3), (1, 1, 1), (17, 3, 2), (3, 17, 4)]:
        X = numbers(rng, (n, p), scale)
        rows, top = Rows(FORMS[form](X)), fractions(np.abs(X).max(axis=0))
        for order in ("C", "F"):
            W, T = (np.asarray(numbers(rng, (count, m), other), order=order) for m in (p, n))
            value, error = rows.times_many(W)
            off = np.abs(fractions(X) @ fractions(W).T - fractions(value).T).max(axis=0)
            assert value.shape == (count, n) and error.shape == (count,) and np.all(off <= fractions(error))
            wide, tall, size = widest(X, form), tallest(X, form), np.abs(fractions(W)) @ top
            if scale + other > -900:
                same(error, gamma(wide) * size + wide * LEAST)
            assert np.all(fractions(error) <= 2 * (gamma(wide) * size + wide * LEAST))
            value, reach = rows.against_many(T)
            off = np.abs(fractions(T) @ fractions(X) - fractions(value))
            assert value.shape == reach.shape == (count, p) and np.all(off <= fractions(reach))
            size = np.outer(np.abs(fractions(T)).sum(axis=1), top)
            if scale + other > -900:
                same(reach, gamma(tall) * size + tall * LEAST)
            assert np.all(fractions(reach) <= 2 * (gamma(tall) * size + tall * LEAST))


def test_many_dual_points_in_any_order_of_memory() -> None:
    """By columns NumPy does not add in pairs: the sum of each row loses an ulp a term."""
    n = 1000
    theta = np.full((2, n), 2.0**-53)
    theta[:, 0] = 1.0
    for order in ("C", "F"):
        error = Rows(np.ones((n, 1))).against_many(np.asarray(theta, order=order))[1]
        same(error, [gamma(n) * (1 + (n - 1) * U)] * 2)


@every
def test_lengths_are_from_above(form: str) -> None:
    """√(Σ a x²), each rounding paid for and no more than that."""
    rng = np.random.default_rng(50)
    closest, farthest = Fraction(1), Fraction(0)
    for n, scale in [(1, 0)] * 60 + [(2, 0)] * 20 + [(7, 0), (7, -400), (7, 400), (30, 3)]:
        X, a = np.ldexp(rng.uniform(0.5, 1.0, (n, 4)), scale), rng.uniform(0.1, 1.0, n)
        lengths = Rows(FORMS[form](X)).lengths(a, np.arange(X.shape[1]))
        squares = (fractions(X) ** 2 * fractions(a)[:, None]).sum(axis=0)
        shares = fractions(lengths) ** 2 / squares - 1
        assert np.all(shares >= 0) and np.all(shares <= (2 * n + 14) * U)
        if n == 1:
            closest, farthest = min(closest, *shares), max(farthest, *shares)
    assert closest >= 4 * U and farthest >= 12 * U


@every
def test_lengths_of_some_columns(form: str) -> None:
    X, a = np.array([[3.0, 0.0, 1.0], [0.0, 5.0, 2.0]]), np.array([0.25, 1.0])
    rows = Rows(FORMS[form](X))
    whole = rows.lengths(a, np.arange(3))
    assert whole == pytest.approx([1.5, 5.0, np.sqrt(4.25)], rel=1e-14)
    assert rows.lengths(a, np.array([0, 2])).tolist() == whole[[0, 2]].tolist()
    assert rows.lengths(a, np.zeros(0, dtype=np.intp)).shape == (0,)


@every
def test_lengths_that_underflow(form: str) -> None:
    X = np.array([[1e-170, 0.0], [-3e-162, 0.0], [1e-300, 0.0]])
    a = np.array([0.25, 0.5, 0.25])
    lengths = Rows(FORMS[form](X)).lengths(a, np.arange(X.shape[1]))
    square = (fractions(X[:, 0]) ** 2 * fractions(a)).sum()
    assert square <= Fraction(lengths[0]) ** 2 <= square + 6 * LEAST
    assert lengths[1] == math.sqrt(3 * TINY)
