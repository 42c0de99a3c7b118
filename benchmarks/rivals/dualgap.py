"""Ourselves: the defaults, to a certified relative gap of 1e-6."""

from __future__ import annotations

import numpy as np

import dualgap as dg
from benchmarks.problems import Problem
from benchmarks.rivals import Ladder


def ladder(problem: Problem) -> Ladder:
    """One rung: the default tolerance."""

    def solve() -> tuple[np.ndarray, float]:
        solution = dg.fit(
            problem.X,
            problem.y,
            loss=problem.loss,
            penalty=problem.penalty,
            fit_intercept=problem.fit_intercept,
            **problem.strength,
        )
        if not solution.converged:
            raise RuntimeError(f"gap {solution.relative_gap:.1e}")
        return solution.coef, float(solution.intercept)

    return [("certified 1e-6", solve)]
