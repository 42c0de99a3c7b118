"""The regulariser's half of the method: its gradient over the weights, with its pairs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dualgap.arrays import Mask, Vector
from dualgap.penalties.separable import Separable
from dualgap.solvers.interior_point.boxes import Boxes, Move
from dualgap.solvers.interior_point.extension import Extension, PriceRow, SizeColumn, Unknown

OVERSHOOT = 2.0  # share of the promised rise of the slope that may come on top, as for the rows
HALVINGS = 60  # of a step; after so many it is rounding


def shortened(step: float, risen: Callable[[float], float], promised: float) -> float:
    """The step, halved until the slope along it has risen by hardly more than was promised."""
    for _ in range(HALVINGS):
        if risen(step) <= (1.0 + OVERSHOOT) * promised:
            break
        step *= 0.5
    return step


@dataclass(frozen=True, eq=False)
class Bend:
    """A step (Δw, Δs) whose products are to be corrected for."""

    dw: Vector
    ds: Unknown


class PenaltyHalf(ABC):
    """r(w), linearised as Δr = D Δw + constant + what the extension says of its own unknown s.

    There are `count` complementarity pairs; `free` marks the coordinates where D is always zero; `linked`
    and `local` are as for the rows; `edged` says that the penalty has kinks, or edges where it is a ball,
    `sizes` that s is a vector.
    """

    count: int
    linked: bool
    local: bool = False
    edged: bool = True
    sizes: bool = False
    free: Mask

    @abstractmethod
    def start(self, w: Vector, mu: float) -> tuple[Vector, Vector, Vector]:
        """A strictly feasible w near this one, and the pairs (slack, price) to begin with."""

    def bind(self, slack: Vector, price: Vector) -> None:
        """The arrays in which the method will move the pairs."""
        self._slack, self._price = slack, price

    @abstractmethod
    def linearise(self, w: Vector) -> tuple[Vector, Vector, Extension]:
        """(r, D, extension) at w."""

    @abstractmethod
    def constant(self, aim: Vector, bend: Bend | None) -> tuple[Vector, Unknown]:
        """The constant of Δr and the right side for s; the products are to change by `aim`."""

    @abstractmethod
    def move(self, dw: Vector, ds: Unknown) -> tuple[Vector, Move]:
        """Δw itself and what goes with it and Δs, for the last `aim`."""

    def advance(self, inner: Vector, primal: float, dual: float) -> None:  # noqa: B027 - mostly nothing
        """Move what is not a pair."""

    def promise(self, dw: Vector, ds: Unknown) -> float:
        """What a local linearisation makes of this step: twice the decrease that it promises."""
        return 0.0

    def longest(self, w: Vector, dw: Vector, ds: Unknown, step: float) -> float:
        """The step, shortened until a local linearisation is to be trusted."""
        return step


class PenalisedSeparable(PenaltyHalf):
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

    def linearise(self, w: Vector) -> tuple[Vector, Vector, Extension]:
        self._curvature = self._boxes.linearise(w[self._sharp])
        r, diagonal = self._square * w, self._square.copy()
        r[self._sharp] += self._boxes.d
        diagonal[self._sharp] += self._curvature
        return r, diagonal, Extension()

    def constant(self, aim: Vector, bend: Bend | None) -> tuple[Vector, float]:
        self._k = self._boxes.offset(aim)
        constant = np.zeros_like(self._square)
        constant[self._sharp] = -self._curvature * self._k
        return constant, 0.0

    def move(self, dw: Vector, ds: float) -> tuple[Vector, Move]:
        return dw, self._boxes.move(self._curvature * (dw[self._sharp] - self._k))

    def advance(self, inner: Vector, primal: float, dual: float) -> None:
        self._boxes.d = self._boxes.d + dual * inner


class SeparableBall(PenaltyHalf):
    """Σ l1|w| + l2 w² ≤ radius, as Σ l1 s + Σ l2 w² + κ = radius with s ≥ |w|, and κ ≥ 0 priced at τ.

    The pairs are (s − w, α) and (s + w, β) of the sharp coordinates, then (κ, τ). With
    A = α/(s − w), B = β/(s + w) and f the right side of Δs's own equation
    (A + B) Δs + (B − A) Δw + l1 Δτ = f, eliminating Δs leaves D = 4AB/(A + B) + 2τ l2 and the row
    2 l2 w − l1 (B − A)/(A + B) for Δτ.
    """

    def __init__(self, l1: Vector, l2: Vector, radius: float) -> None:
        self._gauge, self.radius = Separable(l1, l2), radius
        self._sharp = np.flatnonzero(l1 > 0)
        self._l1, self._l2 = l1[self._sharp], l2
        self.count = 2 * len(self._sharp) + 1
        self.linked = bool(l2.any())
        self.free = (l1 == 0) & (l2 == 0)

    def start(self, w: Vector, mu: float) -> tuple[Vector, Vector, Vector]:
        w = self._gauge.shrink(w, 0.5 * self.radius)
        tau = self.count * mu / (self.radius - self._gauge.value(w))
        price = np.append(np.tile(0.5 * tau * self._l1, 2), tau)
        slack = mu / price
        m, sharp = len(self._sharp), w[self._sharp]
        self._s = np.abs(sharp) + slack[:m]
        slack[:m], slack[m:-1] = self._s - sharp, self._s + sharp
        return w, slack, price

    @property
    def price(self) -> float:
        """τ."""
        return float(self._price[-1])

    def linearise(self, w: Vector) -> tuple[Vector, Vector, PriceRow]:
        m, slack, price = len(self._sharp), self._slack, self._price
        kappa, tau = float(slack[-1]), float(price[-1])
        self._ratio = price / slack
        above, below = self._ratio[:m], self._ratio[m:-1]
        self._sum, self._tilt = above + below, (below - above) / (above + below)
        r, diagonal, row = 2.0 * tau * self._l2 * w, 2.0 * tau * self._l2, 2.0 * self._l2 * w
        r[self._sharp] += price[:m] - price[m:-1]
        diagonal[self._sharp] += 4.0 * above * below / self._sum
        row[self._sharp] -= self._tilt * self._l1
        softness = float(self._l1 @ (self._l1 / self._sum)) + kappa / tau
        self._excess = tau * self._l1 - price[:m] - price[m:-1]
        self._room = self.radius - float(self._l1 @ self._s + self._l2 @ (w * w)) - kappa
        return r, diagonal, PriceRow(row, softness)

    def constant(self, aim: Vector, bend: Bend | None) -> tuple[Vector, float]:
        m = len(self._sharp)
        self._lift, self._target = aim / self._slack, float(aim[-1] / self._price[-1])
        above, below = self._lift[:m], self._lift[m:-1]
        self._f = above + below - self._excess
        constant = np.zeros_like(self._l2)
        constant[self._sharp] = self._tilt * self._f + above - below
        right = float(self._l1 @ (self._f / self._sum)) + self._target - self._room
        if bend is not None:
            constant += 2.0 * bend.ds * self._l2 * bend.dw
            right += float(self._l2 @ (bend.dw * bend.dw))
        return constant, right

    def move(self, dw: Vector, ds: float) -> tuple[Vector, Move]:
        m, sharp = len(self._sharp), dw[self._sharp]
        common = (self._f - self._l1 * ds) / self._sum
        slack = np.empty(self.count)
        # Δs ∓ Δw without their difference, which would lose the digits of a small slack
        slack[:m] = common - 2.0 * self._ratio[m:-1] / self._sum * sharp
        slack[m:-1] = common + 2.0 * self._ratio[:m] / self._sum * sharp
        slack[-1] = self._target - ds * self._slack[-1] / self._price[-1]
        price = self._lift - self._ratio * slack
        price[-1] = ds
        return dw, Move(slack, price, common - self._tilt * sharp)

    def advance(self, inner: Vector, primal: float, dual: float) -> None:
        self._s = self._s + primal * inner


class LargestWeight(PenaltyHalf):
    """scale·|w| ≤ t, where t is fixed (the ball) or has a price: pairs (t − scale·w, α), (t + scale·w, β)."""

    linked = False

    def __init__(self, scale: Vector, strength: float | None, radius: float | None) -> None:
        self._seen = np.flatnonzero(scale > 0)
        self._scale = scale[self._seen]
        self._strength, self._radius = strength, radius
        self.count = 2 * len(self._seen)
        self.free = np.asarray(scale == 0)

    def start(self, w: Vector, mu: float) -> tuple[Vector, Vector, Vector]:
        w = w.copy()
        if self._radius is not None:
            top = self._radius
            w[self._seen] = np.clip(w[self._seen], -0.5 * top / self._scale, 0.5 * top / self._scale)
        size = self._scale * w[self._seen]
        if self._strength is not None:
            top = float(np.abs(size).max(initial=0.0)) + self.count * mu / self._strength
        slack = np.concatenate([top - size, top + size])
        return w, slack, mu / slack

    def linearise(self, w: Vector) -> tuple[Vector, Vector, Extension]:
        m = len(self._seen)
        self._ratio = self._price / self._slack
        above, below = self._ratio[:m], self._ratio[m:]
        r, diagonal = np.zeros_like(w), np.zeros_like(w)
        r[self._seen] = self._scale * (self._price[:m] - self._price[m:])
        diagonal[self._seen] = self._scale * self._scale * (above + below)
        if self._strength is None or not m:
            return r, diagonal, Extension()
        share = np.zeros_like(w)
        share[self._seen] = (below - above) / (above + below) / self._scale
        return r, diagonal, SizeColumn(share, float((4.0 * above * below / (above + below)).sum()))

    def constant(self, aim: Vector, bend: Bend | None) -> tuple[Vector, float]:
        m = len(self._seen)
        self._lift = aim / self._slack
        constant = np.zeros(len(self.free))
        constant[self._seen] = self._scale * (self._lift[:m] - self._lift[m:])
        return constant, float(self._lift.sum() + self._price.sum()) - (self._strength or 0.0)

    def move(self, dw: Vector, ds: float) -> tuple[Vector, Move]:
        m, moved = len(self._seen), self._scale * dw[self._seen]
        above, below = self._ratio[:m], self._ratio[m:]
        total = above + below
        # Δt ∓ scale·Δw without their difference, which would lose the digits of a small slack
        slack = np.concatenate([2.0 * below / total * ds - moved, 2.0 * above / total * ds + moved])
        dw = dw.copy()
        dw[self._seen] -= (below - above) / total * ds / self._scale
        return dw, Move(slack, self._lift - self._ratio * slack, np.empty(0))
