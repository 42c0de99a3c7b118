"""ν-machines on kernel matrices that are exactly G Gᵀ: both values of margins and tubes that are found."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

import dualgap as dg
from exact.arithmetic import rational
from exact.draws import Rng, sample_weights
from exact.judge import finite
from exact.kernels import is_gram
from exact.machines import dot, rationals
from exact.trial import Trial, attempt


@dataclass(frozen=True)
class Levels:
    """λ βᵀKβ + Σ_U a (e − u)₊ + m u + Σ_L a (l − e)₊ − m l, e = c − Kβ, as real numbers."""

    K: Any
    c: Any
    s: Any
    upper: Any
    lower: Any
    mass: Fraction
    lam: Fraction

    def shares(self) -> list[Fraction]:
        held = rationals(self.s)
        return [value / sum(held) for value in held]

    def value(self, beta: list[Fraction], u: Fraction, down: Fraction) -> Fraction:
        image = [dot(rationals(row), beta) for row in self.K]
        e = [rational(c) - f for c, f in zip(self.c, image, strict=True)]
        found = self.lam * dot(beta, image)
        for side, sign, level in ((self.upper, 1, u), (self.lower, -1, down)):
            if np.any(side):
                found += sign * self.mass * level
                for inside, a, x in zip(side, self.shares(), e, strict=True):
                    found += a * max(sign * (x - level), Fraction(0)) if inside else 0
        return found


def stated(kind: str, K: Any, y: Any, s: Any, nu: float, C: float) -> Levels:
    """The problem that the estimators document, divided by Σs (and C)."""
    n, weight = len(K), sum(rationals(s))
    lam = 1 / (rational(C) * weight)
    every, none, zero = np.ones(n, dtype=bool), np.zeros(n, dtype=bool), np.zeros(n)
    if kind == "one class":
        return Levels(K, zero, s, every, none, rational(nu), lam)
    half = rational(nu) / 2
    if kind == "numbers":
        return Levels(K, y, s, every, every, half, lam)
    up = y > 0
    sides = [sum(rationals(np.asarray(s)[side])) / weight for side in (up, ~up)]
    return Levels(K, zero, s, up, ~up, min(half, *sides), lam)


def run(rng: Rng) -> Trial:
    """A machine on whole numbers; its claims, and those of forged θ, beside the exact values."""
    n, r = int(rng.integers(4, 13)), int(rng.integers(1, 5))
    G = rng.integers(-4, 5, size=(n, r)).astype(float)
    kind = str(rng.choice(["classes", "numbers", "one class"]))
    G = (G + (6.0 if kind == "one class" else 0.0)) * 2.0 ** int(rng.integers(-6, 7))
    z = G @ rng.normal(size=r) + rng.normal(size=n)
    y: Any = z if kind == "numbers" else np.where(z > np.median(z), 1.0, -1.0)
    K = G @ G.T
    assert is_gram(K, G)
    weights = sample_weights(rng, n)
    s = np.ones(n) if weights is None else weights
    nu = float(rng.choice([0.25, 0.5, 1.0, rng.uniform(0.05, 0.95)]))
    C = 2.0 if kind != "numbers" else float(10.0 ** rng.uniform(-3, 5))
    trial = Trial(kind=f"levels: {kind}", asked=(G, y, {"nu": nu, "C": C, "weights": weights}))
    common: dict[str, Any] = {"nu": nu, "kernel": "precomputed", "max_time": 2.0}
    if kind == "classes":
        model: Any = dg.NuClassifier(**common)
    else:
        model = dg.NuRegressor(C=C, **common) if kind == "numbers" else dg.OneClass(**common)
    found = attempt(trial, lambda: model.fit(K, y, sample_weight=weights))
    if found is None:
        return trial
    solution, used = model.solution_, s > 0
    trial.state = "proven" if solution.converged else "not proven"
    if not finite(solution.beta, solution.levels):
        trial.verdict.claim("levels NaN", False, f"β {solution.beta!r}, levels {solution.levels!r}")
        return trial
    problem = stated(kind, K[np.ix_(used, used)], y[used], s[used], nu, C)
    u, down = (rational(level) for level in solution.levels)
    exact = problem.value(rationals(solution.beta[used]), u, down)
    _judge(trial, "levels", solution, exact)
    certificate = solution.certificate
    size = float(np.abs(certificate.theta).max(initial=0.0)) or 1.0
    for k, theta in enumerate(
        (
            certificate.theta,
            certificate.theta * (1.0 + 10.0 ** rng.uniform(-15, 0)),
            certificate.theta * (1.0 - 10.0 ** rng.uniform(-15, 0)),
            certificate.theta + size * 10.0 ** rng.uniform(-16, 0) * rng.normal(size=n),
            np.zeros(n),
        )
    ):
        forged = dataclasses.replace(certificate, theta=theta)
        again = attempt(trial, partial(forged.recheck, K, None if kind == "one class" else y))
        if again is not None:
            _judge(trial, "forged levels" if k else "levels recheck", again, exact)
    return trial


def _judge(trial: Trial, name: str, claims: Any, exact: Fraction) -> None:
    objective, bound = claims.objective, claims.bound
    above = objective == np.inf or rational(objective) >= exact
    trial.verdict.claim(f"{name} objective", above, f"{objective!r} below {float(exact)!r}")
    below = bound == -np.inf or rational(bound) <= exact
    trial.verdict.claim(f"{name} bound", below, f"{bound!r} above {float(exact)!r}, which is reached")
