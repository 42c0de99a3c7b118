"""Vertices of the linear program of quantile regression, Σ a_i ρ_q(y_i − x_i·v) + Σ c_j |v_j|.

At a vertex as many rows have residual 0 as there are columns, its basis, and θ of every other row is at an
end. Ties (whole numbers, repeated rows, dummies) would let pivots go in circles: targets and ends are moved
by far less than counts.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import qr

from dualgap.arrays import Index, Matrix, Vector

MOVED = 1e-10  # share of the spread of y, and of a row's weight, by which ties are told apart
STILL = 1e-12  # a residual that moves by less than this share of the fastest does not move
WORTH = 1e-12  # share of a row's weight by which θ must be outside for the start to be improved
PATIENCE = 100  # pivots a row before the walk is given up: 1000 × 10 takes 4


@dataclass(frozen=True, eq=False)
class ProgramRows:
    """The rows of the program, those of the prices behind those of the data."""

    X: Matrix
    y: Vector
    weight: Vector  # a_i, and 0 for a price
    price: Vector  # 0, and c_j

    def ends(self) -> tuple[Vector, Vector, Vector]:
        """θ is between low + rate·q and high + rate·q."""
        return -self.weight - self.price, self.price.copy(), self.weight

    def stirred(self) -> ProgramRows:
        """The same without ties."""
        rng = np.random.default_rng(0)
        spread = float(np.abs(self.y).max(initial=0.0)) or 1.0
        noise = 1.0 + MOVED * rng.uniform(-1.0, 1.0, len(self.y))
        y = self.y + MOVED * spread * rng.uniform(-1.0, 1.0, len(self.y))
        return ProgramRows(self.X, y, self.weight * noise, self.price * noise)

    def near_the_mean(self) -> Index:
        """As many rows as columns, near the mean's plane where they can be."""
        root = np.sqrt(self.weight)
        near = np.linalg.lstsq(self.X * root[:, None], self.y * root, rcond=None)[0]
        miss = np.abs(self.y - self.X @ near)
        share = 1.0 / (miss + np.median(miss) + np.finfo(float).tiny)
        chosen = qr((self.X * share[:, None]).T, mode="r", pivoting=True)[1]
        return np.asarray(chosen[: self.X.shape[1]], dtype=np.intp)


@dataclass(eq=False)
class QuantileVertex:
    """A basis, its inverse, the residuals, and what the other rows' θ pull."""

    rows: ProgramRows
    basis: Index

    def __post_init__(self) -> None:
        self.refresh()

    def refresh(self) -> None:
        """Everything again from the rows."""
        rows = self.rows
        self.inverse: Matrix = np.asarray(np.linalg.inv(rows.X[self.basis]), dtype=np.float64)
        self.residual: Vector = np.asarray(rows.y - rows.X @ (self.inverse @ rows.y[self.basis]))
        self.residual[self.basis] = 0.0
        self.side: Vector = np.where(self.residual >= 0.0, 1.0, -1.0)
        self.side[self.basis] = 0.0
        low, high, rate = rows.ends()
        resting = np.where(self.side > 0.0, high, low) * (self.side != 0.0)
        self.pull: Matrix = np.array([resting @ rows.X, (rate * (self.side != 0.0)) @ rows.X])

    def theta(self, q: float) -> Vector:
        """θ of all rows."""
        low, high, rate = self.rows.ends()
        theta = np.where(self.side > 0.0, high, low) + q * rate
        theta[self.basis] = -(self.pull[0] + q * self.pull[1]) @ self.inverse
        return theta

    def settle(self, q: float) -> None:
        """The simplex method at one q: leave by the row furthest outside, pass kinks while it pays."""
        rows = self.rows
        low, high, rate = rows.ends()
        for _ in range(PATIENCE * len(rows.y)):
            inner = self.theta(q)[self.basis] - q * rate[self.basis]
            above, below = inner - high[self.basis], low[self.basis] - inner
            worst = np.maximum(above, below)
            slot = int(np.argmax(worst))
            if worst[slot] <= WORTH * float((high - low)[self.basis[slot]]):
                return
            sign = 1.0 if above[slot] > below[slot] else -1.0
            moves = -sign * (rows.X @ self.inverse[:, slot])
            met = np.flatnonzero(self.side * moves > STILL * np.abs(moves).max())
            if not len(met):
                return
            reach = self.residual[met] / moves[met]
            order = np.argsort(reach)
            paid = np.cumsum((np.abs(moves) * (high - low))[met[order]])
            last = min(int(np.searchsorted(paid, worst[slot])), len(met) - 1)
            self.basis = self.basis.copy()
            self.basis[slot] = met[order[last]]
            self.refresh()
        raise ArithmeticError("The simplex method goes in circles.")
