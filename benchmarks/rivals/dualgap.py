"""Ourselves: the defaults, to a certified relative gap of 1e-6."""

from __future__ import annotations

from functools import partial
from typing import Any

import dualgap as dg
from benchmarks.problems import Problem
from benchmarks.rivals import Ladder

COMPILES = True


def ladder(problem: Problem) -> Ladder:
    """One rung: the default tolerance."""
    return [("certified 1e-6", partial(solve, problem))]


def solve(problem: Problem, solver: str = "auto") -> tuple[Any, ...]:
    """Weights, intercept and θ, and which solver it was."""
    solution = dg.fit(problem.X, problem.y, solver=solver, **asked(problem))
    if not solution.converged:
        raise RuntimeError(f"{solution.solver}: gap {solution.relative_gap:.1e}")
    return solution.coef, float(solution.intercept), solution.certificate.theta, solution.solver


def asked(problem: Problem) -> dict[str, Any]:
    """The problem in the keywords of `fit`."""
    return {
        "loss": problem.loss,
        "penalty": problem.penalty,
        "fit_intercept": problem.fit_intercept,
        **problem.strength,
    }
