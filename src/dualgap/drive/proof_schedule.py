"""Which iterates of a cheap method are worth a proof: one costs another product with Xᵀ."""

from __future__ import annotations

from math import isqrt

import numpy as np

from dualgap.problem.problem import Problem

AFFORDABLE = 1e10  # operations of one proof: beyond, none is made
CHEAP = 1_000_000  # numbers of a matrix that is read in no time


def due(problem: Problem, k: int) -> bool:
    """k = 1, 4, 9, 16, …: √k proofs in k steps, and the end is seen at most 2√k steps late.

    Where several coordinates are free a proof solves a system with their columns: then k = 1, 2, 4, 8, …
    """
    if np.count_nonzero(problem.free) > problem.intercept:
        return affordable(problem) and k & (k - 1) == 0
    return isqrt(k) ** 2 == k


def glance(problem: Problem, k: int) -> tuple[bool, bool]:
    """Is pass k of a stochastic method to be looked at, and proven? A look costs a third of a pass.

    On a small matrix every pass is looked at. Else 1, 4, 9, … are, and 1, 16, 81, … proven; the last is both.
    """
    if problem.design.stored <= CHEAP:
        return True, due(problem, k)
    square = isqrt(k) ** 2 == k
    return square, square and due(problem, isqrt(k))


def affordable(problem: Problem) -> bool:
    """Can the dual point be balanced against the free columns in reasonable time?"""
    free = int(np.count_nonzero(problem.free))
    return free <= problem.intercept or float(problem.n) * free * free <= AFFORDABLE
