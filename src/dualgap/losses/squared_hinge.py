"""squared_hinge: L = (1 − m)₊², m = y·z."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dualgap.arrays import Vector
from dualgap.device.spaces import space
from dualgap.losses.base import Loss, Terms, class_weights, column
from dualgap.traits import Trait


@dataclass(frozen=True)
class SquaredHinge(Loss):
    """The smooth support vector machine."""

    name = "squared_hinge"
    declared = (
        Trait.PIECEWISE_QUADRATIC | Trait.BOUNDED_CURVATURE | Trait.CLASSIFICATION | Trait.LEAVES_ROWS_OUT
    )
    curvature = 2.0

    def value(self, y: Vector, z: Vector) -> Vector:
        short = space(z).maximum(1.0 - y * z, 0.0)
        return short * short

    def past_edge(self, y: Vector, z: Vector) -> Vector:
        return 1.0 - y * z

    def derivative(self, y: Vector, z: Vector) -> Vector:
        return -2.0 * y * space(z).maximum(1.0 - y * z, 0.0)

    def second_derivative(self, y: Vector, z: Vector) -> Vector:
        return space(z).where(y * z <= 1.0, 2.0, 0.0)

    def conjugate(self, y: Vector, u: Vector) -> Vector:
        v = u * y
        return v * (1.0 + 0.25 * v)

    def fenchel_young(self, y: Vector, z: Vector, u: Vector) -> Vector:
        xp, short, half = space(z), 1.0 - y * z, -0.5 * (u * y)
        miss = xp.maximum(short, 0.0) - half
        return miss * miss + 2.0 * half * xp.maximum(-short, 0.0)

    def domain(self, y: Vector) -> tuple[Vector, Vector]:
        xp = space(y)
        return xp.where(y > 0, -np.inf, 0.0), xp.where(y > 0, 0.0, np.inf)

    def terms(self, y: Vector) -> Terms:
        n = len(y)
        lower, upper = self.domain(y)
        return Terms(column(y, n), column(lower, n), column(upper, n), 0.5)

    def best_constant(self, y: Vector, a: Vector) -> float:
        plus, minus = class_weights(y, a)
        return (plus - minus) / (plus + minus)
