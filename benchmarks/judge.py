"""The objective, recomputed in plain NumPy: no library's own word counts."""

from __future__ import annotations

import numpy as np

from benchmarks.problems import Problem, penalty_value


def loss_values(loss: str, y: np.ndarray, z: np.ndarray) -> np.ndarray:
    """L(y, z), row by row."""
    name, _, rest = loss.partition("(")
    t = float(rest[:-1]) if rest else 0.0
    r, m = z - y, y * z
    if name == "squared":
        return r**2
    if name == "absolute":
        return np.abs(r)
    if name == "quantile":
        return np.where(r < 0, -t * r, (1 - t) * r)
    if name == "huber":
        return np.where(np.abs(r) <= t, r**2, 2 * t * np.abs(r) - t**2)
    if name == "epsilon_insensitive":
        return np.maximum(np.abs(r) - t, 0)
    if name == "hinge":
        return np.maximum(1 - m, 0)
    if name == "squared_hinge":
        return np.maximum(1 - m, 0) ** 2
    if name == "logistic":
        return np.logaddexp(0, -m)
    return np.exp(-m)


def objective(problem: Problem, w: np.ndarray, b: float) -> float:
    """The objective at (w, b); weights beyond the budget are scaled back to it, which is generous."""
    w = np.asarray(w, float).ravel()
    if problem.budget is not None:
        size = penalty_value(problem.penalty, w)
        if size > problem.budget:
            ratio = problem.budget / size
            w = w * (np.sqrt(ratio) if problem.penalty == "l2" else ratio)
    z = np.asarray(problem.X @ w).ravel() + b
    value = float(loss_values(problem.loss, problem.y, z).mean())
    return value + (problem.lam * penalty_value(problem.penalty, w) if problem.lam is not None else 0.0)
