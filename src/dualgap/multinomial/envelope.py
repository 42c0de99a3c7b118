"""A penalty as Newton's method needs it: differentiable once, and almost everywhere twice.

    max over v of   v·w − g*(v) − ‖v − anchor‖²/(2 sigma)

is g smoothed around its last slope, the anchor. `dual_prox` gives v and dv/dw, so that a new norm needs
nothing here.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from dualgap.arrays import Vector
from dualgap.penalties import Penalised, Regulariser
from dualgap.penalties.separable import Separable
from dualgap.traits import Trait


@dataclass(frozen=True, eq=False)
class Curve:
    """The slope v, a subgradient at `point`, and its derivative diag(diagonal) + sign·rank_one·rank_oneᵀ."""

    v: Vector
    diagonal: Vector
    rank_one: Vector | None
    sign: float
    point: Vector


@dataclass(frozen=True, eq=False)
class Quadratic:
    """½ Σ stiffness_j w_j², as it is."""

    stiffness: Vector

    def at(self, w: Vector) -> Curve:
        """The derivatives at w."""
        return Curve(self.stiffness * w, self.stiffness, None, 1.0, w)

    def moved(self, v: Vector, factor: float) -> Quadratic:
        """Nothing to move."""
        return self

    def change(self, v: Vector) -> float:
        """Nothing has changed."""
        return 0.0


@dataclass(frozen=True, eq=False)
class Smoothed:
    """g smoothed around `anchor`, `sigma` times as stiff as the unit ball."""

    regulariser: Regulariser
    anchor: Vector
    sigma: float

    def at(self, w: Vector) -> Curve:
        """The derivatives at w; `point` is exactly sparse, or exactly in the ball."""
        s = self.anchor + self.sigma * w
        half = self.regulariser.dual_prox(s, self.sigma)
        rank_one = None if half.rank_one is None else np.sqrt(self.sigma) * half.rank_one
        point = np.where(self.regulariser.free, w, (s - half.v) / self.sigma)
        return Curve(half.v, self.sigma * half.diagonal, rank_one, half.sign, point)

    def moved(self, v: Vector, factor: float) -> Smoothed:
        """The next round: around v, `factor` times as stiff."""
        return replace(self, anchor=v, sigma=self.sigma * factor)

    def change(self, v: Vector) -> float:
        """How far v is from the anchor."""
        return float(np.linalg.norm(v - self.anchor))


def envelope(regulariser: Regulariser, sigma: float) -> Quadratic | Smoothed:
    """The penalty, smoothed only where it has a kink or an edge."""
    gauge = regulariser.gauge
    quadratic = Trait.QUADRATIC in regulariser.traits
    if quadratic and isinstance(regulariser, Penalised) and isinstance(gauge, Separable):
        return Quadratic(2.0 * regulariser.strength * gauge.l2)
    return Smoothed(regulariser, np.zeros(len(regulariser.free)), sigma)
