"""Norms of order q ≥ 2 as halves of the method: smooth but at zero, so that they go in by derivatives."""

from __future__ import annotations

import numpy as np

from dualgap.arrays import Vector
from dualgap.penalties.base import Ball
from dualgap.penalties.norm import norm, power
from dualgap.solvers.interior_point.boxes import Move
from dualgap.solvers.interior_point.extension import Extension, PriceRow, SizeColumn
from dualgap.solvers.interior_point.weights import Bend, PenaltyHalf, shortened

# Above order 2 a weight near zero has hardly any curvature, and Newton's step would throw it far. It is lent
# that of a weight of typical size, of half that size at the next step, and so on: choices.
LENT, LESS, LEAST = 0.5, 0.5, 1e-6
FIRM = 1e-8  # of strength/t: holds t where the curvatures have been raised


class _Powers(PenaltyHalf):
    """|scale ∘ w|^q, coordinate by coordinate, with the curvature lent to small ones."""

    linked = True
    local = True
    _diagonal: Vector

    def __init__(self, ball: Ball) -> None:
        self._order, self._scale = ball.order, ball.scale
        self.free = np.asarray(ball.scale == 0)
        self._lent = LENT / max(float(np.count_nonzero(ball.scale)), 1.0) ** (1.0 / ball.order)

    def _slopes(self, w: Vector, size: float) -> Vector:
        """(|u|/size)^(q−1) along w, u = scale ∘ w."""
        u = self._scale * w
        return np.asarray(self._scale * np.sign(u) * power(np.abs(u) / size, self._order - 1.0))

    def _bends(self, w: Vector, size: float) -> Vector:
        """(q−1) (|u|/size)^(q−2) / size along w, raised where u is small."""
        order = self._order
        if order == 2.0:
            return np.asarray(self._scale * self._scale / size)
        share = np.maximum(np.abs(self._scale * w) / size, self._lent)
        self._lent = max(LESS * self._lent, LEAST)
        return np.asarray((order - 1.0) * self._scale * self._scale * power(share, order - 2.0) / size)

    def _risen(self, w: Vector, dw: Vector, ds: float, step: float) -> float:
        """By how much the slope along the step rises, prices left as they are."""
        raise NotImplementedError

    def promise(self, dw: Vector, ds: float) -> float:
        return float(dw @ (self._diagonal * dw))

    def longest(self, w: Vector, dw: Vector, ds: float, step: float) -> float:
        return shortened(step, lambda length: self._risen(w, dw, ds, length), self.promise(dw, ds))


class PenalisedNorm(_Powers):
    """strength ‖u‖_q = min over t ≥ 0 of strength (Σ|u|^q / (q t^(q−1)) + (1 − 1/q) t): the pair (t, τ).

    With D the curvature over w and share = −w/t, that over t is shareᵀ D share, and D share the mixed one.
    """

    count = 1
    edged = False

    def __init__(self, ball: Ball, strength: float) -> None:
        super().__init__(ball)
        self._strength = strength
        self._rest = strength * (1.0 - 1.0 / ball.order)

    def start(self, w: Vector, mu: float) -> tuple[Vector, Vector, Vector]:
        size = norm(self._scale * w, self._order) + mu / self._rest
        return w, np.array([size]), np.array([mu / size])

    def linearise(self, w: Vector) -> tuple[Vector, Vector, Extension]:
        size, price = float(self._slack[0]), float(self._price[0])
        self._diagonal = self._strength * self._bends(w, size)
        self._share = np.where(self.free, 0.0, -w / size)
        self._pull = self._along(w, size)
        corner = price / size + FIRM * self._strength / size
        return self._strength * self._slopes(w, size), self._diagonal, SizeColumn(self._share, corner)

    def _along(self, w: Vector, size: float) -> float:
        """The slope over t."""
        return self._rest * (1.0 - float((norm(self._scale * w, self._order) / size) ** self._order))

    def constant(self, aim: Vector, bend: Bend | None) -> tuple[Vector, float]:
        self._lift = float(aim[0] / self._slack[0])
        return np.zeros_like(self._diagonal), self._lift + float(self._price[0]) - self._pull

    def move(self, dw: Vector, ds: float) -> tuple[Vector, Move]:
        price = self._lift - ds * self._price[0] / self._slack[0]
        return dw - ds * self._share, Move(np.array([ds]), np.array([price]), np.empty(0))

    def promise(self, dw: Vector, ds: float) -> float:
        return super().promise(dw + ds * self._share, 0.0)

    def _risen(self, w: Vector, dw: Vector, ds: float, step: float) -> float:
        size = float(self._slack[0])
        ahead, at = w + step * dw, size + step * ds
        over = float((self._slopes(ahead, at) - self._slopes(w, size)) @ dw)
        return self._strength * over + (self._along(ahead, at) - self._pull) * ds


class NormBall(_Powers):
    """Σ |u/radius|^q + κ = 1 with κ ≥ 0 priced at τ: the pair (κ, τ)."""

    count = 1

    def __init__(self, ball: Ball, radius: float) -> None:
        super().__init__(Ball(ball.order, ball.scale / radius))

    def start(self, w: Vector, mu: float) -> tuple[Vector, Vector, Vector]:
        w = w * min(1.0, 0.5 / max(norm(self._scale * w, self._order), 1e-300))
        kappa = 1.0 - self._value(w)
        return w, np.array([kappa]), np.array([mu / kappa])

    def _value(self, w: Vector) -> float:
        return float(power(np.abs(self._scale * w), self._order).sum())

    def _risen(self, w: Vector, dw: Vector, ds: float, step: float) -> float:
        over = self._slopes(w + step * dw, 1.0) - self._slopes(w, 1.0)
        return float(self._price[0]) * self._order * float(over @ dw)

    def linearise(self, w: Vector) -> tuple[Vector, Vector, Extension]:
        kappa, tau = float(self._slack[0]), float(self._price[0])
        self._bent = self._order * self._bends(w, 1.0)
        self._diagonal = tau * self._bent
        self._room = 1.0 - self._value(w) - kappa
        row = self._order * self._slopes(w, 1.0)
        return tau * row, self._diagonal, PriceRow(row, kappa / tau)

    def constant(self, aim: Vector, bend: Bend | None) -> tuple[Vector, float]:
        self._target = float(aim[0] / self._price[0])
        constant, right = np.zeros_like(self._bent), self._target - self._room
        if bend is not None:
            constant = bend.ds * self._bent * bend.dw
            right += 0.5 * float(self._bent @ (bend.dw * bend.dw))
        return constant, right

    def move(self, dw: Vector, ds: float) -> tuple[Vector, Move]:
        slack = self._target - ds * self._slack[0] / self._price[0]
        return dw, Move(np.array([slack]), np.array([ds]), np.empty(0))
