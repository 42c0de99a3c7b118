"""What the rows make of weights that a penalty of differences does not see: polynomials over the scales."""

from __future__ import annotations

import numpy as np

from dualgap.arrays import Matrix, Vector
from dualgap.penalties.differences import Sums
from dualgap.proof.rounding import FEW, LEAST, U, two_product
from dualgap.proof.rows import Rows

WHOLE = 2.0**53  # sums of whole numbers below it are not rounded
LONGEST = 2**24  # columns: three times their square is a whole number below WHOLE


def unseen(rows: Rows, sums: Sums, *, exact: bool) -> tuple[Matrix, Matrix, Matrix]:
    """Their products with the rows, a column each, as a value and a correction; and the error of the two.

    The weights, up to a factor that all share, are quotients in twice the digits. Whole numbers among whole
    numbers are not rounded at all, and have no error.
    """
    found = [_along(rows, sums.scale, one, exact=exact) for one in sums.polynomials().T]
    value, low, error = (np.column_stack(part) for part in zip(*found, strict=True))
    return value, low, error if len(sums.scale) <= LONGEST else np.full_like(error, np.inf)


def _along(rows: Rows, scale: Vector, values: Vector, *, exact: bool) -> tuple[Vector, Vector, Vector]:
    top = scale.max()
    ratio = top / scale
    back, lost = two_product(ratio, scale)
    rest = ((top - back) - lost) / scale  # of what is divided: the first difference is exact
    high, low = two_product(values, ratio)
    low = low + values * rest
    off = np.where((low != 0.0) | (rest != 0.0), 32.0 * U * U * np.abs(high) + 8.0 * LEAST, 0.0)
    if not off.any() and _whole(rows, high):
        value = rows.times(high)[0]
        return value, np.zeros(rows.n), np.zeros(rows.n)
    value, rest, least = rows.times(high, exact=exact)
    correction, error = np.zeros(rows.n) + rest, np.full(rows.n, least + float(off @ rows.tops) * (1.0 + FEW))
    if low.any():
        more, _, doubt = rows.times(low)
        error = error + doubt + 2.0 * U * (np.abs(correction) + np.abs(more))
        correction = correction + more
    return value, correction, error * (1.0 + FEW) + LEAST


def _whole(rows: Rows, values: Vector) -> bool:
    """Are these weights and all numbers of the rows whole, and no sum of their products too large?"""
    if not np.all(values == np.floor(values)) or not float(np.abs(values) @ rows.tops) < WHOLE:
        return False
    for part in (slice(0, 1), slice(None)):  # most tables tell by their first row
        cells = rows.matrix[part] if not rows.sparse else rows.matrix.data[part]
        if not np.all(cells == np.floor(cells)):
            return False
    return True
