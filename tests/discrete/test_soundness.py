"""Bounds are not above the optimum and objectives not below the value, as real numbers: judges in rationals.

No tolerance anywhere. Floats are rationals, so that the least squares of every set of columns, and the side of
every plane, can be known; mpmath has fifty digits for what cannot be had in rationals.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import dualgap as dg
from dualgap.arrays import Matrix, Vector
from dualgap.errors import NotCertifiedWarning

Rational = list[Fraction]


def fit(X: Any, y: Vector, **keywords: Any) -> dg.Solution:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotCertifiedWarning)
        return dg.fit(X, y, **keywords)


def rational(values: Vector) -> Rational:
    return [Fraction(float(value)) for value in values]


def shares(weights: Vector) -> Rational:
    whole = rational(weights)
    return [value / sum(whole) for value in whole]


class Squares:
    """All sets of columns, by elimination in the Gram matrix."""

    def __init__(self, X: Matrix, y: Vector, weights: Vector, *, intercept: bool, ridge: Fraction) -> None:
        ones = [[Fraction(1)] * len(y)] if intercept else []
        self.columns = [rational(column) for column in X.T] + ones
        self.y, self.a, self.p = rational(y), shares(weights), X.shape[1]
        self.intercept, self.ridge = intercept, ridge
        lines = [*self.columns, self.y]
        self.gram = [[self._dot(one, other) for other in lines] for one in lines]

    def _dot(self, one: Rational, other: Rational) -> Fraction:
        return sum((a * u * v for a, u, v in zip(self.a, one, other, strict=True)), Fraction(0))

    def least(self, chosen: tuple[int, ...]) -> Fraction:
        """The least loss, with the square, on these columns."""
        where = [*chosen, *([self.p] if self.intercept else []), len(self.columns)]
        table = [[self.gram[i][j] for j in where] for i in where]
        for at in range(len(chosen)):
            table[at][at] += self.ridge
        for at in range(len(where) - 1):
            if table[at][at] == 0:
                continue
            for i in range(at + 1, len(where)):
                share = table[i][at] / table[at][at]
                table[i] = [u - share * v for u, v in zip(table[i], table[at], strict=True)]
        return table[-1][-1]

    def best(self, price: Fraction, limit: int) -> Fraction:
        """The least objective of all sets."""
        sets = itertools.chain.from_iterable(
            itertools.combinations(range(self.p), size) for size in range(min(limit, self.p) + 1)
        )
        return min(self.least(chosen) + price * len(chosen) for chosen in sets)

    def value(self, found: dg.Solution, price: Fraction) -> Fraction:
        """The objective at the weights that were found."""
        w = rational(np.append(found.coef, found.intercept) if self.intercept else found.coef)
        left = [
            y - sum((v * x for v, x in zip(w, row, strict=True)), Fraction(0))
            for y, row in zip(self.y, zip(*self.columns, strict=True), strict=True)
        ]
        square = self.ridge * sum(v * v for v in w[: self.p])
        return self._dot(left, left) + square + price * int(np.count_nonzero(found.coef))


def near(rng: np.random.Generator, k: int) -> tuple[Matrix, Vector]:
    """Two columns, or three, that depend on one another but for 2^−k, and targets that want what is left."""
    n, p = int(rng.integers(5, 13)), int(rng.integers(2, 6))
    X = rng.normal(size=(n, p))
    kind = int(rng.integers(4))
    d = rng.normal(size=n)
    if kind == 3 and p > 2:
        X[:, 0] = X[:, 1] + X[:, 2] + 2.0**-k * d
    else:
        X[:, 0] = X[:, 1] * rng.choice([1.0, -2.0, 0.3]) + 2.0**-k * d
    y = rng.choice([0.0, 1.0]) * d + X[:, -1] * rng.normal() + rng.choice([0.01, 0.3, 1.0]) * rng.normal(size=n)
    return X, y


def odd(rng: np.random.Generator) -> tuple[Matrix, Vector]:
    """Twins, sums, offsets, scales."""
    n, p = int(rng.integers(4, 13)), int(rng.integers(1, 6))
    X = rng.normal(size=(n, p))
    kind = int(rng.integers(6))
    if kind == 0 and p > 1:
        X[:, 0] = X[:, 1] * rng.choice([1.0, -4.0, 3.0])
    elif kind == 1 and p > 2:
        X[:, 0] = X[:, 1] + X[:, 2]
    elif kind == 2:
        X = X + 2.0 ** rng.integers(10, 41)
    elif kind == 3:
        X = X * 10.0 ** rng.integers(-99, 100, p)
    elif kind == 4:
        X = rng.integers(-2, 3, (n, p)).astype(float)
    y = X @ (rng.normal(size=p) / np.abs(X).max(axis=0).clip(1e-300)) + rng.choice([0.0, 0.1, 1.0]) * rng.normal(size=n)
    if rng.random() < 0.3:
        y = y + 2.0 ** rng.integers(10, 41)
    if rng.random() < 0.2:
        y = y * 10.0 ** rng.integers(-90, 91)
    return X, y


def asked(rng: np.random.Generator, y: Vector, p: int) -> tuple[dict[str, Any], Fraction, int, Fraction]:
    """Keywords, price, limit and ridge."""
    ridge = float(rng.choice([0.0, 0.0, 0.0, 1e-12, 0.1]))
    keywords: dict[str, Any] = {"penalty": f"l0_l2({ridge!r})" if ridge else "l0"}
    if rng.random() < 0.5:
        lam = float(rng.choice([1e-6, 0.01, 0.1])) * max(float(y.var()), 1e-280)
        return keywords | {"lam": lam}, Fraction(lam), 99, Fraction(lam) * Fraction(ridge)
    limit = int(rng.integers(0, p + 1))
    return keywords | {"budget": limit}, Fraction(0), limit, Fraction(ridge)


def judged(rng: np.random.Generator, X: Matrix, y: Vector, **more: Any) -> bool:
    """Both claims held against all sets; was it proven?"""
    n, p = X.shape
    intercept = bool(rng.random() < 0.6)
    weights = [np.ones(n), rng.random(n) + 0.1, 10.0 ** rng.integers(-12, 13, n)][int(rng.integers(3))]
    keywords, price, limit, ridge = asked(rng, y, p)
    found = fit(X, y, loss="squared", fit_intercept=intercept, sample_weight=weights, **keywords, **more)
    judge = Squares(X, y, weights, intercept=intercept, ridge=ridge)
    assert Fraction(found.bound) <= judge.best(price, limit)
    assert Fraction(found.objective) >= judge.value(found, price)
    assert np.count_nonzero(found.coef) <= limit
    return found.converged


@pytest.mark.parametrize("k", [20, 24, 28, 31, 33, 37, 41, 45, 49, 51, 52, 53])
def test_squares_of_columns_that_nearly_depend(k: int) -> None:
    proven = 0
    for seed in range(12):
        rng = np.random.default_rng(1000 * k + seed)
        proven += judged(rng, *near(rng, k))
    assert proven >= (12 if k <= 33 else 0)


@pytest.mark.parametrize("block", range(12))
def test_squares_of_odd_data(block: int) -> None:
    for seed in range(12 * block, 12 * block + 12):
        rng = np.random.default_rng(seed)
        judged(rng, *odd(rng))


@pytest.mark.parametrize("solver", ["greedy_forward", "greedy_backward", "hard_thresholding"])
def test_squares_by_heuristics(solver: str) -> None:
    for seed in range(24):
        rng = np.random.default_rng(seed)
        judged(rng, *(near(rng, int(rng.integers(20, 54))) if seed % 2 else odd(rng)), solver=solver)


def test_squares_of_searches_cut_short() -> None:
    for seed in range(24):
        rng = np.random.default_rng(seed)
        judged(rng, *near(rng, int(rng.integers(20, 54))), max_iter=int(rng.integers(1, 4)))
