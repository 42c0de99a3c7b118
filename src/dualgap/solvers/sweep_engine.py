"""Proximal Newton without the curvature matrix: sweeps over the columns, then Newton on the support."""

from __future__ import annotations

import numpy as np

from dualgap.arrays import Index, Vector
from dualgap.compiled.layout import Lines
from dualgap.design import Design
from dualgap.solvers.curvature_floor import CurvatureFloor
from dualgap.solvers.normal_equations import Point, system
from dualgap.solvers.priced_point import PricedPoint
from dualgap.solvers.storage import stored_columns

SWEEPS = 50  # at most, for one model
FEW = 5  # once Newton has taken over
GRADIENTS = 15.0  # conjugate ones for a step, which need not be accurate
SETTLED = 0.05  # Newton starts when violations have fallen to this share of the first


class SweepEngine:
    """newGLMNET (Yuan, Ho and Lin, 2012), with Newton steps on the support once it settles."""

    def __init__(self, point: PricedPoint) -> None:
        self.point = point
        self.floor = CurvatureFloor(point.problem)
        self.random = np.array([20120619], dtype=np.int64)
        self.accuracy = 1.0  # of a model, relative to the first violations
        self.first = 0.0
        self.settled = False

    def improve(self, working: Index, residual: Vector) -> None:
        """Two models by sweeps; once little is left to do, one by few, and a Newton step on the support."""
        point = self.point
        which = np.union1d(working, point.unpriced)
        design, lines = stored_columns(point.problem.design.columns(which))
        total = self._sweep(which, design, lines, FEW if self.settled else SWEEPS)
        if not self.settled:
            total = self._sweep(which, design, lines, SWEEPS)
        self.settled = point.factor == 1.0 and total <= SETTLED * self.first
        if self.settled:
            self._newton(which, design, total / self.first)

    def _sweep(self, which: Index, design: Design, lines: Lines, most: int) -> float:
        """Minimise a model by sweeps and search along the line to its minimiser; the violations before."""
        from dualgap.compiled.model_sweeps import descend_model

        point = self.point
        curvature = self.floor.curvature(point.z)
        w, price, ridge = point.w[which], point.factor * point.price[which], point.ridge[which]
        gradient = ridge * w - design.transpose_matvec(point.problem.slope(point.z))
        diagonal = design.weighted_square_norms(curvature) + ridge
        off = np.where(w == 0.0, np.abs(gradient) - price, np.abs(gradient + price * np.sign(w)))
        total = float(np.maximum(off, 0.0).sum())
        self.first = self.first or total
        change = np.zeros(len(which))
        goal = min(self.accuracy * self.first, (0.1 if self.settled else 0.5) * total)
        model, penalty = (curvature, gradient, diagonal), (w, price, ridge)
        sweeps = descend_model(lines, model, penalty, change, (goal, most), self.random)
        if sweeps == 1:
            self.accuracy *= 0.25
        self.floor.learn(point.advance(which, change, design.matvec(change)))
        return total

    def _newton(self, which: Index, design: Design, share: float) -> None:
        """A Newton step on the support; coordinates that would change sign stop at zero."""
        point = self.point
        some = np.flatnonzero((point.w[which] != 0.0) | (point.price[which] == 0.0))
        support, inner = which[some], design.columns(some)
        w = point.w[support]
        linear = point.price[support] * np.sign(w)
        equations = system(inner, point.ridge[support], gradients=GRADIENTS).factored(
            self.floor.curvature(point.z)
        )
        here = Point(w, -point.problem.slope(point.z), linear)
        change = equations.step(here, min(0.3, max(1e-3, 0.3 * share**0.5)))
        crossing = ((w + change) * w < 0.0) & (linear != 0.0)
        change[crossing] = -w[crossing]
        point.advance(support, change, inner.matvec(change))
