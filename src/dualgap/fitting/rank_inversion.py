"""Intervals of quantile regression by inverting a rank test (Koenker 1994), as quantreg's default has them.

A weight w_j is held at b and the others are fitted again. With θ of that fit, which is q for rows above and
q − 1 for rows below it, and with x_j^⊥, what the other columns leave of x_j,

    T(b) = x_j·θ / (√(q(1 − q)) ‖x_j^⊥‖)

tells whether b is true. T falls in steps as b rises, at the breakpoints of a parametric linear program; the
interval ends where |T| passes its critical value, interpolated between the last two breakpoints.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.linalg import qr

from dualgap.arrays import Index, Matrix, Vector
from dualgap.errors import DataError
from dualgap.linalg.quantile_vertex import PATIENCE, ProgramRows, QuantileVertex

DEPENDENT = 1e-10  # a column is a sum of others if this share of it is left beside them
ONE = 1e-7  # share of the largest residual: nearer breakpoints are ties that were moved apart by 1e-10
FLAT = 1e-13  # of columns of size one: what moves more slowly than this does not move


def rank_intervals(columns: Matrix, residual: Vector, q: float, critical: float) -> Matrix:
    """Low and high end of each weight, less the weight; `residual` is that of the optimal weights."""
    scale = np.sqrt(np.mean(columns**2, axis=0))
    if not (scale > 0.0).all() or _dependent(columns / scale):
        raise DataError(
            'method="rank" needs columns of which none is a sum of others; leave one out, or use "bootstrap".'
        )
    n = len(residual)
    rows = ProgramRows(columns / scale, residual, np.ones(n), np.zeros(n)).stirred()
    vertex = QuantileVertex(rows, rows.near_the_mean())
    vertex.settle(q)
    moved = vertex.inverse @ rows.y[vertex.basis]
    ends = [
        [moved[j] + way * _reach(_Held.at(vertex, q, j, way), critical) for way in (-1.0, 1.0)]
        for j in range(columns.shape[1])
    ]
    return np.asarray(np.array(ends) / scale[:, None], dtype=np.float64)


def _dependent(columns: Matrix) -> bool:
    size = np.abs(np.diag(qr(columns, mode="r", pivoting=True)[0]))
    return len(columns) < columns.shape[1] or bool(size.min() <= DEPENDENT * size.max())


def _reach(held: _Held, critical: float) -> float:
    """How far the weight moves until the statistic is critical; infinite where it never is."""
    tie = ONE * float(np.abs(held.residual).max())
    inside = beyond = (0.0, held.statistic)
    for place, statistic in held.breakpoints():
        if place <= beyond[0] + tie:
            beyond = (beyond[0], statistic)
        elif beyond[1] >= critical:
            break
        else:
            inside, beyond = beyond, (place, statistic)
    if beyond[1] < critical:
        return float("inf")
    rise = beyond[1] - inside[1]
    return inside[0] + (beyond[0] - inside[0]) * (critical - inside[1]) / rise if rise > 0.0 else beyond[0]


@dataclass(eq=False)
class _Held:
    """The fit of all columns but one while the weight of that one moves: a basis, residuals, θ."""

    others: Matrix
    own: Vector
    ends: tuple[Vector, Vector]  # θ is between them
    way: float  # 1 where the weight rises, −1 where it falls
    basis: Index
    residual: Vector
    side: Vector
    theta: Vector

    @classmethod
    def at(cls, vertex: QuantileVertex, q: float, j: int, way: float) -> _Held:
        """At the optimal weights: the first row leaves the basis as Σ x_j θ moves away from 0."""
        rows, basis = vertex.rows, vertex.basis
        low, high, rate = rows.ends()
        low, high = low + q * rate, high + q * rate
        theta, side = vertex.theta(q), vertex.side.copy()
        change = -way * vertex.inverse[j]
        slot, length = _first_at_an_end(theta[basis], change, low[basis], high[basis])
        theta[basis] += length * change
        out = basis[slot]
        side[out] = np.sign(change[slot])
        theta[out] = high[out] if side[out] > 0.0 else low[out]
        others = np.delete(rows.X, j, axis=1)
        return cls(
            others,
            rows.X[:, j],
            (low, high),
            way,
            np.delete(basis, slot),
            vertex.residual.copy(),
            side,
            theta,
        )

    def __post_init__(self) -> None:
        left = self.own - self.others @ np.linalg.lstsq(self.others, self.own, rcond=None)[0]
        high = float(self.ends[1].max())
        self._unit = np.sqrt(high * (1.0 - high) * (left @ left))

    @property
    def statistic(self) -> float:
        """|T|, which rises either way."""
        return float(-self.way * (self.own @ self.theta) / self._unit)

    def breakpoints(self) -> Iterator[tuple[float, float]]:
        """How far the weight has moved when a row changes its side, and the statistic from there on."""
        low, high = self.ends
        place = 0.0
        for _ in range(PATIENCE * len(self.own)):
            inverse = np.asarray(np.linalg.inv(self.others[self.basis]), dtype=np.float64)
            speed = self.way * (self.others @ (inverse @ self.own[self.basis]) - self.own)
            met = np.flatnonzero(self.side * speed < -FLAT)
            if not len(met):
                return
            reach = np.maximum(-self.residual[met] / speed[met], 0.0)
            k = int(np.argmin(reach))
            row, step = met[k], float(reach[k])
            place += step
            self.residual += step * speed
            self._turn(int(row), inverse, low, high)
            self.residual[self.basis] = 0.0
            yield place, self.statistic

    def _turn(self, row: int, inverse: Matrix, low: Vector, high: Vector) -> None:
        """A row whose residual is zero comes into the basis, or goes to its other side if θ lets it."""
        basis, side = self.basis, self.side[row]
        change = side * (self.others[row] @ inverse)
        slot, length = _first_at_an_end(self.theta[basis], change, low[basis], high[basis])
        width = float(high[row] - low[row])
        self.theta[basis] += min(length, width) * change
        if length >= width:
            self.side[row] = -side
            self.theta[row] = low[row] if side > 0.0 else high[row]
            return
        out = basis[slot]
        self.side[out] = np.sign(change[slot])
        self.theta[out] = high[out] if self.side[out] > 0.0 else low[out]
        self.theta[row] -= side * length
        self.basis = basis.copy()
        self.basis[slot], self.side[row] = row, 0.0


def _first_at_an_end(theta: Vector, change: Vector, low: Vector, high: Vector) -> tuple[int, float]:
    """Which θ comes to an end first as all of them change, and how far that is."""
    still = np.abs(change) <= FLAT * np.abs(change).max(initial=0.0)
    room = np.where(change > 0.0, high - theta, low - theta)
    length = np.where(still, np.inf, np.maximum(room / np.where(still, 1.0, change), 0.0))
    slot = int(np.argmin(length)) if len(length) else 0
    return slot, float(length[slot]) if len(length) else np.inf
