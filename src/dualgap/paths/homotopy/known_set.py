"""The answer on a known set of active weights and kinked rows, from the system itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from dualgap.arrays import Vector
from dualgap.paths.homotopy.course import CURVATURE, KINK_AT, SLOPE_AT

if TYPE_CHECKING:
    from dualgap.paths.homotopy.engine import Engine


def solve_on_set(engine: Engine, code: NDArray[np.int8], s: float) -> Vector:
    """Weights, then multipliers, at level s of a path."""
    p, n, columns, pieces = engine.p, engine.n, engine.columns, engine.course.pieces
    inverse = bool(columns.l2.any())
    loss, price, ridge = (s, 1.0, 2.0) if inverse else (1.0, s, 0.0)
    active, state = np.flatnonzero(code[:p]), code[p:].astype(np.int64)
    kinked, piece, each = (state & 1) == 1, state >> 1, np.arange(n)
    rows = np.flatnonzero(kinked)
    part = columns.matrix[:, active]
    X = part.toarray() if sp.issparse(part) else part
    bend = np.where(kinked, 0.0, pieces[CURVATURE, each, piece])
    slope = np.where(kinked, 0.0, pieces[SLOPE_AT, each, piece])
    size = len(active)
    system = np.zeros((size + len(rows),) * 2)
    system[:size, :size] = (X * bend[:, None]).T @ X + np.diag(ridge * columns.l2[active])
    system[size:, :size] = X[rows]
    system[:size, size:] = X[rows].T
    right = np.concatenate(
        [
            -loss * (X.T @ slope) - price * columns.l1[active] * code[active],
            pieces[KINK_AT, rows, piece[rows]],
        ]
    )
    answer = np.linalg.lstsq(system, right, rcond=None)[0]
    answer += np.linalg.lstsq(system, right - system @ answer, rcond=None)[0]
    both = np.zeros(p + n)
    both[active], both[p + rows] = answer[:size], answer[size:]
    return both
