"""From a nearly optimal point of a piecewise quadratic problem to the exact one, by its active set.

Once it is known which terms of the loss are at a bound and which weights are zero, the optimality conditions
are linear. The gap of the candidate tells whether the guess was right.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import lu_factor, lu_solve

from dualgap.arrays import Index, Mask, Matrix, Vector
from dualgap.drive.solver import Iterate
from dualgap.linalg.cholesky import cholesky
from dualgap.problem.problem import Problem
from dualgap.solvers.prices import lacks_prices, prices
from dualgap.traits import Trait

RAISED = 1e-11  # relative diagonal that makes a singular system solvable; refinement takes its effect away
REFINEMENTS = 3  # each leaves of the error what RAISED is beside the least eigenvalue
SMALL = 1e-4  # share of the kinks' size below which distances are not typical
LARGEST = 100  # a system may exceed twice the smaller side of the design by this much

Solved = tuple[Vector, Matrix] | None  # w and d


@dataclass(frozen=True, eq=False)
class Pieces:
    """min of Σ sup over lower ≤ d ≤ upper of d(Xw − kink) − soft·d²/2, plus Σ l1|w| + square·w²/2."""

    kink: Matrix  # (n, K), as all of the loss
    lower: Matrix
    upper: Matrix
    soft: Matrix
    l1: Vector
    square: Vector

    @property
    def curved(self) -> bool:
        """Is the loss curved between its bounds, or a kink?"""
        return bool(self.soft.any())


@dataclass(frozen=True, eq=False)
class Guess:
    """Which terms lie strictly inside their box or above it, which weights are not zero, and their signs."""

    inside: Mask
    above: Mask
    support: Mask
    signs: Vector

    def same(self, other: Guess | None) -> bool:
        """Do both say the same?"""
        if other is None:
            return False
        mine, theirs = (self.inside, self.above, self.signs), (other.inside, other.above, other.signs)
        return all(np.array_equal(one, two) for one, two in zip(mine, theirs, strict=True))


class Finish:
    """The exact solution on the active set guessed from (w, θ); None where the problem has no such form.

    For a run of points of one problem: a guess that was just tried is not tried again.
    """

    def __init__(self, problem: Problem) -> None:
        self._problem, self._pieces = problem, _pieces(problem)
        self._last: Guess | None = None

    def __call__(self, w: Vector, theta: Vector) -> Iterate | None:
        """A candidate, if there is a new one."""
        if self._pieces is None:
            return None
        guess = _guess(self._problem, self._pieces, w, theta)
        if guess.same(self._last):
            return None
        self._last = guess
        task = _Task(self._problem, self._pieces, guess)
        w, d = np.where(guess.support, w, 0.0), task.settled(theta)
        solved = task.by_columns(w, d) if task.narrow else task.by_rows(w, d)
        if solved is None or not (np.all(np.isfinite(solved[0])) and np.all(np.isfinite(solved[1]))):
            return None
        return Iterate(solved[0], -solved[1].sum(axis=1))


def _pieces(problem: Problem) -> Pieces | None:
    if lacks_prices(problem) or not problem.loss_has(Trait.PIECEWISE_QUADRATIC):
        return None
    terms, a = problem.loss.terms(problem.y), problem.a[:, None]
    return Pieces(terms.kink, a * terms.lower, a * terms.upper, terms.softness / a, *prices(problem))


def _guess(problem: Problem, pieces: Pieces, w: Vector, theta: Vector) -> Guess:
    """A term is where a proximal step from d lands; a weight is zero where its price leaves more room.

    Distances are measured against typical ones, and those against the kinks, for where all of them vanish.
    """
    reach = problem.design.matvec(w)[:, None] - pieces.kink
    unit = float(np.abs(pieces.kink).mean())
    if pieces.curved:
        probe = reach / pieces.soft
    else:
        step = problem.a[:, None] / max(float(np.abs(reach).mean()), SMALL * unit, 1e-300)
        probe = np.clip(-theta[:, None], pieces.lower, pieces.upper) + step * reach
    above, below = probe >= pieces.upper, probe <= pieces.lower
    sharp = pieces.l1 > 0
    typical = max(float(np.abs(w[sharp]).mean()) if sharp.any() else 0.0, SMALL * unit, 1e-300)
    price = np.abs(problem.design.transpose_matvec(theta))
    support = ~sharp | (price + pieces.l1 * np.abs(w) / typical > pieces.l1)
    return Guess(~(above | below), above, support, np.where(support & sharp, np.sign(w), 0.0))


@dataclass(frozen=True, eq=False)
class _Task:
    """The linear conditions of one guess."""

    problem: Problem
    pieces: Pieces
    guess: Guess

    @property
    def narrow(self) -> bool:
        """Are there fewer weights than unknowns of `by_rows`, and can the terms be eliminated?"""
        inside, support = self.guess.inside, self.guess.support
        rest = np.count_nonzero(inside) + np.count_nonzero(support & (self.pieces.square == 0))
        return self.pieces.curved and int(np.count_nonzero(support)) <= int(rest)

    def settled(self, theta: Vector) -> Matrix:
        """d on its bounds where the guess says so, from θ elsewhere."""
        pieces, guess = self.pieces, self.guess
        d = np.clip(-theta[:, None], pieces.lower, pieces.upper)
        return np.where(guess.inside, d, np.where(guess.above, pieces.upper, pieces.lower))

    def _slope(self, w: Vector, d: Matrix) -> Vector:
        """The gradient over the weights."""
        pull = self.problem.design.transpose_matvec(d.sum(axis=1))
        return pull + self.pieces.l1 * self.guess.signs + self.pieces.square * w

    def by_columns(self, w: Vector, d: Matrix) -> Solved:
        """Curved terms eliminated: (XᵀCX + square) Δw = −slope on the support."""
        support, pieces = np.flatnonzero(self.guess.support), self.pieces
        curvature = np.where(self.guess.inside, 1.0 / pieces.soft, 0.0).sum(axis=1)
        matrix = self.problem.design.columns(support).weighted_gram(curvature)
        matrix.flat[:: len(support) + 1] += pieces.square[support]
        try:
            solve = cholesky(matrix)
        except np.linalg.LinAlgError:
            return None
        w = w.copy()
        for _ in range(REFINEMENTS):
            d = self._curved(w, d)
            w[support] -= solve(self._slope(w, d)[support])
        return w, self._curved(w, d)

    def _curved(self, w: Vector, d: Matrix) -> Matrix:
        reach = self.problem.design.matvec(w)[:, None] - self.pieces.kink
        return np.where(self.guess.inside, reach / self.pieces.soft, d)

    def by_rows(self, w: Vector, d: Matrix) -> Solved:
        """Curved weights (1) eliminated: a saddle point in the flat weights (0) and the inner terms.

            A₀ᵀ Δd = −slope₀,     A₀ Δw₀ − (A₁ square⁻¹ A₁ᵀ + soft) Δd = A₁ square⁻¹ slope₁ − miss

        with d in units of the row's weight. Solved for a change, so that where it is not unique the answer
        stays near the point it came from.
        """
        pieces, problem = self.pieces, self.problem
        rows, term = np.nonzero(self.guess.inside)
        flat = np.flatnonzero(self.guess.support & (pieces.square == 0))
        curved = np.flatnonzero(self.guess.support & (pieces.square > 0))
        if len(rows) + len(flat) > 2 * min(problem.n, problem.p) + LARGEST:
            return None
        a, soft, kink = problem.a[rows], pieces.soft[rows, 0], pieces.kink[rows, term]
        block, inverse, m = problem.design.rows(rows), 1.0 / pieces.square[curved], len(flat)
        beside = block.columns(curved)
        factor = _factor(_saddle(block.columns(flat).toarray(), beside.weighted_outer(inverse), soft, a))
        if factor is None:
            return None
        w, d = w.copy(), d.copy()
        for _ in range(REFINEMENTS):
            slope = self._slope(w, d)
            miss = block.matvec(w) - kink - soft * d[rows, term]
            right = np.append(-slope[flat], a * (beside.matvec(inverse * slope[curved]) - miss))
            step = lu_solve(factor, right, check_finite=False)
            change = a * step[m:]
            w[flat] += step[:m]
            w[curved] -= inverse * (slope[curved] + beside.transpose_matvec(change))
            d[rows, term] += change
        return w, d


def _saddle(flat: Matrix, outer: Matrix, soft: Vector, a: Vector) -> Matrix:
    """[[ε, A₀ᵀa], [aA₀, −a(outer + soft)a − ε]], quasi-definite by its small ε."""
    rows, m = flat.shape
    matrix = np.zeros((rows + m, rows + m))
    matrix[m:, :m] = a[:, None] * flat
    matrix[:m, m:] = matrix[m:, :m].T
    matrix[m:, m:] = -(a[:, None] * outer * a)
    raised = RAISED * float(np.abs(matrix).max(initial=1e-300))
    matrix.flat[:: rows + m + 1] += np.append(np.full(m, raised), -soft * a * a - raised)
    return matrix


def _factor(matrix: Matrix) -> tuple[Matrix, Index] | None:
    if not matrix.size:
        return None
    factor, pivots = lu_factor(matrix, overwrite_a=True, check_finite=False)
    return (factor, pivots) if np.all(np.diagonal(factor) != 0.0) else None
