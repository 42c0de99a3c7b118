"""The curvature of a model on some columns, as coordinate descent and Newton want it."""

from __future__ import annotations

from typing import Any

import numpy as np

from dualgap.arrays import Index, Matrix, Vector, once
from dualgap.linalg.support_factor import SupportFactor
from dualgap.solvers.lasso.l1_quadratic import minimise, violation

SWEEPS = 60  # over the columns taken, before Newton: 20 took a tenth longer on 500 × 600
DEEP = 60  # turns of coordinate descent and Newton on one set
LITTLE = 0.1  # what these leave of the violations where they get on: less than this share


class MatrixAtHand:
    """G, gathered and subtracted by compiled loops."""

    gram: Matrix
    _loops: Any

    def block(self, live: Index) -> Matrix:
        """G[live, live]."""
        out = np.empty((len(live), len(live)))
        self._loops.gather(self.gram, live, out)
        return out

    def cross(self, rows: Index, columns: Index) -> Matrix:
        """G[rows, columns]."""
        return self.gram[np.ix_(rows, columns)]

    def subtract(self, live: Index, change: Vector, residual: Vector) -> None:
        """residual −= G[:, live] change."""
        self._loops.subtract_rows(self.gram, live, change, residual)


class ModelMatrix(MatrixAtHand):
    """½ wᵀGw − cᵀw + Σ price_j |w_j| over w, G at hand."""

    def __init__(self, gram: Matrix) -> None:
        from dualgap.solvers.lasso import gram_sweeps as loops

        self._loops, self.gram = loops, gram

    @once
    def factor(self) -> SupportFactor:
        """For Newton, where sweeps take too many."""
        return SupportFactor(self)

    def solve(self, w: Vector, residual: Vector, price: Vector, tolerance: float) -> float:
        """Minimise in place: by sweeps, and, where these take too many, by Newton on what is not zero.

        Operations that were lost: on sweeps that did not do, and on turns of both that hardly got on.
        """
        given = w.copy(), residual.copy()
        left = self._loops.settle(self.gram, w, residual, price, tolerance, SWEEPS * len(w))
        if left <= tolerance:
            return 0.0
        before, lost = violation(*given, price), float(SWEEPS * len(w) ** 2)
        reached = minimise(self, w, residual, price, DEEP, tolerance)
        if reached or violation(w, residual, price) <= LITTLE * before:
            return lost
        return lost + float(DEEP * int(np.count_nonzero(w)) ** 3)
