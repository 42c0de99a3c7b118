"""Σ prices_i |scale ∘ w|_(i), the largest first: the gauge behind slope."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from dualgap.arrays import Mask, Vector
from dualgap.penalties.base import LEAST, LOST, BlockSum, Projection, Seminorm, SortedPrices
from dualgap.traits import Trait

ROUNDS = 200  # of Newton on a polygon: each ends on another of its sides
CLOSE = 4e-16  # a change by this share is rounding
EACH = 2.0**-51  # what one more term may cost a sum, in shares of it: two roundings


@dataclass(frozen=True, eq=False)
class Sorted(Seminorm):
    """`prices` fall, the first of them is positive; scale zero makes a coordinate free.

    What needs the nearest point works where the scales that are not zero are one number, which is what
    `levelled` sees to: with others the order of the answer is not that of the point.
    """

    prices: Vector
    scale: Vector

    traits = Trait.CONVEX | Trait.POLYHEDRAL

    @property
    def falling(self) -> SortedPrices:
        return SortedPrices(self.prices, self.scale)

    @cached_property
    def free(self) -> Mask:
        return np.asarray(self.scale == 0.0)

    @cached_property
    def least(self) -> float:
        scales = self.scale[~self.free]
        return float(self.prices.max() * scales.min()) if len(scales) else np.inf

    @cached_property
    def _even(self) -> float:
        """The one scale."""
        seen = self.scale[~self.free]
        if not len(seen):
            return 1.0
        if seen.max() > seen.min() * (1.0 + 1e-12):
            raise NotImplementedError("nearest points under a sorted norm need columns of one scale")
        return float(seen[0])

    def _sizes(self, w: Vector) -> Vector:
        """|scale ∘ w| of what is seen, the largest first."""
        return np.sort(np.abs(self.scale * w)[~self.free])[::-1]

    def value(self, w: Vector) -> float:
        sizes = self._sizes(w)
        return float(self.prices[: len(sizes)] @ sizes)

    def doubt(self, w: Vector, value: float) -> float:
        return (LOST + EACH * len(w)) * value + (2 * len(w) + 1) * LEAST

    def slope(self, w: Vector) -> Vector:
        out, seen = np.zeros_like(w), np.flatnonzero(~self.free)
        order = seen[np.argsort(-np.abs(self.scale * w)[seen], kind="stable")]
        out[order] = self.prices[: len(order)] * self.scale[order] * np.sign(w[order])
        return out

    def substituted(self, factor: Vector) -> Sorted:
        return replace(self, scale=self.scale * np.abs(factor))

    def extended(self) -> Sorted:
        return replace(self, scale=np.append(self.scale, 0.0))

    def restricted(self, keep: Mask) -> Sorted:
        return replace(self, scale=self.scale[keep])

    def levelled(self, scale: Vector) -> Vector:
        """As the penalty's, on the whole as large as those given."""
        seen = ~self.free
        if not seen.any():
            return scale
        level = float(np.exp2(np.round(np.log2(scale[seen] / self.scale[seen]).mean())))
        return np.asarray(np.where(seen, level * self.scale, scale))

    # -- nearest points ------------------------------------------------------------------------------

    def prox(self, point: Vector, step: float) -> Vector:
        return self._shrunken(point, step)[0]

    def _shrunken(self, point: Vector, step: float) -> tuple[Vector, Vector, BlockSum]:
        """The prox and its derivative, a diagonal and blocks: weights of one size move together."""
        from scipy.optimize import isotonic_regression  # here: most penalties never need it

        w, diagonal = point.copy(), np.ones_like(point)
        label, vector = np.arange(len(point)), np.zeros_like(point)
        seen = np.flatnonzero(~self.free)
        if step == 0.0 or not len(seen):
            return w, diagonal, BlockSum(label, vector)
        order = seen[np.argsort(-np.abs(point[seen]), kind="stable")]
        aim = np.abs(point[order]) - step * self._even * self.prices[: len(order)]
        found = isotonic_regression(aim, increasing=False)
        size = np.maximum(found.x, 0.0)
        w[order] = np.copysign(size, point[order])
        counts = np.diff(found.blocks)
        count, number = np.repeat(counts, counts), np.repeat(np.arange(len(counts)), counts)
        diagonal[order] = (size > 0.0) & (count == 1)
        pooled = (size > 0.0) & (count > 1)
        label[order] = number
        label[self.free] = len(counts)
        vector[order] = np.where(pooled, np.copysign(1.0, point[order]) / np.sqrt(count), 0.0)
        return w, diagonal, BlockSum(label, vector)

    def project(self, point: Vector, radius: float) -> Projection:
        if self.value(point) <= radius:
            return Projection(point, np.ones_like(point), None)
        if radius == 0.0:
            return Projection(np.where(self.free, point, 0.0), self.free.astype(float), None)
        w, diagonal, blocks = self._shrunken(point, self._price_of(point, radius))
        bent = self._bent(w, diagonal, blocks)
        along = float(bent @ bent)
        return Projection(w, diagonal, bent / np.sqrt(along) if along > 0.0 else None, blocks)

    def _bent(self, w: Vector, diagonal: Vector, blocks: BlockSum) -> Vector:
        """The slope of h, shared among weights of one size."""
        normal = self.slope(w)
        return np.where(self.free, 0.0, diagonal * normal + blocks.times(normal))

    def _price_of(self, point: Vector, radius: float) -> float:
        """The step at which h(prox(point, step)) = radius: a falling convex polygon, climbed from 0."""
        step = 0.0
        for _ in range(ROUNDS):
            w, diagonal, blocks = self._shrunken(point, step)
            miss, bent = self.value(w) - radius, self._bent(w, diagonal, blocks)
            fall = float(bent @ bent)
            if miss <= CLOSE * radius or fall == 0.0 or miss / fall <= CLOSE * step:
                break
            step += miss / fall
        return step

    def penalised_dual_prox(self, s: Vector, sigma: float, strength: float) -> Projection:
        w, diagonal, blocks = self._shrunken(s, strength)
        still = np.where(self.free, 0.0, 1.0 - diagonal)
        return Projection(np.where(self.free, 0.0, s - w), still, None, blocks)

    # -- conjugates ----------------------------------------------------------------------------------

    def price(self, v: Vector, radius: float) -> float:
        return self.smallest_strength_at_zero(v)

    def smallest_strength_at_zero(self, v: Vector) -> float:
        """The largest of Σ_{i ≤ k} |v|_(i) over Σ_{i ≤ k} prices_i, from above."""
        seen = ~self.free
        sizes = np.sort(np.abs(v[seen]) / self.scale[seen])[::-1]
        shares = np.cumsum(sizes) / np.cumsum(self.prices[: len(sizes)])
        return float(shares.max(initial=0.0)) * (1.0 + EACH * (len(sizes) + 2.0))

    def fenchel_young(self, w: Vector, v: Vector, reach: Vector, strength: float) -> tuple[float, float]:
        w, v, reach = (np.where(self.free, 0.0, part) for part in (w, v, reach))
        size, along = self.value(w), float((w * v).sum())
        polar = self.smallest_strength_at_zero(np.abs(v) + reach)
        bracket = max(strength * size - along, 0.0) + strength * self.doubt(w, size)
        return bracket + float((np.abs(w) * reach).sum()), max(polar / strength - 1.0, 0.0)
