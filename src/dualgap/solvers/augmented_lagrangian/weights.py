"""The penalty inside the augmented Lagrangian: quadratics as they are, all others through their dual half."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from dualgap.arrays import Vector
from dualgap.penalties import Regulariser
from dualgap.penalties.separable import Separable
from dualgap.traits import Trait


@dataclass(frozen=True, eq=False)
class WeightCurve:
    """Slope v of the penalty, its derivative diag(diagonal) + sign·rank_one·rank_oneᵀ, and a primal point."""

    v: Vector
    diagonal: Vector
    rank_one: Vector | None
    sign: float
    primal: Vector


class Weights(Protocol):
    """The penalty as a function of the weights, differentiable once and almost everywhere twice."""

    def at(self, w: Vector) -> WeightCurve:
        """The derivatives at w."""

    def moved(self, curve: WeightCurve, factor: float) -> Weights:
        """The next outer round: multipliers taken over, `factor` times as stiff."""

    def change(self, curve: WeightCurve) -> float:
        """How far v is from the multipliers."""


@dataclass(frozen=True, eq=False)
class QuadraticWeights:
    """½ Σ stiffness_j w_j², exactly."""

    stiffness: Vector

    def at(self, w: Vector) -> WeightCurve:
        return WeightCurve(self.stiffness * w, self.stiffness, None, 1.0, w)

    def moved(self, curve: WeightCurve, factor: float) -> QuadraticWeights:
        return self

    def change(self, curve: WeightCurve) -> float:
        return 0.0


@dataclass(frozen=True, eq=False)
class SplitWeights:
    """max over v of v·w − g*(v) − ‖v − anchor‖²/(2 sigma): Moreau's smoothing of g, shifted."""

    regulariser: Regulariser
    anchor: Vector
    sigma: float

    def at(self, w: Vector) -> WeightCurve:
        s = self.anchor + self.sigma * w
        half = self.regulariser.dual_prox(s, self.sigma)
        rank_one = None if half.rank_one is None else np.sqrt(self.sigma) * half.rank_one
        primal = (s - half.v) / self.sigma
        return WeightCurve(half.v, self.sigma * half.diagonal, rank_one, half.sign, primal)

    def moved(self, curve: WeightCurve, factor: float) -> SplitWeights:
        return replace(self, anchor=curve.v, sigma=self.sigma * factor)

    def change(self, curve: WeightCurve) -> float:
        return float(np.linalg.norm(curve.v - self.anchor))


def weights_of(regulariser: Regulariser, sigma: float) -> Weights:
    """The penalty, split only where it has a kink or an edge."""
    gauge = regulariser.gauge
    if (
        not regulariser.constrained
        and isinstance(gauge, Separable)
        and Trait.QUADRATIC in regulariser.traits
    ):
        return QuadraticWeights(2.0 * regulariser.strength * gauge.l2)
    return SplitWeights(regulariser, np.zeros(len(regulariser.free)), sigma)
