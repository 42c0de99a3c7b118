"""binomial: L = log(1 + e^z) − yz + y log y + (1 − y) log(1 − y), half the deviance of a share 0 ≤ y ≤ 1."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dualgap.arrays import Vector
from dualgap.device.spaces import space
from dualgap.losses.half_deviance import HalfDeviance, between, doubt
from dualgap.traits import Trait


@dataclass(frozen=True)
class Binomial(HalfDeviance):
    """Shares of successes, whose mean is 1/(1 + e^−z); the number of trials is the row's weight."""

    name = "binomial"
    declared = HalfDeviance.declared | Trait.BOUNDED_CURVATURE
    curvature = 0.25
    highest = 1.0
    link = "logit"
    needs = "targets from 0 to 1, shares of successes"

    def linked(self, y: Vector) -> Vector:
        return space(y).logit(y)

    def best_constant(self, y: Vector, a: Vector) -> float:
        # both sums, since a mean that rounds to one has no logit
        least = float(np.finfo(np.float64).tiny)
        return math.log(max(float(a @ y), least)) - math.log(max(float(a @ (1.0 - y)), least))

    def mean(self, z: Vector) -> Vector:
        return space(z).expit(z)

    def value(self, y: Vector, z: Vector) -> Vector:
        xp = space(z)
        return between(y, xp.expit(z), -z) + between(1.0 - y, xp.expit(-z), z)

    def derivative(self, y: Vector, z: Vector) -> Vector:
        return space(z).expit(z) - y

    def second_derivative(self, y: Vector, z: Vector) -> Vector:
        xp = space(z)
        e = xp.exp(-xp.abs(z))
        return e / (1.0 + e) ** 2

    def bends(self, y: Vector, z: Vector) -> tuple[Vector, Vector]:
        xp = space(z)
        e = xp.exp(-xp.abs(z))
        large = 1.0 / (1.0 + e)
        small = e * large
        return xp.where(z > 0.0, large, small) - y, small * large

    def fenchel_young(self, y: Vector, z: Vector, u: Vector) -> Vector:
        # the divergence of two coins; 1 − y − u with the rounding of 1 − y, of which little may be left
        xp, rest = space(z), 1.0 - y
        model = xp.expit(z)
        tails = (rest - u) + ((1.0 - rest) - y)
        both = between(u + y, model, -z) + between(tails, xp.expit(-z), z)
        return both + 2.0 * doubt(model - y, xp.ones_like(model))

    def domain(self, y: Vector) -> tuple[Vector, Vector]:
        return -y, 1.0 - y

    def falls_towards(self, y: Vector) -> Vector:
        return np.where(y >= 1.0, 1.0, np.where(y <= 0.0, -1.0, 0.0))

    def deviance(self, risks: Vector) -> Vector:
        return 2.0 * risks
