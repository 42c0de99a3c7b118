"""Norms of groups as halves of the method: each is smooth but at zero, with a size of its own beside it."""

from __future__ import annotations

import numpy as np

from dualgap.arrays import Vector
from dualgap.penalties.base import Groups
from dualgap.solvers.interior_point.boxes import Move
from dualgap.solvers.interior_point.extension import Extension, PricedSizes, SizeColumns
from dualgap.solvers.interior_point.weights import (
    Bend,
    PenalisedSeparable,
    PenaltyHalf,
    SeparableBall,
    shortened,
)

FIRM = 1e-8  # of price/t: holds t where the rows have hardly any curvature
ROOM = 0.25  # share of a ball that sizes may take beyond the norms at the start: a choice


class _Sizes(PenaltyHalf):
    """F(w, t) = Σ_g ‖u_g‖²/2t_g + t_g/2, u = scale ∘ w, at a price: Σ_g ‖u_g‖ where t is best. Pairs (t, ν)
    stand behind those of `plain`, which has what else is paid for.

    The slope v = scale² ∘ w/t is carried on its own: where a group goes to zero w and t lose their digits
    together, and v must not. With D the whole curvature over w and e the mixed one of its t, share = D⁻¹e.
    What eᵀD⁻¹e leaves of the curvature over t is ν/t, and what `plain` holds of w.
    """

    linked = True
    local = True
    sizes = True
    _lift: Vector

    def __init__(self, groups: Groups, plain: PenaltyHalf) -> None:
        self._group, self._plain = groups.group, plain
        self._square = groups.scale * groups.scale
        self._inverse = np.divide(
            1.0, self._square, out=np.zeros_like(self._square), where=groups.scale > 0.0
        )
        self._groups = int(groups.group.max(initial=-1)) + 1
        self.count = plain.count + self._groups
        self.free = np.asarray((groups.scale == 0) & (groups.l1 == 0))

    def _sums(self, values: Vector) -> Vector:
        return np.asarray(np.bincount(self._group, values, self._groups), dtype=np.float64)

    def _norms(self, w: Vector) -> Vector:
        return np.sqrt(self._sums(self._square * w * w))

    def _begun(self, w: Vector, size: Vector) -> None:
        self._slope = self._square * w / size[self._group]

    def bind(self, slack: Vector, price: Vector) -> None:
        first = self._plain.count
        self._plain.bind(slack[:first], price[:first])
        self._slack, self._price = slack[first:], price[first:]

    def _eliminated(self, w: Vector, price: float, curvature: Vector) -> tuple[Vector, Vector, Vector]:
        """D, share, and what is left over t, where F has this price and w this curvature without it."""
        size, group = self._slack, self._group
        self._turn = self._inverse * self._slope  # along which, with t, a norm is straight
        self._pull = 0.5 * (1.0 - self._sums(self._slope * self._turn))  # ∂F/∂t
        self._paid = price
        self._bent = self._square / size[group]
        self._miss = self._bent * w - self._slope
        own = price * self._bent
        whole = curvature + own
        kept = np.divide(curvature, whole, out=np.zeros_like(w), where=whole > 0.0)
        self._rest = kept * self._turn
        self._share = self._rest - self._turn
        held = self._sums(own * self._turn * self._rest)
        return whole, self._share, held + (self._price + FIRM * price) / size

    def _rights(self, bend: Bend | None) -> tuple[Vector, Vector]:
        """The constant of Δv and what the equation of t has on its right side, both at the price 1."""
        right = -self._pull
        if bend is not None:
            dt = bend.ds[: self._groups]
            dv = self._bent * (bend.dw - self._turn * dt[self._group])
            right = right + 0.5 * self._sums(self._inverse * dv * dv)
        return self._miss, right + self._sums(self._turn * self._miss)

    def _moved(self, dw: Vector, dt: Vector, ds: float) -> tuple[Vector, Move]:
        dv = self._bent * (dw - self._rest * dt[self._group]) + self._miss
        dw = dw - self._share * dt[self._group]
        _, plain = self._plain.move(dw, ds)
        price = self._lift - dt * self._price / self._slack
        inner = np.append(plain.inner, dv)
        return dw, Move(np.append(plain.slack, dt), np.append(plain.price, price), inner)

    def advance(self, inner: Vector, primal: float, dual: float) -> None:
        first = len(inner) - len(self._square)
        self._plain.advance(inner[:first], primal, dual)
        self._slope = self._slope + dual * inner[first:]

    def promise(self, dw: Vector, ds: Vector) -> float:
        turned = dw - self._turn * ds[: self._groups][self._group]
        return self._paid * float(turned @ (self._bent * turned))

    def _slopes(self, w: Vector, size: Vector) -> tuple[Vector, Vector]:
        """∂F/∂w and ∂F/∂t."""
        slope = self._square * w / size[self._group]
        return slope, 0.5 * (1.0 - self._sums(self._inverse * slope * slope))

    def longest(self, w: Vector, dw: Vector, ds: Vector, step: float) -> float:
        dt, before = ds[: self._groups], self._slopes(w, self._slack)

        def risen(length: float) -> float:
            slope, pull = self._slopes(w + length * dw, self._slack + length * dt)
            return self._paid * float((slope - before[0]) @ dw + (pull - before[1]) @ dt)

        return shortened(step, risen, self.promise(dw, ds))


class PenalisedGroups(_Sizes):
    """Σ l1|w| + strength Σ_g ‖u_g‖: boxes, and F at the price `strength`."""

    def __init__(self, groups: Groups, strength: float) -> None:
        super().__init__(groups, PenalisedSeparable(strength * groups.l1, np.zeros_like(groups.l1)))
        self._strength = strength

    def start(self, w: Vector, mu: float) -> tuple[Vector, Vector, Vector]:
        w, slack, price = self._plain.start(w, mu)
        size = self._norms(w) + 2.0 * mu / self._strength
        self._begun(w, size)
        return w, np.append(slack, size), np.append(price, mu / size)

    def linearise(self, w: Vector) -> tuple[Vector, Vector, Extension]:
        r, curvature, _ = self._plain.linearise(w)
        whole, share, corner = self._eliminated(w, self._strength, curvature)
        return r + self._strength * self._slope, whole, SizeColumns(share, self._group, corner)

    def constant(self, aim: Vector, bend: Bend | None) -> tuple[Vector, Vector]:
        constant, _ = self._plain.constant(aim[: self._plain.count], bend)
        self._lift = aim[self._plain.count :] / self._slack
        miss, right = self._rights(bend)
        return constant + self._paid * miss, self._lift + self._price + self._paid * right

    def move(self, dw: Vector, ds: Vector) -> tuple[Vector, Move]:
        return self._moved(dw, ds, 0.0)


class GroupBall(_Sizes):
    """Σ l1|w| + F(w, t) + κ = radius, κ ≥ 0 priced at τ: a ball for the first, whose radius F shortens."""

    _plain: SeparableBall

    def __init__(self, groups: Groups, radius: float) -> None:
        super().__init__(groups, SeparableBall(groups.l1, np.zeros_like(groups.l1), radius))
        self._radius, self._l1 = radius, groups.l1

    def _beyond(self, w: Vector, size: Vector) -> float:
        """F."""
        return 0.5 * float((self._sums(self._square * w * w) / size + size).sum())

    def start(self, w: Vector, mu: float) -> tuple[Vector, Vector, Vector]:
        length = float(self._l1 @ np.abs(w) + self._norms(w).sum())
        w = w * min(1.0, 0.5 * self._radius / max(length, 1e-300))
        size = self._norms(w) + 2.0 * ROOM * self._radius / self._groups
        self._plain.radius = self._radius - self._beyond(w, size)
        self._begun(w, size)
        w, slack, price = self._plain.start(w, mu)
        return w, np.append(slack, size), np.append(price, mu / size)

    def linearise(self, w: Vector) -> tuple[Vector, Vector, Extension]:
        self._plain.radius = self._radius - self._beyond(w, self._slack)
        r, curvature, below = self._plain.linearise(w)
        whole, share, corner = self._eliminated(w, self._plain.price, curvature)
        row = below.row + self._slope
        row = np.append(row, self._pull - self._sums(share * row))
        extension = PricedSizes(share, self._group, corner, row, below.softness)
        return r + self._paid * self._slope, whole, extension

    def constant(self, aim: Vector, bend: Bend | None) -> tuple[Vector, Vector]:
        own = None if bend is None else Bend(bend.dw, bend.ds[-1])
        constant, right = self._plain.constant(aim[: self._plain.count], own)
        self._lift = aim[self._plain.count :] / self._slack
        miss, beyond = self._rights(bend)
        constant = constant + self._paid * miss
        value = self._lift + self._price + self._paid * beyond
        if bend is not None:
            turned = bend.dw - self._turn * bend.ds[:-1][self._group]
            bent = self._bent * turned
            constant = constant + bend.ds[-1] * bent
            value = value + bend.ds[-1] * self._sums(self._turn * bent)
            right += 0.5 * float(turned @ bent)
        return constant, np.append(value, right)

    def move(self, dw: Vector, ds: Vector) -> tuple[Vector, Move]:
        return self._moved(dw, ds[:-1], float(ds[-1]))
