"""The active set of finish.py for large tables: factors in single precision, refined against double.

Kβ is carried on in single precision, which is enough to see which rows are far from their kinks; what the
answer rests on, the rows with a coefficient and those near a kink, is computed in double precision once the
guess stands, and the free variables are refined against it.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any

import numpy as np

from dualgap.arrays import Index, Matrix, Vector
from dualgap.kernel_machines.box import Box
from dualgap.kernel_machines.finish import EDGE, SLACK, FreeGuess
from dualgap.kernel_machines.problem import KernelProblem
from dualgap.kernel_machines.pursuit import Proposal
from dualgap.kernels import Gram
from dualgap.linalg.cholesky import Bordered
from dualgap.linalg.support_factor import SupportFactor

ROUGH = 1e-5  # of the width of the box: what a first solve may be off by
SAFETY = 30.0  # times the largest rounding seen in Kβ: rows nearer to a kink are computed again
SETTLED = 1e-10  # of the unit: residual of the free rows at which refinement may end
DRIFT = 1e-8  # rounding of a product in single precision, beside the coefficients
ROUNDS = 8  # of refinement; each divides the residual by three at least, or the method gives up
SAMPLE = 100  # rows of the support on which the rounding of Kβ is looked at
JITTER = 3e-6  # of the largest diagonal entry: on 1,000 Gaussian rows 3e-8 fails and 3e-7 just serves


@dataclass(frozen=True, eq=False)
class SingleGram:
    """K + ridge + shift 11ᵀ on some rows, in 4-byte numbers.

    Where Σβ is fixed the shift changes nothing but b, and K may be singular without it.
    """

    gram: Gram
    ridge: Vector
    shift: float

    def block(self, which: Index) -> Any:
        """A fresh block."""
        block = self.gram.single(which)
        block += np.float32(self.shift)
        block[np.diag_indices_from(block)] += self.ridge[which].astype(np.float32)
        return block

    def cross(self, rows: Index, columns: Index) -> Matrix:
        """A block off the diagonal, or across it, in double precision."""
        same = rows[:, None] == columns
        return np.asarray(self.gram.block(rows, columns) + self.shift + same * self.ridge[columns])


class RefinedSet(FreeGuess):
    """The guess with f = Kβ carried along, nearly."""

    def __init__(self, problem: KernelProblem, box: Box, parts: Vector, f: Vector) -> None:
        super().__init__(box, parts)
        self.problem, self.f, self.b = problem, f.copy(), 0.0
        self.rounding = self._sampled_rounding()
        gram, free = problem.gram, max(1, int(np.count_nonzero(self.free)))
        self.shift = float(gram.diagonal.mean()) / free if problem.intercept else 0.0
        ridge = box.ridge[: box.n] + JITTER * float(gram.diagonal.max())
        # as it is or not at all: what a larger jitter hides, refinement does not find again
        self._factor = SupportFactor(SingleGram(gram, ridge, self.shift), (0.0,))

    def _sampled_rounding(self) -> float:
        """How far f is from Kβ, on some rows of the support."""
        beta = self.box.joined(self.parts)
        support = np.flatnonzero(beta)
        some = support[:: max(1, len(support) // SAMPLE)]
        return float(np.abs(self._exact_at(some, support, beta) - self.f[some]).max(initial=0.0))

    def _tried(self) -> Generator[None, None, bytes | None]:
        free = np.flatnonzero(self.free)
        rows = self.box.row[free]
        if not self._fits(rows):
            return None
        self._solve(free, rows)
        edge = EDGE * self.box.unit
        changed = self._correct(self._pull(), ROUGH, max(3.0 * self.rounding, edge))
        if not changed:
            yield None
            self._refine(free, rows)
            changed = self._correct(self._pull(), SLACK, edge)
        return changed

    def _pull(self) -> Vector:
        return self.box.slope(self.parts, self.f) - self.b

    def _fits(self, rows: Index) -> bool:
        """Some free rows, each once, whose factor has room beside the rows kept."""
        room = self.problem.gram.cache_bytes - self.problem.gram.quick.nbytes
        return 0 < len(rows) == len(np.unique(rows)) and 4.0 * len(rows) ** 2 <= room

    def _solve(self, free: Index, rows: Index) -> None:
        """The free variables from f as it is."""
        tied, support = self.problem.intercept, np.sort(rows)
        border = np.ones((len(rows), int(tied)))
        self._inverse = Bordered(lambda right: self._factor.solve(support, right), border)
        self._move(free, rows)

    def _move(self, free: Index, rows: Index) -> Vector:
        """One step towards slope = b on the free rows and Σβ = 0."""
        order = np.argsort(rows)
        slope = self.box.slope(self.parts, self.f)[free]
        missing, change = -float(self.parts.sum()), np.empty_like(slope)
        middle = float(slope.mean()) if self.problem.intercept else 0.0  # what is left is small beside b
        change[order], level = self._inverse.solve(slope[order] - middle, np.full(1, missing))
        self.b = middle + float(level.sum()) + self.shift * missing
        self.parts[free] += change
        self.f += self.problem.gram.quick.product(rows, change)
        return change

    def _refine(self, free: Index, rows: Index) -> None:
        """Double precision where it matters, and the free variables moved until they fit it."""
        enough, before = SETTLED * self.box.unit, np.inf
        for _ in range(ROUNDS):
            self._renew()
            size = self._residual(free)
            if size <= enough:
                return
            if size > 0.3 * before:
                raise np.linalg.LinAlgError("single precision does not suffice")
            before, drift = size, 0.0
            for _ in range(3):
                drift += DRIFT * float(np.abs(self._move(free, rows)).sum())
                size = self._residual(free)
                if size <= max(enough, drift):
                    break
            if size <= enough and drift <= enough:
                return

    def _residual(self, free: Index) -> float:
        off = self.box.slope(self.parts, self.f)[free]
        return float(np.abs(off - off.mean() if self.problem.intercept else off).max())

    def _renew(self) -> None:
        """f in double precision on the support, and on rows so near to a kink that rounding could decide."""
        beta = self.box.joined(self.parts)
        support = np.flatnonzero(beta)
        exact = self._exact_at(support, support, beta)
        self.rounding = max(float(np.abs(exact - self.f[support]).max(initial=0.0)), 1e-9 * self.box.unit)
        self.f[support] = exact
        pull = np.abs(self._pull()).reshape(self.box.terms, -1).min(axis=0)
        close = np.flatnonzero((beta == 0.0) & (pull <= SAFETY * self.rounding))
        self.f[close] = self._exact_at(close, support, beta)

    def _exact_at(self, where: Index, support: Index, beta: Vector) -> Vector:
        return self.problem.gram.product_at(where, support, beta[support])

    def _hold(self, parts: Vector) -> None:
        moved = self.box.joined(parts - self.parts)
        rows = np.flatnonzero(moved)
        self.parts = parts
        if len(rows):
            self.f += self.problem.gram.quick.product(rows, moved[rows])

    def _answer(self) -> Proposal:
        """The answer, with f in double precision wherever a prediction costs or could."""
        problem = self.problem
        self._hold(np.clip(self.parts, self.box.low, self.box.high))
        beta = problem.feasible(2.0 * problem.lam * self.box.joined(self.parts)) / (2.0 * problem.lam)
        reach = SAFETY * self.rounding
        with np.errstate(all="ignore"):
            flat = [problem.loss.derivative(problem.y, self.f + self.b + d) == 0.0 for d in (-reach, reach)]
        support = np.flatnonzero(beta)
        rest = np.flatnonzero((beta == 0.0) & ~(flat[0] & flat[1]))
        self.f[rest] = self._exact_at(rest, support, beta)
        return Proposal("active_set", beta, self.f, self.b, fixed=True)
