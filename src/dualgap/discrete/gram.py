"""Best subset with a squared loss on the Gram matrix; free columns solved for, all columns of size one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from dualgap.arrays import Index, Matrix, Vector
from dualgap.discrete.selection import Selection, selection
from dualgap.discrete.statement import told_apart
from dualgap.problem.precondition import Working, precondition
from dualgap.problem.problem import Problem
from dualgap.traits import Trait

DEPENDENT = 1e-11  # a column with less of its square left beside the free ones adds nothing to them
CLEAR = 1e-4  # the least pivot of unit columns at which the matrix tells of them what the data do
FIRM, OWN = 0.1, 1e-3  # that pivot, and that share of a column's square, at which its weights are as good
ALIKE = 1e-12  # columns with a squared correlation this near to one are the same


@dataclass(frozen=True, eq=False)
class UnitColumns:
    """minimise unit·(1 − 2cᵀu + uᵀGu + price·#{u ≠ 0}),  at most `limit` not zero."""

    working: Working
    selection: Selection
    columns: Index  # of the working design, one per entry of u
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
        return self.working.weights(self.fitted(self.columns[chosen]))

    def value_on(self, columns: Index) -> float:
        """The loss and the squares on some columns of the working design, in its units, from the data."""
        inner, u = self.working.problem, self.fitted(columns)
        left = inner.y - inner.design.matvec(u)
        return float(inner.a @ (left * left) + self.selection.ridge @ (u * u))

    def fitted(self, columns: Index) -> Vector:
        """The best working weights on some columns of the working design."""
        inner = self.working.problem
        live = np.sort(np.append(np.flatnonzero(~self.selection.counted), columns))
        root = np.sqrt(inner.a)
        table = inner.design.columns(live).toarray() * root[:, None]
        ridge = np.sqrt(self.selection.ridge[live])
        if ridge.any():
            table = np.vstack([table, np.diag(ridge)])
        target = np.zeros(len(table))
        target[: inner.n] = root * inner.y
        u = np.zeros(inner.p)
        if len(live):
            u[live] = _least_squares(table, target)
        return u

    def support(self, w: Vector) -> NDArray[np.int64]:
        """The columns that some asked weights use, the largest first, as many as may be."""
        u = self.working.coordinates(w)[self.columns]
        used = np.flatnonzero(u)
        return used[np.argsort(-np.abs(u[used]), kind="stable")][: self.limit].astype(np.int64)


@dataclass(frozen=True, eq=False)
class GramProblem(UnitColumns):
    """With the whole of G at hand, the ridge in its diagonal."""

    gram: Matrix
    dropped: bool  # was a column taken for a combination of others?
    part: Reduced

    def weights(self, chosen: NDArray[np.int64]) -> Vector:
        """From the Gram matrix where it tells of these columns what the data do, and something is left."""
        live, part = np.sort(chosen), self.part
        if self.unit == 0.0 or len(part.free) > 1 or part.left[live].min(initial=1.0) < OWN:
            return super().weights(chosen)
        factor, w, failed = lapack.dposv(self.gram[np.ix_(live, live)], self.linear[live])
        if failed or np.diag(factor).min(initial=1.0) < FIRM or 1.0 - float(self.linear[live] @ w) < CLEAR:
            return super().weights(chosen)
        u = np.zeros(self.working.problem.p)
        u[self.columns[live]] = w = w * np.sqrt(self.unit) / part.length[live]
        u[part.free] = part.origin - w @ part.cross[live]
        return self.working.weights(u)

    def full_model(self) -> float:
        """The scaled value with every column in and none paid for: no set does better."""
        if self.unit == 0.0:
            return 1.0
        if self.size >= self.working.problem.n and not self.ridge.any():
            return 0.0
        if self.size and not self.dropped:
            factor, w, failed = lapack.dposv(self.gram, self.linear)
            if not failed and float(np.diag(factor).min()) > CLEAR:
                return max(1.0 - float(self.linear @ w), 0.0)
        everything = np.flatnonzero(self.selection.counted)
        return self.scaled(self.value_on(everything) * self.working.objective_unit)


@dataclass(frozen=True, eq=False)
class Reduced:
    """A quadratic −2cᵀw + wᵀHw + ridge with the columns that are always in solved for, on unit columns.

    It equals unit·(constant − 2 linearᵀu + uᵀ gram u); gram contains the ridge.
    """

    columns: Index
    gram: Matrix
    linear: Vector
    ridge: Vector
    unit: float
    length: Vector  # of the columns, beside those that are always in
    left: Vector  # share of their squares that is left beside those
    free: Index  # those that are always in; their weights with nothing chosen, and what a column takes off
    origin: Vector
    cross: Matrix


def gram_problem(problem: Problem) -> GramProblem:
    """State the problem on its Gram matrix. Sparse designs are not centred; the elimination does that."""
    working = precondition(told_apart(problem))
    inner = working.problem
    chosen = selection(inner)
    full = inner.design.weighted_gram(inner.a)
    pulled = inner.design.transpose_matvec(inner.a * inner.y)
    part = reduced(full, pulled, chosen, float(inner.a @ (inner.y * inner.y)))
    return GramProblem(
        working,
        chosen,
        part.columns,
        part.linear,
        part.ridge,
        part.unit,
        chosen.price / part.unit if part.unit > 0.0 else 0.0,
        min(chosen.limit, len(part.columns)),
        part.gram,
        len(part.columns) < int(np.count_nonzero(chosen.counted)),
        part,
    )


def reduced(full: Matrix, pulled: Vector, chosen: Selection, total: float | None = None) -> Reduced:
    """Solve for the columns that are always in; drop those that are then nothing, or the same as another.

    `total` is the value at w = 0, which makes `unit` the value with nothing chosen; without it the unit is 1.
    """
    from dualgap.compiled.subset_columns import folded

    columns, free = np.flatnonzero(chosen.counted), np.flatnonzero(~chosen.counted)
    unit = total or 0.0
    cross, origin = np.zeros((len(columns), 0)), np.zeros(0)
    if len(free):
        inverse = _inverse(full[np.ix_(free, free)])
        cross, origin = full[columns[:, None], free] @ inverse, inverse @ pulled[free]
        unit = unit - float(pulled[free] @ origin)
    gram, linear, square = folded(np.ascontiguousarray(full), pulled, columns, free, cross)
    left = square / np.maximum(full.diagonal()[columns], 1e-300)
    alive = left > DEPENDENT
    if total is None:
        unit = 1.0
    elif unit <= 1e-26 * total:
        unit, alive[:] = 0.0, False  # the columns that are always in fit the targets already
    ridge = chosen.ridge[columns]
    if ridge.any():
        ridge = ridge / np.where(alive, square, 1.0)
    else:
        close = np.sqrt(1.0 - ALIKE)
        if max(gram.max(initial=0.0), -gram.min(initial=0.0)) >= close:
            alike = (np.abs(gram) >= close) & alive[:, None]
            alive &= ~np.any(np.triu(alike, 1), axis=0)
    if not alive.all():
        columns, gram = columns[alive], np.ascontiguousarray(gram[np.ix_(alive, alive)])
        linear, ridge, cross = linear[alive], ridge[alive], cross[alive]
        square, left = square[alive], left[alive]
    if unit > 0.0:
        linear /= np.sqrt(unit)
    np.fill_diagonal(gram, 1.0 + ridge)
    return Reduced(columns, gram, linear, ridge, unit, np.sqrt(square), left, free, origin, cross)


def _least_squares(table: Matrix, target: Vector) -> Vector:
    """By QR; where columns are dependent the shortest solution."""
    rows, columns = table.shape
    if rows >= columns:
        factored, solution, failed = lapack.dgels(table, target)
        size = np.abs(np.diag(factored))
        if not failed and size.min() > 1e-10 * size.max():
            return np.asarray(solution[:columns])
    return np.asarray(np.linalg.lstsq(table, target, rcond=None)[0])


def _inverse(gram: Matrix) -> Matrix:
    """Of what belongs to the free columns, most often the intercept alone."""
    if gram.shape == (1, 1) and gram[0, 0] > 0.0:
        return 1.0 / gram
    return np.asarray(np.linalg.pinv(gram, rcond=1e-13, hermitian=True))


def is_quadratic(problem: Problem) -> bool:
    """Is the Gram matrix all there is to know?"""
    return problem.loss_has(Trait.QUADRATIC)
