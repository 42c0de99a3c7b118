"""Clarabel through cvxpy: every cell there is."""

from __future__ import annotations

from functools import partial

import cvxpy as cp
import numpy as np

from benchmarks.problems import CLASSIFICATION, Problem
from benchmarks.rivals import Ladder, number

SOLVER = "CLARABEL"


def ladder(problem: Problem, solver: str = SOLVER) -> Ladder:
    """By the solver's own tolerance."""
    return [(f"{tol:g}", partial(solve, problem, solver, tol)) for tol in (1e-5, 1e-6, 1e-7, 1e-8)]


def solve(problem: Problem, solver: str, tol: float) -> tuple[np.ndarray, float]:
    """State it, compile it, solve it."""
    n, p = problem.X.shape
    w, b = cp.Variable(p), cp.Variable() if problem.fit_intercept else 0.0
    risk = _risk(problem, problem.X @ w + b) / n
    h = _penalty(problem.penalty, w)
    if problem.budget is not None:
        task = cp.Problem(cp.Minimize(risk), [h <= problem.budget])
    else:
        task = cp.Problem(cp.Minimize(risk + problem.lam * h))
    if solver == "CLARABEL":
        task.solve(solver=solver, tol_gap_abs=tol, tol_gap_rel=tol, tol_feas=tol)
    else:
        task.solve(solver=solver, eps_abs=tol, eps_rel=tol, eps_duality_gap_abs=tol, eps_duality_gap_rel=tol)
    return np.ravel(w.value), float(b.value) if problem.fit_intercept else 0.0


def _risk(problem: Problem, z: cp.Expression) -> cp.Expression:
    y, name = problem.y, problem.loss.partition("(")[0]
    m = cp.multiply(y, z) if name in CLASSIFICATION else None
    if name == "squared":
        return cp.sum_squares(z - y)
    if name == "absolute":
        return cp.norm1(z - y)
    if name == "quantile":
        q = number(problem.loss)
        return cp.sum(cp.maximum(-q * (z - y), (1 - q) * (z - y)))
    if name == "epsilon_insensitive":
        return cp.sum(cp.pos(cp.abs(z - y) - number(problem.loss)))
    if name == "huber":
        return cp.sum(cp.huber(z - y, number(problem.loss)))
    if name == "hinge":
        return cp.sum(cp.pos(1 - m))
    if name == "squared_hinge":
        return cp.sum_squares(cp.pos(1 - m))
    if name == "logistic":
        return cp.sum(cp.logistic(-m))
    return cp.sum(cp.exp(-m))


def _penalty(penalty: str, w: cp.Variable) -> cp.Expression:
    if penalty == "l1":
        return cp.norm1(w)
    if penalty == "l2":
        return cp.sum_squares(w)
    if penalty == "l2_norm":
        return cp.norm2(w)
    if penalty == "linf":
        return cp.norm_inf(w)
    if penalty.startswith("elastic_net"):
        return cp.norm1(w) + number(penalty) * cp.sum_squares(w)
    return cp.pnorm(w, number(penalty))
