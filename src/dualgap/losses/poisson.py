"""poisson: L = e^z − yz − y + y log y, half the deviance of a count or rate y ≥ 0 whose mean is e^z."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dualgap.arrays import Vector
from dualgap.device.spaces import space
from dualgap.losses.half_deviance import HalfDeviance, between, doubt


@dataclass(frozen=True)
class Poisson(HalfDeviance):
    """Counts and rates. The curvature is e^z: a trial step may overflow, and is then refused."""

    name = "poisson"
    needs = "targets of at least 0, counts or rates"

    @property
    def power(self) -> float:
        return 1.0

    def value(self, y: Vector, z: Vector) -> Vector:
        return between(y, self.mean(z), -z)

    def derivative(self, y: Vector, z: Vector) -> Vector:
        return self.mean(z) - y

    def second_derivative(self, y: Vector, z: Vector) -> Vector:
        return self.mean(z)

    def bends(self, y: Vector, z: Vector) -> tuple[Vector, Vector]:
        model = self.mean(z)
        return model - y, model

    def fenchel_young(self, y: Vector, z: Vector, u: Vector) -> Vector:
        model = self.mean(z)
        return between(u + y, model, -z) + doubt(model - y, model)

    def domain(self, y: Vector) -> tuple[Vector, Vector]:
        return -y, space(y).full_like(y, np.inf)

    def falls_towards(self, y: Vector) -> Vector:
        return np.where(y > 0.0, 0.0, -1.0)

    def deviance(self, risks: Vector) -> Vector:
        return 2.0 * risks
