"""squared: L = (z − y)². Least squares, without the ½."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dualgap.arrays import Vector
from dualgap.device.spaces import space
from dualgap.losses.base import Loss, Terms, column
from dualgap.traits import Trait


@dataclass(frozen=True)
class Squared(Loss):
    """Squared error; the mean is its best constant."""

    name = "squared"
    declared = Trait.QUADRATIC
    degree = 2
    translates = True
    dispersed = True
    curvature = 2.0

    def value(self, y: Vector, z: Vector) -> Vector:
        r = z - y
        return r * r

    def derivative(self, y: Vector, z: Vector) -> Vector:
        return 2.0 * (z - y)

    def second_derivative(self, y: Vector, z: Vector) -> Vector:
        return space(z).full_like(z, 2.0)

    def conjugate(self, y: Vector, u: Vector) -> Vector:
        return u * (y + 0.25 * u)

    def fenchel_young(self, y: Vector, z: Vector, u: Vector) -> Vector:
        miss = (z - y) - 0.5 * u
        return miss * miss

    def domain(self, y: Vector) -> tuple[Vector, Vector]:
        xp = space(y)
        return xp.full_like(y, -np.inf), xp.full_like(y, np.inf)

    def terms(self, y: Vector) -> Terms:
        n = len(y)
        return Terms(column(y, n), column(-np.inf, n), column(np.inf, n), 0.5)

    def deviance(self, risks: Vector) -> Vector:
        return np.asarray(np.log(2.0 * np.pi * risks) + 1.0)  # normal noise

    def best_constant(self, y: Vector, a: Vector) -> float:
        return float(a @ y) / float(a.sum())
