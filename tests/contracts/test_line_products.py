"""Products of the lines of a table with each other: by a loop of ours or by BLAS, they are those of NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from dualgap.arrays import Matrix, Vector
from dualgap.design.dense import Dense
from dualgap.design.line_products import products_with_new, weighted_products, weighted_square
from dualgap.design.picked_lines import picked_combination, picked_products
from dualgap.design.weighted_lines import subtract_square

RNG = np.random.default_rng(11)
SIZES = ((1, 1), (7, 3), (16, 4), (977, 9), (2000, 5), (1500, 133), (300, 259))


def _weights(n: int, kind: str) -> Vector:
    return {"even": np.full(n, 1.0 / n), "any": RNG.random(n), "gaps": RNG.random(n) * (RNG.random(n) < 0.9)}[
        kind
    ]


def _wanted(X: Matrix, h: Vector) -> Matrix:
    return np.asarray((X * h[:, None]).T @ X)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("kind", ["even", "any", "gaps"])
def test_of_a_whole_table(size: tuple[int, int], order: str, kind: str) -> None:
    X, h = np.require(RNG.standard_normal(size), requirements=order), _weights(size[0], kind)
    wanted = _wanted(X, h)
    scale = float(np.abs(wanted).max()) + 1e-300
    for found in (weighted_square(X, h, single=False), Dense(X).weighted_gram(h)):
        assert np.abs(found - wanted).max() <= 1e-13 * scale
    for found in (weighted_square(X, h, single=True), Dense(X).weighted_gram(h, single=True)):
        assert np.abs(found - wanted).max() <= 1e-5 * scale
        assert (found == found.T).all()


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("single", [False, True])
def test_of_some_lines(size: tuple[int, int], single: bool) -> None:
    X, h = np.asfortranarray(RNG.standard_normal(size)), _weights(size[0], "any")
    which = RNG.permutation(size[1])[: max(1, 2 * size[1] // 3)]
    wanted, exact = _wanted(X[:, which], h), 1e-5 if single else 1e-13
    for first in {0, len(which) // 3, len(which) - 1}:
        found, edge = weighted_products(X.T, h, which, first, single=single)
        assert np.abs(found - wanted[first:]).max() <= exact * np.abs(wanted).max()
        assert np.abs(edge - (h @ X[:, which])[first:]).max() <= 1e-12 * size[0]


@pytest.mark.parametrize("kind", ["even", "any"])
def test_of_new_columns(kind: str) -> None:
    X, h = np.asfortranarray(RNG.standard_normal((500, 30))), _weights(500, kind)
    for before in (0, 11, 29):
        assert np.allclose(products_with_new(X, h, before), _wanted(X, h)[before:], rtol=0.0, atol=1e-12)


@pytest.mark.parametrize("size", [*SIZES, (5000, 6)])
def test_of_lines_with_a_vector(size: tuple[int, int]) -> None:
    X, x, v = np.asfortranarray(RNG.standard_normal(size)), RNG.random(size[0]), RNG.random(size[1])
    for count in {0, 1, size[1] // 2, size[1]}:
        which, found, total = RNG.permutation(size[1])[:count], np.full(count, np.nan), np.ones(size[0])
        picked_products(X.T, which, x, found)
        np.testing.assert_allclose(found, x @ X[:, which], rtol=0.0, atol=1e-11)
        picked_combination(X.T, which, v[which], total)
        np.testing.assert_allclose(total, 1.0 + X[:, which] @ v[which], rtol=0.0, atol=1e-11)


def test_less_a_square_of_a_vector() -> None:
    matrix, v = RNG.standard_normal((9, 9)), RNG.standard_normal(9)
    wanted = matrix - 0.3 * np.outer(v, v)
    subtract_square(matrix, v, 0.3)
    np.testing.assert_allclose(matrix, wanted, rtol=0.0, atol=1e-14)
