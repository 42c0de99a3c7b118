"""exponential: L = e^−m, m = y·z. The loss of boosting."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dualgap.arrays import Vector
from dualgap.device.spaces import space
from dualgap.losses.base import Loss, divergence, log_odds_of_classes
from dualgap.traits import Trait


@dataclass(frozen=True)
class Exponential(Loss):
    """Smooth with unbounded curvature: a trial step may overflow, and is then refused."""

    name = "exponential"
    slope_shape = 2
    declared = Trait.SMOOTH | Trait.CONVEX | Trait.CLASSIFICATION

    def value(self, y: Vector, z: Vector) -> Vector:
        with np.errstate(over="ignore"):
            return space(z).exp(-y * z)

    def derivative(self, y: Vector, z: Vector) -> Vector:
        return -y * self.value(y, z)

    def second_derivative(self, y: Vector, z: Vector) -> Vector:
        return self.value(y, z)

    def conjugate(self, y: Vector, u: Vector) -> Vector:
        xp = space(u)
        v = xp.maximum(-u * y, 0.0)
        return xp.xlogy(v, v) - v

    def fenchel_young(self, y: Vector, z: Vector, u: Vector) -> Vector:
        return divergence(-(u * y), self.value(y, z), y * z)

    def domain(self, y: Vector) -> tuple[Vector, Vector]:
        xp = space(y)
        return xp.where(y > 0, -np.inf, 0.0), xp.where(y > 0, 0.0, np.inf)

    def log_odds(self, z: Vector) -> Vector:
        """log P(y = +1)/P(y = −1): the population minimiser is half of it."""
        return 2.0 * z

    def best_constant(self, y: Vector, a: Vector) -> float:
        return 0.5 * log_odds_of_classes(y, a)
