"""absolute: L = |z − y|.   quantile(q): L = q (y − z)₊ + (1 − q)(z − y)₊."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dualgap.arrays import Vector
from dualgap.device.spaces import space
from dualgap.errors import DataError
from dualgap.losses.base import Loss, Terms, column, weighted_quantile
from dualgap.traits import Trait


class Pinball(Loss):
    """One kink at z = y with slope `left` below and `right` above."""

    declared = Trait.PIECEWISE_LINEAR
    degree = 1
    translates = True

    @property
    def slopes(self) -> tuple[float, float]:
        """The slopes below and above the kink."""
        raise NotImplementedError

    def value(self, y: Vector, z: Vector) -> Vector:
        left, right = self.slopes
        r = z - y
        return space(z).maximum(left * r, right * r)

    def derivative(self, y: Vector, z: Vector) -> Vector:
        left, right = self.slopes
        xp, r = space(z), z - y
        return xp.where(r > 0, right, xp.where(r < 0, left, 0.0))

    def conjugate(self, y: Vector, u: Vector) -> Vector:
        return u * y

    def fenchel_young(self, y: Vector, z: Vector, u: Vector) -> Vector:
        left, right = self.slopes
        xp, r = space(z), z - y
        return xp.abs(r) * xp.where(r > 0, right - u, u - left)

    def domain(self, y: Vector) -> tuple[Vector, Vector]:
        xp, (left, right) = space(y), self.slopes
        return xp.full_like(y, left), xp.full_like(y, right)

    def terms(self, y: Vector) -> Terms:
        n, (left, right) = len(y), self.slopes
        return Terms(column(y, n), column(left, n), column(right, n), 0.0)

    def deviance(self, risks: Vector) -> Vector:
        left, right = np.abs(self.slopes)  # Laplace noise
        return np.asarray(2.0 * (np.log(risks * (1.0 / left + 1.0 / right)) + 1.0))

    def best_constant(self, y: Vector, a: Vector) -> float:
        left, right = self.slopes
        return weighted_quantile(y, a, -left / (right - left))


@dataclass(frozen=True)
class Absolute(Pinball):
    """Absolute error (LAD); the median is its best constant."""

    name = "absolute"

    @property
    def slopes(self) -> tuple[float, float]:
        return -1.0, 1.0


@dataclass(frozen=True)
class Quantile(Pinball):
    """Check loss of quantile regression; q = ½ is half the absolute error."""

    q: float = 0.5
    name = "quantile"

    def __post_init__(self) -> None:
        if not 0.0 < self.q < 1.0:
            raise DataError(f"quantile(q) needs q strictly between 0 and 1, not {self.q!r}.")

    @property
    def slopes(self) -> tuple[float, float]:
        return -self.q, 1.0 - self.q
