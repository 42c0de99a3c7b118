"""The penalty's half of the interior point: bounds |scale_j w_j| ≤ t_j, their prices, and how both move.

The pairs are (t − scale w, α) and (t + scale w, β), each product to become μ. With A = α/(t − scale w) and
B = β/(t + scale w), every step eliminates Δt and leaves a diagonal over the weights and at most one more
unknown.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from dualgap.arrays import Vector
from dualgap.penalties import Penalised, Regulariser
from dualgap.penalties.norm import Norm
from dualgap.penalties.separable import Separable


@dataclass(frozen=True, eq=False)
class Border:
    """One more unknown x:  … + column·Δx in the weights' equations, and sign·columnᵀΔw + corner·Δx = right.

    Where the sign is + the corner is what remains once the diagonal is eliminated: it is known without
    cancellation.
    """

    column: Vector
    corner: float
    sign: float


class Pairs(Protocol):
    """slack ∘ price → μ; the slope r of the penalty, linearised as Δr = D Δw + column·Δx + constant."""

    w: Vector
    slack: Vector
    price: Vector

    def slope(self) -> tuple[Vector, Vector, Border | None]:
        """(r, D, border) here."""

    def constant(self, aim: Vector) -> tuple[Vector, float]:
        """The constant of Δr and the right side of the border; the products are to change by `aim`."""

    def directions(self, dw: Vector, dx: float) -> tuple[Vector, Vector]:
        """(Δslack, Δprice) for the last `aim`."""

    def advance(self, dw: Vector, dslack: Vector, dprice: Vector) -> None:
        """Take a step."""


class Separate:
    """Σ l1|w| + l2 w², with a bound t_j for each sharp coordinate; as a penalty, or at most `radius`.

    Of the ball, Σ l1 t + Σ l2 w² + κ = radius, κ ≥ 0 priced at τ; the penalty has τ = 1 and no such pair.
    """

    def __init__(self, gauge: Separable, radius: float | None, w: Vector, mu: float) -> None:
        self._l2, self._radius = gauge.l2, radius
        self._sharp = np.flatnonzero(gauge.l1 > 0)
        self._l1 = gauge.l1[self._sharp]
        m = len(self._sharp)
        if radius is None:
            self._tau = 1.0
        else:
            w = gauge.shrink(w, 0.5 * radius)
            self._tau = (2 * m + 1) * mu / (radius - gauge.value(w))
        self.w = w
        size = np.abs(w[self._sharp])
        self._t = size + 2.0 * mu / (self._tau * self._l1)
        self.slack = np.concatenate([self._t - w[self._sharp], self._t + w[self._sharp]])
        self.price = np.tile(0.5 * self._tau * self._l1, 2)
        if radius is not None:
            self.slack, self.price = np.append(self.slack, mu / self._tau), np.append(self.price, self._tau)

    def slope(self) -> tuple[Vector, Vector, Border | None]:
        m, w = len(self._sharp), self.w
        self._ratio = self.price / self.slack
        above, below = self._ratio[:m], self._ratio[m : 2 * m]
        alpha, beta = self.price[:m], self.price[m : 2 * m]
        self._sum, self._tilt = above + below, (below - above) / (above + below)
        r, diagonal = 2.0 * self._tau * self._l2 * w, 2.0 * self._tau * self._l2
        r[self._sharp] += alpha - beta
        diagonal[self._sharp] += 4.0 * above * below / self._sum
        self._lack = self._tau * self._l1 - alpha - beta
        if self._radius is None:
            return r, diagonal, None
        column = 2.0 * self._l2 * w
        column[self._sharp] -= self._tilt * self._l1
        kappa = float(self.slack[-1])
        corner = float(self._l1 @ (self._l1 / self._sum)) + kappa / self._tau
        self._room = self._radius - float(self._l1 @ self._t + self._l2 @ (w * w)) - kappa
        return r, diagonal, Border(column, corner, -1.0)

    def constant(self, aim: Vector) -> tuple[Vector, float]:
        m = len(self._sharp)
        self._lift, self._aim = aim / self.slack, aim
        above, below = self._lift[:m], self._lift[m : 2 * m]
        self._push = above + below - self._lack
        constant = np.zeros_like(self._l2)
        constant[self._sharp] = above - below + self._tilt * self._push
        if self._radius is None:
            return constant, 0.0
        return constant, float(self._l1 @ (self._push / self._sum)) + float(aim[-1]) / self._tau - self._room

    def directions(self, dw: Vector, dx: float) -> tuple[Vector, Vector]:
        m, moved = len(self._sharp), dw[self._sharp]
        rise = (self._push - self._l1 * dx) / self._sum - self._tilt * moved
        slack = np.concatenate([rise - moved, rise + moved])
        price = self._lift[: 2 * m] - self._ratio[: 2 * m] * slack
        if self._radius is None:
            return slack, price
        last = (float(self._aim[-1]) - float(self.slack[-1]) * dx) / self._tau
        return np.append(slack, last), np.append(price, dx)

    def advance(self, dw: Vector, dslack: Vector, dprice: Vector) -> None:
        m = len(self._sharp)
        self.w = self.w + dw
        self.slack, self.price = self.slack + dslack, self.price + dprice
        self._t = 0.5 * (self.slack[:m] + self.slack[m : 2 * m])
        if self._radius is not None:
            self._tau = float(self.price[-1])


class Common:
    """max |scale w|: one bound t for all, priced at `strength`, or fixed at `radius`."""

    def __init__(self, gauge: Norm, limits: tuple[float | None, float | None], w: Vector, mu: float) -> None:
        self._strength, radius = limits
        self._seen = np.flatnonzero(gauge.scale > 0)
        self._scale = gauge.scale[self._seen]
        self.w = w if radius is None else gauge.shrink(w, 0.5 * radius)
        size = self._scale * self.w[self._seen]
        if radius is None:
            assert self._strength is not None
            radius = float(np.abs(size).max(initial=0.0)) + 2 * len(size) * mu / self._strength
        self.slack = np.concatenate([radius - size, radius + size])
        self.price = mu / self.slack

    def slope(self) -> tuple[Vector, Vector, Border | None]:
        m, p = len(self._seen), len(self.w)
        self._ratio = self.price / self.slack
        above, below = self._ratio[:m], self._ratio[m:]
        r, diagonal, column = np.zeros(p), np.zeros(p), np.zeros(p)
        r[self._seen] = self._scale * (self.price[:m] - self.price[m:])
        diagonal[self._seen] = self._scale**2 * (above + below)
        if self._strength is None:
            return r, diagonal, None
        column[self._seen] = self._scale * (below - above)
        return r, diagonal, Border(column, float((4.0 * above * below / (above + below)).sum()), 1.0)

    def constant(self, aim: Vector) -> tuple[Vector, float]:
        m = len(self._seen)
        self._lift = aim / self.slack
        constant = np.zeros_like(self.w)
        constant[self._seen] = self._scale * (self._lift[:m] - self._lift[m:])
        return constant, float(self._lift.sum() + self.price.sum()) - (self._strength or 0.0)

    def directions(self, dw: Vector, dx: float) -> tuple[Vector, Vector]:
        moved = self._scale * dw[self._seen]
        slack = np.concatenate([dx - moved, dx + moved])
        return slack, self._lift - self._ratio * slack

    def advance(self, dw: Vector, dslack: Vector, dprice: Vector) -> None:
        self.w = self.w + dw
        self.slack, self.price = self.slack + dslack, self.price + dprice


def has_pairs(regulariser: Regulariser) -> bool:
    """Has it kinks at zero, or at its largest weight?"""
    gauge = regulariser.gauge
    if isinstance(gauge, Norm):
        return gauge.order == np.inf
    return isinstance(gauge, Separable) and bool(gauge.l1.any())


def pairs_of(regulariser: Regulariser, w: Vector, mu: float) -> Pairs:
    """The half of a regulariser that has pairs, near w and with products near μ."""
    gauge = regulariser.gauge
    if isinstance(regulariser, Penalised):
        strength = regulariser.strength
        if isinstance(gauge, Norm):
            return Common(gauge, (strength, None), w, mu)
        assert isinstance(gauge, Separable)
        return Separate(Separable(strength * gauge.l1, strength * gauge.l2), None, w, mu)
    if isinstance(gauge, Norm):
        return Common(gauge, (None, regulariser.radius), w, mu)
    assert isinstance(gauge, Separable)
    return Separate(gauge, regulariser.radius, w, mu)
