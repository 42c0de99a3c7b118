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
        )


def model(full: Matrix, pulled: Vector, chosen: Selection) -> Reduced:
    """For a heuristic: the unit is 1; columns that are nearly nothing, or nearly the same, are left out."""
    found, _ = _folded(full, pulled, chosen, DEPENDENT)
    alive = found.left > DEPENDENT
    if not found.ridge.any():
        alike = (np.abs(found.gram) >= np.sqrt(1.0 - ALIKE)) & alive[:, None]
        alive &= ~np.any(np.triu(alike, 1), axis=0)
    return found if alive.all() else found.of(alive)


def reduced(full: Matrix, pulled: Vector, chosen: Selection, total: float, most: int, rows: int) -> Reduced:
    """For a proof: `total` is the value at w = 0, `unit` that with nothing chosen.

    The diagonal is lowered for sums over so many `rows` and sets of `most` columns, see `gram`. No column of
    which anything is left is left out.
    """
    free = int(np.count_nonzero(~chosen.counted))
    share = (most + free + 1) * gamma(rows + 24 + 6 * free) * 1.001 + 4.0 * U
    full = full.copy()
    full.flat[:: len(full) + 1] *= 1.0 - share
    found, taken = _folded(full, pulled, chosen, LEFT)
    unit = total * (1.0 - share) - taken
    sure = found.sure and unit > LEFT * total and bool(np.all(found.left > LEFT))
    unit = max(unit, 0.0)
    linear = found.linear / np.sqrt(unit) if unit > 0.0 else found.linear
    found = replace(found, linear=linear, unit=unit, lowered=share, sure=sure)
    alive = found.left > 0.0
    return found if alive.all() else found.of(alive)


def _folded(full: Matrix, pulled: Vector, chosen: Selection, least: float) -> tuple[Reduced, float]:
    """Columns of length one with those always in eliminated one after the other, and what these take off.

    One of which no more than a share `least` is left when its turn comes is passed over: that is not sure.
    """
    columns, square = np.flatnonzero(chosen.counted), full.diagonal().copy()
    taken, firm = 0.0, True
    for j in np.flatnonzero(~chosen.counted):
        pivot = float(full[j, j])
        if not pivot > least * square[j]:
            firm = False
            continue
        line, along = full[j] / np.sqrt(pivot), float(pulled[j]) / np.sqrt(pivot)
        full, pulled, taken = full - np.outer(line, line), pulled - along * line, taken + along * along
    gram = full[np.ix_(columns, columns)]
    rest, whole = gram.diagonal(), square[columns]
    left = np.where((rest > 0.0) & (whole > 0.0), rest / np.where(whole > 0.0, whole, 1.0), 0.0)
    length = np.sqrt(np.where(left > 0.0, rest, 1.0))
    gram = np.tril(gram / np.outer(length, length), -1)
    gram += gram.T  # products with weights are not symmetric to the last digit
    ridge = chosen.ridge[columns] / (length * length) * (1.0 - 4.0 * U)
    np.fill_diagonal(gram, 1.0 + ridge)
    return Reduced(columns, gram, pulled[columns] / length, ridge, 1.0, length, left, 0.0, firm), taken
