"""Cross-validation of rows that are elsewhere: folds by the place of a row, all of them in the same scans."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dualgap.arrays import Matrix, Vector
from dualgap.blocks.dataset import Dataset
from dualgap.blocks.source import RowBlock
from dualgap.drive.limits import Limits
from dualgap.errors import DataError
from dualgap.fitting.moments import MomentTask, scanned_moments
from dualgap.fitting.names import loss_named
from dualgap.fitting.solution import Solution
from dualgap.fitting.streamed import fit_streamed, fit_strengths
from dualgap.losses import Loss
from dualgap.paths.curve_choice import PathRequest
from dualgap.paths.streamed import grid_of, moment_path, sample_grid, small_reading
from dualgap.proof.moments import MomentSums
from dualgap.selection.search import Search
from dualgap.streaming.asked import Targets, fold_of
from dualgap.traits import Trait


def streamed_search(
    rows: Dataset, folds: Any, request: PathRequest, rule: Any, asked: dict[str, Any]
) -> Search:
    """Score every strength on rows held out, choose one, and fit it on all rows."""
    began = time.perf_counter()
    if not isinstance(folds, int | np.integer) or folds < 2:
        raise DataError("Rows in blocks are split into a number of folds: cv=5.")
    if Trait.QUADRATIC in loss_named(asked["loss"]).traits:
        found = _by_moments(rows, int(folds), request, rule, asked)
    else:
        found = _by_scans(rows, int(folds), request, rule, asked)
    found.solution  # noqa: B018 - the fit on all rows
    found.seconds = time.perf_counter() - began
    return found


def _by_moments(rows: Dataset, folds: int, request: PathRequest, rule: Any, asked: dict[str, Any]) -> Search:
    sums = scanned_moments(rows, folds)
    whole = sums.whole
    task = MomentTask.read(whole, rows.names, request.limits, lam=1.0, **asked)
    lams = request.lams if request.lams is not None else grid_of(small_reading(task, task.small), request)
    scores, gaps, nonzero, weights, exact = [], [], [], [], True
    for held in sums.folds:
        if held.rows == 0:
            raise DataError(f"There are too few rows for {folds} folds; give fewer.")
        own = MomentTask.read(whole.less(held), rows.names, request.limits, lam=1.0, whole=whole, **asked)
        path = moment_path(own, replace(request, lams=lams))
        scores.append([_error(held, w, b) for w, b in zip(path.coefs, path.intercepts, strict=True)])
        gaps.append(path.gaps)
        nonzero.append(path.n_nonzero)
        weights.append(held.weight)
        exact &= path.exact

    def refit(lam: float) -> Solution:
        return replace(task.fit(replace(task.terms, lam=lam)), scans=rows.source.passes, recipe=rows.recipe)

    return _search(lams, (scores, gaps, nonzero, weights), exact, rule, task.terms, request.limits, refit)


def _error(held: MomentSums, w: Vector, b: float) -> float:
    """The mean squared error of weights on a fold, from its moments."""
    c = np.concatenate([w, [-1.0, b + held.shift[:-1] @ w - held.shift[-1]]])
    return float(c @ held.matrix @ c) / held.weight


def _search(
    lams: Vector,
    sums: tuple[Any, Any, Any, Any],
    exact: bool,
    rule: Any,
    terms: Any,
    limits: Limits,
    refit: Any,
) -> Search:
    scores, gaps, nonzero, weights = sums
    return Search(
        form="penalised",
        strengths=lams,
        scores=np.array(scores),
        gaps=np.array(gaps),
        n_nonzero=np.array(nonzero),
        fold_weights=np.array(weights),
        score="loss",
        greater_is_better=False,
        rule=rule,
        terms=terms,
        exact=exact,
        n_folds=len(scores),
        tolerance=limits.tolerance,
        status="All folds are finished.",
        seconds=0.0,
        refit=refit,
    )


@dataclass(frozen=True, eq=False)
class FoldRisks:
    """Σ s L of every strength on the rows of each fold, and Σs."""

    risks: Matrix
    weights: Vector

    def plus(self, other: FoldRisks) -> FoldRisks:
        """Of both lots of rows."""
        return FoldRisks(self.risks + other.risks, self.weights + other.weights)


def held_out(block: RowBlock, targets: Targets, loss: Loss, coefs: Any, levels: Matrix) -> FoldRisks:
    """One block: fold k under the weights that were fitted without it."""
    X, y, weight, numbers = targets.of(block)
    fold = fold_of(block, targets.folds)[numbers - block.first]
    risks, weights = np.zeros(levels.shape), np.zeros(len(levels))
    for k in range(len(levels)):
        own = np.flatnonzero(fold == k)
        s = np.ones(len(own)) if weight is None else weight[own]
        Z = X[own] @ coefs[k].T + levels[k]
        risks[k] = [float(s @ loss.value(y[own], np.ascontiguousarray(z))) for z in Z.T]
        weights[k] = s.sum()
    return FoldRisks(risks, weights)


def _by_scans(rows: Dataset, folds: int, request: PathRequest, rule: Any, asked: dict[str, Any]) -> Search:
    lams = request.lams if request.lams is not None else sample_grid(rows, request, asked)
    fits = fit_strengths(rows, lams, request.limits, asked, folds=folds)
    table = [fits[k * len(lams) : (k + 1) * len(lams)] for k in range(folds)]
    terms = fits[0].terms
    targets = Targets(fits[0].classes, folds=folds)
    coefs = [np.array([one.coef for one in row]) for row in table]
    levels = np.array([[one.intercept for one in row] for row in table])
    found = rows.source.reduced(held_out, targets, terms.loss, coefs, levels)
    gaps = [[one.relative_gap for one in row] for row in table]
    nonzero = [[one.n_nonzero for one in row] for row in table]
    scores = found.risks / found.weights[:, None]

    def refit(lam: float) -> Solution:
        return fit_streamed(rows, request.limits, {**asked, "lam": lam})

    return _search(lams, (scores, gaps, nonzero, found.weights), False, rule, terms, request.limits, refit)
