"""Σ |Δᵏ(scale ∘ w)|, differences of neighbours taken k times: the gauge behind fused."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from dualgap.arrays import Mask, Matrix, Vector
from dualgap.errors import DataError
from dualgap.penalties.base import FAINT, LEAST, LOST, Elastic, Gauge, Seminorm
from dualgap.traits import Trait

ROUNDED = 2.0**-53  # what an addition, a product or a quotient is off by, in shares of what comes out
DIGITS = 51  # of the largest sum: what is less is rounded where sums must be exact
EACH = 2.0**-51  # what one more term may cost a sum of sizes, in shares of it: two roundings


@dataclass(frozen=True, eq=False)
class Sums:
    """w with scale ∘ w = the k-fold running sums of β: what h sees are all but the first k of the β.

    Where a coordinate more is there than there are scales, an intercept, it is left as it is.
    """

    order: int
    scale: Vector

    def weights(self, beta: Matrix) -> Matrix:
        """w of β, or row by row."""
        w, p = np.array(beta, dtype=np.float64), len(self.scale)
        inner = w[..., :p]
        for first in range(self.order - 1, -1, -1):
            inner[..., first:] = np.cumsum(inner[..., first:], axis=-1)
        inner /= self.scale
        return w

    def largest(self, beta: Vector) -> float:
        """The largest number on the way from β to w, before scales."""
        sums = np.array(beta[: len(self.scale)])
        top = float(np.abs(sums).max(initial=0.0))
        for first in range(self.order - 1, -1, -1):
            sums[first:] = np.cumsum(sums[first:])
            top = max(top, float(np.abs(sums).max(initial=0.0)))
        return top

    def differences(self, w: Vector) -> Vector:
        """β of w."""
        beta, p = np.array(w, dtype=np.float64), len(self.scale)
        inner = beta[:p]
        inner *= self.scale
        for first in range(self.order):
            inner[first + 1 :] = np.diff(inner[first:])
        return beta

    def columns(self, matrix: Matrix) -> Matrix:
        """M with Mβ = Xw, for the columns X of the w."""
        array = matrix / self.scale if np.any(self.scale != 1.0) else matrix
        for first in range(self.order):
            summed = np.empty_like(array, order="C")
            summed[:, :first] = array[:, :first]
            np.cumsum(array[:, first:][:, ::-1], axis=1, out=summed[:, first:][:, ::-1])
            array = summed
        return np.ascontiguousarray(array)

    def prices(self, length: int) -> Elastic:
        """The l1 norm of the β that has a price, on so many coordinates."""
        l1 = np.zeros(length)
        l1[self.order : len(self.scale)] = 1.0
        return Elastic(l1, np.zeros(length))

    def polynomials(self) -> Matrix:
        """scale ∘ w of those w that h does not see, a column each: whole numbers, at right angles."""
        p = len(self.scale)
        x = 2.0 * np.arange(p) - (p - 1.0)
        return np.column_stack([np.ones(p), x, 3.0 * x * x - (p * p - 1.0)][: self.order])


@dataclass(frozen=True, eq=False)
class Differences(Seminorm):
    """Of the coordinates whose scale is not zero, in their order; there are more than `order` of them.

    Beside the free coordinates w is free along polynomials: of v that part is not looked at, as v on free
    coordinates is not. Solvers see the problem in `sums`, and never this.
    """

    order: int
    scale: Vector

    traits = Trait.CONVEX | Trait.POLYHEDRAL
    least = 1.0

    @cached_property
    def free(self) -> Mask:
        return np.asarray(self.scale == 0.0)

    @cached_property
    def sums(self) -> Sums:
        return Sums(self.order, self.scale[~self.free])

    @cached_property
    def _plain(self) -> bool:
        """Do the scales round nothing?"""
        return bool(np.all(np.frexp(self.scale[~self.free])[0] == 0.5))

    def _seen(self, w: Vector) -> tuple[Vector, Vector]:
        """The differences, and how far off each may be: by the very rounding, which two more sums tell."""
        d = (self.scale * w)[~self.free]
        off = np.where((np.abs(d) < FAINT) & (d != 0.0), LEAST, 0.0)
        if not self._plain:
            off = off + ROUNDED * np.abs(d)
        for _ in range(self.order):
            right, left = d[1:], d[:-1]
            d = right - left
            back = d - right
            rounding = (right - (d - back)) - (left + back)
            off = off[1:] + off[:-1] + np.abs(rounding)
        return d, off * (1.0 + LOST)

    def value(self, w: Vector) -> float:
        return float(np.abs(self._seen(w)[0]).sum())

    def doubt(self, w: Vector, value: float) -> float:
        return LOST * value + float(self._seen(w)[1].sum()) * (1.0 + LOST)

    def slope(self, w: Vector) -> Vector:
        u = np.sign(self._seen(w)[0])
        for _ in range(self.order):
            u = -np.diff(u, prepend=0.0, append=0.0)
        out = np.zeros_like(w)
        out[~self.free] = u * self.scale[~self.free]
        return out

    def substituted(self, factor: Vector) -> Differences:
        return replace(self, scale=self.scale * factor)

    def extended(self) -> Differences:
        return replace(self, scale=np.append(self.scale, 0.0))

    def restricted(self, keep: Mask) -> Gauge:
        if np.all(keep):
            return self
        raise DataError("Differences of neighbouring weights need all columns: none can be left out.")

    def stretch(self, w: Vector, radius: float) -> float:
        size = self.value(w)
        return radius / size if size > 0.0 else 0.0

    def shrink(self, w: Vector, radius: float) -> Vector:
        """Its differences made shorter, its polynomial kept; whole multiples of a power of two, so that where
        the scales round nothing, sums and differences do not either.
        """
        if self.value(w) <= radius:
            return w
        out, sums = np.array(w), self.sums
        beta = sums.differences(w[~self.free])
        price = beta[self.order :]
        size = float(np.abs(price).sum())
        price *= max(radius, 0.0) / size if size > 0.0 else 0.0
        unit = np.ldexp(1.0, np.frexp(sums.largest(beta))[1] - DIGITS)
        whole, ahead = beta / unit, np.arange(len(beta)) < self.order
        beta = np.where(ahead, np.round(whole), np.trunc(whole)) * unit
        out[~self.free] = sums.weights(beta)
        return out

    # -- conjugates ----------------------------------------------------------------------------------

    def _levels(self, v: Vector) -> Vector:
        """u with v·w = u·Δᵏ(scale ∘ w), but for what polynomials see of v."""
        u, basis = (v[~self.free] / self.scale[~self.free]), self.sums.polynomials()
        for _ in range(2):  # the second time for what rounding left of the first
            u = u - basis @ ((basis.T @ u) / np.einsum("ij,ij->j", basis, basis))
        for _ in range(self.order):
            u = -np.cumsum(u)[:-1]
        return np.asarray(u)

    def _enclosed(self, v: Vector, reach: Vector) -> tuple[Vector, Vector]:
        """The same for any v' within reach of v that polynomials do not see, and how far off it may be.

        A running sum from the left is what a sum from the right leaves of 0: the better known of both counts.
        """
        seen, scale = ~self.free, self.scale[~self.free]
        u = v[seen] / scale
        off = reach[seen] / scale + LEAST + (0.0 if self._plain else 4.0 * ROUNDED) * np.abs(u)
        for _ in range(self.order):
            (left, unsure), (right, other) = _running(-u, off), _running(u[::-1], off[::-1])
            left, unsure, right, other = left[:-1], unsure[:-1], right[-2::-1], other[-2::-1]
            better = other < unsure
            u, off = np.where(better, right, left), np.where(better, other, unsure)
        return u, off

    def smallest_strength_at_zero(self, v: Vector) -> float:
        return float(np.abs(self._levels(v)).max(initial=0.0))

    def price(self, v: Vector, radius: float) -> float:
        return self.smallest_strength_at_zero(v)

    def price_near(self, v: Vector, reach: Vector, radius: float) -> float:
        u, off = self._enclosed(v, reach)
        return float((np.abs(u) + off).max(initial=0.0))

    def fenchel_young(self, w: Vector, v: Vector, reach: Vector, strength: float) -> tuple[float, float]:
        """Difference by difference |d|(strength ∓ u); within reach of v is one that no polynomial sees."""
        (d, far), (u, off) = self._seen(w), self._enclosed(v, reach)
        size = np.abs(u) + off
        slack = strength - np.sign(d) * u + off + 4.0 * ROUNDED * (strength + size)
        found = float((np.abs(d) * np.maximum(slack, 0.0)).sum() + (far * (strength + size)).sum())
        return found, max(float(size.max(initial=0.0)) / strength - 1.0, 0.0)


def _running(values: Vector, off: Vector) -> tuple[Vector, Vector]:
    """Running sums, and how far off each is: by the errors of its terms, and a rounding a sum."""
    total = np.cumsum(values)
    return total, np.cumsum(off + ROUNDED * np.abs(total)) * (1.0 + EACH * len(values))
