"""Sparse rows on a device, or many more columns than rows, with prices on |w|: few columns have a weight.

A pass over all columns says which are worth more than their price, and proves; the best of them and those
that have a weight are copied side by side, and their own problem, which is small, is solved on them alone.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from dualgap.arrays import Vector
from dualgap.drive.scans import ScanStep
from dualgap.proof.rounding import added_up
from dualgap.solvers.metrics import Priced
from dualgap.streaming.resident import (
    NearStart,
    PassResult,
    ResidentPursuit,
    ResidentTask,
    Sampled,
    best_level,
)
from dualgap.streaming.resident_products import nothing_yet
from dualgap.traits import Trait

FIRST, MORE = 256, 64  # columns of the first problem, and those that come in at least where some are wanted
STEPS = 40  # of a small problem: two where the loss is squared, five to ten else
LIGHT = 1e-2  # of the diagonal: the least that is added where a step went too far
ROUNDED = 1e-12  # of the value: by so much rounding may raise it
ROUNDS = 20  # passes over all columns after which others may try
FINE, FINEST = 0.03, 0.03  # of the gap that seems left, and of the gap wanted: what a small problem may leave


class ColumnsPursuit(ResidentPursuit):
    """From no columns to the proven few."""

    name = "resident columns"

    def __init__(self, matrix: Any, task: ResidentTask, start: NearStart | None = None) -> None:
        self.a = None if task.weight is None else task.weight / added_up(task.weight)
        start = nothing_yet(matrix, task) if start is None else start
        self.inside, self.rounds = (task.prices[0] == 0.0) | (start.coef != 0.0), 0
        super().__init__(matrix, task, start)

    def advance(self, result: PassResult) -> ScanStep:
        self.rounds += 1
        step = super().advance(result)
        return replace(step, request=None) if self.rounds >= ROUNDS else step

    def _move(self, g: Vector, objective: float) -> None:
        """The small problem of the columns that seem to count."""
        which, matrix, task = self._chosen(g), self.matrix, self.task
        sample = Sampled(matrix.columns(which), task.y, self.a, task.statement, matrix, level=False)
        sample.p = len(which)
        left = FINE * self.seems / max(objective, 1e-4 * self.null)
        enough = max(FINEST * task.tolerance, min(left, 1e-3))
        start = self.coef[which], self.level
        found, self.level = solved(sample, (self.price[which], self.ridge[which]), start, enough)
        self.coef = np.zeros(len(self.coef))
        self.coef[which] = found

    def _chosen(self, g: Vector) -> Any:
        """Columns that were chosen before, and those of the rest that beat their prices most."""
        score = np.divide(abs(g), self.price, out=np.zeros(len(g)), where=self.price > 0.0)
        new = int(np.count_nonzero((score > 1.0) & ~self.inside))
        live, held = int(np.count_nonzero(self.coef)), int(np.count_nonzero(self.inside))
        size = min(len(g), max(FIRST, held + min(new, max(MORE, live))))
        score[self.inside] = np.inf
        which = np.sort(np.argpartition(-score, size - 1)[:size])
        self.inside[which] = True
        return which


def solved(
    sample: Sampled, prices: tuple[Vector, Vector], start: tuple[Vector, float], enough: float
) -> tuple[Vector, float]:
    """Newton on these columns until a step promises no more than a share of the value; where the value rose
    the step before is taken again, shorter in the directions that promised too much.
    """
    (price, ridge), (coef, level) = prices, start
    loss, matrix = sample.statement.loss, sample.matrix
    same, damping, kept = Trait.QUADRATIC in loss.traits, 0.0, None
    H = np.zeros((0, 0))
    for _ in range(STEPS):
        z = matrix.product_of(sample.A, coef)
        if sample.statement.intercept:
            level = best_level(loss, sample.y, z, sample.a, level, 1e-6)
        g, value = sample.slope(z, level)
        value += float(price @ abs(coef)) + 0.5 * float(ridge @ (coef * coef))
        if kept is None or value <= kept[2] * (1.0 + ROUNDED):
            damping = 0.1 * damping if damping > LIGHT else 0.0
            if not (len(H) and same):
                H = np.asarray(matrix.host(sample.gram(loss.second_derivative(sample.y, z + level))))
            kept = (coef, g, value, level)
        else:
            damping = max(10.0 * damping, LIGHT)
        coef, g, value, level = kept
        step = Priced(H + np.diag(damping * np.diagonal(H)), ridge, price).step(g, coef)
        promise = -float((g + ridge * coef) @ step) + float(price @ (abs(coef) - abs(coef + step)))
        coef = coef + step
        if (1.0 + damping) * promise <= enough * abs(value):
            break
    return coef, level


def few_columns(regulariser: Any, columns: int) -> bool:
    """Has every column a price on |w|, but for a few?"""
    return int(np.count_nonzero(regulariser.gauge.elastic.l1[:columns] == 0.0)) <= FIRST
