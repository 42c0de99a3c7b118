"""What losses of means share: half the deviance of a target y whose mean is a function of z.

Each is 0 where the mean is y, and so is its conjugate at slope 0. Where y and the mean are large and nearly
equal, their distance is known to the roundings of the two alone: values are from above, and Fenchel–Young
terms carry twice what they may be too large by, so that a bound made of both stays one.
"""

from __future__ import annotations

import numpy as np

from dualgap.arrays import Vector
from dualgap.device.spaces import space
from dualgap.losses.base import LOST, Loss, divergence
from dualgap.traits import Trait


class HalfDeviance(Loss):
    """L(y, z) with its minimum 0 at `linked`(y), which is infinite where y is at an end of its range."""

    declared = Trait.SMOOTH | Trait.CONVEX | Trait.MEANS
    lowest = 0.0
    link = "log"

    def mean(self, z: Vector) -> Vector:
        with np.errstate(over="ignore"):
            return space(z).exp(z)

    def linked(self, y: Vector) -> Vector:
        """The z whose mean is y."""
        with np.errstate(divide="ignore"):
            return space(y).log(y)

    def conjugate(self, y: Vector, u: Vector) -> Vector:
        z, xp = self.linked(y), space(y)
        z = xp.where(xp.isfinite(z), z, 0.0)
        return self.fenchel_young(y, z, u) + u * z - self.value(y, z)

    def best_constant(self, y: Vector, a: Vector) -> float:
        # a sum that rounds to nothing has no logarithm
        mean = max(float(a @ y / a.sum()), float(np.finfo(np.float64).tiny))
        return float(self.linked(np.array([mean]))[0])


def between(share: Vector, model: Vector, depth: Vector) -> Vector:
    """`divergence`, from above also where share and model agree to all their digits."""
    xp = space(model)
    return divergence(xp.broadcast_to(share, model.shape), model, depth) + LOST * LOST * model


def doubt(move: Vector, model: Vector) -> Vector:
    """Twice what `between` may be too large by: `move` is share − model."""
    return 2.0 * LOST * (space(move).abs(move) + LOST * model)
