"""Every quantile of a linear model at once: the vertices of a linear program whose prices move with q.

    minimise over v of   Σ a_i ρ_q(y_i − x_i·v) + Σ c_j |v_j|,    ρ_q(r) = max(q r, (q − 1) r).

The price c_j |v_j| is a row too: x = e_j, y = 0, its θ between −c_j and c_j whatever q is. So a vertex has as
many rows with residual 0 as there are columns, and all other rows have θ at an end. Ties (whole numbers,
repeated rows, dummies) would let pivots go in circles: targets and ends are moved by far less than counts.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import qr

from dualgap.arrays import Index, Matrix, Vector
from dualgap.drive.limits import Limits
from dualgap.paths.quantile_pivots import DONE, pivots

MOVED = 1e-10  # share of the spread of y, and of a row's weight, by which ties are told apart
CHUNK = 256  # pivots between two fresh inverses; 1000 in a row lost 1e-10 of the residuals on 1000 × 10
START = 0.5  # where the walk begins, up and down
EDGE = 1e-12  # the walk ends so far from 0 and from 1
DEPENDENT = 1e-10  # a column is one of those before it if this share of it is left beside them
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
            met = np.flatnonzero(self.side * moves > EDGE * np.abs(moves).max())
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


@dataclass(frozen=True, eq=False)
class QuantileVertices:
    """`bases[k]` is optimal for q between `breaks[k]` and `breaks[k + 1]`."""

    rows: ProgramRows
    stirred: ProgramRows
    breaks: Vector
    bases: Index
    complete: bool

    def weights(self) -> Matrix:
        """v at every vertex, zero where its price is in the basis."""
        v = np.empty(self.bases.shape)
        for first in range(0, len(v), CHUNK):
            basis = self.bases[first : first + CHUNK]
            targets = self.rows.y[basis][..., None]
            v[first : first + CHUNK] = np.linalg.solve(self.rows.X[basis], targets)[..., 0]
        data = int(np.count_nonzero(self.rows.weight))
        priced = np.argmax(self.rows.X[data:] != 0.0, axis=1)
        which, slot = np.nonzero(self.bases >= data)
        v[which, priced[self.bases[which, slot] - data]] = 0.0
        return v

    def theta(self, q: float) -> Vector:
        """θ of the rows of the data."""
        k = int(np.clip(np.searchsorted(self.breaks, q) - 1, 0, len(self.bases) - 1))
        theta = QuantileVertex(self.stirred, self.bases[k]).theta(q)
        return theta[: np.count_nonzero(self.rows.weight)]


def walked(rows: ProgramRows, limits: Limits) -> QuantileVertices:
    """All vertices for 0 < q < 1; those next to the median where the time is over."""
    stirred = rows.stirred()
    first = QuantileVertex(stirred, _independent_rows(stirred))
    first.settle(START)
    below, down, one = _followed(stirred, first.basis, EDGE, limits)
    above, up, other = _followed(stirred, first.basis, 1.0 - EDGE, limits)
    breaks = np.concatenate(
        [[below[-1] if not one else 0.0], below[::-1], above, [above[-1] if not other else 1.0]]
    )
    bases = np.concatenate([down[::-1], first.basis[None, :], up])
    return QuantileVertices(rows, stirred, breaks, bases, one and other)


def _followed(rows: ProgramRows, basis: Index, stop: float, limits: Limits) -> tuple[Vector, Index, bool]:
    """Breakpoints on one side of the start, the bases behind them, and whether the end was met."""
    vertex, q = QuantileVertex(rows, basis.copy()), START
    met, bases = [np.empty(0)], [np.empty((0, len(basis)), dtype=np.intp)]
    for _ in range(PATIENCE * len(rows.y) // CHUNK + 1):
        found, logged = np.empty(CHUNK), np.empty((CHUNK, len(basis)), dtype=np.intp)
        state = vertex.inverse, vertex.basis, vertex.side, vertex.residual, rows.ends(), vertex.pull
        count, status = pivots(rows.X, *state, (q, stop), (found, logged))
        met.append(found[:count])
        bases.append(logged[:count])
        if status == DONE:
            return np.concatenate(met), np.concatenate(bases), True
        q = float(found[-1])
        if limits.spent:
            break
        vertex.refresh()
    return np.concatenate(met), np.concatenate(bases), False


def _independent_rows(rows: ProgramRows) -> Index:
    """As many rows as columns, near the mean's plane where they can be."""
    near = np.linalg.lstsq(rows.X * np.sqrt(rows.weight)[:, None], rows.y * np.sqrt(rows.weight), rcond=None)[
        0
    ]
    miss = np.abs(rows.y - rows.X @ near)
    share = 1.0 / (miss + np.median(miss) + np.finfo(float).tiny)
    chosen = qr((rows.X * share[:, None]).T, mode="r", pivoting=True)[1]
    return np.asarray(chosen[: rows.X.shape[1]], dtype=np.intp)


def independent_columns(X: Matrix, priced: Vector) -> Index:
    """Which columns to keep: all that have a price, and of the others those that are no sum of others."""
    free = np.flatnonzero(priced == 0.0)
    if not len(free):
        return np.arange(X.shape[1])
    factor, order = qr(X[:, free], mode="r", pivoting=True)
    size = np.abs(np.diag(factor[: len(free)]))
    rank = int(np.count_nonzero(size > DEPENDENT * size.max(initial=0.0)))
    return np.sort(np.concatenate([free[order[:rank]], np.flatnonzero(priced > 0.0)]))
