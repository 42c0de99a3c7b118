"""What floating-point arithmetic may lose, and sums that lose next to nothing.

U is the unit roundoff. A sum of k products, in any order, is off by at most gamma(k) Σ|x||y| and what
underflows. Where that is too much, products and sums are split into their rounded value and their error, both
exact (Dekker 1971, Knuth 1969; Ogita, Rump and Oishi 2005).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dualgap.arrays import SMALLEST, Matrix

U = 2.0**-53  # half of what lies between 1 and the next double: a rounded result is off by no larger share
FEW = 2.0**-46  # 128 roundings: more than any formula here makes of one number, pairwise sums included
LEAST = SMALLEST  # twice what a product that underflows may lose
RUN = 4096  # numbers added in whatever order: three levels of them are 7·10¹⁰ rows, and off by 6e-12 at most
SPLITTER = 2.0**27 + 1.0  # cuts the 53 bits of a double into halves whose products are exact


def gamma(k: float) -> float:
    """k U / (1 − k U)."""
    return k * U / (1.0 - k * U) if k * U < 0.5 else np.inf


def total(values: Any) -> float:
    """Σ of numbers ≥ 0, from above. NumPy adds in pairs, so that FEW covers any length."""
    if isinstance(values, np.ndarray):
        return float(np.add.reduce(values, axis=None)) * (1.0 + FEW)
    return added_up(values) * (1.0 + FEW + share_of(values))


def added_up(values: Any) -> float:
    """Σ of numbers. What is not NumPy's may add in any order: in runs, sums of runs, and so on."""
    if isinstance(values, np.ndarray):
        return float(values.sum())
    while len(values) > RUN:
        whole = len(values) // RUN * RUN
        sums, rest = values[:whole].reshape((-1, RUN)).sum(1), values[whole:]
        if len(rest):
            sums[0] += rest.sum()
        values = sums
    return float(values.sum()) if len(values) else 0.0


def share_of(values: Any) -> float:
    """What `added_up` may be off by beside Σ|x|: nothing that FEW does not cover, where NumPy adds."""
    if isinstance(values, np.ndarray):
        return 0.0
    levels = math.ceil(math.log(max(len(values), 2), RUN))
    return 2.0 * gamma(levels * (2 * RUN))


@dataclass(frozen=True, eq=False)
class RowSums:
    """Sums of what a function makes of rows, and the largest of it; but for FEW the sums are off by `share`
    of Σ|x| at most.
    """

    values: Matrix
    tops: Matrix
    share: float


def sums_of(function: Any, arrays: Sequence[Any], numbers: Sequence[Any] = ()) -> RowSums:
    """`function` says of arrays and numbers what is to be added up, and of what (none of it negative) the
    largest is wanted. On a device one kernel does it all, where the function is one that can be written down.
    """
    if not isinstance(arrays[0], np.ndarray):
        from dualgap.device.kernels import added as added_there  # here: most proofs never need it

        there = added_there(function, arrays, numbers)
        if there is not None:
            return RowSums(there.sums, there.tops, there.share)
    values, tops = function(*arrays, *numbers)
    largest = [float(one.max()) if len(one) else 0.0 for one in tops]
    return RowSums(np.array([added_up(one) for one in values]), np.array(largest), share_of(arrays[0]))


def added(values: Iterable[float], *, up: bool) -> float:
    """A sum from above, or from below; as it is where no rounding is in it."""
    listed, limit = list(values), math.inf if up else -math.inf
    try:
        found = math.fsum(listed)
    except OverflowError:
        return limit
    if not math.isfinite(found) or math.fsum([*listed, -found]) == 0.0:
        return found
    return math.nextafter(found, limit)


def two_sum(a: Any, b: Matrix) -> tuple[Matrix, Matrix]:
    """a + b as its rounded value and the error of that, exactly."""
    value = a + b
    part = value - a
    return value, (a - (value - part)) + (b - part)


def two_product(a: Matrix, b: Matrix) -> tuple[Matrix, Matrix]:
    """a·b as its rounded value and the error of that, exactly but for underflow: 8 LEAST at most."""
    value = a * b
    high, low = _split(a)
    other, rest = _split(b)
    return value, ((high * other - value) + high * rest + low * other) + low * rest


def _split(a: Matrix) -> tuple[Matrix, Matrix]:
    """Two halves of 26 bits."""
    far = SPLITTER * a
    high = far - (far - a)
    return high, a - high


def summed(terms: Matrix) -> tuple[Matrix, Matrix]:
    """Σ along the first axis as a value and a correction; the correction alone is rounded."""
    low = np.zeros(terms.shape[1:])
    if not len(terms):
        return low, low
    while len(terms) > 1:
        half = len(terms) // 2
        value, error = two_sum(terms[:half], terms[half : 2 * half])
        low = low + error.sum(axis=0)
        terms = np.concatenate([value, terms[2 * half :]])
    return terms[0], low


def lost(k: int) -> float:
    """What a sum of k products by `two_product` and `summed` may be off by, beside Σ|x||y|.

    The errors of one level of the tree are at most U Σ|x||y| together, those of the products too; there are
    at most log₂(k + 1) + 3 such lots, and adding them up rounds no more often than there are numbers.
    """
    return (math.log2(k + 1.0) + 3.0) * U * gamma(2 * k + 4)


def product(high: Matrix, low: Matrix, M: Matrix) -> tuple[Matrix, Matrix]:
    """(high + low)·M as a value and a correction, which is at most U of the value.

    Off by lost(k) beside |high||M|, by gamma(k + 2) beside |low||M|, and by what underflows, 9 LEAST a term.
    """
    out, rest = np.empty((len(high), M.shape[1])), low @ M
    for j in range(M.shape[1]):
        value, error = two_product(high.T, M[:, j, None])
        out[:, j], correction = summed(value)
        rest[:, j] += correction + error.sum(axis=0)
    return two_sum(out, rest)
