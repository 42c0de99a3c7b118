"""greedy_forward, greedy_backward, hard_thresholding: good sets of columns, fast, with the gap they leave."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from dualgap.arrays import Vector
from dualgap.discrete.base import Finding
from dualgap.discrete.subset.before_choosing import all_in, nothing_to_choose
from dualgap.discrete.subset.column_fits import TRIES, ColumnFits
from dualgap.discrete.subset.gram import GramProblem, gram_problem, is_quadratic
from dualgap.discrete.subset.relaxation import Branch, Relaxed
from dualgap.discrete.subset.selection import lacks_selection, selection
from dualgap.discrete.subset.wide import is_wide, wide_problem
from dualgap.drive.registry import solver
from dualgap.problem.problem import Problem

NOT_PROVEN = "A good set of columns, not proven to be the best; branch_and_bound can prove."

Whole = NDArray[np.int64]


class Heuristic:
    """On the Gram matrix for a squared loss, by refitting for others. The bound is that of all columns."""

    seconds: ClassVar[float | None] = None

    def missing(self, problem: Problem) -> tuple[str, ...]:
        return lacks_selection(problem)

    def cost(self, problem: Problem) -> float:
        return float(problem.n * problem.p**2)

    def iterates(self, problem: Problem, start: Finding) -> Iterator[Finding]:
        if nothing_to_choose(problem):
            yield all_in(problem, start.wanted)  # and on, if that left a gap
        if not selection(problem).counted.any():
            return
        if is_quadratic(problem):
            wide = is_wide(problem) and self.without_gram(problem, start.w)
            yield from wide or self._with_gram(problem, start.w)
            return
        columns = ColumnFits(problem)
        for fitted in self.on_columns(columns, start.w):
            yield Finding(columns.weights(fitted), nodes=columns.fits)
        bound = _all_columns(columns)
        theta = columns.working.theta(bound.theta)
        yield Finding(None, columns.objective(bound.bound), columns.fits, theta, NOT_PROVEN)

    def _with_gram(self, problem: Problem, start: Vector | None) -> Iterator[Finding]:
        stated = gram_problem(problem, whole=True)
        bound = stated.objective(stated.full_model())
        yield Finding(stated.weights(self.on_gram(stated, start)), bound, 1, ending=NOT_PROVEN)

    def without_gram(self, problem: Problem, start: Vector | None) -> list[Finding]:
        """The same for many columns; nothing if that is not to be had. No loss is below zero."""
        return []

    def on_gram(self, problem: GramProblem, start: Vector | None) -> Whole:
        """The set of columns."""
        raise NotImplementedError

    def on_columns(self, columns: ColumnFits, start: Vector | None) -> Iterator[Relaxed]:
        """Fits, the last the answer."""
        raise NotImplementedError


def _all_columns(columns: ColumnFits) -> Relaxed:
    branch = Branch(columns.always, columns.counted, columns.limit)
    found = columns.relaxation.solve(branch, columns.problem.null_weights, np.inf)
    return columns.relaxation.proved(branch, found)


@solver("greedy_forward", kind="search", manual=True)
@dataclass(frozen=True)
class GreedyForward(Heuristic):
    """Start with nothing; add the column that helps most while there is room and it is worth its price."""

    name: ClassVar[str] = "greedy_forward"

    def on_gram(self, problem: GramProblem, start: Vector | None) -> Whole:
        from dualgap.discrete.subset.exchange import forward

        return forward(problem.gram, problem.linear, problem.price, problem.limit)

    def without_gram(self, problem: Problem, start: Vector | None) -> list[Finding]:
        stated = wide_problem(problem)
        return [Finding(stated.weights(stated.forward()), 0.0, 1, ending=NOT_PROVEN)]

    def on_columns(self, columns: ColumnFits, start: Vector | None) -> Iterator[Relaxed]:
        for _, fitted in columns.forward():
            yield fitted


@solver("greedy_backward", kind="search", manual=True)
@dataclass(frozen=True)
class GreedyBackward(Heuristic):
    """Start with everything; drop the column that is missed least, until the rest may stay.

    ColumnFits that depend on others are left out from the start.
    """

    name: ClassVar[str] = "greedy_backward"

    def on_gram(self, problem: GramProblem, start: Vector | None) -> Whole:
        from dualgap.discrete.subset.exchange import forward

        order = forward(problem.gram, problem.linear, 0.0, problem.size)
        gram = problem.gram[np.ix_(order, order)]
        inverse = np.linalg.inv(gram) if len(order) else gram
        w = inverse @ problem.linear[order]
        while len(order):
            losses = w * w / np.diag(inverse)
            least = int(np.argmin(losses))
            if len(order) <= problem.limit and losses[least] >= problem.price:
                break
            w = np.delete(w - inverse[:, least] * (w[least] / inverse[least, least]), least)
            rest = inverse - np.outer(inverse[:, least], inverse[least] / inverse[least, least])
            inverse = np.delete(np.delete(rest, least, 0), least, 1)
            order = np.delete(order, least)
        return order

    def on_columns(self, columns: ColumnFits, start: Vector | None) -> Iterator[Relaxed]:
        support = columns.counted
        fitted = columns.fit(support)
        while len(support):
            weight = np.abs(fitted.w[support]) * columns.relaxation.norms[support]
            likely = np.argsort(weight)[:TRIES]
            shorter, best = columns.best([np.delete(support, j) for j in likely], fitted)
            if len(support) <= columns.limit and not best.value < fitted.value:
                break
            support, fitted = shorter, best
        yield fitted


@solver("hard_thresholding", kind="search", manual=True)
@dataclass(frozen=True)
class HardThresholding(Heuristic):
    """Gradient steps that keep the largest weights, then exchanges of single columns while they help.

    For other losses than the squared one both run on the second-order model of the last fit; with many
    columns there is one step, and greedy selection beside it. Blumensath and Davies (2009); Beck and Eldar
    (2013).
    """

    steps: int = 100
    name: ClassVar[str] = "hard_thresholding"

    def on_gram(self, problem: GramProblem, start: Vector | None) -> Whole:
        from dualgap.discrete.subset.exchange import good_set

        origin = np.zeros(0, np.int64) if start is None else problem.support(start)
        return good_set(problem.gram, problem.linear, problem.price, problem.limit, self.steps, origin)

    def without_gram(self, problem: Problem, start: Vector | None) -> list[Finding]:
        stated = wide_problem(problem)
        starts = [stated.forward(), stated.marginal()]
        if start is not None:
            starts.append(stated.support(start))
        best = min((stated.exchange(s) for s in starts), key=lambda f: f[1])[0]
        return [Finding(stated.weights(best), 0.0, 1, ending=NOT_PROVEN)]

    def on_columns(self, columns: ColumnFits, start: Vector | None) -> Iterator[Relaxed]:
        from dualgap.discrete.subset.exchange import thresholded

        nothing = columns.fit(columns.counted[:0])
        yield nothing
        if not columns.limit:
            return
        gram, linear, which, unit = columns.model(nothing)
        price, limit = columns.chosen.price / unit, min(columns.limit, len(which))
        kept = thresholded(gram, linear, price, limit, self.steps)
        starts = [columns.counted[:0], np.sort(which[kept])]
        if start is not None:
            starts.append(columns.support(start))
        found = []
        for support in starts:
            fitted = columns.fit(support, nothing.w) if len(support) else nothing
            found.append(columns.improved(support, fitted))
            yield found[-1][1]
        for _, fitted in columns.exchanged(*min(found, key=lambda pair: pair[1].value)):
            yield fitted
