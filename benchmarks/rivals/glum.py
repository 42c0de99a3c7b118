"""glum: logistic regression with l2."""

from __future__ import annotations

import warnings
from functools import partial

import numpy as np
from glum import GeneralizedLinearRegressor

from benchmarks.problems import Problem
from benchmarks.rivals import TOLERANCES, Ladder


def ladder(problem: Problem) -> Ladder:
    """lbfgs and irls, by tolerance."""
    if problem.loss != "logistic" or problem.penalty != "l2" or hasattr(problem.X, "tocsr"):
        return []
    return [
        (f"{solver} {tol:g}", partial(_solve, problem, solver, tol))
        for tol in TOLERANCES[1:]
        for solver in ("lbfgs", "irls-ls")
    ]


def _solve(problem: Problem, solver: str, tol: float) -> tuple[np.ndarray, float]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = GeneralizedLinearRegressor(
            family="binomial",
            alpha=2 * problem.lam,
            l1_ratio=0,
            fit_intercept=problem.fit_intercept,
            solver=solver,
            gradient_tol=tol,
            max_iter=1000,
        ).fit(problem.X, (problem.y > 0).astype(float))
    return np.ravel(model.coef_), float(model.intercept_)
