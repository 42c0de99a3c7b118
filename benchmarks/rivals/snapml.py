"""snapml: logistic regression and support vector machine."""

from __future__ import annotations

from functools import partial

import numpy as np
import scipy.sparse as sp
import snapml

from benchmarks.problems import Problem
from benchmarks.rivals import TOLERANCES, Ladder, Solve


def ladder(problem: Problem) -> Ladder:
    """Primal and dual, by tolerance."""
    if problem.lam is None or problem.fit_intercept:
        return []
    n = len(problem.y)
    weight = 2 * problem.lam * n if problem.penalty == "l2" else problem.lam * n
    rungs: Ladder = []
    for tol in TOLERANCES[:-1]:
        if problem.loss == "hinge" and problem.penalty == "l2":
            rungs.append((f"svm {tol:g}", partial(_svm, weight, tol, problem)))
        elif problem.loss == "logistic":
            for dual in (False, True) if problem.penalty == "l2" else (False,):
                rungs.append(
                    (f"{'dual' if dual else 'primal'} {tol:g}", _logistic(weight, tol, dual, problem))
                )
    return rungs


def _matrix(problem: Problem) -> object:
    return sp.csr_matrix(problem.X) if sp.issparse(problem.X) else problem.X


def _svm(weight: float, tol: float, problem: Problem) -> tuple[np.ndarray, float]:
    model = snapml.SupportVectorMachine(
        regularizer=weight, tol=tol, max_iter=100_000, fit_intercept=False, generate_training_history=None
    )
    model.fit(_matrix(problem), problem.y)
    return np.ravel(model.coef_), 0.0


def _logistic(weight: float, tol: float, dual: bool, problem: Problem) -> Solve:
    def solve() -> tuple[np.ndarray, float]:
        model = snapml.LogisticRegression(
            regularizer=weight,
            tol=tol,
            max_iter=100_000,
            fit_intercept=False,
            dual=dual,
            penalty=problem.penalty,
        )
        model.fit(_matrix(problem), problem.y)
        return np.ravel(model.coef_), 0.0

    return solve
