"""Where columns lie in one piece, a few sweeps over them tell nearly all that count, before a matrix is made.

Of tall tables some of the rows do, which are copied.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dualgap.arrays import Matrix, Vector
from dualgap.design.line_products import rounded_lines
from dualgap.drive.solver import Iterate
from dualgap.problem.problem import Problem
from dualgap.solvers.lasso.working_point import first_set
from dualgap.solvers.prices import prices
from dualgap.solvers.tall_point import RUN

ROWS, LEAST = 10, 1000  # of a sample, for each column and in all
SHARE = 5  # a row in so many at most is in it
SWEEPS = (3, 5)  # over many columns, and over those that are not zero between two of these
# Columns are looked at again unless they are worth so little that they would have to gain more than so much
# while the price falls by one from the highest. 1 is the strong rule of Tibshirani et al. (2012); with a half
# none was missed on 500 × 600 and 1000 × 10,000 at half the highest price, in a third of the time.
SPEED = 0.5
# From this share on, of tables with so many rows a column, the matrix of all columns took half of the time.
NEARLY, TALL = 0.95, 0.5
MOST = 0.5  # share of scattered columns that tell something, from which on it pays to turn all of them
SHORT = 1 << 20  # numbers whose copy in 4-byte ones stays in the cache: sweeps then take a quarter less
ENOUGH = 1e-2  # of a price: smaller moves tell no more columns


class SingleColumns:
    """What each column tells at no weights, by itself; of tall tables by some of the rows."""

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        lines: Any = problem.design.features.toarray().T
        p, n = lines.shape
        rows = max(ROWS * p, LEAST)
        self._some, self._scattered = SHARE * rows <= n, not lines.flags.c_contiguous
        self._price, self._ridge = (each[:p] for each in prices(problem))
        self._theta: Any = problem.slope(problem.null_prediction)
        h: Any = problem.a * problem.loss.second_derivative(problem.y, problem.null_prediction)
        table = lines, h, self._theta
        if self._some:
            table = _sample(table, n // rows * RUN, centred=problem.intercept)
        self._table, self._pull = table, table[0] @ table[2]
        self._worth = np.abs(self._pull) / self._price
        self._first = np.flatnonzero(self._worth > 1.0)

    @staticmethod
    def fits(problem: Problem, start: Iterate) -> bool:
        """Not where there is a start, or where columns lie scattered, and are too many numbers for a copy."""
        lines: Any = problem.design.features.toarray().T
        p, n = lines.shape
        turned = lines.flags.c_contiguous or lines.size <= SHORT
        return not start.w[:p].any() and bool(turned or SHARE * max(ROWS * p, LEAST) <= n)

    @property
    def nearly_all(self) -> bool:
        """Does nearly every column tell something, and are they not many more than the rows?"""
        n, p = self._problem.design.features.shape
        return TALL * p <= n and len(self._first) >= NEARLY * p

    def swept(self) -> Iterate | None:
        """A start by sweeps; by none where few columns tell anything. None if numbers are too large."""
        problem, first, worth = self._problem, self._first, self._worth
        n, p = problem.design.features.shape
        enough = first_set(n, p)  # those make a set; scattered columns are turned for many more
        null = problem.null_weights
        if not self._some and len(first) <= (max(enough, MOST * p) if self._scattered else enough):
            pull = np.append(self._pull, self._theta.sum())[: problem.p]
            return Iterate(null, self._theta, problem.null_prediction, correlation=pull)
        from dualgap.solvers.lasso.column_sweeps import sweep_columns

        first = first[np.argsort(-worth[first])]  # those that tell most, before others that say the same
        others = np.flatnonzero(worth > 1.0 - SPEED * (worth.max() - 1.0))
        w, (lines, h, theta) = np.zeros(problem.p), self._table
        if lines.size <= SHORT:
            lines, h, theta = rounded_lines(lines), h.astype(np.float32), theta.astype(np.float32)
        table, penalty = (lines, h, float(h.sum()) if problem.intercept else 0.0), (self._price, self._ridge)
        centre = sweep_columns(table, penalty, (w[:p], theta), (first, others), SWEEPS, ENOUGH)
        if problem.intercept:
            w[p] = null[p] - float(centre @ w[:p])
        return Iterate(w) if np.isfinite(w).all() else None


def _sample(arrays: tuple[Matrix, Vector, Vector], step: int, *, centred: bool) -> Any:
    """Columns, curvatures and slopes of some rows, as if they were all."""
    lines, h, theta = (_runs(every, step) for every in arrays)
    whole = float(arrays[1].sum())
    share = whole / float(h.sum())
    h, theta = share * h, share * theta
    if centred:
        theta -= (float(theta.sum()) / whole) * h
    return lines, h, theta


def _runs(lines: Matrix, step: int) -> Matrix:
    """Of every `step` numbers of a line a run of neighbours, which are read much faster than single ones."""
    parts = lines[..., : lines.shape[-1] // step * step]
    parts = parts.reshape(*lines.shape[:-1], -1, step)[..., :RUN]
    return np.ascontiguousarray(parts).reshape(*lines.shape[:-1], -1)
