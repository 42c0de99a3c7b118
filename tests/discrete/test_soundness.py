"""Bounds are not above the optimum and objectives not below the value, as real numbers: judges in rationals.

No tolerance anywhere. Floats are rationals, so that the least squares of every set of columns, and the side
of every plane, can be known; mpmath has sixty digits for what cannot be had in rationals.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Iterator
from fractions import Fraction
from typing import Any, ClassVar

import mpmath  # type: ignore[import-untyped]
import numpy as np
import pytest

import dualgap as dg
from dualgap.arrays import Matrix, Vector
from dualgap.discrete import Finding, pursued
from dualgap.discrete.subset.column_fits import ColumnFits
from dualgap.discrete.subset.gram import gram_problem
from dualgap.discrete.subset.relaxation import Branch, Relaxed
from dualgap.discrete.subset.split import definite, lowered
from dualgap.drive.limits import Limits
from dualgap.errors import NotCertifiedWarning
from dualgap.fitting.reading import read
from dualgap.paths.subsets import SubsetPath
from dualgap.problem.problem import Problem
from exact_planes import separable

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
        least: Fraction = table[-1][-1]
        return least

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
    y = rng.choice([0.0, 1.0]) * d + X[:, -1] * rng.normal()
    return X, y + rng.choice([0.01, 0.3, 1.0]) * rng.normal(size=n)


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
    y = X @ (rng.normal(size=p) / np.abs(X).max(axis=0).clip(1e-300))
    y = y + rng.choice([0.0, 0.1, 1.0]) * rng.normal(size=n)
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


def row_weights(rng: np.random.Generator, n: int) -> Vector:
    kinds = [np.ones(n), rng.random(n) + 0.1, 10.0 ** rng.integers(-12, 13, n)]
    return np.asarray(kinds[int(rng.integers(3))], dtype=np.float64)


def judged(rng: np.random.Generator, X: Matrix, y: Vector, **more: Any) -> bool:
    """Both claims held against all sets; was it proven?"""
    n, p = X.shape
    intercept = bool(rng.random() < 0.6)
    weights = row_weights(rng, n)
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


@pytest.mark.parametrize("seed", range(10))
def test_a_path_over_sizes(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X, y = near(rng, int(rng.integers(20, 54))) if seed % 2 else odd(rng)
    weights, intercept = row_weights(rng, len(y)), bool(seed % 3)
    asked: dict[str, Any] = {"fit_intercept": intercept, "sample_weight": weights}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotCertifiedWarning)
        found = dg.path(X, y, loss="squared", penalty="l0", **asked)
    judge = Squares(X, y, weights, intercept=intercept, ridge=Fraction(0))
    assert isinstance(found, SubsetPath)
    for size, bound in zip(found.sizes, found.bounds, strict=True):
        assert Fraction(float(bound)) <= judge.best(Fraction(0), int(size))
        one = found.solution(budget=float(size))
        assert Fraction(one.objective) >= judge.value(one, Fraction(0))


@pytest.mark.parametrize("penalty", ["bridge(0.5)", "lp(0.5)"])
@pytest.mark.parametrize("seed", range(6))
def test_powers_of_a_single_weight(seed: int, penalty: str) -> None:
    """The bound against the objective along a line."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=6) * 10.0 ** rng.integers(-3, 4)
    y, weights = rng.normal(size=6) + x / np.abs(x).max(), row_weights(rng, 6)
    top = float(np.abs(x).max())
    strength: dict[str, Any] = {"lam": 0.1 * top**0.5} if seed % 2 else {"budget": 0.2 / top}
    found = fit(
        x[:, None], y, loss="squared", penalty=penalty, fit_intercept=False, sample_weight=weights, **strength
    )
    with mpmath.workdps(40):
        a = [mpmath.mpf(v.numerator) / v.denominator for v in shares(weights)]
        power = mpmath.mpf(0.5) if penalty.startswith("bridge") else mpmath.mpf(1)

        def value(w: Any) -> Any:
            rows = zip(a, x.tolist(), y.tolist(), strict=True)
            loss = mpmath.fsum(s * (v - u * w) ** 2 for s, u, v in rows)
            return loss + strength.get("lam", 0.0) * abs(w) ** power

        reach = mpmath.mpf(strength.get("budget", 10.0 * float(np.abs(y).max() / np.abs(x).min())))
        reach = reach ** (1 / power) if "budget" in strength else reach
        assert mpmath.mpf(found.bound) <= min(value(reach * i / 500) for i in range(-500, 501))
        assert mpmath.mpf(found.objective) >= value(mpmath.mpf(float(found.coef[0])))


# -- other losses ------------------------------------------------------------------------------------


class Piecewise:
    """A loss of straight pieces: its least is where as many rows as there are columns sit on a kink."""

    def __init__(self, X: Matrix, y: Vector, weights: Vector, loss: str, *, intercept: bool) -> None:
        self.rows = [[*rational(row), *([Fraction(1)] if intercept else [])] for row in X]
        self.y, self.a, self.p = rational(y), shares(weights), X.shape[1]
        self.loss, self.intercept = loss, intercept

    def kinks(self, y: Fraction) -> list[Fraction]:
        return [y - EPSILON, y + EPSILON] if self.loss.startswith("epsilon") else [y]

    def row(self, y: Fraction, z: Fraction) -> Fraction:
        if self.loss == "absolute":
            return abs(z - y)
        if self.loss == "hinge":
            return max(1 - y * z, Fraction(0))
        return max(abs(z - y) - EPSILON, Fraction(0))

    def value(self, columns: list[int], w: Rational) -> Fraction:
        z = [sum((row[j] * v for j, v in zip(columns, w, strict=True)), Fraction(0)) for row in self.rows]
        return sum((a * self.row(y, v) for a, y, v in zip(self.a, self.y, z, strict=True)), Fraction(0))

    def least(self, chosen: tuple[int, ...]) -> Fraction:
        columns = _independent(self.rows, [*chosen, *([self.p] if self.intercept else [])])
        places = [(i, kink) for i, y in enumerate(self.y) for kink in self.kinks(y)]
        found = [self.value([], [])]
        for on in itertools.combinations(places, len(columns)):
            w = _solved([[self.rows[i][j] for j in columns] for i, _ in on], [kink for _, kink in on])
            if w is not None:
                found.append(self.value(columns, w))
        return min(found)

    def best(self, price: Fraction, limit: int) -> Fraction:
        sets = itertools.chain.from_iterable(
            itertools.combinations(range(self.p), size) for size in range(min(limit, self.p) + 1)
        )
        return min(self.least(chosen) + price * len(chosen) for chosen in sets)

    def reached(self, found: dg.Solution, price: Fraction) -> Fraction:
        w = np.append(found.coef, found.intercept) if self.intercept else found.coef
        paid = price * int(np.count_nonzero(found.coef))
        return self.value(list(range(len(w))), rational(w)) + paid


EPSILON = Fraction(0.25)


def _independent(rows: list[Rational], columns: list[int]) -> list[int]:
    """Those that are no combinations of columns before them."""
    table = [[row[j] for j in columns] for row in rows]
    kept, at = [], 0
    for j in range(len(columns)):
        pick = next((i for i in range(at, len(table)) if table[i][j] != 0), None)
        if pick is None:
            continue
        kept.append(columns[j])
        table[at], table[pick] = table[pick], table[at]
        for i in range(at + 1, len(table)):
            share = table[i][j] / table[at][j]
            table[i] = [u - share * v for u, v in zip(table[i], table[at], strict=True)]
        at += 1
    return kept


def _solved(square: list[Rational], right: Rational) -> Rational | None:
    table = [[*row, value] for row, value in zip(square, right, strict=True)]
    size = len(table)
    for at in range(size):
        pick = next((i for i in range(at, size) if table[i][at] != 0), None)
        if pick is None:
            return None
        table[at], table[pick] = table[pick], table[at]
        for i in range(size):
            if i != at:
                share = table[i][at] / table[at][at]
                table[i] = [u - share * v for u, v in zip(table[i], table[at], strict=True)]
    return [table[i][-1] / table[i][i] for i in range(size)]


def small(rng: np.random.Generator, *, labels: bool) -> tuple[Matrix, Vector, int]:
    """Few rows and columns, near to dependent, twins, offsets; and how near, 0 for not at all."""
    n, p = int(rng.integers(4, 8)), int(rng.integers(1, 4))
    X, k = rng.normal(size=(n, p)), 0
    d = rng.normal(size=n)
    kind = int(rng.integers(6))
    if kind < 3 and p > 1:
        k = int(rng.integers(18, 54))
        X[:, 0] = X[:, 1] * rng.choice([1.0, -2.0]) + 2.0**-k * d
    elif kind == 3 and p > 1:
        X[:, 0] = 2.0 * X[:, 1]
    elif kind == 4:
        X = np.round(X)
    elif kind == 5:
        X = X + 2.0 ** rng.integers(10, 31)
    y = d + rng.normal(size=n)
    if labels:
        y = np.where(y > 0.0, 1.0, -1.0)
        y[:2] = 1.0, -1.0
    return X, y, k


def strength(rng: np.random.Generator, p: int) -> tuple[dict[str, Any], Fraction, int]:
    if rng.random() < 0.5:
        lam = float(rng.choice([0.01, 0.1]))
        return {"lam": lam}, Fraction(lam), 99
    limit = int(rng.integers(0, p + 1))
    return {"budget": limit}, Fraction(0), limit


def piecewise_judged(rng: np.random.Generator, loss: str, **more: Any) -> tuple[bool, int]:
    X, y, k = small(rng, labels=loss == "hinge")
    intercept, weights = bool(rng.random() < 0.6), row_weights(rng, len(y))
    keywords, price, limit = strength(rng, X.shape[1])
    keywords |= {"fit_intercept": intercept, "sample_weight": weights, **more}
    found = fit(X, y, loss=loss, penalty="l0", **keywords)
    judge = Piecewise(X, y, weights, loss, intercept=intercept)
    assert Fraction(found.bound) <= judge.best(price, limit)
    assert Fraction(found.objective) >= judge.reached(found, price)
    return found.converged, k


@pytest.mark.parametrize("loss", ["absolute", "hinge", "epsilon_insensitive(0.25)"])
@pytest.mark.parametrize("block", range(3))
def test_losses_of_straight_pieces(loss: str, block: int) -> None:
    for seed in range(8 * block, 8 * block + 8):
        piecewise_judged(np.random.default_rng(seed), loss)


@pytest.mark.parametrize("loss", ["absolute", "hinge"])
@pytest.mark.parametrize("solver", ["greedy_forward", "hard_thresholding"])
def test_losses_of_straight_pieces_by_heuristics(loss: str, solver: str) -> None:
    for seed in range(6):
        piecewise_judged(np.random.default_rng(seed), loss, solver=solver)


class Curved:
    """logistic or squared_hinge in sixty digits: Newton's method from zero, halved until it descends."""

    def __init__(self, X: Matrix, y: Vector, weights: Vector, loss: str, *, intercept: bool) -> None:
        columns = [*X.T, np.ones(len(y))] if intercept else [*X.T]
        self.columns = [[mpmath.mpf(float(v)) for v in column] for column in columns]
        self.y = [int(v) for v in y]
        total = mpmath.fsum(mpmath.mpf(float(v)) for v in weights)
        self.a = [mpmath.mpf(float(v)) / total for v in weights]
        self.p, self.loss, self.intercept = X.shape[1], loss, intercept

    def row(self, m: Any) -> tuple[Any, Any, Any]:
        """Value, slope and bend at a margin."""
        if self.loss == "logistic":
            share = 1 / (1 + mpmath.exp(m))
            return mpmath.log1p(mpmath.exp(-m)), -share, share * (1 - share)
        short = max(1 - m, mpmath.mpf(0))
        return short * short, -2 * short, mpmath.mpf(2 if short > 0 else 0)

    def value(self, columns: list[int], w: list[Any]) -> Any:
        pairs = list(zip(columns, w, strict=True))
        z = [mpmath.fsum(self.columns[j][i] * v for j, v in pairs) for i in range(len(self.y))]
        return mpmath.fsum(a * self.row(y * v)[0] for a, y, v in zip(self.a, self.y, z, strict=True))

    def least(self, chosen: tuple[int, ...]) -> Any:
        """Not below the infimum, and most often equal to it."""
        columns = [*chosen, *([self.p] if self.intercept else [])]
        w = [mpmath.mpf(0)] * len(columns)
        best = self.value(columns, w)
        for _ in range(60):
            w, better = self._step(columns, w, best)
            if not better < best * (1 - mpmath.mpf(10) ** -40):
                return min(best, better)
            best = better
        return best

    def _step(self, columns: list[int], w: list[Any], best: Any) -> tuple[list[Any], Any]:
        m = len(columns)
        slope, bend = mpmath.zeros(m, 1), mpmath.zeros(m, m)
        for i, (a, y) in enumerate(zip(self.a, self.y, strict=True)):
            x = [self.columns[j][i] for j in columns]
            _, first, second = self.row(y * mpmath.fsum(u * v for u, v in zip(x, w, strict=True)))
            for r in range(m):
                slope[r] += a * first * y * x[r]
                for c in range(m):
                    bend[r, c] += a * second * x[r] * x[c]
        for r in range(m):
            bend[r, r] += bend[r, r] * mpmath.mpf(10) ** -48 + mpmath.mpf(10) ** -55
        direction = mpmath.lu_solve(bend, -slope) if m else slope
        step = mpmath.mpf(1)
        for _ in range(40):
            ahead = [v + step * direction[r] for r, v in enumerate(w)]
            value = self.value(columns, ahead)
            if value < best:
                return ahead, value
            step /= 2
        return w, best


@pytest.mark.parametrize("loss", ["logistic", "squared_hinge"])
@pytest.mark.parametrize("block", range(3))
def test_curved_losses(loss: str, block: int) -> None:
    for seed in range(5 * block, 5 * block + 5):
        curved_judged(np.random.default_rng(seed), loss)


def curved_judged(rng: np.random.Generator, loss: str, **more: Any) -> tuple[bool, int]:
    X, y, k = small(rng, labels=True)
    intercept, weights = bool(rng.random() < 0.6), row_weights(rng, len(y))
    keywords, price, limit = strength(rng, X.shape[1])
    keywords |= {"fit_intercept": intercept, "sample_weight": weights, **more}
    found = fit(X, y, loss=loss, penalty="l0", **keywords)
    with mpmath.workdps(60):
        judge = Curved(X, y, weights, loss, intercept=intercept)
        paid = mpmath.mpf(price.numerator) / price.denominator
        sets = itertools.chain.from_iterable(
            itertools.combinations(range(judge.p), size) for size in range(min(limit, judge.p) + 1)
        )
        best = min(judge.least(chosen) + paid * len(chosen) for chosen in sets)
        assert mpmath.mpf(found.bound) <= best
        w = [mpmath.mpf(float(v)) for v in [*found.coef, *([found.intercept] if intercept else [])]]
        value = judge.value(list(range(len(w))), w) + paid * int(np.count_nonzero(found.coef))
        assert mpmath.mpf(found.objective) >= value
    return found.converged, k


# -- parts of the argument ---------------------------------------------------------------------------


def stated(X: Matrix, y: Vector, loss: str, **keywords: Any) -> Problem:
    reading = read(X, y, loss=loss, penalty="l0", **keywords)
    return reading.terms.problem(reading.table.design, reading.targets())


@pytest.mark.parametrize("seed", range(12))
def test_the_matrix_that_is_searched_is_below_the_data(seed: int) -> None:
    """unit·(1 − 2cᵀu + uᵀGu), the diagonal lowered, is not above the loss at any weights on few columns."""
    rng = np.random.default_rng(seed)
    n, p, room = 40, 7, 3
    X, y = rng.normal(size=(n, p)) + (seed % 3), rng.normal(size=n)
    weights = np.ones(n) if seed % 2 else rng.random(n) + 0.1
    problem = stated(X, y, "squared", budget=room, sample_weight=weights)
    rough = gram_problem(problem)
    assert rough.sure and rough.part is not None
    keep = 1.0 - lowered(room)
    root, length = np.sqrt(rough.unit), rough.part.length
    with mpmath.workdps(60):
        a = [mpmath.mpf(v.numerator) / v.denominator for v in shares(weights)]
        for chosen in itertools.combinations(range(p), room):
            some = list(chosen)
            u = np.linalg.solve(rough.gram[np.ix_(some, some)], rough.linear[some])
            w = u * root / length[some] * rough.working.unit  # near the least value, where it is tightest
            left = [
                mpmath.mpf(float(t))
                - mpmath.fsum(mpmath.mpf(float(v)) * mpmath.mpf(x) for v, x in zip(w, row, strict=True))
                for t, row in zip(y, X[:, some].tolist(), strict=True)
            ]
            mean = mpmath.fsum(s * r for s, r in zip(a, left, strict=True))
            true = mpmath.fsum(s * r * r for s, r in zip(a, left, strict=True)) - mean * mean
            scale = mpmath.mpf(rough.working.unit) * mpmath.sqrt(mpmath.mpf(rough.unit))
            exact = [
                mpmath.mpf(float(v)) * mpmath.mpf(float(size)) / scale
                for v, size in zip(w, length[some], strict=True)
            ]
            value = mpmath.mpf(keep)
            for i, j in itertools.product(range(room), repeat=2):
                g = mpmath.mpf(float(rough.gram[some[i], some[j]])) * (mpmath.mpf(keep) if i == j else 1)
                value += g * exact[i] * exact[j]
            value -= 2 * mpmath.fsum(
                mpmath.mpf(float(rough.linear[j])) * v for j, v in zip(some, exact, strict=True)
            )
            assert value * scale * scale <= true


@pytest.mark.parametrize("seed", range(20))
def test_a_split_is_refused_unless_the_rest_is_definite(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(12, 5))
    X /= np.linalg.norm(X, axis=0)
    gram = X.T @ X
    least = float(np.linalg.eigvalsh(gram)[0])
    assert definite(gram, np.full(5, 0.9 * least), 3)
    assert not definite(gram, np.full(5, least + 1e-15), 3)  # LAPACK would let one in two pass


@pytest.mark.parametrize("loss", ["absolute", "hinge"])
@pytest.mark.parametrize("seed", range(10))
def test_a_forged_dual_point_proves_nothing_false(seed: int, loss: str) -> None:
    """Whatever θ a branch is given, what it proves is not above what its columns reach."""
    rng = np.random.default_rng(seed)
    X, y, _ = small(rng, labels=loss == "hinge")
    n, p = X.shape
    weights, intercept = row_weights(rng, n), bool(seed % 2)
    problem = stated(X, y, loss, budget=p, fit_intercept=intercept, sample_weight=weights)
    columns = ColumnFits(problem)
    judge = Piecewise(X, y, weights, loss, intercept=intercept)
    best = judge.least(tuple(range(p)))
    branch = Branch(columns.always, columns.counted, p)
    lower, upper = columns.problem.dual_bounds
    honest = columns.relaxation.solve(branch, columns.problem.null_weights, np.inf)
    points = [rng.uniform(lower, upper) for _ in range(4)]
    points += [
        columns.problem.slope(np.zeros(n)),
        honest.theta + 1e-9 * rng.normal(size=n),
        10.0 * upper,
    ]
    for theta in [honest.theta, *points]:
        forged = Relaxed(honest.w, theta, np.inf, 0.0, np.zeros(len(columns.counted)))
        proven = columns.relaxation.proved(branch, forged)
        assert Fraction(columns.objective(proven.bound)) <= best


# -- planes ------------------------------------------------------------------------------------------


def planes_judged(rng: np.random.Generator, **more: Any) -> bool:
    """zero_one and sigmoid: every set of rows that may be lost, separated in rationals or not."""
    X, y, _ = small(rng, labels=True)
    n = len(X)
    intercept, weights = bool(rng.random() < 0.6), row_weights(rng, n)
    cost, signed = shares(weights), []
    for x, label in zip(X, y, strict=True):
        row = (*rational(x), *([Fraction(1)] if intercept else []))
        signed.append(tuple(v * int(label) for v in row))
    best = min(
        sum((c for c, gone in zip(cost, lost, strict=True) if gone), Fraction(0))
        for lost in itertools.product([False, True], repeat=n)
        if separable([row for row, gone in zip(signed, lost, strict=True) if not gone])
    )
    found = fit(X, y, loss="zero_one", penalty="none", fit_intercept=intercept, sample_weight=weights, **more)
    assert Fraction(found.bound) <= best
    w = rational(np.append(found.coef, found.intercept) if intercept else found.coef)
    margins = [sum((u * v for u, v in zip(row, w, strict=True)), Fraction(0)) for row in signed]
    errors = sum((c for c, margin in zip(cost, margins, strict=True) if margin <= 0), Fraction(0))
    assert Fraction(found.objective) >= errors >= best
    asked: dict[str, Any] = {"fit_intercept": intercept, "sample_weight": weights, "max_iter": 1}
    smooth = fit(X, y, loss="sigmoid", penalty="none", **asked)
    assert Fraction(smooth.bound) <= best / 2
    return found.converged


@pytest.mark.parametrize("solver", ["arrangement", "hitting_set"])
@pytest.mark.parametrize("block", range(3))
def test_planes(solver: str, block: int) -> None:
    for seed in range(8 * block, 8 * block + 8):
        planes_judged(np.random.default_rng(seed), solver=solver)


# -- the loop ----------------------------------------------------------------------------------------


class Wrong:
    """A search whose bound is above what its weights reach."""

    name: ClassVar[str] = "wrong"
    seconds = None

    def missing(self, problem: Problem) -> tuple[str, ...]:
        return ()

    def cost(self, problem: Problem) -> float:
        return 0.0

    def iterates(self, problem: Problem, start: Finding) -> Iterator[Finding]:
        yield Finding(problem.null_weights, 2.0 * problem.null, 1)


def test_a_bound_above_the_objective_is_none() -> None:
    rng = np.random.default_rng(0)
    problem = stated(rng.normal(size=(9, 2)), rng.normal(size=9), "squared", budget=1)
    outcome = pursued(problem, Wrong(), None, Limits())
    assert outcome.bounds.dual == 0.0 and not outcome.proven and outcome.bounds.gap > 0.0
