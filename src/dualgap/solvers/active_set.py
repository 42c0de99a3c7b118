"""From a nearly optimal point of a piecewise quadratic problem to the exact one, by its active set.

Once it is known which terms are at a bound and which weights are zero, the optimality conditions are linear.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.linalg import lu_factor, lu_solve

from dualgap.arrays import Index, Mask, Matrix, Vector
from dualgap.penalties.forms import Penalised
from dualgap.penalties.separable import Separable
from dualgap.problem.problem import Problem
from dualgap.solvers.base import Iterate
from dualgap.traits import Trait

RAISED = 1e-11  # relative diagonal that makes a singular system solvable; refinement takes its effect away
REFINEMENTS = 3


@dataclass(frozen=True, eq=False)
class Guess:
    """Which terms lie strictly inside their box or above it, and which weights are not zero."""

    inside: Mask  # (n, K)
    above: Mask
    support: Mask
    signs: Vector

    def same(self, other: Guess | None) -> bool:
        """Do both say the same?"""
        return other is not None and all(
            np.array_equal(mine, theirs)
            for mine, theirs in (
                (self.inside, other.inside),
                (self.above, other.above),
                (self.signs, other.signs),
            )
        )


class Finish:
    """The exact solution on the active set guessed from (w, θ); each guess is tried once.

    Needs a piecewise quadratic loss and a penalised separable gauge, and does nothing elsewhere.
    """

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self._last: Guess | None = None
        regulariser = problem.regulariser
        gauge = regulariser.gauge
        self._fits = (
            problem.loss_has(Trait.PIECEWISE_QUADRATIC)
            and isinstance(regulariser, Penalised)
            and isinstance(gauge, Separable)
        )
        if not (self._fits and isinstance(regulariser, Penalised) and isinstance(gauge, Separable)):
            return
        self._l1, self._square = regulariser.strength * gauge.l1, 2.0 * regulariser.strength * gauge.l2
        terms, a = problem.loss.terms(problem.y), problem.a[:, None]
        self._kink, self._lower, self._upper = terms.kink, a * terms.lower, a * terms.upper
        self._soft = terms.softness / a

    def __call__(self, w: Vector, theta: Vector) -> Iterator[Iterate]:
        """At most one candidate; the driver's gap tells whether the guess was right."""
        if not self._fits:
            return
        z = self._problem.design.matvec(w)
        d = np.clip(-theta[:, None], self._lower, self._upper)
        guess = self._guess(w, theta, z, d)
        if guess.same(self._last):
            return
        self._last = guess
        w = np.where(guess.support, w, 0.0)
        d = np.where(guess.inside, d, np.where(guess.above, self._upper, self._lower))
        solved = self._by_columns(guess, w, d) if self._soft_and_narrow(guess) else self._by_rows(guess, w, d)
        if solved is not None and all(np.all(np.isfinite(part)) for part in solved):
            w, d = solved
            yield Iterate(w, -d.sum(axis=1))

    def _guess(self, w: Vector, theta: Vector, z: Vector, d: Matrix) -> Guess:
        """A term is where the proximal step from d lands; a weight is zero where its price has room."""
        reach = z[:, None] - self._kink
        a = self._problem.a[:, None]
        if self._soft.any():
            probe = reach / self._soft
        else:
            probe = d + a * reach / max(float((a * np.abs(reach)).sum() / a.sum()), 1e-300)
        above, below = probe >= self._upper, probe <= self._lower
        sharp = self._l1 > 0
        size = np.abs(w) / max(float(np.abs(w[sharp]).mean()) if sharp.any() else 0.0, 1e-300)
        price = np.abs(self._problem.design.transpose_matvec(theta))
        support = ~sharp | (price + self._l1 * size > self._l1)
        return Guess(~(above | below), above, support, np.where(support & sharp, np.sign(w), 0.0))

    def _soft_and_narrow(self, guess: Guess) -> bool:
        flat = guess.support & (self._square == 0)
        wide = np.count_nonzero(guess.inside) + np.count_nonzero(flat)
        return bool(self._soft.any()) and np.count_nonzero(guess.support) <= wide

    def _by_columns(self, guess: Guess, w: Vector, d: Matrix) -> tuple[Vector, Matrix] | None:
        """Soft terms eliminated: (XᵀCX + 2 l2) Δw = −gradient on the support."""
        support = np.flatnonzero(guess.support)
        columns = self._problem.design.columns(support)
        curvature = np.where(guess.inside, 1.0 / self._soft, 0.0).sum(axis=1)
        matrix = columns.weighted_gram(curvature)
        diagonal = np.diagonal(matrix) + self._square[support]
        matrix.flat[:: len(support) + 1] = diagonal * (1.0 + RAISED)
        factor = _factor(matrix)
        if factor is None:
            return None
        w = w.copy()
        for _ in range(REFINEMENTS):
            d = np.where(guess.inside, (columns.matvec(w[support])[:, None] - self._kink) / self._soft, d)
            slope = columns.transpose_matvec(d.sum(axis=1)) + self._priced(guess, w)[support]
            w[support] -= lu_solve(factor, slope, check_finite=False)
        d = np.where(guess.inside, (columns.matvec(w[support])[:, None] - self._kink) / self._soft, d)
        return w, d

    def _priced(self, guess: Guess, w: Vector) -> Vector:
        """The penalty's gradient on the support."""
        return self._l1 * guess.signs + self._square * w

    def _by_rows(self, guess: Guess, w: Vector, d: Matrix) -> tuple[Vector, Matrix] | None:
        """Curved weights eliminated: the flat weights and the inner terms, as a saddle point.

            A₀ᵀ Δd = −slope₀,     A₀ Δw₀ − (A₁ (2 l2)⁻¹ A₁ᵀ + soft) Δd = −miss + A₁ (2 l2)⁻¹ slope₁

        with d in units of the row's weight.
        """
        rows, term = np.nonzero(guess.inside)
        flat = np.flatnonzero(guess.support & (self._square == 0))
        curved = np.flatnonzero(guess.support & (self._square > 0))
        if len(rows) + len(flat) > 2 * min(self._problem.n, self._problem.p) + 100:
            return None
        a = self._problem.a[rows]
        block = self._problem.design.rows(rows)
        over, under = block.columns(flat).toarray(), block.columns(curved)
        soft, inverse = self._soft[rows, 0], 1.0 / self._square[curved]
        factor = _factor(_saddle(over, under.weighted_outer(inverse), soft, a))
        if factor is None:
            return None
        kink, m = self._kink[rows, term], len(flat)
        w, d = w.copy(), d.copy()
        for _ in range(REFINEMENTS):
            slope = self._problem.design.transpose_matvec(d.sum(axis=1)) + self._priced(guess, w)
            miss = block.matvec(w) - kink - soft * d[rows, term]
            right = np.append(-slope[flat], a * (under.matvec(inverse * slope[curved]) - miss))
            step = lu_solve(factor, right, check_finite=False)
            change = a * step[m:]
            w[flat] += step[:m]
            w[curved] -= inverse * (slope[curved] + under.transpose_matvec(change))
            d[rows, term] += change
        return w, d


def _saddle(over: Matrix, outer: Matrix, soft: Vector, a: Vector) -> Matrix:
    """[[ε, A₀ᵀa], [aA₀, −a(outer + soft)a − ε]], ε making it quasi-definite."""
    rows, flat = over.shape
    matrix = np.zeros((rows + flat, rows + flat))
    matrix[flat:, :flat] = a[:, None] * over
    matrix[:flat, flat:] = matrix[flat:, :flat].T
    matrix[flat:, flat:] = -(a[:, None] * outer * a)
    raised = RAISED * float(np.abs(matrix).max(initial=1e-300))
    diagonal = np.append(np.full(flat, raised), -soft * a * a - raised)
    matrix.flat[:: rows + flat + 1] += diagonal
    return matrix


def _factor(matrix: Matrix) -> tuple[Matrix, Index] | None:
    if not matrix.size:
        return None
    factor, pivots = lu_factor(matrix, overwrite_a=True, check_finite=False)
    return (factor, pivots) if np.all(np.diagonal(factor) != 0.0) else None
