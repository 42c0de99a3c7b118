"""skglm: lasso, elastic net, sparse logistic, Huber, smoothed quantile."""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from skglm import GeneralizedLinearEstimator
from skglm.datafits import Huber, Logistic, Quadratic
from skglm.experimental import SmoothQuantileRegressor
from skglm.penalties import L1, L1_plus_L2
from skglm.solvers import AndersonCD

from benchmarks.problems import Problem
from benchmarks.rivals import TOLERANCES, Ladder, Solve, number

COMPILES = True


def ladder(problem: Problem) -> Ladder:
    """AndersonCD by tolerance."""
    if problem.lam is None:
        return []
    name, lam = problem.loss.partition("(")[0], problem.lam
    if name in ("absolute", "quantile") and problem.penalty == "l1":
        return [(f"smooth {tol:g}", _quantile(problem, tol)) for tol in TOLERANCES[:-3]]
    half = lam / 2 if name in ("squared", "huber") else lam  # skglm's ½r²
    if problem.penalty == "l1":
        penalty: Any = L1(half)
    elif problem.penalty.startswith("elastic_net"):
        ridge = lam * number(problem.penalty)
        penalty = L1_plus_L2(half + ridge, half / (half + ridge))
    elif problem.penalty == "l2" and name == "huber":
        penalty = L1_plus_L2(lam, 0.0)
    else:
        return []
    fits = {"squared": Quadratic, "logistic": Logistic}
    if name == "huber":
        fit: Any = Huber(number(problem.loss))
    elif name in fits:
        fit = fits[name]()
    else:
        return []
    return [(f"anderson {tol:g}", partial(_solve, problem, fit, penalty, tol)) for tol in TOLERANCES[2:]]


def _solve(problem: Problem, fit: Any, penalty: Any, tol: float) -> tuple[np.ndarray, float]:
    X = sp.csc_matrix(problem.X) if sp.issparse(problem.X) else problem.X
    solver = AndersonCD(max_iter=200, max_epochs=200_000, tol=tol, fit_intercept=problem.fit_intercept)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = GeneralizedLinearEstimator(fit, penalty, solver).fit(X, problem.y)
    return np.ravel(model.coef_), float(np.ravel(model.intercept_)[0]) if problem.fit_intercept else 0.0


def _quantile(problem: Problem, tol: float) -> Solve:
    q, factor = (number(problem.loss), 1.0) if "(" in problem.loss else (0.5, 0.5)

    def solve() -> tuple[np.ndarray, float]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = SmoothQuantileRegressor(quantile=q, alpha=problem.lam * factor, fit_intercept=False)
            model.set_params(delta_final=tol)
            model.fit(problem.X, problem.y)
        return np.ravel(model.coef_), 0.0

    return solve
