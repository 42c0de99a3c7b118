"""Are neighbouring columns nearly alike? Then all but Newton's steps hardly get on."""

from __future__ import annotations

import numpy as np

from dualgap.problem.problem import Problem

PAIRS = 16  # of neighbours that are looked at
ALIKE = 1e-4  # of one: what the cosine of most of them is short of it
# Running sums of running sums, 1000 × 500: an interior point took 0.5 s, coordinate descent 11 s and the
# augmented Lagrangian never came near.
SLOWED = 100.0


def slowed(problem: Problem) -> float:
    """How many times the usual work is to be expected; asked of problems with free columns alone."""
    p = problem.p - problem.intercept
    free = int(np.count_nonzero(problem.free)) - problem.intercept
    if not 0 < free < p or p <= PAIRS or problem.design.features.sparse is not None:
        return 1.0
    first = np.linspace(0, p - 2, PAIRS).astype(np.intp)
    left, right = (problem.design.columns(first + step).toarray() for step in (0, 1))
    size = np.sqrt(np.einsum("ij,ij->j", left, left) * np.einsum("ij,ij->j", right, right))
    along = np.abs(np.einsum("ij,ij->j", left, right))
    cosine = np.divide(along, size, out=np.zeros_like(size), where=size > 0.0)
    return SLOWED if np.median(cosine) > 1.0 - ALIKE else 1.0
