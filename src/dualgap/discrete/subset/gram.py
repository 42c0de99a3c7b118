"""Best subset with a squared loss on the Gram matrix; free columns solved for, all columns of size one.

The matrix is computed, so that it is not that of the data: an entry is off by at most ε √(h_ii h_jj), ε about
n U. For weights with at most s entries that are not zero, the targets' −1 among them, the error of zᵀHz is at
most ε (Σ|z_i|√h_ii)² ≤ s ε Σ h_ii z_i². So the diagonal is lowered by a share s ε of itself before anything
is solved for, and from there on what is true of the matrix holds for the data, as a bound from below.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from dualgap.arrays import Index, Matrix, Vector
from dualgap.discrete.subset.folding import DEPENDENT, Reduced, reduced
from dualgap.discrete.subset.selection import Selection, selection, told_apart, well_centred
from dualgap.discrete.subset.squares import ROUNDED, Squares, affordable, below
from dualgap.linalg.cholesky import definite
from dualgap.problem.precondition import Working, precondition
from dualgap.problem.problem import Problem
from dualgap.proof.check import check
from dualgap.proof.rounding import FEW, U, gamma, two_product

NEARLY = 1.0 - 1e-9  # correlation from which two columns are looked at: is one a multiple of the other?
FAINT = 1e-70  # numbers whose ratios and products are far from underflow are above it
FULL = 25  # columns up to which the value of all of them is soon known in integers


@dataclass(frozen=True, eq=False)
class UnitColumns:
    """minimise unit·(1 − 2cᵀu + uᵀGu + price·#{u ≠ 0}),  at most `limit` not zero."""

    working: Working
    selection: Selection
    columns: Index  # of the working design, one per entry of u
    linear: Vector
    ridge: Vector  # the part of the diagonal that comes from the square
    unit: float

    @cached_property
    def price(self) -> float:
        """Of a column, from below."""
        return self.selection.price / self.unit * (1.0 - 4.0 * U) if self.unit > 0.0 else 0.0

    @cached_property
    def limit(self) -> int:
        """How many columns may be chosen."""
        return min(self.selection.limit, self.size)

    @property
    def size(self) -> int:
        """How many columns there are to choose from."""
        return len(self.columns)

    def objective(self, value: float) -> float:
        """A value of the scaled problem in the units of the asked one, from below: no loss is below zero.

        Three roundings, and those of the rows' weights: shares of their sum, rounded.
        """
        return max(value, 0.0) * self.unit * self.working.objective_unit * (1.0 - 2.0 * FEW)

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
            u[live] = _least_squares(table, target)
        return self.working.weights(u)

    def support(self, w: Vector) -> NDArray[np.int64]:
        """The columns that some asked weights use, the largest first, as many as may be."""
        u = self.working.coordinates(w)[self.columns]
        used = np.flatnonzero(u)
        return used[np.argsort(-np.abs(u[used]), kind="stable")][: self.limit].astype(np.int64)


@dataclass(frozen=True, eq=False)
class GramProblem(UnitColumns):
    """With the whole of G at hand, the ridge in its diagonal. Entries are known to ROUNDED."""

    gram: Matrix
    part: Reduced | None  # None: from integers
    sure: bool  # does what the matrix says hold for the data?
    held: Squares | None = None  # where they were made before

    @cached_property
    def squares(self) -> Squares | None:
        """In integers; None where that takes too long."""
        asked = self.working.asked
        return self.held or (Squares(asked) if affordable(asked) else None)

    @property
    def rough(self) -> float:
        """The share by which the diagonal was lowered, beside what is left of the columns."""
        return 0.0 if self.part is None else 2.0 * self.part.lowered / float(self.part.left.min(initial=1.0))

    @cached_property
    def given(self) -> Index:
        """The columns of the asked problem that those of the matrix are."""
        return np.flatnonzero(self.working.keep)[self.columns]

    def leading(self, steps: int) -> NDArray[np.int64]:
        """The columns that gradient steps from zero lead to."""
        from dualgap.discrete.subset.exchange import thresholded

        return thresholded(self.gram, self.linear, self.price, self.limit, steps)

    def full_model(self) -> float:
        """The scaled value with every column in and none paid for, from below: no set does better.

        For any w it is the value there less rᵀG⁻¹r ≤ ‖r‖²/λ, r = c − Gw, λ below the least eigenvalue.
        """
        if self.unit == 0.0 or (self.size >= self.working.problem.n and not self.ridge.any()):
            return 0.0
        if not self.size:
            return 1.0 - ROUNDED
        m, top = self.size, float(self.gram.diagonal().max())
        lowered = self.gram - np.diag((m + 1) * ROUNDED * self.gram.diagonal())
        least = 1e-6 * top
        if definite(lowered - (least + m * (m + 4) * U * top) * np.eye(m)) and self.sure:
            w = lapack.dposv(lowered, self.linear)[1]
            length, r = float(np.abs(w).sum()), self.linear - lowered @ w
            blur = gamma(m + 3) * (1.0 + top * length)
            far = float(np.linalg.norm(r)) + blur * np.sqrt(m)
            value = 1.0 - float(self.linear @ w) - float(r @ w) - (m + 1) * ROUNDED
            found = float(value - far * far / least - 4.0 * blur * (1.0 + length) * 1.1)
            if found > 0.0:
                return found
        return self.floor()

    def floor(self) -> float:
        """The same, not from the matrix: in integers, or by the kernel from the weights of all columns."""
        if self.size >= self.working.problem.n and not self.ridge.any():
            return 0.0
        if self.size <= FULL and self.squares is not None:
            return below(self.squares.full()) / (self.unit * self.working.objective_unit) * (1.0 - FEW)
        asked = self.working.asked
        convex = asked.with_regulariser(selection(asked).convex())
        w = super().weights(np.arange(self.size))
        found = check(convex, w, convex.slope(convex.predict(w)), 1e-6, asked.null)
        return 0.0 if found.box is not None else self.scaled(found.dual) * (1.0 - FEW)


def gram_problem(problem: Problem, *, whole: bool = False) -> GramProblem:
    """State the problem on its Gram matrix; `whole`: for sets of all columns, and not of those allowed alone.

    It is that of the columns as they are given, which the elimination of the ones centres; where that leaves
    too little of a column, of the working ones.
    """
    asked = told_apart(problem)
    working = precondition(asked)
    inner = working.problem
    chosen = selection(inner)
    total = float(inner.a @ (inner.y * inner.y))
    most = _most(chosen, total, whole=whole)
    for stated in (asked, inner) if working.keep.all() else (inner,):
        full = stated.design.weighted_gram(inner.a)
        pulled = stated.design.transpose_matvec(inner.a * inner.y)
        part = reduced(full, pulled, selection(stated), total, most, asked.n)  # squares alone differ
        if part.sure:
            break
    part = _without_multiples(part, working)
    sure = part.sure and (stated is asked or well_centred(working))
    if not sure and affordable(asked):
        return exactly(asked, working)
    scaled = part.columns, part.linear, part.ridge, part.unit, part.gram
    return GramProblem(working, chosen, *scaled, part, sure)


def exactly(asked: Problem, working: Working | None = None) -> GramProblem:
    """State the problem on its Gram matrix in integers, each entry rounded at the end."""
    working = precondition(asked) if working is None else working
    squares = Squares(asked)
    counted = np.flatnonzero(selection(asked).counted)
    rest = squares.left((), counted)
    assert rest is not None
    unit = below(rest.unit) / working.objective_unit
    place = np.cumsum(working.keep) - 1
    scaled = place[rest.columns], rest.linear, rest.ridge, unit, rest.gram
    return GramProblem(working, selection(working.problem), *scaled, None, True, squares)


def _without_multiples(part: Reduced, working: Working) -> Reduced:
    """Without columns that are, to the last digit, multiples of earlier ones: a set gains nothing by both.

    Those that are multiples and cannot be seen to be so easily are left in, and cost time alone.
    """
    if part.ridge.any():
        return part
    alive, given = np.ones(len(part.columns), dtype=bool), np.flatnonzero(working.keep)[part.columns]
    for i, j in np.argwhere(np.triu(np.abs(part.gram) >= NEARLY, 1)).tolist():
        if alive[i] and alive[j]:
            alive[j] = not _is_multiple(*working.asked.design.columns(given[[i, j]]).toarray().T)
    return part if alive.all() else part.of(alive)


def _is_multiple(one: Vector, other: Vector) -> bool:
    """As floats whose products none is rounded, none of them so small that its error could be lost."""
    size = np.abs(np.append(one[one != 0.0], other[other != 0.0]))
    at = int(np.argmax(np.abs(one)))
    if not len(size) or size.min() < FAINT or size.max() > 1.0 / FAINT or one[at] == 0.0:
        return False
    value, error = two_product(one, np.full(len(one), other[at] / one[at]))
    return bool(np.all(value == other) and not error.any())


def _most(chosen: Selection, total: float, *, whole: bool) -> int:
    """How many columns a set can have that is better than none."""
    count = int(np.count_nonzero(chosen.counted))
    if whole:
        return count
    most = min(chosen.limit, count)
    return min(most, int(min(total / chosen.price, count)) + 1) if chosen.price > 0.0 else most


def _least_squares(table: Matrix, target: Vector) -> Vector:
    """By QR; where columns are dependent the shortest solution."""
    rows, columns = table.shape
    if rows >= columns:
        factored, solution, failed = lapack.dgels(table, target)
        size = np.abs(np.diag(factored))
        if not failed and size.min() > 1e-10 * size.max():
            return np.asarray(solution[:columns])
    return np.asarray(np.linalg.lstsq(table, target, rcond=None)[0])


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
