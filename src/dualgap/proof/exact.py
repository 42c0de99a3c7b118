"""Decisions about floats that hold for real numbers: floats are rationals, and what rounding leaves open is
computed with integers.

On which side of a plane a row lies; whether a direction separates, so that a loss that falls for ever has no
minimiser; whether the hulls of two classes meet, so that no plane separates them; how wide a margin can be.
A matrix is a dense array or a SciPy sparse one of finite floats, which is never made dense as a whole.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from operator import mul
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dualgap.arrays import SMALLEST, Index, Matrix, Vector
from dualgap.proof.processor import PlainArithmetic
from dualgap.proof.rows import _parts

Integers: TypeAlias = NDArray[np.object_]  # entries are Python's, of any length
Signs: TypeAlias = NDArray[np.int8]

ROUNDED = 2.0**-52  # 2u: twice what a rounding takes, for the rounding of the bound itself
FAINTEST = 2.0**-300  # of the largest weight
ELIMINATED = 64  # equations: 60 take a second, 100 take ten


def signs(matrix: Any, w: Vector, level: float = 0.0) -> Signs:
    """The sign of x·w + level, row by row."""
    own = np.ones(matrix.shape[0], dtype=np.intp)
    return leads(matrix, own, np.vstack([np.zeros(len(w)), w]), np.array([0.0, level]))[:, 0]


def separates(matrix: Any, y: Vector, w: Matrix, level: float | Vector = 0.0) -> bool:
    """Is y (x·w + level) ≥ 0 in every row and > 0 in some? Then no loss that falls for ever has a minimiser.

    With a row of w per class: is x·w_y + level_y at least every other class's, and above one? `y` then holds
    the numbers of the classes, else ±1. That w moves no penalised column is the caller's to see.
    """
    found = _ahead(matrix, y, w, level, 0.0)
    return bool(np.all(found >= 0) and np.any(found > 0))


def clears(matrix: Any, y: Vector, w: Matrix, level: float | Vector, by: float = 1.0) -> bool:
    """Is y (x·w + level) ≥ by in every row? Or the own class, of many, ahead of every other by so much?"""
    return bool(np.all(_ahead(matrix, y, w, level, by) >= 0))


def _ahead(matrix: Any, y: Vector, w: Matrix, level: float | Vector, by: float) -> Signs:
    """The signs of what is to be positive; two classes are two scores, the first of which is 0."""
    w, level = np.asarray(w, dtype=np.float64), np.asarray(level, dtype=np.float64)
    if not (np.isfinite(w).all() and np.isfinite(level).all()):
        return np.array([-1], dtype=np.int8)
    if w.ndim == 1:
        y, w, level = np.where(y > 0, 1.0, 0.0), np.vstack([np.zeros(len(w)), w]), np.array([0.0, level])
    own = y.astype(np.intp)
    found = leads(matrix, own, w, np.broadcast_to(level, len(w)), by)
    return np.asarray(found[own[:, None] != np.arange(len(w))])


def leads(matrix: Any, own: Index, w: Matrix, level: Vector, by: float = 0.0) -> Signs:
    """The sign of (x·w_own + level_own) − (x·w_k + level_k) − by for every row and class k.

    A product of k terms is wrong by at most γ_{k+3} Σ|x||w| and its underflow, in whichever order it is added
    up; where that leaves the sign open, or a number overflows, integers decide. 0 where k is the own class.
    """
    rows = matrix.tocsr() if hasattr(matrix, "tocsr") else np.asarray(matrix)
    n, k = rows.shape
    found = np.empty((n, len(w)), dtype=np.int8)
    numbers, _ = whole([*w.ravel().tolist(), *level.tolist(), by])
    blocks, base = numbers[: w.size].reshape(w.shape), numbers[w.size : -1]
    for here in _parts(n, k):
        part, mine = rows[here], own[here, None]
        with PlainArithmetic():
            score, size = part @ w.T + level, abs(part) @ abs(w).T + abs(level)
            ahead = np.take_along_axis(score, mine, 1) - score - by
            size = np.take_along_axis(size, mine, 1) + size
            lost = ROUNDED * size + 2.0 * SMALLEST  # twice a rounding, four times what underflows
            sure = abs(ahead) > (k + 5) * lost
            found[here] = np.sign(ahead)
        for i, other in np.argwhere(~sure & (mine != np.arange(len(w)))).tolist():
            at, (x, unit) = _row(part, i)
            mix = (blocks[mine[i, 0]] - blocks[other])[at]
            total = sum(map(mul, x, mix)) + unit * (base[mine[i, 0]] - base[other] - numbers[-1])
            found[here.start + i, other] = (total > 0) - (total < 0)
    found[np.arange(n), own] = 0
    return found


def _row(part: Any, i: int) -> tuple[Index, tuple[Integers, int]]:
    """The columns of the numbers that are not zero, and these."""
    if isinstance(part, np.ndarray):
        at = np.flatnonzero(part[i])
        return at, whole(part[i, at].tolist())
    here = slice(part.indptr[i], part.indptr[i + 1])
    return part.indices[here], whole(part.data[here].tolist())


def whole(values: Iterable[float]) -> tuple[Integers, int]:
    """The floats times a power of two that makes integers of them, and that power; NaN and ∞ raise."""
    ratios = [value.as_integer_ratio() for value in values]
    unit = max((below for _, below in ratios), default=1)
    return np.array([above * (unit // below) for above, below in ratios], dtype=object), unit


def hulls_meet(matrix: Any, y: Vector, weights: Vector, *, intercept: bool) -> bool:
    """Do weights t ≥ 0 near those given, not all zero, make Σ y t x = 0 (and Σ y t = 0) without any rounding?

    Then the hulls of the classes meet (without intercept: the hull of the rows y x holds 0), and no plane has
    every row strictly on its side. True is a proof; False says nothing. For s weights and p columns the first
    try takes s p integers and a p × p inverse, the second (up to 64 columns) s p² products of numbers of up
    to 60 p bits: 0.2 s for p = 30, s = 60.
    """
    used = _support(weights)
    if not len(used):
        return False
    table = _equations(_dense(matrix, used), np.asarray(y)[used], intercept)
    table = table[(table != 0).any(axis=1)]
    near = np.asarray(weights, dtype=np.float64)[used]
    near = near / near[0]
    return _meet_nearby(table, near) or (len(table) <= ELIMINATED and _meet_exactly(table, near))


def _support(weights: Vector) -> Index:
    """The rows with weight, the heaviest first and the faintest left out; none if a weight is ∞ or NaN."""
    weights = np.asarray(weights, dtype=np.float64)
    some = np.flatnonzero(weights > FAINTEST * weights.max(initial=0.0))
    return np.asarray(some[np.argsort(-weights[some], kind="stable")])


def _dense(matrix: Any, rows: Index) -> Matrix:
    if not hasattr(matrix, "tocsr"):
        return np.asarray(matrix)[rows]
    return np.asarray(matrix.tocsr()[rows].toarray())


def _equations(X: Matrix, y: Vector, intercept: bool) -> Integers:
    """What t is to make zero: a row y (x − x_0), or y x, of integers per column, and y for the intercept."""
    side = _sides(y)
    lines = [whole(column)[0] for column in X.T.tolist()]
    table = [side * (line - line[0] if intercept else line) for line in lines]
    table = [*table, side] if intercept else table
    return np.array(table, dtype=object).reshape(len(table), len(y))


def _sides(y: Vector) -> Integers:
    """±1."""
    return np.array([1 if value > 0 else -1 for value in y], dtype=object)


def _meet_nearby(table: Integers, near: Vector) -> bool:
    """Is there an exact solution that differs from the weights by less than themselves?

    t z solves the equations for z = 1 but for `left`. Let C be the first columns times their t, and R any
    matrix: if ‖1 − RC‖ + ‖R left‖ < 1, largest row sums, C can be inverted, and moving the first entries of
    z by C⁻¹ left, which is less than 1 in size, solves them exactly. Where C is not square inv refuses. What
    underflows, 2^−1074 of an entry, is nothing even beside the largest R there can be.
    """
    m = len(table)
    top = np.abs(table).max(axis=1)
    t, unit = whole(near.tolist())
    left = np.abs(np.asarray((table @ t) / (top * unit), dtype=np.float64))
    C = np.asarray(table[:, :m] / top[:, None], dtype=np.float64) * near[:m]
    try:
        R = np.linalg.inv(C)
    except np.linalg.LinAlgError:
        return False
    with PlainArithmetic():
        rounding = (m + 5) * ROUNDED * (np.abs(R) @ np.abs(C))
        total = (np.abs(np.eye(m) - R @ C) + rounding).sum(axis=1) + np.abs(R) @ left
    return bool(np.all(total < 0.4))  # less than half for either, as these sums round too


def _meet_exactly(table: Integers, near: Vector) -> bool:
    """Are there solutions ≥ 0 with the lightest weights, which the others can follow, as they are or 0?"""
    pivots, solved, unit = eliminated(table)
    free = np.setdiff1d(np.arange(len(near)), pivots)
    values, _ = whole(near.tolist())
    for count in range(len(free), 0, -1):
        t = np.zeros(len(near), dtype=object)
        t[free[:count]] = unit * values[free[:count]]
        t[pivots] = -(solved[: len(pivots), free[:count]] @ values[free[:count]])
        if _solves(table, unit * t):
            return True
    return False


def _solves(table: Integers, t: Integers) -> bool:
    """The proof itself: t ≥ 0, not all zero, and every equation holds."""
    return bool(np.all(t >= 0) and np.any(t > 0) and not np.any(table @ t))


def eliminated(table: Integers) -> tuple[list[int], Integers, int]:
    """The first independent columns, the rows solved for them, and what they hold there beside zeros.

    Gauss and Jordan without fractions (Bareiss 1968): every division is exact, every entry a minor.
    """
    table, unit = table.copy(), 1
    pivots: list[int] = []
    for j in range(table.shape[1]):
        at = len(pivots)
        live = np.flatnonzero(table[at:, j])
        if len(live):
            table[[at, at + live[0]]] = table[[at + live[0], at]]
            pivot, others = table[at].copy(), table[:, j].copy()
            table = (table * pivot[j] - np.outer(others, pivot)) // unit
            table[at], unit = pivot, pivot[j]
            pivots.append(j)
    return pivots, table, unit


def margin_at_most(
    matrix: Any, y: Vector, weights: Vector, *, intercept: bool, factors: Vector | None = None
) -> float:
    """No plane with y (x·w + b) ≥ 1 in every row has a margin 1/‖factors ∘ w‖ above this.

    Σt ≤ Σ t y (x·w + b) = w·Σ t y x for weights t ≥ 0 with Σ y t = 0, as exact multiples of those given have
    (the intercept's condition): half the distance of two points of the hulls. ∞ where that says nothing.
    """
    used = _support(weights)
    side = _sides(np.asarray(y)[used])
    t, _ = whole(np.asarray(weights, dtype=np.float64)[used].tolist())
    if intercept:
        up = side > 0
        t[up], t[~up] = t[up] * t[~up].sum(), t[~up] * t[up].sum()
    total = t.sum()
    if not total:
        return math.inf
    X = _dense(matrix, used)
    factors = np.ones(X.shape[1]) if factors is None else factors
    lengths = []
    for column, factor in zip(X.T.tolist(), factors.tolist(), strict=True):
        line, unit = whole(column)
        lengths.append(_above(Fraction(abs(sum(side * t * line)), total * unit) / Fraction(factor)))
    if math.inf in lengths:
        return math.inf
    numbers, unit = whole(lengths)
    root = math.isqrt(sum(map(mul, numbers, numbers)) << 128)  # 64 bits more than the step up takes
    return _above(Fraction(root, unit << 64))


def _above(value: Fraction) -> float:
    """A float above, the next but one at most."""
    try:
        return math.nextafter(float(value), math.inf)
    except OverflowError:
        return math.inf
