"""Every design answers as its dense copy does."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import dualgap as dg
from cases import DESIGNS, vectors
from dualgap.arrays import Matrix
from dualgap.design import Compressed, Dense, Design

every_design = pytest.mark.parametrize("kind", DESIGNS)


@st.composite
def designs(draw: st.DrawFn, kind: str) -> tuple[Design, Matrix]:
    """One row or column is as good as many; half the entries are zero."""
    n, p = draw(st.integers(1, 7)), draw(st.integers(1, 6))
    array = draw(vectors(n * p)).reshape(n, p) * draw(hnp.arrays(np.bool_, (n, p)))
    array.flags.writeable = False
    design = DESIGNS[kind](array)
    return design, design.toarray()


@every_design
@given(data=st.data())
def test_toarray_holds_the_numbers_given(kind: str, data: st.DataObject) -> None:
    array = np.round(data.draw(vectors(12))).reshape(4, 3)
    copy = DESIGNS[kind](array).toarray()
    if "standardised" in kind:
        copy = copy * np.linspace(0.5, 3.0, 3) + np.linspace(-1.0, 2.0, 3)
    np.testing.assert_allclose(copy[:, :3], array, atol=1e-13)
    if kind.endswith("ones"):
        np.testing.assert_array_equal(copy[:, 3:], np.ones((4, 1)))


@every_design
@given(data=st.data())
def test_products(kind: str, data: st.DataObject) -> None:
    design, array = data.draw(designs(kind))
    n, p = design.shape
    assert array.shape == (n, p)
    assert 0 <= design.stored <= n * p
    w, theta = data.draw(vectors(p)), data.draw(vectors(n))
    np.testing.assert_allclose(design.matvec(w), array @ w, atol=1e-10)
    np.testing.assert_allclose(design.transpose_matvec(theta), array.T @ theta, atol=1e-10)
    weights = np.array([w, data.draw(vectors(p)), np.zeros(p)])
    np.testing.assert_allclose(design.matvecs(weights), weights @ array.T, atol=1e-10)
    thetas = np.array([theta, data.draw(vectors(n)), np.zeros(n)])
    np.testing.assert_allclose(design.transpose_matvecs(thetas), thetas @ array, atol=1e-10)
    features = design.features.toarray()
    np.testing.assert_array_equal(features, array[:, : features.shape[1]])
    assert features.shape[1] == p - kind.endswith("ones")


@every_design
@given(data=st.data())
def test_rough_products_are_near(kind: str, data: st.DataObject) -> None:
    design, array = data.draw(designs(kind))
    w, theta = data.draw(vectors(design.shape[1])), data.draw(vectors(design.shape[0]))
    rough, size = design.rough(), np.abs(array) + 10.0 * np.abs(array).max()
    assert rough.shape == design.shape
    assert np.all(np.abs(rough.matvec(w) - array @ w) <= 1e-6 * (size @ np.abs(w)))
    assert np.all(np.abs(rough.transpose_matvec(theta) - array.T @ theta) <= 1e-6 * (size.T @ np.abs(theta)))
    np.testing.assert_array_equal(rough.toarray(), design.toarray())


@every_design
@given(data=st.data())
def test_curved_products(kind: str, data: st.DataObject) -> None:
    design, array = data.draw(designs(kind))
    n, p = design.shape
    w, h, shift = data.draw(vectors(p)), np.abs(data.draw(vectors(n))), data.draw(st.floats(-2.0, 2.0))
    t = h * (array @ w + shift)
    for one, share in ((design, 1e-12), (design.rough(), 1e-6)):
        pull, total = one.curved(h, w, shift)
        size = h @ (np.abs(array) @ np.abs(w) + 10.0 * np.abs(array).max() * np.abs(w).sum() + abs(shift))
        reach = 1.0 + 20.0 * np.abs(array).max()
        assert abs(total - t.sum()) <= share * size * reach + 1e-300
        assert np.all(np.abs(pull - array.T @ t) <= share * size * reach * reach + 1e-300)


@every_design
@given(data=st.data())
def test_products_across(kind: str, data: st.DataObject) -> None:
    design, array = data.draw(designs(kind))
    n, p = design.shape
    d, theta = np.abs(data.draw(vectors(p))), data.draw(vectors(n))
    size = 1.0 + 20.0 * np.abs(array).max()
    reach = 1e-300 + 1e-12 * size * size * d.sum() * np.abs(theta).sum()
    assert np.all(np.abs(design.across(d, theta) - array @ (d * (array.T @ theta))) <= reach)


@every_design
@given(data=st.data())
def test_equal_rows_have_equal_marks(kind: str, data: st.DataObject) -> None:
    design, _ = data.draw(designs(kind))
    twice = design.rows(np.repeat(np.arange(design.shape[0]), 2))
    marks = twice.row_marks()
    assert marks.shape == (twice.shape[0],)
    np.testing.assert_array_equal(marks[::2], marks[1::2])


@every_design
@given(data=st.data())
def test_size_of_the_terms_that_cancel(kind: str, data: st.DataObject) -> None:
    """Exact where columns are stored as they are; never too small where they are centred on the way."""
    design, array = data.draw(designs(kind))
    theta = np.abs(data.draw(vectors(design.shape[0])))
    size, exact = design.absolute_transpose_matvec(theta), np.abs(array).T @ theta
    assert np.all(size >= exact * (1 - 1e-12))
    if "standardised" not in kind:
        np.testing.assert_allclose(size, exact, atol=1e-10)


@every_design
@given(data=st.data())
def test_gram_and_outer(kind: str, data: st.DataObject) -> None:
    design, array = data.draw(designs(kind))
    n, p = design.shape
    h, d = np.abs(data.draw(vectors(n))), np.abs(data.draw(vectors(p)))
    np.testing.assert_allclose(design.weighted_gram(h), array.T @ (h[:, None] * array), atol=1e-8)
    np.testing.assert_allclose(design.weighted_outer(d), (array * d) @ array.T, atol=1e-8)


@every_design
@given(data=st.data())
def test_norms(kind: str, data: st.DataObject) -> None:
    design, array = data.draw(designs(kind))
    a = np.abs(data.draw(vectors(design.shape[0])))
    np.testing.assert_allclose(design.weighted_square_norms(a), a @ (array * array), atol=1e-8)
    np.testing.assert_allclose(design.row_square_norms(), (array * array).sum(axis=1), atol=1e-10)


@every_design
@given(data=st.data())
def test_parts_by_mask_and_by_index(kind: str, data: st.DataObject) -> None:
    """A part is a design of its own: it answers too."""
    design, array = data.draw(designs(kind))
    n, p = design.shape
    for keep in (data.draw(hnp.arrays(np.bool_, n)), np.arange(n)[::-1]):
        part = design.rows(keep)
        assert part.shape == array[keep].shape
        np.testing.assert_array_equal(part.toarray(), array[keep])
        np.testing.assert_allclose(part.matvec(np.ones(p)), array[keep].sum(axis=1), atol=1e-10)
    for keep in (data.draw(hnp.arrays(np.bool_, p)), np.arange(p)[1:]):
        part = design.columns(keep)
        assert part.shape == array[:, keep].shape
        np.testing.assert_array_equal(part.toarray(), array[:, keep])
        np.testing.assert_allclose(part.transpose_matvec(np.ones(n)), array[:, keep].sum(axis=0), atol=1e-10)


@pytest.mark.parametrize("kind", ["dense", "csr", "standardised"])
def test_gram_of_many_rows_goes_by_blocks(kind: str) -> None:
    rng = np.random.default_rng(0)
    array = rng.normal(size=(70_000, 5))
    design = DESIGNS[kind](array)
    h = rng.random(len(array)) * (rng.random(len(array)) < 0.5)
    full = design.toarray()
    np.testing.assert_allclose(design.weighted_gram(h), full.T @ (h[:, None] * full), rtol=1e-9, atol=1e-7)
    np.testing.assert_allclose(design.absolute_transpose_matvec(h)[0] > 0, True)
    if kind != "standardised":
        np.testing.assert_allclose(design.absolute_transpose_matvec(h), np.abs(full).T @ h, rtol=1e-9)


def _mostly_zero(rng: np.random.Generator, share: float) -> Matrix:
    array: Matrix = rng.normal(size=(700, 200)) * (rng.random((700, 200)) < share)
    array[:, 7] = 0.0
    return array


@pytest.mark.parametrize("order", ["C", "F"])
def test_dense_data_without_their_zeros(order: str) -> None:
    rng = np.random.default_rng(1)
    array = np.asarray(_mostly_zero(rng, 0.1), order=order)  # type: ignore[call-overload]
    found = Compressed.of(Dense(array))
    assert found is not None
    assert found.stored == np.count_nonzero(array)
    np.testing.assert_array_equal(found.toarray(), array)
    assert Compressed.of(Dense(_mostly_zero(rng, 0.5))) is None
    assert Compressed.of(Dense(array[:50])) is None  # few numbers
    assert Compressed.of(Dense(array[:, ::2])) is None  # not in one piece


@pytest.mark.parametrize("single", [False, True])
def test_gram_of_a_filled_matrix_goes_by_dense_blocks(single: bool) -> None:
    rng = np.random.default_rng(2)
    array, h = _mostly_zero(rng, 0.3), rng.random(700)
    gram = DESIGNS["csr"](array).weighted_gram(h, single=single)
    np.testing.assert_allclose(gram, array.T @ (h[:, None] * array), atol=1e-3 if single else 1e-11)


@pytest.mark.parametrize("loss", ["logistic", "squared_hinge", "squared", "absolute"])
@pytest.mark.parametrize("penalty", ["l2", "l1"])
def test_a_fit_without_the_zeros_is_the_same(loss: str, penalty: str) -> None:
    rng = np.random.default_rng(3)
    array = _mostly_zero(rng, 0.1)
    score = array @ rng.normal(size=200) + rng.normal(size=700)
    y = score if loss in ("squared", "absolute") else np.where(score > 0, 1.0, -1.0)
    lean = dg.fit(array, y, loss=loss, penalty=penalty, lam=1e-2)
    strided = dg.fit(np.repeat(array, 2, axis=1)[:, ::2], y, loss=loss, penalty=penalty, lam=1e-2)
    assert lean.converged
    assert abs(lean.objective - strided.objective) <= 1e-6 * lean.objective
    assert lean.coef[7] == 0.0
