"""Piecewise quadratic rows as boxes with their complementarity pairs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dualgap.arrays import Index, Vector

Side = Index | slice


@dataclass(frozen=True, eq=False)
class Move:
    """How the pairs change in a step, and what moves beside them."""

    slack: Vector
    price: Vector
    inner: Vector


class Boxes:
    """Rows z − kink = softness·d + P − q with lower < d < upper, P(upper − d) = q(d − lower) = μ.

    A bound at infinity has neither P nor q. The pairs lie in two arrays which the method moves: `slack`
    holds P then q, `price` holds upper − d then d − lower. The latter are carried on their own because
    the difference loses its digits where d settles on a bound.
    """

    def __init__(self, kink: Vector, lower: Vector, upper: Vector, softness: Vector | float) -> None:
        self._kink, self._lower, self._upper = kink, lower, upper
        self._softness = softness
        self._above, above = _finite(upper)
        self._below, below = _finite(lower)
        self.count = above + below
        self._first, self._second = slice(0, above), slice(above, self.count)

    def start(self, z: Vector, mu: float) -> tuple[Vector, Vector]:
        """The point of the central path at this z, except that a soft row of two sides is only near it."""
        reach = z - self._kink
        self.d = np.empty_like(reach)
        soft = np.broadcast_to(np.asarray(self._softness, dtype=np.float64), reach.shape)
        high, low = np.isfinite(self._upper), np.isfinite(self._lower)
        for where, sign in ((low & ~high, 1.0), (high & ~low, -1.0)):
            bound = (self._lower if sign > 0 else self._upper)[where]
            self.d[where] = bound + sign * _one_sided(
                sign * (reach[where] - soft[where] * bound), soft[where], mu
            )
        both, neither = high & low, ~(high | low)
        self.d[both] = _two_sided(reach[both], soft[both], self._lower[both], self._upper[both], mu)
        self.d[neither] = reach[neither] / soft[neither]
        price = np.concatenate([(self._upper - self.d)[self._above], (self.d - self._lower)[self._below]])
        return mu / price, price

    def bind(self, slack: Vector, price: Vector) -> None:
        """The arrays in which the method will move the pairs."""
        self._slack, self._price = slack, price

    def linearise(self, z: Vector) -> Vector:
        """θ in Δd = θ(Δz − k): the curvature of each row, smoothed by its pairs."""
        self._ratio = self._slack / self._price
        stiff = np.zeros_like(z)
        stiff += self._softness
        stiff[self._above] += self._ratio[self._first]
        stiff[self._below] += self._ratio[self._second]
        self._miss = self._softness * self.d
        self._miss -= z - self._kink
        self._miss[self._above] += self._slack[self._first]
        self._miss[self._below] -= self._slack[self._second]
        return np.asarray(1.0 / stiff)

    def offset(self, aim: Vector) -> Vector:
        """k in Δd = θ(Δz − k), where the pairs' products are to change by `aim`."""
        self._lift = aim / self._price
        k = self._miss.copy()
        k[self._above] += self._lift[self._first]
        k[self._below] -= self._lift[self._second]
        return k

    def move(self, change: Vector) -> Move:
        """What goes with this Δd, for the last `aim`."""
        price = np.concatenate([-change[self._above], change[self._below]])
        return Move(self._lift - self._ratio * price, price, change)


def _finite(bound: Vector) -> tuple[Side, int]:
    where = np.flatnonzero(np.isfinite(bound))
    return (slice(None), len(bound)) if len(where) == len(bound) else (where, len(where))


def _one_sided(reach: Vector, soft: Vector, mu: float) -> Vector:
    """t > 0 with soft·t − μ/t = reach."""
    far = np.hypot(reach, 2.0 * np.sqrt(soft * mu))
    return np.where(reach > 0, (reach + far) / (2.0 * soft), 2.0 * mu / (far - reach))


def _two_sided(reach: Vector, soft: Vector, lower: Vector, upper: Vector, mu: float) -> Vector:
    """d with μ/(upper − d) − μ/(d − lower) = reach − soft·d, the last d being a guess."""
    half, middle = 0.5 * (upper - lower), 0.5 * (upper + lower)
    rest = reach - np.clip(reach, soft * (middle - 0.5 * half), soft * (middle + 0.5 * half))
    return middle + half * (rest * half / (mu + np.hypot(mu, rest * half)))
