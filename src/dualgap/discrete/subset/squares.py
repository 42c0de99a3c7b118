"""The squared loss in integers: its Gram matrix without any rounding, and what is left beside some columns.

Floats are whole multiples of powers of two, so that every column is one of integers in a unit of its own, and
so are all sums of products. Eliminating columns without fractions (Bareiss 1968) leaves minors: a column is a
combination of others if what is left of it is 0, not if it is small, and what is left is known to the last
digit however small it is. Columns that agree to fifteen digits are as good here as any.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dualgap.arrays import Index, Mask, Matrix, Vector
from dualgap.discrete.integers import Integers
from dualgap.discrete.subset.selection import Selection, selection
from dualgap.problem.problem import Problem
from dualgap.proof.exact import whole
from dualgap.proof.rounding import two_product

ROUNDED = 8 * 2.0**-53  # of an entry of a `Rest` in floats: three roundings of numbers, and two square roots
SLICES = 40  # parts of the columns beyond which their numbers are taken one by one
FAINT = 2.0**-900  # products below which their rounding error may be lost
LARGEST = 1_000_000_000  # products that are worth waiting for: each is made of ten or more by BLAS
ALIKE = 1.0 - 1e-9  # correlation from which two columns may be multiples of one another


@dataclass(frozen=True, eq=False)
class Rest:
    """What some columns leave of others: unit·(1 − 2cᵀu + uᵀGu), ones on the diagonal of G, all to ROUNDED.

    `ridge` is the part of the diagonal that comes from a square, from below.
    """

    columns: Index
    gram: Matrix
    linear: Vector
    ridge: Vector
    unit: Fraction


class Squares:
    """Σ a (y − Xw)² + Σ ridge w² = 2^below·zᵀNz with z_j = −2^e_j w_j, for y 2^e_y; N is `whole`."""

    def __init__(self, problem: Problem) -> None:
        self.chosen: Selection = selection(problem)
        table, self.exponents = _scaled(np.column_stack([problem.design.toarray(), problem.y]))
        weights, more = _scaled(problem.a[:, None])
        self.whole, below = _gram(table, weights[:, 0])
        self.below = int(more[0]) + below
        if self.chosen.ridge.any():
            self._add_ridge()
        self._steps: list[tuple[tuple[int, ...], tuple[Integers, int]]] = []

    def _add_ridge(self) -> None:
        parts = [
            Fraction(ridge) / self._two(2 * int(e) + self.below)
            for ridge, e in zip(self.chosen.ridge.tolist(), self.exponents, strict=False)
        ]
        finer = max(part.denominator for part in parts)  # a power of two, as those of all floats
        self.below -= finer.bit_length() - 1
        self.whole = self.whole * finer
        for j, part in enumerate(parts):
            self.whole[j, j] += int(part * finer)

    @staticmethod
    def _two(power: int) -> Fraction:
        return Fraction(2) ** power

    def _value(self, square: int, over: int) -> Fraction:
        """An entry of the targets' square in the units of the objective."""
        return Fraction(square, over) * self._two(2 * int(self.exponents[-1]) + self.below)

    @cached_property
    def _free(self) -> tuple[Integers, int]:
        """With the columns that are always in solved for."""
        return _eliminated(self.whole, np.flatnonzero(~self.chosen.counted))

    def left(self, inside: Sequence[int], live: Index) -> Rest | None:
        """What these columns leave of the live ones; None if one of them is a combination of the others.

        Live columns that are combinations of those, or multiples of earlier live ones, are not in it.
        """
        found = self._without(tuple(inside))
        if found is None:
            return None
        table, over = found
        order = np.append(live, len(table) - 1)
        table = table[np.ix_(order, order)]
        gram = _correlations(table)
        alive = np.array([table[at, at] != 0 for at in range(len(live))], dtype=bool)
        ridge = np.zeros(len(live))
        if self.chosen.ridge[live].any():
            for at, j in enumerate(live.tolist()):
                size = Fraction(table[at, at], over) * self._two(2 * int(self.exponents[j]) + self.below)
                ridge[at] = float(Fraction(float(self.chosen.ridge[j])) / size) * (1.0 - ROUNDED)
        else:
            alive = _told_apart(table, gram, alive)
        kept = np.flatnonzero(alive)
        part = np.ascontiguousarray(gram[np.ix_(kept, kept)])
        np.fill_diagonal(part, 1.0)
        unit = self._value(table[-1, -1], over)
        return Rest(live[kept], part, gram[kept, -1], ridge[kept], unit)

    def _without(self, inside: tuple[int, ...]) -> tuple[Integers, int] | None:
        """With these solved for as well; None if nothing is left of one when its turn comes.

        The next to be asked for mostly begin with the same ones.
        """
        while self._steps and self._steps[-1][0] != inside[: len(self._steps)]:
            self._steps.pop()
        while len(self._steps) < len(inside):
            table, over = self._steps[-1][1] if self._steps else self._free
            at = inside[len(self._steps)]
            if table[at, at] == 0:
                return None
            self._steps.append((inside[: len(self._steps) + 1], _step(table, at, over)))
        return self._steps[-1][1] if inside else self._free

    def full(self) -> Fraction:
        """The value with every column in and none paid for: no set does better."""
        start, over = self._free
        table, over = _eliminated(start, np.flatnonzero(self.chosen.counted), over)
        return self._value(table[-1, -1], over)

    def weights(self, columns: Index) -> Vector:
        """Floats near the best weights on some columns and those always in, one rounded after the other.

        Those still to be rounded make up for what is lost by those that are. Where most is lost comes first.
        (Babai 1986: the nearest plane.)
        """
        live = np.concatenate([np.flatnonzero(~self.chosen.counted), columns]).astype(np.intp)
        first = self._solved(live, rounded=False)
        order = sorted(first, key=lambda j: abs(first[j]) * self._two(int(self.exponents[j])))
        found = self._solved(np.array(order, dtype=np.intp), rounded=True)
        w = np.zeros(len(self.whole) - 1)
        w[list(found)] = [float(value) for value in found.values()]
        return w

    def _solved(self, live: Index, *, rounded: bool) -> dict[int, Fraction]:
        """The best weights, from the last column to the first; combinations of earlier ones have none."""
        order = np.append(live, len(self.whole) - 1)
        table, over = self.whole[np.ix_(order, order)], 1
        rows: dict[int, Integers] = {}
        for at in range(len(live)):
            if table[at, at] != 0:
                rows[at] = table[at].copy()
                table, over = _step(table, at, over)
        units = [self._two(int(e)) for e in self.exponents[order]]
        found: dict[int, Fraction] = {}
        for at in reversed(rows):
            row = rows[at]
            known = sum((row[k] * units[k] * value for k, value in found.items()), Fraction(0))
            rest = row[-1] * units[-1] - known
            value = rest / (row[at] * units[at])
            found[at] = _as_float(value) if rounded else value
        return {int(live[at]): value for at, value in found.items()}


def _as_float(value: Fraction) -> Fraction:
    try:
        return Fraction(float(value))
    except OverflowError:
        return Fraction(0)


def affordable(problem: Problem) -> bool:
    """Is the matrix of integers soon made?"""
    return problem.n * problem.p**2 <= LARGEST and problem.p <= 500


def below(value: Fraction) -> float:
    """A float that is not above it; of a number ≥ 0."""
    try:
        return max(math.nextafter(float(value), -math.inf), 0.0)
    except OverflowError:
        return float(np.finfo(np.float64).max)


def _eliminated(table: Integers, pivots: Index, over: int = 1) -> tuple[Integers, int]:
    """What is left of a symmetric matrix of integers over `over` with some columns solved for, and over what.

    Columns of which nothing is left when their turn comes are passed over.
    """
    for at in pivots.tolist():
        if table[at, at] != 0:
            table, over = _step(table, at, over)
    return table, over


def _step(table: Integers, at: int, over: int) -> tuple[Integers, int]:
    """One column solved for: every division is exact, every entry a minor. Its own row and column are 0."""
    pivot, row = table[at, at], table[at].copy()
    table = (table * pivot - np.outer(row, row)) // over
    table[at], table[:, at] = 0, 0
    return table, pivot


def _told_apart(table: Integers, gram: Matrix, alive: Mask) -> Mask:
    """Columns left once multiples of earlier ones are gone: where Cauchy's inequality holds with equality."""
    count = len(alive)
    near = np.argwhere(np.triu(np.abs(gram[:count, :count]) > ALIKE, 1) & alive & alive[:, None])
    for i, j in near.tolist():
        if alive[i] and alive[j] and table[i, j] ** 2 == table[i, i] * table[j, j]:
            alive[j] = False
    return alive


def _correlations(table: Integers) -> Matrix:
    """t_ij / √(t_ii t_jj), 0 where nothing is left."""
    size = len(table)
    parts = np.array([_frexp(value) for value in table.ravel().tolist()]).reshape(size, size, 2)
    mantissa, exponent = parts[..., 0], parts[..., 1].astype(np.int64)
    top, level = mantissa.diagonal(), exponent.diagonal()
    odd = level % 2
    root, half = np.sqrt(np.where(top > 0.0, top, 1.0) * (1 + odd)), (level - odd) // 2
    power = np.clip(exponent - half - half[:, None], -1100, 1100)
    live = top > 0.0
    return np.asarray(np.where(np.outer(live, live), np.ldexp(mantissa / np.outer(root, root), power), 0.0))


def _frexp(value: int) -> tuple[float, int]:
    """A float between ½ and 1 in size, and the power of two that it is to be multiplied with."""
    more = max(value.bit_length() - 64, 0)
    mantissa, exponent = math.frexp(value >> more)
    return mantissa, exponent + more


def _scaled(table: Matrix) -> tuple[Matrix, NDArray[np.int64]]:
    """Every column below one in size, and the exponents that takes; powers of two round nothing."""
    exponents = np.frexp(np.abs(table).max(axis=0, initial=0.0))[1].astype(np.int64)
    half = exponents // 2  # in two steps, since 2^−1074 has no inverse
    return np.ldexp(np.ldexp(table, -half), half - exponents), exponents


def _gram(table: Matrix, weights: Vector) -> tuple[Integers, int]:
    """tableᵀ diag(weights) table, numbers below one, as integers times the power of two that is returned.

    Columns are cut into slices of so few bits that a sum of products of two slices is exact in floats, hence
    made by BLAS (Ozaki, Ogita, Oishi and Rump 2012).
    """
    bits = (51 - math.ceil(math.log2(max(len(table), 2)))) // 2
    equal = bool(np.all(weights == weights[0]))
    value, error = (table, np.zeros(0)) if equal else two_product(table, weights[:, None])
    faint = bool(np.any((np.abs(value) < FAINT) & (table != 0.0)))
    left = None if faint else _slices(table, bits)
    right = left if equal or left is None else _added(_slices(value, bits), _slices(error, bits))
    if left is None or right is None:
        return _directly(table, weights)
    shape = table.shape[1], table.shape[1]
    levels = [np.zeros(shape, np.int64) for _ in range(len(left) + len(right))]
    for s, one in enumerate(left):
        for t, other in enumerate(right):
            levels[s + t] += (one.T @ other).astype(np.int64)
    found = levels[0].astype(object)
    for level in levels[1:]:
        found = (found << bits) + level
    power = -bits * (len(levels) + 1)
    if equal:
        mantissa, exponent = _as_integer(float(weights[0]))
        found, power = found * mantissa, power + exponent
    return _shorter(found, power)


def _as_integer(value: float) -> tuple[int, int]:
    above, under = value.as_integer_ratio()
    return above, 1 - under.bit_length()


def _slices(table: Matrix, bits: int) -> list[Matrix] | None:
    """Whole numbers q_0, q_1, … with table = Σ q_s 2^(−bits·(s + 1)); None if there are too many."""
    parts: list[Matrix] = []
    left = table
    while left.any():
        if len(parts) == SLICES:
            return None
        left = np.ldexp(left, bits)
        parts.append(np.rint(left))
        left = left - parts[-1]  # exact: what is left of a float beside a whole number
    return parts or [table]


def _added(first: list[Matrix] | None, second: list[Matrix] | None) -> list[Matrix] | None:
    if first is None or second is None:
        return None
    longer, shorter = (first, second) if len(first) >= len(second) else (second, first)
    return [part + shorter[s] if s < len(shorter) else part for s, part in enumerate(longer)]


def _directly(table: Matrix, weights: Vector) -> tuple[Integers, int]:
    """Number by number, where they are of very different size."""
    columns = [whole(column.tolist()) for column in table.T]
    weight, under = whole(weights.tolist())
    most = max(unit for _, unit in columns)
    rows = np.array([column * (most // unit) for column, unit in columns], dtype=object)
    power = -2 * (most.bit_length() - 1) - (under.bit_length() - 1)
    return _shorter((rows * weight) @ rows.T, power)


def _shorter(whole: Integers, power: int) -> tuple[Integers, int]:
    """Without the twos that all numbers share."""
    shared = int(np.gcd.reduce(whole, axis=None)) if whole.any() else 1
    twos = (shared & -shared).bit_length() - 1
    return whole >> twos, power + twos
