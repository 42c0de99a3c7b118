"""Kernel machines as real numbers: both values of Σ a L(y, Kβ + b) + λ βᵀKβ, the diagonal raised by τ."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from exact.arithmetic import as_real, rational, real
from exact.statement import (
    CLASSIFICATION,
    TRANSCENDENTAL,
    Value,
    margin_loss,
    parse,
    plus,
    residual_loss,
    times,
)


def rationals(values: Any) -> list[Fraction]:
    """Floats as the rationals they are."""
    return [rational(value) for value in values]


def dot(a: list[Fraction], b: list[Fraction]) -> Fraction:
    """Σ a b."""
    return sum((x * y for x, y in zip(a, b, strict=True) if x and y), Fraction(0))


@dataclass(frozen=True)
class Machine:
    """Weights are shares of their exact sum; `tau` raises the diagonal by that share of its size."""

    K: Any
    y: Any
    s: Any
    loss: str
    lam: float
    tau: Fraction = Fraction(0)

    def image(self, beta: list[Fraction]) -> list[Fraction]:
        """Kβ."""
        plain = [dot(rationals(row), beta) for row in self.K]
        raised = [self.tau * abs(rational(self.K[i][i])) * beta[i] for i in range(len(beta))]
        return [a + b for a, b in zip(plain, raised, strict=True)]

    def square(self, beta: list[Fraction]) -> Fraction:
        """βᵀKβ."""
        return dot(beta, self.image(beta))

    @property
    def shares(self) -> list[Fraction]:
        """s/Σs."""
        held = rationals(self.s)
        return [value / sum(held) for value in held]

    def value(self, beta: list[Fraction], b: Fraction) -> Value:
        """P(β, b)."""
        name, t = parse(self.loss)
        predictions = [z + b for z in self.image(beta)]
        if name in CLASSIFICATION:
            each = [margin_loss(name, z if y > 0 else -z) for y, z in zip(self.y, predictions, strict=True)]
        else:
            each = [residual_loss(name, t, z - rational(y)) for y, z in zip(self.y, predictions, strict=True)]
        found: Value = rational(self.lam) * self.square(beta)
        for share, loss in zip(self.shares, each, strict=True):
            found = plus(found, times(share, loss))
        return found

    def dual(self, theta: list[Fraction], *, intercept: bool) -> Value:
        """−Σ a L*(−θ/a) − θᵀKθ/(4λ); None where θ is outside the domain or Σθ ≠ 0."""
        if intercept and sum(theta) != 0:
            return None
        found: Value = -self.square(theta) / (4 * rational(self.lam))
        for share, y, value in zip(self.shares, self.y, theta, strict=True):
            conjugate = conjugated(self.loss, rational(y), -value / share)
            if conjugate is None:
                return None
            found = plus(found, times(-share, conjugate))
        return found


def conjugated(loss: str, y: Fraction, u: Fraction) -> Value:
    """sup over z of uz − L(y, z); None where that is infinite."""
    name, t = parse(loss)
    if name in CLASSIFICATION:
        share = -u * y
        if share < 0 or (share > 1 and name in ("hinge", "perceptron", "logistic")):
            return None
        if name in TRANSCENDENTAL:
            held = _entropy(share)
            return held + _entropy(1 - share) if name == "logistic" else held - as_real(share)
        return {"hinge": -share, "perceptron": Fraction(0), "squared_hinge": share * (share / 4 - 1)}[name]
    low, high = {
        "absolute": (Fraction(-1), Fraction(1)),
        "quantile": (-t, 1 - t),
        "huber": (-2 * t, 2 * t),
        "epsilon_insensitive": (Fraction(-1), Fraction(1)),
    }.get(name, (u, u))
    if not low <= u <= high:
        return None
    curved = u * u / 4 if name in ("squared", "huber", "squared_epsilon_insensitive") else Fraction(0)
    tube = t * abs(u) if "epsilon" in name else Fraction(0)
    return u * y + curved + tube


def _entropy(share: Fraction) -> Any:
    return as_real(share) * real.log(as_real(share)) if share > 0 else real.zero
