"""Squared loss: moments once, then any penalty, strength, path or fold as a small problem, proven by them.

Centred moments S = RᵀR (eigenvectors: rank deficiency is no special case) make p + 1 rows [R_x, R_y] whose
squared errors are those of all rows. The dual point of that problem lifts to an affine rule: R c = √k θ',
θ_i = a_i c·[x, y].
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dualgap.arrays import Matrix, Vector
from dualgap.blocks.source import RowBlock
from dualgap.drive.scans import ScanRequest, ScanStep
from dualgap.errors import DataError
from dualgap.proof.blocks import StreamStatement
from dualgap.proof.check import Checked, inside
from dualgap.proof.moments import MomentSums, judged_by_moments, moments_of
from dualgap.streaming.asked import ScanTask, SmallProblem, Targets, fold_of
from dualgap.streaming.rules import AffineSlopes
from dualgap.streaming.sampling import Start
from dualgap.streaming.second_order import LOST, RANK
from dualgap.streaming.smooth import SmoothPursuit

FINE = 0.1  # of the tolerance: the gap of the small problem


@dataclass(frozen=True, eq=False)
class FoldMoments:
    """Moments of each fold; one where there are no folds."""

    folds: tuple[MomentSums, ...]

    def plus(self, other: FoldMoments) -> FoldMoments:
        """Of both lots of rows."""
        return FoldMoments(tuple(a.plus(b) for a, b in zip(self.folds, other.folds, strict=True)))

    @property
    def finite(self) -> bool:
        """False where a number of the rows is none."""
        return all(one.finite for one in self.folds)

    @property
    def whole(self) -> MomentSums:
        """Of all rows."""
        total = self.folds[0]
        for one in self.folds[1:]:
            total = total.plus(one)
        return total


def moments_scan(block: RowBlock, targets: Targets, shift: Vector) -> FoldMoments:
    """One block."""
    X, y, weight, numbers = targets.of(block)
    if targets.folds == 1:
        return FoldMoments((moments_of(X, y, weight, shift),))
    fold, parts = fold_of(block, targets.folds)[numbers - block.first], []
    for k in range(targets.folds):
        own = np.flatnonzero(fold == k)
        parts.append(moments_of(X[own], y[own], None if weight is None else weight[own], shift))
    return FoldMoments(tuple(parts))


@dataclass(frozen=True, eq=False)
class PseudoRows:
    """k rows (X, y) whose mean squared errors are those of all rows, about their means."""

    X: Matrix
    y: Vector
    mean: Vector  # of the columns, the target's last, about the shift
    level: Vector  # shift + mean

    @classmethod
    def of(cls, sums: MomentSums, *, centred: bool) -> PseudoRows:
        """By the eigenvectors of the moments; without an intercept about zero."""
        M, n, shift = sums.matrix, sums.weight, sums.shift
        mean = M[:-1, -1] / n
        S = M[:-1, :-1] / n - np.outer(mean, mean)
        constant = np.diagonal(S) <= LOST * np.diagonal(M)[:-1] / n
        S[constant], S[:, constant] = 0.0, 0.0
        level = shift + mean
        if not centred:
            S = S + np.outer(level, level)
        d = np.sqrt(np.maximum(np.diagonal(S), 0.0))
        d[d == 0.0] = 1.0
        size, V = np.linalg.eigh(S / d / d[:, None])
        keep = size > RANK * max(float(size.max()), 0.0)
        R = np.sqrt(size[keep])[:, None] * V[:, keep].T * d
        R[:, constant & (np.diagonal(S) == 0.0)] = 0.0  # what rounding makes of it is no column
        k = np.sqrt(max(len(R), 1))
        return cls(R[:, :-1] * k, R[:, -1] * k, mean, level)

    def constant(self, coef: Vector) -> float:
        """The best intercept."""
        return float(self.level[-1] - self.level[:-1] @ coef)

    def kappa(self, theta: Vector, shift: Vector, *, centred: bool) -> Vector:
        """The affine rule of a dual point of these rows."""
        k = np.sqrt(len(self.y))
        c = np.linalg.lstsq(np.column_stack([self.X, self.y]) / k, k * theta, rcond=None)[0]
        about = self.mean if centred else -shift
        return np.append(-0.5 * c, 0.5 * float(c @ about))


def solved(
    asked: ScanTask, sums: MomentSums, whole: MomentSums, small: PseudoRows, start: Vector | None = None
) -> tuple[Checked, AffineSlopes]:
    """The fit of these moments, and what they prove of it."""
    statement = asked.statement
    tied = statement.intercept
    answer = asked.solve(SmallProblem(small.X, small.y, None, True, FINE * asked.tolerance, start))
    w = np.append(answer.w, small.constant(answer.w)) if tied else answer.w
    w = inside(statement, w)
    kappa = small.kappa(answer.theta, sums.shift, centred=tied)
    found = judged_by_moments(statement, sums, whole, w, kappa, asked.tolerance, null_of(sums, tied=tied))
    return found, AffineSlopes(sums.shift, kappa)


def moved_to(sums: MomentSums, shift: Vector) -> MomentSums:
    """The same moments about another point; what rounding may have done grows with the way."""
    if np.array_equal(sums.shift, shift):
        return sums
    k = len(shift)
    T = np.eye(k + 1)
    T[:-1, -1] = sums.shift - shift
    M = T @ sums.matrix @ T.T
    before, after = np.sqrt(np.diagonal(sums.matrix)), np.sqrt(np.maximum(np.diagonal(M), 1e-300))
    ratio = float(np.max(np.abs(T) @ before / after))
    roundings = int(np.ceil((sums.roundings + 4 * k + 8) * max(ratio, 1.0) ** 2 * (1.0 + 1e-9)))
    tops = (sums.tops + np.abs(sums.shift - shift)) * (1.0 + 1e-15)
    return MomentSums(shift, M, roundings, sums.rows, tops)


def null_of(sums: MomentSums, *, tied: bool) -> float:
    """The objective without columns."""
    M, n = sums.matrix, sums.weight
    mean = float(M[-2, -1]) / n
    variance = max(float(M[-2, -2]) / n - mean * mean, 0.0)
    return variance if tied else variance + float(sums.shift[-1] + mean) ** 2


class MomentPursuit:
    """One scan; where rounding of the moments spoils the gap, one step of the smooth way after it."""

    name = "streamed moments"

    def __init__(self, targets: Targets, shift: Vector, make: Callable[[MomentSums], ScanTask]) -> None:
        self.targets, self.shift, self.make = targets, shift, make
        self.asked: ScanTask | None = None  # known once the scales of the columns are
        self.sums: FoldMoments | None = None
        self.after: SmoothPursuit | None = None
        self._null = 0.0
        self.rows = 0

    @property
    def null(self) -> float:
        return self._null if self.after is None else self.after.null

    def resumed(self) -> Start | None:
        return None if self.after is None else self.after.resumed()

    def begin(self) -> ScanStep:
        return ScanStep(None, None, ScanRequest(moments_scan, (self.targets, self.shift)))

    def advance(self, result: Any) -> ScanStep:
        if self.after is not None:
            return self.after.advance(result)
        self.sums, whole = result, result.whole
        self.rows = whole.rows
        if not whole.weight > 0.0:
            raise DataError("No row counts: all weights are zero.")
        self.asked = self.make(whole)
        tied = self.asked.statement.intercept
        self._null = null_of(whole, tied=tied)
        found, rule = solved(self.asked, whole, whole, PseudoRows.of(whole, centred=tied))
        scale = np.sqrt(np.maximum(np.diagonal(whole.matrix)[:-2] / whole.weight, 1e-300))
        start = Start(found.w, 0.0, self.shift[:-1], scale, 0)
        self.after = SmoothPursuit(self.asked, start, self._null, 0.0)
        return ScanStep(found, rule, self.after.begin().request)


def scales_of(sums: MomentSums, *, tied: bool) -> Vector:
    """The standard deviation of each column (root mean square without an intercept); 1 if constant."""
    M, n = sums.matrix, sums.weight
    mean = M[:-2, -1] / n
    square = np.diagonal(M)[:-2] / n - mean * mean
    # what is left of a constant column is rounding
    square = np.where(square > 64.0 * sums.share * np.diagonal(M)[:-2] / n, square, 0.0)
    if not tied:
        square = square + (sums.shift[:-1] + mean) ** 2
    scale = np.sqrt(square)
    scale[scale == 0.0] = 1.0
    return np.asarray(scale)


def largest(sums: MomentSums) -> Vector:
    """The largest |x| of each column, at most."""
    return np.asarray((sums.tops[:-1] + np.abs(sums.shift[:-1])) * (1.0 + 1e-15))


def knowing(statement: StreamStatement, sums: MomentSums) -> StreamStatement:
    """The statement with the sizes of its columns."""
    return replace(statement, largest=largest(sums))
