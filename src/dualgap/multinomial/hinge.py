"""Crammer and Singer's joint hinge: Σ a max_k (1[k ≠ y] + z_k − z_y), all classes at once; and its solver.

The maximum over the classes is smoothed by an entropy around multipliers π' that move from round to round:
μ log Σ_k π'_k e^{(1[k ≠ y] + z_k − z_y)/μ}. That is a softmax, so that Newton steps are those of the
multinomial loss; rounds that are easy sharpen it, as the augmented Lagrangian of the penalty stiffens.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import log_softmax

from dualgap.arrays import Matrix, Vector
from dualgap.drive.registry import solver
from dualgap.multinomial.lagrangian import Descent, MultinomialLagrangian
from dualgap.multinomial.problem import MultinomialProblem

FIRST = 0.3  # μ beside a margin of one: the smoothing that rounds start with
LEAST = -40.0  # the logarithm of a multiplier: smaller ones could not come back


@dataclass(frozen=True, eq=False)
class JointHingeProblem(MultinomialProblem):
    """The same scores and dual points as those of the multinomial loss, with another loss of a row."""

    @property
    def kind(self) -> str:
        return "joint hinge"

    @property
    def curvature(self) -> float:
        return np.inf

    @cached_property
    def null_weights(self) -> Vector:
        """The most frequent class ahead by one, where that is better than nothing."""
        w = np.zeros((self.classes, self.width))
        if self.intercept and float(self.counts.max()) > 0.5:
            w[:, -1] = -1.0 / self.classes
            w[int(np.argmax(self.counts)), -1] += 1.0
        return w.ravel()

    def ahead(self, prediction: Matrix) -> Matrix:
        """1[k ≠ y] + z_k − z_y."""
        own = np.asarray(prediction[np.arange(self.n), self.y.astype(np.intp)])
        return np.asarray(1.0 - self.hot + (prediction - own[:, None]))

    def row_losses(self, prediction: Matrix) -> Vector:
        return np.asarray(self.ahead(prediction).max(axis=1))

    def risk(self, prediction: Matrix) -> float:
        return float(self.a @ self.row_losses(prediction))

    def slope(self, prediction: Matrix) -> Matrix:
        """One of the subgradients."""
        ahead = self.ahead(prediction)
        top = np.zeros_like(ahead)
        top[np.arange(self.n), ahead.argmax(axis=1)] = 1.0
        return np.asarray(self.a[:, None] * (self.hot - top))

    def dual(self, theta: Matrix, v: Vector | None = None) -> float:
        if not theta.any():
            return 0.0
        v = self.correlation(theta) if v is None else v
        if self.regulariser.dual_scale(v) < 1.0 - 1e-12:
            return -np.inf
        return float((theta * self.hot).sum()) - self.regulariser.conjugate(v)


@solver("joint_hinge_lagrangian", kind="joint hinge")
@dataclass(frozen=True)
class JointHingeLagrangian(MultinomialLagrangian):
    """Newton steps on a smoothed maximum, with the exact Hessian of all classes."""

    def cost(self, problem: JointHingeProblem) -> float:
        """A Hessian and its factorisation, 100 times."""
        return 100.0 * problem.p**2 * (problem.n + problem.p / 3)

    def descent(self, problem: JointHingeProblem, w: Vector) -> Descent:
        return _HingeDescent(problem, w)


class _HingeDescent(Descent):
    """The smoothed maximum around its multipliers, beside the smoothed penalty."""

    def __init__(self, problem: JointHingeProblem, w: Vector) -> None:
        self.hinge, self.mu = problem, FIRST
        self.known = np.zeros((problem.n, problem.classes))  # logarithms of the multipliers
        super().__init__(problem, w)

    def _logs(self, z: Matrix) -> Matrix:
        return np.asarray(log_softmax(self.known + self.hinge.ahead(z) / self.mu, axis=1))

    def probabilities(self, z: Matrix) -> Matrix:
        return np.asarray(np.exp(self._logs(z)))

    def falling(self, z: Matrix) -> Matrix:
        return np.asarray(self.hinge.a[:, None] * (self.hinge.hot - self.probabilities(z)))

    @property
    def whole(self) -> bool:
        return False

    @property
    def weights(self) -> Vector:
        return np.asarray(self.hinge.a / self.mu)

    def _progress(self) -> float:
        """The change of all multipliers: those of the maximum move too."""
        change = self.hinge.a[:, None] * (self.probabilities(self.z) - np.exp(self.known_shares))
        pulled = float(np.linalg.norm(self.hinge.correlation(change))) if change.any() else 0.0
        return max(super()._progress(), 0.1 * pulled)

    @property
    def known_shares(self) -> Matrix:
        """The logarithms as those of shares."""
        return np.asarray(log_softmax(self.known, axis=1))

    def tighten(self, factor: float) -> None:
        self.known = np.maximum(self._logs(self.z), LEAST)
        self.mu /= max(factor, 1.5)
        super().tighten(factor)
