"""The zero_one loss as a choice of sides: distinct rows, what each side costs, and planes between them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

from dualgap.arrays import Index, Matrix, Vector
from dualgap.design import Dense
from dualgap.discrete.integers import Frame, Integers, frame, infeasible, residues
from dualgap.drive.limits import Limits
from dualgap.drive.run import drive
from dualgap.drive.solver import Iterate
from dualgap.losses import Logistic, SquaredHinge
from dualgap.penalties import Penalised
from dualgap.penalties.forms import unregularised
from dualgap.penalties.separable import Separable
from dualgap.problem.precondition import Working, precondition, unchanged
from dualgap.problem.problem import Problem
from dualgap.proof.rounding import FEW, U
from dualgap.solvers.newton import Newton

SEPARATED = 1e-9  # residual, rows of length one, above which the rows kept lie strictly on their sides
LARGEST = 1_000_000  # entries of a table of which integers are made
THIN = 1e-9  # spread of the columns below which directions may be lost to rounding


@dataclass(frozen=True, eq=False)
class Signs:
    """Distinct rows of length one; `minus` is paid where rows·u > 0, `plus` where it is below, both at 0.

    With `integers`, which are the rows exactly but for a factor, bounds can be proven; without, they cannot.
    """

    coordinates: Frame | Working
    rows: Matrix
    length: Vector
    plus: Vector
    minus: Vector
    lost: float  # weight of rows that are zero, hence wrong whatever u is
    integers: Integers | None

    @property
    def dimension(self) -> int:
        """Of u: the rank of the columns, with the intercept."""
        return int(self.rows.shape[1])

    def cost(self, u: Vector) -> float:
        """The weight of the errors; a row that may be on the plane, as far as rounding tells, is one."""
        side, near = self.rows @ u, blur(u)
        wrong = np.where(side <= near, self.plus, 0.0) + np.where(side >= -near, self.minus, 0.0)
        return self.lost + float(wrong.sum())

    @property
    def rounding(self) -> float:
        """What a cost can be off by: sums and differences of the weights, a few for each row, are rounded."""
        total = self.lost + float(self.plus.sum() + self.minus.sum())
        return 32.0 * (len(self.rows) + 16) * U * total

    def below(self, cost: float) -> float:
        """A bound on the cost, its rounding and that of the weights, which are shares, paid for."""
        return max(cost - 3.0 * self.rounding, 0.0) * (1.0 - 2.0 * FEW)

    def weights(self, u: Vector) -> Vector:
        """u in the coordinates of the problem."""
        return self.coordinates.weights(u)

    def clear(self, u: Vector) -> Vector:
        """The same sides with more room: the plane farthest from the rows that u puts right."""
        kept = self.signed.rows[self.signed.rows @ u > 0.0]
        better = separator(kept)[0] if len(kept) else None
        return u if better is None or self.cost(better) > self.cost(u) else better

    @cached_property
    def signed(self) -> Signed:
        """Rows that u should have on its positive side, one per distinct row and label."""
        plus, minus = np.flatnonzero(self.plus > 0.0), np.flatnonzero(self.minus > 0.0)
        which = np.concatenate([plus, minus])
        sign = np.repeat([1, -1], [len(plus), len(minus)])
        whole = None if self.integers is None else self.integers[which] * sign.astype(object)[:, None]
        weights = np.concatenate([self.plus[plus], self.minus[minus]])
        return Signed(self.rows[which] * sign[:, None], weights, which, whole)

    @cached_property
    def residues(self) -> NDArray[np.int64]:
        """Of the integers: by them rows that coincide are known. Without them what seems to coincide does."""
        whole = np.zeros(self.rows.shape, dtype=object) if self.integers is None else self.integers
        return residues(whole)


@dataclass(frozen=True, eq=False)
class Signed:
    """Rows that u should have on its positive side, their weights, and their numbers without the sign."""

    rows: Matrix
    weights: Vector
    which: Index
    integers: Integers | None

    def part(self, left: Index) -> tuple[Vector | None, Index]:
        """A u that has these rows on its positive side; or some of them that no u has, for certain."""
        u, stuck = separator(self.rows[left])
        if u is not None and (self.integers is None or np.all(self.rows[left] @ u > blur(u))):
            return u, left[:0]
        found = self.certain(left[stuck]) if len(stuck) else left[:0]
        if len(found) or self.integers is None:
            return None, found
        subset, u = infeasible(self.integers[left])
        return (u, left[:0]) if subset is None else (None, left[subset])

    def disjoint(self, left: Index) -> Iterator[tuple[Vector | None, Index]]:
        """Disjoint parts of these rows that no u has, until some u has all that is left: then that u."""
        while len(left):
            u, stuck = self.part(left)
            yield u, stuck
            if not len(stuck):
                return
            left = np.setdiff1d(left, stuck)

    def certain(self, subset: Index) -> Index:
        """Those of some rows that certainly no u has all on its positive side; none if some u does."""
        if self.integers is None or self._surely(self.rows[subset]):
            return subset
        found, _ = infeasible(self.integers[subset])
        return subset[:0] if found is None else subset[found]

    def _surely(self, rows: Matrix) -> bool:
        """Is it so beyond rounding? Of one row more than columns a combination is zero: with clear signs?"""
        count, dimension = rows.shape
        if count != dimension + 1:
            return False
        sizes, right = np.linalg.svd(rows.T)[1:]
        shares = right[-1] * np.sign(right[-1].sum())
        return bool(sizes[-1] > 0.0 and shares.min() > 1e-14 * count / sizes[-1])


def blur(u: Vector) -> float:
    """The rounding of row·u, for rows of length one."""
    return 1e-15 * len(u) * float(np.linalg.norm(u))


def statements(problem: Problem) -> Iterator[Signs]:
    """Rows to look for planes in; the last of them, if it has integers, is the problem itself.

    Where columns are dependent up to rounding there is one before it, without the directions along which
    weights are so large, and cancel so much, that rounding decides the sides.
    """
    table = problem.design.toarray()
    if table.size > LARGEST:
        yield _stout(problem, table)
        return
    first, *sides = _distinct(problem, table)
    found = frame(table[first])
    exact = _signs(found, found.table, found.rows, *sides)
    if found.spread < THIN:
        stout = _stout(problem, table)
        if stout.dimension < exact.dimension:
            yield stout
    yield exact


def _distinct(problem: Problem, table: Matrix) -> tuple[Index, Vector, Vector]:
    """The first of every kind of row, and what its positive and its negative labels weigh."""
    _, first, which = np.unique(table, axis=0, return_index=True, return_inverse=True)
    up = problem.y > 0
    plus = np.bincount(which.ravel(), np.where(up, problem.a, 0.0), len(first))
    minus = np.bincount(which.ravel(), np.where(up, 0.0, problem.a), len(first))
    return first, plus.astype(np.float64), minus.astype(np.float64)


def _stout(problem: Problem, table: Matrix) -> Signs:
    """In the coordinates of convex problems, which leave out what is lost to rounding."""
    working = precondition(problem.with_regulariser(unregularised(problem.p)))
    first, *sides = _distinct(problem, table)
    return _signs(working, working.problem.design.toarray()[first], None, *sides)


def _signs(
    coordinates: Frame | Working, rows: Matrix, integers: Integers | None, plus: Vector, minus: Vector
) -> Signs:
    length = np.sqrt((rows * rows).sum(axis=1))
    live = length > (1e-12 * length.max(initial=1e-300) if integers is None else 0.0)
    lost = float(plus[~live].sum() + minus[~live].sum())
    unit = np.ascontiguousarray(rows[live] / length[live, None])
    whole = None if integers is None else integers[live]
    return Signs(coordinates, unit, length[live], plus[live], minus[live], lost, whole)


def separator(signed: Matrix) -> tuple[Vector | None, Index]:
    """u with signed·u > 0 in every row, or the rows of an infeasible subset, at most one more than columns.

    Nearest point of the convex hull of the rows to zero, by non-negative least squares: if it is not zero it
    is such a u (Farkas), and if it is, the rows that carry it cannot all be right.
    """
    n, q = signed.shape
    target = np.append(np.zeros(q), 1.0)
    table = np.vstack([signed.T, np.ones(n)])
    try:
        carried, residual = nnls(table, target, maxiter=50 * max(n, 10))
    except RuntimeError:  # it goes in circles
        return None, np.zeros(0, dtype=np.intp)
    if residual > SEPARATED:
        u = -(target - table @ carried)[:q]
        if np.all(signed @ u > 0.0):
            return u, np.zeros(0, dtype=np.intp)
    return None, np.flatnonzero(carried > 1e-12)


def packing(signs: Signs) -> float:
    """Disjoint infeasible subsets, the cheapest row of each: a bound that costs little."""
    weights = signs.signed.weights
    found = signs.signed.disjoint(np.arange(len(weights)))
    return sum(float(weights[stuck].min()) for _, stuck in found if len(stuck))


def surrogates(signs: Signs) -> list[Vector]:
    """Convex fits to start from: logistic and squared hinge, each barely and more firmly penalised."""
    signed, q = signs.signed, signs.dimension
    design = Dense(np.ascontiguousarray(signed.rows * signs.length[signed.which][:, None]))
    ridge = Separable(np.zeros(q), np.full(q, float((signs.length**2).mean())))
    share = signed.weights / signed.weights.sum()
    starts = []
    for loss in (Logistic(), SquaredHinge()):
        for strength in (1e-4, 1e-2):
            part = Problem(design, np.ones(len(share)), share, loss, Penalised(ridge, strength), False)
            outcome = drive(unchanged(part), lambda: [Newton()], Iterate(np.zeros(q)), Limits(1e-3, 50))
            starts.append(outcome.bounds.w)
    return starts
