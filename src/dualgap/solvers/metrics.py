"""Steps of a model g·d + ½ dᵀHd + penalty, H from a sample and mended by what full passes show (secants)."""

from __future__ import annotations

import contextlib
from typing import Any, Protocol

import numpy as np

from dualgap.arrays import Index, Matrix, Vector
from dualgap.linalg.cholesky import Solve, cholesky
from dualgap.linalg.support_factor import SupportFactor
from dualgap.solvers.lasso.l1_quadratic import minimise

SMALL = 256  # columns up to which a step on the host takes less time than the way to the device and back
ROUNDS = 60  # of the model's own solve, which is exact long before
FINE = 1e-9  # of the prices: what the model may be off by
FLOOR = 1e-12  # of the diagonal, added to it: directions of rounding get no step
LIGHT, HEAVY = 1e-2, 1e6  # the same where a model has no minimiser: at first, and at most


class Metric(Protocol):
    """A model that learns."""

    def step(self, g: Vector, w: Vector) -> Vector:
        """The way to its minimiser; g is the gradient of the loss at w."""

    def learn(self, s: Vector, t: Vector) -> None:
        """A step s changed the gradient of the loss by t."""


class Plain:
    """No price on |w|: the inverse once, secants by the two loops of L-BFGS."""

    def __init__(self, solve: Any, ridge: Vector) -> None:
        self.solve, self.ridge = solve, ridge
        self.pairs: list[tuple[Vector, Vector, float]] = []

    def step(self, g: Vector, w: Vector) -> Vector:
        q, left = g + self.ridge * w, []
        for s, t, r in reversed(self.pairs):
            a = r * float(s @ q)
            q = q - a * t
            left.append(a)
        q = self.solve(q)
        for (s, t, r), a in zip(self.pairs, reversed(left), strict=True):
            q = q + s * (a - r * float(t @ q))
        return np.asarray(-q)

    def learn(self, s: Vector, t: Vector) -> None:
        t = t + self.ridge * s
        along = float(s @ t)
        if along > 1e-14 * float(np.linalg.norm(s) * np.linalg.norm(t)):  # else rounding made it
            self.pairs.append((s, t, 1.0 / along))


def unpriced(matrix: Any, H: Any, ridge: Vector) -> Plain:
    """The model of a curvature on the device, which is solved on the host where it is small."""
    if len(H) <= SMALL:
        M = np.asarray(matrix.host(H)) + np.diag(ridge)
        with contextlib.suppress(np.linalg.LinAlgError):
            return Plain(cholesky(M), ridge)
    return Plain(matrix.inverted(H, ridge), ridge)


class Priced:
    """Prices on |w|: a model mended by BFGS; columns without a price are eliminated.

    H is a matrix, or a curvature that has its ridge in it and answers as `HeldGram` does.
    """

    def __init__(self, H: Any, ridge: Vector, price: Vector) -> None:
        if isinstance(H, np.ndarray):
            more = ridge + FLOOR * np.maximum(np.diagonal(H), 1e-300)
            H = H.copy()
            H.flat[:: len(H) + 1] += more
            H = HeldGram(H)
        self.gram = H
        self.ridge, self.price = ridge, price
        self.priced, self.unpriced = np.flatnonzero(price > 0.0), np.flatnonzero(price == 0.0)

    def step(self, g: Vector, w: Vector) -> Vector:
        share = 0.0
        while True:
            try:
                return self._step(g, w)
            except np.linalg.LinAlgError:  # fewer rows with curvature than columns with a weight
                if share >= HEAVY or not isinstance(self.gram, HeldGram):
                    raise
                share = max(10.0 * share, LIGHT)
                self.gram = self.gram.raised(share)

    def _step(self, g: Vector, w: Vector) -> Vector:
        on, off = self.priced, self.unpriced
        pull = -(g + self.ridge * w)
        gram, inner = self.gram, pull
        if len(off):
            cross, solve = gram.cross(off, on), cholesky(gram.block(off))
            gram = gram.without(on, cross, solve)
            inner = pull[on] - cross.T @ solve(pull[off])
        here, residual = w[on].copy(), np.array(inner)
        minimise(gram, here, residual, self.price[on], ROUNDS, FINE)
        d = np.zeros(len(w))
        d[on] = here - w[on]
        if len(off):
            d[off] = solve(pull[off] - cross @ d[on])
        return d

    def learn(self, s: Vector, t: Vector) -> None:
        t, b = t + self.ridge * s, self.gram.times(s)
        along, before = float(s @ t), float(s @ b)
        if along > 1e-14 * float(np.linalg.norm(s) * np.linalg.norm(t)) and before > 0.0:
            self.gram.mend(np.stack([t, b]), np.array([1.0 / along, -1.0 / before]))


class HeldGram:
    """A matrix that is all there, with Σ c u uᵀ of some vectors beside it, as the solver of l1 models asks
    for it: to add those would cost a pass over all of the matrix.
    """

    def __init__(self, G: Matrix) -> None:
        self.G = G
        self.U, self.c = np.zeros((0, len(G))), np.zeros(0)
        self.factor = SupportFactor(self)

    def mend(self, U: Matrix, c: Vector) -> None:
        """Σ c u uᵀ more."""
        self.U, self.c = np.vstack([self.U, U]), np.append(self.c, c)
        self.factor = SupportFactor(self)

    def raised(self, share: float) -> HeldGram:
        """With that share of its diagonal more, of their mean where a column has none."""
        unit = np.diagonal(self.G).copy()
        unit[unit <= 0.0] = max(float(unit.mean()), 1e-300)
        found = HeldGram(self.G + np.diag(share * unit))
        found.mend(self.U, self.c)
        return found

    def times(self, s: Vector) -> Vector:
        """Gs, of which most is zero, maybe."""
        live = np.flatnonzero(s)
        own = s[live] @ self.G[live] if 2 * len(live) < len(s) else self.G @ s
        return np.asarray(own + (self.c * (self.U @ s)) @ self.U)

    def without(self, on: Index, cross: Matrix, solve: Solve) -> HeldGram:
        """G on these columns, the others at their best: `cross` is G beside them, `solve` its inverse."""
        return HeldGram(self.block(on) - cross.T @ solve(cross))

    def block(self, which: Index) -> Any:
        """G on some columns."""
        return np.ascontiguousarray(self.cross(which, which))

    def cross(self, rows: Index, columns: Index) -> Matrix:
        """G between some rows and columns."""
        whole = len(rows) == len(columns) == len(self.G)  # a copy takes a quarter of the time
        found = self.G.copy() if whole else self.G[np.ix_(rows, columns)]
        return np.asarray(found + (self.U[:, rows].T * self.c) @ self.U[:, columns]) if len(self.c) else found

    def subtract(self, live: Index, change: Vector, residual: Vector) -> None:
        """residual −= G[:, live] change."""
        residual -= change @ self.G[live] + (self.c * (self.U[:, live] @ change)) @ self.U
