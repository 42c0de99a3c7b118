"""HiGHS: piecewise-linear loss with l1 as a linear program (interior point and simplex)."""

from __future__ import annotations

from functools import partial

import numpy as np
import scipy.sparse as sp
from scipy.optimize import linprog

from benchmarks.problems import Problem
from benchmarks.rivals import Ladder, number


def ladder(problem: Problem) -> Ladder:
    """The interior point with crossover, then the dual simplex."""
    if problem.penalty != "l1" or problem.fit_intercept or problem.lam is None:
        return []
    if problem.loss.partition("(")[0] not in ("absolute", "quantile", "hinge"):
        return []
    return [(method, partial(_solve, problem, method)) for method in ("highs-ipm", "highs-ds")]


def _solve(problem: Problem, method: str) -> tuple[np.ndarray, float]:
    X, y = problem.X, problem.y
    n, p = X.shape
    price = np.full(2 * p, problem.lam)
    if problem.loss == "hinge":
        rows = -np.hstack([y[:, None] * X, -y[:, None] * X, np.eye(n)])
        result = linprog(
            np.concatenate([price, np.full(n, 1 / n)]),
            A_ub=sp.csc_array(rows),
            b_ub=-np.ones(n),
            method=method,
        )
    else:
        up, down = (number(problem.loss), 1 - number(problem.loss)) if "(" in problem.loss else (1.0, 1.0)
        rows = sp.hstack([sp.csc_array(X), sp.csc_array(-X), sp.eye_array(n), -sp.eye_array(n)], format="csc")
        cost = np.concatenate([price, np.full(n, up / n), np.full(n, down / n)])
        result = linprog(cost, A_eq=rows, b_eq=y, method=method)
    return result.x[:p] - result.x[p : 2 * p], 0.0
