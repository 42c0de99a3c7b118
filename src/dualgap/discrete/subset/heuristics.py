"""greedy_forward, greedy_backward, hard_thresholding: good sets of columns, fast, with the gap they leave."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dualgap.arrays import Vector
from dualgap.discrete.base import Finding
from dualgap.discrete.subset import gram
from dualgap.discrete.subset.column_fits import TRIES, ColumnFits
from dualgap.discrete.subset.gram import GramProblem, gram_problem
from dualgap.discrete.subset.relaxation import Branch, Relaxed
from dualgap.discrete.subset.selection import all_in, lacks_selection, nothing_to_choose, selection
from dualgap.drive.registry import solver
from dualgap.problem.problem import Problem
from dualgap.traits import Trait

NOT_PROVEN = "A good set of columns, not proven to be the best; branch_and_bound can prove."

Whole = NDArray[np.int64]
Stated: TypeAlias = GramProblem | gram.WideProblem


class Heuristic:
    """On the Gram matrix for a squared loss, by refitting for others. The bound is that of all columns."""

    name: ClassVar[str]
    seconds: ClassVar[float | None] = None
    by_rows: ClassVar[bool] = True  # are a few rows of the matrix enough?

    def missing(self, problem: Problem) -> tuple[str, ...]:
        return lacks_selection(problem)

    def cost(self, problem: Problem) -> float:
        return float(problem.n * problem.p**2)

    def iterates(self, problem: Problem, start: Finding) -> Iterator[Finding]:
        if nothing_to_choose(problem):
            yield all_in(problem, start.wanted)  # and on, if that left a gap
        if not selection(problem).counted.any():
            return
        if problem.loss_has(Trait.QUADRATIC):
            stated, bound = self._stated(problem)
            yield Finding(stated.weights(self.on_gram(stated, start.w)), bound, 1, ending=NOT_PROVEN)
            return
        columns = ColumnFits(problem)
        for fitted in self.on_columns(columns, start.w):
            yield Finding(columns.weights(fitted), nodes=columns.fits)
        whole = _all_columns(columns)
        theta = columns.working.theta(whole.theta)
        yield Finding(None, columns.objective(whole.bound), columns.fits, theta, NOT_PROVEN)

    def _stated(self, problem: Problem) -> tuple[Stated, float]:
        """On rows of the matrix, or on the whole of it with the value of all columns; no loss is below 0."""
        if self.by_rows and problem.p > gram.WIDE:
            return gram.wide_problem(problem), 0.0
        stated = gram_problem(problem, whole=True)
        return stated, stated.objective(stated.full_model())

    def on_gram(self, problem: Stated, start: Vector | None) -> Whole:
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

    def on_gram(self, problem: Stated, start: Vector | None) -> Whole:
        from dualgap.discrete.subset.exchange import forward

        return forward(problem.gram, problem.linear, problem.price, problem.limit)

    def on_columns(self, columns: ColumnFits, start: Vector | None) -> Iterator[Relaxed]:
        for _, fitted in columns.forward():
            yield fitted


@solver("greedy_backward", kind="search", manual=True)
@dataclass(frozen=True)
class GreedyBackward(Heuristic):
    """Start with everything; drop the column that is missed least, until the rest may stay.

    ColumnFits that depend on others are left out from the start.
    """

    by_rows: ClassVar[bool] = False

    def on_gram(self, problem: Stated, start: Vector | None) -> Whole:
        from dualgap.discrete.subset.exchange import forward

        order = forward(problem.gram, problem.linear, 0.0, problem.size)
        gram = np.array([problem.gram[j][order] for j in order.tolist()])
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

    def on_gram(self, problem: Stated, start: Vector | None) -> Whole:
        from dualgap.discrete.subset.exchange import good_set

        others = [problem.leading(self.steps)]
        if start is not None:
            others.append(problem.support(start))
        return good_set(problem.gram, problem.linear, problem.price, problem.limit, others)[0]

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
