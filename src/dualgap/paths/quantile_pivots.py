"""The loop of the quantile path: from vertex to vertex as q rises or falls."""

from __future__ import annotations

import numpy as np

from dualgap.arrays import Index, Matrix, Vector
from dualgap.compiled.mechanism import compiled

FLAT = 1e-12  # a residual that moves by less than this share of the fastest does not move
FULL, DONE = 0, 1  # the log is full; no vertex is left before the end
Ends = tuple[Vector, Vector, Vector]  # low, high, rate: θ is between low + rate·q and high + rate·q


@compiled(inner=True)
def first_out(
    inverse: Matrix, basis: Index, ends: Ends, pull: Matrix, way: tuple[float, float]
) -> tuple[int, float, float]:
    """Which θ of the basis comes to an end first, at which (1 high, −1 low), and at which q; −1 if none."""
    low, high, rate = ends
    q, at = way
    forward = at > q
    slot, sign = -1, 1.0
    for j in range(len(basis)):
        i = basis[j]
        level, slope = 0.0, -rate[i]
        for k in range(len(basis)):
            level -= inverse[k, j] * pull[0, k]
            slope -= inverse[k, j] * pull[1, k]
        if slope != 0.0:
            rising = (slope > 0.0) == forward
            met = ((high[i] if rising else low[i]) - level) / slope
            met = max(met, q) if forward else min(met, q)
            if (met < at) if forward else (met > at):
                slot, sign, at = j, 1.0 if rising else -1.0, met
    return slot, sign, at


@compiled(inner=True, allocates=True)
def first_in(side: Vector, residual: Vector, moves: Vector) -> tuple[int, float]:
    """Which residual is zero first as all of them move, and how far that is; −1 if none."""
    into, length, least = -1, np.inf, FLAT * np.abs(moves).max()
    for i in range(len(moves)):
        speed = side[i] * moves[i]
        if speed > least:
            reach = max(side[i] * residual[i], 0.0) / speed
            if reach < length or (reach == length and speed > abs(moves[into])):
                into, length = i, reach
    return into, length


@compiled(inner=True, allocates=True)
def exchange(inverse: Matrix, slot: int, row: Vector) -> None:
    """The inverse once another row has come into the basis."""
    width = len(row)
    shares = np.zeros(width)
    for j in range(width):
        for k in range(width):
            shares[j] += row[k] * inverse[k, j]
    pivot = shares[slot]
    for k in range(width):
        inverse[k, slot] /= pivot
        for j in range(width):
            if j != slot:
                inverse[k, j] -= shares[j] * inverse[k, slot]


@compiled
def pivots(  # noqa: PLR0913
    X: Matrix,
    inverse: Matrix,
    basis: Index,
    side: Vector,
    residual: Vector,
    ends: Ends,
    pull: Matrix,
    way: tuple[float, float],
    log: tuple[Vector, Index],
) -> tuple[int, int]:
    """Pivot until the log is full or q is at its end; how many vertices were met, and why it ended.

    Rows of the basis have residual 0, θ of every other row is at the end that its `side` says, and `pull` is
    Σ x θ of those: its constant and its rate. θ of the basis follows, linear in q. The first that comes to an
    end leaves along its edge, and the first row that this edge meets comes in: at that q the objective is
    level along the edge, and rises behind the first kink.
    """
    low, high, rate = ends
    q, stop = way
    found, logged = log
    moves = np.empty(len(residual))
    for count in range(len(found)):
        slot, sign, q = first_out(inverse, basis, ends, pull, (q, stop))
        if slot < 0:
            return count, DONE
        for i in range(len(moves)):
            moves[i] = 0.0
            for k in range(len(basis)):
                moves[i] -= sign * X[i, k] * inverse[k, slot]
        into, length = first_in(side, residual, moves)
        if into < 0:
            return count, DONE
        out = basis[slot]
        for i in range(len(moves)):
            residual[i] -= length * moves[i]
        ending, starting = (
            (high[out] if sign > 0.0 else low[out]),
            (high[into] if side[into] > 0 else low[into]),
        )
        for k in range(len(basis)):
            pull[0, k] += X[out, k] * ending - X[into, k] * starting
            pull[1, k] += X[out, k] * rate[out] - X[into, k] * rate[into]
        side[out], residual[out] = sign, sign * length
        side[into], residual[into] = 0.0, 0.0
        exchange(inverse, slot, X[into])
        basis[slot], found[count] = into, q
        logged[count] = basis
    return len(found), FULL
