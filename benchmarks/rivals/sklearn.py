"""scikit-learn's own solvers (not liblinear, which has its file)."""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any

import numpy as np
from sklearn.linear_model import ElasticNet, Lasso, LogisticRegression, Ridge

from benchmarks.problems import Problem
from benchmarks.rivals import TOLERANCES, Ladder, number


def ladder(problem: Problem) -> Ladder:
    """Lasso, ElasticNet, Ridge, LogisticRegression."""
    lam, n = problem.lam, len(problem.y)
    if lam is None:
        return []
    common = {"fit_intercept": problem.fit_intercept}
    models: list[tuple[str, Any, dict[str, Any]]] = []
    if problem.loss == "squared" and problem.penalty == "l1":
        models = [("cd", Lasso, {"alpha": lam / 2, "max_iter": 100_000, **common})]
    elif problem.loss == "squared" and problem.penalty.startswith("elastic_net"):
        # α/n·½‖r‖² + a·ρ‖w‖₁ + ½a(1−ρ)‖w‖²: halve ours
        l1, l2 = lam / 2, lam * number(problem.penalty)
        total = l1 + l2
        models = [("cd", ElasticNet, {"alpha": total, "l1_ratio": l1 / total, "max_iter": 100_000, **common})]
    elif problem.loss == "squared" and problem.penalty == "l2":
        models = [
            (solver, Ridge, {"alpha": lam * n, "solver": solver, **common})
            for solver in ("cholesky", "svd", "lsqr")
        ]
    elif problem.loss == "logistic" and problem.penalty == "l2":
        solvers = ["lbfgs"] if hasattr(problem.X, "tocsr") else ["lbfgs", "newton-cholesky"]
        options = {"C": 1 / (2 * lam * n), "max_iter": 10_000, **common}
        models = [(solver, LogisticRegression, {"solver": solver, **options}) for solver in solvers]
    return [
        (f"{label} {tol:g}", partial(_solve, model, {**options, "tol": tol}, problem))
        for tol in TOLERANCES
        for label, model, options in models
    ]


def _solve(model: Any, options: dict[str, Any], problem: Problem) -> tuple[np.ndarray, float]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = model(**options).fit(problem.X, problem.y)
    return fitted.coef_.ravel(), float(np.ravel(fitted.intercept_)[0])
