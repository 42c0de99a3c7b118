"""adelie: lasso and elastic net along a short path to the λ asked."""

from __future__ import annotations

from functools import partial

import adelie as ad
import numpy as np
import scipy.sparse as sp

from benchmarks.problems import Problem
from benchmarks.rivals import TOLERANCES, Ladder, number


def ladder(problem: Problem) -> Ladder:
    """Path of ten strengths, by tolerance."""
    if problem.loss != "squared" or problem.penalty == "l2" or problem.lam is None:
        return []
    return [(f"path {tol:g}", partial(_solve, problem, tol)) for tol in TOLERANCES[3:]]


def _solve(problem: Problem, tol: float) -> tuple[np.ndarray, float]:
    l1 = problem.lam / 2
    l2 = problem.lam * number(problem.penalty) if "(" in problem.penalty else 0.0
    total = l1 + l2
    X = (
        ad.matrix.sparse(sp.csc_matrix(problem.X), method="naive")
        if sp.issparse(problem.X)
        else np.asfortranarray(problem.X)
    )
    state = ad.grpnet(
        X=X,
        glm=ad.glm.gaussian(y=np.asarray(problem.y)),
        alpha=l1 / total,
        lmda_path=total * np.geomspace(10, 1, 10),
        intercept=problem.fit_intercept,
        tol=tol,
        early_exit=False,
        progress_bar=False,
        n_threads=1,
    )
    return np.ravel(state.betas[-1].toarray()), float(state.intercepts[-1])
