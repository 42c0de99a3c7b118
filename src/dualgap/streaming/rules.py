"""θ as a formula of a row: some numbers for each column and a short list, never a number for each row."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from scipy.special import softmax

from dualgap.arrays import Index, Matrix, Vector
from dualgap.losses import Loss
from dualgap.losses.shifted import parted_targets
from dualgap.streaming.far import NearBend, SeenBend, far_out

FAR = 2.5  # times ρ that a z is taken to move at most: few rows are as far out, and what they lose is clipped
FEWER = 4  # where one row in so many is near an edge, all are looked at in one product


def scored(X: Any, w: Vector) -> Any:
    """Xw + b; rules keep a constant behind every vector of weights, 0 where the problem has none."""
    return X @ w[:-1] + w[-1]


@dataclass(frozen=True, eq=False)
class SlopeAt:
    """τ times the slope of the loss at the predictions of some weights."""

    loss: Loss
    w: Vector
    tau: float = 1.0
    kind: ClassVar[str] = "slope"

    def slopes(self, X: Any, y: Vector, numbers: Index) -> Vector:
        return np.asarray(self.tau * self.loss.derivative(y, scored(X, self.w)))


@dataclass(frozen=True, eq=False)
class AffineSlopes:
    """κ·[x − shift, y − level, 1], twice: what the moments of the squared loss give."""

    shift: Vector
    kappa: Vector
    kind: ClassVar[str] = "affine"

    def slopes(self, X: Any, y: Vector, numbers: Index) -> Vector:
        k = self.kappa
        y = y if y.ndim == 1 else y[:, 0] - y[:, 1]
        return np.asarray(
            2.0 * ((X @ k[:-2] + (k[-1] - self.shift[:-1] @ k[:-2])) + (y - self.shift[-1]) * k[-2])
        )


@dataclass(frozen=True, eq=False)
class CurvedSlopes:
    """τ [L'(z_w) + h (z_ahead − z_w)] h the safe curvature at z_base: what a model foretells.

    Rows far out in one of some columns, or near a bend, have weights of their own in place of w and base.
    """

    loss: Loss
    w: Vector
    ahead: Vector
    base: Vector
    tau: float
    centre: Vector
    scale: Vector
    rho: float
    columns: Index = field(default_factory=lambda: np.empty(0, dtype=np.intp))
    apart: Vector | None = None
    near: NearBend | None = None
    hair: float = 0.0  # slopes of no more are none: a free column that one row has is orthogonal to θ then
    kind: ClassVar[str] = "curved"

    def slopes(self, X: Any, y: Vector, numbers: Index, seen: SeenBend | None = None) -> Vector:
        """`seen` is what somebody has found out about these rows and the bend before."""
        if self.near is not None and (seen is None or seen.near is not self.near):
            seen = SeenBend.of(self.near, X, y)
        z = None if seen is None else seen.scored(self.w)
        z, step = scored(X, self.w) if z is None else z, scored(X, self.ahead - self.w)
        same = np.array_equal(self.w, self.base)
        base, u = z if same else scored(X, self.base), self.loss.derivative(y, z)
        unit = (self.centre, self.scale, self.rho)
        u = u + safe_curvature(self.loss, y, base, X, unit, u if same else None) * step
        far = far_out(X, self.columns, self.centre, self.scale)
        if self.near is not None and seen is not None:
            apart = seen.away <= self.near.reach
            apart[far] = True
            far = np.flatnonzero(apart)
        if self.apart is not None and len(far):
            X, y = X[far], y[far]
            z, step = scored(X, self.apart), scored(X, self.ahead - self.apart)
            u[far] = self.loss.derivative(y, z) + self.loss.second_derivative(y, z) * step
        if self.hair > 0.0:
            u[np.abs(u) <= self.hair] = 0.0
        return np.asarray(self.tau * u)


@dataclass(frozen=True, eq=False)
class JointSlopes:
    """Shares τ [π_w + π_base ∘ (d − π_base·d)], d = z_ahead − z_w: what a model of the softmax foretells.

    A row of weights for each class, its constant last. Shares of a row's own class are what others leave.
    """

    w: Matrix
    ahead: Matrix
    base: Matrix
    tau: float
    kind: ClassVar[str] = "joint"

    def slopes(self, X: Any, y: Vector, numbers: Index) -> Matrix:
        z = X @ self.w[:, :-1].T + self.w[:, -1]
        d = X @ (self.ahead - self.w)[:, :-1].T + (self.ahead - self.w)[:, -1]
        share = softmax(z, axis=1)
        base = share
        if not np.array_equal(self.w, self.base):
            base = softmax(X @ self.base[:, :-1].T + self.base[:, -1], axis=1)
        return np.asarray(self.tau * (share + base * (d - (base * d).sum(axis=1, keepdims=True))))


def safe_curvature(
    loss: Loss,
    y: Vector,
    z: Vector,
    X: Any,
    unit: tuple[Vector, Vector, float],
    slope: Vector | None = None,
) -> Vector:
    """L'', lowered where a move of z within reach would take the slope, L'(z), out of the domain.

    How far out a row is counts only where the edge is near: most rows need not be looked at.
    """
    low, high = loss.domain(y)
    slope = loss.derivative(y, z) if slope is None else slope
    h, rho = loss.second_derivative(y, z), unit[2]
    room = np.minimum(slope - low, high - slope)
    near = np.flatnonzero(room < FAR * rho * h)
    if len(near):
        reach = reaches(X, *unit)[near] if FEWER * len(near) > len(y) else reaches(X[near], *unit)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            h[near] = np.maximum(np.minimum(h[near], room[near] / reach), 0.0)
    return h


def reaches(X: Any, centre: Vector, scale: Vector, rho: float) -> Vector:
    """How far z may move, row by row: more for rows far out."""
    weight = np.zeros(len(scale))
    np.divide(1.0, scale * scale, out=weight, where=scale > 0.0)  # others hold but one value
    away = (X * X) @ weight - 2.0 * (X @ (centre * weight)) + float(centre @ (centre * weight))
    return np.asarray(rho * np.maximum(1.0, np.sqrt(np.maximum(away, 0.0) / len(scale))))


@dataclass(frozen=True, eq=False)
class PieceSlopes:
    """Rows far from a kink have the slope of their piece's group; the others, by number, each its own."""

    loss: Loss
    w: Vector
    groups: Vector  # by number of the piece, twice as many for labels
    numbers: Index  # of the rows that are near a kink, rising
    own: Vector  # their slopes
    kind: ClassVar[str] = "pieces"

    def slopes(self, X: Any, y: Vector, numbers: Index) -> Vector:
        code, _ = pieces(self.loss, y, scored(X, self.w), len(self.groups))
        u = self.groups[code]
        start, stop = np.searchsorted(self.numbers, [numbers[0], numbers[-1] + 1]) if len(numbers) else (0, 0)
        u[np.searchsorted(numbers, self.numbers[start:stop])] = self.own[start:stop]
        return np.asarray(u)


def pieces(loss: Loss, y: Vector, z: Vector, groups: int) -> tuple[Any, Matrix]:
    """The linear piece of each row, labels apart where there are so many groups; how far the next kink is."""
    kinks = loss.terms(y).kink.T
    piece, away = np.zeros(len(z), dtype=np.intp), np.full(len(z), np.inf)
    for kink in kinks:
        beyond = z - kink
        piece += beyond > 0.0
        np.minimum(away, np.abs(beyond), out=away)
    if groups > len(kinks) + 1:
        piece = 2 * piece + (parted_targets(y)[0] > 0.0)
    return piece, away
