"""Which rows a plane can put right, decided without rounding: the data are the floats given, as integers.

Floats are whole multiples of a power of two, so that every column is a column of integers after a change of
its unit, and every change of coordinates by floats keeps it one. What rounding cannot decide is decided here.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cmp_to_key
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dualgap.arrays import Index, Matrix, Vector
from dualgap.proof.exact import eliminated

Integers: TypeAlias = NDArray[np.object_]  # entries are Python's, of any length

PRIMES = (2147483647, 2147483629)  # what vanishes by both vanishes: by chance once in 10^18
PASSES = 8  # at most: a turn has 50 bits, so that one more is needed for every 50 in which columns agree
SPREAD = 1e-6  # ratio of the smallest singular value to the largest at which coordinates are good


def whole(table: Matrix) -> Integers:
    """The columns as integers, each in units of a power of two of its own."""
    mantissa, exponent = np.frexp(table)
    mantissa, exponent = np.ldexp(mantissa, 53).astype(np.int64), exponent.astype(np.int64)
    exponent = np.where(mantissa == 0, np.iinfo(np.int64).max, exponent)
    shift = exponent - exponent.min(axis=0, initial=np.iinfo(np.int64).max)
    shift[mantissa == 0] = 0
    found = mantissa.astype(object)
    if np.any(shift):
        found = found * np.array([1 << int(s) for s in shift.ravel()], dtype=object).reshape(shift.shape)
    for j in range(found.shape[1]):
        found[:, j] //= max(int(np.gcd.reduce(found[:, j], initial=0)), 1)
    return np.asarray(found)


@dataclass(frozen=True, eq=False)
class Frame:
    """Coordinates u in which the rows are well spread: table·w ∝ rows·u with w = basis·u, but for rounding.

    `rows` holds integers, each column in a unit of its own: nothing is lost however dependent columns are.
    """

    basis: Matrix
    rows: Integers
    table: Matrix  # the rows as floats, each entry rounded once
    spread: float  # the smallest singular value of the columns given, of length one, over the largest

    def weights(self, u: Vector) -> Vector:
        """u in the coordinates of the table."""
        return self.basis @ u

    def coordinates(self, w: Vector) -> Vector:
        """The nearest u."""
        return np.asarray(np.linalg.lstsq(self.basis, w, rcond=None)[0], dtype=np.float64)


def frame(given: Matrix) -> Frame:
    """Singular vectors again and again, each product exact, until the columns are nearly orthogonal."""
    rows = whole(given)
    kept = independent(rows)
    first = rows[:, kept]
    longer = _lengthening(first)
    rows, change = first * longer, np.diag(longer)
    spread: list[float] = []
    for _ in range(PASSES):
        sizes, right = np.linalg.svd(_columns(rows), full_matrices=False)[1:]
        spread.append(float(sizes[-1] / sizes[0]) if len(sizes) else 1.0)
        if len(spread) > 1 and spread[-1] > SPREAD:
            break
        top = np.abs(rows).max(axis=0, initial=0)
        turn = right.T * np.asarray(top.max(initial=1) / top, dtype=np.float64)[:, None]
        turn = np.rint(turn / np.abs(turn).max(axis=0, initial=0.0) * 2.0**50)
        turn = turn.astype(np.int64).astype(object)
        rows, change = rows @ turn, change @ turn
        longer = _lengthening(rows)
        rows, change = rows * longer, change * longer
    basis = np.zeros((given.shape[1], len(kept)))
    most = np.abs(rows).max(axis=0, initial=0)
    for at, j in enumerate(kept):
        i = int(np.flatnonzero(first[:, at])[0])
        unit = Fraction(float(given[i, j])) / int(first[i, at])
        basis[j] = [float(Fraction(int(c), int(m)) / unit) for c, m in zip(change[at], most, strict=True)]
    return Frame(basis, rows, _columns(rows), spread[0])


def _lengthening(rows: Integers) -> Integers:
    """Powers of two that give the largest entries of all columns as many digits."""
    digits = [int(top).bit_length() for top in np.abs(rows).max(axis=0, initial=0)]
    return np.array([1 << (max(digits) - d) for d in digits], dtype=object)


def _columns(rows: Integers) -> Matrix:
    """Each column divided by its largest entry."""
    return floats(rows.T).T


def floats(rows: Integers) -> Matrix:
    """Each row divided by its largest entry, every quotient rounded once; a row of zeros stays one."""
    most = np.abs(rows).max(axis=1, initial=0)
    most[most == 0] = 1
    return np.asarray(rows / most[:, None], dtype=np.float64)


def residues(rows: Integers) -> NDArray[np.int64]:
    """The rows by either prime, and a last row with the prime itself."""
    parts = [np.vstack([rows % prime, np.full((1, rows.shape[1]), prime)]) for prime in PRIMES]
    return np.stack(parts).astype(np.int64)


def independent(rows: Integers) -> Index:
    """The first columns that are not combinations of columns before them.

    By a prime first: what is independent there is so. What is not is a combination if that can be shown.
    """
    prime, kept, used = PRIMES[0], list[int](), list[int]()
    left = (rows % prime).astype(np.int64)
    for j in range(left.shape[1]):
        at = np.flatnonzero(left[:, j])
        if not len(at):
            if not _is_combination(rows, j, kept, used):
                return np.array(eliminated(rows)[0], dtype=np.intp)  # the prime divides what it should not
            continue
        kept.append(j)
        used.append(int(at[0]))
        pivot = left[at[0]].copy()
        across = left[:, j] * pow(int(pivot[j]), -1, prime) % prime
        left = (left - across[:, None] * pivot % prime) % prime
    return np.array(kept, dtype=np.intp)


def _is_combination(rows: Integers, column: int, kept: list[int], used: list[int]) -> bool:
    """Is a column one of those kept? The rows used say which it would be, all rows whether it is."""
    square = np.column_stack([rows[np.ix_(used, kept)], rows[used, column]])
    pivots, solved, unit = eliminated(square)
    if pivots != list(range(len(kept))):
        return False
    return bool(np.all(rows[:, kept] @ solved[: len(kept), -1] == unit * rows[:, column]))


def infeasible(rows: Integers) -> tuple[Index | None, Vector]:
    """Rows that no u has all on its positive side, as few as any of them; or None, and such a u for all.

    Σ t = 1, rowsᵀt = 0, t ≥ 0 by the simplex method on integers, the least index first; its multipliers are
    that u where there is no such t.
    """
    count, dimension = rows.shape
    table = np.zeros((dimension + 2, count + dimension + 2), dtype=object)
    table[:dimension, :count] = rows.T
    table[dimension, :count] = 1
    table[dimension, -1] = 1
    for k in range(dimension + 1):
        table[k, count + k] = 1
    table[-1] = -table[:-1].sum(axis=0)
    table[-1, count : count + dimension + 1] = 0
    basis, unit = np.arange(count, count + dimension + 1), 1
    while True:
        falling = np.flatnonzero(table[-1, :count] < 0)
        if not len(falling):
            break
        enter = int(falling[0])
        leave = _leaving(table, enter, basis)
        pivot = table[leave, enter]
        others = np.arange(len(table)) != leave
        across = table[others, enter]
        table[others] = (table[others] * pivot - across[:, None] * table[leave]) // unit
        basis[leave], unit = enter, pivot
    if table[-1, -1] == 0:
        return np.sort(basis[(basis < count) & (table[:-1, -1] != 0)]), np.zeros(0)
    return None, floats((table[-1, count : count + dimension] - unit)[None, :])[0]


def _leaving(table: Integers, enter: int, basis: Index) -> int:
    """The row whose ratio is least, of equal ones that of the least variable."""
    best, top, bottom = -1, 0, 1
    for k in range(len(table) - 1):
        entry = table[k, enter]
        if entry > 0:
            here = table[k, -1] * bottom - top * entry
            if best < 0 or here < 0 or (here == 0 and basis[k] < basis[best]):
                best, top, bottom = k, table[k, -1], entry
    return best


def quotient(rows: Integers, pivots: Index) -> Integers:
    """Coordinates of the rows on the space where the pivots vanish, up to a positive factor for each."""
    left = rows.copy()
    for pick in pivots:
        pivot = left[pick].copy()
        at = int(np.flatnonzero(pivot)[0])
        if pivot[at] < 0:
            pivot = -pivot
        left = left * pivot[at] - left[:, at : at + 1] * pivot
        left = np.delete(left, at, axis=1)
    return np.asarray(left)


def sweep(rows: Integers, plus: Vector, minus: Vector) -> float:
    """The cheapest direction in the plane, no tie left to rounding: what rows that are not zero cost."""
    live = np.flatnonzero((rows != 0).any(axis=1))
    if not len(live):
        return 0.0
    a, b = rows[live, 0], rows[live, 1]
    flip = (a > 0) | ((a == 0) & (b < 0))
    x, y = np.where(flip, -b, b), np.where(flip, a, -a)  # the boundary, in the upper half plane
    guess = np.arctan2(*floats(np.column_stack([y, x])).T)

    def ahead(i: int, j: int) -> Any:
        across = y[i] * x[j] - x[i] * y[j]
        return (across > 0) - (across < 0)

    order = sorted(np.argsort(guess, kind="stable").tolist(), key=cmp_to_key(ahead))
    # just before the first boundary a row is where it is at angle zero, or comes from beyond it
    right = np.where(y == 0, b < 0, a > 0)
    cost = float(np.where(right, minus[live], plus[live]).sum())
    total = float((plus[live] + minus[live]).sum())
    best = min(cost, total - cost)
    for step, i in enumerate(order):
        cost += (plus[live[i]] - minus[live[i]]) * (1.0 if right[i] else -1.0)
        if step + 1 == len(order) or ahead(i, order[step + 1]) != 0:
            best = min(best, cost, total - cost)
    return best
