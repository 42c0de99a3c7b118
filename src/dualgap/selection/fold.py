"""One fold: solutions at every strength, each as proven as a fit, and their scores on the rows held out."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dualgap.arrays import Vector
from dualgap.drive.limits import Status
from dualgap.errors import DataError
from dualgap.fitting.multiclass import fit_many
from dualgap.fitting.one_problem import fit_one
from dualgap.fitting.reading import Reading
from dualgap.fitting.solution import Solution
from dualgap.paths.making import path_of
from dualgap.paths.path import Path
from dualgap.selection.plan import Plan, convex
from dualgap.selection.scores import Held, Score
from dualgap.selection.splits import Fold


@dataclass(frozen=True, eq=False)
class Fitted:
    """Weights at every strength, with their proven relative gaps."""

    coefs: NDArray[np.float64]  # strengths × columns, or strengths × classes × columns
    intercepts: NDArray[np.float64]
    gaps: Vector
    exact: bool

    @property
    def n_nonzero(self) -> NDArray[np.int64]:
        """How many columns have a weight, in any class."""
        used = self.coefs != 0.0
        return np.asarray(np.count_nonzero(used if used.ndim == 2 else used.any(axis=1), axis=1))


@dataclass(frozen=True, eq=False)
class Scored:
    """What is kept of a fold."""

    number: int
    scores: Vector
    gaps: Vector
    n_nonzero: NDArray[np.int64]
    exact: bool
    weight: float
    seconds: float


def run_fold(reading: Reading, fold: Fold, plan: Plan, score: Score, held: Held) -> Scored:
    """Fit the rows of a fold and score the others."""
    began = time.perf_counter()
    fitted = fit_fold(plan.part(reading, fold.train), plan)
    scores = score.values(held, fitted.coefs, fitted.intercepts)
    if not np.all(np.isfinite(scores)):
        raise DataError(
            f"The score {score.name} of fold {fold.number} is {scores[~np.isfinite(scores)][0]} at some "
            "strength; choose another score, or folds on which it is defined."
        )
    seconds = time.perf_counter() - began
    return Scored(
        fold.number, scores, fitted.gaps, fitted.n_nonzero, fitted.exact, float(held.weights.sum()), seconds
    )


def fit_fold(reading: Reading, plan: Plan) -> Fitted:
    """Solutions at the plan's strengths: exact where `dg.path` is, else each started from the last."""
    if reading.many_classes or not convex(reading):
        return _one_by_one(reading, plan)
    if plan.form == "constrained":
        return _within(path_of(reading, plan.wishes(None)), plan)
    path = path_of(reading, plan.wishes(plan.strengths))
    gaps = path.gaps  # first, since a point that is not proven is solved again and its weights replaced
    return Fitted(path.coefs, path.intercepts, gaps, path.exact)


def _within(path: Path, plan: Plan) -> Fitted:
    found = [path.solution(budget=float(budget)) for budget in plan.strengths]
    return _gathered(found, exact=path.exact)


def _one_by_one(reading: Reading, plan: Plan) -> Fitted:
    """Fits, each started from the one before where there is a way to."""
    warm = convex(reading)
    found: list[Solution] = []
    for strength in plan.strengths:
        found.append(fit_at(reading, plan, float(strength), found[-1] if warm and found else None))
        if found[-1].status == Status.INTERRUPTED.value:
            raise KeyboardInterrupt
    return _gathered(found, exact=False)


def fit_at(reading: Reading, plan: Plan, strength: float, start: Solution | None = None) -> Solution:
    """One fit."""
    asked = plan.at(reading, strength)
    if reading.many_classes:
        return fit_many(asked, plan.multiclass, plan.solver, plan.limits, start)
    return fit_one(asked, asked.targets(), plan.solver, plan.limits, start)


def _gathered(found: list[Solution], *, exact: bool) -> Fitted:
    return Fitted(
        np.array([one.coef for one in found]),
        np.array([one.intercept for one in found]),
        np.array([one.relative_gap for one in found]),
        exact,
    )
