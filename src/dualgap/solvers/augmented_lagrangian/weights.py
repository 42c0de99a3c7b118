"""The penalty inside the augmented Lagrangian: quadratics as they are, all others through their dual half."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np
from scipy.linalg.blas import dger

from dualgap.arrays import Matrix, Vector
from dualgap.penalties import Regulariser
from dualgap.penalties.base import BlockSum

EASY = ((4, 1.0), (10, 0.5), (18, 0.25))  # steps a round took at most, and the power of growth it earns


@dataclass(frozen=True, eq=False)
class WeightCurve:
    """The slope v of the penalty and its derivative diag(diagonal) + rank_one·rank_oneᵀ − blocks.

    `primal` is where v is a subgradient of the penalty itself: with exact zeros, or inside the ball.
    """

    v: Vector
    diagonal: Vector
    rank_one: Vector | None
    blocks: BlockSum | None
    primal: Vector

    def times(self, x: Vector) -> Vector:
        """The derivative times x."""
        found = self.diagonal * x
        if self.rank_one is not None:
            found = found + float(self.rank_one @ x) * self.rank_one
        return found if self.blocks is None else found - self.blocks.times(x)

    def add_to(self, matrix: Matrix, eta: float) -> None:
        """The derivative, and eta on the diagonal, added in place to a matrix in rows."""
        if self.rank_one is not None:
            dger(1.0, self.rank_one, self.rank_one, a=matrix.T, overwrite_a=1)  # without a second matrix
        if self.blocks is not None:
            for where, vector in self.blocks.parts():
                if len(where) == len(matrix):
                    dger(-1.0, self.blocks.vector, self.blocks.vector, a=matrix.T, overwrite_a=1)
                else:
                    matrix[np.ix_(where, where)] -= np.outer(vector, vector)
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
        return WeightCurve(self.stiffness * w, self.stiffness, None, None, w)


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
        blocks = None if half.blocks is None else half.blocks.over(self.sigma)
        primal = (s - half.v) / self.sigma if half.point is None else half.point
        return WeightCurve(half.v, self.sigma * half.diagonal, rank_one, blocks, primal)

    def stiffened(self, factor: float) -> Self:
        return replace(self, sigma=self.sigma * factor)


def weights_of(regulariser: Regulariser, sigma: float, anchor: Vector) -> SmoothedPenalty:
    """The penalty, split only where it has a kink or an edge."""
    elastic = regulariser.gauge.elastic
    plain = not regulariser.constrained and regulariser.box is None
    if elastic is not None and plain and not elastic.l1.any():
        assert not regulariser.constrained
        return QuadraticWeights(anchor, 2.0 * regulariser.strength * elastic.l2)
    return SplitWeights(anchor, regulariser, sigma)


def growth(steps: int, most: float) -> float:
    """Rounds that were easy make the next one stiffer."""
    return float(most ** next((power for limit, power in EASY if steps <= limit), 0.0))
