"""Piecewise quadratic rows as boxes with their complementarity pairs."""

from __future__ import annotations

import numpy as np

from dualgap.arrays import Index, Vector

Side = Index | slice


class Boxes:
    """Rows z − kink = softness·d + P − q with lower < d < upper, P(upper − d) = q(d − lower) = μ.

    A bound at infinity has neither P nor q. The pairs lie in two arrays that the method moves: `slack`
    holds P then q, `price` holds upper − d then d − lower, carried on their own because the difference
    loses its digits where d settles on a bound.
    """

    def __init__(self, kink: Vector, lower: Vector, upper: Vector, softness: Vector | float) -> None:
        self.kink, self.lower, self.upper = kink, lower, upper
        self.softness = softness
        self.above, above = _finite(upper)
        self.below, below = _finite(lower)
        self.count = above + below
        self._first, self._second = slice(0, above), slice(above, self.count)

    def start(self, z: Vector, mu: float) -> tuple[Vector, Vector]:
        """The point of the central path for this z, except that a two-sided soft row is only near it."""
        self.d = self._centred(z - self.kink, mu)
        price = np.concatenate([(self.upper - self.d)[self.above], (self.d - self.lower)[self.below]])
        return mu / price, price

    def bind(self, slack: Vector, price: Vector) -> None:
        """The arrays in which the method will move the pairs."""
        self.slack, self.price = slack, price

    def _centred(self, reach: Vector, mu: float) -> Vector:
        """d with softness·d + μ/(upper − d) − μ/(d − lower) = reach, without softness where two-sided."""
        soft = np.broadcast_to(np.asarray(self.softness, dtype=np.float64), reach.shape)
        high, low = np.isfinite(self.upper), np.isfinite(self.lower)
        d = np.zeros_like(reach)
        both = high & low
        half = 0.5 * (self.upper[both] - self.lower[both])
        middle = 0.5 * (self.upper[both] + self.lower[both])
        inside = np.clip(reach[both], soft[both] * (middle - 0.5 * half), soft[both] * (middle + 0.5 * half))
        rest = reach[both] - inside
        d[both] = middle + half * (rest * half / (mu + np.hypot(mu, rest * half)))
        for side, sign, bound in ((low & ~high, 1.0, self.lower), (high & ~low, -1.0, self.upper)):
            shifted = sign * (reach[side] - soft[side] * bound[side])
            far = np.hypot(shifted, 2.0 * np.sqrt(soft[side] * mu))
            d[side] = bound[side] + sign * np.where(
                shifted > 0, (shifted + far) / (2.0 * soft[side]), 2.0 * mu / (far - shifted)
            )
        neither = ~(high | low)
        d[neither] = reach[neither] / soft[neither]
        return d

    def linearise(self, z: Vector) -> Vector:
        """θ in Δd = θ(Δz − k): the curvature of each row, smoothed by its pairs."""
        self._ratio = self.slack / self.price
        stiff = np.zeros_like(z)
        stiff += self.softness
        stiff[self.above] += self._ratio[self._first]
        stiff[self.below] += self._ratio[self._second]
        self._miss = z - self.kink - self.softness * self.d
        self._miss[self.above] -= self.slack[self._first]
        self._miss[self.below] += self.slack[self._second]
        self.curvature = 1.0 / stiff
        return self.curvature

    def offset(self, aim: Vector) -> Vector:
        """k in Δd = θ(Δz − k), where the pairs' products are to change by `aim`."""
        self._lift = aim / self.price
        k = -self._miss
        k[self.above] += self._lift[self._first]
        k[self.below] -= self._lift[self._second]
        return k

    def directions(self, change: Vector) -> tuple[Vector, Vector]:
        """(Δslack, Δprice) that go with Δd."""
        self._change = change
        price = np.concatenate([-change[self.above], change[self.below]])
        return self._lift - self._ratio * price, price

    def advance(self, step: float) -> None:
        """Move d; the method moves the pairs."""
        self.d = self.d + step * self._change


def _finite(bound: Vector) -> tuple[Side, int]:
    where = np.flatnonzero(np.isfinite(bound))
    return (slice(None), len(bound)) if len(where) == len(bound) else (where, len(where))
