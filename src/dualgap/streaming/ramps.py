"""Losses of straight pieces with their kinks rounded off: smooth, and with slopes that are dual points of the
kinked loss all the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar

import numpy as np

from dualgap.arrays import Vector
from dualgap.device.spaces import space
from dualgap.traits import Trait


@dataclass(frozen=True, eq=False)
class KinkTable:
    """Terms of the loss: kink and bounds by label, or about y."""

    kink: Any
    lo: Any
    up: Any
    labels: bool

    @classmethod
    @cache  # one table for equal losses: formulas are told apart by it
    def of(cls, loss: Any) -> KinkTable:
        """That of a loss."""
        labels = Trait.CLASSIFICATION in loss.traits
        terms = loss.terms(np.array([1.0, -1.0]) if labels else np.zeros(1))
        return cls(np.sort(terms.kink, axis=1), terms.lower, terms.upper, labels)

    @property
    def count(self) -> int:
        """Kinks of a row."""
        return int(self.kink.shape[1])

    def term(self, y: Any, k: int) -> tuple[Any, Any, Any]:
        """Kink, lower and upper slope of term k, row by row, or numbers where all rows have the same."""
        xp, parts = space(y), []
        for table in (self.kink, self.lo, self.up):
            one, other = float(table[0, k]), float(table[-1, k])
            parts.append(one if one == other else xp.where(y > 0.0, one, other))
        kink, lo, up = parts
        return (kink if self.labels else y + kink), lo, up

    def away(self, y: Any, z: Any) -> Any:
        """How far the nearest kink of each row is."""
        found = None
        for k in range(self.count):
            one = abs(z - self.term(y, k)[0])
            found = one if found is None else space(z).minimum(found, one)
        return found

    def pieces(self, y: Any, z: Any, width: float) -> Any:
        """The slope of each row but for its kinks within the width, which count nothing."""
        xp, total = space(z), None
        for k in range(self.count):
            kink, lo, up = self.term(y, k)
            r = z - kink
            slope = xp.where(abs(r) <= width, 0.0, xp.where(r > 0.0, up, lo))
            total = slope if total is None else total + slope
        return total

    def groups(self) -> Vector:
        """The slope of each piece, by its number; by label too where there are any."""
        found = []
        for j in range(self.count + 1):
            for row in (1, 0) if self.labels else (0,):  # the label −1 comes first
                found.append(self.up[row, :j].sum() + self.lo[row, j:].sum())
        return np.array(found)


@dataclass(frozen=True)
class RampFamily:
    """Rounded losses of any width: formulas of them are written down once."""

    kinks: KinkTable

    def at(self, width: Any) -> Ramped:
        """The one of a width."""
        return Ramped(self.kinks, width)


@dataclass(frozen=True)
class RampSlopes:
    """Slopes of the rounded loss, its width a number of its own."""

    kinks: KinkTable

    def __call__(self, y: Any, t: Any, width: Any) -> Any:
        return Ramped(self.kinks, width).derivative(y, t)


@dataclass(frozen=True)
class OuterSlopes:
    """Slopes of the pieces; nothing within a width of a kink."""

    kinks: KinkTable

    def __call__(self, y: Any, t: Any, width: Any) -> Any:
        return self.kinks.pieces(y, t, width)


@dataclass(frozen=True)
class GivenSlopes:
    """Slopes that are known beforehand."""

    def __call__(self, y: Any, t: Any, u: Any) -> Any:
        return u


@dataclass(frozen=True, eq=False)
class Ramped:
    """Σ_k ∫ clip(mid + half·(z − kink)/width, lower, upper): equal to the loss off its ramps."""

    kinks: KinkTable
    width: float
    translates: ClassVar[bool] = False
    traits: ClassVar[Trait] = Trait.SMOOTH

    @property
    def family(self) -> RampFamily:
        """What it is but for its width, and"""
        return RampFamily(self.kinks)

    @property
    def numbers(self) -> tuple[float, ...]:
        """that."""
        return (self.width,)

    def _terms(self, y: Any, z: Any) -> list[tuple[Any, Any, Any]]:
        """Distance, mean and half of the jump of every kink."""
        found = []
        for k in range(self.kinks.count):
            kink, lo, up = self.kinks.term(y, k)
            found.append((z - kink, 0.5 * (up + lo), 0.5 * (up - lo)))
        return found

    def value(self, y: Any, z: Any) -> Any:
        """The rounded loss."""
        xp, tau = space(z), self.width
        total: Any = 0.0
        for r, mid, half in self._terms(y, z):
            size = abs(r)
            total = total + mid * r + half * xp.where(size < tau, r * r / (2.0 * tau) + 0.5 * tau, size)
        return total

    def derivative(self, y: Any, z: Any) -> Any:
        """Its slope, which is between the bounds of the kink's."""
        total: Any = 0.0
        for r, mid, half in self._terms(y, z):
            total = total + mid + half * space(z).clip(r / self.width, -1.0, 1.0)
        return total

    def second_derivative(self, y: Any, z: Any) -> Any:
        """Its curvature, on the ramps alone."""
        total: Any = 0.0
        for r, _, half in self._terms(y, z):
            total = total + space(z).where(abs(r) < self.width, half / self.width, 0.0)
        return total
