"""Exact numbers: floats as the rationals they are, integer elimination, reals to a hundred digits."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any

from mpmath import MPContext  # type: ignore[import-untyped]

Numbers = Sequence[int]
Table = list[list[int]]

real: Any = MPContext()  # a context of its own: nobody else's precision changes ours
real.dps = 100
FAR = 10**7
LONG = 30_000  # bits of an exponent beyond which a number is nothing, or not worth writing out


def rational(value: Any) -> Fraction:
    """A float (or anything that is a number) as the rational it is."""
    return Fraction(value) if isinstance(value, int | Fraction) else Fraction(float(value))


def low_bit(value: float) -> int:
    """The largest k for which value is a multiple of 2^k; value is not zero."""
    top, bottom = float(value).as_integer_ratio()
    return 1 - bottom.bit_length() if bottom > 1 else (top & -top).bit_length() - 1


def power_of_two(k: int) -> Fraction:
    """2^k, k of either sign."""
    return Fraction(1 << k) if k >= 0 else Fraction(1, 1 << -k)


def as_real(value: Fraction | int) -> Any:
    """A rational to a hundred digits."""
    if isinstance(value, int):
        return real.mpf(value)
    return real.mpf(value.numerator) / value.denominator


def as_rational(value: Any) -> Fraction:
    """A number of a hundred digits as the dyadic rational it is."""
    if isinstance(value, int | Fraction):
        return Fraction(value)
    sign, mantissa, exponent, _ = value._mpf_
    if not mantissa:
        if exponent:
            raise OverflowError("infinity or NaN is no rational")
        return Fraction(0)
    if exponent < -LONG:
        return Fraction(0)
    if exponent > LONG:
        raise OverflowError("too large to be written out")
    found = int(mantissa) * power_of_two(int(exponent))
    return -found if sign else found


def power_of_e(x: Any) -> Any:
    """e^x; 0 and infinity where it is far beyond every float, since its digits would take for ever."""
    if x < -FAR:
        return real.zero
    return real.inf if x > FAR else real.exp(x)


def common(values: Iterable[Fraction]) -> tuple[list[int], int]:
    """Numerators over one positive denominator."""
    held = list(values)
    bottom = math.lcm(*(value.denominator for value in held)) if held else 1
    return [value.numerator * (bottom // value.denominator) for value in held], bottom


def dot(a: Numbers, b: Numbers) -> int:
    """Σ a b."""
    return sum(x * y for x, y in zip(a, b, strict=True) if x and y)


def reduced(values: Numbers) -> list[int]:
    """The same direction in the smallest integers."""
    top = math.gcd(*values)
    return [value // top for value in values] if top > 1 else list(values)


class Echelon:
    """Independent integer equations r·u = t, solved for one coordinate each (Gauss and Jordan)."""

    def __init__(self, width: int) -> None:
        self.width = width
        self.rows: Table = []  # each with its right side behind
        self.pivots: list[int] = []
        self.taken: list[int] = []  # which of the offered equations were independent

    def offer(self, row: Numbers, right: int, name: int) -> bool:
        """Take an equation if it is independent of those before."""
        new = [*row, right]
        for pivot, old in zip(self.pivots, self.rows, strict=True):
            if new[pivot]:
                new = _cleared(new, old, pivot)
        place = next((j for j in range(self.width) if new[j]), None)
        if place is None:
            return False
        new = reduced(new)
        self.rows = [_cleared(old, new, place) if old[place] else old for old in self.rows]
        self.rows.append(new)
        self.pivots.append(place)
        self.taken.append(name)
        return True

    def completed(self, u: Sequence[Fraction]) -> list[Fraction]:
        """u with its pivot coordinates moved onto the equations."""
        free = [j for j in range(self.width) if j not in self.pivots]
        found = list(u)
        for pivot, row in zip(self.pivots, self.rows, strict=True):
            rest = row[-1] - sum((row[j] * found[j] for j in free if row[j]), Fraction(0))
            found[pivot] = Fraction(rest) / row[pivot]
        return found

    def null_basis(self) -> Table:
        """Integer vectors that span {u: r·u = 0 for all rows}."""
        basis = []
        for j in (j for j in range(self.width) if j not in self.pivots):
            bottom = math.lcm(*(row[p] for p, row in zip(self.pivots, self.rows, strict=True) if row[j]), 1)
            vector = [0] * self.width
            vector[j] = bottom
            for p, row in zip(self.pivots, self.rows, strict=True):
                vector[p] = -row[j] * (bottom // row[p])
            basis.append(reduced(vector))
        return basis


def _cleared(row: Numbers, by: Numbers, pivot: int) -> list[int]:
    """`row` without its entry at the pivot."""
    a, b = by[pivot], row[pivot]
    shared = math.gcd(a, b)
    a, b = a // shared, b // shared
    if a < 0:
        a, b = -a, -b
    return reduced([a * x - b * y for x, y in zip(row, by, strict=True)])


def solve_semidefinite(H: Table, right: Numbers) -> tuple[list[Fraction], bool]:
    """x with H x = right, True; or, where there is none, x with H x = 0 and right·x > 0, False.

    H is symmetric and positive semi-definite: a zero on the diagonal of what is left is a zero row.
    """
    size = len(H)
    rows = [[*line, value] for line, value in zip(H, right, strict=True)]
    order = list(range(size))
    before, rank = 1, 0
    while True:
        place = next((k for k in range(rank, size) if rows[k][order[k]]), None)
        if place is None:
            break
        rows[rank], rows[place] = rows[place], rows[rank]
        order[rank], order[place] = order[place], order[rank]
        pivot, lead = rows[rank], order[rank]
        for i in range(rank + 1, size):
            row = rows[i]
            factor, top = row[lead], pivot[lead]
            rows[i] = [(top * x - factor * y) // before for x, y in zip(row, pivot, strict=True)]
        before, rank = pivot[lead], rank + 1
    left = [rows[i][-1] for i in range(rank, size)]
    consistent = not any(left)
    found = [Fraction(0)] * size
    for i, value in zip(range(rank, size), left, strict=True):
        found[order[i]] = Fraction(value)
    for i in reversed(range(rank)):
        row = rows[i]
        rest = Fraction(row[-1] if consistent else 0)
        rest -= sum(
            (row[order[j]] * found[order[j]] for j in range(i + 1, size) if row[order[j]]), Fraction(0)
        )
        found[order[i]] = rest / row[order[i]]
    return found, consistent


def solve_square(A: list[list[Any]], right: list[Any], small: Any) -> list[Any]:
    """A x = right in real numbers, largest pivot first; unknowns without a pivot beyond `small` stay zero."""
    size = len(A)
    rows = [[*line, value] for line, value in zip(A, right, strict=True)]
    free = list(range(size))
    chosen: list[tuple[int, int]] = []
    for k in range(size):
        best, i, j = max((abs(rows[i][j]), i, j) for i in range(k, size) for j in free)
        if not best > small:
            break
        rows[k], rows[i] = rows[i], rows[k]
        free.remove(j)
        chosen.append((k, j))
        pivot = rows[k]
        for other in range(k + 1, size):
            row = rows[other]
            if row[j]:
                factor = row[j] / pivot[j]
                for column in (*free, size):
                    row[column] = row[column] - factor * pivot[column]
                row[j] = real.zero
    found = [real.zero] * size
    for k, j in reversed(chosen):
        row = rows[k]
        rest = row[size]
        for _, other in chosen[k + 1 :]:
            rest = rest - row[other] * found[other]
        found[j] = rest / row[j]
    return found
