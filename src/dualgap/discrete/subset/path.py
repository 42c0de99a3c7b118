"""Best subsets of every size: k = 0, 1, …, K, each warm from the one before."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from dualgap.discrete.base import Answer
from dualgap.discrete.pursue import PROVEN, pursue
from dualgap.discrete.registry import choose
from dualgap.discrete.subset.selection import chooses_columns, selection
from dualgap.drive.limits import Limits
from dualgap.errors import DataError
from dualgap.penalties.l0 import AtMost, Count
from dualgap.problem.problem import Problem


def subset_path(
    problem: Problem, sizes: Sequence[int], limits: Limits | None = None, solver: Any = "auto"
) -> list[Answer]:
    """One answer per size, sizes rising. The penalty of `problem` must count columns; its strength is not
    looked at, but for the square of l0_l2.

    A limit on time is for the path as a whole: every size gets its share of what is left, so that hard sizes
    do not leave the others without an answer. Interrupted, the path ends with the size it was at.
    """
    if not chooses_columns(problem):
        raise DataError("A path over subset sizes needs the penalty l0 or l0_l2.")
    limits = limits or Limits()
    search = choose(at_size(problem, 0), solver)
    seconds = search.seconds if limits.seconds is None else limits.seconds
    began = time.perf_counter()
    answers: list[Answer] = []
    try:
        for done, size in enumerate(sizes):
            own = limits
            if seconds is not None:
                left = max(seconds - (time.perf_counter() - began), 0.0)
                own = replace(limits, seconds=left / (len(sizes) - done))
            warm = answers[-1].w if answers else None
            answers.append(pursue(at_size(problem, size), search, warm, own))
            if answers[-1].stopped:
                break
    except KeyboardInterrupt:
        pass  # the sizes that are finished stay
    return _handed_down(problem, answers, limits.tolerance)


def at_size(problem: Problem, size: int) -> Problem:
    """The problem with room for so many columns."""
    gauge = problem.regulariser.gauge
    assert isinstance(gauge, Count)
    return problem.with_regulariser(AtMost(Count(gauge.counted, selection(problem).ridge), float(size)))


def _handed_down(problem: Problem, answers: list[Answer], tolerance: float) -> list[Answer]:
    """More columns never fit worse, so that the bound of a size holds for every smaller one."""
    for at in range(len(answers) - 2, -1, -1):
        mine, bound = answers[at], answers[at + 1].bound
        if mine.bound < bound <= mine.primal:
            proven = problem.relative(mine.primal - bound, mine.primal) <= tolerance
            status = f"{PROVEN} {mine.remark}".strip() if proven and not mine.proven else mine.status
            answers[at] = replace(mine, bound=bound, theta=None, proven=proven, status=status)
    return answers
