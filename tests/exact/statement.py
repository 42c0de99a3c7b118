"""What is minimised, as real numbers: floats are rationals, weights are shares of their exact sum."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np

from dualgap.penalties import Slope
from exact.arithmetic import FAR, as_rational, as_real, power_of_e, rational, real

CLASSIFICATION = ("hinge", "squared_hinge", "logistic", "exponential", "perceptron")
MEANS = ("poisson", "gamma", "tweedie", "binomial")
TRANSCENDENTAL = ("logistic", "exponential", *MEANS)
DEFAULTS = {
    "quantile": 0.5,
    "huber": 1.35,
    "epsilon_insensitive": 0.1,
    "squared_epsilon_insensitive": 0.1,
    "elastic_net": 0.5,
    "lp": 1.5,
    "tweedie": 1.5,
    "sparse_group": 0.5,
    "slope": 0.1,
    "fused": 1.0,
}
GROUPED = ("group_lasso", "sparse_group")
INFINITE = real.inf

Value = Any  # Fraction, or a real of a hundred digits where no rational would do
Vector = Sequence[Fraction]


def parse(text: str) -> tuple[str, Fraction]:
    """'quantile(0.9)' -> ('quantile', 0.9)."""
    found = re.fullmatch(r"([a-z_0-9]+?)(?:\(([-+0-9.e]+)\))?", str(text))
    if found is None:
        raise ValueError(f"not a name of a loss or penalty: {text!r}")
    name, number = found.groups()
    return name, rational(float(number) if number else DEFAULTS.get(name, 0.0))


@dataclass(frozen=True, eq=False)
class Statement:
    """minimise over w, b of Σ a L(y, x·w + b + o) + λ h(w), or subject to h(w) ≤ c. Rows of weight zero are
    gone; o is the offset, nothing unless given.

    `classes` > 2 is the multinomial problem: y are class numbers, w the weights class after class.
    """

    X: tuple[tuple[float, ...], ...]
    y: tuple[float, ...]
    s: tuple[Fraction, ...]
    loss: tuple[str, Fraction]
    penalty: tuple[str, Fraction]
    lam: Fraction | None
    budget: Fraction | None
    intercept: bool
    factors: tuple[Fraction, ...]
    scale: tuple[Fraction, ...]
    classes: int = 2
    offset: tuple[float, ...] = ()
    groups: tuple[int, ...] = ()

    @property
    def share(self) -> Fraction:
        """Of the l1 norm in a penalty of groups."""
        return self.penalty[1] if self.penalty[0] == "sparse_group" else Fraction(0)

    def lengths(self) -> list[tuple[list[int], Any]]:
        """Places of each group among the weights, class after class, and √size of it."""
        found: list[tuple[list[int], Any]] = []
        for c in range(self.classes if self.classes > 2 else 1):
            for g in sorted(set(self.groups)):
                members = [c * self.p + j for j in range(self.p) if self.groups[j] == g]
                found.append((members, real.sqrt(len(members))))
        return found

    @property
    def prices(self) -> tuple[Fraction, ...]:
        """Those of slope, the largest first: they are floats, and the library says which."""
        gauge = Slope(float(self.penalty[1])).gauge(np.ones(self.p), np.ones(self.p))
        return tuple(rational(price) for price in gauge.prices.tolist())

    @property
    def offsets(self) -> list[Fraction]:
        """o of each row."""
        return [rational(o) for o in self.offset] or [Fraction(0)] * len(self.y)

    @property
    def p(self) -> int:
        """Columns."""
        return len(self.scale)

    @property
    def free(self) -> bool:
        """Is nothing penalised?"""
        return self.penalty[0] == "none" or (self.budget is None and not self.lam)

    @property
    def in_rationals(self) -> bool:
        """Are its values rational at rational weights?"""
        return self.loss[0] not in TRANSCENDENTAL and (
            self.free or self.budget is not None or self.penalty[0] not in ("l2_norm", "lp", *GROUPED)
        )

    @property
    def strongly_convex(self) -> bool:
        """Is there exactly one optimal w?"""
        named = self.penalty[0] in ("l2", "elastic_net") and self.budget is None and bool(self.lam)
        return named and all(self.factors)

    def without_columns(self) -> Statement:
        """The intercept alone."""
        rows = tuple(() for _ in self.X)
        return replace(
            self, X=rows, factors=(), scale=(), penalty=("none", Fraction(0)), lam=None, budget=None
        )

    def along(self, w: Vector, b: Fraction) -> list[Fraction]:
        """x·w + b, exactly."""
        return [sum((rational(x) * v for x, v in zip(row, w, strict=True) if x and v), b) for row in self.X]

    def predictions(self, w: Vector, b: Fraction) -> list[Fraction]:
        """x·w + b + o, exactly."""
        return [z + o for z, o in zip(self.along(w, b), self.offsets, strict=True)]

    def risk(self, w: Vector, b: Any) -> Value:
        """Σ a L."""
        total = sum(self.s)
        if self.classes > 2:
            each = self._softmax(w, b)
        else:
            each = [self._row(y, z) for y, z in zip(self.y, self.predictions(w, b), strict=True)]
        if self.loss[0] not in TRANSCENDENTAL:
            return sum((s * value for s, value in zip(self.s, each, strict=True)), Fraction(0)) / total
        return sum(as_real(s) * value for s, value in zip(self.s, each, strict=True)) / as_real(total)

    def _row(self, y: float, z: Fraction) -> Value:
        name, t = self.loss
        if name in CLASSIFICATION:
            return margin_loss(name, z if y > 0 else -z)
        if name in MEANS:
            return max(
                mean_loss(name, t, rational(y), z), real.zero
            )  # half a deviance: below 0 it is rounding
        return residual_loss(name, t, z - rational(y))

    def _softmax(self, w: Vector, b: Vector) -> list[Value]:
        k, p = self.classes, self.p
        scores = [self.predictions(w[c * p : (c + 1) * p], b[c]) for c in range(k)]
        found = []
        for i, label in enumerate(self.y):
            ahead = [scores[c][i] - scores[int(label)][i] for c in range(k) if c != int(label)]
            found.append(log_one_plus([as_real(value) for value in ahead]))
        return found

    def size(self, w: Vector) -> Value:
        """h(w)."""
        name, t = self.penalty
        tiled = self.classes if self.classes > 2 else 1
        factors, scale = self.factors * tiled, self.scale * tiled
        sizes = [abs(v * sigma) for v, sigma in zip(w, scale, strict=True)]
        if name == "none":
            return Fraction(0)
        if name in ("l1", "l2", "elastic_net") or (name == "lp" and t == 1):
            linear, square = (
                int(name != "l2"),
                t if name == "elastic_net" else Fraction(int(name == "l2")),
            )
            terms = (f * (linear * v + square * v * v) for f, v in zip(factors, sizes, strict=True))
            return sum(terms, Fraction(0))
        if name in GROUPED:
            whole = sum((f * v for f, v in zip(factors, sizes, strict=True)), Fraction(0)) * self.share
            lengths = sum(
                root
                * real.sqrt(as_real(sum((factors[j] ** 2 * sizes[j] ** 2 for j in members), Fraction(0))))
                for members, root in self.lengths()
            )
            return as_real(whole) + as_real(1 - self.share) * lengths
        if name == "slope":
            order = sorted(sizes, reverse=True)
            return sum((price * v for price, v in zip(self.prices, order, strict=True)), Fraction(0))
        if name == "fused":
            along = [v * sigma for v, sigma in zip(w, scale, strict=True)]
            for _ in range(int(t)):
                along = [after - before for before, after in pairwise(along)]
            return sum((abs(v) for v in along), Fraction(0))
        if name == "linf":
            return max(sizes, default=Fraction(0))
        if name == "l2_norm":
            return real.sqrt(as_real(sum((v * v for v in sizes), Fraction(0))))
        if name == "lp":
            powers = sum(as_real(v) ** as_real(t) for v in sizes if v)
            return powers ** (1 / as_real(t)) if powers else real.zero
        raise KeyError(name)

    def within(self, w: Vector) -> bool:
        """Is h(w) ≤ c, exactly?"""
        if self.budget is None or self.penalty[0] == "none":
            return True
        name, t = self.penalty
        sizes = [abs(v * sigma) for v, sigma in zip(w, self.scale * (len(w) // self.p), strict=True)]
        if name == "l2_norm":
            return bool(sum((v * v for v in sizes), Fraction(0)) <= self.budget**2)
        if name == "lp" and t.denominator == 1:
            whole = int(t)
            return bool(sum((v**whole for v in sizes), Fraction(0)) <= self.budget**whole)
        found = self.size(w)
        if isinstance(found, Fraction):
            return found <= self.budget
        return bool(found <= as_real(self.budget) * (1 + real.mpf(10) ** -80))

    def value(self, w: Vector, b: Any) -> Value:
        """The objective; infinite outside the budget."""
        if self.budget is not None:
            return self.risk(w, b) if self.within(w) else INFINITE
        risk = self.risk(w, b)
        if self.free:
            return risk
        assert self.lam is not None
        return plus(risk, times(self.lam, self.size(w)))


def plus(a: Value, b: Value) -> Value:
    """a + b, exact where both are rational."""
    if isinstance(a, Fraction) and isinstance(b, Fraction):
        return a + b
    return _real(a) + _real(b)


def times(a: Fraction, b: Value) -> Value:
    """a b, exact where both are rational."""
    return a * b if isinstance(b, Fraction) else as_real(a) * b


def _real(value: Value) -> Any:
    return as_real(value) if isinstance(value, Fraction) else value


def below(a: Value, b: Value) -> bool:
    """a < b beyond any doubt: exactly where both are rational, else by more than a hundred digits round."""
    if isinstance(a, Fraction) and isinstance(b, Fraction):
        return a < b
    x, y = _real(a), _real(b)
    if x == real.inf or y == -real.inf or x != x or y != y:
        return False
    if y == real.inf or x == -real.inf:
        return bool(x < y)
    return bool(y - x > (abs(x) + abs(y)) * real.mpf(10) ** -70)


def stated(value: Any) -> Value:
    """A float of the library as a value."""
    found = float(value)
    if found != found:
        return real.nan
    return rational(found) if abs(found) != float("inf") else (real.inf if found > 0 else -real.inf)


def residual_loss(name: str, t: Fraction, r: Fraction) -> Fraction:
    """L of r = z − y."""
    size = abs(r)
    if name == "squared":
        return r * r
    if name == "absolute":
        return size
    if name == "quantile":
        return -t * r if r < 0 else (1 - t) * r
    if name == "huber":
        return r * r if size <= t else 2 * t * size - t * t
    over = max(size - t, Fraction(0))
    if name == "epsilon_insensitive":
        return over
    if name == "squared_epsilon_insensitive":
        return over * over
    raise KeyError(name)


def margin_loss(name: str, m: Fraction) -> Value:
    """L of m = y z."""
    if name in TRANSCENDENTAL:
        x = -as_real(m)
        if name == "logistic":  # beyond FAR it is x itself to a million digits
            return real.log1p(power_of_e(x)) if x <= FAR else x
        return power_of_e(x)
    short = max((0 if name == "perceptron" else 1) - m, Fraction(0))
    return short * short if name == "squared_hinge" else short


def entropy(x: Any) -> Any:
    """x log x."""
    return x * real.log(x) if x > 0 else real.zero


def mean_loss(name: str, p: Fraction, target: Fraction, at: Fraction) -> Any:
    """L of a target and z, half a deviance."""
    y, z = as_real(target), as_real(at)
    if name == "poisson":
        return power_of_e(z) - y * z - y + entropy(y)
    if name == "gamma":
        return y * power_of_e(-z) + z - real.log(y) - 1
    if name == "binomial":
        both = real.log1p(power_of_e(z)) if z <= FAR else z
        return both - y * z + entropy(y) + entropy(1 - y)
    down, up = as_real(p - 1), as_real(2 - p)
    falling = y * power_of_e(-down * z) / down if y else real.zero
    return falling + power_of_e(up * z) / up - (y**up / (down * up) if y else real.zero)


def mean_slopes(name: str, p: Fraction, y: Any, z: Any) -> tuple[Any, Any]:
    """Its first and second derivative."""
    if name == "poisson":
        e = power_of_e(z)
        return e - y, e
    if name == "gamma":
        e = y * power_of_e(-z)
        return 1 - e, e
    if name == "binomial":
        e = power_of_e(-abs(z))
        return (1 / (1 + e) if z > 0 else e / (1 + e)) - y, e / (1 + e) ** 2
    down, up = as_real(p - 1), as_real(2 - p)
    falling, rising = (y * power_of_e(-down * z) if y else real.zero), power_of_e(up * z)
    return rising - falling, up * rising + down * falling


def log_one_plus(ahead: list[Any]) -> Any:
    """log(1 + Σ e^ahead)."""
    top = max([real.zero, *ahead])
    if top == 0:
        return real.log1p(sum(power_of_e(value) for value in ahead))
    return top + real.log(power_of_e(-top) + sum(power_of_e(value - top) for value in ahead))


def as_values(w: Any) -> list[Fraction]:
    """Floats, or reals, as rationals."""
    return [as_rational(v) if hasattr(v, "_mpf_") else rational(v) for v in w]


def read(X: Any, y: Any, keywords: dict[str, Any], scale: Any = None, *, positive: Any = None) -> Statement:
    """The problem that `dg.fit(X, y, **keywords)` asks; class `positive` (the last) is +1 among two."""
    n, p = len(X), len(X[0])
    loss = parse(keywords["loss"])
    penalty = parse(keywords.get("penalty", "l2"))
    weights = keywords.get("sample_weight")
    s = [Fraction(1)] * n if weights is None else [rational(v) for v in weights]
    labels = list(y)
    classes = 2
    if loss[0] in CLASSIFICATION:
        names = sorted(set(labels))
        if len(names) > 2 and positive is None:
            classes = len(names)
            labels = [float(names.index(label)) for label in labels]
        else:
            up = names[-1] if positive is None else positive
            labels = [1.0 if label == up else -1.0 for label in labels]
    used = [i for i in range(n) if s[i] > 0]
    lam = keywords.get("lam")
    if keywords.get("C") is not None:
        lam = 1 / (rational(keywords["C"]) * sum(s))
    budget = keywords.get("budget")
    factors = keywords.get("penalty_factors")
    offset = keywords.get("offset")
    ones = (Fraction(1),) * p
    return Statement(
        X=tuple(tuple(float(v) for v in X[i]) for i in used),
        y=tuple(float(labels[i]) for i in used),
        s=tuple(s[i] for i in used),
        loss=loss,
        penalty=penalty,
        lam=None if lam is None else rational(lam),
        budget=None if budget is None else rational(budget),
        intercept=bool(keywords.get("fit_intercept", True)),
        factors=ones if factors is None else tuple(rational(v) for v in factors),
        scale=ones if scale is None else tuple(rational(v) for v in scale),
        classes=classes,
        offset=() if offset is None else tuple(float(offset[i]) for i in used),
        groups=tuple(int(g) for g in keywords.get("groups", ())),
    )
