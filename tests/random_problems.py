"""Random problems for the tests of single solvers, and what a run of one solver on them must show."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from cases import taken
from dualgap.arrays import Matrix, Vector
from dualgap.design import Compressed, Dense, Design, WithOnes
from dualgap.drive.limits import Limits
from dualgap.drive.run import Outcome, drive
from dualgap.drive.solver import Solver
from dualgap.losses import Loss
from dualgap.penalties import Penalised, Penalty
from dualgap.problem.precondition import precondition
from dualgap.problem.problem import Problem
from dualgap.traits import Trait


@dataclass(frozen=True)
class Recipe:
    """How to make a problem; `share` is the strength as a share of the one at which l1 gives w = 0."""

    n: int = 60
    p: int = 12
    kind: str = "normal"
    share: float = 0.1
    intercept: bool = True
    weighted: bool = False
    free: int = 0
    seed: int = 0

    def build(self, loss: Loss, penalty: Penalty) -> Problem:
        """The problem with this loss and penalty."""
        rng = np.random.default_rng(self.seed)
        array = self._matrix(rng)
        signal = array[:, : min(5, self.p)].sum(axis=1)
        y = signal + 0.7 * (signal.std() + 0.1) * rng.normal(size=self.n) + 2.0
        if Trait.CLASSIFICATION in loss.traits:
            y = np.where(y > np.median(y), 1.0, -1.0)
        y = taken(loss, y)
        a = rng.uniform(0.1, 1.0, self.n) if self.weighted else np.ones(self.n)
        inner: Design = Compressed(sp.csr_array(array)) if self.kind == "sparse" else Dense(array)
        factors = np.ones(self.p)
        factors[: self.free] = 0.0
        gauge = penalty.gauge(factors, np.ones(self.p))
        design = WithOnes(inner) if self.intercept else inner
        regulariser = Penalised(gauge.extended() if self.intercept else gauge, 1.0)
        problem = Problem(design, y, a / a.sum(), loss, regulariser, self.intercept)
        strength = self.share * _strength_of_zero(problem)
        return problem.with_regulariser(regulariser.with_strength(strength))

    def _matrix(self, rng: np.random.Generator) -> Matrix:
        n, p = self.n, self.p
        array = rng.normal(size=(n, p))
        if self.kind == "integer":
            array = np.round(array)
        if self.kind == "duplicate":
            array[:, p // 2 :] = array[:, : p - p // 2]
        if self.kind == "collinear":
            rank = max(2, min(n, p) // 3)
            array = rng.normal(size=(n, rank)) @ rng.normal(size=(rank, p))
        if self.kind == "scaled":
            array = (array + 3.0 * rng.normal(size=(n, 1))) * 10.0 ** rng.uniform(-2.0, 2.0, p)
        if self.kind == "sparse":
            array = np.abs(array) * (rng.random((n, p)) < 0.15)
        return array


def _strength_of_zero(problem: Problem) -> float:
    correlation: Vector = problem.design.transpose_matvec(
        problem.slope(problem.design.matvec(problem.null_weights))
    )
    return float(np.abs(correlation[~problem.free]).max(initial=0.0)) or 1.0


def run(problem: Problem, solver: Solver, tolerance: float = 1e-9) -> Outcome:
    """This solver alone, from w = 0."""
    return drive(precondition(problem), lambda: [solver], None, Limits(tolerance, seconds=60.0))


def relative_gap(problem: Problem, outcome: Outcome) -> float:
    """The certified gap on the problem that was asked."""
    return problem.relative(outcome.bounds.gap, outcome.bounds.primal)
