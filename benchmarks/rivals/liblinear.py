"""liblinear through scikit-learn. It shrinks the intercept, so problems with one get a scaled constant."""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC, LinearSVR

from benchmarks.problems import Problem
from benchmarks.rivals import TOLERANCES, Ladder, number


def ladder(problem: Problem) -> Ladder:
    """LinearSVC, LinearSVR, LogisticRegression(solver="liblinear")."""
    if problem.lam is None:
        return []
    n = len(problem.y)
    C = 1 / (2 * problem.lam * n) if problem.penalty == "l2" else 1 / (problem.lam * n)
    options: dict[str, Any] = {"C": C, "fit_intercept": problem.fit_intercept, "max_iter": 20_000}
    if problem.fit_intercept:
        options["intercept_scaling"] = 10.0
    name = problem.loss.partition("(")[0]
    model: Any = None
    if name == "hinge" and problem.penalty == "l2":
        model, options["loss"] = LinearSVC, "hinge"
    elif name == "squared_hinge":
        model = LinearSVC
        options |= {
            "penalty": problem.penalty,
            "dual": problem.penalty == "l2" and hasattr(problem.X, "tocsr"),
        }
    elif name == "logistic":
        model = LogisticRegression
        options |= {"solver": "liblinear", "l1_ratio": 1.0 if problem.penalty == "l1" else 0.0}
    elif name in ("epsilon_insensitive", "absolute") and problem.penalty == "l2":
        model = LinearSVR
        options["epsilon"] = number(problem.loss) if "(" in problem.loss else 0.0
    if model is None:
        return []
    return [(f"{tol:g}", partial(_solve, model, {**options, "tol": tol}, problem)) for tol in TOLERANCES[:-2]]


def _solve(model: Any, options: dict[str, Any], problem: Problem) -> tuple[np.ndarray, float]:
    X = problem.X.copy() if hasattr(problem.X, "tocsr") else problem.X  # it sorts a CSR X in place
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = model(**options).fit(X, problem.y)
    return fitted.coef_.ravel(), float(np.ravel(fitted.intercept_)[0])
