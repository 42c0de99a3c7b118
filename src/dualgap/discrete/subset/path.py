"""Best subsets of every size: k = 0, 1, …, K, each warm from the one before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dualgap.discrete.pursuit import PROVEN, choose, pursued
from dualgap.discrete.subset.selection import chooses_columns, selection
from dualgap.drive.limits import Limits, Status
from dualgap.drive.run import Outcome
from dualgap.errors import DataError
from dualgap.penalties.l0 import AtMost, Count
from dualgap.problem.problem import Problem


def subset_path(
    problem: Problem, sizes: Sequence[int], limits: Limits | None = None, solver: Any = "auto"
) -> list[Outcome]:
    """One outcome per size, sizes rising. The penalty of `problem` must count columns; its strength is not
    looked at, but for the square of l0_l2.

    A limit on time is for the path as a whole: every size gets its share of what is left, so that hard sizes
    do not leave the others without an answer. Interrupted, the path ends with the size it was at.
    """
    if not chooses_columns(problem):
        raise DataError("A path over subset sizes needs the penalty l0 or l0_l2.")
    search = choose(at_size(problem, 0), solver)
    whole = (limits or Limits()).or_seconds(search.seconds).shared()
    found: list[Outcome] = []
    try:
        for done, size in enumerate(sizes):
            warm = found[-1].bounds.w if found else None
            found.append(pursued(at_size(problem, size), search, warm, whole.part(len(sizes) - done)))
            if found[-1].stopped:
                break
    except KeyboardInterrupt:
        pass  # the sizes that are finished stay
    return _handed_down(problem, found, whole.tolerance)


def at_size(problem: Problem, size: int) -> Problem:
    """The problem with room for so many columns."""
    chosen = selection(problem)
    return problem.with_regulariser(AtMost(Count(chosen.counted, chosen.ridge), float(size)))


def _handed_down(problem: Problem, found: list[Outcome], tolerance: float) -> list[Outcome]:
    """More columns never fit worse, so that the bound of a size holds for every smaller one."""
    for at in range(len(found) - 2, -1, -1):
        mine, bound = found[at], found[at + 1].bounds.dual
        if mine.bounds.dual < bound <= mine.bounds.primal:
            bounds = replace(mine.bounds, dual=bound, theta=np.zeros_like(mine.bounds.theta))
            mine = replace(mine, bounds=bounds)
            if not mine.proven and problem.relative(bounds.gap, bounds.primal) <= tolerance:
                mine = replace(mine, status=Status.CERTIFIED, said=f"{PROVEN} {mine.remark}".strip())
            found[at] = mine
    return found
