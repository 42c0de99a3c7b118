"""Smooth losses with an l1 part: working sets, coordinate descent, and Newton once the support is known."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dualgap.arrays import Index, Vector
from dualgap.problem.problem import Problem
from dualgap.solvers.base import Iterate
from dualgap.solvers.gram_engine import GramEngine
from dualgap.solvers.priced_point import PricedPoint
from dualgap.solvers.prices import lacks_prices
from dualgap.solvers.registry import solver
from dualgap.solvers.sweep_engine import SweepEngine
from dualgap.solvers.working_gram import WorkingGram
from dualgap.traits import Trait

PATIENCE = 12  # rounds at the full prices without progress before giving up
LIMIT = 1000
FALL, SPARSE_FALL = 0.5, 0.25  # of the prices from round to round; sparse columns are cheap to take in

LOADING = 2e6  # what it takes to load compiled loops: small problems are done sooner without them


@solver("coordinate_descent")
@dataclass(frozen=True)
class CoordinateDescent:
    """Proximal Newton on growing sets of columns (Friedman, Hastie and Tibshirani, 2010; Yuan et al., 2012).

    The prices start where few columns are worth theirs and fall step by step to the ones asked. Each round
    takes in the columns that violate optimality, and minimises the quadratic model of the loss with the
    prices on them: exactly, with the curvature matrix at hand, where the set is small (`GramEngine`), else
    by sweeps over the columns and conjugate gradients on the support (`SweepEngine`). Cost per round: one
    pass for Xᵀθ and the work on the set. Memory: a copy of the working columns, and their matrix.
    """

    name: ClassVar[str] = "coordinate_descent"

    def missing(self, problem: Problem) -> tuple[str, ...]:
        lacking = lacks_prices(problem)
        if not lacking and Trait.QUADRATIC in problem.regulariser.traits:
            lacking = ("the penalty has no l1 part",)
        if not problem.loss_has(Trait.SMOOTH):
            lacking = ("the loss is not smooth", *lacking)
        return lacking

    def cost(self, problem: Problem) -> float:
        n, p = problem.design.shape
        support = min(n, p) / 4.0
        rounds = 1.0 if problem.loss_has(Trait.QUADRATIC) else 8.0
        passes = 2.0 * problem.design.stored * (10.0 + 5.0 * rounds)
        return LOADING + passes + rounds * support**2 * problem.design.stored / p + 5.0 * support**3

    def iterates(self, problem: Problem, start: Iterate) -> Iterator[Iterate]:
        point = PricedPoint(problem, start.w)
        gram, sweeps = GramEngine(point), SweepEngine(point)
        theta, correlation = point.dual()
        residual = correlation - point.ridge * point.w
        fall = FALL if WorkingGram.keeps_dense(problem.design) else SPARSE_FALL
        point.factor, before = _first_factor(point, residual, fall)
        progress = _Progress(point)
        for spent in range(LIMIT):
            working = _working_set(point, residual, before)
            engine = gram if gram.affordable(working, spent) else sweeps
            engine.improve(working, residual)
            before = point.factor
            theta, correlation = point.dual()
            if before == 1.0:
                yield Iterate(point.w.copy(), theta, point.z, correlation=correlation)
            residual = correlation - point.ridge * point.w
            if before == 1.0 and progress.stalled(residual):
                return
            point.factor = max(1.0, fall * before) if before > 2.1 else 1.0


class _Progress:
    """Do rounds at the full prices still lower the objective or the violation?"""

    def __init__(self, point: PricedPoint) -> None:
        self.point = point
        self.violation, self.objective, self.waited = np.inf, np.inf, 0

    def stalled(self, residual: Vector) -> bool:
        """Has neither fallen for some rounds?"""
        violation, objective = self.point.violation(residual), self.point.objective()
        falls = objective < self.objective - 1e-12 * abs(self.objective) or violation < 0.7 * self.violation
        self.waited = 0 if falls else self.waited + 1
        self.violation, self.objective = min(self.violation, violation), min(self.objective, objective)
        return self.waited > PATIENCE


def _first_factor(point: PricedPoint, residual: Vector, fall: float) -> tuple[float, float]:
    """A share of what would make w = 0 optimal, and that itself; 1 if the start is nearly optimal."""
    priced = point.price > 0.0
    level = float(np.max(np.abs(residual[priced]) / point.price[priced], initial=0.0))
    return (max(1.0, fall * level), level) if level > 1.5 else (1.0, 1.0)


def _working_set(point: PricedPoint, residual: Vector, before: float) -> Index:
    """The support, and the columns outside it most worth their price, not too many of them at once.

    Columns a little below their price come too: the price is still falling (by what it fell last), or the
    model will move.
    """
    priced = point.price > 0.0
    inside = (point.w != 0.0) & priced
    worth = np.where(priced & ~inside, np.abs(residual) / np.where(priced, point.price, 1.0), 0.0)
    edge = point.factor - 0.1 * (before - point.factor) if before > point.factor else 0.98 * point.factor
    new = np.flatnonzero(worth >= edge)
    count = int(np.count_nonzero(inside))
    room = 100 + (count // 2 if point.problem.loss_has(Trait.QUADRATIC) else 2 * count)
    if len(new) > room:
        new = new[np.argpartition(-worth[new], room)[:room]]
    return np.union1d(np.flatnonzero(inside), new)
