"""A small dense matrix copied out of its views, which cost more than its products do."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dualgap.design import Dense
from dualgap.problem.problem import Problem

LARGEST = 300_000  # numbers: beyond, a product takes much longer than the views around it


def flattened(problem: Problem) -> Problem:
    """The same problem, its design one array where that is small and has no zeros left out."""
    n, p = problem.design.shape
    if n * p > min(LARGEST, problem.design.stored) or isinstance(problem.design, Dense):
        return problem
    flat = replace(problem, design=Dense(np.ascontiguousarray(problem.design.toarray())))
    flat.__dict__.update({name: known for name, known in vars(problem).items() if name != "design"})
    return flat
