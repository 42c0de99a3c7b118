"""branch_and_bound: the best columns, proven."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from dualgap.arrays import Vector
from dualgap.discrete.base import Finding
from dualgap.discrete.gram import gram_problem, is_quadratic
from dualgap.discrete.registry import search
from dualgap.discrete.selection import lacks_selection
from dualgap.discrete.statement import all_in, nothing_to_choose
from dualgap.discrete.thin import ENUMERABLE, THIN, enumerated, is_thin, sets
from dualgap.discrete.wide import is_too_wide
from dualgap.problem.problem import Problem
from dualgap.solvers.drive import Limits

TOO_WIDE = "Too many columns to bound: this is a good set, not a proven one. Screen the columns first."


@search("branch_and_bound")
@dataclass(frozen=True)
class BranchAndBound:
    """Best subset for every convex loss, with a bound at any time.

    Squared loss: depth first on the Gram matrix, bounds from a diagonal split of it, columns fixed both ways
    (see compiled/subset_bound.py). Other losses: bounds from dual points of the fit on the columns left.
    `seconds` is the time limit where `max_time` gives none; `max_iter` limits the nodes.
    """

    seconds: float | None = 60.0
    name: ClassVar[str] = "branch_and_bound"

    def missing(self, problem: Problem) -> tuple[str, ...]:
        return lacks_selection(problem)

    def cost(self, problem: Problem) -> float:
        return 1e3 * problem.p**2

    def findings(self, problem: Problem, start: Vector | None, limits: Limits) -> Iterator[Finding]:
        if nothing_to_choose(problem):
            yield all_in(problem, limits)  # and on, if that left a gap
        if is_quadratic(problem) and is_too_wide(problem):
            from dualgap.discrete.heuristics import HardThresholding

            for finding in HardThresholding().findings(problem, start, limits):
                yield replace(finding, ending=TOO_WIDE)
        elif is_quadratic(problem):
            yield from _on_gram(problem, start, limits)
        else:
            from dualgap.discrete.dual_search import DualSearch

            yield from DualSearch(problem, start, limits).findings()


def _on_gram(problem: Problem, start: Vector | None, limits: Limits) -> Iterator[Finding]:
    """By the Gram matrix, unless that hides what the data say."""
    from dualgap.discrete.gram_search import GramSearch

    stated = gram_problem(problem)
    search = None
    if stated.size:
        origin = None if start is None else stated.support(start)
        search = GramSearch(stated, origin, limits.tolerance)
    doubtful = (stated.dropped and stated.unit > 0.0) or (search is not None and search.lacking > 0)
    if doubtful and not (search is not None and search.hopeless) and is_thin(stated):
        if sets(stated) <= ENUMERABLE:
            yield from enumerated(stated)
            return
        floor = stated.objective(stated.full_model())
        for finding in search.findings(limits.iterations) if search else ():
            yield replace(finding, bound=min(finding.bound, floor), ending=THIN)
    elif search is None:  # no column takes anything off what the free ones leave
        yield Finding(stated.weights(np.zeros(0, np.int64)), stated.objective(1.0), 1)
    else:
        yield from search.findings(limits.iterations)
