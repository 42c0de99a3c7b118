"""Several outputs of the same rows as one statement: X once for each output, along the diagonal.

w holds output after output, each with its own intercept behind; θ output after output, and the multipliers
of constraints behind all of it. An intercept is a free column of ones; beside that, nothing is new.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from dualgap.arrays import Index, Mask, Matrix, Vector
from dualgap.proof.balance import zero_sums
from dualgap.proof.rounding import FEW, U, gamma, two_sum
from dualgap.proof.rows import with_products
from dualgap.proof.statement import Statement


@dataclass(frozen=True, eq=False)
class StackedOutputs(Statement):
    """A statement for so many outputs, `tied` if each has an intercept; `intercept` itself is False.

    `design.alike` is the matrix of one output, a column of ones behind it where they are tied.
    """

    outputs: int = field(default=1, kw_only=True)
    tied: bool = field(default=False, kw_only=True)

    @cached_property
    def plain(self) -> bool:
        """Is nothing free but the intercepts, and nothing tied by constraints?"""
        table = self.free.reshape(self.outputs, -1)
        return self.tied and self.constraints is None and not bool(table[:, :-1].any())

    @property
    def free_features(self) -> Mask:
        """Free coordinates that are for `orthogonal`: intercepts alone are levelled, output by output."""
        return np.zeros_like(self.free) if self.plain else self.free

    def levelled(self, theta: Vector, *, ahead: bool = False) -> Vector:
        """θ with Σθ = 0 over the rows of each output, exactly; no entry further from 0; made every time."""
        return zero_sums(theta.reshape(self.outputs, -1)).ravel() if self.plain else theta

    @cached_property
    def rows(self) -> Any:
        return OutputRows(with_products(self.design.alike.matrix), self.outputs, self.tied)


class OutputRows:
    """diag(X, …, X), or diag([X, 1], …), by the products of X, which know their error. See `Rows`."""

    def __init__(self, one: Any, outputs: int, tied: bool) -> None:
        self.one, self.outputs, self.tied = one, outputs, tied
        self.width = one.p + tied
        self.n, self.p = one.n * outputs, self.width * outputs

    @cached_property
    def tops(self) -> Vector:
        """The largest |x| of each column."""
        one = np.append(self.one.tops, 1.0) if self.tied else self.one.tops
        return np.tile(one, self.outputs)

    def _tables(self, w: Vector) -> tuple[Matrix, Vector]:
        table = w.reshape(self.outputs, self.width)
        if not self.tied:
            return table, np.zeros(self.outputs)
        return np.ascontiguousarray(table[:, :-1]), table[:, -1]

    def times(self, w: Vector, *, exact: bool = False) -> tuple[Vector, Vector, float]:
        """As that of `Rows`: a level that is added rounds once more."""
        coefs, levels = self._tables(w)
        if not exact:
            value, errors = self.one.times_many(coefs)
            found = value + levels[:, None]
            added = 2.0 * U * float(np.abs(found).max(initial=0.0)) if levels.any() else 0.0
            worst = (float(errors.max(initial=0.0)) + added) * (1.0 + FEW)
            return found.ravel(), np.zeros(1), worst
        high, low, worst = np.empty((self.outputs, self.one.n)), np.empty((self.outputs, self.one.n)), 0.0
        for k, (coef, level) in enumerate(zip(coefs, levels, strict=True)):
            value, rest, error = self.one.times(coef, exact=True)
            high[k], rounded = two_sum(value, np.full(len(value), level))
            low[k] = rounded + rest
            slack = 2.0 * U * float(np.abs(low[k]).max(initial=0.0))
            worst = max(worst, (error + slack) * (1.0 + FEW))
        return high.ravel(), low.ravel(), worst

    def against(self, theta: Vector, *, exact: bool = False) -> tuple[Vector, Vector]:
        """As that of `Rows`."""
        thetas = theta.reshape(self.outputs, self.one.n)
        if exact:
            parts = [self.one.against(one, exact=True) for one in thetas]
            value, error = (np.array([part[side] for part in parts]) for side in (0, 1))
        else:
            value, error = self.one.against_many(thetas)
        if self.tied:
            sums, sizes = thetas.sum(axis=1), np.abs(thetas).sum(axis=1)
            value = np.column_stack([value, sums])
            error = np.column_stack([error, gamma(self.one.n) * sizes * (1.0 + FEW)])
        return value.ravel(), error.ravel()

    def lengths(self, a: Vector, which: Index) -> Vector:
        """As that of `Rows`, of columns that are not of ones: rows weigh the same for all outputs."""
        found = np.full(len(which), np.inf)
        inside = which % self.width < self.one.p
        own, place = np.unique(which[inside] % self.width, return_inverse=True)
        most = a.reshape(self.outputs, self.one.n).max(axis=0)
        found[inside] = self.one.lengths(most, own)[place]
        return found

    def columns(self, which: Index) -> Matrix:
        """Some columns as an array."""
        part = np.zeros((self.n, len(which)))
        for k, j in _by_output(which, self.width):
            place = np.flatnonzero(which // self.width == k)
            rows = slice(k * self.one.n, (k + 1) * self.one.n)
            part[rows, place[j < self.one.p]] = self.one.columns(j[j < self.one.p])
            part[rows, place[j == self.one.p]] = 1.0
        return part


def _by_output(which: Index, width: int) -> list[tuple[int, Index]]:
    """The outputs that have some of these columns, and which of their own these are."""
    return [(int(k), which[which // width == k] % width) for k in np.unique(which // width)]
