"""Minima over the columns taken: of a quadratic loss at once, of others by steps of proximal Newton."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from dualgap.arrays import Index, Matrix, Vector
from dualgap.design.line_products import rough_products_with_new
from dualgap.linalg.line_search import search
from dualgap.solvers.kept_curvature import lies_far_out, without_level
from dualgap.solvers.lasso.l1_quadratic import violation
from dualgap.solvers.lasso.model_matrix import SWEEPS, ModelMatrix
from dualgap.solvers.lasso.taken_columns import ViewedColumns
from dualgap.solvers.lasso.working_point import EDGE, SETTLED, PricedColumns
from dualgap.traits import Trait

STEPS = 3  # of Newton between two passes over the table
SURELY = 1e-3  # of the gap wanted: steps that leave no more need no look at it before a proof
SOON = 1.0  # violations, in prices, below which the next dual point may be the last
NEARLY = 0.5  # violations, in prices, below which few columns are still to come, or none
DONE = 0.1  # of the gap wanted: steps that leave no more are the last before a pass
FEW = 20  # the answer is not far where columns came in for no more than one in so many
COARSE = 1e-2  # to what share of the prices a set is solved until then
INSIDE_OFF = 0.3  # of the violations outside the set: those inside that are not worth a step of Newton
ROOM = 2  # times the columns taken that their matrix has room for
LEAST = 1e-13  # share of the objective that a step promises; below it rounding decides how far to go
CONSTANT = 1e-20  # a column whose centred square is this share of its own is constant


class ColumnsModel(ABC):
    """What is minimised on the columns taken."""

    def __init__(self, point: PricedColumns) -> None:
        self.point = point
        self.last = self.sure = False  # is the dual point likely to do? Nearly certain?
        self.lost = 0.0  # operations on what did not lead to minima over the columns taken

    def improve(self) -> None:
        """Take columns in, minimise over those taken, and price all of them anew."""
        self.point.choose()
        self.last = self.sure = False
        self.point.reach(self.minimise(), last=self.last, sure=self.sure)

    @abstractmethod
    def minimise(self) -> Vector:
        """Move the point; a dual point there."""


def model_of(point: PricedColumns) -> QuadraticModel | BentModel:
    """The one for this loss."""
    return QuadraticModel(point) if point.problem.loss_has(Trait.QUADRATIC) else BentModel(point)


class QuadraticModel(ColumnsModel):
    """A quadratic loss: one matrix, which grows."""

    def __init__(self, point: PricedColumns) -> None:
        super().__init__(point)
        self.h = point.h
        self.total = float(self.h.sum())
        self.matrix, self.known = ModelMatrix(np.zeros((0, 0))), 0

    def minimise(self) -> Vector:
        """Move to the minimum over the columns taken, as far as the others allow; the slopes there."""
        point, taken = self.point, self.point.taken
        self._grow()
        which = taken.columns
        price, w = point.price[which], point.w.copy()
        residual = point.unit * (point.pull[which] - taken.centre * point.theta_sum) - point.ridge[which] * w
        # all the sweeps it may take cost less than a pass
        cheap = SWEEPS * len(w) ** 2 <= point.design.stored
        last = cheap or point.whole or point.off <= SETTLED or FEW * point.fresh <= len(w)
        lost = self.matrix.solve(w, residual, price, point.enough() if last else COARSE)
        # minima over the columns taken: others may be worth more, which seldom happens
        self.last, self.sure = last, last and not lost
        self.lost += lost
        shift = point.unit * point.theta_sum / self.total if point.problem.intercept else 0.0
        point.move(w, point.z + taken.times(w - point.w) + shift, point.level + shift)
        return point.problem.slope(point.z)

    def _grow(self) -> None:
        array, before = self.point.taken.array, self.known
        self.known = size = array.shape[1]
        if size == before:
            return
        if size > len(self.matrix.gram):  # what is not written to takes no memory
            most = ROOM * size if before else size  # the first set is often the last
            room = np.empty((most, most))
            room[:before, :before] = self.matrix.gram[:before, :before]
            self.matrix = ModelMatrix(room)
        gram = self.matrix.gram
        gram[before:size, :size] = rough_products_with_new(array, self.h, before)
        gram[:before, before:size] = gram[before:size, :before].T
        new, which = np.arange(before, size), self.point.taken.columns[before:]
        squares = gram[new, new]
        squares[squares <= CONSTANT * self.total * self.point.taken.centre[before:] ** 2] = 0.0
        gram[new, new] = squares + self.point.ridge[which]
        self.matrix.factor.forget()


class BentModel(ColumnsModel):
    """Another loss: steps of proximal Newton on the columns that are not zero or ought not to be.

    Their length is found by slopes, which the next step needs anyway; values would cost logarithms. Products
    are asked for by `dot`: with `@` each takes a microsecond longer, and a step has fifteen.
    """

    def __init__(self, point: PricedColumns) -> None:
        super().__init__(point)
        self.floor, self.kept = point.floor, point.taken.curvature()
        self._bends = point.theta, point.h  # θ at z, and the curvatures

    def minimise(self) -> Vector:
        """Some steps; the dual point ahead of the last one, or the slopes where that was cut short."""
        point = self.point
        if point.fresh:
            self.kept.begin()
        for _ in range(STEPS):
            found = self._step(*self._bends)
            if found is None:
                return self._bends[0]
            length, promise, ahead = found
            if length == 0.0 and not self.floor.share:
                return self._bends[0]
            left = self._left(promise)
            self.last = left <= point.wanted and point.off <= SOON
            self.sure = left <= SURELY * point.wanted
            if left <= DONE * point.wanted:
                break
        aimed = length == 1.0 or (length > 0.0 and left <= DONE * point.wanted)
        return np.clip(ahead, *point.problem.dual_bounds) if aimed else self._bends[0]

    def matrix(self, columns: Index) -> Matrix:
        """What the last step had for a matrix, of these columns of the table, the level at its best."""
        taken = self.point.taken
        taken.add(np.setdiff1d(columns, taken.columns))
        where = np.empty(self.point.design.shape[1], dtype=np.int64)
        where[taken.columns] = np.arange(len(taken.columns))
        gram, edge = self.kept.known(taken.array, taken.places(where[columns]))
        if self.point.problem.intercept:
            without_level(gram, edge, float(self.kept.h.sum()))
        gram.flat[:: len(columns) + 1] += self.point.ridge[columns]
        return gram

    def _step(self, theta: Vector, h: Vector) -> tuple[float, float, Vector] | None:
        """A step's length, what it promised, and the slopes it aimed at; None where none is due."""
        point, taken = self.point, self.point.taken
        price, ridge = point.price[taken.columns], point.ridge[taken.columns]
        kept = self.kept.fits(h)
        if kept:
            h = self.kept.h
        total = float(h.sum())
        shift = float(theta.sum()) / total if point.problem.intercept else 0.0
        pull = taken.against(theta - shift * h if shift else theta)  # the intercept at its best
        if point.ridged:
            pull -= ridge * point.w
        far = point.off > SETTLED and not (
            point.whole or point.sparse
        )  # then a step is no dearer than a pass
        if not kept and far and violation(point.w, pull, price) <= INSIDE_OFF * point.off:
            return None
        live = self._live(np.abs(pull) / price)
        gram, edge = self._matrix(live, h, total)
        residual, here, price, ridge = pull[live], point.w[live], price[live], ridge[live]
        gram.flat[:: len(live) + 1] += ridge
        w = here.copy()
        matrix, off = ModelMatrix(gram), violation(w, residual, price)
        tolerance = max(1e-12, off * min(0.1, 0.1 * off))
        self.lost += matrix.solve(w, residual, price, tolerance)
        fallen = float(pull[live].dot(w - here)) + total * shift * shift
        last = self._left(fallen - float(price.dot(np.abs(w) - np.abs(here)))) <= DONE * point.wanted
        if last and point.aim < tolerance:  # the slopes aimed at are to be the answer's
            self.lost += matrix.solve(w, residual, price, point.aim)
        change = w - here
        if point.problem.intercept:
            shift -= float(edge.dot(change)) / total
        full = np.zeros(len(point.w))
        full[live] = change
        along = point.taken.times(full) + shift
        linear, paid = float((ridge * here).dot(change)), price * change
        bent = float((ridge * change).dot(change))
        smooth = linear - float(theta.dot(along))  # the slope, without the prices
        promise = max(-smooth - float(price.dot(np.abs(w) - np.abs(here))), 0.0)
        self.kept.learn(promise)

        def slope(s: float) -> tuple[float, float, tuple[Vector, Vector]]:
            bends = self.floor.bends(point.z + s * along)
            reached = here + s * change
            there = linear + s * bent - float(bends[0].dot(along)) + float(paid.dot(np.sign(reached)))
            jump = float(np.abs(paid[reached == 0.0]).sum())
            return there - min(max(there, -jump), jump), float(bends[1].dot(along * along)) + bent, bends

        first = smooth + float(paid.dot(np.sign(here))) + float(np.abs(paid[here == 0.0]).sum())
        length, bends = 1.0, None
        if promise > LEAST * point.scale and first < 0.0:  # else rounding decides
            length, bends = search(slope, first)
        if length > 0.0:
            self._bends = bends or slope(length)[2]
            step = full if length == 1.0 else length * full
            z = point.z + (along if length == 1.0 else length * along)
            point.move(point.w + step, z, point.level + length * shift)
        self.floor.learn(length)
        if self.floor.share and length != 1.0:
            self._bends = self.floor.bends(point.z)
        return length, promise, theta - h * along

    def _left(self, promise: float) -> float:
        """What a step that promises so much leaves, as a share of the objective: its square.

        With flat pieces as much again, unless other columns come in before that matters.
        """
        share = promise / self.point.scale
        if self.floor.share and self.point.off <= NEARLY:
            return share
        return share * max(share, self.kept.off**2)

    def _matrix(self, live: Index, h: Vector, total: float) -> tuple[Matrix, Vector]:
        """Of these columns, the level at its best, and their sums; of centred copies where it has to be."""
        point = self.point
        gram, edge = self.kept.at(point.taken.array, point.taken.places(live), h)
        if not point.problem.intercept:
            return gram, edge
        if isinstance(point.taken, ViewedColumns) and lies_far_out(gram, edge, total):
            point.centred()
            self.kept = point.taken.curvature()
            gram, edge = self.kept.at(point.taken.array, live, h)
        without_level(gram, edge, total)
        return gram, edge

    def _live(self, worth: Vector) -> Index:
        """The columns that are not zero, and of those worth their price the best: no more than are taken in.

        Where columns are many times the rows, thousands may be worth theirs at a point on the way.
        """
        point = self.point
        held = point.w != 0.0
        worth[held] = np.inf
        live = np.flatnonzero(worth > EDGE)
        most = int(np.count_nonzero(held) + point.room())
        return np.sort(live[np.argpartition(-worth[live], most)[:most]]) if len(live) > most else live
