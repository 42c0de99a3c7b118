"""Best subsets of every size: k = 0, 1, …, K, each warm from the one before."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import replace

from dualgap.discrete.base import Answer, Search
from dualgap.discrete.branch_and_bound import BranchAndBound
from dualgap.discrete.pursue import pursue
from dualgap.discrete.selection import chooses_columns, selection
from dualgap.errors import DataError
from dualgap.penalties.l0 import AtMost, Count
from dualgap.problem.problem import Problem
from dualgap.solvers.drive import Limits, Status


def subset_path(
    problem: Problem, sizes: Iterable[int], limits: Limits | None = None, solver: Search | None = None
) -> list[Answer]:
    """One answer per size. The penalty of `problem` must count columns; its own strength is not looked at.

    A limit on time is for the path as a whole; interrupted, it ends with the size it was at.
    """
    if not chooses_columns(problem):
        raise DataError("A path over subset sizes needs the penalty l0 or l0_l2.")
    limits, solver = limits or Limits(), solver or BranchAndBound()
    gauge = problem.regulariser.gauge
    assert isinstance(gauge, Count)
    ridge = selection(problem).ridge
    began, answers = time.perf_counter(), []
    warm = None
    for size in sizes:
        own = limits
        if limits.seconds is not None:
            left = limits.seconds - (time.perf_counter() - began)
            own = replace(limits, seconds=max(left, 0.0))
        part = problem.with_regulariser(AtMost(Count(gauge.counted, ridge), float(size)))
        answer = pursue(part, solver, warm, own)
        answers.append(answer)
        warm = answer.w
        if answer.status in (Status.INTERRUPTED.value, Status.STOPPED.value):
            break
    return answers
