"""Best subset with a squared loss on the Gram matrix; free columns solved for, all columns of size one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dualgap.arrays import Index, Matrix, Vector
from dualgap.discrete.selection import Selection, selection
from dualgap.problem.precondition import Working, precondition
from dualgap.problem.problem import Problem
from dualgap.traits import Trait

DEPENDENT = 1e-11  # a column with less of its square left beside the free ones adds nothing to them
ALIKE = 1e-12  # columns with a squared correlation this near to one are the same


@dataclass(frozen=True, eq=False)
class GramProblem:
    """minimise unit·(1 − 2cᵀu + uᵀGu + price·#{u ≠ 0}),  at most `limit` not zero."""

    working: Working
    selection: Selection
    columns: Index  # of the working design, one per entry of u
    gram: Matrix
    linear: Vector
    ridge: Vector  # the part of the diagonal that comes from the square
    unit: float
    price: float
    limit: int

    @property
    def size(self) -> int:
        """How many columns there are to choose from."""
        return len(self.columns)

    def objective(self, value: float) -> float:
        """A value of the scaled problem in the units of the asked one."""
        return value * self.unit * self.working.objective_unit

    def scaled(self, objective: float) -> float:
        """The inverse of `objective`."""
        return objective / (self.unit * self.working.objective_unit)

    def weights(self, chosen: NDArray[np.int64]) -> Vector:
        """The best weights on these columns, from the data and not from the Gram matrix, as asked."""
        inner = self.working.problem
        live = np.sort(np.append(np.flatnonzero(~self.selection.counted), self.columns[chosen]))
        root = np.sqrt(inner.a)
        table = inner.design.columns(live).toarray() * root[:, None]
        ridge = np.sqrt(self.selection.ridge[live])
        if ridge.any():
            table = np.vstack([table, np.diag(ridge)])
        target = np.zeros(len(table))
        target[: inner.n] = root * inner.y
        u = np.zeros(inner.p)
        if len(live):
            u[live] = np.linalg.lstsq(table, target, rcond=None)[0]
        return self.working.weights(u)

    def support(self, w: Vector) -> NDArray[np.int64]:
        """The columns that some asked weights use, the largest first, as many as may be."""
        u = self.working.coordinates(w)[self.columns]
        used = np.flatnonzero(u)
        return used[np.argsort(-np.abs(u[used]), kind="stable")][: self.limit].astype(np.int64)


def gram_problem(problem: Problem) -> GramProblem:
    """State the problem on its Gram matrix. Sparse designs are not centred; the elimination does that."""
    working = precondition(problem)
    inner = working.problem
    chosen = selection(inner)
    full = inner.design.weighted_gram(inner.a)
    pulled = inner.design.transpose_matvec(inner.a * inner.y)
    columns, free = np.flatnonzero(chosen.counted), np.flatnonzero(~chosen.counted)
    gram, linear = full[np.ix_(columns, columns)], pulled[columns]
    unit = float(inner.a @ (inner.y * inner.y))
    if len(free):
        inverse = np.linalg.pinv(full[np.ix_(free, free)], rcond=1e-13, hermitian=True)
        cross = full[np.ix_(columns, free)] @ inverse
        gram = gram - cross @ full[np.ix_(free, columns)]
        linear = linear - cross @ pulled[free]
        unit = max(unit - float(pulled[free] @ inverse @ pulled[free]), 0.0)
    before = np.diag(full)[columns]
    alive = np.diag(gram) > DEPENDENT * before
    if unit <= 1e-26 * float(inner.a @ (inner.y * inner.y)):
        alive[:] = False  # the free columns fit the targets already
    return _unit_columns(working, chosen, columns[alive], gram[np.ix_(alive, alive)], linear[alive], unit)


def _unit_columns(
    working: Working, chosen: Selection, columns: Index, gram: Matrix, linear: Vector, unit: float
) -> GramProblem:
    size = np.sqrt(np.diag(gram))
    gram = gram / size[:, None] / size
    np.fill_diagonal(gram, 1.0)
    ridge = chosen.ridge[columns] / (size * size)
    keep = np.ones(len(columns), dtype=bool)
    if not ridge.any():
        keep = ~np.any(np.triu(gram * gram >= 1.0 - ALIKE, 1), axis=0)
    gram, ridge = gram[np.ix_(keep, keep)], ridge[keep]
    gram[np.diag_indices(len(gram))] += ridge
    scale = np.sqrt(unit) if unit > 0.0 else 1.0
    return GramProblem(
        working,
        chosen,
        columns[keep],
        np.ascontiguousarray(gram),
        (linear / size / scale)[keep],
        ridge,
        unit,
        chosen.price / unit if unit > 0.0 else np.inf,
        min(chosen.limit, int(keep.sum())),
    )


def is_quadratic(problem: Problem) -> bool:
    """Is the Gram matrix all there is to know?"""
    return problem.loss_has(Trait.QUADRATIC)
