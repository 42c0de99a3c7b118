"""Quantiles that do not cross, by interior point: kinks for the rows, and for each pair of neighbouring
quantiles a row that holds the upper one above the lower one.

The matrix of every step is block tridiagonal, a Gram matrix of X in each block.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from dualgap.arrays import Index, Mask, Matrix, Vector
from dualgap.design import BlockDiagonal, Dense, Design
from dualgap.drive.memory import too_large
from dualgap.drive.registry import solver
from dualgap.drive.solver import STEP, Iterate
from dualgap.outputs.problem import OutputsProblem, raised
from dualgap.solvers.interior_point.choice import weights
from dualgap.solvers.interior_point.method import Method
from dualgap.solvers.interior_point.rows import TermRows
from dualgap.solvers.interior_point.system import Tall

COPIES = 3.0  # of the dense system at once
APART = 0.1  # of the size of the targets: how far from each other predictions begin


@dataclass(frozen=True, eq=False)
class Rising(Design):
    """diag(X, …, X) above rows X w_{k+1} − X w_k."""

    blocks: BlockDiagonal

    @property
    def one(self) -> Design:
        """X."""
        return self.blocks.parts[0]

    @property
    def outputs(self) -> int:
        """How many predictions a row of the data has."""
        return len(self.blocks.parts)

    @property
    def shape(self) -> tuple[int, int]:
        n, p = self.one.shape
        return (2 * self.outputs - 1) * n, self.outputs * p

    @property
    def stored(self) -> int:
        return 2 * self.blocks.stored

    def _split(self, values: Vector) -> tuple[Matrix, Matrix]:
        """Of the outputs, and of the rows that hold them apart."""
        table = values.reshape(2 * self.outputs - 1, -1)
        return table[: self.outputs], table[self.outputs :]

    def matvec(self, w: Vector) -> Vector:
        z = self.one.matvecs(w.reshape(self.outputs, -1))
        return np.concatenate([z, np.diff(z, axis=0)]).ravel()

    def matvecs(self, weights: Matrix) -> Matrix:
        return np.array([self.matvec(w) for w in weights])

    def transpose_matvec(self, theta: Vector) -> Vector:
        own, apart = self._split(theta)
        held = own.copy()
        held[1:] += apart
        held[:-1] -= apart
        return self.one.transpose_matvecs(held).ravel()

    def transpose_matvecs(self, thetas: Matrix) -> Matrix:
        return np.array([self.transpose_matvec(theta) for theta in thetas])

    def absolute_transpose_matvec(self, theta: Vector) -> Vector:
        own, apart = self._split(theta)
        held = own.copy()
        held[1:] += apart
        held[:-1] += apart
        return np.concatenate([self.one.absolute_transpose_matvec(row) for row in held])

    def weighted_gram(self, h: Vector, *, single: bool = False) -> Matrix:
        own, apart = self._split(h)
        held = own.copy()
        held[1:] += apart
        held[:-1] += apart
        p = self.one.shape[1]
        whole = np.zeros((self.outputs * p, self.outputs * p))
        for k, diagonal in enumerate(held):
            here = slice(k * p, (k + 1) * p)
            whole[here, here] = self.one.weighted_gram(diagonal, single=single)
        for k, across in enumerate(apart):
            here, after = slice(k * p, (k + 1) * p), slice((k + 1) * p, (k + 2) * p)
            block = self.one.weighted_gram(across, single=single)
            whole[here, after], whole[after, here] = -block, -block
        return whole

    def weighted_outer(self, d: Vector, *, single: bool = False) -> Matrix:
        return Dense(self.toarray()).weighted_outer(d, single=single)

    def weighted_square_norms(self, a: Vector) -> Vector:
        return np.asarray(self.weighted_gram(a).diagonal())

    def rows(self, which: Index | Mask) -> Design:
        return Dense(self.toarray()[which])

    def columns(self, which: Index | Mask) -> Design:
        above = self.blocks.columns(which).toarray()
        z = above.reshape(self.outputs, -1, above.shape[1])
        return Dense(np.concatenate([above, np.diff(z, axis=0).reshape(-1, above.shape[1])]))

    def row_marks(self) -> Vector:
        return Dense(self.toarray()).row_marks()

    def same_rows(self, left: Index, right: Index) -> Mask:
        return Dense(self.toarray()).same_rows(left, right)

    def toarray(self) -> Matrix:
        return self.columns(np.arange(self.shape[1])).toarray()


@dataclass(frozen=True, eq=False)
class RisingProblem(OutputsProblem):
    """The problem in good coordinates. Its rows, slopes and dual points have those between the quantiles
    behind; whether these are kept is not part of the loss, but of which weights count (`moved`).
    """

    design: Rising  # type: ignore[assignment]

    @property
    def kind(self) -> str:
        return "quantiles"

    @property
    def levels(self) -> int:
        return 0

    @cached_property
    def _counted(self) -> int:
        """Rows of the outputs, which come first."""
        return self.outputs * self.design.one.shape[0]

    def predict(self, w: Vector) -> Vector:
        return self.design.matvec(w)

    def risk(self, prediction: Vector) -> float:
        m = self._counted
        return float(self.a[:m] @ self.loss.value(self.y[:m], prediction[:m]))

    def moved(self, w: Vector) -> Vector:
        return self.apart(self.regulariser.feasible(w))

    def apart(self, w: Vector, by: float = 0.0) -> Vector:
        """Levels raised until no quantile comes nearer than that to the one below it."""
        if not self.tied:
            return w
        m, z = self._counted, self.predict(w)
        short = (self.y[m:, 0] + by - z[m:]).reshape(self.outputs - 1, -1).max(axis=1)
        return raised(self.table(w), short, z).ravel()


class RisingRows(TermRows):
    """Kinks, and rows whose slack begins positive wherever their prediction is."""

    def __init__(self, problem: RisingProblem) -> None:
        super().__init__(problem)
        self._held = slice(problem.outputs * problem.design.one.shape[0], None)
        self._least = problem.y[self._held, 0] + APART

    def start(self, z: Vector, mu: float) -> tuple[Vector, Vector]:
        z = z.copy()
        z[self._held] = np.maximum(z[self._held], self._least)
        return super().start(z, mu)


@solver("quantile_interior_point", kind="quantiles")
@dataclass(frozen=True)
class QuantileInteriorPoint:
    """Mehrotra's method on all quantiles at once, held apart on every row of the data.

    Cost per step: 2m − 1 Gram matrices for m quantiles, and a Cholesky factor of all weights.
    """

    def missing(self, problem: RisingProblem) -> tuple[str, ...]:
        lacking = too_large(problem.p, COPIES)
        if weights(problem.regulariser) is None or problem.regulariser.gauge.elastic is None:
            return ("the penalty is not a sum over the weights", *lacking)
        return lacking

    def cost(self, problem: RisingProblem) -> float:
        p = float(problem.p)
        return 25.0 * (STEP + problem.design.stored * problem.design.one.shape[1] + p**3 / 3.0)

    def iterates(self, problem: RisingProblem, start: Iterate) -> Iterator[Iterate]:
        half = weights(problem.regulariser)
        assert half is not None
        begun = replace(start, w=problem.apart(start.w, APART))
        yield from Method(problem, RisingRows(problem), half, Tall(), begun).run()
