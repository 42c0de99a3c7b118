"""celer: lasso, elastic net, sparse logistic."""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any

import celer
import numpy as np
import scipy.sparse as sp

from benchmarks.problems import Problem
from benchmarks.rivals import TOLERANCES, Ladder, number


def ladder(problem: Problem) -> Ladder:
    """By tolerance."""
    if problem.lam is None:
        return []
    n, lam = len(problem.y), problem.lam
    options: dict[str, Any] = {"max_iter": 200, "max_epochs": 200_000, "fit_intercept": problem.fit_intercept}
    if problem.loss == "squared" and problem.penalty == "l1":
        model: Any = celer.Lasso
        options["alpha"] = lam / 2
    elif problem.loss == "squared" and problem.penalty.startswith("elastic_net"):
        l1, l2 = lam / 2, lam * number(problem.penalty)
        model = celer.ElasticNet
        options |= {"alpha": l1 + l2, "l1_ratio": l1 / (l1 + l2)}
    elif problem.loss == "logistic" and problem.penalty == "l1" and not problem.fit_intercept:
        model = celer.LogisticRegression
        options["C"] = 1 / (lam * n)
    else:
        return []
    return [(f"{tol:g}", partial(_solve, model, {**options, "tol": tol}, problem)) for tol in TOLERANCES[2:]]


def _solve(model: Any, options: dict[str, Any], problem: Problem) -> tuple[np.ndarray, float]:
    X = sp.csc_matrix(problem.X) if sp.issparse(problem.X) else problem.X
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = model(**options).fit(X, problem.y)
    return np.ravel(fitted.coef_), float(np.ravel(fitted.intercept_)[0]) if problem.fit_intercept else 0.0
