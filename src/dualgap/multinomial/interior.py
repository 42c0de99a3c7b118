"""Interior point for the multinomial problem: the common method, on rows that are a class each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import softmax

from dualgap.arrays import Matrix, Vector
from dualgap.drive.registry import solver
from dualgap.drive.solver import Iterate
from dualgap.multinomial.lagrangian import DENSE_LIMIT
from dualgap.multinomial.problem import MultinomialProblem
from dualgap.multinomial.table import hessian, pin_shift
from dualgap.solvers.interior_point.choice import weights
from dualgap.solvers.interior_point.method import Method
from dualgap.solvers.interior_point.rows import DifferentiableRows
from dualgap.solvers.interior_point.system import Tall
from dualgap.traits import Trait


@solver("multinomial_interior_point", kind="multinomial")
@dataclass(frozen=True)
class MultinomialInteriorPoint:
    """Few steps whatever the conditioning; penalties with kinks at zero or at their largest weight."""

    def missing(self, problem: MultinomialProblem) -> tuple[str, ...]:
        """Not the smooth penalties, not many coordinates."""
        reasons = []
        half = weights(problem.regulariser)
        if half is None or not half.count or not half.edged or Trait.QUADRATIC in problem.regulariser.traits:
            reasons.append("the penalty is neither l1, elastic_net nor linf")
        if problem.p > DENSE_LIMIT:
            reasons.append(f"{problem.p} coordinates are more than {DENSE_LIMIT}")
        return tuple(reasons)

    def cost(self, problem: MultinomialProblem) -> float:
        """Some 20 Hessians and factorisations."""
        return 20.0 * problem.p**2 * (problem.n + problem.p / 3)

    def iterates(self, problem: MultinomialProblem, start: Iterate) -> Iterator[Iterate]:
        """One iterate a factorisation, each with exact zeros and exact bounds."""
        half = weights(problem.regulariser)
        assert half is not None
        for iterate in Method(problem, ClassRows(problem), half, Tall(), start).run():
            yield replace(iterate, w=_polished(problem, iterate), prediction=None)


class ClassRows(DifferentiableRows):
    """A row for each row and class. π ↦ diag π − ππᵀ is (I − 1πᵀ)ᵀ diag π (I − 1πᵀ): diagonal once a row's
    mean is taken out, which moves all classes alike and thus no slope.
    """

    def __init__(self, problem: MultinomialProblem) -> None:
        super().__init__(problem)
        self._classes = problem

    def linearise(self, z: Matrix) -> Vector:
        pi = softmax(z, axis=1)
        self.design = CentredClasses(self._classes, pi)
        self._z, self._h = z, (self._classes.a[:, None] * pi).ravel()
        return self._h


@dataclass(frozen=True, eq=False)
class CentredClasses:
    """(I − 1πᵀ)X, row by row and class by class."""

    problem: MultinomialProblem
    pi: Matrix

    @property
    def shape(self) -> tuple[int, int]:
        return self.pi.size, self.problem.p

    def matvec(self, w: Vector) -> Vector:
        dz = self.problem.predict(w)
        return np.asarray(dz - (self.pi * dz).sum(axis=1, keepdims=True)).ravel()

    def transpose_matvec(self, theta: Vector) -> Vector:
        theta = theta.reshape(self.pi.shape)
        return self.problem.correlation(theta - self.pi * theta.sum(axis=1, keepdims=True))

    def curved(self, h: Vector, w: Vector) -> tuple[Vector, float]:
        t = h * self.matvec(w)
        return self.transpose_matvec(t), float(t.sum())

    def across(self, d: Vector, theta: Vector) -> Vector:
        return self.matvec(d * self.transpose_matvec(theta))

    def weighted_gram(self, h: Vector) -> Matrix:
        """The Hessian, with h = aπ."""
        found: Matrix = hessian(self.problem.design.toarray(), self.problem.a, self.pi.T)
        pin_shift(found, self.problem.classes, self.problem.free)
        return found

    def weighted_outer(self, d: Vector) -> Matrix:
        raise NotImplementedError("weights are eliminated last")


def _polished(problem: MultinomialProblem, iterate: Iterate) -> Vector:
    """A proximal step from w, scaled by the Hessian's diagonal."""
    assert iterate.theta is not None and iterate.prediction is not None
    stiffness = problem.diagonal_curvature(softmax(iterate.prediction, axis=1))
    root = np.sqrt(np.maximum(stiffness, 1e-12 * float(stiffness.max(initial=1e-300))))
    scaled = problem.regulariser.substituted(1.0 / root, 1.0)
    pulled = np.where(problem.free, 0.0, problem.correlation(iterate.theta) / root)
    return np.asarray(scaled.prox(root * iterate.w + pulled, 1.0) / root)
