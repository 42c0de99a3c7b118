"""logistic: L = log(1 + e^−m), m = y·z."""

from __future__ import annotations

from dataclasses import dataclass

from dualgap.arrays import Vector
from dualgap.device.spaces import space
from dualgap.losses.base import Loss, Terms, column, divergence, log_odds_of_classes
from dualgap.traits import Trait


@dataclass(frozen=True)
class Logistic(Loss):
    """Negative log-likelihood of the logistic model."""

    name = "logistic"
    slope_shape = 1
    declared = Trait.BOUNDED_CURVATURE | Trait.ENTROPIC | Trait.CLASSIFICATION
    curvature = 0.25

    def value(self, y: Vector, z: Vector) -> Vector:
        return space(z).softplus(-y * z)

    def derivative(self, y: Vector, z: Vector) -> Vector:
        away = -y
        return away * space(z).expit(away * z)

    def second_derivative(self, y: Vector, z: Vector) -> Vector:
        xp = space(z)
        e = xp.exp(-xp.abs(z))
        return e / (1.0 + e) ** 2

    def bends(self, y: Vector, z: Vector) -> tuple[Vector, Vector]:
        xp, m = space(z), y * z
        e = xp.exp(-xp.abs(m))
        large = 1.0 / (1.0 + e)
        small = e * large
        return -y * xp.where(m > 0.0, small, large), small * large

    def conjugate(self, y: Vector, u: Vector) -> Vector:
        xp = space(u)
        v = xp.clip(-u * y, 0.0, 1.0)
        return xp.xlogy(v, v) + xp.xlogy(1.0 - v, 1.0 - v)

    def fenchel_young(self, y: Vector, z: Vector, u: Vector) -> Vector:
        # the divergence of two coins; each half is ≥ 0, and one is the other with the sides exchanged
        xp, m, share = space(z), y * z, -(u * y)

        def coin(share: Vector, depth: Vector) -> Vector:
            return divergence(share, xp.expit(-depth), depth)

        return xp.both(coin, (share, m), (1.0 - share, -m))

    def domain(self, y: Vector) -> tuple[Vector, Vector]:
        xp = space(y)
        return xp.minimum(-y, 0.0), xp.maximum(-y, 0.0)

    def terms(self, y: Vector) -> Terms:
        n = len(y)
        lower, upper = self.domain(y)
        return Terms(column(0.0, n), column(lower, n), column(upper, n), 0.0, entropy=1.0)

    def deviance(self, risks: Vector) -> Vector:
        return 2.0 * risks

    def log_odds(self, z: Vector) -> Vector:
        """log P(y = +1)/P(y = −1) given the prediction."""
        return z

    def best_constant(self, y: Vector, a: Vector) -> float:
        return log_odds_of_classes(y, a)
