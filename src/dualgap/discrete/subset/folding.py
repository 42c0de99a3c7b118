"""A quadratic on the columns to choose from: those that are always in solved for, all of length one."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from dualgap.arrays import Index, Mask, Matrix, Vector
from dualgap.discrete.subset.selection import Selection
from dualgap.proof.rounding import U, gamma

DEPENDENT = 1e-11  # a column with less of its square left beside the free ones is no use to a heuristic
ALIKE = 1e-12  # columns with a squared correlation this near to one are the same to a heuristic
LEFT = 1e-4  # share of a square beside the free columns below which integers are to say what is left


@dataclass(frozen=True, eq=False)
class Reduced:
    """A quadratic −2cᵀw + wᵀHw + ridge with the columns that are always in solved for, on unit columns.

    It equals unit·(constant − 2 linearᵀu + uᵀ gram u); gram contains the ridge.
    """

    columns: Index
    gram: Matrix
    linear: Vector
    ridge: Vector
    unit: float
    length: Vector  # of the columns, beside those that are always in
    left: Vector  # share of their squares that is left beside those
    free: Index  # those that are always in; their weights with nothing chosen, and what a column takes off
    origin: Vector
    cross: Matrix
    largest: float  # correlation
    lowered: float  # share of the diagonal
    sure: bool  # is enough left of everything?

    def of(self, which: Mask) -> Reduced:
        """On some of the columns."""
        return replace(
            self,
            columns=self.columns[which],
            gram=np.ascontiguousarray(self.gram[np.ix_(which, which)]),
            linear=self.linear[which],
            ridge=self.ridge[which],
            length=self.length[which],
            left=self.left[which],
            cross=self.cross[which],
        )


def reduced(
    full: Matrix, pulled: Vector, chosen: Selection, total: float | None = None, most: int = 0, rows: int = 0
) -> Reduced:
    """Solve for the columns that are always in, and give the others unit length.

    `total` is the value at w = 0, which makes `unit` the value with nothing chosen; the diagonal is lowered
    for sums over so many `rows` and sets of `most` columns, see `gram`, and no column of which anything is
    left is left out. Without it the unit is 1, and columns that are nearly nothing, or the same, are.
    """
    from dualgap.discrete.subset.folded_columns import folded

    columns, free = np.flatnonzero(chosen.counted), np.flatnonzero(~chosen.counted)
    full = np.ascontiguousarray(full)
    unit, sure, square, share = total or 0.0, True, full.diagonal(), 0.0
    if total is not None:
        share = (most + len(free) + 1) * gamma(rows + 24 + 6 * len(free)) * 1.001 + 4.0 * U
        full = full.copy()
        full.flat[:: len(full) + 1] *= 1.0 - share
        unit *= 1.0 - share
    cross, origin = np.zeros((len(columns), 0)), np.zeros(0)
    if len(free) == 1 or (len(free) and total is None):
        inverse = _inverse(full[free[:, None], free])
        cross, origin = full[columns[:, None], free] @ inverse, inverse @ pulled[free]
        unit = unit - float(pulled[free] @ origin)
    elif len(free):
        square = full.diagonal().copy()
        full, pulled, unit, sure = _solved(full, pulled, unit, free)
    gram, linear, length, left, largest = folded(full, pulled, columns, free[: cross.shape[1]], cross)
    if total is not None and len(free) > 1:
        left = full.diagonal()[columns] / np.where(square[columns] > 0.0, square[columns], 1.0)
    alive = left > (DEPENDENT if total is None else 0.0)
    ridge = chosen.ridge[columns]
    if ridge.any():
        ridge = ridge / (length * length) * (1.0 - 4.0 * U)
    if total is None:
        unit = 1.0
        if not ridge.any() and largest >= np.sqrt(1.0 - ALIKE):
            alike = (np.abs(gram) >= np.sqrt(1.0 - ALIKE)) & alive[:, None]
            alive &= ~np.any(np.triu(alike, 1), axis=0)
    else:
        sure = sure and unit > LEFT * total and bool(np.all(left > LEFT))
        unit = max(unit, 0.0)
    if unit > 0.0:
        linear /= np.sqrt(unit)
    if ridge.any():
        np.fill_diagonal(gram, 1.0 + ridge)
    sizes = length, left, free, origin, cross
    found = Reduced(columns, gram, linear, ridge, unit, *sizes, float(largest), share, sure)
    return found if alive.all() else found.of(alive)


def _solved(full: Matrix, pulled: Vector, unit: float, free: Index) -> tuple[Matrix, Vector, float, bool]:
    """What several columns that are always in leave, one after the other; False if little is left of one."""
    square, firm = full.diagonal().copy(), True
    for j in free:
        pivot = float(full[j, j])
        if not pivot > LEFT * square[j]:
            firm = False
            continue
        line, along = full[j] / np.sqrt(pivot), float(pulled[j]) / np.sqrt(pivot)
        full, pulled, unit = full - np.outer(line, line), pulled - along * line, unit - along * along
    return full, pulled, unit, firm


def _inverse(gram: Matrix) -> Matrix:
    """Of what belongs to the free columns, most often the intercept alone."""
    if gram.shape == (1, 1) and gram[0, 0] > 0.0:
        return 1.0 / gram
    size = np.sqrt(gram.diagonal())
    unit = np.outer(size, size)
    unit[unit == 0.0] = 1.0
    return np.asarray(np.linalg.pinv(gram / unit, rcond=1e-13, hermitian=True) / unit)
