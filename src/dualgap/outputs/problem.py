"""Several outputs of the same rows as one problem: a design with X once for each, along the diagonal.

Weights, slopes and dual points are vectors, output after output, each output with its intercept last. So
every gauge and every loss works as it is; the intercepts are free columns, and `intercept` is False.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from dualgap.arrays import Matrix, Vector
from dualgap.design import BlockDiagonal
from dualgap.problem.problem import Problem
from dualgap.proof.outputs import StackedOutputs

ROUNDED = 2.0**-50  # of the size of predictions: what adding a level may round


@dataclass(frozen=True, eq=False)
class OutputsProblem(StackedOutputs, Problem):
    """`one` are the best constants and the objective there, of each output alone."""

    design: BlockDiagonal
    one: tuple[tuple[float, float], ...] = field(default=(), kw_only=True)

    @property
    def kind(self) -> str:
        return "outputs"

    def table(self, values: Vector) -> Matrix:
        """What holds output after output, a row for each."""
        return values.reshape(self.outputs, -1)

    @property
    def levels(self) -> int:
        return self.outputs if self.plain else 0

    @cached_property
    def null_weights(self) -> Vector:
        w = np.zeros(self.p)
        if self.tied:
            self.table(w)[:, -1] = [constant for constant, _ in self.one]
        return w

    @cached_property
    def null(self) -> float:
        return float(sum(value for _, value in self.one))

    @property
    def null_dual(self) -> Vector:
        return self.slope(self.predict(self.null_weights))

    def predict(self, w: Vector) -> Vector:
        table = self.table(w)
        if self.tied and not table[:, :-1].any():  # levels alone
            return np.repeat(table[:, -1], self.design.parts[0].shape[0])
        return self.design.matvec(w)

    def moved(self, w: Vector) -> Vector:
        """Where constraints tie the outputs, each prediction at least as high as that of the one before."""
        inside = self.regulariser.feasible(w)
        if self.constraints is None or not self.tied:
            return inside
        z = self.table(self.predict(inside))
        return raised(self.table(inside), (z[:-1] - z[1:]).max(axis=1), z).ravel()


def raised(table: Matrix, short: Vector, z: Vector) -> Matrix:
    """The levels, last in each row, lifted by what the predictions z of each miss beside the one before."""
    lift = np.where(short > 0.0, short + ROUNDED * float(np.abs(z).max()), 0.0)
    if not lift.any():
        return table
    table = table.copy()
    table[1:, -1] += np.cumsum(lift)
    return table
