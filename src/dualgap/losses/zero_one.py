"""zero_one: L = 1 where m ≤ 0, else 0; m = y·z is the margin, and a row on the plane is an error."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dualgap.arrays import Vector
from dualgap.losses.base import Loss, class_weights
from dualgap.traits import Trait


@dataclass(frozen=True)
class ZeroOne(Loss):
    """The share of rows on the wrong side. Not convex; minimising it is NP-hard.

    The conjugate is that of the constant 0, the largest convex function below it.
    """

    name = "zero_one"
    declared = Trait.CLASSIFICATION

    def value(self, y: Vector, z: Vector) -> Vector:
        return np.asarray(y * z <= 0.0, dtype=np.float64)

    def derivative(self, y: Vector, z: Vector) -> Vector:
        return np.zeros(len(y))

    def conjugate(self, y: Vector, u: Vector) -> Vector:
        return np.zeros(len(y))

    def domain(self, y: Vector) -> tuple[Vector, Vector]:
        return np.zeros(len(y)), np.zeros(len(y))

    def best_constant(self, y: Vector, a: Vector) -> float:
        plus, minus = class_weights(y, a)
        return 1.0 if plus >= minus else -1.0
