"""Newton's method for the multinomial problem.

A penalty with a kink or an edge is smoothed around a multiplier that moves from round to round: the augmented
Lagrangian, with the exact Hessian of all classes. Penalty and growth are those of `augmented_lagrangian`; the
loop is its own, since that Hessian is not diagonal over the rows, and has to do without a factor where it is
large.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import softmax

from dualgap.arrays import Matrix, Vector
from dualgap.drive.registry import solver
from dualgap.drive.solver import Iterate
from dualgap.linalg.cholesky import cholesky
from dualgap.linalg.conjugate_gradients import conjugate_gradients
from dualgap.linalg.line_search import convex_step
from dualgap.multinomial.problem import MultinomialProblem
from dualgap.multinomial.table import hessian, pin_shift
from dualgap.solvers.augmented_lagrangian.weights import growth, weights_of

DENSE_LIMIT = 2000  # coordinates up to which the Hessian is formed
ROUNDS = 60  # each tightens up to sixfold: from a gap of one to rounding takes twenty
INNER = 40  # steps of one round at most
STIFFER = 6.0  # what the stiffness grows by after an easy round; a choice
PRODUCTS = 500  # with the Hessian, for one step


@solver("multinomial_lagrangian", kind="multinomial")
@dataclass(frozen=True)
class MultinomialLagrangian:
    """Newton steps with the exact Hessian: Cholesky while it is small, conjugate gradients beyond."""

    def missing(self, problem: Any) -> tuple[str, ...]:
        """Fits every problem of its kind."""
        return ()

    def cost(self, problem: Any) -> float:
        """A Hessian and its factorisation, 30 times."""
        return float(30.0 * problem.p**2 * (problem.n + problem.p / 3))

    def iterates(self, problem: Any, start: Iterate) -> Iterator[Iterate]:
        """One iterate a Newton step."""
        descent = self.descent(problem, start.w)
        for _ in range(ROUNDS):
            taken = 0
            for iterate in descent.steps():
                taken += 1
                yield iterate
            if descent.whole and taken < INNER:
                return
            descent.tighten(growth(taken, STIFFER))

    def descent(self, problem: Any, w: Vector) -> Descent:
        """Where the steps are taken."""
        return Descent(problem, w)


class Descent:
    """loss(Xw) + penalty smoothed around its multiplier + η/2 ‖w − centre‖², and a point."""

    def __init__(self, problem: MultinomialProblem, w: Vector) -> None:
        self.problem, self.w = problem, w
        self.z = problem.predict(w)
        steep = self._steepness(self.probabilities(self.z))[~problem.free]
        sigma = float(steep.mean()) if len(steep) else 1.0
        self.penalty = weights_of(problem.regulariser, sigma, np.zeros(problem.p))
        self.curve = self.penalty.at(w)
        self.exact = self.penalty.exact
        share = 1.0 if problem.width > problem.n else 1e-3
        self.eta = 0.0 if self.exact else share * sigma
        self.centre = w

    @property
    def whole(self) -> bool:
        """Is nothing smoothed, so that a round that ends is the last?"""
        return self.exact

    def probabilities(self, z: Matrix) -> Matrix:
        """Of the classes, by the scores."""
        return np.asarray(softmax(z, axis=1))

    def falling(self, z: Matrix) -> Matrix:
        """θ: what the loss falls by along each score."""
        return self.problem.slope(z)

    @property
    def weights(self) -> Vector:
        """Of the rows in the Hessian."""
        return self.problem.a

    def _steepness(self, pi: Matrix) -> Vector:
        return self.problem.diagonal_curvature(pi) * float(self.weights[0] / self.problem.a[0])

    def tighten(self, factor: float) -> None:
        """The next round: the multiplier and the centre are where this one ended."""
        self.penalty = self.penalty.moved(self.curve.v).stiffened(factor)
        self.curve = self.penalty.at(self.w)
        self.eta /= factor
        self.centre = self.w

    def steps(self) -> Iterator[Iterate]:
        """Newton steps until the gradient is small beside the change of the multiplier, or nothing falls."""
        for count in range(INNER):
            theta = self.falling(self.z)
            gradient = self.curve.v - self.problem.correlation(theta) + self.eta * (self.w - self.centre)
            if count and float(np.linalg.norm(gradient)) <= 0.1 * self._progress():
                return
            if not self._move(self._direction(gradient), gradient):
                return
            yield Iterate(self.curve.primal, self.falling(self.z))

    def _progress(self) -> float:
        if self.exact:
            return 0.0
        drift = self.eta * float(np.linalg.norm(self.w - self.centre))
        return max(float(np.linalg.norm(self.curve.v - self.penalty.anchor)), drift)

    def _move(self, dw: Vector, gradient: Vector) -> bool:
        first = float(gradient @ dw)
        if not first < 0.0:
            return False
        dz = self.problem.predict(dw)
        drift, spread = float((self.w - self.centre) @ dw), float(dw @ dw)

        def slope(t: float) -> float:
            falls = float((self.falling(self.z + t * dz) * dz).sum())
            return float(self.penalty.at(self.w + t * dw).v @ dw) - falls + self.eta * (drift + t * spread)

        t = convex_step(slope)
        if t == 0.0:
            return False
        self.w, self.z = self.w + t * dw, self.z + t * dz
        self.curve = self.penalty.at(self.w)
        return True

    def _direction(self, gradient: Vector) -> Vector:
        if self.problem.p <= DENSE_LIMIT:
            return self._by_cholesky(gradient)
        return self._by_conjugate_gradients(gradient)

    def _by_cholesky(self, gradient: Vector) -> Vector:
        problem, curve = self.problem, self.curve
        system = hessian(problem.design.toarray(), self.weights, self.probabilities(self.z).T)
        pin_shift(system, problem.classes, problem.free)
        curve.add_to(system, self.eta)
        return -cholesky(system)(gradient)

    def _by_conjugate_gradients(self, gradient: Vector) -> Vector:
        pi = self.probabilities(self.z)
        diagonal = self._steepness(pi) + self.curve.diagonal + self.eta
        diagonal[diagonal <= 0.0] = 1.0
        accuracy = min(0.1, float(np.linalg.norm(gradient)) ** 0.5)
        return conjugate_gradients(self._product(pi), -gradient, diagonal, accuracy, PRODUCTS)

    def _product(self, pi: Matrix) -> Callable[[Vector], Vector]:
        problem, curve = self.problem, self.curve
        weights = self.weights[:, None] * pi

        def times(x: Vector) -> Vector:
            dz = problem.predict(x)
            pulled = problem.correlation(weights * (dz - (pi * dz).sum(axis=1, keepdims=True)))
            return pulled + curve.times(x) + self.eta * x

        return times
