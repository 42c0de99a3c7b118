"""Problems for the kernel and what is true of them, in rationals or to a hundred digits."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from dualgap.design.dense import Dense
from dualgap.design.intercept import WithOnes
from dualgap.losses import CATALOGUE as LOSSES
from dualgap.losses import Loss
from dualgap.penalties import CATALOGUE as PENALTIES
from dualgap.penalties import Penalised, Regulariser
from dualgap.penalties.forms import unregularised
from dualgap.problem.problem import Problem
from exact.arithmetic import as_rational, as_real, rational, real
from exact.statement import MEANS, Value, margin_loss, mean_loss, mean_slopes, parse, plus, residual_loss
from exact.statement import Statement as Exact

# What the kernel counts rounding in, said here by itself: a changed constant of the kernel is seen.
U, FEW, LEAST, FAINT = 2.0**-53, 2.0**-46, 2.0**-1074, 2.0**-1000
SLACK, AWAY = 4.0 * FEW, 1.0 + 8.0 * U
close = partial(pytest.approx, abs=0.0)

Array = NDArray[np.float64]
CONVEX = (
    "squared",
    "absolute",
    "quantile(0.3)",
    "huber(1.35)",
    "epsilon_insensitive(0.25)",
    "squared_epsilon_insensitive(0.25)",
    "hinge",
    "squared_hinge",
    "logistic",
    "exponential",
    "perceptron",
    "poisson",
    "gamma",
    "tweedie(1.25)",
    "tweedie(1.5)",
    "binomial",
)
LABELS = ("hinge", "squared_hinge", "logistic", "exponential", "perceptron", "zero_one", "sigmoid")


def gamma(k: float) -> float:
    """What k roundings in a row come to at most."""
    return k * U / (1.0 - k * U)


def loss_of(text: str) -> Loss:
    """The loss of a name."""
    name, number = parse(text)
    return LOSSES[name](float(number)) if "(" in text else LOSSES[name]()


def labelled(text: str) -> bool:
    """Are targets ±1?"""
    return parse(text)[0] in LABELS


def targets(text: str, y: Array) -> Array:
    """Numbers as targets that the loss takes."""
    name = parse(text)[0]
    if labelled(text):
        return np.where(y > np.median(y), 1.0, -1.0)
    if name not in MEANS:
        return y
    size = np.abs(y)
    if name == "binomial":
        return np.where(size > 1.0, 1.0, size)
    return np.asarray(size + 0.01 if name == "gamma" else np.round(size, 1))


def lossy(text: str, y: float, z: Fraction) -> Value:
    """L(y, z)."""
    name, t = parse(text)
    if name in MEANS:
        return mean_loss(name, t, rational(y), z)
    if not labelled(text):
        return residual_loss(name, t, z - rational(y))
    m = z if y > 0 else -z
    if name == "logistic" and abs(m) > 10**4:  # what is left out is below 1e-4000
        return max(-m, Fraction(0))
    return margin_loss(name, m)


def entropy(x: Fraction) -> Any:
    """x log x."""
    return as_real(x) * real.log(as_real(x)) if x else real.zero


def conjugate(text: str, y: float, u: Fraction) -> Value:
    """L*(y, u), infinite outside its domain."""
    name, t = parse(text)
    if name in MEANS:
        return conjugate_of_mean(name, t, rational(y), u)
    if not labelled(text):
        edges = {"absolute": (-1, 1), "quantile": (-t, 1 - t), "huber": (-2 * t, 2 * t)}
        edges["epsilon_insensitive"] = (-1, 1)
        if name in edges and not edges[name][0] <= u <= edges[name][1]:
            return real.inf
        bowl = u * u / 4 if name in ("squared", "huber", "squared_epsilon_insensitive") else Fraction(0)
        tube = t * abs(u) if "epsilon" in name else Fraction(0)
        return u * rational(y) + bowl + tube
    share = -u if y > 0 else u
    if share < 0 or (share > 1 and name not in ("squared_hinge", "exponential")):
        return real.inf
    if name == "logistic":
        return entropy(share) + entropy(1 - share)
    if name == "exponential":
        return entropy(share) - as_real(share)
    return {"hinge": -share, "perceptron": Fraction(0), "squared_hinge": -share + share * share / 4}[name]


def conjugate_of_mean(name: str, t: Fraction, y: Fraction, u: Fraction) -> Any:
    """L*(y, u) of a half deviance."""
    if name == "gamma":
        rest = 1 - u
        return real.inf if rest < 0 else entropy(rest) - as_real(rest) + as_real(u) * real.log(as_real(y)) + 1
    if name == "tweedie":
        return _by_newton(t, y, u)
    share, rest = u + y, 1 - u - y
    if share < 0 or (name == "binomial" and rest < 0):
        return real.inf
    if name == "poisson":
        return entropy(share) - as_real(u) - entropy(y)
    return entropy(share) + entropy(rest) - entropy(y) - entropy(1 - y)


def _by_newton(p: Fraction, y: Fraction, u: Fraction) -> Any:
    """uζ − L(ζ) where L′(ζ) = u."""
    if not y and u <= 0:
        return real.inf if u < 0 else real.zero
    at, target = real.zero, as_real(u)
    low = high = None
    for _ in range(2000):
        slope, curve = mean_slopes("tweedie", p, as_real(y), at)
        low, high = (at, high) if slope <= target else (low, at)
        ahead = at + min(max((target - slope) / curve, -real.one), real.one)
        if low is not None and high is not None and not low <= ahead <= high:
            ahead = (low + high) / 2
        if abs(ahead - at) <= real.mpf(10) ** -90 * (1 + abs(at)):
            break
        at = ahead
    return target * at - mean_loss("tweedie", p, y, as_rational(at))


def fenchel_young(text: str, y: float, z: Fraction, u: Fraction) -> Value:
    """L(y, z) + L*(y, u) − uz."""
    return plus(plus(lossy(text, y, z), conjugate(text, y, u)), -u * z)


def number(value: Value) -> Any:
    """Any value to a hundred digits."""
    return as_real(value) if isinstance(value, Fraction) else real.mpf(value)


def fractions(values: Iterable[float]) -> list[Fraction]:
    """Floats as the rationals they are."""
    return [rational(value) for value in values]


@dataclass(frozen=True, eq=False)
class Made:
    """A problem as the kernel sees it, and exactly."""

    problem: Problem
    exact: Exact
    loss: str

    @property
    def width(self) -> int:
        """Coordinates, the intercept among them."""
        return self.exact.p + self.exact.intercept

    def parts(self, w: Sequence[float] | Array) -> tuple[list[Fraction], Fraction]:
        """Weights and intercept."""
        numbers = [value if isinstance(value, Fraction) else rational(value) for value in w]
        return (numbers[:-1], numbers[-1]) if self.exact.intercept else (numbers, Fraction(0))

    def primal(self, w: Sequence[float] | Array) -> Any:
        """P(w)."""
        return number(self.exact.value(*self.parts(w)))

    def dual(self, theta: Sequence[float] | Array) -> Any:
        """−Σ a L*(y, −θ/a): the bound but for what the penalty takes from it."""
        whole = sum(self.exact.s)
        terms = [
            as_real(s / whole) * number(conjugate(self.loss, y, -rational(t) * whole / s))
            for s, y, t in zip(self.exact.s, self.exact.y, theta, strict=True)
        ]
        return -sum(terms)

    def correlation(self, theta: Sequence[float] | Array) -> list[Fraction]:
        """Xᵀθ."""
        parts = fractions(theta)
        columns = zip(*self.exact.X, strict=True)
        return [sum((rational(x) * t for x, t in zip(c, parts, strict=True)), Fraction(0)) for c in columns]


def made(X: Any, y: Any, loss: str, penalty: str = "l2", **asked: Any) -> Made:
    """A problem, stated twice: lam or budget, and where they are not ones s, factors and scale.

    `intercept` is True unless given, and `a` are the shares if they are not s/Σs in floating point.
    """
    X, y, intercept = np.asarray(X, dtype=float), np.asarray(y, dtype=float), asked.get("intercept", True)
    n, p = X.shape
    s = np.asarray(asked.get("s", np.ones(n)), dtype=float)
    factors, scale = (np.asarray(asked.get(key, np.ones(p)), dtype=float) for key in ("factors", "scale"))
    lam, budget = asked.get("lam"), asked.get("budget")
    name, t = parse(penalty)
    kind = PENALTIES[name](float(t)) if "(" in penalty else PENALTIES[name]()
    gauge = kind.gauge(factors, scale)
    gauge = gauge.extended() if intercept else gauge
    regulariser: Regulariser
    if budget is not None:
        regulariser = kind.within(gauge, budget)
    else:
        regulariser = unregularised(p + intercept) if lam is None else Penalised(gauge, lam)
    design: Any = WithOnes(Dense(X)) if intercept else Dense(X)
    problem = Problem(design, y, asked.get("a", s / s.sum()), loss_of(loss), regulariser, intercept)
    exact = Exact(
        X=tuple(tuple(row) for row in X.tolist()),
        y=tuple(y.tolist()),
        s=tuple(fractions(s)),
        loss=parse(loss),
        penalty=(name, t),
        lam=None if lam is None else rational(lam),
        budget=None if budget is None else rational(budget),
        intercept=intercept,
        factors=tuple(fractions(factors)),
        scale=tuple(fractions(scale)),
    )
    return Made(problem, exact, loss)
