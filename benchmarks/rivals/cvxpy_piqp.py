"""PIQP through cvxpy: the quadratic programs among the cells."""

from __future__ import annotations

from benchmarks.problems import Problem
from benchmarks.rivals import Ladder
from benchmarks.rivals.cvxpy_clarabel import ladder as conic_ladder


def ladder(problem: Problem) -> Ladder:
    """By the solver's own tolerance."""
    return conic_ladder(problem, "PIQP")
