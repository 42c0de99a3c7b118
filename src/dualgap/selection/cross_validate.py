"""dg.cross_validate: the strength of a penalty, chosen on rows held out."""

from __future__ import annotations

import time
import warnings
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from dualgap.arrays import Vector, on_device
from dualgap.blocks.dataset import elsewhere
from dualgap.device.arrivals import to_host
from dualgap.drive.solver import Solver
from dualgap.errors import DataError, NotCertifiedWarning
from dualgap.fitting.groups import refuse_groups
from dualgap.fitting.multiclass import form_of
from dualgap.fitting.names import loss_named, penalty_named
from dualgap.fitting.options import read_flag, read_limits, read_rising, read_solver, seeded
from dualgap.fitting.reading import Reading, asked_of, read, rows_of_formula
from dualgap.fitting.several import refuse_several, several_columns
from dualgap.fitting.signs import refuse_in_blocks
from dualgap.fitting.solution import Solution
from dualgap.losses import Loss
from dualgap.paths.curve_choice import PathRequest
from dualgap.paths.request import read_count, read_exact, read_lams, read_share
from dualgap.penalties import Penalty
from dualgap.selection.fold import FoldWork, Scored, fit_at
from dualgap.selection.plan import FORMS, Plan, convex, grid_of_budgets, grid_of_lams
from dualgap.selection.running import run
from dualgap.selection.scores import Score, read_score
from dualgap.selection.search import HeldOut, Search, read_rule
from dualgap.selection.splits import read_folds

EXACT = 1e-9  # relative gap up to which a point of an exact path is not solved again


def cross_validate(  # noqa: PLR0913
    X: Any,
    y: Any = None,
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
    offset: Any = None,
    penalty_factors: Any = None,
    standardize: bool = False,
    column_groups: Any = None,
    bounds: Any = None,
    constraints: Any = None,
    multiclass: str = "auto",
    solver: str | Solver = "auto",
    tol: float = 1e-6,
    max_iter: int | None = None,
    max_time: float | None = None,
    random_state: Any = None,
    n_jobs: int | None = None,
    progress: bool = True,
    device: Any = None,
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

    `cv` is a number of folds (stratified for classes, whole groups of rows where there are `groups`, shuffled
    where there is a `random_state`), a splitter of scikit-learn, or pairs of row numbers. `score` is "loss",
    "zero_one", the name of a scikit-learn scorer, or a function (estimator, X, y) of which more is better.
    `rule` is "min", "1se" (the strongest regularisation within one standard error of the best), or a
    function that takes the Search and returns the number of a strength.

    `column_groups` is what dg.fit calls `groups`: the columns that belong together.

    X on a device, or `device="cuda"`, as in dg.fit: strengths and folds are fitted and scored there, folds
    being runs of rows by their place, as they are for rows in blocks.

    `sample_weight` counts in the grid, the fits and the scores. `n_jobs` folds run side by side, a process
    each. On a terminal a line says how far they are (`progress=False`: none). Ctrl-C keeps the folds that
    are finished. `max_time` is for the whole search, and every fold has its share of it: when that is over,
    the strengths that all folds have reached, from the strongest regularisation on, are those that are
    scored. The Search says in `status` how it ended. `max_iter` is for each solve.
    """
    X, y, fit_intercept = rows_of_formula(X, y, fit_intercept)
    began = time.perf_counter()
    limits = read_limits(tol, max_iter, max_time, None)
    if not penalty_named(penalty).takes_strength:
        raise DataError('penalty="none" has no strength to choose; use dg.fit.')
    asked = {"loss": loss, "penalty": penalty, "fit_intercept": fit_intercept}
    asked |= {"penalty_factors": penalty_factors, "standardize": standardize}
    other = (groups, column_groups, budgets, bounds, constraints, offset)
    plain = score == "loss" and form == "penalised" and all(one is None for one in other)
    plain = plain and not loss_named(loss).each and not several_columns(y)

    def wanted() -> PathRequest:
        return PathRequest(
            read_exact(exact),
            read_lams(lams),
            read_count(n_lams),
            read_share("lam_min_ratio", lam_min_ratio),
            None,
            read_solver(solver),
            limits.shared(),
        )

    if device is not None or on_device(X):
        from dualgap.selection.resident import resident_search  # here: most searches never need it

        rows_there = (X, y, sample_weight)
        found = resident_search(rows_there, device, cv, wanted(), read_rule(rule), asked) if plain else None
        if found is not None:
            return found
        X, y, sample_weight = to_host(X), to_host(y), to_host(sample_weight)
        offset = to_host(offset)
    rows = elsewhere(X, y, sample_weight, offset)
    if rows is not None:
        from dualgap.selection.streamed import streamed_search  # here: most searches never need it

        refuse_groups(penalty_named(penalty))
        refuse_in_blocks(bounds, constraints)
        refuse_several(loss, "rows that are read in blocks")
        if score not in ("loss", "zero_one") or groups is not None:
            raise DataError(
                'Rows in blocks are scored by "loss" or "zero_one", in folds by their place: leave other '
                "scores and groups out."
            )
        if _read_form(form, lams, budgets) == "constrained" and budgets is None:
            raise DataError("Over rows in blocks a search within budgets needs them: give budgets.")
        within = None if budgets is None else np.unique(read_rising("budgets", budgets, zero=True))
        return streamed_search(rows, cv, wanted(), read_rule(rule), asked, within, score)
    grouped = penalty_named(penalty)
    if column_groups is None and grouped.takes_groups and grouped.parts is None:
        raise DataError(
            f"{grouped.name} needs column_groups=: one label for each column, a list of lists "
            "of columns, or 'columns'; groups= are those of the rows, which folds keep together."
        )
    reading = read(X, y, **{**asked_of(locals()), "lam": 1.0, "groups": column_groups})
    rule, scoring = read_rule(rule), read_score(score, reading, weighted=sample_weight is not None)
    folds = read_folds(cv, reading, X, groups, random_state)
    plan = Plan(
        _read_form(form, lams, budgets),
        np.zeros(0),
        form_of(reading, multiclass),
        read_exact(exact),
        seeded(read_solver(solver), random_state),
        limits.shared(),
        read_flag("standardize", standardize),
    )
    # turns: folds, the fit on all rows, and the path on all rows that makes budgets
    plan = replace(plan, **_strengths(reading, plan, lams, budgets, n_lams, lam_min_ratio, len(folds) + 2))
    given = (X, y) if scoring.wants_rows else (None, None)
    work = FoldWork(reading, plan, scoring, *given)
    done, interrupted = run(work, folds, n_jobs, what="folds", progress=bool(progress))
    search = _search(reading, plan, scoring, rule, len(folds), done)
    search.interrupted = interrupted
    search.held_out = _held_out(done, search.index)
    _warn(search)
    if interrupted:  # who asks for the solution later gives it its time
        search.refit = partial(_refit, reading, replace(plan, limits=limits))
    else:
        search.solution  # noqa: B018 - the fit on all rows
    search.seconds = time.perf_counter() - began
    return search


def _read_form(form: str, lams: Any, budgets: Any) -> str:
    if form not in FORMS:
        raise DataError(f"form must be 'penalised' or 'constrained', not {form!r}.")
    if lams is not None and budgets is not None:
        raise DataError("Give lams or budgets, not both.")
    if lams is not None and form == "constrained":
        raise DataError("form='constrained' searches over budgets; give budgets, not lams.")
    return "constrained" if budgets is not None else form


def _strengths(
    reading: Reading, plan: Plan, lams: Any, budgets: Any, n_lams: Any, lam_min_ratio: Any, turns: int
) -> dict[str, Any]:
    """The strengths of the plan, and how many of them are not to be had in time."""
    count, ratio = read_count(n_lams), read_share("lam_min_ratio", lam_min_ratio)
    if budgets is not None:
        return {"strengths": np.unique(read_rising("budgets", budgets, zero=True))}
    lams = read_lams(lams)
    if lams is not None:
        return {"strengths": np.unique(lams)[::-1]}
    if not convex(reading) and reading.terms.penalty.slope_at_zero is None:
        raise DataError(
            f"There is no grid of strengths for {reading.terms.loss} with {reading.terms.penalty}: "
            "give lams=[...] or, for a number of columns, budgets=[1, 2, 3]."
        )
    found = grid_of_lams(reading, count, ratio)
    if plan.form == "penalised":
        return {"strengths": found}
    hurried = replace(plan, limits=plan.limits.part(turns))
    budgets, missing = grid_of_budgets(reading, hurried, found)
    return {"strengths": budgets, "missing": missing}


def _refit(reading: Reading, plan: Plan, strength: float) -> Solution:
    """The fit on all rows."""
    found = fit_at(reading, plan, strength)
    if not found.converged:
        warnings.warn(
            f"The relative duality gap of the fit on all rows is {found.relative_gap:.2e}, above "
            f"tol={plan.limits.tolerance:g}. {found.status}",
            NotCertifiedWarning,
            stacklevel=4,
        )
    return found


def _search(
    reading: Reading, plan: Plan, score: Score, rule: Any, n_folds: int, done: list[Scored]
) -> Search:
    reached = min(len(one.scores) for one in done)
    return Search(
        form=plan.form,
        strengths=plan.strengths[:reached],
        scores=np.array([one.scores[:reached] for one in done]),
        gaps=np.array([one.gaps[:reached] for one in done]),
        n_nonzero=np.array([one.n_nonzero[:reached] for one in done]),
        fold_weights=np.array([one.weight for one in done]),
        score=score.name,
        greater_is_better=score.greater_is_better,
        rule=rule,
        terms=reading.terms,
        exact=all(one.exact for one in done),
        n_folds=n_folds,
        tolerance=plan.limits.tolerance,
        status=_status(len(done), n_folds, reached, len(plan.strengths) + plan.missing),
        repeats=_repeats(done, reading.terms.sample_weight),
        refit=partial(_refit, reading, plan),
    )


def _held_out(done: list[Scored], k: int) -> HeldOut | None:
    found = [one.decisions[k] for one in done if one.decisions is not None]
    if len(found) < len(done):
        return None
    rows = [np.asarray(one.fold.test) for one in done]
    folds = np.repeat(np.arange(len(done)), [len(part) for part in rows])
    return HeldOut(np.concatenate(rows), folds, np.concatenate(found))


def _repeats(done: list[Scored], weights: Vector) -> float:
    """How often a row that was held out at all was held out, on average."""
    tested = np.concatenate([one.fold.test for one in done])
    return float(weights[tested].sum() / weights[np.unique(tested)].sum())


def _status(done: int, total: int, reached: int, strengths: int) -> str:
    said = []
    if done < total:
        said.append(f"Interrupted: {done} of {total} folds are finished, and the scores are theirs alone.")
    if reached < strengths:
        said.append(
            f"The time limit came first: of {strengths} strengths the first {reached} are scored, the choice "
            "is among them."
        )
    return " ".join(said) or Search.status


def _warn(search: Search) -> None:
    said = [search.status] if "time limit" in search.status else []
    worst, tolerance = float(search.gaps.max()), search.tolerance
    if worst > tolerance and not (search.exact and worst <= EXACT):
        fold, k = np.unravel_index(int(np.argmax(search.gaps)), search.gaps.shape)
        bad = int(np.count_nonzero(~(search.gaps <= tolerance)))
        said.append(
            f"The relative duality gap is {worst:.2e} in fold {fold} at "
            f"{search.symbol}={search.strengths[k]:.4g}, above tol={tolerance:g}: {bad} of "
            f"{search.gaps.size} fits are not proven to it."
        )
    if said:
        warnings.warn(" ".join(said), NotCertifiedWarning, stacklevel=3)
