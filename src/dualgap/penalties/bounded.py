"""The two forms with bounds: g plus the indicator of a box, low ≤ w ≤ high.

Any v₁ + v₂ = v gives (g + box)*(v) ≤ g*(v₁) + Σ (high v₂⁺ − low v₂⁻). Where g is a sum over the coordinates
the best of these is a formula (box.py); for norms v₂ is what the slope of the norm leaves of v at the ends.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from dualgap.arrays import Mask, Vector
from dualgap.penalties.base import FAINT, BlockSum, Elastic, Gauge
from dualgap.penalties.forms import Constrained, DualProx, Penalised
from dualgap.penalties.norm import TINY, norm, shrunken
from dualgap.penalties.weight_bounds import ROUNDED, Bracket, WeightBounds, bracket
from dualgap.traits import Trait

HALVINGS = 200  # of an interval of numbers: it ends with two neighbours, after about 64
TIED = 1e-9  # of the largest weight: entries so near to it share its price


def bounded(form: Penalised | Constrained, box: WeightBounds | None) -> Penalised | Constrained:
    """The same form within a box."""
    if box is None:
        return form
    if form.constrained:
        return BoundedConstrained(form.gauge, form.radius, box)
    return BoundedPenalised(form.gauge, form.strength, box)


def least_size(gauge: Gauge, box: WeightBounds) -> float:
    """The least h inside the box."""
    return gauge.value(box.nearest)


@dataclass(frozen=True, eq=False)
class BoundedPenalised(Penalised):
    """g = strength·h + [low ≤ w ≤ high]."""

    ends: WeightBounds

    @property
    def box(self) -> WeightBounds:
        return self.ends

    @property
    def traits(self) -> Trait:
        return _inside(self.gauge.traits)

    @property
    def free(self) -> Mask:
        return self.gauge.free & self.ends.open_

    @property
    def half_open(self) -> Mask:
        return _half_open(self.gauge, self.ends)

    def feasible(self, w: Vector) -> Vector:
        return self.ends.clip(w)

    def kept(self, w: Vector) -> Vector:
        return self.ends.clip(w)

    def bracket(self, w: Vector, v: Vector, reach: Vector) -> Bracket:
        elastic, strength = self.gauge.elastic, self.strength
        if elastic is not None:
            if strength * self.gauge.least < FAINT:
                return Bracket(np.inf, np.inf, np.zeros_like(w))
            return bracket(w, v, reach, (strength * elastic.l1, strength * elastic.l2), self.ends)
        target = self._slopes(w, v)
        return _split(super().fenchel_young, self.gauge.free, self.ends, (w, v, reach), target)

    def bound_multipliers(self, w: Vector, v: Vector) -> Vector:
        elastic = self.gauge.elastic
        if elastic is not None:
            prices = self.strength * elastic.l1, self.strength * elastic.l2
            return _at_ends(w, v, prices, self.ends)
        return _left(w, v, self._slopes(w, v), self.ends)

    def _slopes(self, w: Vector, v: Vector) -> Vector:
        """The slope of strength·h that is wanted where a weight is at an end."""
        slope, ball = self.strength * self.gauge.slope(w), self.gauge.ball
        if ball is None or ball.order < np.inf or not slope.any():
            return slope
        size, (low, high) = np.abs(ball.scale * w), self.ends.touched(w)
        top, edge = size >= (1.0 - TIED) * size.max(), low | high
        along = np.where(top & (v * w > 0.0), np.abs(v), 0.0) / np.where(top, ball.scale, 1.0)
        inner = top & ((low & (w > 0.0)) | (high & (w < 0.0)))  # held away from zero: any slope will do
        shared, rest = float(along[edge & ~inner].sum()), self.strength - float(along[~edge].sum())
        share = min(1.0, max(rest, 0.0) / shared) if shared > 0.0 else 0.0
        target = np.where(edge & (along > 0.0), share * v, 0.0)
        if inner.any():
            left = (rest - share * shared) / float(np.count_nonzero(inner))
            target = np.where(inner, np.copysign(ball.scale * max(left, 0.0), w), target)
        return target

    def fenchel_young(self, w: Vector, v: Vector, reach: Vector) -> tuple[float, float]:
        found = self.bracket(w, v, reach)
        return found.value, found.excess

    def dual_scale(self, v: Vector) -> float:
        """As without bounds, where the way is endless; a norm's v is cut at the ends first."""
        elastic = self.gauge.elastic
        if elastic is None:
            return 1.0
        price = self.strength * elastic.l1
        sharp = (price > 0.0) & (elastic.l2 == 0.0)
        over = sharp & (((v > price) & np.isinf(self.ends.high)) | ((v < -price) & np.isinf(self.ends.low)))
        return float((price[over] / np.abs(v[over])).min(initial=1.0))

    def prox(self, point: Vector, step: float) -> Vector:
        return point - self.dual_prox(point / step, 1.0 / step).v * step

    def dual_prox(self, s: Vector, sigma: float) -> DualProx:
        elastic = self.gauge.elastic
        if elastic is not None:
            l1, l2 = self.strength * elastic.l1, self.strength * elastic.l2
            return _separable_prox(s, sigma, l1, l2, self.ends)
        ball = self.gauge.ball
        assert ball is not None
        if ball.order == np.inf:
            return _largest_prox(s, sigma, ball.scale, self.strength, self.ends)
        return _norm_prox(s, sigma, (ball.order, ball.scale), self.strength, self.ends)

    def substituted(self, factor: Vector, multiplier: float) -> BoundedPenalised:
        inner = super().substituted(factor, multiplier)
        return BoundedPenalised(inner.gauge, inner.strength, self.ends.substituted(factor))

    def restricted(self, keep: Mask) -> BoundedPenalised:
        return replace(self, gauge=self.gauge.restricted(keep), ends=self.ends.restricted(keep))

    def with_gauge(self, gauge: Gauge) -> BoundedPenalised:
        return replace(self, gauge=gauge)

    def with_strength(self, strength: float) -> BoundedPenalised:
        return replace(self, strength=strength)


@dataclass(frozen=True, eq=False)
class BoundedConstrained(Constrained):
    """g = 0 where h ≤ radius and low ≤ w ≤ high, infinite elsewhere."""

    ends: WeightBounds

    @property
    def box(self) -> WeightBounds:
        return self.ends

    @property
    def traits(self) -> Trait:
        return _inside(super().traits)

    @property
    def free(self) -> Mask:
        return self.gauge.free & self.ends.open_

    @property
    def half_open(self) -> Mask:
        return _half_open(self.gauge, self.ends)

    def within(self, w: Vector) -> bool:
        size = self.gauge.value(w)
        return size + self.gauge.doubt(w, size) <= self.radius or not w[~self.gauge.free].any()

    def kept(self, w: Vector) -> Vector:
        """w clipped, then drawn towards the least point of the box until the budget is kept."""
        return self.ends.drawn(w, self.gauge.free, self.within)

    def feasible(self, w: Vector) -> Vector:
        return self.ends.drawn(w, self.gauge.free, lambda x: self.gauge.value(x) <= self.radius)

    def bracket(self, w: Vector, v: Vector, reach: Vector) -> Bracket:
        elastic, radius = self._sum()
        if elastic is not None:
            return self._priced(elastic, radius, (w, v, reach))
        ball, nothing = self.gauge.ball, np.zeros_like(w)
        if ball is not None and ball.order == np.inf:
            return bracket(w, v, reach, (nothing, nothing), self._edges(ball.scale, 1.0 + ROUNDED))
        best = Bracket(np.inf, 0.0, nothing)
        for target in self._slopes(w, v):
            found = _split(super().fenchel_young, self.gauge.free, self.ends, (w, v, reach), target)
            best = found if found.value < best.value else best
        return best

    def bound_multipliers(self, w: Vector, v: Vector) -> Vector:
        elastic, radius = self._sum()
        if elastic is not None:
            price = self._price(np.abs(v), v, elastic, radius)
            return _at_ends(w, v, (price * elastic.l1, price * elastic.l2), self.ends)
        return _left(w, v, self._slopes(w, v)[0], self.ends)

    def _sum(self) -> tuple[Elastic | None, float]:
        """The ball as Σ l1|w| + l2 w² ≤ radius, from outside."""
        elastic, ball = self.gauge.elastic, self.gauge.ball
        if elastic is None and ball is not None and ball.order == 2.0:
            square = Elastic(np.zeros_like(ball.scale), ball.scale * ball.scale)
            return square, self.radius * self.radius * (1.0 + ROUNDED)
        return elastic, self.radius

    def _edges(self, scale: Vector, share: float) -> WeightBounds:
        """The box with the cube |scale·w| ≤ radius, a little wider or narrower."""
        with np.errstate(divide="ignore", invalid="ignore"):
            edge = np.where(scale > 0.0, share * self.radius / scale, np.inf)
        return WeightBounds(np.maximum(self.ends.low, -edge), np.minimum(self.ends.high, edge))

    def _priced(self, elastic: Elastic, radius: float, point: tuple[Vector, Vector, Vector]) -> Bracket:
        """At any price μ, g*(v) ≤ μ·radius + (μh + box)*(v)."""
        w, v, reach = point
        l1, l2 = elastic
        gauge_free = (l1 == 0.0) & (l2 == 0.0)
        price = self._price(np.abs(v) + reach, v, elastic, radius)
        price = max(price, FAINT / float(np.where(l2 > 0.0, l2, l1)[~gauge_free].min(initial=1.0)))
        found = bracket(w, v, reach, (price * l1, price * l2), self.ends)
        terms = l1 * np.abs(w) + l2 * w * w
        size = float(terms.sum())
        unused = max(radius - size, 0.0) + ROUNDED * (radius + size) * max(len(w), 8)
        return Bracket(found.value + price * (unused + found.excess * radius), 0.0, found.pull)

    def _price(self, size: Vector, v: Vector, elastic: Elastic, radius: float) -> float:
        """The least μ at which the maximiser of v·w − μh in the box has h ≤ radius, to the last bit."""
        l1, l2 = elastic
        priced = (l1 > 0.0) | (l2 > 0.0)
        if not priced.any():
            return 0.0
        low, high, box = self.ends.low[priced], self.ends.high[priced], self.ends.restricted(priced)
        l1, l2, v, size = l1[priced], l2[priced], v[priced], size[priced]

        def fits(price: float) -> bool:
            with np.errstate(all="ignore"):
                over = np.maximum(size - price * l1, 0.0)
                away = np.where(l2 > 0.0, over / (2.0 * price * l2), np.inf)
                at = np.clip(np.copysign(np.where(over > 0.0, away, 0.0), v), low, high)
                at = np.where(over > 0.0, at, box.nearest)
                used = np.where(l1 > 0.0, l1 * np.abs(at), 0.0) + np.where(l2 > 0.0, l2 * at * at, 0.0)
            return float(used.sum()) <= radius

        most = float(size.max(initial=0.0))
        if most == 0.0:
            return 0.0
        high_price = most / float(np.where(l1 > 0.0, l1, l2).min())
        for _ in range(HALVINGS):
            if fits(high_price):
                break
            high_price *= 4.0
        low_price = 0.0
        for _ in range(HALVINGS):
            middle = 0.5 * (low_price + high_price)
            if not low_price < middle < high_price:
                break
            low_price, high_price = (low_price, middle) if fits(middle) else (middle, high_price)
        return high_price

    def _slopes(self, w: Vector, v: Vector) -> list[Vector]:
        """Multiples of the norm's slope that may be its share of v at the ends."""
        slope = self.gauge.slope(w)
        edge = np.logical_or(*self.ends.touched(w)) | self.gauge.free
        along = float((slope * w)[~edge].sum())
        price = float((v * w)[~edge].sum()) / along if along > 0.0 else 0.0
        return [max(price, 0.0) * slope, np.zeros_like(w), v]

    def fenchel_young(self, w: Vector, v: Vector, reach: Vector) -> tuple[float, float]:
        found = self.bracket(w, v, reach)
        return found.value, found.excess

    def prox(self, point: Vector, step: float) -> Vector:
        return point - self.dual_prox(point, 1.0).v

    def dual_prox(self, s: Vector, sigma: float) -> DualProx:
        elastic, radius = self._sum()
        if elastic is not None:
            return _ball_prox(s, sigma, elastic, radius, self.ends)
        ball = self.gauge.ball
        assert ball is not None
        if ball.order == np.inf:
            nothing = np.zeros_like(s)
            return _separable_prox(s, sigma, nothing, nothing, self._edges(ball.scale, 1.0))
        return _norm_ball_prox(s, sigma, (ball.order, ball.scale), self.radius, self.ends)

    def substituted(self, factor: Vector, multiplier: float) -> BoundedConstrained:
        return BoundedConstrained(self.gauge.substituted(factor), self.radius, self.ends.substituted(factor))

    def restricted(self, keep: Mask) -> BoundedConstrained:
        return replace(self, gauge=self.gauge.restricted(keep), ends=self.ends.restricted(keep))


def _inside(traits: Trait) -> Trait:
    """What of the facts of h still holds of h in a box."""
    return traits & ~(Trait.QUADRATIC | Trait.PIECEWISE_QUADRATIC | Trait.SMOOTH | Trait.BOUNDED_CURVATURE)


def _half_open(gauge: Gauge, box: WeightBounds) -> Mask:
    """Coordinates without a price, and with one end."""
    return np.asarray(gauge.free & (np.isinf(box.low) ^ np.isinf(box.high)))


def _split(
    inner: Callable[[Vector, Vector, Vector], tuple[float, float]],
    free: Mask,
    box: WeightBounds,
    point: tuple[Vector, Vector, Vector],
    target: Vector,
) -> Bracket:
    """v as the target and a multiplier of the bound where w is at an end, and as it is elsewhere.

    What the norm does not see belongs to the bounds alone.
    """
    w, v, reach = point
    low, high = box.touched(w)
    high, low = high & (v > target), low & (v < target)
    seen = np.where((high | low) & ~free, target, v)
    other = np.where(free, v, v - seen)
    value, excess = inner(w, seen, reach + ROUNDED * (np.abs(v) + np.abs(seen)))
    nothing = np.zeros_like(w)
    unseen = bracket(w, np.where(free, v, 0.0), np.where(free, reach, 0.0), (nothing, nothing), box)
    held = np.where(free, 0.0, other) * np.where(high, box.high - w, np.where(low, box.low - w, 0.0))
    return Bracket(value + unseen.value + float(np.maximum(held, 0.0).sum()), excess, unseen.pull)


def _block(vector: Vector | None) -> BlockSum | None:
    """A rank one that is subtracted, as one block of all coordinates."""
    return None if vector is None else BlockSum(np.zeros(len(vector), dtype=np.intp), vector)


def _at_ends(w: Vector, v: Vector, prices: tuple[Vector, Vector], box: WeightBounds) -> Vector:
    """What is left of v at the ends beyond the slopes of l1|w| + l2 w²; at zero, beyond both of them."""
    l1, l2 = prices
    bend = 2.0 * l2 * w
    right, left = bend + l1 * np.where(w < 0.0, -1.0, 1.0), bend + l1 * np.where(w > 0.0, 1.0, -1.0)
    return _left(w, v, np.clip(v, left, right), box)


def _left(w: Vector, v: Vector, slope: Vector, box: WeightBounds) -> Vector:
    """slope − v at the ends that it holds: ≥ 0 at a lower one, ≤ 0 at an upper one."""
    rest = slope - v
    low, high = (w <= box.low) & (rest > 0.0), (w >= box.high) & (rest < 0.0)
    return np.where(low | high, rest, 0.0)


def _separable_prox(s: Vector, sigma: float, l1: Vector, l2: Vector, box: WeightBounds) -> DualProx:
    """In one coordinate the nearest point in an interval to a minimum is the minimum in the interval."""
    stiff = sigma + 2.0 * l2
    size = np.maximum(np.abs(s) - l1, 0.0) / stiff
    w = np.copysign(size, s)
    inside = (w > box.low) & (w < box.high)
    w = np.clip(w, box.low, box.high)
    alive = inside & ((size > 0.0) | (l1 == 0.0))
    # v without a difference of large numbers where it can be had
    v = np.where(inside & (size > 0.0), np.copysign(l1, s) + 2.0 * l2 * w, s - sigma * w)
    v[(l1 == 0.0) & (l2 == 0.0) & box.open_] = 0.0
    return DualProx(v, np.nan, np.where(alive, 2.0 * l2 / stiff, 1.0), None, None, w)


def _ball_prox(s: Vector, sigma: float, elastic: Elastic, radius: float, box: WeightBounds) -> DualProx:
    """The nearest point of Σ l1|w| + l2 w² ≤ radius in the box: at a multiplier the prox is a formula."""
    l1, l2 = elastic
    x = s / sigma

    def at(mu: float) -> tuple[Vector, Mask, Vector]:
        damping = 1.0 + 2.0 * mu * l2
        size = np.maximum(np.abs(x) - mu * l1, 0.0) / damping
        w = np.copysign(size, x)
        inside = (w > box.low) & (w < box.high) & ((size > 0.0) | (l1 == 0.0))
        return np.clip(w, box.low, box.high), inside, damping

    def over(mu: float) -> float:
        w = at(mu)[0]
        return float((l1 * np.abs(w) + l2 * w * w).sum()) - radius

    mu = _root(over, float(np.abs(x).max(initial=1.0)) / float(max(l1.max(), l2.max(), TINY)))
    w, inside, damping = at(mu)
    return _projected(s, sigma, (w, inside / damping), np.copysign(l1, w) + 2.0 * l2 * w, mu > 0.0)


def _projected(
    s: Vector, sigma: float, found: tuple[Vector, Vector], normal: Vector, edged: bool
) -> DualProx:
    """w on the edge of a ball, or inside it: what is left of dw/dx beside the normal of the edge."""
    w, diagonal = found
    rank_one = None
    turned = diagonal * normal
    along = float(normal @ turned)
    if edged and along > 0.0:
        rank_one = turned / np.sqrt(along)
    return DualProx(s - sigma * w, np.nan, 1.0 - diagonal, rank_one, None, w)


def _largest_prox(s: Vector, sigma: float, scale: Vector, strength: float, box: WeightBounds) -> DualProx:
    """argmin of ½‖w − x‖² + τ max|scale·w| in the box: cut at a height t whose slope is τ."""
    x, tau = s / sigma, strength / sigma
    seen = scale > 0.0
    inverse = np.where(seen, 1.0 / np.where(seen, scale, 1.0), 0.0)
    least = float((scale * np.abs(box.nearest)).max(initial=0.0))
    start = np.clip(x, box.low, box.high)

    def at(height: float) -> tuple[Vector, Mask]:
        cut = seen & (np.abs(start) * scale > height)
        return np.where(cut, np.copysign(height * inverse, start), start), cut

    def lacking(height: float) -> float:
        cut = at(height)[1]
        return float(((np.abs(x) - height * inverse) * inverse)[cut].sum()) - tau

    top = float((scale * np.abs(start)).max(initial=0.0))
    height = least + _root(lambda rise: lacking(least + rise), max(top - least, TINY))
    w, cut = at(height)
    cut &= (w > box.low) & (w < box.high)
    inside = (x > box.low) & (x < box.high) & ~cut & ~(seen & (np.abs(x) * scale > height))
    pinned = height <= least or lacking(height) < -TIED * tau  # by a weight whose bound ends at this height
    row = np.where(cut & (not pinned), np.copysign(inverse, w), 0.0)
    length = float(np.linalg.norm(row))
    rank_one = row / length if length > 0.0 else None
    return DualProx(s - sigma * w, np.nan, np.where(inside, 0.0, 1.0), None, _block(rank_one), w)


def _norm_at(
    x: Vector, order: float, scale: Vector, box: WeightBounds
) -> Callable[[float], tuple[Vector, Mask, Vector]]:
    """w(m): w + m scale^p |w|^(p−1) = x, clipped; where it is inside, and dw/dx there."""
    size, powers = np.abs(x), scale**order
    last = [size]

    def at(m: float) -> tuple[Vector, Mask, Vector]:
        with np.errstate(all="ignore"):
            t = last[0] = shrunken(size, m * powers, order, np.maximum(last[0], TINY))
        w = np.copysign(t, x)
        inside = (w > box.low) & (w < box.high)
        w = np.clip(w, box.low, box.high)
        with np.errstate(all="ignore"):
            bend = m * (order - 1.0) * powers * np.maximum(np.abs(w), TINY) ** (order - 2.0)
        return w, inside, np.where(inside, 1.0 / (1.0 + bend), 0.0)

    return at


def _norm_ball_prox(
    s: Vector, sigma: float, ball: tuple[float, Vector], radius: float, box: WeightBounds
) -> DualProx:
    order, scale = ball
    at = _norm_at(s / sigma, order, scale, box)
    mu = _root(lambda m: norm(scale * at(m)[0], order) - radius, 1.0)
    w, _, diagonal = at(mu)
    return _projected(s, sigma, (w, diagonal), _normal(w, order, scale), mu > 0.0)


def _normal(w: Vector, order: float, scale: Vector) -> Vector:
    """The slope of ‖scale·w‖."""
    size = norm(scale * w, order)
    if size == 0.0:
        return np.zeros_like(w)
    return np.asarray(scale * np.sign(w) * (np.abs(scale * w) / size) ** (order - 1.0))


def _norm_prox(
    s: Vector, sigma: float, ball: tuple[float, Vector], strength: float, box: WeightBounds
) -> DualProx:
    """argmin of ½‖w − x‖² + τ‖scale·w‖ in the box: m with m‖scale·w(m)‖^(p−1) = τ, which rises in m."""
    (order, scale), tau, x = ball, strength / sigma, s / sigma
    seen = scale > 0.0
    open_ = seen & (((x > 0.0) & (box.high > 0.0)) | ((x < 0.0) & (box.low < 0.0)))
    if (
        not box.nearest[seen].any()
        and norm((x / np.where(seen, scale, 1.0))[open_], order / (order - 1.0)) <= tau
    ):
        w = np.where(seen, 0.0, np.clip(x, box.low, box.high))
        return DualProx(s - sigma * w, np.nan, 1.0 - (~seen & (w == x)), None, None, w)
    at = _norm_at(x, order, scale, box)

    def missing(m: float) -> float:
        return float(tau - m * norm(scale * at(m)[0], order) ** (order - 1.0))

    w, inside, diagonal = at(_root(missing, 1.0))
    size = norm(scale * w, order)
    normal = np.where(inside, _normal(w, order, scale), 0.0)
    share = tau * (order - 1.0) / size
    turned = diagonal * normal
    pivot = 1.0 - share * float(normal @ turned)
    rank_one = turned * np.sqrt(share / pivot) if pivot > 0.0 else None
    return DualProx(s - sigma * w, np.nan, 1.0 - diagonal, None, _block(rank_one), w)


def _root(over: Callable[[float], float], start: float) -> float:
    """The least x ≥ 0 with over(x) ≤ 0 of a falling function, nearly to the last bit; secants, halvings."""
    below = over(0.0)
    if not below > 0.0:
        return 0.0
    low, high = 0.0, start
    above = over(high)
    for _ in range(HALVINGS):
        if above <= 0.0:
            break
        low, below, high = high, above, 4.0 * high
        above = over(high)
        if high > 1e280:
            return high
    for k in range(HALVINGS):
        if above == 0.0 or high - low <= 2e-16 * high:
            break
        middle = low + below * (high - low) / (below - above) if k % 3 else 0.5 * (low + high)
        if not low < middle < high:
            middle = 0.5 * (low + high)
        if not low < middle < high:
            break
        value = over(middle)
        if value > 0.0:
            low, below = middle, value
        else:
            high, above = middle, value
    return high
