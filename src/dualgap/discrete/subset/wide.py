"""Best subset with a squared loss and many columns: rows of the Gram matrix when they are asked for."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from dualgap.arrays import Index, Matrix, Vector
from dualgap.discrete.subset.folding import DEPENDENT
from dualgap.discrete.subset.gram import UnitColumns
from dualgap.discrete.subset.selection import selection
from dualgap.problem.precondition import precondition
from dualgap.problem.problem import Problem

WIDE = 300  # columns from which a few rows cost less than the matrix (measured)
LARGEST = 8000  # columns beyond which the matrix is not made

Whole = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class GramRows:
    """G by rows: one product with the design for each column that is ever chosen."""

    problem: Problem
    columns: Index
    ridge: Vector
    length: Vector  # √a-weighted, of each column beside those that are always in
    basis: Matrix  # orthonormal, of √a times the columns that are always in
    known: dict[int, Vector] = field(default_factory=dict)

    def __getitem__(self, j: int, /) -> Vector:
        if j not in self.known:
            design, root = self.problem.design, np.sqrt(self.problem.a)
            column = design.columns(self.columns[j : j + 1]).toarray()[:, 0] * root
            column = column - self.basis @ (self.basis.T @ column)
            row = design.transpose_matvec(root * column)[self.columns] / (self.length[j] * self.length)
            row[j] = 1.0 + self.ridge[j]
            self.known[j] = row
        return self.known[j]

    def diagonal(self) -> Vector:
        """Ones, and the ridge."""
        return 1.0 + self.ridge


@dataclass(frozen=True, eq=False)
class WideProblem(UnitColumns):
    """With rows of G when they are asked for."""

    gram: GramRows

    def leading(self, steps: int) -> Whole:
        """The columns that are worth most by themselves, while one is worth its price: one step for all."""
        alone = self.linear * self.linear / self.gram.diagonal()
        falling = np.argsort(-alone, kind="stable")[: self.limit]
        return falling[alone[falling] > self.price].astype(np.int64)


def wide_problem(problem: Problem) -> WideProblem:
    """State the problem without its Gram matrix."""
    working = precondition(problem)
    inner = working.problem
    chosen = selection(inner)
    root = np.sqrt(inner.a)
    free = np.flatnonzero(~chosen.counted)
    left, sizes, _ = (
        np.linalg.svd(inner.design.columns(free).toarray() * root[:, None], full_matrices=False)
        if len(free)
        else (np.zeros((inner.n, 0)), np.zeros(0), None)
    )
    basis = left[:, sizes > 1e-11 * sizes.max(initial=0.0)]
    target = root * inner.y
    target = target - basis @ (basis.T @ target)
    unit = float(target @ target)
    square = inner.design.weighted_square_norms(inner.a)
    rest = square.copy()
    for direction in basis.T:
        rest -= inner.design.transpose_matvec(root * direction) ** 2
    alive = chosen.counted & (rest > DEPENDENT * square) & (unit > 1e-26 * float(inner.a @ inner.y**2))
    columns = np.flatnonzero(alive)
    length, ridge = np.sqrt(rest[columns]), chosen.ridge[columns] / rest[columns]
    scale = np.sqrt(unit) if unit > 0.0 else 1.0
    linear = inner.design.transpose_matvec(root * target)[columns] / (length * scale)
    return WideProblem(
        working, chosen, columns, linear, ridge, unit, GramRows(inner, columns, ridge, length, basis)
    )
