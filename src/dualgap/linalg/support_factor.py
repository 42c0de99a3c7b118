"""The factor of a matrix on a support that changes by a few entries from step to step."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from scipy.linalg import lapack

from dualgap.arrays import Index, Matrix, Vector
from dualgap.linalg.cholesky import RAISES, Solve, cholesky

SHARE = 12  # one entry in so many may differ from the factored ones before they are factored again
LEAST = 8  # entries that may differ in any case, where the support is small; a choice


class Gathered(Protocol):
    """A symmetric matrix of which blocks can be had."""

    def block(self, which: Index) -> Any:
        """G[which, which], a copy in one piece for `cholesky`; of 4-byte numbers where these suffice."""

    def cross(self, rows: Index, columns: Index) -> Matrix:
        """G[rows, columns], a copy."""


class SupportFactor:
    """x with G[S, S] x = right for one increasing support S after another.

    One Cholesky factor, of G on the base B, serves while S differs from B by few entries: those added border
    the system, those removed are held at zero by multipliers, and both are eliminated by a Schur complement.
    A change of k entries costs k solves with the factor, a tenth of a new one for small k.
    """

    def __init__(self, gram: Gathered, raises: tuple[float, ...] = RAISES) -> None:
        self.gram, self.raises = gram, raises
        self.damping = 0.0
        self.base: Index = np.zeros(0, dtype=np.int64)
        self._support = self.base
        self._solve: Solve | None = None
        self._border: _Border | None = None
        self._sides: dict[int, tuple[Vector, Vector]] = {}  # what each changed entry brings, and G_B⁻¹ of it

    def solve(self, support: Index, right: Matrix, damping: float = 0.0) -> Matrix:
        """x for one right side, or several as columns; the diagonal of G is raised by the share `damping`."""
        if self._solve is None or damping != self.damping or not np.array_equal(support, self._support):
            self._move(support, damping)
        assert self._solve is not None
        return self._solve(right) if self._border is None else self._border.solve(right)

    def forget(self) -> None:
        """Factor anew at the next support."""
        self._solve = None

    def _move(self, support: Index, damping: float) -> None:
        if self._solve is None or damping != self.damping:
            self._factor(support, damping)
            return
        removed, added = _without(self.base, support), _without(support, self.base)
        changed = len(removed) + len(added)
        if changed > max(LEAST, len(self.base) // SHARE):
            self._factor(support, damping)
            return
        try:
            self._border = self._bordered(support, removed, added) if changed else None
            self._support = support.copy()
        except np.linalg.LinAlgError:  # entries that say the same
            self._factor(support, damping)

    def _factor(self, support: Index, damping: float) -> None:
        self._solve, self._border, self._sides = None, None, {}  # the old one is not held beside the new
        block = self.gram.block(support)
        block[np.diag_indices_from(block)] *= 1.0 + damping
        self._solve = cholesky(block, self.raises)
        self.base, self.damping = support.copy(), damping
        self._support = self.base

    def _bordered(self, support: Index, removed: Index, added: Index) -> _Border:
        self._learn(removed, added)
        known = [self._sides[int(entry)] for entry in np.concatenate([added, removed])]
        sides = np.column_stack([side for side, _ in known])
        through = np.column_stack([solved for _, solved in known])
        corner = self.gram.cross(added, added)
        corner[np.diag_indices_from(corner)] *= 1.0 + self.damping
        schur = -(sides.T @ through)
        schur[: len(added), : len(added)] += corner
        factor, pivots, failed = lapack.dgetrf(schur, overwrite_a=1)
        if failed:
            raise np.linalg.LinAlgError("the Schur complement is singular")
        assert self._solve is not None
        return _Border(self._solve, self.base, support, added, sides, through, (factor, pivots))

    def _learn(self, removed: Index, added: Index) -> None:
        """What entries bring that were not met before."""
        assert self._solve is not None
        fresh = np.array([j for j in added.tolist() if j not in self._sides], dtype=self.base.dtype)
        gone = np.array([j for j in removed.tolist() if j not in self._sides], dtype=self.base.dtype)
        if not len(fresh) + len(gone):
            return
        sides = np.zeros((len(self.base), len(fresh) + len(gone)))
        if len(fresh):
            sides[:, : len(fresh)] = self.gram.cross(self.base, fresh)
        sides[np.searchsorted(self.base, gone), np.arange(len(fresh), sides.shape[1])] = 1.0
        for j, side, solved in zip((*fresh, *gone), sides.T, self._solve(sides).T, strict=True):
            self._sides[int(j)] = (side, solved)


def _without(those: Index, others: Index) -> Index:
    """The entries of one increasing index that another has not, faster than by functions of sets."""
    if not len(others):
        return those
    place = np.minimum(np.searchsorted(others, those), len(others) - 1)
    return np.asarray(those[others[place] != those])


class _Border:
    """One support beside the base, ready for right sides."""

    def __init__(
        self,
        solve: Solve,
        base: Index,
        support: Index,
        added: Index,
        sides: Matrix,
        through: Matrix,
        schur: tuple[Matrix, Index],
    ) -> None:
        self.base_solve, self.base, self.support, self.added = solve, base, support, added
        self.sides, self.through, self.schur = sides, through, schur

    def solve(self, right: Matrix) -> Matrix:
        count, more = len(self.added), right.shape[1:]
        full = np.zeros((max(self.base.max(initial=0), self.support.max(initial=0)) + 1, *more))
        full[self.support] = right
        inside = self.base_solve(full[self.base])
        wanted = np.zeros((self.sides.shape[1], *more))
        wanted[:count] = full[self.added]
        around = lapack.dgetrs(*self.schur, wanted - self.sides.T @ inside)[0]
        full[self.base] = inside - self.through @ around
        full[self.added] = around[:count]
        return np.asarray(full[self.support])
