"""The multinomial problem and its dual: predictions, slopes and θ have a column per class.

The weights are one vector, class after class, each with its intercept last, so that the penalty of the
whole matrix is the penalty of a vector and every gauge works as it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import cast

import numpy as np
from scipy.special import softmax, xlogy

from dualgap.arrays import Mask, Matrix, Vector
from dualgap.linalg.cholesky import cholesky
from dualgap.multinomial.table import RoughTable, hessian, pin_shift, table_of
from dualgap.penalties import Regulariser
from dualgap.problem.problem import Problem
from dualgap.proof.check import Checked
from dualgap.proof.joint import Joint, check_joint

INSIDE = 1.0 - 1e-13  # a scaled dual point is put this much inside, so that recomputed norms stay below
ABSENT = 1e-15  # the share of a class without rows, as a fold may have: what its probability costs
KEPT = ("table", "hot", "counts")  # answers that another regulariser does not change
ROUNDING = 1e-12  # allowed in π ≥ 0 and Σ_k π_k = 1


@dataclass(frozen=True, eq=False)
class MultinomialProblem(Problem):
    """`y` holds class numbers 0 … classes−1; `design` is that of one class."""

    classes: int = 2

    @property
    def kind(self) -> str:
        return "multinomial"

    @property
    def width(self) -> int:
        """Coordinates per class, the intercept among them."""
        return self.design.shape[1]

    @property
    def p(self) -> int:
        return self.classes * self.width

    @property
    def free_features(self) -> Mask:
        free = self.free.reshape(self.classes, self.width)[0]
        return np.asarray(free[:-1] if self.intercept else free)

    @property
    def curvature(self) -> float:
        """Of the loss in a row's scores: the Hessian diag π − ππᵀ is at most ½."""
        return 0.5

    def spread(self, columns: Vector) -> Vector:
        return np.tile(super().spread(columns), self.classes)

    def gathered(self, coordinates: Mask) -> Mask:
        return super().gathered(np.asarray(coordinates.reshape(self.classes, self.width).any(axis=0)))

    @cached_property
    def hot(self) -> Matrix:
        """1 in the column of each row's class."""
        return np.asarray(self.y[:, None] == np.arange(self.classes)).astype(np.float64)

    @cached_property
    def counts(self) -> Vector:
        """The share of each class in the weights of the rows."""
        return np.asarray(np.bincount(self.y.astype(np.intp), self.a, self.classes), dtype=np.float64)

    @cached_property
    def null_weights(self) -> Vector:
        w = np.zeros((self.classes, self.width))
        if self.intercept:
            level = np.log(np.maximum(self.counts, ABSENT))
            w[:, -1] = level - level.mean()
        return w.ravel()

    @cached_property
    def null(self) -> float:
        return self.risk(self.predict(self.null_weights))

    @property
    def null_dual(self) -> Vector:
        return self.slope(self.null_prediction)

    @property
    def null_prediction(self) -> Matrix:
        return self.predict(self.null_weights)

    @cached_property
    def table(self) -> RoughTable:
        """The design in 4-byte numbers, for Newton steps."""
        return table_of(self.design)

    def with_regulariser(self, regulariser: Regulariser) -> MultinomialProblem:
        other = cast(MultinomialProblem, super().with_regulariser(regulariser))
        kept = {name: value for name, value in vars(self).items() if name in KEPT}
        vars(other).update(kept)
        return other

    def predict(self, w: Vector) -> Matrix:
        blocks = w.reshape(self.classes, self.width)
        features = blocks[:, :-1] if self.intercept else blocks
        if features.any():
            return self.design.matvecs(blocks).T
        return np.broadcast_to(blocks[:, -1] if self.intercept else 0.0, (self.n, self.classes))

    def correlation(self, theta: Matrix) -> Vector:
        """Xᵀθ, class after class."""
        return self.design.transpose_matvecs(theta.T).ravel() if theta.any() else np.zeros(self.p)

    def row_losses(self, prediction: Matrix) -> Vector:
        """log Σ_k e^{z_k} − z_y, row by row, exact also where it is tiny."""
        own, rows = self.y.astype(np.intp), np.arange(self.n)
        ahead = prediction.T - prediction[rows, own]
        ahead[own, rows] = -np.inf
        top = np.maximum(ahead.max(axis=0), 0.0)
        ahead -= top
        others = np.exp(ahead, out=ahead).sum(axis=0)
        return np.asarray(np.where(top > 0.0, top + np.log(np.exp(-top) + others), np.log1p(others)))

    def risk(self, prediction: Matrix) -> float:
        if prediction.strides[0] == 0 and self.n:  # the same scores for all rows
            scores = prediction[0]
            top = float(scores.max())  # by hand: SciPy's took as long as a step on a small table
            return float(self.counts @ (top + np.log(np.exp(scores - top).sum()) - scores))
        return float(self.a @ self.row_losses(prediction))

    def slope(self, prediction: Matrix) -> Matrix:
        return np.asarray(self.a[:, None] * (self.hot - softmax(prediction, axis=1)))

    def probabilities(self, theta: Matrix) -> Matrix:
        """π = hot − θ/a: inside the simplex exactly where θ is in the loss's domain."""
        return self.hot - theta / self.a[:, None]

    def judged(self, w: Vector, theta: Matrix, tolerance: float) -> Checked:
        return self.as_printed(check_joint(cast(Joint, self), w, theta, tolerance, self.null))

    def dual(self, theta: Matrix, v: Vector | None = None) -> float:
        if not theta.any():
            return 0.0
        pi = self.probabilities(theta)
        if pi.min(initial=0.0) < -ROUNDING or np.abs(pi.sum(axis=1) - 1.0).max(initial=0.0) > ROUNDING:
            return -np.inf
        if v is None:
            v = self.correlation(theta)
        if self.regulariser.dual_scale(v) < 1.0 - 1e-12:
            return -np.inf
        pi = np.maximum(pi, 0.0)
        return -float(self.a @ xlogy(pi, pi).sum(axis=1)) - self.regulariser.conjugate(v)

    def feasible(self, theta: Matrix, correlation: Vector | None = None) -> tuple[Matrix, Vector]:
        """Into the simplex, tilted until the free columns balance, scaled into the penalty's domain."""
        if not theta.any():  # feasible for every problem, without a look at the matrix
            return theta, np.zeros(self.p)
        pi = np.maximum(self.probabilities(theta), 0.0)
        total = pi.sum(axis=1, keepdims=True)
        pi = np.where(total > 0.0, pi / np.where(total > 0.0, total, 1.0), self.hot)
        free = self.free.reshape(self.classes, self.width)[0]
        if free.any():
            pi = self._tilted(pi, free)
        theta = self.a[:, None] * (self.hot - pi)
        v = self.correlation(theta)
        scale = self.regulariser.dual_scale(v)
        if scale < 1.0:
            theta, v = theta * (scale * INSIDE), v * (scale * INSIDE)
        return theta, v

    def diagonal_curvature(self, pi: Matrix) -> Vector:
        """The diagonal of the Hessian."""
        weights = self.a[:, None] * pi * (1.0 - pi)
        return np.concatenate([self.design.weighted_square_norms(column) for column in weights.T])

    def _tilted(self, pi: Matrix, free: Vector) -> Matrix:
        """π ∝ π e^{F t} with Fᵀθ = 0: what minimising over the free coordinates does to θ, by Newton."""
        columns = self.design.columns(np.flatnonzero(free))
        small = MultinomialProblem(
            columns, self.y, self.a, self.loss, self.regulariser, self.intercept, self.classes
        )
        rounds = 12 if columns.shape[1] <= 4 else 2  # many columns cost a Newton step of the whole each
        for _ in range(rounds):
            theta = self.a[:, None] * (self.hot - pi)
            miss = small.correlation(theta)
            sizes = np.concatenate([columns.absolute_transpose_matvec(np.abs(c)) for c in theta.T])
            if np.all(np.abs(miss) <= 1e-13 * sizes):
                break
            system = hessian(columns.toarray(), self.a, pi.T)
            pin_shift(system, self.classes, np.ones(len(system), dtype=bool))
            try:
                step = cholesky(system)(miss)
            except np.linalg.LinAlgError:  # no curvature is left: θ stays as it is, and is charged for that
                break
            with np.errstate(divide="ignore"):
                pi = softmax(np.log(pi) + small.predict(_short(step)), axis=1)
        return pi


def _short(step: Vector) -> Vector:
    """A step that moves no log-odds absurdly far: those would underflow and never come back."""
    longest = float(np.abs(step).max(initial=0.0))
    return step if longest <= 20.0 else step * (20.0 / longest)
