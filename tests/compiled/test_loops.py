"""Each compiled loop against the same thing in plain NumPy."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.typing import NDArray

from dualgap.arrays import Matrix, Vector
from dualgap.compiled import layout, lines
from dualgap.compiled.mechanism import compiled
from dualgap.solvers.dual_ascent import sweeps as dual_sweeps
from dualgap.solvers.lasso import gram_sweeps as gram
from dualgap.solvers.lasso import model_sweeps


@compiled
def _dot(stored: layout.Lines, k: int, x: Vector) -> float:
    return lines.dot(stored, k, x)


@compiled
def _add(stored: layout.Lines, k: int, amount: float, x: Vector) -> None:
    lines.add(stored, k, amount, x)


@compiled
def _draw(state: NDArray[np.int64], below: int) -> int:
    return lines.draw(state, below)


def test_what_only_loops_call_says_so() -> None:
    with pytest.raises(TypeError, match="compiled loops only"):
        lines.draw(_state(), 5)
    assert _draw(_state(), 5) < 5
    with pytest.raises(TypeError, match="compiled loops only"):
        lines.draw(_state(), 5)


def _soft(point: float, threshold: float) -> float:
    return float(np.sign(point) * max(abs(point) - threshold, 0.0))


def _state() -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.array([7], dtype=np.int64)


def _storages(array: Matrix) -> dict[str, layout.Lines]:
    """The rows of an array, three times."""
    return {
        "dense": layout.dense_lines(array),
        "sparse": layout.sparse_lines(sp.csr_array(array)),
        "compact": layout.sparse_lines(sp.csr_array(array), compact=True),
    }


@pytest.mark.parametrize("storage", ["dense", "sparse", "compact"])
def test_lines(storage: str) -> None:
    rng = np.random.default_rng(0)
    array = rng.integers(-3, 4, (6, 9)).astype(float)
    stored = _storages(array)[storage]
    x = rng.normal(size=9)
    for k in range(6):
        assert _dot(stored, k, x) == pytest.approx(array[k] @ x)
        plain = x.copy()
        _add(stored, k, 0.5, plain)
        np.testing.assert_allclose(plain, x + 0.5 * array[k])
    np.testing.assert_allclose(lines.square_norms(stored), (array**2).sum(axis=1))


def test_draws_cover_their_range() -> None:
    state = _state()
    counts = np.bincount([_draw(state, 5) for _ in range(5000)], minlength=5)
    assert counts.shape == (5,)
    assert counts.min() > 800


def test_descend_is_coordinate_descent() -> None:
    rng = np.random.default_rng(1)
    array = rng.normal(size=(20, 6))
    matrix, c, price = array.T @ array, array.T @ rng.normal(size=20), rng.uniform(0.5, 3.0, 6)
    w, residual, expected, settled = np.zeros(6), c.copy(), np.zeros(6), 0
    gram.descend(matrix, w, residual, price, 4)
    for _ in range(4):
        before = np.sign(expected)
        for j in range(6):
            rest = c[j] - matrix[j] @ expected + matrix[j, j] * expected[j]
            expected[j] = _soft(rest, price[j]) / matrix[j, j]
        settled = settled + 1 if np.array_equal(before, np.sign(expected)) else 0
        if settled == 2:
            break
    np.testing.assert_allclose(w, expected)
    np.testing.assert_allclose(residual, c - matrix @ w)


def test_gather_and_subtract() -> None:
    rng = np.random.default_rng(2)
    matrix = rng.normal(size=(7, 7))
    which, amount = np.array([1, 4, 6]), np.array([0.5, 0.0, -2.0])
    out, residual = np.empty((3, 3)), np.ones(5)
    gram.gather(matrix, which, out)
    gram.subtract_rows(matrix, which, amount, residual)
    np.testing.assert_array_equal(out, matrix[np.ix_(which, which)])
    np.testing.assert_allclose(residual, 1.0 - amount @ matrix[which, :5])


@pytest.mark.parametrize("storage", ["dense", "sparse"])
def test_the_model_is_minimised(storage: str) -> None:
    rng = np.random.default_rng(3)
    array = rng.normal(size=(30, 8)) * (rng.random((30, 8)) < 0.6)
    h, gradient = rng.uniform(0.1, 1.0, 30), 3.0 * rng.normal(size=8)
    w, price, ridge = rng.normal(size=8) * (rng.random(8) < 0.5), np.full(8, 1.5), np.full(8, 0.2)
    matrix = array.T @ (h[:, None] * array) + np.diag(ridge)
    state = change, _ = np.zeros(8), np.zeros(30)
    model, penalty = (gradient, matrix.diagonal().copy()), (w, price, ridge)
    columns = _storages(np.sqrt(h) * array.T)[storage]
    sweeps = model_sweeps.descend_model(columns, model, penalty, state, (1e-11, 500), _state())
    ahead, slope = w + change, gradient + matrix @ change
    assert sweeps < 500
    np.testing.assert_allclose(slope[ahead != 0], -price[ahead != 0] * np.sign(ahead[ahead != 0]))
    assert np.all(np.abs(slope[ahead == 0]) <= price[ahead == 0])
    np.testing.assert_allclose(state[1], np.sqrt(h) * (array @ change), atol=1e-12)


@pytest.mark.parametrize("storage", ["dense", "sparse"])
def test_the_columns_of_a_model_are_short_copies(storage: str) -> None:
    rng = np.random.default_rng(5)
    array = rng.normal(size=(30, 8)) * (rng.random((30, 8)) < 0.6)
    source, root, scale = _storages(array.T)[storage], rng.random(30), rng.uniform(0.5, 2.0, 3)
    which = np.array([1, 4, 8 if storage == "sparse" else 7])
    last = np.ones(30) if storage == "sparse" else array[:, 7]  # beyond the columns stored: ones
    expected = np.column_stack([array[:, [1, 4]], last]) * scale * root[:, None]
    out = np.empty(4, dtype=np.int64), np.empty(90, dtype=np.uint16), np.empty(90, dtype=np.float32)
    indices = out[1] if storage == "sparse" else out[1][:0]
    norms = model_sweeps.fill_model(source, which, scale, root, (out[0], indices, out[2]))
    copy = layout.Lines(source.dense, *(layout.locked(part) for part in (out[0], indices, out[2])))
    d, x = rng.normal(size=3), rng.normal(size=30)
    np.testing.assert_allclose(norms, (expected**2).sum(axis=0), rtol=1e-6)
    np.testing.assert_allclose(lines.combination(copy, d, 30), expected @ d, atol=1e-6)
    np.testing.assert_allclose(lines.dots(copy, x), expected.T @ x, atol=1e-6)


@pytest.mark.parametrize("storage", ["dense", "sparse"])
def test_conjugate_gradients_solve_for_the_live_columns(storage: str) -> None:
    rng = np.random.default_rng(6)
    array = rng.normal(size=(30, 8)) * (rng.random((30, 8)) < 0.6)
    live, ridge, right = np.arange(8) % 3 > 0, np.full(8, 0.2), rng.normal(size=8)
    matrix, residual = array.T @ array + np.diag(ridge), np.where(live, right, 0.0)
    parts = (matrix.diagonal().copy(), ridge, np.ones(8))
    columns = _storages(array.T)[storage]
    d, _ = model_sweeps.conjugate_model(columns, live, parts, residual, 30, (1e-12, 100))
    np.testing.assert_allclose((matrix @ d)[live], right[live], atol=1e-10)
    assert not d[~live].any()


def _largest(x: Matrix, lower: Matrix, upper: Matrix, softness: float) -> Matrix:
    """max over d in [lower, upper] of d x − softness d²/2."""
    best = np.where(x > 0, upper, lower) if softness == 0.0 else np.clip(x / softness, lower, upper)
    return np.asarray(best * x - 0.5 * softness * best**2)


@pytest.mark.parametrize("storage", ["dense", "sparse"])
@pytest.mark.parametrize("softness", [0.0, 0.5])
def test_the_dual_is_maximised(storage: str, softness: float) -> None:
    rng = np.random.default_rng(4)
    n, p = 40, 7
    array, weight = rng.normal(size=(n, p)), rng.uniform(0.01, 0.05, n)
    kink = np.stack([rng.normal(size=n) - 0.2, rng.normal(size=n) + 0.2], axis=1)
    lower, upper = np.tile([-1.0, 0.0], (n, 1)), np.tile([0.0, 1.0], (n, 1))
    dual, w, offset = np.zeros((n, 2)), np.zeros(p), np.full(n, 0.3)
    rows = _storages(array)[storage]
    row: tuple[Vector, Vector, Vector] = (weight, lines.square_norms(rows), offset)
    terms = (kink, lower, upper, softness, 0.0)
    for _ in range(20):  # rows that were dropped come back with every call
        watch = (np.arange(n), np.array([np.inf, -np.inf]), _state())
        gap, left, visits = dual_sweeps.ascend(rows, terms, row, dual, w, watch, (1e-13, 5000 * n))
    np.testing.assert_allclose(w, -array.T @ (weight * dual.sum(axis=1)), atol=1e-12)
    x = (array @ w + offset)[:, None] - kink
    parts = _largest(x, lower, upper, softness) - (dual * x - 0.5 * softness * dual**2)
    assert gap <= 1e-13
    assert 0 < visits < 5000 * n
    assert 0 < left <= n
    assert 0.0 <= weight @ parts.sum(axis=1) + 1e-15 <= 1e-12
    assert np.all((dual >= lower) & (dual <= upper))
