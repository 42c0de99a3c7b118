"""sigmoid(s): L = 1 / (1 + e^(s·m)), m = y·z. The S-shaped stand-in for the zero_one loss."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from dualgap.arrays import Vector, positive
from dualgap.losses.base import class_weights
from dualgap.losses.zero_one import ZeroOne
from dualgap.traits import Trait


@dataclass(frozen=True)
class Sigmoid(ZeroOne):
    """Smooth, between 0 and 1, not convex; tends to zero_one as s grows, and is never below half of it.

    The conjugate is that of the constant 0, as of zero_one: the largest convex function below it.
    """

    steepness: float = 4.0
    name = "sigmoid"
    declared = Trait.BOUNDED_CURVATURE | Trait.CLASSIFICATION

    def __post_init__(self) -> None:
        positive("The s of sigmoid(s)", self.steepness)

    @property
    def curvature(self) -> float:
        return float(self.steepness**2 / (6.0 * np.sqrt(3.0)))

    def value(self, y: Vector, z: Vector) -> Vector:
        return np.asarray(expit(-self.steepness * y * z))

    def derivative(self, y: Vector, z: Vector) -> Vector:
        q = expit(-self.steepness * y * z)
        return np.asarray(-self.steepness * y * q * (1.0 - q))

    def second_derivative(self, y: Vector, z: Vector) -> Vector:
        q = expit(-self.steepness * y * z)
        return np.asarray(self.steepness**2 * q * (1.0 - q) * (1.0 - 2.0 * q))

    def best_constant(self, y: Vector, a: Vector) -> float:
        """The infimum lies at ±∞; far enough that the smaller class is all that is left."""
        plus, minus = class_weights(y, a)
        return float(np.copysign(40.0 / self.steepness, plus - minus))
