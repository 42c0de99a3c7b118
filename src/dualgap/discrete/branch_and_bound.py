"""branch_and_bound: the best columns, proven."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar

from dualgap.arrays import Vector
from dualgap.discrete.base import Finding
from dualgap.discrete.gram import gram_problem, is_quadratic
from dualgap.discrete.registry import search
from dualgap.discrete.selection import lacks_selection, selection
from dualgap.discrete.wide import is_too_wide
from dualgap.penalties.forms import unregularised
from dualgap.problem.precondition import precondition
from dualgap.problem.problem import Problem
from dualgap.solvers.drive import Limits, drive
from dualgap.solvers.registry import candidates

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
        if not selection(problem).binding:
            yield _all_in(problem)
        elif is_quadratic(problem) and is_too_wide(problem):
            from dualgap.discrete.heuristics import HardThresholding

            for finding in HardThresholding().findings(problem, start, limits):
                yield replace(finding, ending=TOO_WIDE)
        elif is_quadratic(problem):
            from dualgap.discrete.gram_search import GramSearch

            stated = gram_problem(problem)
            origin = None if start is None else stated.support(start)
            yield from GramSearch(stated, origin, limits.tolerance).findings(limits.iterations)
        else:
            from dualgap.discrete.dual_search import DualSearch

            yield from DualSearch(problem, start, limits).findings()


def _all_in(problem: Problem) -> Finding:
    """There is room for every column: a convex problem."""
    regulariser = selection(problem).convex()
    if regulariser.free.all():
        regulariser = unregularised(problem.p)
    working = precondition(problem.with_regulariser(regulariser))
    found = drive(working, lambda: candidates(working.problem, "auto"), None, Limits(1e-9, 2000)).bounds
    return Finding(found.w, found.dual, 1, found.theta)
