"""A squared loss over many rows as one over about as many rows as columns.

With √a∘X = QR, Q's columns orthonormal, Σ a (x·w − y)² = ‖Rw − Qᵀ√a y‖² + ‖e‖², e what no weights explain. So
R, a row for e, and one for an intercept, turned so that it is a column of ones again, tell all of the loss.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
import scipy.linalg

from dualgap.arrays import Matrix, Vector
from dualgap.design import Dense, Design, WithOnes
from dualgap.linalg.cholesky import triangle as triangular
from dualgap.problem.precondition import Working, precondition
from dualgap.problem.problem import Problem
from dualgap.traits import Trait

TALL = 4  # rows for each column: with fewer there is little to spare
FIRM = 1e-4  # share of a column's square that the others must leave: R then keeps twelve digits
EXPLAINED = 1e-8  # share of Σ a y² that must be left: e is a difference


@dataclass(frozen=True, eq=False)
class Condensed(Working):
    """The rows of the working problem are R's and one for e; with an intercept another, all turned."""

    whole: Design  # X in good coordinates
    a: Vector
    triangle: Matrix  # R
    left: Vector  # y − best constant − Xw at the best w without any price
    length: float  # ‖e‖

    def theta(self, theta: Vector) -> Vector:
        """One product with X."""
        values, tied = theta[: self.count] * np.sqrt(self.count), self.asked.intercept
        values = _turned(values) if tied else values
        z = self.whole.matvec(scipy.linalg.solve_triangular(self.triangle, values[tied:-1]))
        if tied:
            z += values[0]
        rows = self.a * (z + (values[-1] / self.length) * self.left)
        return super().theta(np.append(rows, theta[self.count :]))

    def working_theta(self, theta: Vector) -> Vector:
        """Of what is in the span of the columns and e, which is all that the loss asks for."""
        theta, n = super().working_theta(theta), len(self.a)
        rows = theta[:n]
        inner = scipy.linalg.solve_triangular(self.triangle, self.whole.transpose_matvec(rows), trans="T")
        values = np.append(inner, float(rows @ self.left) / self.length)
        values = _turned(np.append(float(rows.sum()), values)) if self.asked.intercept else values
        return np.append(values / np.sqrt(self.count), theta[n:])

    @property
    def count(self) -> int:
        """How many rows are left."""
        return len(self.triangle) + 1 + self.asked.intercept


def condensed(asked: Problem) -> Condensed | None:
    """Where the rows are many and dense, and solvers would go over them again and again: with constraints."""
    n, p = asked.design.features.shape
    if asked.constraints is None or n < TALL * (p + 2) or Trait.QUADRATIC not in asked.loss.traits:
        return None
    working = precondition(asked)
    problem, whole = working.problem, working.problem.design.features
    if working.basis is not None or whole.sparse is not None or not whole.shape[1]:
        return None
    found = _rows(problem, whole)
    if found is None:
        return None
    triangle, pulled, left, length = found
    rows, y = np.vstack([triangle, np.zeros(len(pulled))]), np.append(pulled, length)
    if problem.intercept:
        rows = _turned(np.vstack([np.zeros(len(pulled)), rows]))
        y = _turned(np.append(problem.best_constant, y))
    count = len(y)
    within: Design = Dense(rows * np.sqrt(count))
    inner = Problem(
        WithOnes(within) if problem.intercept else within,
        y * np.sqrt(count),
        np.full(count, 1.0 / count),
        problem.loss,
        problem.regulariser,
        problem.intercept,
        constraints=problem.constraints,
    )
    kept = {field.name: getattr(working, field.name) for field in fields(working)} | {"problem": inner}
    return Condensed(**kept, whole=whole, a=problem.a, triangle=triangle, left=left, length=length)


def _rows(problem: Problem, whole: Design) -> tuple[Matrix, Vector, Vector, float] | None:
    """R, Qᵀ√a y, e and its length; None where too few digits of them would be left."""
    a, gram = problem.a, whole.weighted_gram(problem.a)
    y = problem.y - (problem.best_constant if problem.intercept else 0.0)
    triangle = triangular(gram, FIRM)
    if triangle is None:
        return None
    pulled = scipy.linalg.solve_triangular(triangle, whole.transpose_matvec(a * y), trans="T")
    left = y - whole.matvec(scipy.linalg.solve_triangular(triangle, pulled))
    square = float(a @ (left * left))
    return (triangle, pulled, left, np.sqrt(square)) if square > EXPLAINED * float(a @ (y * y)) else None


def _turned(rows: Matrix) -> Matrix:
    """By the reflection that takes the first unit vector to that of equal entries, and back."""
    count = len(rows)
    normal = np.full(count, 1.0 / np.sqrt(count))
    normal[0] -= 1.0
    along = (normal @ rows) * (2.0 / float(normal @ normal))
    return np.asarray(rows - (np.outer(normal, along) if rows.ndim > 1 else normal * along))
