"""Smooth losses without a price on |w|, of sparse rows on a device or of more columns than rows.

No matrix of the columns is formed: a step of Newton is found by conjugate gradients, two products with X
each, and made no longer than the objective falls, which a vector or two along the way tell. A pass over X at
its end is the gradient of the next, and a proof.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dualgap.arrays import Vector
from dualgap.device.spaces import space
from dualgap.linalg.conjugate_gradients import conjugate_gradients
from dualgap.losses import Loss
from dualgap.proof.rounding import added_up, sums_of
from dualgap.streaming.resident import NearStart, ResidentPursuit, ResidentTask, Sampled, null_of
from dualgap.traits import Trait

PRODUCTS = 1000  # for one step, at most
NEAR = 0.1  # of the gap wanted: what conjugate gradients may leave where the loss is squared
FAR = 0.03  # of a gradient: what they may leave at first; with 0.3 squared_hinge with little ridge stalled
TRIES, LEVEL = 30, 0.1  # to find how long a step is to be, and how level the objective is then
HALF, AGAIN = 0.5, 9  # of a step: where less of it is to be taken, another is made, with the bends on its way
FLAT = 1e-12  # share of a column's squares below which what an intercept leaves of them is rounding


def nothing_yet(matrix: Any, task: ResidentTask) -> NearStart:
    """No weights, and the best constant."""
    a = None if task.weight is None else task.weight / added_up(task.weight)
    level = Sampled(None, task.y, a, task.statement, matrix, level=True).level
    return NearStart(np.zeros(task.statement.columns), level, None, null_of(task, level))


class ProductsPursuit(ResidentPursuit):
    """From no weights to the proven ones."""

    name = "resident products"

    def __init__(self, matrix: Any, task: ResidentTask, start: NearStart | None = None) -> None:
        super().__init__(matrix, task, nothing_yet(matrix, task) if start is None else start)

    def _move(self, g: Vector, objective: float) -> None:
        """The step, as long as it pays."""
        task, matrix, visit = self.task, self.matrix, self.visit
        assert visit is not None
        (loss, centre, _), t = visit.block.centred, visit.t
        near = self.seems / max(objective, 1e-4 * self.null)
        enough = (NEAR * task.tolerance / max(near, 1e-300)) ** 0.5
        if Trait.QUADRATIC not in loss.traits:
            enough = max(enough, near**0.5)
        slope = g + self.ridge * self.coef
        s = [] if task.weight is None else [task.weight]
        h, share = loss.second_derivative(centre, t), 0.0
        for _ in range(AGAIN):
            curve = ProductCurvature(matrix, h * s[0] if s else h, task, matrix.here(self.ridge))
            step = conjugate_gradients(
                curve.times, matrix.here(-slope), curve.diagonal, min(enough, FAR), PRODUCTS
            )
            along = matrix.product(step)
            lift = -curve.level(along)
            along, step = along + lift, matrix.host(step)
            toll, steep = float((self.ridge * self.coef) @ step), float((self.ridge * step) @ step)

            def tilt(share: float) -> float:
                risk = sums_of(Along(loss), [centre, t, along, *s], (share,)).values[0]  # noqa: B023
                return float(risk) / task.heavy + toll + share * steep  # noqa: B023

            share = shortened(tilt, float(slope @ step))
            if share >= HALF:
                break
            h = space(h).maximum(h, bent(loss, centre, t, share * along))
        self.coef, self.level = self.coef + share * step, self.level + share * lift


def bent(loss: Loss, y: Any, t: Any, along: Any) -> Any:
    """The mean curvature along the way: rows without any that reach a bend have some."""
    xp = space(t)
    some = abs(along) > 0.0
    change = loss.derivative(y, t + along) - loss.derivative(y, t)
    return xp.finite(change / xp.where(some, along, xp.ones_like(along)))


def shortened(tilt: Callable[[float], float], first: float) -> float:
    """The share of a step after which a convex function hardly falls: `tilt` is its slope, `first` at 0."""
    low, high, down, up = 0.0, 1.0, first, tilt(1.0)
    if up <= LEVEL * abs(first):
        return 1.0
    for _ in range(TRIES):
        share = low + (high - low) * (down / (down - up) if np.isfinite(up) else 0.5)
        now = tilt(share)
        if abs(now) <= LEVEL * abs(first):
            break
        if now < 0.0:
            low, down, up = share, now, 0.5 * up  # Illinois: neither end stays for ever
        else:
            high, up, down = share, now, 0.5 * down
    return share


@dataclass(frozen=True)
class Along:
    """The slope of a row's loss along the way, at a share of it."""

    loss: Loss

    def __call__(self, y: Any, t: Any, along: Any, *rest: Any) -> tuple[list[Any], list[Any]]:
        *s, share = rest
        found = self.loss.derivative(y, t + share * along) * along
        return [s[0] * found if s else found], []


class ProductCurvature:
    """Xᵀ diag(h) X + ridge as products, the intercept at its best."""

    def __init__(self, matrix: Any, h: Any, task: ResidentTask, ridge: Any) -> None:
        h = h / task.heavy
        self.matrix, self.h, self.ridge = matrix, h, ridge
        self.whole = added_up(h) if task.statement.intercept else 0.0
        squares = matrix.squares(h)
        own = squares
        if self.whole > 0.0:
            own = squares - matrix.pulled(h[:, None])[:, 0] ** 2 / self.whole
        own = matrix.torch.maximum(own, FLAT * squares)
        self.diagonal = (own + ridge).clamp(min=1e-300)

    def level(self, z: Any) -> float:
        """The constant that is best taken off."""
        return float(self.h @ z) / self.whole if self.whole > 0.0 else 0.0

    def times(self, v: Any) -> Any:
        """That times v."""
        z = self.matrix.product(v)
        if self.whole > 0.0:
            z = z - (self.h @ z) / self.whole
        return self.matrix.pulled((self.h * z)[:, None])[:, 0] + self.ridge * v
