"""The factor of a matrix on a support that changes by a few columns from step to step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np

from dualgap.arrays import Index, Matrix, Vector
from dualgap.linalg.cholesky import cholesky

SHARE = 12  # one column in so many may differ from the factored ones before they are factored again
LEAST = 8


class Gathered(Protocol):
    """A symmetric matrix of which blocks can be had."""

    def block(self, which: Index) -> Matrix:
        """G[which, which], a copy."""

    def cross(self, rows: Index, columns: Index) -> Matrix:
        """G[rows, columns], a copy."""


class SupportFactor:
    """x with G[S, S] x = right for one support S after another.

    One Cholesky factor, of G on the columns B, serves while S differs from B by few columns: those added
    border the system, those removed are held at zero by multipliers, and both are eliminated by a Schur
    complement. A change of k columns costs k solves with the factor, a tenth of a new one for small k.
    """

    def __init__(self, gram: Gathered) -> None:
        self.gram = gram
        self.base: Index = np.zeros(0, dtype=np.int64)
        self.damping = 0.0
        self._solve: Callable[[Vector], Vector] | None = None
        self._through: dict[int, Vector] = {}  # G_B⁻¹ times what each changed column brings

    def solve(self, support: Index, right: Vector, damping: float) -> Vector:
        """`support` is increasing; the diagonal of G is raised by the share `damping`."""
        removed = np.setdiff1d(self.base, support, assume_unique=True)
        added = np.setdiff1d(support, self.base, assume_unique=True)
        changed = len(removed) + len(added)
        if self._solve is None or damping != self.damping or changed > max(LEAST, len(self.base) // SHARE):
            self._factor(support, damping)
            removed = added = np.zeros(0, dtype=np.int64)
        assert self._solve is not None
        if not len(removed) + len(added):
            return self._solve(right)
        try:
            return self._corrected(support, right, removed, added)
        except np.linalg.LinAlgError:  # columns that say the same
            self._factor(support, damping)
            return self._solve(right)

    def forget(self) -> None:
        """Factor anew at the next support."""
        self._solve = None

    def _factor(self, support: Index, damping: float) -> None:
        block = self.gram.block(support)
        block[np.diag_indices_from(block)] *= 1.0 + damping
        self._solve = cholesky(block)
        self.base, self.damping, self._through = support.copy(), damping, {}

    def _corrected(self, support: Index, right: Vector, removed: Index, added: Index) -> Vector:
        assert self._solve is not None
        full = np.zeros(int(max(self.base[-1], support[-1])) + 1)
        full[support] = right
        inside = self._solve(full[self.base])
        places = np.searchsorted(self.base, removed)
        border = self.gram.cross(self.base, added)
        through = self._solved(removed, added, places, border)
        schur = -np.vstack([border.T @ through, through[places]])
        corner = self.gram.block(added)
        corner[np.diag_indices_from(corner)] *= 1.0 + self.damping
        schur[: len(added), : len(added)] += corner
        rest = np.concatenate([full[added] - border.T @ inside, -inside[places]])
        multipliers = np.linalg.solve(schur, rest)
        full[self.base] = inside - through @ multipliers
        full[added] = multipliers[: len(added)]
        return np.asarray(full[support])

    def _solved(self, removed: Index, added: Index, places: Index, border: Matrix) -> Matrix:
        """G_B⁻¹ [border, unit columns], of which those met before are known."""
        assert self._solve is not None
        columns = np.concatenate([added, removed])
        fresh = [k for k, column in enumerate(columns) if int(column) not in self._through]
        if fresh:
            right = np.zeros((len(self.base), len(fresh)))
            for i, k in enumerate(fresh):
                if k < len(added):
                    right[:, i] = border[:, k]
                else:
                    right[places[k - len(added)], i] = 1.0
            for k, column in zip(fresh, self._solve(right).T, strict=True):
                self._through[int(columns[k])] = column
        return np.column_stack([self._through[int(column)] for column in columns])
