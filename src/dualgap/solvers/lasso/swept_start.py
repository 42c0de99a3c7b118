"""Where columns lie in one piece, a few sweeps over them tell nearly all that count, before a matrix is made.

Of tall tables some of the rows do, which are copied.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dualgap.arrays import Matrix, Vector
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
SHORT = 1 << 20  # numbers whose copy in 4-byte ones stays in the cache: sweeps then take a quarter less
ENOUGH = 1e-2  # of a price: smaller moves tell no more columns


def swept(problem: Problem, start: Iterate) -> Iterate | None:
    """A start for a quadratic loss; None where there is one, or where columns lie scattered, and are too many
    numbers for a copy.
    """
    lines: Any = problem.design.features.toarray().T
    p, n = lines.shape
    rows = max(ROWS * p, LEAST)
    some = SHARE * rows <= n
    if start.w[:p].any() or not (some or lines.flags.c_contiguous):
        return None
    price, ridge = (each[:p] for each in prices(problem))
    null, z = problem.null_weights, problem.null_prediction
    theta: Any = problem.slope(z)
    h: Any = problem.a * problem.loss.second_derivative(problem.y, z)
    if some:
        lines, h, theta = _sample((lines, h, theta), n // rows * RUN, centred=problem.intercept)
    pull = lines @ theta
    worth = np.abs(pull) / price
    first = np.flatnonzero(worth > 1.0)
    if not some and len(first) <= first_set(n, p):  # all that tell anything make a set
        return Iterate(null, theta, z, correlation=np.append(pull, theta.sum())[: problem.p])
    from dualgap.solvers.lasso.column_sweeps import sweep_columns

    first = first[np.argsort(-worth[first])]  # those that tell most, before others that say the same
    w = np.zeros(problem.p)
    if lines.size <= SHORT:
        lines, h, theta = (each.astype(np.float32) for each in (lines, h, theta))
    table = lines, h, float(h.sum()) if problem.intercept else 0.0
    others = np.flatnonzero(worth > 1.0 - SPEED * (worth.max() - 1.0))
    centre = sweep_columns(table, (price, ridge), (w[:p], theta), (first, others), SWEEPS, ENOUGH)
    if problem.intercept:
        w[p] = null[p] - float(centre @ w[:p])
    return Iterate(w) if np.isfinite(w).all() else None  # too large for them


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
