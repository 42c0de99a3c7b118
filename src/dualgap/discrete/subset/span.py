"""Columns that nearly depend on one another, in coordinates that do not: the same span, to the last digit."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dualgap.arrays import Index, Mask, Matrix, Vector
from dualgap.discrete.integers import frame
from dualgap.discrete.subset.squares import Squares, affordable
from dualgap.penalties import Penalised
from dualgap.penalties.l0 import Count
from dualgap.problem.precondition import Working

LARGEST = 100_000  # entries of a table of which integers are made, again and again


class Span:
    """An array whose columns span what those asked do: far from dependent, each entry rounded once.

    Predictions are those of the working problem: array @ u.
    """

    def __init__(self, working: Working, columns: Index, rows: Mask | None = None) -> None:
        self.working, self.columns = working, columns
        table = working.asked.design.columns(columns).toarray()
        self.frame = frame(table if rows is None else table[rows])
        self.array: Matrix = np.asfortranarray(self.frame.table)

    def weights(self, u: Vector) -> Vector:
        """As asked, but for the rounding that large weights suffer; nothing is added for an offset."""
        w = np.zeros(self.working.asked.p)
        w[self.columns] = self.working.unit * self.frame.weights(u)
        return w


def given(working: Working, columns: Index) -> Index:
    """Columns of the working design as columns of the asked one."""
    kept = np.flatnonzero(working.keep)
    return (np.append(kept, working.asked.p - 1) if working.asked.intercept else kept)[columns]


def rounded(working: Working, columns: Index, prediction: Vector) -> Vector | None:
    """Floats near the weights on some asked columns that predict this, in working units; None if it is long.

    Of weights that cancel those last rounded make up for what the others lose.
    """
    asked = working.asked
    if not affordable(asked):
        return None
    target = working.unit * prediction + working.offset
    counted = np.zeros(asked.p, dtype=bool)
    counted[: asked.p - asked.intercept] = True
    free = Penalised(Count(counted, np.zeros(asked.p)), 1.0)
    wanted = replace(asked, y=target, regulariser=free)
    return Squares(wanted).weights(columns[columns < asked.p - asked.intercept])
