"""Linear constraints as rows below the design: no slope of theirs is too steep, inside they cost nothing."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from dualgap.arrays import Matrix, Vector
from dualgap.design import Compressed, Dense, Design
from dualgap.problem.problem import Problem
from dualgap.solvers.augmented_lagrangian.rows import RowCurve, RowLosses, rows_of

STIFF = 10.0  # the first stiffness of a constraint, in curvatures of the loss along its row


@dataclass(frozen=True, eq=False)
class Stacked(Problem):
    """The problem with the rows of its constraints below the design; `y` and `a` are those of the data."""

    asked: Problem

    @property
    def n(self) -> int:
        return self.asked.n

    @cached_property
    def column_squares(self) -> Vector:
        return self.asked.column_squares

    def predict(self, w: Vector) -> Vector:
        return self.design.matvec(w)

    def risk(self, prediction: Vector) -> float:
        return self.asked.risk(prediction[: self.asked.n])


def stacked(problem: Problem) -> Stacked:
    """The constraints as rows."""
    assert problem.constraints is not None
    A = problem.constraints.matrix
    if problem.intercept:
        A = np.column_stack([A, np.zeros(len(A))])
    return Stacked(
        _below(problem.design, A),
        problem.y,
        problem.a,
        problem.loss,
        problem.regulariser,
        problem.intercept,
        problem,
        constraints=problem.constraints,
    )


def _below(design: Design, A: Matrix) -> Design:
    sparse = design.sparse
    if sparse is None:
        return Dense(np.ascontiguousarray(np.vstack([design.toarray(), A])))
    matrix = sp.csc_array(sparse.matrix.matrix)
    width = matrix.shape[1]
    scaled = matrix @ sp.diags_array(sparse.scale[:width])
    if len(sparse.scale) > width:
        scaled = sp.hstack([scaled, np.full((matrix.shape[0], 1), sparse.scale[-1])])
    return Compressed(sp.csc_array(sp.vstack([scaled, sp.csc_array(A)])))


@dataclass(frozen=True, eq=False)
class TiedCurve(RowCurve):
    """The derivatives of the loss, and behind them the multipliers of the constraints."""

    loss: RowCurve
    lower: Vector
    upper: Vector


@dataclass(frozen=True, eq=False)
class TiedRows(RowLosses):
    """A loss, and lower ≤ z ≤ upper in the rows behind it: sup over d ≤ 0 and e ≥ 0 of

    d (z − lower) + e (z − upper) − (d − anchor)²/(2 stiffness) − …,      smoothed around their anchors.
    """

    loss: RowLosses
    ends: tuple[Vector, Vector]
    anchors: tuple[Vector, Vector]
    stiffness: Vector
    n: int

    def at(self, z: Vector) -> TiedCurve:
        first, behind = self.loss.at(z[: self.n]), z[self.n :]
        (low, high), (d, e) = self.ends, self.anchors
        with np.errstate(invalid="ignore"):
            down = np.where(np.isinf(low), 0.0, d + self.stiffness * (behind - low))
            up = np.where(np.isinf(high), 0.0, e + self.stiffness * (behind - high))
        bend = self.stiffness * ((down < 0.0).astype(float) + (up > 0.0))
        down, up = np.minimum(down, 0.0), np.maximum(up, 0.0)
        slope = np.concatenate([first.slope, down + up])
        return TiedCurve(slope, np.concatenate([first.curvature, bend]), first.terms, first, down, up)

    def typical_curvature(self, z: Vector) -> float:
        return self.loss.typical_curvature(z[: self.n])

    def level(self, z: Vector) -> float:
        return self.loss.level(z[: self.n])

    def excess(self, z: Vector, curve: RowCurve) -> float:
        assert isinstance(curve, TiedCurve)
        behind, (low, high) = z[self.n :], self.ends
        missed = np.maximum(np.maximum(low - behind, behind - high), 0.0)
        size = np.abs(curve.lower) + np.abs(curve.upper)
        with np.errstate(invalid="ignore"):
            slack = np.where(curve.lower < 0.0, -curve.lower * (behind - low), 0.0)
            slack = slack + np.where(curve.upper > 0.0, curve.upper * (high - behind), 0.0)
        inner = self.loss.excess(z[: self.n], curve.loss)
        return inner + float(np.abs(slack).sum() + (missed * (size + size.max(initial=0.0))).sum())

    def moved(self, curve: RowCurve) -> TiedRows:
        assert isinstance(curve, TiedCurve)
        return replace(self, loss=self.loss.moved(curve.loss), anchors=(curve.lower, curve.upper))

    def stiffened(self, factor: float) -> TiedRows:
        return replace(self, loss=self.loss.stiffened(factor), stiffness=self.stiffness * factor)


def tied_rows(problem: Stacked, z: Vector, theta: Vector | None) -> TiedRows:
    """The loss of the problem and its constraints, started from the multipliers in θ if that is given."""
    asked, constraints = problem.asked, problem.constraints
    assert constraints is not None
    count = asked.n
    loss = rows_of(asked, z[:count], None if theta is None else theta[:count])
    size = np.einsum("ij,ij->i", constraints.matrix, constraints.matrix)
    sigma = loss.typical_curvature(z[:count]) * float(asked.column_squares.mean())
    stiffness = STIFF * sigma / np.where(size > 0.0, size, 1.0)
    mu = np.zeros(len(constraints)) if theta is None else theta[count:]
    return TiedRows(
        loss,
        (constraints.lower, constraints.upper),
        (np.minimum(-mu, 0.0), np.maximum(-mu, 0.0)),
        stiffness,
        count,
    )
