"""Sparse systems without their dense factor: conjugate gradients, helped by the lines that weigh most.

The matrix is diag(base) + Σ weight_k line_k line_kᵀ. Early in a run the weights are even, and the diagonal
will do; late most of them vanish, and the factor of the few that are left is small.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from dualgap.arrays import Index, Matrix, Vector
from dualgap.design import Design
from dualgap.linalg.cholesky import RAISES, Solve, cholesky
from dualgap.linalg.conjugate_gradients import conjugate_steps

ROUGH, FINE = 1e-4, 1e-10  # relative residuals, far from the end and near it
FIRST, GROWTH = 256, 3  # lines in the first small factor, and times as many in the next one
WHOLE, WHOLE_DOUBLE = 0.7, 0.9  # shares of the order from which on the factor of the matrix itself is faster
# A line with less of the diagonal than this is not worth a place in a factor: of absolute loss and l1 on text
# 2054 lines of 3592 were above 1e-3 and left more than 100 gradients to do, the 2161 above 1e-7 left six.
LIGHT = 1e-7
RAISED = (0.0, 1e-6, 1e-4)  # of a diagonal in 4-byte numbers: what lies between costs a factor and fails too
BLOCKED = 40.0  # operations of a dense factor in the time of one with a sparse row
LEAST, MOST = 40, 200  # conjugate gradients before more lines are taken
SERVES = 4  # solves that share a factor: predictor, corrector and two that centre
# nanoseconds, as measured: an operation of a factor of 3000 lines in 8-byte numbers and in 4-byte ones, an
# entry written and mirrored, a number in a pair of products, an entry in a solve (three times as long below a
# thousand lines, where it matters little), an entry of a vector, calls
DOUBLE, SINGLE, ENTRY, PAIR, BACK, PLACE, CALLS = 0.04, 0.013, 5.0, 2.5, 0.25, 10.0, 1e5
GRADIENTS = 80.0  # in a step: 20 to 200 were seen
# Share of the diagonal that stands for nothing in a base. Woodbury's formula divides by the base and takes
# the difference: of hinge and l1 on text, with rows on the kink at 1e-16 of the diagonal, no digit was left
# of it, and thousands of gradients led nowhere; with 1e-10 for these ten did.
TINY = 1e-10


@dataclass(frozen=True, eq=False)
class Left:
    """The left side: its product, the part of its diagonal that is no line's, and the weights of the lines.

    There may be one coordinate more than a line has, and one line more than the design: what belongs to
    another unknown. Gradients find that soon, without help.
    """

    apply: Callable[[Vector], Vector]
    base: Vector
    weight: Vector


def spared(design: Design) -> bool:
    """Do many products take less time than a dense factor?"""
    small = float(min(design.shape))
    return design.sparse is not None and small**3 / 3.0 / BLOCKED > LEAST * 4.0 * design.stored


def usual(design: Design) -> float:
    """Nanoseconds of a step, of which half take a new factor: measured within a factor of three, or less."""
    order = float(min(design.shape))
    factor = SINGLE * order**3 / 3.0 + ENTRY * order**2
    return 0.5 * factor + GRADIENTS * (PAIR * design.stored + PLACE * sum(design.shape))


class SparseLines:
    """The columns of a sparse design, or its rows, as lines of the same order."""

    def __init__(self, design: Design, *, rows: bool) -> None:
        found = design.sparse
        assert found is not None
        matrix, ones = found.matrix, len(found.scale) - found.matrix.shape[1]
        plain = sp.csr_array(matrix.scaled(found.scale[: matrix.shape[1]]).by_rows)
        if ones:
            plain = sp.csr_array(sp.hstack([plain, np.full((plain.shape[0], 1), found.scale[-1])]))
        self.lines = plain if rows else _turned(plain)
        self.across = _turned(self.lines)
        self.squares, self.square_across = (_squared(part) for part in (self.lines, self.across))
        self.count, self.order = (int(size) for size in self.lines.shape)

    @property
    def stored(self) -> int:
        """Numbers."""
        return int(self.lines.nnz)

    def outer(self, weight: Vector, root: Vector, kind: Any, whole: bool) -> Any:
        """Σ weight_k line_k line_kᵀ, rows and columns multiplied by `root`; below the diagonal, or whole."""
        return outer(_scaled(self.across, root[:, None]), _scaled(self.lines, root), weight, kind, whole)


def _turned(matrix: sp.csr_array) -> sp.csr_array:
    return sp.csr_array(matrix.T)


def _scaled(matrix: sp.csr_array, scale: Matrix) -> sp.csr_array:
    """Columns times a vector, or rows times a column."""
    spread = np.repeat(scale[:, 0], np.diff(matrix.indptr)) if scale.ndim == 2 else scale[matrix.indices]
    return sp.csr_array((matrix.data * spread, matrix.indices, matrix.indptr), shape=matrix.shape)


def _squared(matrix: sp.csr_array) -> sp.csr_array:
    return sp.csr_array((matrix.data * matrix.data, matrix.indices, matrix.indptr), shape=matrix.shape)


def outer(left: sp.csr_array, turned: sp.csr_array, weight: Vector, kind: Any, whole: bool) -> Any:
    """left · diag(weight) turned, a symmetric matrix: its lower triangle, or all of it."""
    from dualgap.design.sparse_gram import add_products, mirror

    out = np.zeros((left.shape[0], left.shape[0]), dtype=kind)
    across = (turned.indptr, turned.indices, turned.data)
    add_products(left.indptr, left.indices, left.data, across, weight, out)
    if whole:
        mirror(out)
    return out


def _factored(make: Callable[[bool], Any], raises: Sequence[float]) -> tuple[Solve, Sequence[float]]:
    """The factor of a lower triangle, and the raises to begin with next time.

    All of the matrix is made only where the first raise of its diagonal is not enough.
    """
    try:
        return cholesky(make(False).T, raises[:1]), raises
    except np.linalg.LinAlgError:
        left = raises[1:] or raises
        return cholesky(make(True), left), left


class Inexact:
    """Solves, with as many lines in the factor as have been needed so far, at last in double precision."""

    def __init__(self, lines: SparseLines) -> None:
        self._lines, self._taken, self._double = lines, 0, False
        self.accuracy = ROUGH
        self._raises: Sequence[float] = RAISED

    def take(self, left: Left) -> Solve:
        """Solves with a new left side."""
        lines, order = self._lines, self._lines.order
        self._left, self._weight = left, left.weight[: lines.count]
        self._steps: list[tuple[Vector, Vector]] = []
        self._diagonal = left.base.copy()
        self._diagonal[:order] += lines.square_across @ self._weight
        for k in range(order, len(left.base)):
            self._diagonal[k] = left.apply(np.eye(1, len(left.base), k)[0])[k]
        self._condition()
        return self.solve

    def solve(self, right: Matrix) -> Matrix:
        """x, for one right side or for several as columns."""
        if right.ndim == 2:
            return np.column_stack([self.solve(column) for column in right.T])
        start, rest = self._known(right)
        x, goal = start, self.accuracy * self._size(right)
        while True:
            size = self._size(rest)
            if not size > goal:
                return x
            last = self._double
            more, reached = self._gradients(rest, goal / size)
            x = x + more
            if reached or last:
                self._keep(x - start)
                return x
            rest = right - self._left.apply(x)
            self._more()

    def _known(self, right: Vector) -> tuple[Vector, Vector]:
        """The best of what earlier solves with this left side have spanned, and what that leaves."""
        x, rest = np.zeros_like(right), right
        for step, image in self._steps:
            share = float(step @ rest)
            x, rest = x + share * step, rest - share * image
        return x, rest

    def _keep(self, step: Vector) -> None:
        """A solve's own part, of length one in the norm of the left side."""
        image = self._left.apply(step)
        length = float(step @ image)
        if length > 0.0:
            unit = 1.0 / math.sqrt(length)
            self._steps.append((unit * step, unit * image))

    def _size(self, right: Vector) -> float:
        return float(np.sqrt(right @ (right / self._diagonal)))

    def _gradients(self, right: Vector, accuracy: float) -> tuple[Vector, bool]:
        most = self._patience()
        steps = conjugate_steps(self._left.apply, right, self._diagonal, accuracy, most, self._divide)
        count = 0
        while True:
            try:
                next(steps)
                count += 1
            except StopIteration as end:
                return np.asarray(end.value), count < most

    @property
    def _all(self) -> bool:
        return self._taken >= self._lines.order

    def _next(self) -> int:
        ahead = max(GROWTH * self._taken, FIRST)
        return ahead if ahead < WHOLE * self._lines.order else self._lines.order

    def _more(self) -> None:
        """A better preconditioner."""
        if self._all and not self._double:
            self._double, self._raises = True, RAISES
        self._taken = self._next()
        self._condition()

    def _patience(self) -> int:
        """Products in the time of the next factor, which would serve some solves."""
        if self._double:
            return MOST
        lines, ahead = self._lines, float(self._next())
        single = not self._all and ahead == lines.order
        factor = (SINGLE if single else DOUBLE) * ahead**3 / 3.0 + ENTRY * ahead**2
        each = PAIR * lines.stored + BACK * self._taken**2 + PLACE * (lines.order + lines.count) + CALLS
        return int(np.clip(factor / (SERVES * each), LEAST, MOST))

    def _condition(self) -> None:
        """Divide by the diagonal; by more, if that has not been enough."""
        self._divide: Solve | None = None
        if not self._taken:
            return
        order, weight = self._lines.order, self._weight
        heavy = weight * (self._lines.squares @ (1.0 / self._diagonal[:order]))
        which = np.flatnonzero(heavy > LIGHT)
        if self._all and len(which) >= (WHOLE_DOUBLE if self._double else WHOLE) * order:
            inner = self._whole(weight if self._double else np.where(heavy > LIGHT, weight, 0.0))
        else:
            if len(which) > self._taken:
                which = np.sort(which[np.argpartition(-heavy[which], self._taken)[: self._taken]])
            inner = self._some(which)
        extra = self._diagonal[order:]

        def divide(r: Vector) -> Vector:
            found = inner(r[:order])
            return np.concatenate((found, r[order:] / extra)) if len(extra) else found

        self._divide = divide

    def _base(self, taken: Vector) -> Vector:
        """What the lines that are not taken leave on the diagonal, with the base."""
        lines, order = self._lines, self._lines.order
        base = self._left.base[:order] + lines.square_across @ (self._weight - taken)
        return np.asarray(np.maximum(base, TINY * self._diagonal[:order]))

    def _whole(self, taken: Vector) -> Solve:
        diagonal = self._diagonal[: self._lines.order]
        root, kind = 1.0 / np.sqrt(diagonal), np.float64 if self._double else np.float32
        base = (self._base(taken) / diagonal).astype(kind)

        def make(whole: bool) -> Any:
            matrix = self._lines.outer(taken, root, kind, whole)
            matrix.flat[:: len(matrix) + 1] += base
            return matrix

        solve, self._raises = _factored(make, self._raises)
        return lambda r: root * solve(root * r)

    def _some(self, which: Index) -> Solve:
        """Woodbury's formula."""
        lines, taken = self._lines, np.zeros_like(self._weight)
        taken[which] = self._weight[which]
        inverse, root = 1.0 / self._base(taken), np.sqrt(self._weight[which])
        some = _scaled(lines.lines[which], root[:, None])
        turned = _turned(some)

        def make(whole: bool) -> Matrix:
            inner = outer(some, turned, inverse, np.float64, whole)
            inner.flat[:: len(which) + 1] += 1.0
            return np.asarray(inner)

        solve, _ = _factored(make, RAISES)

        def divide(r: Vector) -> Vector:
            first = inverse * r
            return np.asarray(first - inverse * (turned @ solve(some @ first)))

        return divide
