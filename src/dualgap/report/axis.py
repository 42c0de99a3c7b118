"""An axis: from values to places on the paper, and round numbers along it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from dualgap.arrays import Vector
from dualgap.report.markup import number

FOUR_DIGITS = 1e4  # numbers from here on are written with k and M
LONG = 60.0  # days between marks from which months tell them apart
LEAST = 1e-300  # stands for zero where a logarithm is taken


@dataclass(frozen=True)
class Axis:
    """Values between `low` and `high`, logarithmic or not; `high` may be below `low`: it runs backwards."""

    low: float
    high: float
    label: str = ""
    log: bool = False

    def share(self, values: Any) -> Vector:
        """0 at the beginning of the axis, 1 at its end."""
        v = np.asarray(values, dtype=np.float64)
        low, high = self.low, self.high
        if self.log:
            v, low, high = np.log(np.maximum(v, LEAST)), math.log(low), math.log(high)
        return np.asarray((v - low) / (high - low) if high != low else np.full(v.shape, 0.5))

    def ticks(self, most: int = 6) -> list[tuple[float, str]]:
        """Round numbers within the axis."""
        low, high = min(self.low, self.high), max(self.low, self.high)
        if self.log and high / low >= 8.0:
            return [(t, _power(t)) for t in _powers(low, high, most)]
        return [(t, _short(t)) for t in _steps(low, high, most)]


@dataclass(frozen=True)
class DayAxis(Axis):
    """Days since 1970, written as dates."""

    def ticks(self, most: int = 4) -> list[tuple[float, str]]:
        """As many days, evenly."""
        edge = 0.08 * (self.high - self.low)  # a date is wide: its middle is not at the end of the axis
        days = np.unique(np.linspace(self.low + edge, self.high - edge, min(most, 4)).round()).astype(
            np.int64
        )
        months = len(days) > 1 and days[1] - days[0] > LONG
        return [(float(day), str(np.datetime64(int(day), "D"))[: 7 if months else 10]) for day in days]


def _short(value: float) -> str:
    """A round number that leaves room for the next: 400k, 2M."""
    for size, sign in ((1e6, "M"), (1e3, "k")):
        if max(size, FOUR_DIGITS) <= abs(value) < 1e3 * size:
            return f"{number(value / size)}{sign}"
    return number(value)


def _power(value: float) -> str:
    """Short, however small."""
    if 1e-3 <= value < 1e4:
        return number(value)
    mantissa, power = f"{value:.0e}".split("e")
    return f"{mantissa}e{int(power)}".replace("-", "−")


def spanning(values: Any, label: str = "", *, log: bool = False, room: float = 0.05) -> Axis:
    """An axis with room for all finite values."""
    v = np.asarray(values, dtype=np.float64).ravel()
    v = v[np.isfinite(v) & ((v > 0) if log else True)]
    low, high = (float(v.min()), float(v.max())) if len(v) else (1.0, 2.0)
    if log:
        edge = max((high / low) ** room, 1.01)
        return Axis(low / edge, high * edge, label, True)
    edge = room * (high - low) if high > low else max(abs(high), 1.0) * 0.1
    return Axis(low - edge, high + edge, label)


def _steps(low: float, high: float, most: int) -> list[float]:
    """Multiples of 1, 2 or 5 times a power of ten."""
    if not high > low:
        return [low]
    raw = (high - low) / most
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(m * power for m in (1.0, 2.0, 5.0, 10.0) if m * power >= raw * (1 - 1e-9))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [round(k * step, 12 - math.floor(math.log10(step))) + 0.0 for k in range(first, last + 1)]


def _powers(low: float, high: float, most: int) -> list[float]:
    """Powers of ten, every so many; with 2 and 5 between where there are few."""
    first, last = math.ceil(math.log10(low) - 1e-9), math.floor(math.log10(high) + 1e-9)
    if last - first + 1 >= 3:
        every = -(-(last - first + 1) // most)
        return [10.0**k for k in range(first, last + 1) if k % every == 0]
    found = [m * 10.0**k for k in range(first - 1, last + 1) for m in (1.0, 2.0, 5.0)]
    return [t for t in found if low * (1 - 1e-9) <= t <= high * (1 + 1e-9)]
