"""low ≤ w ≤ high, coordinate by coordinate: what bounds make of Fenchel and Young's inequality."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from dualgap.arrays import Mask, Vector

ROUNDED = 2.0**-50  # eight roundings: of a slope v − l1 − 2 l2 w, made of four numbers, beside their sizes


STEPS = (0.0, 1e-16, 4e-16, 1e-15, 1e-14, 1e-13, 1e-11, 1e-8)  # back from the edge of a ball
TOUCHED = 1e-9  # of the largest weight: so near to an end a multiplier belongs to it, and pays for the rest


@dataclass(frozen=True, eq=False)
class WeightBounds:
    """Ends may be infinite; a coordinate whose ends meet is fixed."""

    low: Vector
    high: Vector

    @property
    def open_(self) -> Mask:
        """Coordinates without any end."""
        return np.asarray(np.isinf(self.low) & np.isinf(self.high))

    @property
    def nearest(self) -> Vector:
        """The point nearest to zero: every penalty is least there."""
        return self.clip(np.zeros_like(self.low))

    def clip(self, w: Vector) -> Vector:
        """The nearest point inside; w itself, and not a copy, where it is there."""
        inside = np.minimum(np.maximum(w, self.low), self.high)
        return w if np.array_equal(inside, w) else np.asarray(inside)

    def drawn(self, w: Vector, free: Mask, fine: Callable[[Vector], bool]) -> Vector:
        """w clipped, then drawn towards the least point of the box until it is fine; what is free stays."""
        w = self.clip(w)
        if fine(w):
            return w
        least = np.where(free, w, self.nearest)
        low, high = 0.0, 1.0  # shares of the way from the least point
        for _ in range(60):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if fine(least + middle * (w - least)) else (low, middle)
        for step in STEPS:
            found = self.clip(least + low * (1.0 - step) * (w - least))
            if fine(found):
                return found
        return least

    def touched(self, w: Vector) -> tuple[Mask, Mask]:
        """Which weights are at a lower, and which at an upper end, or so near that it costs nothing much."""
        near = TOUCHED * float(np.abs(w).max(initial=0.0))
        return np.asarray(w - self.low <= near), np.asarray(self.high - w <= near)

    def holds(self, w: Vector) -> bool:
        """Is w inside, to the last bit?"""
        return bool(np.all((w >= self.low) & (w <= self.high)))

    def substituted(self, factor: Vector) -> WeightBounds:
        """The box of u, w = factor ∘ u, factor > 0."""
        return WeightBounds(self.low / factor, self.high / factor)

    def restricted(self, keep: Mask) -> WeightBounds:
        """Some of the coordinates."""
        return WeightBounds(self.low[keep], self.high[keep])


class Bracket(NamedTuple):
    """g(w) + g*(v) − w·v from above; by what share v is too long; what of v no price holds, by coordinate."""

    value: float
    excess: float
    pull: Vector | None


def bracket(w: Vector, v: Vector, reach: Vector, prices: tuple[Vector, Vector], box: WeightBounds) -> Bracket:
    """Σ l1|w| + l2 w² within the box, `prices` being l1 and l2; for every v within `reach`.

    By the slopes of v·x − l1|x| − l2 x², summed from w to the point where they vanish: no large terms cancel.
    Towards an infinite end a v beyond the price is cut off there, and `excess` or, where there is no price,
    `pull` says by how much.
    """
    l1, l2 = prices
    reach = reach + ROUNDED * (np.abs(v) + l1 + 2.0 * l2 * np.abs(w))
    up, cut, more = _cut(v + reach, l1, l2, box.high)
    down, fell, less = _cut(reach - v, l1, l2, -box.low)
    value = np.maximum(_rise(w, up, l1, l2, box.high), _rise(-w, down, l1, l2, -box.low))
    against = np.where(w < 0.0, cut, np.where(w > 0.0, fell, 0.0)) * np.abs(w)
    pull = np.where((l1 == 0.0) & (l2 == 0.0), np.maximum(cut, fell), 0.0)
    return Bracket(float((value + against).sum()), max(more, less), pull)


def _cut(v: Vector, l1: Vector, l2: Vector, high: Vector) -> tuple[Vector, Vector, float]:
    """v, at most the price where nothing else ends the way up; what was cut off, and its share of prices."""
    endless = np.isinf(high) & (l2 == 0.0)
    cut = np.where(endless, np.maximum(v - l1, 0.0), 0.0)
    priced = (l1 > 0.0) & (cut > 0.0)
    share = float((cut[priced] / l1[priced]).max(initial=0.0))
    return np.where(cut > 0.0, l1, v), cut, share


def _rise(w: Vector, v: Vector, l1: Vector, l2: Vector, high: Vector) -> Vector:
    """∫ of (v − l1 sign(x) − 2 l2 x)₊ over x from w to high: below zero first, then above."""
    below, above = np.minimum(w, 0.0), np.maximum(w, 0.0)
    first = _area(v + l1 - 2.0 * l2 * below, np.minimum(high, 0.0) - below, l2)
    return first + _area(v - l1 - 2.0 * l2 * above, high - above, l2)


def _area(slope: Vector, length: Vector, l2: Vector) -> Vector:
    """Under a line that falls by 2 l2 a step, from `slope` to zero or to the end of the length."""
    live = (slope > 0.0) & (length > 0.0)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        within = (l2 > 0.0) & (0.5 * slope <= l2 * length)
        found = np.where(within, 0.25 * slope * (slope / l2), length * (slope - l2 * length))
    return np.asarray(np.where(live, found, 0.0))
