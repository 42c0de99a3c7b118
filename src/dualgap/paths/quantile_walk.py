"""Every quantile of a linear model at once: the vertices of a linear program whose prices move with q.

    minimise over v of   Σ a_i ρ_q(y_i − x_i·v) + Σ c_j |v_j|,    ρ_q(r) = max(q r, (q − 1) r).

The price c_j |v_j| is a row too: x = e_j, y = 0, its θ between −c_j and c_j whatever q is. So a vertex has as
many rows with residual 0 as there are columns, and all other rows have θ at an end.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import qr

from dualgap.arrays import Index, Matrix, Vector
from dualgap.drive.limits import Limits
from dualgap.linalg.quantile_vertex import PATIENCE, ProgramRows, QuantileVertex
from dualgap.paths.quantile_pivots import DONE, pivots

CHUNK = 256  # pivots between two fresh inverses; 1000 in a row lost 1e-10 of the residuals on 1000 × 10
START = 0.5  # where the walk begins, up and down
EDGE = 1e-12  # the walk ends so far from 0 and from 1
DEPENDENT = 1e-10  # a column is one of those before it if this share of it is left beside them


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
    first = QuantileVertex(stirred, stirred.near_the_mean())
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


def independent_columns(X: Matrix, priced: Vector) -> Index:
    """Which columns to keep: all that have a price, and of the others those that are no sum of others."""
    free = np.flatnonzero(priced == 0.0)
    if not len(free):
        return np.arange(X.shape[1])
    factor, order = qr(X[:, free], mode="r", pivoting=True)
    size = np.abs(np.diag(factor[: len(free)]))
    rank = int(np.count_nonzero(size > DEPENDENT * size.max(initial=0.0)))
    return np.sort(np.concatenate([free[order[:rank]], np.flatnonzero(priced > 0.0)]))
