"""The penalty inside the augmented Lagrangian: quadratics as they are, all others through their dual half."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np
from scipy.linalg.blas import dger

from dualgap.arrays import Matrix, Vector
from dualgap.penalties import Regulariser

EASY = ((4, 1.0), (10, 0.5), (18, 0.25))  # steps a round took at most, and the power of growth it earns


@dataclass(frozen=True, eq=False)
class WeightCurve:
    """The slope v of the penalty and its derivative diag(diagonal) + sign·rank_one·rank_oneᵀ.

    `primal` is where v is a subgradient of the penalty itself: with exact zeros, or inside the ball.
    """

    v: Vector
    diagonal: Vector
    rank_one: Vector | None
    sign: float
    primal: Vector

    def times(self, x: Vector) -> Vector:
        """The derivative times x."""
        found = self.diagonal * x
        return (
            found if self.rank_one is None else found + self.sign * float(self.rank_one @ x) * self.rank_one
        )

    def add_to(self, matrix: Matrix, eta: float) -> None:
        """The derivative, and eta on the diagonal, added in place to a matrix in rows."""
        if self.rank_one is not None:
            dger(
                self.sign, self.rank_one, self.rank_one, a=matrix.T, overwrite_a=1
            )  # without a second matrix
        matrix.flat[:: len(matrix) + 1] += self.diagonal + eta


@dataclass(frozen=True, eq=False)
class SmoothedPenalty(ABC):
    """The penalty as a function of the weights, differentiable once and almost everywhere twice."""

    anchor: Vector  # the multipliers
    exact: ClassVar[bool]  # is it the penalty itself?

    @abstractmethod
    def at(self, w: Vector) -> WeightCurve:
        """The derivatives at w."""

    def moved(self, v: Vector) -> Self:
        """The multipliers taken over."""
        return replace(self, anchor=v)

    def stiffened(self, factor: float) -> Self:
        """`factor` times as stiff."""
        return self


@dataclass(frozen=True, eq=False)
class QuadraticWeights(SmoothedPenalty):
    """½ Σ stiffness_j w_j², exactly: no multipliers, so the anchor follows v."""

    stiffness: Vector
    exact: ClassVar[bool] = True

    def at(self, w: Vector) -> WeightCurve:
        return WeightCurve(self.stiffness * w, self.stiffness, None, 1.0, w)


@dataclass(frozen=True, eq=False)
class SplitWeights(SmoothedPenalty):
    """max over v of v·w − g*(v) − ‖v − anchor‖²/(2 sigma): Moreau's smoothing of g, shifted."""

    regulariser: Regulariser
    sigma: float
    exact: ClassVar[bool] = False

    def at(self, w: Vector) -> WeightCurve:
        s = self.anchor + self.sigma * w
        half = self.regulariser.dual_prox(s, self.sigma)
        rank_one = None if half.rank_one is None else np.sqrt(self.sigma) * half.rank_one
        primal = (s - half.v) / self.sigma
        return WeightCurve(half.v, self.sigma * half.diagonal, rank_one, half.sign, primal)

    def stiffened(self, factor: float) -> Self:
        return replace(self, sigma=self.sigma * factor)


def weights_of(regulariser: Regulariser, sigma: float, anchor: Vector) -> SmoothedPenalty:
    """The penalty, split only where it has a kink or an edge."""
    elastic = regulariser.gauge.elastic
    if elastic is not None and not regulariser.constrained and not elastic.l1.any():
        return QuadraticWeights(anchor, 2.0 * regulariser.strength * elastic.l2)
    return SplitWeights(anchor, regulariser, sigma)


def growth(steps: int, most: float) -> float:
    """Rounds that were easy make the next one stiffer."""
    return float(most ** next((power for limit, power in EASY if steps <= limit), 0.0))
