"""Machines with levels in the trusted kernel: both values by exact arithmetic, nothing false from any θ."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dualgap.proof.kernel import Entries, Spanned
from dualgap.proof.levels import LevelStatement, check_levels
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
