"""huber(δ): L = r² for |r| ≤ δ, else 2δ|r| − δ², with r = z − y."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dualgap.arrays import Vector, positive
from dualgap.losses.base import Loss, Terms, column
from dualgap.traits import Trait


@dataclass(frozen=True)
class Huber(Loss):
    """Squared near zero, absolute far away; δ is in the units of y."""

    delta: float = 1.35
    name = "huber"
    declared = Trait.PIECEWISE_QUADRATIC | Trait.BOUNDED_CURVATURE
    degree = 2
    translates = True
    curvature = 2.0

    def __post_init__(self) -> None:
        positive("The delta of huber(delta)", self.delta)

    def value(self, y: Vector, z: Vector) -> Vector:
        size = np.abs(z - y)
        near = np.minimum(size, self.delta)
        return near * (2.0 * size - near)

    def derivative(self, y: Vector, z: Vector) -> Vector:
        return 2.0 * np.clip(z - y, -self.delta, self.delta)

    def second_derivative(self, y: Vector, z: Vector) -> Vector:
        return np.where(np.abs(z - y) <= self.delta, 2.0, 0.0)

    def conjugate(self, y: Vector, u: Vector) -> Vector:
        return u * (y + 0.25 * u)

    def fenchel_young(self, y: Vector, z: Vector, u: Vector) -> Vector:
        r = z - y
        near = np.clip(r, -self.delta, self.delta)
        miss = near - 0.5 * u
        return miss * miss + np.abs(r - near) * (2.0 * self.delta - np.copysign(1.0, r) * u)

    def domain(self, y: Vector) -> tuple[Vector, Vector]:
        edge = np.full(len(y), 2.0 * self.delta)
        return -edge, edge

    def terms(self, y: Vector) -> Terms:
        n, edge = len(y), 2.0 * self.delta
        return Terms(column(y, n), column(-edge, n), column(edge, n), 0.5)

    def rescaled(self, unit: float) -> Loss:
        return Huber(self.delta / unit)
