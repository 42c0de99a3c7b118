"""Prices on |w| where the curvature stays on the device: only the columns that seem to count are asked for.

A thousand columns are 8 MB of curvature, of which a step whose answer has two hundred weights needs a fifth:
to copy all of it, and to copy it again for every problem made of it, took longer than the passes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dualgap.arrays import Index, Vector
from dualgap.solvers.metrics import FINE, FLOOR, ROUNDS, HeldGram, Priced

FIRST = 256  # columns of a step's first problem, where fewer have a weight; a choice


class PricedThere:
    """The steps of `solvers.metrics.Priced`, its matrix on the device, which it may change."""

    def __init__(self, matrix: Any, H: Any, ridge: Vector, price: Vector) -> None:
        self.matrix, self.H, self.ridge, self.price = matrix, H, ridge, price
        diagonal = np.asarray(matrix.host(H.diagonal().clone()))
        self.more = ridge + FLOOR * np.maximum(diagonal, 1e-300)
        self.place = np.full(len(ridge), -1)  # of a column among those that were asked for
        self.held, self.count = np.empty(H.shape), 0  # rows that were asked for: memory comes as they do
        self.U, self.c = np.zeros((0, len(ridge))), np.zeros(0)

    def step(self, g: Vector, w: Vector) -> Vector:
        """The way to the model's minimiser: of the columns with a weight, and of more while some want one."""
        residual, here = -(g + self.ridge * w), w.copy()
        inside = (w != 0.0) | (self.price == 0.0)
        for k in range(ROUNDS):
            worth = np.divide(abs(residual), self.price, out=np.zeros(len(w)), where=~inside)
            new = int(np.count_nonzero(worth > 1.0 + FINE))
            if k and not new:
                break
            room = min(new, max(FIRST, int(np.count_nonzero(inside))))
            if room:
                inside[np.argpartition(-worth, room - 1)[:room]] = True
            which = np.flatnonzero(inside)
            change = self._of(which).step(-residual[which] - self.ridge[which] * here[which], here[which])
            here[which] += change
            residual -= self._times(which, change)
        return np.asarray(here - w)

    def learn(self, s: Vector, t: Vector) -> None:
        """As `Priced` does."""
        live = np.flatnonzero(s)
        t, b = t + self.ridge * s, self._times(live, s[live])
        along, before = float(s @ t), float(s @ b)
        if along > 1e-14 * float(np.linalg.norm(s) * np.linalg.norm(t)) and before > 0.0:
            self.U = np.vstack([self.U, t, b])
            self.c = np.append(self.c, [1.0 / along, -1.0 / before])

    def _of(self, which: Index) -> Priced:
        """The problem of some columns."""
        self._ask(which)
        H = self.held[np.ix_(self.place[which], which)]
        if len(self.c):
            U = self.U[:, which]
            H += (U.T * self.c) @ U
        H.flat[:: len(H) + 1] += self.more[which]
        return Priced(HeldGram(H), self.ridge[which], self.price[which])

    def _times(self, which: Index, values: Vector) -> Vector:
        """The curvature times a vector that is zero elsewhere."""
        self._ask(which)
        along = np.zeros(self.count)
        along[self.place[which]] = values
        found = along @ self.held[: self.count] + (self.c * (self.U[:, which] @ values)) @ self.U
        found[which] += self.more[which] * values
        return np.asarray(found)

    def _ask(self, which: Index) -> None:
        """Rows of the curvature that were not asked for before."""
        missing = which[self.place[which] < 0]
        if len(missing):
            end = self.count + len(missing)
            self.place[missing] = np.arange(self.count, end)
            self.held[self.count : end] = self.matrix.host(self.H[self.matrix.index(missing)])
            self.count = end
