"""Which rows Newton's steps look at: those far from any bend of the loss keep their slopes meanwhile."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from dualgap.arrays import Index, Vector
from dualgap.solvers.augmented_lagrangian.lagrangian import Lagrangian, LagrangianPoint
from dualgap.solvers.augmented_lagrangian.rows import RowCurve

SMALL = 100_000  # numbers stored: below, rows at rest spare nothing
WATCHED = 8  # rows a column that are watched at the least


@dataclass(frozen=True, eq=False)
class Scope:
    """A round and a point of it, on all rows or on the `live` ones of those in `outer`.

    The latter is to be trusted while no prediction moves further from an origin than its fence.
    """

    lagrangian: Lagrangian
    point: LagrangianPoint
    outer: Scope | None = None
    live: Index | None = None
    fences: tuple[tuple[Vector, float], ...] = ()

    def narrowed(self) -> Scope:
        """Without the rows that are far from any bend; itself if they are few."""
        lagrangian, point, problem = self.lagrangian, self.point, self.lagrangian.problem
        if problem.design.stored < SMALL:
            return self
        found = lagrangian.rows.awake(point.z, point.rows, WATCHED * problem.p)
        if found is None:
            return self
        live, near = found
        design, slope = problem.design.rows(live), point.rows.slope[live]
        few = replace(problem, design=design, y=problem.y[live], a=problem.a[live])
        rest = point.pull - design.transpose_matvec(slope)
        inner = replace(lagrangian, problem=few, rows=lagrangian.rows.some(live), rest=rest)
        curve = RowCurve(slope, point.rows.curvature[live], point.rows.terms[live])
        at = LagrangianPoint(point.w, point.z[live], curve, point.weights, point.pull)
        fences = (*((origin[live], most) for origin, most in self.fences), (at.z, near))
        return Scope(inner, at, self, live, fences)

    def widened(self) -> Scope:
        """The same weights and multipliers with all rows."""
        lagrangian, slope, scope = self.lagrangian, self.point.rows.slope, self
        while scope.outer is not None and scope.live is not None:
            outer, live = scope.outer, scope.live
            lagrangian = lagrangian.among(outer.lagrangian, outer.point, live)
            known = outer.point.rows.slope.copy()
            known[live] = slope
            slope, scope = known, outer
        return Scope(lagrangian, lagrangian.follow(self.point, slope))

    def walk(self, most: int) -> Iterator[tuple[Scope, int, bool]]:
        """Newton steps, counted, until the round is solved, as the last entry says, or there is no way on."""
        here = self
        for steps in range(1, most + 1):
            point = here.lagrangian.newton(here.point)
            if point is None or not self._inside(point.z):
                return
            here, solved = replace(here, point=point), here.lagrangian.solved(point)
            yield here, steps, solved
            if solved:
                return

    def end(self, most: int) -> tuple[Scope, int, bool]:
        """Where the walk ends, after how many steps, and whether the round is solved there."""
        last = (self, 0, False)
        for last in self.walk(most):  # noqa: B007 - the last one
            pass
        return last

    def _inside(self, z: Vector) -> bool:
        return all(np.abs(z - origin).max() <= most for origin, most in self.fences)

    def moved(self, factor: float) -> Scope:
        """The next round, `factor` times as stiff."""
        lagrangian, point = self.lagrangian.moved(self.point, factor)
        return replace(self, lagrangian=lagrangian, point=point)

    def held(self) -> Scope:
        """The same round, held back."""
        return replace(self, lagrangian=self.lagrangian.held(self.point))

    @property
    def whole(self) -> bool:
        """Are all rows in it?"""
        return self.outer is None

    @property
    def residual(self) -> float:
        """An estimate of the gap."""
        return self.lagrangian.residual(self.point)
