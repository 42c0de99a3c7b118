"""Crammer and Singer's joint hinge with l2, without an intercept, as liblinear states it: λ = 1/(2nC')."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from benchmarks.catalogue.task import Task
from benchmarks.cells import Cell
from benchmarks.rivals import TOLERANCES, Ladder

ROUNDS = 1_000_000  # of liblinear at most: more than it took


def cells() -> Iterator[Cell]:
    """Digits of 8 × 8 pixels, weakly and strongly penalised."""
    for C in (1.0, 0.01):
        make: Callable[[int], Task] = partial(task, C)
        yield Cell(f"crammer_singer+l2 digits, C'={C:g}", make, ("liblinear",), 1.0)  # type: ignore[arg-type]


def task(C: float, seed: int) -> Task:
    """Rows in an order of their own."""
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    order = np.random.default_rng(seed).permutation(len(y))
    X, y = np.ascontiguousarray(X[order] / 16.0), y[order]
    lam = 1.0 / (2.0 * C * len(y))

    def objective(w: Any, b: Any) -> float:
        scores = X @ np.asarray(w).T
        ahead = 1.0 + scores - scores[np.arange(len(y)), y][:, None]
        ahead[np.arange(len(y)), y] = 0.0
        return float(ahead.max(axis=1).mean() + lam * np.square(w).sum())

    asked = {
        "loss": "hinge",
        "penalty": "l2",
        "lam": lam,
        "multiclass": "crammer_singer",
        "fit_intercept": False,
    }
    return Task(X, y, asked, objective, {"liblinear": partial(_liblinear, X, y, C)})


def _liblinear(X: Any, y: Any, C: float) -> Ladder:
    from sklearn.svm import LinearSVC

    def solve(tolerance: float) -> tuple[Any, Any]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = LinearSVC(
                C=C, multi_class="crammer_singer", fit_intercept=False, tol=tolerance, max_iter=ROUNDS
            ).fit(X, y)
        return model.coef_, np.zeros(len(model.coef_))

    return [(f"tol {tolerance:g}", partial(solve, tolerance)) for tolerance in TOLERANCES]
