"""‖scale ∘ w‖ of order p in (1, ∞]: the gauge behind l2_norm, lp and linf."""

from __future__ import annotations

import numpy as np

from dualgap.arrays import Vector
from dualgap.penalties.base import LEAST, LOST, Ball, Projection, ScaledGauge
from dualgap.penalties.separable import Separable
from dualgap.traits import Trait

TINY = 1e-300  # keeps powers of zero finite


def norm(values: Vector, order: float) -> float:
    """‖values‖ of the order, without overflow."""
    size = np.abs(values)
    top = float(size.max(initial=0.0))
    if top == 0.0 or order == np.inf:
        return top
    return float(top * float(power(size / top, order).sum()) ** (1.0 / order))


def power(size: Vector, order: float) -> Vector:
    """size^order, size ≥ 0, by products and roots for the orders that are asked for most."""
    if order == 1.5:
        return np.asarray(size * np.sqrt(size))
    if order == 3.0:
        return size * size * size
    if order == -0.5:
        return np.asarray(1.0 / np.sqrt(size))
    return np.asarray(size**order)


class Norm(ScaledGauge):
    """Order 1 is `Separable`'s."""

    least = 1.0

    @property
    def ball(self) -> Ball:
        return Ball(self.order, self.scale)

    @property
    def traits(self) -> Trait:
        facts = Trait.CONVEX
        if self.order == np.inf:
            facts |= Trait.POLYHEDRAL
        return facts.closure()

    @property
    def dual_order(self) -> float:
        """q with 1/p + 1/q = 1."""
        return 1.0 if self.order == np.inf else self.order / (self.order - 1.0)

    def value(self, w: Vector) -> float:
        return norm(self.scale * w, self.order)

    def doubt(self, w: Vector, value: float) -> float:
        return LOST * value + (len(w) + 1) * LEAST

    def slope(self, w: Vector) -> Vector:
        """The dual vector of scale ∘ w; of several largest entries of order ∞ the first."""
        inside, size = self.scale * w, self.value(w)
        if size == 0.0:
            return np.zeros_like(w)
        if self.order == np.inf:
            largest = np.arange(len(w)) == int(np.argmax(np.abs(inside)))
            return np.asarray(self.scale * np.sign(inside) * largest)
        return np.asarray(self.scale * np.sign(inside) * (np.abs(inside) / size) ** (self.order - 1.0))

    def smallest_strength_at_zero(self, v: Vector) -> float:
        """The dual norm of v, free coordinates not looked at."""
        seen = ~self.free
        return norm(v[seen] / self.scale[seen], self.dual_order)

    def prox(self, point: Vector, step: float) -> Vector:
        return point - self.penalised_dual_prox(point, 1.0, step).point

    def project(self, point: Vector, radius: float) -> Projection:
        if self.value(point) <= radius:
            return Projection(point, np.ones_like(point), None)
        if radius == 0.0:
            return Projection(np.where(self.free, point, 0.0), self.free.astype(float), None)
        seen = ~self.free
        diagonal, result = np.ones_like(point), point.copy()
        if self.order == np.inf:
            edge = radius / self.scale[seen]
            inside = np.abs(point[seen]) <= edge
            result[seen] = np.clip(point[seen], -edge, edge)
            diagonal[seen] = inside
            return Projection(result, diagonal, None)
        rank_one = np.zeros_like(point)
        size, slim, normal = _project_ball(np.abs(point[seen]), self.scale[seen] / radius, self.order)
        result[seen] = np.copysign(size, point[seen])
        diagonal[seen] = slim
        along = float(normal @ (slim * normal))
        rank_one[seen] = np.copysign(slim * normal / np.sqrt(along), point[seen])
        return Projection(result, diagonal, rank_one)

    def penalised_dual_prox(self, s: Vector, sigma: float, strength: float) -> Projection:
        seen = ~self.free
        inverse = 1.0 / self.scale[seen]
        ball = (
            Separable(inverse, np.zeros_like(inverse))
            if self.order == np.inf
            else Norm(self.dual_order, inverse)
        )
        inner = ball.project(s[seen], strength)
        point, diagonal = np.zeros_like(s), np.zeros_like(s)
        point[seen], diagonal[seen] = inner.point, inner.diagonal
        if inner.rank_one is None:
            return Projection(point, diagonal, None)
        rank_one = np.zeros_like(s)
        rank_one[seen] = inner.rank_one
        return Projection(point, diagonal, rank_one)

    def price(self, v: Vector, radius: float) -> float:
        return self.smallest_strength_at_zero(v)

    def fenchel_young(self, w: Vector, v: Vector, reach: Vector, strength: float) -> tuple[float, float]:
        seen = ~self.free
        w, v, reach = w[seen], v[seen], reach[seen]
        size, along = strength * norm(self.scale[seen] * w, self.order), float((w * v).sum())
        polar = norm((np.abs(v) + reach) / self.scale[seen], self.dual_order)
        return max(size - along, 0.0) + float((np.abs(w) * reach).sum()), max(polar / strength - 1.0, 0.0)


def shrunken(a: Vector, m: Vector, order: float, guess: Vector) -> Vector:
    """t ≥ 0 with t + m t^(order−1) = a; the guess is used where there is no closed form."""
    if order == 2.0:
        return a / (1.0 + m)
    if order == 1.5:
        root = 2.0 * a / (m + np.sqrt(m * m + 4.0 * a) + TINY)
        return root * root
    if order == 3.0:
        return 2.0 * a / (1.0 + np.sqrt(1.0 + 4.0 * m * a))
    # The smaller of both one-term answers is above the root, by a bounded factor
    top = np.minimum(a, (a / np.maximum(m, TINY)) ** (1.0 / (order - 1.0)))
    t = np.minimum(guess, top)
    for _ in range(60):  # convex (order ≥ 2) or concave in t: one-sided after the first step
        steep = power(np.maximum(t, TINY), order - 2.0)
        change = (t + m * t * steep - a) / (1.0 + m * (order - 1.0) * steep)
        ahead = np.clip(t - change, 0.1 * t, top)
        settled = np.all(np.abs(ahead - t) <= 1e-8 * t)  # quadratic: the error left is its square
        t = ahead
        if settled:
            break
    return t


@np.errstate(over="ignore", invalid="ignore")  # an infinite stiffness is a weight of zero
def _project_ball(a: Vector, k: Vector, order: float) -> tuple[Vector, Vector, Vector]:
    """Nearest u ≥ 0 to a ≥ 0 with Σ(k u)^order = 1: u, the diagonal of its Jacobian, and the normal.

    With t = k u and A = k a the multiplier μ solves t + μ k² t^(order−1) = A, ‖t‖ = 1. Since t ≤ 1, it lies
    between the dual norms of (A − 1)₊/k² and A/k². Newton runs on ‖t‖^(1−order), which is nearly linear
    in μ, and bisects the exponent of μ where it leaves that bracket.
    """
    target, k2, rest = k * a, k * k, order - 1.0
    if order == 2.0 and k.min() == k.max():  # a sphere
        length = norm(target, 2.0)
        t = target / length
        return t / k, np.full_like(t, 1.0 / length), k * t
    dual = order / rest
    low, high = norm(np.maximum(a - 1.0 / k, 0.0) / k, dual), norm(a / k, dual)
    mu = max(low, high * (1.0 - 1.0 / norm(target, order)))  # exact for equal entries
    t = target
    for _ in range(100):
        t = shrunken(target, mu * k2, order, t)
        steep = power(np.maximum(t, TINY), order - 2.0)
        slope = t * steep
        size = np.float64(t @ slope) ** (1.0 / order)
        if abs(size - 1.0) <= 1e-15:
            break
        low, high = (max(mu, low), high) if size > 1.0 else (low, mu)
        fall = rest * float((slope * slope * k2 / (1.0 + mu * rest * k2 * steep)).sum()) / size**rest
        ahead = mu + float(size - size ** (1.0 - rest)) / fall if fall > 0 else np.inf
        if not low < ahead < high:
            ahead = float(np.sqrt(max(low, 1e-6 * high)) * np.sqrt(high))
        if abs(ahead - mu) <= 2e-16 * mu or high - low <= 2e-16 * high:
            break
        mu = ahead
    t = t / norm(t, order)
    steep = power(np.maximum(t, TINY), order - 2.0)
    return t / k, 1.0 / (1.0 + mu * k2 * rest * steep), k * t * steep
