"""hinge: L = (1 − m)₊.   perceptron: L = (−m)₊.   m = y·z is the margin."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dualgap.arrays import Vector
from dualgap.device.spaces import space
from dualgap.losses.base import Loss, Terms, class_weights, column
from dualgap.traits import Trait


class MarginKink(Loss):
    """(target − m)₊: slope −1 until the margin reaches `target`."""

    declared = Trait.PIECEWISE_LINEAR | Trait.CLASSIFICATION | Trait.LEAVES_ROWS_OUT
    target: ClassVar[float]

    def value(self, y: Vector, z: Vector) -> Vector:
        return space(z).maximum(self.target - y * z, 0.0)

    def past_edge(self, y: Vector, z: Vector) -> Vector:
        return self.target - y * z

    def derivative(self, y: Vector, z: Vector) -> Vector:
        return space(z).where(y * z < self.target, -y, 0.0)

    def conjugate(self, y: Vector, u: Vector) -> Vector:
        return self.target * (u * y)

    def fenchel_young(self, y: Vector, z: Vector, u: Vector) -> Vector:
        xp, short, share = space(z), self.target - y * z, -(u * y)
        return xp.abs(short) * xp.where(short > 0, 1.0 - share, share)

    def domain(self, y: Vector) -> tuple[Vector, Vector]:
        xp = space(y)
        return xp.minimum(-y, 0.0), xp.maximum(-y, 0.0)

    def terms(self, y: Vector) -> Terms:
        n = len(y)
        lower, upper = self.domain(y)
        return Terms(column(self.target * y, n), column(lower, n), column(upper, n), 0.0)

    def best_constant(self, y: Vector, a: Vector) -> float:
        plus, minus = class_weights(y, a)
        return self.target * float(np.sign(plus - minus))


@dataclass(frozen=True)
class Hinge(MarginKink):
    """The loss of the support vector machine."""

    name = "hinge"
    target = 1.0


@dataclass(frozen=True)
class Perceptron(MarginKink):
    """Zero at w = 0, so every penalised fit is zero; its use is the perceptron algorithm."""

    name = "perceptron"
    target = 0.0
