"""Machines with levels in the trusted kernel: both values by exact arithmetic, nothing false from any θ."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dualgap.proof.kernel import DEFINITE, Entries, Spanned
from dualgap.proof.levels import LevelStatement, _bound, _value, check_levels
from dualgap.proof.rounding import FEW, gamma, lost
from exact.arithmetic import rational
from exact.levels import Levels
from exact.machines import rationals

N = 6
KINDS = ("classes", "numbers", "one class")


def statement(kind: str, seed: int, *, spanned: bool = False) -> tuple[LevelStatement, Levels]:
    """Whole numbers, so that K has no rounding; weights that add up to a power of two."""
    rng = np.random.default_rng(seed)
    G = rng.integers(-3, 4, size=(N, 2)).astype(float) + (5.0 if kind == "one class" else 0.0)
    K = G @ G.T
    s = np.array([1.0, 2.0, 1.0, 1.0, 2.0, 1.0])
    every, none = np.ones(N, dtype=bool), np.zeros(N, dtype=bool)
    up = np.array([True, True, True, False, False, False])
    upper, lower = {"classes": (up, ~up), "numbers": (every, every), "one class": (every, none)}[kind]
    c = rng.normal(size=N) if kind == "numbers" else np.zeros(N)
    mass, lam = (0.5 if kind == "one class" else 0.25), 0.75
    products: Any = Spanned(G) if spanned else Entries.held(K)
    top = float(np.diagonal(K).max())
    stated = LevelStatement(products, top, c, s / s.sum(), upper, lower, mass, lam)
    return stated, Levels(K, c, s, upper, lower, rational(mass), rational(lam))


def dual(exact: Levels, theta: list[Fraction]) -> Fraction:
    """Σ cθ − θᵀKθ/(4λ)."""
    image = [sum(rational(k) * t for k, t in zip(row, theta, strict=True)) for row in exact.K]
    square = sum(t * f for t, f in zip(theta, image, strict=True))
    return sum(rational(c) * t for c, t in zip(exact.c, theta, strict=True)) - square / (4 * exact.lam)


def feasible(kind: str) -> Any:
    """θ whose sums are the mass on either side."""
    if kind == "one class":
        return np.array([0.125, 0.125, 0.0, 0.0, 0.25, 0.0])
    return np.array([0.125, 0.125, 0.0, -0.125, -0.125, 0.0])


@pytest.mark.parametrize("spanned", [False, True])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(5))
def test_both_values_are_true_and_no_further_off_than_rounding(kind: str, seed: int, spanned: bool) -> None:
    problem, exact = statement(kind, seed, spanned=spanned)
    rng = np.random.default_rng(seed + 100)
    beta, levels = rng.normal(size=N), rng.normal(size=2)
    found = check_levels(problem, beta, levels, 0.999 * feasible(kind))
    value = exact.value(rationals(beta), rational(levels[0]), rational(levels[1]))
    assert value <= rational(found.primal) <= value + abs(value) / 10**10 + Fraction(1, 10**10)
    best = check_levels(problem, beta, levels, feasible(kind))
    limit = dual(exact, rationals(best.theta))
    assert rational(best.dual) <= limit
    assert rational(best.dual) >= limit - Fraction(1, 10**9)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(20))
def test_no_theta_proves_more_than_some_point_reaches(kind: str, seed: int) -> None:
    problem, exact = statement(kind, seed % 3)
    rng = np.random.default_rng(seed)
    theta = feasible(kind) + 10.0 ** rng.uniform(-16, 0) * rng.normal(size=N)
    beta = theta / (2.0 * problem.lam)
    e = problem.c - np.asarray(exact.K) @ beta
    for _ in range(20):
        levels = rng.choice(e, 2) + rng.normal(size=2) * rng.choice([0.0, 1.0, 100.0])
        found = check_levels(problem, beta, levels, theta)
        assert rational(found.dual) <= exact.value(rationals(beta), rational(levels[0]), rational(levels[1]))


@pytest.mark.parametrize("kind", KINDS)
def test_sums_that_miss_the_mass_are_charged(kind: str) -> None:
    problem, _ = statement(kind, 1)
    beta, levels = np.zeros(N), np.zeros(2)
    good = check_levels(problem, beta, levels, feasible(kind)).dual
    one = feasible(kind)
    one[0] = 0.0
    assert problem.off(problem.feasible(one)) >= 0.124
    assert check_levels(problem, beta, levels, one).dual < good or kind == "numbers"
    half = 0.5 * feasible(kind)
    assert (problem.off(half) < 1e-9) == (kind == "numbers")


def test_what_is_no_number_or_no_kernel_proves_nothing() -> None:
    problem, _ = statement("classes", 2)
    nothing = np.full(N, np.nan)
    assert check_levels(problem, nothing, np.zeros(2), feasible("classes")).primal == np.inf
    assert np.isfinite(check_levels(problem, np.zeros(N), np.zeros(2), nothing).dual)
    indefinite = replace(problem, products=Entries.held(-np.eye(N)), top=1.0)
    found = check_levels(indefinite, np.zeros(N), np.zeros(2), feasible("classes"))
    assert found.dual <= 0.0
    outside = check_levels(problem, np.zeros(N), np.zeros(2), np.full(N, 10.0)).theta
    assert np.all(np.abs(outside) <= problem.a) and np.all(outside[3:] == 0.0)


class Told:
    """A product whose every part is given."""

    def __init__(self, rng: np.random.Generator, along: tuple[float, float]) -> None:
        self.value, self.low = rng.normal(size=N), 1e-3 * rng.normal(size=N)
        self.error, self.shift = 0.25 * rng.random(N), 0.125 * rng.normal(size=N)
        self._along = along

    def along(self, v: Any) -> tuple[float, float]:
        return self._along


@pytest.mark.parametrize("square", [2.0, -3.0])
@pytest.mark.parametrize("kind", KINDS)
def test_the_value_and_its_charges(kind: str, square: float) -> None:
    """Number by number, where every charge shows."""
    problem, _ = statement(kind, 3)
    rng = np.random.default_rng(4)
    beta, (u, down) = rng.normal(size=N), rng.normal(size=2)
    image: Any = Told(rng, (square, 0.0625))
    e = problem.c - image.value - image.low
    wide = (image.error + np.abs(image.shift)) * (1.0 + FEW) + FEW * np.abs(e)
    above, below = np.maximum(e + wide - u, 0.0), np.maximum(down - e + wide, 0.0)
    risk = float(
        problem.a[problem.upper] @ above[problem.upper] + problem.a[problem.lower] @ below[problem.lower]
    )
    level = problem.mass * (u - (down if kind != "one class" else 0.0))
    few = 1.0 + FEW + gamma(N)
    priced = 0.75 * (max(square, 0.0) + 0.0625 + float(np.abs(beta) @ np.abs(image.shift)) * few)
    sizes = problem.mass * (abs(u) + abs(down)) + risk * (1.0 + FEW) + priced
    wanted = risk * (1.0 + FEW) + level + priced + 8.0 * FEW * sizes
    found = _value(problem, beta, np.array([u, down]), image)
    assert found == pytest.approx(wanted, rel=4e-15 * sizes / abs(wanted), abs=0.0)
    nothing = replace(problem, a=np.zeros(N))
    assert _value(nothing, beta, np.array([u, down]), image) == np.inf
    for none in (replace(problem, lam=0.0), replace(problem, mass=0.0)):
        assert _value(none, beta, np.array([u, down]), image) == np.inf


@pytest.mark.parametrize("square", [2.0, -3.0])
@pytest.mark.parametrize("kind", KINDS)
def test_the_bound_and_its_charges(kind: str, square: float) -> None:
    problem, _ = statement(kind, 3)
    problem = replace(problem, c=np.random.default_rng(6).normal(size=N), top=7.0)
    image: Any = Told(np.random.default_rng(5), (square, 0.0625))
    for theta in (feasible(kind), 0.75 * feasible(kind), 1.25 * feasible(kind)):
        c, few = problem.c, 1.0 + FEW + gamma(N)
        along = float(c @ theta)
        along -= lost(N) * float(np.abs(c) @ np.abs(theta)) + FEW * abs(along)
        whole = (max(square, 0.0) + 0.0625 + float(np.abs(theta) @ np.abs(image.shift)) * few) * few
        off = problem.off(theta)
        root = np.sqrt(whole) + off * np.sqrt(7.0) * (1.0 + DEFINITE * np.sqrt(N)) * few
        wanted = along - off * np.abs(c).max() - root * root / 3.0 * few
        found = _bound(problem, theta, image)
        assert found == pytest.approx(wanted - 4.0 * FEW * abs(wanted), rel=2e-15, abs=0.0)


def test_how_far_sums_are_from_the_mass() -> None:
    """Of both sides, with room for rounding; a share that both sides of the same rows lack is no fault."""
    room = gamma(N) + 4.0 * FEW
    for kind, theta, off, sums in [
        ("classes", [0.25, 0.0, 0.0, 0.0, -0.125, 0.0], 0.125, [0.25, 0.125]),
        ("classes", [0.125, 0.25, 0.0, 0.0, -0.125, 0.0], 0.25, [0.375, 0.125]),
        ("one class", [0.25, 0.0, 0.0, 0.0, 0.125, 0.0], 0.125, [0.375]),
        ("one class", [0.25, 0.0, 0.0, 0.25, 0.125, 0.0], 0.125, [0.625]),
        ("numbers", [0.125, 0.0, 0.0, 0.0, -0.0625, 0.0], 0.0625, [0.125, 0.0625]),
        ("numbers", [0.375, 0.0, 0.0, 0.0, -0.25, 0.0], 0.125, [0.375, 0.25]),
    ]:
        problem, _ = statement(kind, 1)
        wanted = off + sum(room * (problem.mass + one) for one in sums)
        assert problem.off(np.array(theta)) == pytest.approx(wanted, rel=1e-15, abs=0.0)
        assert problem.off(np.array(theta)) - off > 0.9 * room * problem.mass
    problem, _ = statement("classes", 1)
    most = problem.a * (1.0 - 2.0 * FEW)
    assert problem.feasible(np.full(N, 9.0)).tolist() == [*most[:3], 0.0, 0.0, 0.0]
    assert problem.feasible(np.full(N, -9.0)).tolist() == [0.0, 0.0, 0.0, *-most[3:]]


def test_more_digits_where_they_help() -> None:
    """Asked for where the gap that is hoped for is missed; the better of both is kept."""
    problem, _ = statement("numbers", 2)
    held, asked = problem.products, []

    class Watched:
        n = N

        def times(self, v: Any, *, exact: bool = False) -> Any:
            asked.append(exact)
            found = held.times(v, exact=exact)
            return found if exact else replace(found, error=found.error + 1e-9)

    watched = replace(problem, products=Watched())
    beta, levels = np.zeros(N), np.array([3.0, -3.0])
    exact = check_levels(problem, beta, levels, feasible("numbers"))
    for tolerance, digits in ((np.inf, [False] * 2), (0.0, [False] * 2 + [True] * 2)):
        asked.clear()
        found = check_levels(watched, beta, levels, feasible("numbers"), tolerance)
        assert asked == digits and (found.gap == exact.gap) == (tolerance == 0.0)
        assert found.gap >= exact.gap
