"""dg.cross_validate: the strength of a penalty, chosen on rows held out."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dualgap.arrays import Vector
from dualgap.drive.solver import Solver
from dualgap.errors import DataError, NotCertifiedWarning
from dualgap.fitting.multiclass import read_form
from dualgap.fitting.names import penalty_named
from dualgap.fitting.options import read_flag, read_limits, read_solver, seeded
from dualgap.fitting.reading import Reading, read
from dualgap.fitting.solution import Solution
from dualgap.losses import Loss
from dualgap.paths.making import read_count, read_exact, read_lams, read_share
from dualgap.penalties import Penalty
from dualgap.selection.fold import Scored, fit_at
from dualgap.selection.plan import FORMS, Plan, convex, grid_of_budgets, grid_of_lams, read_budgets
from dualgap.selection.rules import read_rule
from dualgap.selection.running import Work, run
from dualgap.selection.scores import Score, Scorer, read_score
from dualgap.selection.search import Search
from dualgap.selection.splits import Fold, read_folds


def cross_validate(  # noqa: PLR0913
    X: Any,
    y: Any,
    *,
    loss: str | Loss,
    penalty: str | Penalty = "l2",
    cv: Any = 5,
    score: Any = "loss",
    rule: Any = "min",
    groups: Any = None,
    form: str = "penalised",
    lams: Any = None,
    budgets: Any = None,
    n_lams: int = 100,
    lam_min_ratio: float | None = None,
    exact: bool | str = "auto",
    fit_intercept: bool = True,
    sample_weight: Any = None,
    penalty_factors: Any = None,
    standardize: bool = False,
    multiclass: str = "auto",
    solver: str | Solver = "auto",
    tol: float = 1e-6,
    max_iter: int | None = None,
    max_time: float | None = None,
    random_state: Any = None,
    n_jobs: int | None = None,
    progress: bool = True,
) -> Search:
    """Score every strength on rows held out, choose one, and fit it on all rows.

    >>> import dualgap as dg
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> search = dg.cross_validate(X, y, loss="squared", penalty="l1", cv=10, rule="1se")
    >>> search.lam_1se >= search.lam_min, bool(search.solution.relative_gap <= 1e-6)
    (True, True)

    All folds share the strengths: `lams`, or `n_lams` of them from the λ at which all weights are zero on
    all rows. `form="constrained"` searches over budgets, those given by `budgets` or those of that grid.
    Every point of every fold is proven like a fit: exact where `dg.path` is, else within `tol`.

    `cv` is a number of folds (stratified for classes, whole groups where there are `groups`, shuffled where
    there is a `random_state`), a splitter of scikit-learn, or pairs of row numbers. `score` is "loss",
    "zero_one", the name of a scikit-learn scorer, or a function (estimator, X, y) of which more is better.
    `rule` is "min", "1se" (the strongest regularisation within one standard error of the best), or a
    function that takes the Search and returns the number of a strength.

    `sample_weight` counts in the grid, the fits and the scores. `n_jobs` folds run side by side, a thread
    each. On a terminal a line says how far they are (`progress=False`: none). Ctrl-C keeps the folds that
    are finished; the Search says so in `status`. `max_iter` and `max_time` limit each solve.
    """
    began = time.perf_counter()
    if not penalty_named(penalty).takes_strength:
        raise DataError('penalty="none" has no strength to choose; use dg.fit.')
    reading = read(
        X,
        y,
        loss=loss,
        penalty=penalty,
        lam=1.0,
        fit_intercept=fit_intercept,
        sample_weight=sample_weight,
        penalty_factors=penalty_factors,
        standardize=standardize,
    )
    rule, scoring = read_rule(rule), read_score(score, reading, weighted=sample_weight is not None)
    folds = read_folds(cv, reading, X, groups, random_state)
    plan = Plan(
        _read_form(form, lams, budgets),
        np.zeros(0),
        read_form(multiclass, reading.terms.loss),
        read_exact(exact),
        seeded(read_solver(solver), random_state),
        read_limits(tol, max_iter, max_time, None),
        read_flag("standardize", standardize),
    )
    plan = replace(plan, strengths=_strengths(reading, plan, _Grid(lams, budgets, n_lams, lam_min_ratio)))
    given = (X, y) if isinstance(scoring, Scorer) else (None, None)
    done, interrupted = run(Work(reading, plan, scoring, *given), folds, n_jobs, progress=bool(progress))
    search = _search(reading, plan, scoring, rule, folds, done)
    search.seconds = time.perf_counter() - began
    _warn(search)
    if not interrupted:
        search.solution  # noqa: B018 - the fit on all rows
        search.seconds = time.perf_counter() - began
    return search


@dataclass(frozen=True)
class _Grid:
    """The keywords that say which strengths."""

    lams: Any
    budgets: Any
    count: Any
    ratio: Any


def _read_form(form: str, lams: Any, budgets: Any) -> str:
    if form not in FORMS:
        raise DataError(f"form must be 'penalised' or 'constrained', not {form!r}.")
    if lams is not None and budgets is not None:
        raise DataError("Give lams or budgets, not both.")
    if lams is not None and form == "constrained":
        raise DataError("form='constrained' searches over budgets; give budgets, not lams.")
    return "constrained" if budgets is not None else form


def _strengths(reading: Reading, plan: Plan, grid: _Grid) -> Vector:
    count, ratio = read_count(grid.count), read_share("lam_min_ratio", grid.ratio)
    if grid.budgets is not None:
        return read_budgets(grid.budgets)
    lams = read_lams(grid.lams)
    if lams is not None:
        return np.unique(lams)[::-1]
    if not convex(reading):
        raise DataError(
            f"There is no grid of strengths for {reading.terms.loss} with {reading.terms.penalty}: "
            "give lams=[...] or, for a number of columns, budgets=[1, 2, 3]."
        )
    found = grid_of_lams(reading, count, ratio)
    return found if plan.form == "penalised" else grid_of_budgets(reading, plan, found)


@dataclass(frozen=True, eq=False)
class Refit:
    """The fit on all rows."""

    reading: Reading
    plan: Plan

    def __call__(self, strength: float) -> Solution:
        found = fit_at(self.reading, self.plan, strength)
        if not found.converged:
            warnings.warn(
                f"The relative duality gap of the fit on all rows is {found.relative_gap:.2e}, above "
                f"tol={self.plan.limits.tolerance:g}. {found.status}",
                NotCertifiedWarning,
                stacklevel=4,
            )
        return found


def _search(
    reading: Reading, plan: Plan, score: Score, rule: Any, folds: list[Fold], done: list[Scored]
) -> Search:
    return Search(
        form=plan.form,
        strengths=plan.strengths,
        scores=np.array([one.scores for one in done]),
        gaps=np.array([one.gaps for one in done]),
        n_nonzero=np.array([one.n_nonzero for one in done]),
        fold_weights=np.array([one.weight for one in done]),
        score=score.name,
        greater_is_better=score.greater_is_better,
        rule=rule,
        terms=reading.terms,
        exact=all(one.exact for one in done),
        n_folds=len(folds),
        tolerance=plan.limits.tolerance,
        status=_status(len(done), len(folds)),
        seconds=0.0,
        repeats=_repeats(folds, done, reading.terms.sample_weight),
        refit=Refit(reading, plan),
    )


def _repeats(folds: list[Fold], done: list[Scored], weights: Vector) -> float:
    """How often a row that was held out at all was held out, on average."""
    finished = {one.number for one in done}
    tested = np.concatenate([fold.test for fold in folds if fold.number in finished])
    return float(weights[tested].sum() / weights[np.unique(tested)].sum())


def _status(done: int, total: int) -> str:
    if done == total:
        return "All folds are finished."
    return f"Interrupted: {done} of {total} folds are finished, and the scores are theirs alone."


def _warn(search: Search) -> None:
    worst, tolerance = float(search.gaps.max()), search.tolerance
    if worst <= tolerance or (search.exact and worst <= 1e-9):
        return
    fold, k = np.unravel_index(int(np.argmax(search.gaps)), search.gaps.shape)
    bad = int(np.count_nonzero(~(search.gaps <= tolerance)))
    warnings.warn(
        f"The relative duality gap is {worst:.2e} in fold {fold} at "
        f"{search.symbol}={search.strengths[k]:.4g}, above tol={tolerance:g}: {bad} of {search.gaps.size} "
        "fits are not proven to it.",
        NotCertifiedWarning,
        stacklevel=3,
    )
