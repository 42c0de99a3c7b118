"""Best subset with a squared loss and many columns: rows of the Gram matrix when they are asked for."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from dualgap.arrays import Matrix, Vector
from dualgap.discrete.subset.folding import DEPENDENT
from dualgap.discrete.subset.gram import UnitColumns
from dualgap.discrete.subset.selection import selection
from dualgap.problem.precondition import precondition
from dualgap.problem.problem import Problem

WIDE = 300  # columns from which a few rows cost less than the matrix (measured)
LARGEST = 8000  # columns beyond which the matrix is not made

Whole = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class WideProblem(UnitColumns):
    """G by rows: one product with the design for each column that is ever chosen."""

    size_of: Vector  # √a-weighted length of each column beside those that are always in
    basis: Matrix  # orthonormal, of √a times the columns that are always in
    known: dict[int, Vector] = field(default_factory=dict)

    def row(self, j: int) -> Vector:
        """G[j]."""
        if j not in self.known:
            inner = self.working.problem
            root = np.sqrt(inner.a)
            column = inner.design.columns(self.columns[j : j + 1]).toarray()[:, 0] * root
            column = column - self.basis @ (self.basis.T @ column)
            row = inner.design.transpose_matvec(root * column)[self.columns] / (
                self.size_of[j] * self.size_of
            )
            row[j] = 1.0 + self.ridge[j]
            self.known[j] = row
        return self.known[j]

    def rows(self, support: Whole) -> Matrix:
        """G[support]."""
        if not len(support):
            return np.zeros((0, self.size))
        return np.array([self.row(int(j)) for j in support])

    def forward(self) -> Whole:
        """Greedy selection while a column is worth its price."""
        left, pulled = 1.0 + self.ridge, self.linear.copy()
        taken: list[Vector] = []
        order: list[int] = []
        while len(order) < self.limit:
            gain = np.where(left > DEPENDENT, pulled * pulled / np.maximum(left, DEPENDENT), 0.0)
            gain[order] = 0.0
            pick = int(np.argmax(gain))
            if gain[pick] <= self.price:
                break
            row = self.row(pick) - sum((mine[pick] * mine for mine in taken), np.zeros(self.size))
            row /= np.sqrt(left[pick])
            along = pulled[pick] / np.sqrt(left[pick])
            left, pulled = left - row * row, pulled - along * row
            taken.append(row)
            order.append(pick)
        return np.array(order, dtype=np.int64)

    def marginal(self) -> Whole:
        """The columns that are worth most by themselves, while one is worth its price."""
        alone = self.linear * self.linear / (1.0 + self.ridge)
        falling = np.argsort(-alone, kind="stable")[: self.limit]
        return falling[alone[falling] > self.price].astype(np.int64)

    def exchange(self, start: Whole) -> tuple[Whole, float]:
        """Best single move after best single move."""
        from dualgap.discrete.subset.exchange import SetRows, best_move, value_of

        diagonal = 1.0 + self.ridge
        support = start
        columns = SetRows(self.rows(support), diagonal, self.linear)
        value = value_of(columns, support, self.price)
        for _ in range(10 * self.limit + 100):
            best, out, into = best_move(columns, support, self.price, self.limit)
            if best >= value - 1e-13:
                break
            value = best
            if out >= 0:
                support = np.delete(support, out)
            if into >= 0:
                support = np.append(support, into)
            columns = SetRows(self.rows(support), diagonal, self.linear)
        return support, value


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
    size = np.sqrt(rest[columns])
    scale = np.sqrt(unit) if unit > 0.0 else 1.0
    return WideProblem(
        working,
        chosen,
        columns,
        inner.design.transpose_matvec(root * target)[columns] / (size * scale),
        chosen.ridge[columns] / (size * size),
        unit,
        chosen.price / unit if unit > 0.0 else 0.0,
        min(chosen.limit, len(columns)),
        size,
        basis,
    )


def is_wide(problem: Problem) -> bool:
    """Are the columns so many that the matrix is not worth making for a quick answer?"""
    return problem.p > WIDE


def is_too_wide(problem: Problem) -> bool:
    """Are the columns too many for the matrix altogether?"""
    return problem.p > LARGEST
