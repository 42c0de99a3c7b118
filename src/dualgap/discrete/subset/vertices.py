"""Piecewise linear losses on a branch, from vertex to vertex: a child starts where its parent ended."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from dualgap.arrays import Index, Matrix, Vector
from dualgap.problem.problem import Problem

DEPENDENT = 1e-6  # of a row of length about one: if no more is left of it, it is a combination of others
FEW = 600  # kinks from which a start from nothing takes too many steps


@dataclass(frozen=True, eq=False)
class Vertex:
    """A dual point of the kinks, and the rows of it that are off their bounds."""

    delta: Vector
    rows: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Reached:
    """Weights of the live columns and their loss; the vertex, its dual point by rows, and its bound."""

    w: Vector
    value: float
    bound: float
    theta: Vector
    vertex: Vertex


class Vertices:
    """The kinks of a loss, one after the other."""

    def __init__(self, problem: Problem) -> None:
        terms = problem.loss.terms(problem.y)
        row, which = np.nonzero(terms.lower < terms.upper)
        self.n, self.row = problem.n, row
        self.X = np.ascontiguousarray(problem.design.toarray()[row])
        self.kink = np.ascontiguousarray(terms.kink[row, which])
        self.lower = problem.a[row] * terms.lower[row, which]
        self.upper = problem.a[row] * terms.upper[row, which]

    def ascended(
        self, live: Index, start: Vertex | None, stop: tuple[float, float], other: Matrix | None = None
    ) -> Reached | None:
        """From a vertex of more columns, or from nothing; None where that is not to be had.

        `stop`: a goal, and how near to it is near enough. `other`: what stands for the columns.
        """
        from dualgap.discrete.subset.dual_simplex import Kinks, ascend

        X = np.take(self.X, live, axis=1) if other is None else np.ascontiguousarray(other[self.row])
        count, m = X.shape
        if not 0 < m <= count or (start is None and count > FEW):
            return None
        kinks = Kinks(X, self.kink, self.lower, self.upper)
        delta = np.zeros(count) if start is None else start.delta.copy()
        wanted = np.zeros(0, np.int64) if start is None else start.rows
        basis = _basis(X, wanted) or _basis(X, np.arange(count), wanted)
        if basis is None:
            return None
        (rows, inverted), w = basis, np.zeros(m)
        _, least, _ = ascend(kinks, rows, inverted, delta, w, (*stop, 20 * m + 2 * count))
        for _ in range(2):  # the drift of many steps
            delta[rows] -= inverted.T @ (kinks.X.T @ delta)
        delta = np.clip(delta, self.lower, self.upper)
        inside = np.flatnonzero((delta > self.lower) & (delta < self.upper))
        theta = -np.bincount(self.row, delta, self.n).astype(np.float64)
        return Reached(w, float(least), -float(self.kink @ delta), theta, Vertex(delta, inside))


def _basis(X: Matrix, among: Index, first: Index | None = None) -> tuple[Index, Matrix] | None:
    """As many independent rows as there are columns, some of them first, and the inverse of that part of X;
    None if there are too few.

    Pivots of an elimination are the largest entries of their columns: rows made longer come first.
    """
    m, longer, order = X.shape[1], np.ones(len(among)), list(range(len(among)))
    if len(among) < m:
        return None
    longer[first if first is not None else []] = 1.0 / DEPENDENT
    factor, swaps, _ = lapack.dgetrf(X[among] * longer[:, None])
    for k, other in enumerate(swaps.tolist()):
        order[k], order[other] = order[other], order[k]
    longer = longer[order[:m]]
    if not np.all(np.abs(factor.diagonal()) > DEPENDENT * longer):
        return None
    inverse = lapack.dgetri(factor[:m], np.arange(m))[0] * longer
    return among[order[:m]], np.ascontiguousarray(inverse)
