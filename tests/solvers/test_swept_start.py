"""Squared losses over columns in one piece: sweeps that come first lead to the same answer as none do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dualgap as dg
from dualgap.arrays import Matrix, Vector

SHAPES = {"wide": (120, 300), "square": (300, 320), "tall": (6000, 60)}
UNEVEN = np.random.default_rng(1).exponential(size=6000) + 0.1


def drawn(shape: str) -> tuple[Matrix, Vector]:
    n, p = SHAPES[shape]
    rng = np.random.default_rng(n)
    X = rng.standard_normal((n, p)) @ (np.eye(p) + 0.5 * np.eye(p, k=1))
    return X, 0.5 + X[:, ::7].sum(axis=1) + rng.standard_normal(n)


def same(X: Matrix, y: Vector, **asked: Any) -> None:
    """What columns that lie scattered lead to, and proven; what is told to be zero is so."""
    asked = {"loss": "squared", "penalty": "l1", "lam": 0.2, **asked}
    found, other = (dg.fit(np.array(X, order=order), y, **asked) for order in ("F", "C"))
    assert found.converged and found.solver == "coordinate_descent"
    assert found.objective == pytest.approx(other.objective, rel=2e-6)
    assert found.bound <= other.objective
    assert not (found.proven_zero & (np.abs(other.coef) > 1e-3 * np.abs(other.coef).max())).any()


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"lam": 0.02},
        {"lam": 100.0},
        {"fit_intercept": False},
        {"sample_weight": True},
        {"offset": True},
        {"penalty_factors": True},
        {"penalty": "elastic_net(0.3)"},
        {"standardize": True},
        {"tol": 1e-9},
    ],
    ids=lambda more: next(iter(more), "plain"),
)
@pytest.mark.parametrize("shape", SHAPES)
def test_whatever_is_asked(shape: str, more: dict[str, Any]) -> None:
    (n, p), given = SHAPES[shape], dict(more)
    if "sample_weight" in more:
        given["sample_weight"] = UNEVEN[:n]
    if "offset" in more:
        given["offset"] = np.linspace(-1.0, 1.0, n)
    if "penalty_factors" in more:
        given["penalty_factors"] = np.geomspace(0.3, 3.0, p)
    same(*drawn(shape), **given)


@pytest.mark.parametrize("shape", SHAPES)
def test_columns_that_say_nothing_or_the_same(shape: str) -> None:
    X, y = drawn(shape)
    X[:, 3], X[:, 5], X[:, 9], X[:, 11] = 2.0, 0.0, X[:, 10], -X[:, 10]
    same(X, y)


@pytest.mark.parametrize("size", [1e-30, 1e-12, 1e12, 1e30])
@pytest.mark.parametrize("shape", SHAPES)
def test_squares_beyond_the_shorter_numbers(shape: str, size: float) -> None:
    X, y = drawn(shape)
    same(X * size, y, lam=0.2 * size)
    X[:, ::5] *= size
    same(X, y, penalty_factors=np.where(np.arange(X.shape[1]) % 5, 1.0, size))


def test_rows_that_are_not_like_each_other() -> None:
    """In order of the targets, and all that counts among few of the rows: a sample tells nothing."""
    X, y = drawn("tall")
    order = np.argsort(y)
    same(X[order], y[order])
    rare = np.zeros(len(y))
    rare[70:90] = 50.0 * X[70:90, 0]
    same(X, rare, lam=1e-3)
