"""tweedie(p): L = e^((2−p)z)/(2−p) + y e^(−(p−1)z)/(p−1) − y^(2−p)/((p−1)(2−p)), 1 < p < 2."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dualgap.arrays import Vector
from dualgap.errors import DataError
from dualgap.losses.base import FAINT, LOST
from dualgap.losses.half_deviance import HalfDeviance, between

NEAR = 1.0  # beyond it e^x − 1 − x loses two bits to its difference, up to it a series has all of them
TERMS = 20  # of the series, at |x| = 1: the next is 1e-20 of the first
STEPS = 60  # of Newton: 8 were the most for p = 1.01, 1.5 and 1.99, and slopes of 1e-12 to 1e12


@dataclass(frozen=True)
class Tweedie(HalfDeviance):
    """Half the deviance of amounts that are often exactly 0, such as claims: the mean is e^z.

    With α = p − 1 and β = 2 − p, which no float rounds, L′ = e^(βz) − y e^(−αz). The conjugate has no
    formula, but where u = L′(ζ) the Fenchel–Young term is the Bregman distance of z from ζ,

        e^(βζ) φ(β(z − ζ))/β + y e^(−αζ) φ(−α(z − ζ))/α,    φ(x) = e^x − 1 − x,

    and at a ζ that misses u by δ it is at most that plus δ times the distance of z from the true one.
    """

    p: float = 1.5
    name = "tweedie"
    dispersed = True
    needs = "targets of at least 0"
    anywhere = False

    def __post_init__(self) -> None:
        if not 1.0 < self.p < 2.0:
            raise DataError(
                f"tweedie(p) needs p strictly between 1 and 2, not {self.p!r}; "
                'p = 1 is loss="poisson", p = 2 is loss="gamma".'
            )

    @property
    def power(self) -> float:
        return self.p

    @property
    def _powers(self) -> tuple[float, float]:
        return self.p - 1.0, 2.0 - self.p

    def _parts(self, y: Vector, z: Vector) -> tuple[Vector, Vector]:
        """e^(βz) and y e^(−αz), each known to 4 + |z| roundings of itself."""
        alpha, beta = self._powers
        with np.errstate(over="ignore", invalid="ignore"):
            falling = np.exp(-alpha * z) * y
            return np.exp(beta * z), np.where(y > 0.0, falling, 0.0)

    def _doubt(self, y: Vector, z: Vector) -> Vector:
        """What a value may be off by: z − log y is known to roundings of both, and so is every power."""
        alpha, beta = self._powers
        rising, falling = self._parts(y, z)
        known = LOST * (1.0 + np.abs(z) + np.abs(np.log(np.where(y > 0.0, y, 1.0))))
        with np.errstate(invalid="ignore", over="ignore"):
            found = known * (np.abs(rising - falling) + known * (rising + falling) / (alpha * beta))
        return np.where(found < np.inf, found, np.inf)

    def value(self, y: Vector, z: Vector) -> Vector:
        beta = self._powers[1]
        some = y > 0.0
        base = np.where(some, y, 1.0)
        with np.errstate(over="ignore", invalid="ignore"):
            bowl = base**beta * _bowl(z - np.log(base), 1.0, 1.0, self._powers)
            found = np.where(some, bowl, np.exp(beta * z) / beta)
            return np.asarray(found + self._doubt(y, z))

    def derivative(self, y: Vector, z: Vector) -> Vector:
        rising, falling = self._parts(y, z)
        with np.errstate(invalid="ignore"):
            return np.asarray(rising - falling)

    def second_derivative(self, y: Vector, z: Vector) -> Vector:
        alpha, beta = self._powers
        rising, falling = self._parts(y, z)
        return beta * rising + alpha * falling

    def bends(self, y: Vector, z: Vector) -> tuple[Vector, Vector]:
        alpha, beta = self._powers
        rising, falling = self._parts(y, z)
        with np.errstate(invalid="ignore"):
            return np.asarray(rising - falling), beta * rising + alpha * falling

    def conjugate(self, y: Vector, u: Vector) -> Vector:
        with np.errstate(all="ignore"):
            zeta = self._point(y, u)
        return u * zeta - self.value(y, zeta)

    def fenchel_young(self, y: Vector, z: Vector, u: Vector) -> Vector:
        with np.errstate(all="ignore"):
            found = np.where(y > 0.0, self._bregman(y, z, u), self._at_zero(z, u))
            return np.asarray(found + 2.0 * self._doubt(y, z))

    def _bregman(self, y: Vector, z: Vector, u: Vector) -> Vector:
        alpha, beta = self._powers
        zeta = self._point(y, u)
        rising, falling = self._parts(y, zeta)
        x, known = z - zeta, LOST * (1.0 + np.abs(zeta))
        missed = np.abs((rising - falling) - u) + known * (rising + falling)
        reach = 2.5 * missed / (beta * rising + alpha * falling)  # of the true ζ, where it is below ½
        distance = _bowl(x, rising, falling, self._powers)
        found = distance * (1.0 + known + LOST * np.abs(x)) + missed * (np.abs(x) + reach)
        return np.where((reach <= 0.5) & (found < np.inf), found, np.inf)

    def _at_zero(self, z: Vector, u: Vector) -> Vector:
        """For y = 0, where u = e^(βζ): the divergence of e^(βζ) from e^(βz)."""
        beta = self._powers[1]
        model = np.exp(beta * z)
        return np.asarray((between(u, model, -beta * z) + LOST * np.abs(z) * np.abs(model - u)) / beta)

    def _point(self, y: Vector, u: Vector) -> Vector:
        """ζ with L′(ζ) = u, nearly: log y + x, where e^(βx) − e^(−αx) = u/y^β; for y = 0 log(u)/β."""
        alpha, beta = self._powers
        some = y > 0.0
        base = np.where(some, y, 1.0)
        wanted = np.where(some, u / base**beta, 0.0)
        up = wanted >= 0.0
        x = _rising(np.abs(wanted), np.where(up, alpha, beta), np.where(up, beta, alpha))
        zeta = np.where(some, np.log(base) + np.where(up, x, -x), np.log(np.maximum(u, FAINT)) / beta)
        rising, falling = self._parts(y, zeta)  # once more, for what log y was rounded by
        return np.asarray(zeta - (rising - falling - u) / (beta * rising + alpha * falling))

    def domain(self, y: Vector) -> tuple[Vector, Vector]:
        return np.where(y > 0.0, -np.inf, 0.0), np.full(len(y), np.inf)

    def falls_towards(self, y: Vector) -> Vector:
        return np.where(y > 0.0, 0.0, -1.0)


def _bowl(x: Vector, rising: Vector | float, falling: Vector | float, powers: tuple[float, float]) -> Vector:
    """rising·φ(βx)/β + falling·φ(−αx)/α."""
    alpha, beta = powers
    return np.asarray(rising * _above_line(beta * x) / beta + falling * _above_line(-alpha * x) / alpha)


def _above_line(x: Vector) -> Vector:
    """φ(x) = e^x − 1 − x, to a few roundings of itself."""
    near = np.clip(x, -NEAR, NEAR)
    series = np.ones_like(near)
    for k in range(TERMS, 2, -1):
        series = 1.0 + series * near / k
    return np.where(np.abs(x) <= NEAR, 0.5 * near * near * series, np.expm1(x) - x)


def _rising(s: Vector, alpha: Vector, beta: Vector) -> Vector:
    """x ≥ 0 with e^(βx) − e^(−αx) = s ≥ 0: Newton on βx − log(s + e^(−αx)), which rises, bends down and is
    below 0 at 0, so that no step goes beyond the root.
    """
    x = np.zeros_like(s)
    for _ in range(STEPS):
        fallen = np.expm1(-alpha * x)
        step = (np.log1p(s + fallen) - beta * x) / (beta + alpha * (1.0 + fallen) / (1.0 + s + fallen))
        x = x + step
        if not np.any(np.abs(step) > 1e-15 * x):  # a rounding or four
            break
    return x
