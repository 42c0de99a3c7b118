"""Steps of Newton: minimise the model of a smooth loss plus a ridge, by the smaller of its two sides.

Around w, with slopes g and curvatures h ≥ 0 of the loss at z = Xw, the model is

    gᵀX d + ½ (Xd)ᵀ diag(h) (Xd) + linearᵀ(w + d) + ½ (w + d)ᵀ diag(ridge) (w + d).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from dualgap.arrays import Mask, Matrix, Vector
from dualgap.design import Design
from dualgap.drive.solver import Iterate
from dualgap.linalg.cholesky import Bordered, Solve, cholesky
from dualgap.linalg.conjugate_gradients import conjugate_gradients
from dualgap.problem.problem import Problem

LARGEST = 5000  # a dense matrix of this order is factored; beyond, conjugate gradients
SINGLE = 1e8  # operations from which on a matrix product in 4-byte numbers is worth its rounding
UNCHANGED = 1e-7  # a change of curvature by this share of the largest is none
CHEAP = 3e9  # factorisations of fewer operations are made even where gradients might be cheaper
BLOCKED = 8.0  # operations on blocks run this much faster than passes over the matrix
GRADIENT_STEPS = 150.0  # products with XᵀHX that a step by conjugate gradients is reckoned to take


@dataclass(frozen=True, eq=False)
class ModelPoint:
    """Where the model is made: w, the slopes of the loss there, and the linear part of the penalty.

    `pull` is Xᵀ slope, if it is known.
    """

    w: Vector
    slope: Vector
    linear: Vector
    pull: Vector | None = None


class Factored(ABC):
    """The model with its curvature settled."""

    @abstractmethod
    def step(self, point: ModelPoint, accuracy: float) -> Vector:
        """The minimising d. `accuracy` bounds the relative residual where the method is iterative."""

    def dual(self, point: ModelPoint) -> Vector | None:
        """The θ from which the last step made its weights, R(w + d) = Xᵀθ − linear, if it did."""
        return None


class NormalEquations(ABC):
    """A design and a ridge; the curvature changes from step to step.

    `products` is the design, or one whose products are cheaper and accurate enough for a step.
    """

    costly: ClassVar[bool] = True  # does settling the curvature cost more than a step?

    def __init__(self, design: Design, ridge: Vector) -> None:
        self.design, self.products, self.ridge = design, design, ridge

    @abstractmethod
    def factored(self, curvature: Vector) -> Factored:
        """Settle the curvature."""

    @abstractmethod
    def refine(self) -> None:
        """Steps converge slowly: spare no digits from here on."""


def system(
    design: Design,
    ridge: Vector,
    squares: Callable[[], Vector] | None = None,
    gradients: float = GRADIENT_STEPS,
) -> NormalEquations:
    """The cheapest way to solve the model: p × p, n × n over the ridged columns, or iterative.

    `squares` are mean squares of the columns, if they are at hand; `gradients` is how many conjugate ones
    are expected to be needed.
    """
    if not direct(design, ridge, gradients):
        return Gradients(design, ridge, squares)
    if _dual_work(design, ridge) < _primal_work(design):
        return Dual(design, ridge)
    return Primal(design, ridge)


def direct(design: Design, ridge: Vector, gradients: float = GRADIENT_STEPS) -> bool:
    """Is a factorisation affordable?"""
    if min(design.shape) > LARGEST:
        return False
    work = min(_primal_work(design), _dual_work(design, ridge))
    return work <= CHEAP * gradients / GRADIENT_STEPS or work / BLOCKED <= gradients * 4.0 * design.stored


def work(design: Design, ridge: Vector) -> float:
    """A guess of the operations of one step."""
    if direct(design, ridge):
        return min(_primal_work(design), _dual_work(design, ridge)) + 8.0 * design.stored
    return GRADIENT_STEPS * 4.0 * design.stored


def _primal_work(design: Design) -> float:
    p = design.shape[1]
    return float(design.stored) * p + p**3 / 3.0 if p <= LARGEST else np.inf


def _dual_work(design: Design, ridge: Vector) -> float:
    n = design.shape[0]
    if n > LARGEST or not ridge.any() or np.count_nonzero(ridge == 0.0) > n:
        return np.inf
    return float(design.stored) * n + n**3 / 3.0


def fitted(problem: Problem, iterate: Iterate, risk: float | None = None) -> Iterate:
    """The same with θ = 0, the best dual point, where the fit is exact and the slopes are but rounding."""
    if risk is None:
        assert iterate.prediction is not None
        risk = problem.risk(iterate.prediction)
    if risk > 1e-20 * problem.null:
        return iterate
    return replace(iterate, theta=np.zeros(problem.n), correlation=None)


class Primal(NormalEquations):
    """XᵀHX + R by Cholesky.

    At first in 4-byte numbers, where these are much faster. Where few curvatures have changed since the last
    step, as they do for losses of quadratic pieces, XᵀHX is changed through their rows alone.
    """

    def __init__(self, design: Design, ridge: Vector) -> None:
        super().__init__(design, ridge)
        self._single = _primal_work(design) > SINGLE
        self._kept: tuple[Vector, Matrix] | None = None

    def refine(self) -> None:
        if self._single:
            self._single, self._kept = False, None

    def factored(self, curvature: Vector) -> Factored:
        matrix = self._gram(curvature).copy()
        matrix[np.diag_indices_from(matrix)] += self.ridge
        return _PrimalFactor(self, cholesky(matrix))

    def _gram(self, curvature: Vector) -> Matrix:
        if self._kept is not None:
            held, gram = self._kept
            change = curvature - held
            which = np.flatnonzero(np.abs(change) > UNCHANGED * curvature.max())
            if len(which) <= len(curvature) // 3:
                rows, change = self.design.rows(which), change[which]
                gram += rows.weighted_gram(np.maximum(change, 0.0))
                gram -= rows.weighted_gram(np.maximum(-change, 0.0))
                held[which] = curvature[which]
                return gram
        self._kept = curvature.copy(), self.design.weighted_gram(curvature, single=self._single)
        return self._kept[1]


@dataclass(frozen=True, eq=False)
class _PrimalFactor(Factored):
    system: Primal
    solve: Solve

    def step(self, point: ModelPoint, accuracy: float) -> Vector:
        return -self.solve(gradient(self.system.design, self.system.ridge, point))


def gradient(design: Design, ridge: Vector, point: ModelPoint) -> Vector:
    """The gradient of the model at d = 0."""
    pull = design.transpose_matvec(point.slope) if point.pull is None else point.pull
    return pull + ridge * point.w + point.linear


class Dual(NormalEquations):
    """I + H½ K H½ by Cholesky, K = X R⁻¹ Xᵀ over the firmly ridged columns; the loose ones by elimination.

    Loose columns are the free ones and those, fewer than n, whose ridge is so small beside the others that
    they would drown them in K.
    """

    def __init__(self, design: Design, ridge: Vector) -> None:
        super().__init__(design, ridge)
        self.loose = _loose(ridge, design.shape[0])
        self.inverse = np.where(self.loose, 0.0, 1.0 / np.where(self.loose, 1.0, ridge))
        self._single = _dual_work(design, ridge) > SINGLE
        self.kernel = design.weighted_outer(self.inverse, single=self._single)
        self.loose_columns = design.columns(np.flatnonzero(self.loose)).toarray()

    def refine(self) -> None:
        if self._single:
            self._single, self.kernel = False, self.design.weighted_outer(self.inverse)

    def factored(self, curvature: Vector) -> Factored:
        root = np.sqrt(curvature)
        matrix = self.kernel * root
        matrix *= root[:, None]
        matrix[np.diag_indices_from(matrix)] += 1.0
        return _DualFactor(self, root, cholesky(matrix))


def _loose(ridge: Vector, n: int) -> Mask:
    """Free columns, and those with a ridge far below the n-th smallest."""
    positive = ridge[ridge > 0.0]
    rank = min(n, len(positive)) - 1
    return np.asarray(ridge < 1e-3 * np.partition(positive, rank)[rank])


class _DualFactor(Factored):
    """Solves for φ, where −slope + H½φ is the dual point θ of the model's minimiser.

    The weights are then R⁻¹(Xᵀθ − linear), a formula without cancellation however small the ridge.
    """

    def __init__(self, system: Dual, root: Vector, solve: Solve) -> None:
        self.system, self.root = system, root
        self._phi: Vector | None = None
        edge, ridge = system.loose_columns * root[:, None], system.ridge[system.loose]
        self._bordered = Bordered(solve, edge, np.diag(ridge))

    def step(self, point: ModelPoint, accuracy: float) -> Vector:
        system = self.system
        slope_gradient = gradient(system.design, system.ridge, point)
        pushed = self.root * self._pushed(point, slope_gradient)
        phi, shift = self._bordered.solve(pushed, slope_gradient[system.loose])
        result = np.zeros_like(point.w)
        result[system.loose] = shift
        self._phi = phi
        pull = system.design.transpose_matvec(self.root * phi - point.slope)
        ahead = system.inverse * (pull - point.linear)
        result[~system.loose] = (ahead - point.w)[~system.loose]
        return result

    def _pushed(self, point: ModelPoint, slope_gradient: Vector) -> Vector:
        """X R⁻¹ times the gradient, which from w = 0 needs no pass over X."""
        if point.w.any() or point.linear.any():
            return self.system.design.matvec(self.system.inverse * slope_gradient)
        return np.asarray(self.system.kernel @ point.slope)

    def dual(self, point: ModelPoint) -> Vector | None:
        if self._phi is None or self.system.loose.any():
            return None
        return np.asarray(self.root * self._phi - point.slope)


class Gradients(NormalEquations):
    """XᵀHX + R by conjugate gradients with the diagonal, for the first H, as preconditioner.

    At first in 4-byte numbers, where these are much faster.
    """

    costly: ClassVar[bool] = False

    def __init__(self, design: Design, ridge: Vector, squares: Callable[[], Vector] | None = None) -> None:
        super().__init__(design, ridge)
        self.products = design.rough()
        self._squares = squares
        self._diagonal: Vector | None = None

    def refine(self) -> None:
        self.products, self._squares, self._diagonal = self.design, None, None

    def factored(self, curvature: Vector) -> Factored:
        if self._diagonal is None:
            if self._squares is not None:  # as if the curvature were spread evenly
                square = self._squares() * float(curvature.sum())
            else:
                square = self.design.weighted_square_norms(curvature)
            self._diagonal = square + self.ridge
            self._diagonal[self._diagonal <= 0.0] = 1.0
        return _GradientFactor(self, curvature, self._diagonal)


@dataclass(frozen=True, eq=False)
class _GradientFactor(Factored):
    system: Gradients
    curvature: Vector
    diagonal: Vector

    def step(self, point: ModelPoint, accuracy: float) -> Vector:
        products, ridge = self.system.products, self.system.ridge

        def apply(d: Vector) -> Vector:
            return products.curved(self.curvature, d)[0] + ridge * d

        right = -gradient(self.system.design, ridge, point)
        return conjugate_gradients(apply, right, self.diagonal, accuracy)
