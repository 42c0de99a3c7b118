"""branch_and_bound: the best columns, proven."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from dualgap.discrete.base import Finding, reached
from dualgap.discrete.subset import gram
from dualgap.discrete.subset.gram import exactly, gram_problem
from dualgap.discrete.subset.selection import all_in, lacks_selection, nothing_to_choose, selection
from dualgap.discrete.subset.squares import affordable
from dualgap.drive.registry import solver
from dualgap.problem.problem import Problem
from dualgap.traits import Trait

TOO_WIDE = "Too many columns to bound: this is a good set, not a proven one. Screen the columns first."


@solver("branch_and_bound", kind="search")
@dataclass(frozen=True)
class BranchAndBound:
    """Best subset for every convex loss, with a bound at any time.

    Squared loss: depth first on the Gram matrix, bounds from a diagonal split of it, columns fixed both ways
    (see `split_bound`). Other losses: bounds from dual points of the fit on the columns left.
    `seconds` is the time limit where `max_time` gives none; `max_iter` limits the nodes.
    """

    name: ClassVar[str]
    seconds: float | None = 60.0

    def missing(self, problem: Problem) -> tuple[str, ...]:
        return lacks_selection(problem)

    def cost(self, problem: Problem) -> float:
        return 1e3 * problem.p**2

    def iterates(self, problem: Problem, start: Finding) -> Iterator[Finding]:
        if nothing_to_choose(problem):
            yield all_in(problem, start.wanted)  # and on, if that left a gap
        if not selection(problem).counted.any():
            return
        if not problem.loss_has(Trait.QUADRATIC):
            from dualgap.discrete.subset.dual_search import DualSearch

            yield from DualSearch(problem, start).findings()
        elif problem.p > gram.LARGEST:
            from dualgap.discrete.subset.heuristics import HardThresholding

            for finding in HardThresholding().iterates(problem, start):
                yield replace(finding, ending=TOO_WIDE)
        else:
            yield from _on_gram(problem, start)


def _on_gram(problem: Problem, start: Finding) -> Iterator[Finding]:
    """By the Gram matrix; by that of integers, if rounding costs too much of the bound."""
    from dualgap.discrete.subset.gram_search import GramSearch

    stated, last, w, tolerance = gram_problem(problem), None, start.w, start.wanted
    while True:
        if not stated.size or stated.unit == 0.0:  # no column takes anything off what the free ones leave
            yield Finding(stated.weights(np.zeros(0, np.int64)), stated.objective(1.0), 1)
            return
        search = GramSearch(stated, None if w is None else stated.support(w), tolerance)
        better = stated.part is not None and affordable(stated.working.asked)
        if not (search.costly and better):
            for last in search.findings(start.most):
                yield last
            if last is not None:  # nobody stopped: it is not proven
                last = replace(last, w=search.careful())
                yield last
        if not better or (last is not None and (search.hopeless or _enough(problem, last, tolerance))):
            return
        stated, w = exactly(stated.working.asked, stated.working), w if last is None else last.w


def _enough(problem: Problem, last: Finding, tolerance: float) -> bool:
    """Is it proven?"""
    assert last.w is not None
    value = reached(problem, last.w, tolerance)
    return problem.relative(value - last.bound, value) <= tolerance
