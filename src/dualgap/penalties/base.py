"""What a penalty must answer.

A user names a `Penalty`; bound to the columns it becomes a `Gauge`, the function h of the weights with
its scales; a `Regulariser` (forms.py) is a gauge with a strength or a radius. Solvers see only the last.
"""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, NamedTuple, NoReturn, Protocol, Self

import numpy as np

from dualgap.arrays import SMALLEST, Index, Mask, Matrix, Vector
from dualgap.errors import DataError
from dualgap.traits import Trait

if TYPE_CHECKING:
    from dualgap.penalties.differences import Sums
    from dualgap.penalties.folded import Folded
    from dualgap.penalties.forms import Constrained

LOST = 2.0**-46  # 128 roundings: powers, a sum in pairs and a root stay below 64
LEAST = SMALLEST  # twice what a product that underflows may lose
FAINT = 2.0**-1000  # numbers above it have all their digits


@dataclass(frozen=True, eq=False)
class BlockSum:
    """Σ_b c_b c_bᵀ, c_b being `vector` on the coordinates that `label` gives the number b, zero elsewhere."""

    label: Index
    vector: Vector

    def times(self, x: Vector) -> Vector:
        """Its product with a vector."""
        return np.asarray(self.vector * np.bincount(self.label, self.vector * x)[self.label])

    def parts(self) -> Iterator[tuple[Index, Vector]]:
        """Where each c_b is not zero, and what it is there."""
        live = np.flatnonzero(self.vector)
        order = live[np.argsort(self.label[live], kind="stable")]
        cuts = np.flatnonzero(np.diff(self.label[order])) + 1
        for where in np.split(order, cuts) if len(order) else ():
            yield where, self.vector[where]

    def columns(self) -> Matrix:
        """The c_b that are not zero, one a column."""
        parts = list(self.parts())
        out = np.zeros((len(self.vector), len(parts)))
        for k, (where, vector) in enumerate(parts):
            out[where, k] = vector
        return out

    def over(self, sigma: float) -> BlockSum:
        """Multiplied by sigma > 0."""
        return BlockSum(self.label, np.sqrt(sigma) * self.vector)


@dataclass(frozen=True)
class Projection:
    """A nearest point and its Jacobian, diag(diagonal) − rank_one·rank_oneᵀ.

    To that of what is no projection but a prox `blocks` are added; from that of its dual half subtracted.
    """

    point: Vector
    diagonal: Vector
    rank_one: Vector | None
    blocks: BlockSum | None = None


class Elastic(NamedTuple):
    """Σ l1_j |w_j| + l2_j w_j²: none, l1, l2 and elastic_net."""

    l1: Vector
    l2: Vector


class Ball(NamedTuple):
    """‖scale ∘ w‖ of an order above 1: l2_norm, lp and linf."""

    order: float
    scale: Vector


class Groups(NamedTuple):
    """Σ l1_j |w_j| + Σ_g ‖(scale ∘ w)_g‖₂, `group` numbering the g: group_lasso and sparse_group."""

    l1: Vector
    scale: Vector
    group: Index


class Lengths(NamedTuple):
    """Σ_g l1_g ‖w_g‖ + l2_g ‖w_g‖², `group` numbering the g: l21_l2."""

    l1: Vector
    l2: Vector
    group: Index


class SortedPrices(NamedTuple):
    """Σ prices_i |scale ∘ w|_(i), the largest at the highest price: slope."""

    prices: Vector
    scale: Vector


class Counted(NamedTuple):
    """#{j in which: w_j ≠ 0} + Σ l2_j w_j²: l0 and l0_l2."""

    which: Mask
    l2: Vector


def refused() -> NoReturn:
    """What only convex gauges have."""
    raise NotImplementedError("not convex")


class Gauge(Protocol):
    """h(w) ≥ 0, h(0) = 0, on weighted coordinates; a coordinate of weight zero is free.

    What only convex gauges have is refused here, and what has no special form says so.
    """

    @property
    def traits(self) -> Trait:
        """Every fact that holds of h."""

    @property
    def free(self) -> Mask:
        """Coordinates that h does not see."""

    @property
    def elastic(self) -> Elastic | None:
        """h as a sum over the coordinates of l1 |w| + l2 w², None where it is no such sum."""
        return None

    @property
    def ball(self) -> Ball | None:
        """h as a norm of an order above 1, None where it is none."""
        return None

    @property
    def groups(self) -> Groups | None:
        """h as a sum of Euclidean norms over groups with an l1 part, None where it is none."""
        return None

    @property
    def lengths(self) -> Lengths | None:
        """h as a sum over groups of their lengths and the squares of these, None where it is none."""
        return None

    @property
    def falling(self) -> SortedPrices | None:
        """h as a sum of sizes in falling order at falling prices, None where it is none."""
        return None

    @property
    def count(self) -> Counted | None:
        """h as a number of coordinates with a sum of squares, None where it is none."""
        return None

    @property
    def sums(self) -> Sums | None:
        """h as an l1 norm of what the weights are running sums of; None where it is none."""
        return None

    @property
    def concave(self) -> Concave | None:
        """h with its tangents and chords where it is concave in |w|, else None."""
        return None

    @property
    def folded(self) -> Folded | None:
        """h with where it bends and where it is flat, if it rises at first as an l1 norm does, else None."""
        return None

    def value(self, w: Vector) -> float:
        """h(w)."""

    def slope(self, w: Vector) -> Vector:
        """A subgradient at w, the one nearest to zero on kinks of |w_j|. Convex gauges only."""
        refused()

    def substituted(self, factor: Vector) -> Gauge:
        """The gauge u ↦ h(factor ∘ u)."""

    def extended(self) -> Gauge:
        """The same with one free coordinate appended: the intercept."""

    def restricted(self, keep: Mask) -> Gauge:
        """The same on a subset of the coordinates, the others being zero."""

    def levelled(self, scale: Vector) -> Vector:
        """The scales at which columns suit h best, beside those that would give each of them unit size."""
        return scale

    def shrink(self, w: Vector, radius: float) -> Vector:
        """The longest multiple of w, at most w itself, with h ≤ radius; free coordinates stay."""
        if self.value(w) <= radius:
            return w
        k = self.stretch(w, radius)
        for slack in (0.0, 1e-16, 4e-16, 1e-15, 1e-14, 1e-13):  # down to the last bit
            shrunk = np.asarray(np.where(self.free, w, w * (k * (1.0 - slack))))
            if self.value(shrunk) <= radius:
                break
        return shrunk

    def stretch(self, w: Vector, radius: float) -> float:
        """k ≥ 0 with h(k w) = radius, up to rounding."""
        return radius / self.value(w)

    def project(self, point: Vector, radius: float) -> Projection:
        """The nearest point with h ≤ radius."""
        refused()

    def prox(self, point: Vector, step: float) -> Vector:
        """argmin over w of step·h(w) + ½‖w − point‖²."""
        refused()

    def penalised_conjugate(self, v: Vector, strength: float) -> float:
        """(strength·h)*(v), v in its domain; v on free coordinates is not looked at."""

    def penalised_scale(self, v: Vector, strength: float) -> float:
        """The largest t in [0, 1] for which (strength·h)*(t v) is finite."""

    def penalised_dual_prox(self, s: Vector, sigma: float, strength: float) -> Projection:
        """v = s − σ prox(s/σ), the dual half of Moreau's identity, with dv/ds."""
        refused()

    def support(self, v: Vector, radius: float) -> float:
        """sup of v·w over h(w) ≤ radius."""

    def price(self, v: Vector, radius: float) -> float:
        """The multiplier μ ≥ 0 at which μ·radius + (μh)*(v) is least, up to rounding: that is `support`."""
        refused()

    def price_near(self, v: Vector, reach: Vector, radius: float) -> float:
        """The same, or more, for any v within `reach`."""
        return self.price(np.abs(v) + reach, radius)

    def fenchel_young(self, w: Vector, v: Vector, reach: Vector, strength: float) -> tuple[float, float]:
        """(strength·h)(w) − w·v plus (strength·h)*, from above for every v within `reach`; and κ ≥ 0.

        Where the conjugate is infinite it is that of v/(1 + κ), the nearest multiple inside; for every w',
        w'·v ≤ (strength·h)*(v/(1 + κ)) + (1 + κ)·strength·h(w'). Free coordinates are not looked at. What the
        caller adds: a share LOST of the first, of |w|·|v| and strength·h(w), and of 1 + κ, for the rounding.
        """
        refused()

    @property
    def least(self) -> float:
        """The lowest price that strength 1 puts on a coordinate, infinite if none has one."""
        return np.inf

    def doubt(self, w: Vector, value: float) -> float:
        """How far the `value` that is computed at w may be from h(w), with what underflows."""

    def smallest_strength_at_zero(self, v: Vector) -> float:
        """The least strength for which v ∈ ∂(strength·h)(0); infinite if there is none."""

    def strengths_at_zero(self, v: Vector) -> Vector:
        """`smallest_strength_at_zero` of each group alone, where there are groups."""
        return np.array([self.smallest_strength_at_zero(v)])

    def shares_of_price(self, v: Vector) -> Vector | None:
        """For each coordinate a strength above which it is zero where w·v − strength·h(w) is largest, v ≥ 0.

        Whatever the others are. Infinite where it has no kink at zero; None where none has.
        """
        return None

    def strong_convexity(self) -> float:
        """The largest m with h(w) − m‖w‖² convex (in these coordinates)."""
        return 0.0


class Seminorm(Gauge):
    """h(tw) = |t| h(w), and so its conjugates are 0 or ∞."""

    def penalised_conjugate(self, v: Vector, strength: float) -> float:
        return 0.0

    def penalised_scale(self, v: Vector, strength: float) -> float:
        size = self.smallest_strength_at_zero(v)
        return 1.0 if size <= strength else strength / size

    def support(self, v: Vector, radius: float) -> float:
        return radius * self.smallest_strength_at_zero(v)


@dataclass(frozen=True, eq=False)
class ScaledGauge(Seminorm):
    """What gauges of an order with a scale for each coordinate share; scale zero makes a coordinate free."""

    order: float
    scale: Vector

    @property
    def free(self) -> Mask:
        return np.asarray(self.scale == 0.0)

    def substituted(self, factor: Vector) -> Self:
        return dataclasses.replace(self, scale=self.scale * np.abs(factor))

    def extended(self) -> Self:
        return dataclasses.replace(self, scale=np.append(self.scale, 0.0))

    def restricted(self, keep: Mask) -> Self:
        return dataclasses.replace(self, scale=self.scale[keep])


class Concave(Gauge, Protocol):
    """h(w) concave in |w|: every tangent is a weighted l1 norm above it, every chord one below it."""

    @property
    def concave(self) -> Self:
        return self

    def tangent(self, w: Vector, smoothing: float) -> Vector:
        """∂h/∂|w_j| at |w_j| + smoothing; 0 on free coordinates."""

    def chord(self, reach: float) -> Vector:
        """l1 with Σ l1_j |w_j| ≤ h(w) for every w with h(w) ≤ reach."""


class Penalty(ABC):
    """What the user names. Instances are frozen dataclasses."""

    name: ClassVar[str]
    takes_strength: ClassVar[bool] = True
    takes_factors: ClassVar[bool] = False
    takes_groups: ClassVar[bool] = False  # columns belong together
    sequence: tuple[float, ...] | None = None  # prices that are given one by one
    parts: tuple[int, ...] | None = None  # the group of each column, by number, where they are known
    slope_at_zero: ClassVar[str | None] = None  # the convex penalty that has the same there, by name
    ordered: ClassVar[bool] = False  # neighbouring columns belong together
    even: ClassVar[bool] = False  # is its gauge the same for all tables of so many columns?
    joint: ClassVar[bool] = False  # are the weights of a column in several outputs priced together?
    takes_sizes: ClassVar[bool] = False  # a path goes over the number of columns, not over λ
    formula: ClassVar[str]

    @abstractmethod
    def gauge(self, factors: Vector, scale: Vector) -> Gauge:
        """h(w) = penalty of scale ∘ w with per-column factors."""

    def at(self, lam: float) -> Self:
        """The same for this λ, which few have inside."""
        return self

    def grouped(self, groups: Index) -> Self:
        """The same for columns of these groups, by number."""
        raise DataError(f"groups= goes with group_lasso and sparse_group, not with {self.name}.")

    def tiled(self, times: int, intercept: bool) -> Self:
        """The same for so many copies of the columns, each with an intercept behind it if there is one."""
        return self

    def within(self, gauge: Gauge, budget: float) -> Constrained:
        """The constrained form, h ≤ budget."""
        from dualgap.penalties.forms import Constrained

        return Constrained(gauge, budget)

    def subject(self, budget: float) -> str:
        """The constrained form in words, to go behind those of the loss."""
        return f" subject to {self.formula} <= {budget:g}"

    def __str__(self) -> str:
        if not self.parameters:
            return self.name
        return f"{self.name}({', '.join(f'{value:g}' for value in self.parameters.values())})"

    @property
    def parameters(self) -> dict[str, float]:
        """The numbers that go into the formula, by name."""
        fields = dataclasses.fields(self)  # type: ignore[arg-type]
        return {f.name: getattr(self, f.name) for f in fields if not f.kw_only}


def refuse_factors(name: str, factors: Vector) -> None:
    """Norms that couple the columns take no per-column factors."""
    if not np.all(factors == 1.0):
        raise DataError(
            f"penalty_factors work with l0, l1, l2, elastic_net, bridge and groups, not with {name}; "
            "rescale the columns instead."
        )
