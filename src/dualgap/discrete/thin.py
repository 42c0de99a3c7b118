"""Columns that nearly depend on one another, in the data and not for rounding: the Gram matrix hides them.

It holds the squares of what the columns differ by, so that differences below 1e-6 are lost to it, while data
hold them down to 1e-13. Sets of such columns can fit, with large weights, what the search does not see.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, combinations
from math import comb

import numpy as np

from dualgap.arrays import Index, Matrix
from dualgap.discrete.base import Finding
from dualgap.discrete.gram import GramProblem

HIDDEN = 3e-5  # singular value, columns of length one, below which the matrix hides a combination
NOTHING = 1e-13  # and below which there is nothing to hide
ENUMERABLE = 20_000  # sets that are fitted one by one: seconds
EVERY = 500
THIN = (
    "Columns are combinations of others but for differences too small for the search: the bound is that of "
    "all columns, no set does better. Leave out one of each such combination, or use l0_l2(alpha)."
)


def is_thin(problem: GramProblem) -> bool:
    """Is there a combination of columns that is nearly zero, but not for rounding?"""
    inner = problem.working.problem
    if problem.ridge.any() and problem.ridge.min() > HIDDEN**2:
        return False
    table = inner.design.toarray() * np.sqrt(inner.a)[:, None]
    length = np.sqrt((table * table).sum(axis=0))
    table = table[:, length > 0.0] / length[length > 0.0]
    free = ~problem.selection.counted[length > 0.0]
    if free.any():
        basis = np.linalg.svd(table[:, free], full_matrices=False)[0]
        for _ in range(2):
            table -= basis @ (basis.T @ table)
        table = table[:, ~free]
    return _hides(table) or _alike(table)


def _hides(table: Matrix) -> bool:
    size = np.linalg.svd(table, compute_uv=False)
    top = NOTHING * max(table.shape)
    return bool(np.any((size < HIDDEN) & (size > top)))


def _alike(table: Matrix) -> bool:
    """Two columns that are nearly the same, where there are too many columns to see it otherwise."""
    if table.shape[1] <= table.shape[0]:
        return False
    length = np.sqrt((table * table).sum(axis=0))
    unit = table[:, length > NOTHING] / length[length > NOTHING]
    cosine = np.triu(unit.T @ unit, 1)
    for i, j in np.argwhere(np.abs(cosine) > 1.0 - HIDDEN**2):
        rest = unit[:, j] - np.sign(cosine[i, j]) * unit[:, i]
        if float(np.sqrt(rest @ rest)) > 10.0 * NOTHING:
            return True
    return False


def sets(problem: GramProblem) -> int:
    """How many sets of columns there are to choose from."""
    count = int(np.count_nonzero(problem.selection.counted))
    return sum(comb(count, size) for size in range(min(problem.selection.limit, count) + 1))


def enumerated(problem: GramProblem) -> Iterator[Finding]:
    """Every set fitted to the data."""
    chosen, unit = problem.selection, problem.working.objective_unit
    counted = np.flatnonzero(chosen.counted)
    best, where, count = np.inf, counted[:0], 0
    sizes = range(min(chosen.limit, len(counted)) + 1)
    for columns in chain.from_iterable(combinations(counted, size) for size in sizes):
        count += 1
        these: Index = np.array(columns, dtype=np.intp)
        value = problem.value_on(these) + chosen.price * len(columns)
        if value < best:
            best, where = value, these
        if count % EVERY == 0:
            yield Finding(problem.working.weights(problem.fitted(where)), 0.0, count)
    yield Finding(problem.working.weights(problem.fitted(where)), best * unit, count)
