"""Steps of a model g·d + ½ dᵀHd + penalty, H from a sample and mended by what full passes show (secants)."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from dualgap.arrays import Index, Matrix, Vector
from dualgap.linalg.cholesky import cholesky
from dualgap.linalg.support_factor import SupportFactor
from dualgap.solvers.lasso.l1_quadratic import minimise

ROUNDS = 60  # of the model's own solve, which is exact long before
FINE = 1e-9  # of the prices: what the model may be off by
FLOOR = 1e-12  # of the diagonal, added to it: directions of rounding get no step


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


class Priced:
    """Prices on |w|: the matrix on the host, mended by BFGS; columns without a price are eliminated."""

    def __init__(self, H: Matrix, ridge: Vector, price: Vector) -> None:
        self.G = H + np.diag(ridge + FLOOR * np.maximum(np.diagonal(H), 1e-300))
        self.ridge, self.price = ridge, price
        self.priced, self.unpriced = np.flatnonzero(price > 0.0), np.flatnonzero(price == 0.0)

    def step(self, g: Vector, w: Vector) -> Vector:
        on, off = self.priced, self.unpriced
        pull = -(g + self.ridge * w)
        gram, inner = self.G, pull
        if len(off):
            cross = self.G[np.ix_(off, on)]
            solve = cholesky(self.G[np.ix_(off, off)])
            gram, inner = (
                self.G[np.ix_(on, on)] - cross.T @ solve(cross),
                pull[on] - cross.T @ solve(pull[off]),
            )
        here, residual = w[on].copy(), np.array(inner)
        minimise(HeldGram(gram), here, residual, self.price[on], ROUNDS, FINE)
        d = np.zeros(len(w))
        d[on] = here - w[on]
        if len(off):
            d[off] = solve(pull[off] - cross @ d[on])
        return d

    def learn(self, s: Vector, t: Vector) -> None:
        t, b = t + self.ridge * s, self.G @ s
        along, before = float(s @ t), float(s @ b)
        if along > 1e-14 * float(np.linalg.norm(s) * np.linalg.norm(t)) and before > 0.0:
            self.G = self.G + np.outer(t, t / along) - np.outer(b, b / before)


class HeldGram:
    """A matrix that is all there, as the solver of l1 models asks for it."""

    def __init__(self, G: Matrix) -> None:
        self.G = G
        self.factor = SupportFactor(self)

    def block(self, which: Index) -> Any:
        """G on some columns."""
        return np.ascontiguousarray(self.G[np.ix_(which, which)])

    def cross(self, rows: Index, columns: Index) -> Matrix:
        """G between some rows and columns."""
        return self.G[np.ix_(rows, columns)]

    def subtract(self, live: Index, change: Vector, residual: Vector) -> None:
        """residual −= G[:, live] change."""
        residual -= self.G[:, live] @ change
