"""Proximal Newton with the curvature matrix of the working set at hand."""

from __future__ import annotations

import numpy as np

from dualgap.arrays import Index, Vector
from dualgap.solvers.curvature_floor import CurvatureFloor
from dualgap.solvers.lasso.l1_quadratic import minimise, violation
from dualgap.solvers.lasso.priced_point import PricedPoint
from dualgap.solvers.lasso.working_gram import WorkingGram
from dualgap.traits import Trait

LARGEST = 3000  # working columns: their matrix takes 72 MB
MOST_UNPRICED = 500  # a choice: these are eliminated by a dense factor of their own
WORK = 3e8  # a choice: operations for a matrix that is used once, some tenths of a second
ENOUGH = 0.1  # accuracy on the working set, as a share of the violations of all columns
PATIENCE = 3  # slow rounds of sweeps over dense columns; after one, a tall logistic took 1.4 times as long
MANY = 20  # rounds of sweeps that sparse columns get first: text took 13 at most, a matrix 15 times as long
PASSES = 100.0  # a choice: a matrix of squares, which stays, may take as long as these over sparse columns
FACTORS = 2.0  # of the cube of the columns: some factors of their matrix in one round
TURNS = 10.0  # that a matrix takes, or more: of text, 2000 columns, 13 were not enough, nor needed
SPARSE = 20.0  # an operation on sparse columns takes as long as this many on dense ones


class GramEngine:
    """Solves the model on the working set exactly; a quadratic loss keeps its matrix from round to round."""

    def __init__(self, point: PricedPoint) -> None:
        self.point = point
        self.quadratic = point.problem.loss_has(Trait.QUADRATIC)
        self.floor = CurvatureFloor(point.problem)
        self.kept: WorkingGram | None = None

    def affordable(self, working: Index, spent: int, slow: int, swept: float) -> bool:
        """Is the matrix on these columns worth its cost after so many rounds, `slow` of them slow sweeps?

        `swept` numbers were visited by sweeps. A matrix of sparse columns that serves one round has its turn
        when sweeps have taken as long as TURNS of these rounds.
        """
        design = self.point.problem.design
        if len(self.point.unpriced) > MOST_UNPRICED or len(working) > LARGEST:
            return False
        work = design.stored / design.shape[1] * len(working) ** 2
        if not WorkingGram.keeps_dense(design):
            if self.quadratic and SPARSE * work <= PASSES * design.stored:
                return True
            return spent > MANY and TURNS * (work + FACTORS / SPARSE * len(working) ** 3) <= swept
        return self.quadratic or (slow >= PATIENCE and work <= WORK * max(1, spent - MANY))

    def improve(self, working: Index, residual: Vector) -> None:
        """One step: the minimiser of the model, and a search along the line to it."""
        point, gram = self.point, self._gram(working)
        price = point.factor * point.price[gram.columns]
        w, inner = point.w[gram.columns], gram.reduced(residual)
        rounds, tolerance = (60, 1e-12) if point.factor == 1.0 else (2, 1e-3)
        if self.quadratic:  # no better than what the columns left out are off by
            off = point.before - 1.0 if point.factor > 1.0 else point.violation(residual)
            tolerance = max(tolerance, ENOUGH * off)
        else:  # no better than the model, which is wrong by about the square of this
            off = violation(w, inner, price)
            tolerance = max(tolerance, off * min(0.1, off))
        minimise(gram, w, inner, price, rounds, tolerance)
        change = w - point.w[gram.columns]
        if self.quadratic:
            point.w[gram.columns] = w
            if len(point.unpriced):
                point.w[point.unpriced] += gram.settled(residual, change)
            point.z = gram.predict(point.w)
            return
        self._search(gram, residual, change)

    def _gram(self, working: Index) -> WorkingGram:
        if not self.quadratic:
            gram = self._fresh()
            gram.add(working)
            return gram
        if self.kept is None or len(self.kept.columns) > max(LARGEST, 4 * len(working)):
            self.kept = self._fresh()
        self.kept.add(working[~self.kept.inside[working]])
        return self.kept

    def _fresh(self) -> WorkingGram:
        point = self.point
        curvature = self.floor.curvature(point.z)
        return WorkingGram(point.problem.design, curvature, point.ridge, point.unpriced)

    def _search(self, gram: WorkingGram, residual: Vector, change: Vector) -> None:
        point = self.point
        which = gram.columns
        if len(point.unpriced):
            which = np.concatenate([which, point.unpriced])
            change = np.concatenate([change, gram.settled(residual, change)])
        full = np.zeros(len(point.w))
        full[which] = change
        self.floor.learn(point.advance(which, change, gram.predict(full)))
