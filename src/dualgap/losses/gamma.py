"""gamma: L = y e^−z + z − log y − 1, half the deviance of a positive y whose mean is e^z."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dualgap.arrays import Vector
from dualgap.device.spaces import space
from dualgap.losses.base import FAINT
from dualgap.losses.half_deviance import HalfDeviance, between, doubt
from dualgap.traits import Trait


@dataclass(frozen=True)
class Gamma(HalfDeviance):
    """Costs, durations, sizes: the spread grows with the mean. Every y has its minimum at z = log y."""

    name = "gamma"
    declared = HalfDeviance.declared | Trait.ATTAINED
    dispersed = True
    lowest = FAINT  # positive; and with all digits, so that y e^−z has them too
    needs = "positive targets"

    @property
    def power(self) -> float:
        return 2.0

    def _ratio(self, y: Vector, z: Vector) -> Vector:
        """y e^−z, in two steps that neither overflow nor underflow unless it does."""
        with np.errstate(over="ignore"):
            half = space(z).exp(-0.5 * z)
            return y * half * half

    def value(self, y: Vector, z: Vector) -> Vector:
        model = self._ratio(y, z)
        return between(space(z).ones_like(model), model, z - space(z).log(y))

    def derivative(self, y: Vector, z: Vector) -> Vector:
        return 1.0 - self._ratio(y, z)

    def second_derivative(self, y: Vector, z: Vector) -> Vector:
        return self._ratio(y, z)

    def bends(self, y: Vector, z: Vector) -> tuple[Vector, Vector]:
        model = self._ratio(y, z)
        return 1.0 - model, model

    def fenchel_young(self, y: Vector, z: Vector, u: Vector) -> Vector:
        model = self._ratio(y, z)
        return between(1.0 - u, model, z - space(z).log(y)) + doubt(1.0 - model, model)

    def domain(self, y: Vector) -> tuple[Vector, Vector]:
        return space(y).full_like(y, -np.inf), space(y).ones_like(y)
