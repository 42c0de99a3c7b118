"""Cross-validation of rows that are elsewhere: folds by the place of a row, all of them in the same scans."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dualgap.arrays import Matrix, Vector
from dualgap.blocks.dataset import Dataset
from dualgap.blocks.source import RowBlock
from dualgap.errors import DataError
from dualgap.fitting.decisions import said
from dualgap.fitting.moments import MomentTask, scanned_moments
from dualgap.fitting.names import loss_named
from dualgap.fitting.solution import Solution
from dualgap.fitting.streamed import fit_streamed, fit_strengths
from dualgap.losses import Loss
from dualgap.losses.shifted import parted_targets
from dualgap.paths.curve_choice import PathRequest
from dualgap.paths.streamed import StreamedPath, grid_of, moment_path, sample_grid, small_reading
from dualgap.proof.moments import MomentSums
from dualgap.selection.search import Search
from dualgap.streaming.asked import RUN, Targets, fold_of
from dualgap.streaming.wide import wide
from dualgap.traits import Trait


def streamed_search(
    rows: Dataset,
    folds: Any,
    request: PathRequest,
    rule: Any,
    asked: dict[str, Any],
    budgets: Vector | None = None,
    score: str = "loss",
) -> Search:
    """Score every strength on rows held out, choose one, and fit it on all rows."""
    began = time.perf_counter()
    if not isinstance(folds, int | np.integer) or folds < 2:
        raise DataError("Rows in blocks are split into a number of folds: cv=5.")
    loss = loss_named(asked["loss"])
    if score == "zero_one" and Trait.CLASSIFICATION not in loss.traits:
        raise DataError('score="zero_one" counts wrong classes; a regression has none. Use "loss".')
    work = _Folds(rows, int(folds), request, rule, asked, budgets, score)
    moments = Trait.QUADRATIC in loss.traits and not wide(rows.source)
    found = _by_moments(work) if moments else _by_scans(work)
    found.solution  # noqa: B018 - the fit on all rows
    found.seconds = time.perf_counter() - began
    return found


@dataclass(frozen=True, eq=False)
class _Folds:
    """What is searched: the rows in so many folds, by λ or within budgets."""

    rows: Dataset
    folds: int
    request: PathRequest
    rule: Any
    asked: dict[str, Any]
    budgets: Vector | None
    score: str

    @property
    def form(self) -> str:
        """The keyword of a strength."""
        return "lam" if self.budgets is None else "budget"

    def strengths(self, grid: Callable[[], Vector]) -> Vector:
        """Those given, or those of a grid of λ."""
        if self.budgets is not None:
            return self.budgets
        return self.request.lams if self.request.lams is not None else grid()


def _by_moments(work: _Folds) -> Search:
    rows, folds, request, asked = work.rows, work.folds, work.request, work.asked
    sums = scanned_moments(rows, folds)
    whole = sums.whole
    _refuse_few([held.weight for held in sums.folds])
    task = MomentTask.read(whole, rows.names, request.limits, lam=1.0, **asked).counted_from(rows.source)
    lams = work.strengths(lambda: grid_of(small_reading(task, task.small), request))
    scores, gaps, nonzero, weights, exact = [], [], [], [], True
    for held in sums.folds:
        own = MomentTask.read(whole.less(held), rows.names, request.limits, lam=1.0, whole=whole, **asked)
        path = moment_path(own, replace(request, lams=lams)) if work.budgets is None else _within(own, lams)
        scores.append([_error(held, w, b) for w, b in zip(path.coefs, path.intercepts, strict=True)])
        gaps.append(path.gaps)
        nonzero.append(path.n_nonzero)
        weights.append(held.weight)
        exact &= path.exact

    def refit(strength: float) -> Solution:
        lam, budget = (strength, None) if work.budgets is None else (None, strength)
        terms = replace(task.terms, lam=lam, budget=budget)
        return replace(task.fit(terms), scans=rows.source.passes, recipe=rows.recipe)

    return _search(work, lams, (scores, gaps, nonzero, weights), exact, task.terms, refit)


def _refuse_few(weights: Any) -> None:
    """Every fold needs rows that count."""
    if min(weights) <= 0.0:
        raise DataError(
            f"There are too few rows for {len(weights)} folds, to which rows in blocks go {RUN} at a time; "
            "give fewer folds, or the rows in memory."
        )


def _within(task: MomentTask, budgets: Vector) -> StreamedPath:
    """A proven fit within every budget, from moments."""
    small = task.small

    def solve(lam: float | None, budget: float | None) -> Solution:
        return task.fit(replace(task.terms, lam=lam, budget=budget), small)

    found = [solve(None, float(budget)) for budget in budgets]
    coefs, levels = np.array([one.coef for one in found]), np.array([one.intercept for one in found])
    return StreamedPath(budgets, coefs, levels, np.array([one.relative_gap for one in found]), solve)


def _error(held: MomentSums, w: Vector, b: float) -> float:
    """The mean squared error of weights on a fold, from its moments."""
    c = np.concatenate([w, [-1.0, b + held.shift[:-1] @ w - held.shift[-1]]])
    return float(c @ held.matrix @ c) / held.weight


def _search(
    work: _Folds, strengths: Vector, sums: tuple[Any, Any, Any, Any], exact: bool, terms: Any, refit: Any
) -> Search:
    scores, gaps, nonzero, weights = sums
    return Search(
        form="penalised" if work.budgets is None else "constrained",
        strengths=strengths,
        scores=np.array(scores),
        gaps=np.array(gaps),
        n_nonzero=np.array(nonzero),
        fold_weights=np.array(weights),
        score=work.score,
        rule=work.rule,
        terms=terms,
        exact=exact,
        n_folds=len(scores),
        tolerance=work.request.limits.tolerance,
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


def held_out(block: RowBlock, targets: Targets, loss: Loss | None, coefs: Any, levels: Matrix) -> FoldRisks:
    """One block: fold k under the weights that were fitted without it; no loss counts wrong classes."""
    X, y, weight, numbers = targets.of(block)
    fold = fold_of(block, targets.folds)[numbers - block.first]
    risks, weights = np.zeros(levels.shape), np.zeros(len(levels))
    for k in range(len(levels)):
        own = np.flatnonzero(fold == k)
        s = np.ones(len(own)) if weight is None else weight[own]
        Z, (told, shift) = X[own] @ coefs[k].T + levels[k], parted_targets(y[own])
        Z = Z if shift is None else Z + shift[:, None]
        risks[k] = [float(s @ _paid(loss, told, np.ascontiguousarray(z))) for z in Z.T]
        weights[k] = s.sum()
    return FoldRisks(risks, weights)


def _paid(loss: Loss | None, y: Vector, z: Vector) -> Vector:
    """Of every row; a class is +1 or −1."""
    return loss.value(y, z) if loss is not None else np.asarray((said(z) > 0) != (y > 0.0), dtype=np.float64)


def _by_scans(work: _Folds) -> Search:
    rows, folds, request, asked = work.rows, work.folds, work.request, work.asked
    if rows.source.n is not None:  # else the scans find out
        _refuse_few([float(rows.source.n > k * RUN) for k in range(folds)])
    lams = work.strengths(lambda: sample_grid(rows, request, asked))
    fits = fit_strengths(rows, lams, request.limits, asked, folds=folds, form=work.form)
    table = [fits[k * len(lams) : (k + 1) * len(lams)] for k in range(folds)]
    terms = fits[0].terms
    targets = Targets(fits[0].classes, folds=folds)
    coefs = [np.array([one.coef for one in row]) for row in table]
    levels = np.array([[one.intercept for one in row] for row in table])
    loss = terms.loss if work.score == "loss" else None
    found = rows.source.reduced(held_out, targets, loss, coefs, levels)
    _refuse_few(found.weights)
    gaps = [[one.relative_gap for one in row] for row in table]
    nonzero = [[one.n_nonzero for one in row] for row in table]
    scores = found.risks / found.weights[:, None]

    def refit(strength: float) -> Solution:
        return fit_streamed(rows, request.limits, {**asked, work.form: strength})

    return _search(work, lams, (scores, gaps, nonzero, found.weights), False, terms, refit)
