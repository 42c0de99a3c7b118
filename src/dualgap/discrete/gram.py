"""Best subset with a squared loss on the Gram matrix; free columns solved for, all columns of size one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from dualgap.arrays import Index, Matrix, Vector
from dualgap.design import Standardised, WithOnes
from dualgap.discrete.selection import Selection, selection
from dualgap.discrete.statement import told_apart
from dualgap.problem.precondition import Working, precondition
from dualgap.problem.problem import Problem
from dualgap.traits import Trait

DEPENDENT = 1e-11  # a column with less of its square left beside the free ones adds nothing to them
CHEAP = 20_000_000  # products of a matrix that is made before it is known to be of use
CLEAR = 1e-4  # the least pivot of unit columns at which the matrix tells of them what the data do
FIRM, OWN = 0.01, 1e-3  # that pivot, and that share of a column's square, at which its weights are as good
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
    seen: bool  # is it that of the columns as they are given?

    def weights(self, chosen: NDArray[np.int64]) -> Vector:
        """From the Gram matrix where it tells of these columns what the data do, and something is left."""
        from dualgap.compiled.subset_exchange import solve

        part, u = self.part, np.empty(len(chosen))
        if self.unit == 0.0 or len(part.free) > 1 or part.left[chosen].min(initial=1.0) < OWN:
            return super().weights(chosen)
        firm = solve(self.gram, self.linear, chosen, u) > FIRM
        if not firm or 1.0 - float(self.linear[chosen] @ u) < CLEAR:
            return super().weights(chosen)
        u *= np.sqrt(self.unit) / part.length[chosen]
        w = np.zeros(self.working.problem.p)
        w[self.columns[chosen]] = u
        w[part.free] = part.origin - u @ part.cross[chosen]
        return self._asked(w)

    def _asked(self, w: Vector) -> Vector:
        """Weights on the columns of the matrix as asked."""
        working = self.working
        if not self.seen:
            return working.weights(w)
        w *= working.unit
        if working.asked.intercept:
            w[-1] += working.offset
        return w

    def full_model(self) -> float:
        """The scaled value with every column in and none paid for: no set does better."""
        if self.unit == 0.0:
            return 1.0
        if self.size >= self.working.problem.n and not self.ridge.any():
            return 0.0
        if self.size and not self.dropped:
            factor, w, failed = lapack.dposv(self.gram.T, self.linear)  # as LAPACK has it: no copy
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
    """State the problem on its Gram matrix.

    Where the columns are not copied it is theirs as they are given: the elimination centres and scales them.
    """
    asked = told_apart(problem)
    given = _given(asked) if asked.n * asked.p**2 <= CHEAP else None
    working = precondition(asked)
    inner = working.problem
    chosen = selection(inner)
    seen = _seen_through(working)
    stated = asked if seen else inner
    full = given if seen and given is not None else stated.design.weighted_gram(inner.a)
    pulled = stated.design.transpose_matvec(inner.a * inner.y)
    own = selection(stated)  # of which only the squares differ
    part = reduced(full, pulled, own, float(inner.a @ (inner.y * inner.y)))
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
        seen,
    )


def _given(asked: Problem) -> Matrix:
    """The Gram matrix of the columns as they are given, which knows their squares and means as well."""
    full = asked.design.weighted_gram(asked.a)
    asked.__dict__.setdefault("column_squares", full.diagonal().copy())
    if asked.intercept:
        asked.__dict__.setdefault("column_means", full[-1].copy())
    return full


def _seen_through(working: Working) -> bool:
    design = working.problem.design
    inner = design.inner if isinstance(design, WithOnes) else design
    return isinstance(inner, Standardised) and bool(working.keep.all())


def reduced(full: Matrix, pulled: Vector, chosen: Selection, total: float | None = None) -> Reduced:
    """Solve for the columns that are always in; drop those that are then nothing, or the same as another.

    `total` is the value at w = 0, which makes `unit` the value with nothing chosen; without it the unit is 1.
    """
    from dualgap.compiled.subset_columns import folded

    columns, free = np.flatnonzero(chosen.counted), np.flatnonzero(~chosen.counted)
    unit = total or 0.0
    cross, origin = np.zeros((len(columns), 0)), np.zeros(0)
    if len(free):
        inverse = _inverse(full[free[:, None], free])
        cross, origin = full[columns[:, None], free] @ inverse, inverse @ pulled[free]
        unit = unit - float(pulled[free] @ origin)
    full = np.ascontiguousarray(full)
    gram, linear, length, left, largest = folded(full, pulled, columns, free, cross)
    alive = left > DEPENDENT
    if total is None:
        unit = 1.0
    elif unit <= 1e-26 * total:
        unit, alive[:] = 0.0, False  # the columns that are always in fit the targets already
    ridge = chosen.ridge[columns]
    if ridge.any():
        ridge = ridge / (length * length)
    elif largest >= np.sqrt(1.0 - ALIKE):
        alike = (np.abs(gram) >= np.sqrt(1.0 - ALIKE)) & alive[:, None]
        alive &= ~np.any(np.triu(alike, 1), axis=0)
    if not alive.all():
        columns, gram = columns[alive], np.ascontiguousarray(gram[np.ix_(alive, alive)])
        linear, ridge, cross = linear[alive], ridge[alive], cross[alive]
        length, left = length[alive], left[alive]
    if unit > 0.0:
        linear /= np.sqrt(unit)
    if ridge.any():
        np.fill_diagonal(gram, 1.0 + ridge)
    return Reduced(columns, gram, linear, ridge, unit, length, left, free, origin, cross)


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
    size = np.sqrt(gram.diagonal())
    unit = np.outer(size, size)
    unit[unit == 0.0] = 1.0
    return np.asarray(np.linalg.pinv(gram / unit, rcond=1e-13, hermitian=True) / unit)


def is_quadratic(problem: Problem) -> bool:
    """Is the Gram matrix all there is to know?"""
    return problem.loss_has(Trait.QUADRATIC)
