"""Σ h_j(|w_j|), each rising at first as the l1 norm does, then less and less, then flat: mcp and scad."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from dualgap.arrays import Mask, Vector
from dualgap.errors import DataError
from dualgap.penalties.base import LEAST, LOST, Concave
from dualgap.traits import Trait

EACH = 2.0**-51  # what one more term may cost a sum, in shares of it: two roundings


@dataclass(frozen=True, eq=False)
class Folded(Concave):
    """The slope at |w_j| is l1_j up to start_j, then falls by bend_j a step until it is zero.

    All three zero make a coordinate free.
    """

    l1: Vector
    bend: Vector
    start: Vector

    traits = Trait.NONE

    @property
    def folded(self) -> Folded:
        return self

    @cached_property
    def free(self) -> Mask:
        return np.asarray(self.l1 == 0.0)

    @cached_property
    def flat(self) -> Vector:
        """The size from which on nothing is added."""
        rise = np.divide(self.l1, self.bend, out=np.zeros_like(self.l1), where=self.bend > 0.0)
        return np.asarray(self.start + rise)

    def parts(self, w: Vector) -> Vector:
        """h_j(|w_j|)."""
        size = np.minimum(np.abs(w), self.flat)
        return np.asarray(self.l1 * size - 0.5 * self.bend * np.maximum(size - self.start, 0.0) ** 2)

    def value(self, w: Vector) -> float:
        return float(self.parts(w).sum())

    def doubt(self, w: Vector, value: float) -> float:
        """What is taken away is at most half of what it is taken from."""
        return (LOST + EACH * len(w)) * value + LEAST * (4.0 * len(w) + float(self.bend.sum()))

    def substituted(self, factor: Vector) -> Folded:
        f = np.abs(factor)
        return Folded(self.l1 * f, self.bend * f * f, self.start / f)

    def extended(self) -> Folded:
        return Folded(*(np.append(part, 0.0) for part in (self.l1, self.bend, self.start)))

    def restricted(self, keep: Mask) -> Folded:
        return replace(self, l1=self.l1[keep], bend=self.bend[keep], start=self.start[keep])

    def tangent(self, w: Vector, smoothing: float) -> Vector:
        beyond = np.maximum(np.abs(w) + smoothing - self.start, 0.0)
        return np.maximum(self.l1 - self.bend * beyond, 0.0)

    def chord(self, reach: float) -> Vector:
        """Through the size at which one coordinate alone has used all up; none where it never has."""
        top = self.l1 * self.flat - 0.5 * self.bend * (self.flat - self.start) ** 2
        over = np.clip(reach - self.l1 * self.start, 0.0, None)
        with np.errstate(divide="ignore", invalid="ignore"):
            root = np.sqrt(np.maximum(self.l1 * self.l1 - 2.0 * self.bend * over, 0.0))
            far = self.start + 2.0 * over / (self.l1 + root)
            slope = np.where(over > 0.0, reach / far, self.l1)
        return np.where((reach < top) & ~self.free, slope, 0.0)

    def shrink(self, w: Vector, radius: float) -> Vector:
        raise DataError("mcp and scad have λ inside: give lam= or C=, not budget=.")

    def penalised_scale(self, v: Vector, strength: float) -> float:
        return 0.0 if np.any(v[~self.free] != 0.0) else 1.0

    def penalised_conjugate(self, v: Vector, strength: float) -> float:
        return 0.0

    def support(self, v: Vector, radius: float) -> float:
        return np.inf if np.any(v[~self.free] != 0.0) else 0.0

    def smallest_strength_at_zero(self, v: Vector) -> float:
        seen = ~self.free & (v != 0.0)
        return float(np.max(np.abs(v[seen]) / self.l1[seen], initial=0.0))
