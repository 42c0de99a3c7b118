"""Smooth losses with l21 or l21_l2: a few columns at a time, each for all outputs, by their Gram matrices.

X is stored once. A round reads the whole table once, for Xᵀθ of all outputs in one product: what columns left
out are worth, and the dual point.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from dualgap.arrays import Index, Matrix, Vector
from dualgap.drive.registry import solver
from dualgap.drive.solver import STEP, Iterate
from dualgap.outputs.problem import OutputsProblem
from dualgap.solvers.curvature_floor import CurvatureFloor
from dualgap.solvers.groups.descent import LEAST, SWEEPS
from dualgap.solvers.working_columns import BALANCED, CHEAP, EDGE, FIRST, STEPS, FewColumns, rounds
from dualgap.traits import Trait


@solver("output_descent", kind="outputs")
@dataclass(frozen=True)
class OutputDescent:
    """Block coordinate descent on working sets of columns, all outputs at once, inside proximal Newton.

    Cost per round: one pass for Xᵀθ of all outputs, and the Gram matrix of the columns taken: one for a
    quadratic loss, else one for each output. Memory: a copy of these columns, and their matrices.
    """

    name: ClassVar[str] = "output_descent"

    def missing(self, problem: OutputsProblem) -> tuple[str, ...]:
        gauge = problem.regulariser.gauge
        if problem.design.alike is None or (gauge.groups is None and gauge.lengths is None):
            return ("there are no several outputs with one price for each column",)
        lacking = [] if problem.loss_has(Trait.SMOOTH) else ["the loss is not smooth"]
        if problem.regulariser.constrained:
            lacking.append("the penalty is a constraint")
        return tuple(lacking)

    def cost(self, problem: OutputsProblem) -> float:
        n, width = problem.design.parts[0].shape
        taken, outputs = min(width / 4.0, n / 2.0), problem.outputs
        grams = 1.0 if problem.loss_has(Trait.QUADRATIC) else 6.0 * outputs
        return 4.0 * STEP + 10.0 * problem.design.stored + 0.2 * grams * n * taken * taken

    def at_once(self, problem: OutputsProblem) -> OutputDescent | None:
        """Dense columns: nothing beats it there, and what others would cost takes time to find out."""
        if self.missing(problem):
            return None
        features = problem.design.parts[0].features
        return self if features.sparse is None and not features.mostly_zeros else None

    def iterates(self, problem: OutputsProblem, start: Iterate) -> Iterator[Iterate]:
        yield from rounds(_Point(problem, start))


def _prices(problem: OutputsProblem, p: int) -> tuple[Vector, Vector]:
    """What each of the columns pays for the length of its weights, and for half of its square."""
    regulariser = problem.regulariser
    gauge = regulariser.gauge
    assert not regulariser.constrained
    if gauge.groups is not None:
        price = regulariser.strength * problem.table(gauge.groups.scale)[0, :p]
        return price, np.zeros(p)
    assert gauge.lengths is not None
    l1, l2, group = gauge.lengths
    own = group[:p]
    return regulariser.strength * l1[own], 2.0 * regulariser.strength * l2[own]


class _Point(FewColumns):
    """A line of weights for each of the columns taken, each other table a line for each output."""

    problem: OutputsProblem
    level: Vector

    def __init__(self, problem: OutputsProblem, start: Iterate) -> None:
        self.problem, self.wanted = problem, max(start.wanted, 1e-13)
        self.X, self.outputs, self.tied = problem.design.parts[0].features, problem.outputs, problem.tied
        self.n, p = self.X.shape
        self.price, self.ridge = _prices(problem, p)
        self.first = max(FIRST * p**0.5, (CHEAP / self.n) ** 0.5)
        self.taken = np.zeros(p, dtype=bool)
        self.columns: Index = np.zeros(0, dtype=np.intp)
        self._room: Matrix = np.empty((self.n, 0), order="F")
        self.w: Matrix = np.zeros((0, self.outputs))
        given = problem.table(start.w)
        self.add(np.flatnonzero(given[:, :p].any(axis=0) | (self.price == 0.0)))
        self.w = np.ascontiguousarray(given[:, self.columns].T)
        self.level = given[:, -1].copy() if self.tied else np.zeros(self.outputs)
        self.z = problem.table(problem.predict(start.w))
        self.floor = CurvatureFloor(problem)
        self.gram = np.zeros((0, 0))
        self.h = self._curved() if problem.loss_has(Trait.QUADRATIC) else None
        self._valued(self._slope())

    @property
    def array(self) -> Matrix:
        """The columns taken."""
        return self._room[:, : len(self.columns)]

    def add(self, new: Index) -> None:
        """Take in columns that were not."""
        if not len(new):
            return
        before = len(self.columns)
        self.taken[new] = True
        self.columns = np.concatenate([self.columns, new])
        self.w = np.vstack([self.w, np.zeros((len(new), self.outputs))])
        if len(self.columns) > self._room.shape[1]:
            room = np.empty((self.n, max(len(self.columns), 2 * before)), order="F")
            room[:, :before] = self._room[:, :before]
            self._room = room
        self.X.columns(new).fill_transposed(self._room[:, before : len(self.columns)].T)

    def paid_by(self, w: Matrix) -> float:
        squares = np.einsum("jk,jk->j", w, w)
        return float(self.price[self.columns] @ np.sqrt(squares) + 0.5 * self.ridge[self.columns] @ squares)

    def asked(self) -> Vector:
        w = np.zeros(self.problem.p)
        table = self.problem.table(w)
        table[:, self.columns] = self.w.T
        if self.tied:
            table[:, -1] = self.level
        return w

    def _slope(self) -> Matrix:
        return self.problem.table(self.problem.slope(self.z.ravel()))

    def _curved(self) -> Matrix:
        return self.problem.table(self.floor.curvature(self.z.ravel()))

    def _valued(self, theta: Matrix) -> None:
        """What each column is worth beside its price, and how far the worst is off."""
        self.theta, self.risk = theta, self.problem.risk(self.z.ravel())
        self.pull = self.X.transpose_matvecs(theta)
        self.v = np.column_stack([self.pull, theta.sum(axis=1)]) if self.tied else self.pull
        along = self.pull
        if self.ridge.any():  # beside what the squares ask for
            along = along.copy()
            along[:, self.columns] -= (self.ridge[self.columns, None] * self.w).T
        length = np.sqrt(np.einsum("kj,kj->j", along, along))
        self.worth = np.divide(length, self.price, out=np.zeros_like(length), where=self.price > 0.0)
        self.off = max(float(self.worth.max()) - 1.0, 0.0)

    def dual(self) -> tuple[Vector, Vector]:
        sizes = np.abs(self.theta).sum(axis=1)
        tilted = self.tied and np.any(np.abs(self.v[:, -1]) > BALANCED * sizes)
        if tilted or not self.price.all():
            return self.problem.feasible(self.theta.ravel(), self.v.ravel())
        long = 1.0 if self.ridge.all() else 1.0 + self.off  # shrinking is all that it needs, if that
        return self.theta.ravel() / long, self.v.ravel() / long

    def improve(self) -> None:
        worth = np.where(self.taken, 0.0, self.worth)
        new = np.flatnonzero(worth >= EDGE)
        most = max(self.first, float(np.count_nonzero(self.w.any(axis=1))))
        if self.pull.shape[1] <= self.first:
            new = np.flatnonzero(~self.taken)
        elif len(new):
            new = new[np.argsort(-worth[new], kind="stable")][: int(most)]
        self.add(new)
        self._valued(self._general() if self.h is None else self._quadratic())

    def _quadratic(self) -> Matrix:
        """A quadratic loss has the same matrix for all outputs, which grows."""
        assert self.h is not None
        h, before, array = self.h[0], len(self.gram), self.array
        if len(self.columns) > before:
            gram = np.empty((len(self.columns), len(self.columns)))
            gram[:before, :before] = self.gram
            even = bool(h.min() == h.max())  # weights of the rows that are all the same need no copy
            fresh = array[:, before:] if even else array[:, before:] * h[:, None]
            gram[:, before:] = (h[0] if even else 1.0) * (array.T @ fresh)
            gram[before:, :before] = gram[:before, before:].T
            self.gram = gram
        tolerance, _ = self.tolerance(self.problem.design.stored)
        change, shift = self._solved(np.arange(len(self.columns)), self.gram[None], self.h, tolerance)
        self.w, self.level = self.w + change, self.level + shift
        self.z = self.z + change.T @ array.T + shift[:, None]
        return self._slope()

    def _general(self) -> Matrix:
        """Another loss: steps of proximal Newton on the columns that are not zero or ought not to be."""
        ahead = self.theta
        for _ in range(STEPS):
            theta, h = self._slope(), self._curved()
            pull = theta @ self.array - (self.ridge[self.columns, None] * self.w).T
            worth = np.linalg.norm(pull, axis=0)
            live = np.flatnonzero(self.w.any(axis=1) | (worth > EDGE * self.price[self.columns]))
            array = self.array[:, live]
            grams = np.array([array.T @ (array * row[:, None]) for row in h])
            self.theta = theta
            unit = max(
                float((worth / np.maximum(self.price[self.columns], LEAST)).max(initial=0.0)) - 1.0, self.off
            )
            tolerance = max(self.enough(), 1e-3 * min(unit, 1.0) ** 2)
            change, shift = self._solved(live, grams, h, tolerance)
            along = change[live].T @ array.T + shift[:, None]
            paid, after = self.paid, self.paid_by(self.w + change)
            promise = max(float((theta * along).sum()) - (after - paid), 0.0)
            step = self.advance(change, along, shift, promise)
            full = np.clip((theta - h * along).ravel(), *self.problem.dual_bounds)
            ahead = self.problem.table(full) if step == 1.0 else self._slope()
            if promise * promise <= 0.1 * self.wanted * (self.risk + after) ** 2:
                break
        return ahead

    def _solved(
        self, live: Index, grams: NDArray[np.float64], h: Matrix, tolerance: float
    ) -> tuple[Matrix, Vector]:
        """By how much weights and levels move to the minimum of the model over some of the columns taken."""
        from dualgap.outputs.sweeps import settle_outputs

        array, total = self.array[:, live], h.sum(axis=1)
        residual, lift = array.T @ self.theta.T, self.theta.sum(axis=1) / total
        if self.tied:
            edge = h[: len(grams)] @ array
            grams = grams - edge[:, :, None] * (edge / total[: len(grams), None])[:, None, :]
            edge = np.broadcast_to(edge, (self.outputs, len(live)))
            residual = residual - edge.T * lift
        W, residual = self.w[live].copy(), np.ascontiguousarray(residual)
        ridge = self.ridge[self.columns[live]]
        if ridge.any():  # as if it were of the loss
            residual -= ridge[:, None] * W
            grams = grams + np.diag(ridge)
        top = np.max([gram.diagonal() for gram in grams], axis=0)
        prices = self.price[self.columns[live]]
        settle_outputs(np.ascontiguousarray(grams), W, residual, prices, top, max(tolerance, LEAST), SWEEPS)
        change, shift = np.zeros_like(self.w), np.zeros(self.outputs)
        change[live] = W - self.w[live]
        if self.tied:
            shift = lift - np.einsum("kj,jk->k", edge, change[live]) / total
        return change, shift
