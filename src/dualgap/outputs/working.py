"""Several outputs as asked, and in good coordinates."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dualgap.arrays import Vector
from dualgap.outputs.problem import OutputsProblem
from dualgap.problem.precondition import Working


@dataclass(frozen=True, eq=False)
class OutputsWorking(Working):
    """Each output in the coordinates of its own `singles`, which share columns, scales and unit."""

    asked: OutputsProblem
    problem: OutputsProblem
    singles: tuple[Working, ...]

    def weights(self, u: Vector) -> Vector:
        blocks = zip(self.singles, self.problem.table(u), strict=True)
        return np.concatenate([single.weights(block) for single, block in blocks])

    def coordinates(self, w: Vector) -> Vector:
        blocks = zip(self.singles, self.asked.table(w), strict=True)
        return np.concatenate([single.coordinates(block) for single, block in blocks])
