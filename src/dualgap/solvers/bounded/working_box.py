"""Smooth losses, separable penalties, bounds: quadratic models on the columns that matter."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dualgap.arrays import Index, Matrix, Vector
from dualgap.drive.registry import solver
from dualgap.drive.solver import STEP, Iterate
from dualgap.problem.problem import Problem
from dualgap.solvers.bounded.box_quadratic import forces, solve_in_box
from dualgap.solvers.bounded.tall_box import TallBox
from dualgap.solvers.bounded.whole_box import WholeBox
from dualgap.solvers.curvature_floor import has_flat_pieces
from dualgap.solvers.kept_curvature import KeptCurvature
from dualgap.solvers.prices import lacks_prices, plain, prices
from dualgap.traits import Trait

ROUNDS = 200  # of models; 2 to 15 are usual
FEW = 300  # columns that are all worked on at once where there are more rows
MANY = 2000  # columns that are, where no price leaves most of them at zero
FIRST = 100  # columns of the first working set, where there are more
DIGITS = 1e-2  # of the force on any column: what a round leaves on those that it works on
SETTLED = 1e-3  # of the first pull on a column: above it a proof is not worth its products
FURTHER = 0.1  # of the force at the last proof, before the next one
PATIENCE = 2  # rounds without progress
HALVINGS = 30  # of a step that does not lower the objective


@solver("box_newton")
@dataclass(frozen=True)
class BoxNewton:
    """Newton in a box: the model of the loss on a working set is solved by sweeps and an active set.

    Cost per round: two products with the matrix, and the Gram matrix of the working set.
    """

    name: ClassVar[str]
    bounded: ClassVar[str] = "bounds"

    def missing(self, problem: Problem) -> tuple[str, ...]:
        """Bounds there must be; a smooth loss and a separable penalty."""
        reasons = list(lacks_prices(problem))
        if problem.regulariser.box is None:
            reasons.append("the weights have no bounds")
        if not problem.loss_has(Trait.SMOOTH):
            reasons.append("the loss is not smooth")
        return tuple(reasons)

    def cost(self, problem: Problem) -> float:
        """Some ten rounds on few columns."""
        width, stored = float(min(problem.p, max(FIRST, problem.n))), float(problem.design.stored)
        rounds = 3.0 if problem.loss_has(Trait.QUADRATIC) else 8.0
        return rounds * (STEP + 4.0 * stored + 0.05 * stored * width)

    def at_once(self, problem: Problem) -> WholeBox | TallBox | None:
        """Few dense columns, each of more rows."""
        if problem.regulariser.box is None or self.missing(problem) or not plain(problem):
            return None
        n, p = problem.design.features.shape
        if not problem.loss_has(Trait.QUADRATIC):
            return TallBox() if p <= FEW and not has_flat_pieces(problem) and TallBox.fits(problem) else None
        if p > n or p > MANY or (p > FEW and prices(problem)[0].any()) or problem.free[:p].any():
            return None
        return WholeBox()

    def iterates(self, problem: Problem, start: Iterate) -> Iterator[Iterate]:
        """One a round."""
        box = problem.regulariser.box
        assert box is not None
        price, ridge = prices(problem)
        quadratic, design = problem.loss_has(Trait.QUADRATIC), problem.design
        matrix: _Dense | _Sparse = _Dense(problem) if plain(problem) else _Sparse(problem)
        w = box.clip(start.w).copy()
        z = problem.predict(w)
        value, width, idle, due = problem.primal(w, z), FIRST, 0, np.inf
        for k in range(ROUNDS):
            theta = problem.slope(z)
            v = design.transpose_matvec(theta)
            force = forces(w, v, (price, ridge), box)
            which, left = self._working(problem, (w, force), price, width), float(force.max(initial=0.0))
            near = idle > 0 or (left <= due and _hopeful(problem, (w, value), force, start.wanted))
            due = SETTLED * left if not k else FURTHER * left if near else due
            if k:
                yield Iterate(w, theta, z, certify=near, correlation=v)
            if idle > PATIENCE:
                return
            width = max(width, 2 * len(which))
            gram = matrix.at(which, problem.a * problem.loss.second_derivative(problem.y, z))
            own, residual = w[which].copy(), v[which].copy()
            ends = box.low[which], box.high[which]
            solve_in_box(gram, own, residual, (price[which], ridge[which]), ends, DIGITS * left)
            ahead = w.copy()
            ahead[which] = own
            if quadratic:
                w, z = ahead, problem.predict(ahead)
                reached = problem.primal(w, z)
            else:
                w, z, reached = self._along(problem, (w, z, value), ahead)
            matrix.learn(value - reached)
            idle = idle + 1 if not reached < value * (1.0 - 1e-15) else 0
            value = min(value, reached)

    def _working(self, problem: Problem, point: tuple[Vector, Vector], price: Vector, width: int) -> Index:
        """Columns off their rest, and those that are pulled from it most."""
        (w, force), box = point, problem.regulariser.box
        assert box is not None
        p, force = len(w), force.copy()
        inside = ((w > box.low) & (w < box.high) & (w != 0.0)) | problem.free
        count = int(np.count_nonzero(inside))
        if p <= FEW and p <= problem.n:
            return np.arange(p)
        force[inside] = np.inf
        most = min(max(width, 2 * count), int(np.count_nonzero(force > 0.0)))
        if not price.any():  # more columns than rows fit anything, and their matrix is singular
            most = min(most, max(problem.n, count))
        if most >= p:
            return np.arange(p)
        return np.sort(np.argpartition(-force, max(most - 1, 0))[: max(most, 1)])

    def _along(
        self, problem: Problem, here: tuple[Vector, Vector, float], ahead: Vector
    ) -> tuple[Vector, Vector, float]:
        """The way to the model's answer, halved until the objective falls."""
        w, z, value = here
        there = problem.predict(ahead)
        step = 1.0
        for _ in range(HALVINGS):
            x = ahead if step == 1.0 else w + step * (ahead - w)
            score = there if step == 1.0 else z + step * (there - z)
            reached = problem.primal(x, score)
            if reached <= value:
                return x, score, reached
            step *= 0.5
        return w, z, value


def _hopeful(problem: Problem, point: tuple[Vector, float], force: Vector, wanted: float) -> bool:
    """May a proof succeed? A θ that pulls columns away from their only end is put right by many products.

    Weights up to the largest there is may gain so much by what pulls them.
    """
    half = problem.regulariser.half_open
    if half is None or not half.any():
        return True
    w, value = point
    gain = min(float(force.sum()) * float(np.abs(w).max(initial=0.0)), value)
    return problem.relative(gain, value) <= wanted


class _Dense:
    """XᵀHX of the columns worked on so far, each copied once."""

    def __init__(self, problem: Problem) -> None:
        self._design, self._kept = problem.design, KeptCurvature(problem)
        self._places = np.full(problem.p, -1)
        self._room: Matrix = np.empty((problem.n, 0), order="F")
        self._count = 0

    def at(self, which: Index, h: Vector) -> Matrix:
        """Of these columns, a copy."""
        new = which[self._places[which] < 0]
        if len(new):
            before, self._count = self._count, self._count + len(new)
            if self._count > self._room.shape[1]:
                room = np.empty((len(h), max(self._count, 2 * before)), order="F")
                room[:, :before] = self._room[:, :before]
                self._room = room
            self._room[:, before : self._count] = self._design.columns(new).toarray()
            self._places[new] = np.arange(before, self._count)
        return self._kept.at(self._room[:, : self._count], self._places[which], h)[0]

    def learn(self, gained: float) -> None:
        """By how much the objective fell."""
        self._kept.learn(gained)


class _Sparse:
    """The same where columns are sparse, made anew."""

    def __init__(self, problem: Problem) -> None:
        self._design = problem.design

    def at(self, which: Index, h: Vector) -> Matrix:
        """Of these columns."""
        return np.ascontiguousarray(self._design.columns(which).weighted_gram(h))

    def learn(self, gained: float) -> None:
        """Nothing is kept."""
