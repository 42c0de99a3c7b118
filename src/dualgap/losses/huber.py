"""huber(δ): L = r² for |r| ≤ δ, else 2δ|r| − δ², with r = z − y."""

from __future__ import annotations

from dataclasses import dataclass

from dualgap.arrays import Vector, positive
from dualgap.device.spaces import space
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
        xp = space(z)
        size = xp.abs(z - y)
        near = xp.minimum(size, self.delta)
        return near * (2.0 * size - near)

    def derivative(self, y: Vector, z: Vector) -> Vector:
        return 2.0 * space(z).clip(z - y, -self.delta, self.delta)

    def second_derivative(self, y: Vector, z: Vector) -> Vector:
        xp = space(z)
        return xp.where(xp.abs(z - y) <= self.delta, 2.0, 0.0)

    def conjugate(self, y: Vector, u: Vector) -> Vector:
        return u * (y + 0.25 * u)

    def fenchel_young(self, y: Vector, z: Vector, u: Vector) -> Vector:
        xp, r = space(z), z - y
        near = xp.clip(r, -self.delta, self.delta)
        miss = near - 0.5 * u
        along = xp.copysign(xp.ones_like(r), r) * u
        return miss * miss + xp.abs(r - near) * (2.0 * self.delta - along)

    def domain(self, y: Vector) -> tuple[Vector, Vector]:
        edge = space(y).full_like(y, 2.0 * self.delta)
        return -edge, edge

    def terms(self, y: Vector) -> Terms:
        n, edge = len(y), 2.0 * self.delta
        return Terms(column(y, n), column(-edge, n), column(edge, n), 0.5)

    def rescaled(self, unit: float) -> Loss:
        return Huber(self.delta / unit)
