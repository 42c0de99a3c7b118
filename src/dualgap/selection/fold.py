"""One fold: solutions at every strength, each as proven as a fit, and their scores on the rows held out."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing

from dualgap.arrays import Vector
from dualgap.drive.turns import in_turn
from dualgap.errors import DataError
from dualgap.fitting.multiclass import fit_many, fits_of, in_a_row
from dualgap.fitting.one_problem import fit_one
from dualgap.fitting.reading import Reading
from dualgap.fitting.solution import Solution
from dualgap.paths.path import Path
from dualgap.paths.request import path_of
from dualgap.selection.plan import Plan, convex, part
from dualgap.selection.scores import Held, Score
from dualgap.selection.splits import Fold

KEPT = 1 << 23  # predictions of a fold, 64 MB of them: what a process may send to another without harm


@dataclass(frozen=True, eq=False)
class Solutions:
    """Weights at every strength, or at the first of them, with their proven relative gaps."""

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

    scores: Vector
    gaps: Vector
    n_nonzero: NDArray[np.int64]
    exact: bool
    weight: float
    fold: Fold
    decisions: NDArray[np.float64] | None = None  # on the rows held out; None where they are too many


@dataclass(frozen=True, eq=False)
class FoldWork:
    """Everything that a fold needs; X and y as given, where a scorer wants them."""

    reading: Reading
    plan: Plan
    score: Score
    X: Any = None
    y: Any = None

    def __call__(self, fold: Fold, turns: int) -> Scored:
        """Fit the rows of a fold, in its share of the time, and score the others."""
        limits = self.plan.limits.part(turns + 1)  # one share is that of the fit on all rows
        plan = dataclasses.replace(self.plan, limits=limits)
        given = () if self.X is None else (_safe_indexing(one, fold.test) for one in (self.X, self.y))
        held = Held(part(self.reading, fold.test), plan.multiclass, *given)
        found = fit_fold(part(self.reading, fold.train, standardize=plan.standardize), plan)
        decisions = held.decisions(found.coefs, found.intercepts)
        scores = self.score.values(held, found.coefs, found.intercepts, decisions)
        if not np.all(np.isfinite(scores)):
            raise DataError(
                f"The score {self.score.name} of fold {fold.number} is {scores[~np.isfinite(scores)][0]} at "
                "some strength; choose another score, or folds on which it is defined."
            )
        kept = decisions if decisions.size <= KEPT else None
        weight = float(held.weights.sum())
        return Scored(scores, found.gaps, found.n_nonzero, found.exact, weight, fold, kept)


def fit_fold(reading: Reading, plan: Plan) -> Solutions:
    """Solutions at the plan's strengths: exact where `dg.path` is, else each started from the last."""
    begun = reading.terms.penalty.slope_at_zero is not None  # each at the point before
    if not convex(reading) and not begun:
        return _one_by_one(reading, plan)
    if reading.several or begun:
        fits, penalised = (
            fits_of(reading, plan.multiclass, plan.solver, plan.limits),
            plan.form == "penalised",
        )
        return _gathered(in_a_row(fits, plan.strengths, penalised=penalised, limits=plan.limits), exact=False)
    if plan.form == "constrained":
        return _within(path_of(reading, plan.request(None)), plan)
    path = path_of(reading, plan.request(plan.strengths))
    gaps = path.gaps  # first, since a point that is not proven is solved again and its weights replaced
    return Solutions(path.coefs, path.intercepts, gaps, path.exact)


def _within(path: Path, plan: Plan) -> Solutions:
    found = [path.solution(budget=float(budget)) for budget in in_turn(plan.strengths, plan.limits)]
    return _gathered(found, exact=path.exact)


def _one_by_one(reading: Reading, plan: Plan) -> Solutions:
    """Searches, which may take any time, have a share of it each."""
    found: list[Solution] = []
    for strength in in_turn(plan.strengths, plan.limits):
        limits = plan.limits.part(len(plan.strengths) - len(found))
        found.append(fit_at(reading, dataclasses.replace(plan, limits=limits), float(strength)))
    return _gathered(found, exact=False)


def fit_at(reading: Reading, plan: Plan, strength: float) -> Solution:
    """One fit."""
    asked = plan.at(reading, strength)
    if reading.several:
        return fit_many(asked, plan.multiclass, plan.solver, plan.limits)
    return fit_one(asked, asked.targets(), plan.solver, plan.limits)


def _gathered(found: list[Solution], *, exact: bool) -> Solutions:
    return Solutions(
        np.array([one.coef for one in found]),
        np.array([one.intercept for one in found]),
        np.array([one.relative_gap for one in found]),
        exact,
    )
