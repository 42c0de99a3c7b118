"""Which iterates of a cheap method are worth a proof: one costs another product with Xᵀ."""

from __future__ import annotations

import numpy as np

from dualgap.problem.problem import Problem

OFTEN = 10
AFFORDABLE = 1e10  # operations of one proof: beyond, none is made


def due(problem: Problem, k: int) -> bool:
    """The first ten iterates, then every tenth.

    Where several coordinates are free a proof solves a system with their columns: then k = 1, 2, 4, 8, …
    """
    if np.count_nonzero(problem.free) > problem.intercept:
        return affordable(problem) and k & (k - 1) == 0
    return k <= OFTEN or k % OFTEN == 0


def affordable(problem: Problem) -> bool:
    """Can the dual point be balanced against the free columns in reasonable time?"""
    free = int(np.count_nonzero(problem.free))
    return free <= problem.intercept or float(problem.n) * free * free <= AFFORDABLE
