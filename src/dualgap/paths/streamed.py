"""Paths of rows that are elsewhere: from moments without another scan, or all strengths by the same."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from dualgap.arrays import Matrix, Vector
from dualgap.blocks.dataset import Dataset
from dualgap.design import Dense
from dualgap.errors import DataError
from dualgap.fitting.inputs import Table
from dualgap.fitting.moments import MomentTask, scanned_moments
from dualgap.fitting.objective import Objective
from dualgap.fitting.reading import Reading
from dualgap.fitting.solution import Solution
from dualgap.fitting.streamed import fit_strengths, sample_reading
from dualgap.fitting.telling import relative_gap
from dualgap.paths.curve_choice import PathRequest
from dualgap.paths.family import family_of
from dualgap.paths.path import one_of
from dualgap.paths.request import path_of
from dualgap.paths.strengths import default_ratio, falling, largest
from dualgap.proof.check import Checked
from dualgap.proof.moments import MomentSums, judged_by_moments
from dualgap.streaming.squared import PseudoRows, knowing, null_of
from dualgap.streaming.wide import wide
from dualgap.traits import Trait


class StreamedPath:
    """Solutions of mean loss + λ·penalty along falling λ; `solution` proves one at any λ or budget."""

    def __init__(
        self, lams: Vector, coefs: Matrix, intercepts: Vector, gaps: Vector, solve: Callable[..., Solution]
    ) -> None:
        self.lams, self.coefs, self.intercepts, self.gaps = lams, coefs, intercepts, gaps
        self._solve = solve
        self.exact = False

    @property
    def n_nonzero(self) -> Any:
        """How many columns have a weight, point by point."""
        return np.count_nonzero(self.coefs, axis=1)

    @cached_property
    def budgets(self) -> Vector:
        """h(w) at every point: the c for which the constrained problem has the same solution."""
        terms = self.solution(lam=float(self.lams[0])).terms
        gauge = terms.penalty.gauge(terms.factors, terms.scale)
        return np.array([gauge.value(w) for w in self.coefs])

    def solution(self, *, lam: float | None = None, budget: float | None = None) -> Solution:
        """The proven answer at a strength, or within a budget."""
        kind, value = one_of(lam, budget)
        return self._solve(value if kind == "lam" else None, value if kind == "budget" else None)

    def coef(self, *, lam: float | None = None, budget: float | None = None) -> Vector:
        """The weights anywhere."""
        return self.solution(lam=lam, budget=budget).coef

    def intercept(self, *, lam: float | None = None, budget: float | None = None) -> float:
        """The intercept anywhere."""
        return float(self.solution(lam=lam, budget=budget).intercept)

    def __len__(self) -> int:
        return len(self.lams)

    def __repr__(self) -> str:
        kind = "exact" if self.exact else "on a grid"
        return (
            f"StreamedPath({len(self)} strengths, {kind}, worst relative gap {float(np.max(self.gaps)):.1e})"
        )

    def plot(self, axes: Any = None) -> Any:
        """Weights against λ. Returns the axes."""
        from dualgap.errors import needed

        plt = needed("matplotlib.pyplot", "plot", "A picture")
        axes = axes or plt.subplots(figsize=(6, 4), layout="constrained")[1]
        axes.semilogx(self.lams, self.coefs)
        axes.set_xlabel("λ")
        axes.set_ylabel("weight")
        return axes


def streamed_path(X: Any, rows: Dataset | None, request: PathRequest, asked: dict[str, Any]) -> StreamedPath:
    """The path of a data set, or of moments."""
    from dualgap.fitting.names import loss_named

    if rows is None:
        return moment_path(MomentTask.read(X.sums, X.names, request.limits, lam=1.0, **asked), request)
    if Trait.QUADRATIC in loss_named(asked["loss"]).traits and not wide(rows.source):
        sums = scanned_moments(rows).whole
        task = MomentTask.read(sums, rows.names, request.limits, lam=1.0, **asked)
        return moment_path(task.counted_from(rows.source), request)
    lams = request.lams if request.lams is not None else sample_grid(rows, request, asked)
    solutions = fit_strengths(rows, lams, request.limits, asked)
    reached = [one for one in solutions if np.isfinite(one.objective)]
    if not reached:
        raise DataError(
            "The time limit came before the first scan was over; nothing is proven at any strength."
        )

    def solve(lam: float | None, budget: float | None) -> Solution:
        known = [one for one in reached if lam is not None and one.terms.lam == lam]
        if known:
            return known[0]
        from dualgap.fitting.streamed import fit_streamed

        return fit_streamed(rows, request.limits, {**asked, "lam": lam, "budget": budget})

    return StreamedPath(lams[: len(reached)], *_columns(reached), solve)


def _columns(found: list[Solution]) -> tuple[Matrix, Vector, Vector]:
    return (
        np.array([one.coef for one in found]),
        np.array([one.intercept for one in found]),
        np.array([one.relative_gap for one in found]),
    )


def sample_grid(rows: Dataset, request: PathRequest, asked: dict[str, Any]) -> Vector:
    """Strengths from the λ at which all weights are zero in a sample, evenly in the logarithm."""
    reading = sample_reading(rows, {**asked, "lam": 1.0})
    return grid_of(reading, request)


def grid_of(reading: Reading, request: PathRequest) -> Vector:
    """From the least λ without weights down to a share of it."""
    shared = family_of(reading, reading.targets())
    top = largest(shared) * shared.unit
    share = default_ratio(shared.problem) if request.ratio is None else request.ratio
    return falling(top, top * share, request.count) if top > 0.0 else np.ones(1)


def small_reading(task: MomentTask, small: PseudoRows) -> Reading:
    """The same problem as one in memory."""
    terms = task.terms
    ones = np.ones(len(small.y))
    own = Objective(terms.loss, terms.penalty, 1.0, None, False, ones, terms.factors, terms.scale)
    return Reading(Table(Dense(small.X), task.names), own, small.y, None)


def moment_path(task: MomentTask, request: PathRequest) -> StreamedPath:
    """Exact where the path of as many rows as columns is; every point proven from the moments."""
    small = task.small
    inner = path_of(small_reading(task, small), request)
    lams, coefs = inner.lams, inner.coefs

    def solve(lam: float | None, budget: float | None) -> Solution:
        return task.fit(replace(task.terms, lam=lam, budget=budget), small)

    tied = task.terms.fit_intercept
    levels = np.array([small.constant(w) if tied else 0.0 for w in coefs])
    gaps = np.empty(len(lams))
    for k, lam in enumerate(lams):
        w = np.append(coefs[k], levels[k]) if tied else coefs[k]
        gaps[k] = point_gap(task, task.sums, w, float(lam))
        if not gaps[k] <= request.limits.tolerance:
            again = solve(float(lam), None)
            coefs[k], levels[k], gaps[k] = again.coef, again.intercept, again.relative_gap
    found = StreamedPath(lams, coefs, levels, gaps, solve)
    found.exact = inner.exact
    return found


def point_gap(task: MomentTask, sums: MomentSums, w: Vector, lam: float) -> float:
    """The relative gap of weights beside the slopes of their own errors, from the moments."""
    tied = task.terms.fit_intercept
    statement = knowing(replace(task.terms, lam=lam, budget=None).statement(), sums)
    coef, level = (w[:-1], w[-1]) if tied else (w, 0.0)
    kappa = np.concatenate([coef, [-1.0, level + sums.shift[:-1] @ coef - sums.shift[-1]]])
    null = null_of(sums, tied=tied)
    found: Checked = judged_by_moments(statement, sums, task.whole, w, kappa, task.limits.tolerance, null)
    return relative_gap(found.gap, found.primal, null)
