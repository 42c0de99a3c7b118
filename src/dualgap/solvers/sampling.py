"""Where rows are many for each column, some of them give a start that is nearly as good as the answer."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dualgap.problem.problem import Problem

ROWS_PER_COLUMN = 20  # of a sample
SPARSEST = 10  # one row in so many, at the least
FEWEST = 4  # and at the most


def worth(problem: Problem, rows_per_column: int = ROWS_PER_COLUMN) -> bool:
    """Would a sample spare much?"""
    return _stride(problem, rows_per_column) >= FEWEST


def sampled(problem: Problem, rows_per_column: int = ROWS_PER_COLUMN) -> Problem | None:
    """The problem on every k-th row, None where that would spare little."""
    if not worth(problem, rows_per_column):
        return None
    stride = _stride(problem, rows_per_column)
    some = np.arange(stride // 2, problem.n, stride)
    a = problem.a[some]
    return replace(problem, design=problem.design.rows(some), y=problem.y[some], a=a / a.sum())


def _stride(problem: Problem, rows_per_column: int) -> int:
    return min(problem.n // (rows_per_column * problem.p), SPARSEST)
