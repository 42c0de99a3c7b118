"""Interior point: Mehrotra's predictor and corrector on primal and dual at once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from dualgap.drive.memory import too_large
from dualgap.drive.registry import solver
from dualgap.drive.solver import STEP, Iterate
from dualgap.problem.problem import Problem
from dualgap.solvers.dual_ascent.method import DualCoordinateAscent
from dualgap.solvers.interior_point.choice import weights
from dualgap.solvers.interior_point.inexact import spared, usual
from dualgap.solvers.interior_point.interpolation import interpolated
from dualgap.solvers.interior_point.method import Method
from dualgap.solvers.interior_point.plain import PlainInterior
from dualgap.solvers.interior_point.rows import rows
from dualgap.solvers.interior_point.system import system
from dualgap.solvers.prices import lacks_squares, plain
from dualgap.traits import Trait

OPERATIONS = 2.0  # reckoned in a nanosecond of products, beside steps of other methods
# Numbers, rows and columns up to which a plain table is done as it was asked: beyond, a sample of the rows
# or fewer digits in the system spare more.
SMALL_TABLE, ROWS, COLUMNS = 200_000, 5000, 150
PLAIN_STEPS, AROUND = 20.0, 2e6  # of that, and operations around one, to be weighed against sweeps
COPIES = 4.5  # of the dense system at once: the matrix, its factor and what makes them


@solver("interior_point")
@dataclass(frozen=True)
class InteriorPoint:
    """Few, expensive steps, hardly more of them on bad conditioning; polyhedral losses and penalties too.

    Memory: some vectors of the length of a row or a column, and dense systems of the smaller side.
    """

    name: ClassVar[str]

    def missing(self, problem: Problem) -> tuple[str, ...]:
        """Piecewise quadratic and smooth losses; separable penalties, groups, norms of order two and more."""
        reasons = []
        if not (problem.loss_has(Trait.PIECEWISE_QUADRATIC) or problem.loss_has(Trait.SMOOTH)):
            reasons.append("the loss is neither piecewise quadratic nor smooth")
        half = weights(problem.regulariser)
        if half is None:
            reasons.append("the penalty is neither separable nor of groups nor a norm of order two or more")
        elif half.sizes and spared(problem.design):
            reasons.append("each group has a size, which the systems of such sparse data are not made for")
        elif not half.edged and not problem.loss_has(Trait.PIECEWISE_QUADRATIC):
            reasons.append("neither the loss nor the penalty has an edge")
        if problem.regulariser.constrained and problem.regulariser.radius <= 0.0:
            reasons.append("the ball has no inside")
        return (*reasons, *too_large(min(problem.n, problem.p), COPIES))

    def cost(self, problem: Problem) -> float:
        """Some 20 factorisations, each with a dozen products and hundreds of operations on every row.

        A smooth loss goes in by its derivatives: hardly any work on the rows, and fewer steps. Sparse systems
        are spared their factor; the solvers for smooth losses do not count such savings of theirs either.
        """
        if spared(problem.design) and not problem.loss_has(Trait.SMOOTH):
            return 20.0 * (STEP + OPERATIONS * usual(problem.design) + 400.0 * problem.n)
        small, stored = min(problem.n, problem.p), float(problem.design.stored)
        steps, touched = (20.0, 400.0) if problem.loss_has(Trait.PIECEWISE_QUADRATIC) else (12.0, 100.0)
        return steps * (STEP + stored * (small + 12.0) + small**3 / 3.0 + touched * problem.n)

    def at_once(self, problem: Problem) -> PlainInterior | None:
        """A loss of kinks, a ridge on every column, and a small table of at least as many rows, unless sweeps
        do.
        """
        n, p = problem.design.features.shape
        if not p <= min(n, COLUMNS) or n > ROWS or n * p > SMALL_TABLE:
            return None
        if not problem.loss_has(Trait.PIECEWISE_LINEAR) or lacks_squares(problem) or not plain(problem):
            return None
        if problem.free.sum() != problem.intercept:
            return None
        if DualCoordinateAscent().cost(problem) < PLAIN_STEPS * (AROUND + n * p * (p + 12.0)):
            return None
        return PlainInterior()

    def iterates(self, problem: Problem, start: Iterate) -> Iterator[Iterate]:
        """One iterate a factorisation; near the end also its exact finish."""
        half = weights(problem.regulariser)
        if half is None:
            return
        problem = problem.flattened()
        equations = system(problem.design, half.free)
        exact = interpolated(problem, equations)
        if exact is not None:
            yield exact
        yield from Method(problem, rows(problem), half, equations, start).run()
