"""epsilon_insensitive(ε): L = (|r| − ε)₊.   squared_epsilon_insensitive(ε): L = (|r| − ε)₊²."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from dualgap.arrays import Vector
from dualgap.device.spaces import space
from dualgap.errors import DataError
from dualgap.losses.base import Loss, Terms, pair, weighted_quantile
from dualgap.traits import Trait


@dataclass(frozen=True)
class EpsilonInsensitive(Loss):
    """The loss of support vector regression: errors inside the tube are free."""

    epsilon: float = 0.1
    name = "epsilon_insensitive"
    declared = Trait.PIECEWISE_LINEAR | Trait.LEAVES_ROWS_OUT
    degree = 1
    translates = True
    softness: ClassVar[float] = 0.0

    def __post_init__(self) -> None:
        if not (np.isfinite(self.epsilon) and self.epsilon >= 0):
            raise DataError(f"epsilon must be a finite number of at least 0, not {self.epsilon!r}.")

    def value(self, y: Vector, z: Vector) -> Vector:
        xp = space(z)
        return xp.maximum(xp.abs(z - y) - self.epsilon, 0.0)

    def past_edge(self, y: Vector, z: Vector) -> Vector:
        return space(z).abs(z - y) - self.epsilon

    def derivative(self, y: Vector, z: Vector) -> Vector:
        xp, r = space(z), z - y
        return xp.where(r > self.epsilon, 1.0, xp.where(r < -self.epsilon, -1.0, 0.0))

    def conjugate(self, y: Vector, u: Vector) -> Vector:
        return u * y + self.epsilon * space(u).abs(u)

    def fenchel_young(self, y: Vector, z: Vector, u: Vector) -> Vector:
        xp, r = space(z), z - y
        near, one = xp.clip(r, -self.epsilon, self.epsilon), xp.ones_like(r)
        beyond = xp.abs(r - near) * (1.0 - xp.copysign(one, r) * u)
        return beyond + xp.abs(u) * (self.epsilon - xp.copysign(one, u) * near)

    def domain(self, y: Vector) -> tuple[Vector, Vector]:
        xp = space(y)
        return xp.full_like(y, -1.0), xp.full_like(y, 1.0)

    def terms(self, y: Vector) -> Terms:
        zero, (lower, upper) = np.zeros(len(y)), self.domain(y)
        kink = pair(y - self.epsilon, y + self.epsilon)
        return Terms(kink, pair(lower, zero), pair(zero, upper), self.softness)

    def rescaled(self, unit: float) -> Loss:
        return replace(self, epsilon=self.epsilon / unit)

    def best_constant(self, y: Vector, a: Vector) -> float:
        """The median of the kinks, at each of which the slope rises by a."""
        kinks = np.concatenate((y - self.epsilon, y + self.epsilon))
        return weighted_quantile(kinks, np.concatenate((a, a)), 0.5)


@dataclass(frozen=True)
class SquaredEpsilonInsensitive(EpsilonInsensitive):
    """The tube with a square outside it: smooth."""

    name = "squared_epsilon_insensitive"
    declared = Trait.PIECEWISE_QUADRATIC | Trait.BOUNDED_CURVATURE | Trait.LEAVES_ROWS_OUT
    degree = 2
    softness = 0.5
    curvature = 2.0
    best_constant = Loss.best_constant

    def value(self, y: Vector, z: Vector) -> Vector:
        return super().value(y, z) ** 2

    def derivative(self, y: Vector, z: Vector) -> Vector:
        r = z - y
        return 2.0 * (r - space(r).clip(r, -self.epsilon, self.epsilon))

    def second_derivative(self, y: Vector, z: Vector) -> Vector:
        xp = space(z)
        return xp.where(xp.abs(z - y) >= self.epsilon, 2.0, 0.0)

    def conjugate(self, y: Vector, u: Vector) -> Vector:
        return u * (y + 0.25 * u) + self.epsilon * space(u).abs(u)

    def fenchel_young(self, y: Vector, z: Vector, u: Vector) -> Vector:
        xp, r = space(z), z - y
        near = xp.clip(r, -self.epsilon, self.epsilon)
        miss = (r - near) - 0.5 * u
        return miss * miss + xp.abs(u) * (self.epsilon - xp.copysign(xp.ones_like(u), u) * near)

    def domain(self, y: Vector) -> tuple[Vector, Vector]:
        xp = space(y)
        return xp.full_like(y, -np.inf), xp.full_like(y, np.inf)
