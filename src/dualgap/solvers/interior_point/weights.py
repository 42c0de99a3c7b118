"""The regulariser's half of the method: its gradient over the weights, with its pairs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from dualgap.arrays import Mask, Vector
from dualgap.penalties.forms import Constrained, Penalised, Regulariser
from dualgap.penalties.norm import Norm
from dualgap.penalties.separable import Separable
from dualgap.solvers.interior_point.boxes import Boxes


@dataclass(frozen=True, eq=False)
class Border:
    """One more unknown s:  sign·columnᵀΔw + pivot·Δs = right.

    Where the sign is +, `pivot` is what is left after the diagonal D was eliminated, pivot − columnᵀD⁻¹column,
    which the part knows without cancellation.
    """

    column: Vector
    pivot: float
    sign: float


class Weights(Protocol):
    """r(w), linearised as Δr = D Δw + column·Δs + constant, with `count` complementarity pairs."""

    count: int
    linked: bool
    free: Mask  # where D is zero for ever

    def start(self, w: Vector, mu: float) -> tuple[Vector, Vector, Vector]:
        """A strictly feasible w near this one, and the pairs (slack, price) to begin with."""

    def bind(self, slack: Vector, price: Vector) -> None:
        """The arrays in which the method will move the pairs."""

    def linearise(self, w: Vector) -> tuple[Vector, Vector, Border | None]:
        """(r, D, border) at w."""

    def constant(self, aim: Vector, weight, first) -> tuple[Vector, float]:
        """The constant of Δr and the right side of the border, for a change `aim` of the products."""

    def directions(self, dw: Vector, ds: float) -> tuple[Vector, Vector]:
        """(Δslack, Δprice) that go with Δw and Δs."""

    def advance(self, primal: float, dual: float) -> None:
        """Move what is not a pair."""


class PenalisedSeparable:
    """Σ l1|w| + l2 w²: an identity row with box ±l1 for each sharp coordinate, a diagonal 2 l2."""

    def __init__(self, l1: Vector, l2: Vector) -> None:
        self._sharp = np.flatnonzero(l1 > 0)
        edge = l1[self._sharp]
        self._boxes = Boxes(np.zeros_like(edge), -edge, edge, 0.0)
        self._square = 2.0 * l2
        self.count = self._boxes.count
        self.linked = bool(l2.any())
        self.free = (l1 == 0) & (l2 == 0)

    def start(self, w: Vector, mu: float) -> tuple[Vector, Vector, Vector]:
        return w, *self._boxes.start(w[self._sharp], mu)

    def bind(self, slack: Vector, price: Vector) -> None:
        self._boxes.bind(slack, price)

    def linearise(self, w: Vector) -> tuple[Vector, Vector, Border | None]:
        self._curvature = self._boxes.linearise(w[self._sharp])
        r, diagonal = self._square * w, self._square.copy()
        r[self._sharp] += self._boxes.d
        diagonal[self._sharp] += self._curvature
        return r, diagonal, None

    def constant(self, aim: Vector, weight, first) -> tuple[Vector, float]:
        self._k = self._boxes.offset(aim)
        constant = np.zeros_like(self._square)
        constant[self._sharp] = -self._curvature * self._k
        return constant, 0.0

    def directions(self, dw: Vector, ds: float) -> tuple[Vector, Vector]:
        return self._boxes.directions(self._curvature * (dw[self._sharp] - self._k))

    def advance(self, primal: float, dual: float) -> None:
        self._boxes.advance(dual)


class SeparableBall:
    """Σ l1|w| + l2 w² ≤ radius, as Σ l1 s + Σ l2 w² + κ = radius with s ≥ |w|, κ ≥ 0 priced at τ.

    The pairs are (s − w, α), (s + w, β) for the sharp coordinates, then (κ, τ).
    """

    def __init__(self, l1: Vector, l2: Vector, radius: float) -> None:
        self._gauge, self._radius = Separable(l1, l2), radius
        self._sharp = np.flatnonzero(l1 > 0)
        self._l1, self._l2 = l1[self._sharp], l2
        self.count = 2 * len(self._sharp) + 1
        self.linked = bool(l2.any())
        self.free = (l1 == 0) & (l2 == 0)

    def start(self, w: Vector, mu: float) -> tuple[Vector, Vector, Vector]:
        w = self._gauge.shrink(w, 0.5 * self._radius)
        room = self._radius - self._gauge.value(w)
        tau = self.count * mu / room
        price = np.append(np.tile(0.5 * tau * self._l1, 2), tau)
        slack = mu / price
        sharp, m = w[self._sharp], len(self._sharp)
        self._s = np.abs(sharp) + slack[:m]
        slack[:m], slack[m:-1] = self._s - sharp, self._s + sharp
        return w, slack, price

    def bind(self, slack: Vector, price: Vector) -> None:
        self._slack, self._price = slack, price

    def linearise(self, w: Vector) -> tuple[Vector, Vector, Border | None]:
        m = len(self._sharp)
        slack, price, tau = self._slack, self._price, float(self._price[-1])
        self._ratio = price / slack
        upper, lower = self._ratio[:m], self._ratio[m:-1]
        self._sum, self._tilt = upper + lower, lower - upper
        r, diagonal = 2.0 * tau * self._l2 * w, 2.0 * tau * self._l2
        r[self._sharp] += price[:m] - price[m:-1]
        diagonal[self._sharp] += 4.0 * upper * lower / self._sum
        column = 2.0 * self._l2 * w
        column[self._sharp] -= self._tilt * self._l1 / self._sum
        pivot = float((self._l1 * self._l1 / self._sum).sum() + slack[-1] / tau)
        self._excess = tau * self._l1 - price[:m] - price[m:-1]
        self._before = None
        self._left = self._radius - float(self._l1 @ self._s + self._l2 @ (w * w) + slack[-1])
        return r, diagonal, Border(column, pivot, -1.0)

    def constant(self, aim: Vector, weight, first) -> tuple[Vector, float]:
        m = len(self._sharp)
        self._lift = aim / self._slack
        above, below = self._lift[:m], self._lift[m:-1]
        self._f = above + below - self._excess
        constant = np.zeros_like(self._l2)
        constant[self._sharp] = self._tilt * self._f / self._sum + above - below
        right = float(self._l1 @ (self._f / self._sum)) + float(aim[-1] / self._price[-1]) - self._left
        if first is not None:
            dw, ds = first[3:5]
            constant += weight*2.0*ds*self._l2*dw
            right += weight*float(self._l2 @ (dw*dw))
        return constant, right

    def directions(self, dw: Vector, ds: float) -> tuple[Vector, Vector]:
        m = len(self._sharp)
        sharp = dw[self._sharp]
        self._before = dw, ds
        self._ds = (self._f - self._tilt * sharp - self._l1 * ds) / self._sum
        slack = np.empty(self.count)
        slack[:m], slack[m:-1] = self._ds - sharp, self._ds + sharp
        slack[-1] = (self._lift[-1] * self._slack[-1] - self._slack[-1] * ds) / self._price[-1]
        price = self._lift - self._ratio * slack
        price[-1] = ds
        return slack, price

    def advance(self, primal: float, dual: float) -> None:
        self._s = self._s + primal * self._ds


class LargestWeight:
    """|scale·w| ≤ t, with t fixed (the ball) or priced at `strength`: pairs (t − scale w, α), (t + scale w, β)."""

    def __init__(self, scale: Vector, strength: float | None, radius: float | None) -> None:
        self._seen = np.flatnonzero(scale > 0)
        self._scale = scale[self._seen]
        self._strength, self._radius = strength, radius
        self.count = 2 * len(self._seen)
        self.linked = False
        self.free = np.asarray(scale == 0)

    def start(self, w: Vector, mu: float) -> tuple[Vector, Vector, Vector]:
        w = w.copy()
        if self._radius is not None:
            top = self._radius
            edge = 0.5 * top / self._scale
            w[self._seen] = np.clip(w[self._seen], -edge, edge)
        size = self._scale * w[self._seen]
        if self._strength is not None:
            top = float(np.abs(size).max(initial=0.0)) + self.count * mu / self._strength
        slack = np.concatenate([top - size, top + size])
        return w, slack, mu / slack

    def bind(self, slack: Vector, price: Vector) -> None:
        self._slack, self._price = slack, price

    def linearise(self, w: Vector) -> tuple[Vector, Vector, Border | None]:
        m = len(self._seen)
        self._ratio = self._price / self._slack
        upper, lower = self._ratio[:m], self._ratio[m:]
        r, diagonal, column = np.zeros_like(w), np.zeros_like(w), np.zeros_like(w)
        r[self._seen] = self._scale * (self._price[:m] - self._price[m:])
        diagonal[self._seen] = self._scale * self._scale * (upper + lower)
        if self._strength is None:
            return r, diagonal, None
        column[self._seen] = self._scale * (lower - upper)
        pivot = float((4.0 * upper * lower / (upper + lower)).sum())
        return r, diagonal, Border(column, pivot, 1.0)

    def constant(self, aim: Vector, weight, first) -> tuple[Vector, float]:
        m = len(self._seen)
        self._lift = aim / self._slack
        constant = np.zeros(len(self.free))
        constant[self._seen] = self._scale * (self._lift[:m] - self._lift[m:])
        right = float(self._lift.sum() + self._price.sum()) - (self._strength or 0.0)
        return constant, right

    def directions(self, dw: Vector, ds: float) -> tuple[Vector, Vector]:
        moved = self._scale * dw[self._seen]
        slack = np.concatenate([ds - moved, ds + moved])
        return slack, self._lift - self._ratio * slack

    def advance(self, primal: float, dual: float) -> None:
        """t is in the slacks."""


def weights(regulariser: Regulariser) -> Weights | None:
    """The half that fits this regulariser, if there is one."""
    gauge = regulariser.gauge
    if isinstance(gauge, Norm) and gauge.order == np.inf:
        if isinstance(regulariser, Penalised):
            return LargestWeight(gauge.scale, regulariser.strength, None)
        return LargestWeight(gauge.scale, None, regulariser.radius)
    if isinstance(gauge, Separable) and isinstance(regulariser, Penalised):
        return PenalisedSeparable(regulariser.strength * gauge.l1, regulariser.strength * gauge.l2)
    if not isinstance(regulariser, Constrained):
        return None
    if isinstance(gauge, Separable):
        return SeparableBall(gauge.l1, gauge.l2, regulariser.radius)
    if isinstance(gauge, Norm) and gauge.order == 2.0:
        return SeparableBall(np.zeros_like(gauge.scale), gauge.scale**2, regulariser.radius**2)
    return None
