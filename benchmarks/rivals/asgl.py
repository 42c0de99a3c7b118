"""asgl: quantile regression with l1, through cvxpy."""

from __future__ import annotations

import warnings
from functools import partial

import numpy as np
from asgl import Regressor

from benchmarks.problems import Problem
from benchmarks.rivals import Ladder, number


def ladder(problem: Problem) -> Ladder:
    """It has one accuracy, that of its solver."""
    name = problem.loss.partition("(")[0]
    if name not in ("absolute", "quantile") or problem.penalty != "l1" or problem.lam is None:
        return []
    return [("default", partial(_solve, problem))]


def _solve(problem: Problem) -> tuple[np.ndarray, float]:
    level, factor = (number(problem.loss), 1.0) if "(" in problem.loss else (0.5, 0.5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = Regressor(
            model="qr",
            penalization="lasso",
            quantile=level,
            lambda1=problem.lam * factor,
            fit_intercept=problem.fit_intercept,
            tol=0.0,  # keeps the small weights
        ).fit(problem.X, problem.y)
    return np.ravel(model.coef_), float(np.ravel(model.intercept_)[0]) if problem.fit_intercept else 0.0
