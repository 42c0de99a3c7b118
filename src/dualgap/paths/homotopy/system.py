"""The optimality system over active weights and kinked rows (see follow.py): inverse, columns, right side."""

from __future__ import annotations

from typing import Any

import numpy as np

from dualgap.arrays import Matrix, Vector
from dualgap.compiled.lines import add, dot
from dualgap.compiled.mechanism import compiled
from dualgap.compiled.small_vectors import fill
from dualgap.paths.homotopy import course as its
from dualgap.paths.homotopy.course import SIZE, Course


def _numpy_times(G: Matrix, size: int, x: Vector, out: Vector) -> None:
    lower = np.tril(G[:size, :size])
    out[:size] = lower @ x[:size] + x[:size] @ np.tril(lower, -1)


@compiled(reassociate=True, inner=True, in_numpy=_numpy_times)
def times(G: Matrix, size: int, x: Vector, out: Vector) -> None:
    """out = G x."""
    for a in range(size):
        xa, total = x[a], 0.0
        row = G[a]
        for c in range(a):
            total += row[c] * x[c]
            out[c] += row[c] * xa
        out[a] = total + row[a] * xa


def _numpy_inner(size: int, x: Vector, y: Vector) -> Any:
    return np.dot(x[:size], y[:size])


@compiled(reassociate=True, inner=True, in_numpy=_numpy_inner)
def inner(size: int, x: Vector, y: Vector) -> float:
    """x · y over the slots."""
    total = 0.0
    for a in range(size):
        total += x[a] * y[a]
    return total


@compiled(inner=True)
def column(G: Matrix, size: int, k: int, out: Vector) -> None:
    """out = G[:, k]."""
    for c in range(k + 1):
        out[c] = G[k, c]
    for a in range(k + 1, size):
        out[a] = G[a, k]


def _numpy_rank_one(G: Matrix, size: int, g: Vector, factor: float) -> None:
    G[:size, :size] += (factor * g[:size, None]) * g[:size]


@compiled(inner=True, in_numpy=_numpy_rank_one)
def rank_one(G: Matrix, size: int, g: Vector, factor: float) -> None:
    """G += factor · g gᵀ."""
    for a in range(size):
        t = factor * g[a]
        if t != 0.0:
            row = G[a]
            for c in range(a + 1):
                row[c] += t * g[c]


def _numpy_rank_two(
    G: Matrix, size: int, first: Vector, second: Vector, core: tuple[float, float, float]
) -> None:
    f, s = first[:size], second[:size]
    G[:size, :size] += (core[0] * f + core[1] * s)[:, None] * f + (core[1] * f + core[2] * s)[:, None] * s


@compiled(inner=True, in_numpy=_numpy_rank_two)
def rank_two(G: Matrix, size: int, first: Vector, second: Vector, core: tuple[float, float, float]) -> None:
    """G += core[0] ffᵀ + core[1] (fsᵀ + sfᵀ) + core[2] ssᵀ."""
    for a in range(size):
        x = core[0] * first[a] + core[1] * second[a]
        y = core[1] * first[a] + core[2] * second[a]
        row = G[a]
        for c in range(a + 1):
            row[c] += x * first[c] + y * second[c]


@compiled(inner=True)
def seat(course: Course, key: int) -> None:
    """The key takes the next slot."""
    slot = course.count[SIZE]
    course.keys[slot] = key
    course.place[key] = slot
    course.count[SIZE] = slot + 1


@compiled(inner=True)
def append(course: Course, g: Vector, sigma: float, key: int) -> None:
    """One slot more; g = G u for its column u, sigma = its diagonal − u·g."""
    G, size = course.inverse, course.count[SIZE]
    rank_one(G, size, g, 1.0 / sigma)
    for a in range(size):
        G[size, a] = -g[a] / sigma
    G[size, size] = 1.0 / sigma
    seat(course, key)


@compiled(inner=True)
def forget(course: Course, k: int) -> None:
    """Take slot k off the books (G already freed of it) and move the last slot into its place."""
    G, last = course.inverse, course.count[SIZE] - 1
    keys, slot = course.keys, course.slot
    course.place[keys[k]] = -1
    if k != last:
        for c in range(k):
            G[k, c] = G[last, c]
        G[k, k] = G[last, last]
        for a in range(k + 1, last):
            G[a, k] = G[last, a]
        keys[k] = keys[last]
        course.place[keys[k]] = k
        for c in range(8):
            slot[c, k] = slot[c, last]
    course.count[SIZE] = last


@compiled(inner=True)
def remove_two(course: Course, k: int, other: int, first: Vector, second: Vector) -> None:
    """Two slots less; first = G[:, k], second = G[:, other]. Answers lose what they had there."""
    a, b, c = first[k], first[other], second[other]
    determinant = a * c - b * b
    core = (-c / determinant, b / determinant, -a / determinant)
    _lean(course, core, k, other, first, second)
    rank_two(course.inverse, course.count[SIZE], first, second, core)
    forget(course, max(k, other))
    forget(course, min(k, other))


@compiled(inner=True)
def _lean(
    course: Course, core: tuple[float, float, float], k: int, other: int, first: Vector, second: Vector
) -> None:
    """answers += [first, second] · core · (answer k, answer other)."""
    slot = course.slot
    for c in range(4):
        x = core[0] * slot[c, k] + core[1] * slot[c, other]
        y = core[1] * slot[c, k] + core[2] * slot[c, other]
        for a in range(course.count[SIZE]):
            slot[c, a] += x * first[a] + y * second[a]


@compiled(inner=True)
def append_two(
    course: Course, lines: Matrix, corner: tuple[float, float, float], keys: tuple[int, int]
) -> None:
    """Two slots more; lines are u, Gu of the first and of the second, corner the 2 × 2 among themselves.

    Their right sides must be in place; the answers follow.
    """
    G, size, slot = course.inverse, course.count[SIZE], course.slot
    s11 = corner[0] - inner(size, lines[0], lines[1])
    s12 = corner[1] - inner(size, lines[0], lines[3])
    s22 = corner[2] - inner(size, lines[2], lines[3])
    determinant = s11 * s22 - s12 * s12
    core = (s22 / determinant, -s12 / determinant, s11 / determinant)
    for c in range(4):
        first = slot[4 + c, size] - inner(size, lines[0], slot[c])
        second = slot[4 + c, size + 1] - inner(size, lines[2], slot[c])
        slot[c, size] = core[0] * first + core[1] * second
        slot[c, size + 1] = core[1] * first + core[2] * second
        for a in range(size):
            slot[c, a] -= slot[c, size] * lines[1, a] + slot[c, size + 1] * lines[3, a]
    rank_two(G, size, lines[1], lines[3], core)
    for a in range(size):
        G[size, a] = -(core[0] * lines[1, a] + core[1] * lines[3, a])
        G[size + 1, a] = -(core[1] * lines[1, a] + core[2] * lines[3, a])
    G[size, size], G[size + 1, size], G[size + 1, size + 1] = core
    seat(course, keys[0])
    seat(course, keys[1])


@compiled(inner=True)
def replace(course: Course, k: int, key: int, lines: Matrix, corner: float) -> float:
    """Slot k gets another column: lines[0] is new − old with entry k zero, corner that of the diagonal.

    lines[1] must be G[:, k] and lines[2] G times lines[0]; the answers must have been moved by G times the
    change of the right sides. Returns the pivot, small where the new system is nearly singular.
    """
    G, size, slot = course.inverse, course.count[SIZE], course.slot
    along, rest = lines[1, k], inner(size, lines[0], lines[2]) - corner
    pivot = 1.0 + lines[2, k]
    determinant = along * rest - pivot * pivot
    core = (-rest / determinant, pivot / determinant, -along / determinant)
    for c in range(4):
        here, there = slot[c, k], inner(size, lines[0], slot[c])
        x, y = core[0] * here + core[1] * there, core[1] * here + core[2] * there
        for a in range(size):
            slot[c, a] += x * lines[1, a] + y * lines[2, a]
    rank_two(G, size, lines[1], lines[2], core)
    course.place[course.keys[k]] = -1
    course.keys[k] = key
    course.place[key] = k
    return abs(pivot)


@compiled(inner=True)
def row_over_slots(course: Course, i: int, u: Vector) -> None:
    """u = row i on the active weights, 0 on the kinked rows: its column of the system."""
    keys, size, p, rows = course.keys, course.count[its.SIZE], course.sign.shape[0], course.rows
    first = rows.starts[i]
    if rows.dense:
        for a in range(size):
            u[a] = rows.values[first + keys[a]] if keys[a] < p else 0.0
        return
    full = course.weight[its.SPARE]
    for k in range(first, rows.starts[i + 1]):
        full[rows.indices[k]] = rows.values[k]
    for a in range(size):
        u[a] = full[keys[a]] if keys[a] < p else 0.0
    for k in range(first, rows.starts[i + 1]):
        full[rows.indices[k]] = 0.0


@compiled(inner=True)
def weight_over_slots(course: Course, j: int, u: Vector) -> float:
    """u = the column of weight j in the system; returns its diagonal. Leaves x_j in line COLUMN."""
    keys, size, p = course.keys, course.count[its.SIZE], course.sign.shape[0]
    plain, bent = course.row[its.COLUMN], course.row[its.BENT_COLUMN]
    fill(plain, 0, plain.shape[0], 0.0)
    add(course.columns, j, 1.0, plain)
    diagonal = course.weight[its.RIDGE, j]
    if course.count[its.CURVED]:
        bend = course.row[its.BEND]
        for i in range(plain.shape[0]):
            bent[i] = bend[i] * plain[i]
        diagonal += inner(plain.shape[0], plain, bent)
    for a in range(size):
        if keys[a] >= p:
            u[a] = plain[keys[a] - p]
        else:
            u[a] = dot(course.columns, keys[a], bent) if course.count[its.CURVED] else 0.0
    return diagonal


@compiled(inner=True)
def predict(course: Course, v: Vector, out: Vector) -> None:
    """out = X v for v on the active weights."""
    p = course.sign.shape[0]
    fill(out, 0, out.shape[0], 0.0)
    for a in range(course.count[its.SIZE]):
        if course.keys[a] < p and v[a] != 0.0:
            add(course.columns, course.keys[a], v[a], out)


@compiled(inner=True)
def set_miss(course: Course, key: int) -> None:
    """miss = the four right sides of a key: bent and true, constant and per unit of s."""
    p, miss, level = course.sign.shape[0], course.miss, course.level
    if key >= p:
        i, at = key - p, course.mark[its.PIECE, key - p]
        miss[0], miss[1] = course.pieces[its.BENT_KINK, i, at], 0.0
        miss[2], miss[3] = course.pieces[its.KINK_AT, i, at], 0.0
        return
    bent = dot(course.columns, key, course.row[its.SLOPE])
    true = dot(course.columns, key, course.row[its.TRUE_SLOPE])
    sign, tilt = float(course.sign[key]), course.weight[its.TILT, key]
    first, second = course.weight[its.BENT_PRICE, key] * sign, course.weight[its.PRICE, key] * sign
    miss[0] = -(level[its.LOSS0] * bent + level[its.PRICE0] * first)
    miss[1] = -(level[its.LOSS1] * bent + level[its.PRICE1] * first + tilt)
    miss[2] = -(level[its.LOSS0] * true + level[its.PRICE0] * second)
    miss[3] = -(level[its.LOSS1] * true + level[its.PRICE1] * second + tilt)


@compiled(inner=True)
def set_right(course: Course, a: int) -> None:
    """The right side of slot a afresh."""
    set_miss(course, course.keys[a])
    for c in range(4):
        course.slot[4 + c, a] = course.miss[c]


@compiled(inner=True)
def pool(course: Course, i: int, u: Vector, share: float) -> None:
    """Row i, u over the slots, joins (share 1) or leaves (−1) the rows that pull with their slope."""
    slot, level, p = course.slot, course.level, course.sign.shape[0]
    bent, true = share * course.row[its.SLOPE, i], share * course.row[its.TRUE_SLOPE, i]
    for a in range(course.count[its.SIZE]):
        if course.keys[a] < p:
            slot[4, a] -= level[its.LOSS0] * bent * u[a]
            slot[5, a] -= level[its.LOSS1] * bent * u[a]
            slot[6, a] -= level[its.LOSS0] * true * u[a]
            slot[7, a] -= level[its.LOSS1] * true * u[a]


@compiled(inner=True)
def spread(course: Course, v: Vector, out: Vector) -> None:
    """The active weights of v, in full length; `out` must be zero elsewhere."""
    p = course.sign.shape[0]
    for a in range(course.count[its.SIZE]):
        if course.keys[a] < p:
            out[course.keys[a]] = v[a]


@compiled(inner=True)
def hold_vertex(course: Course) -> None:
    """At a vertex the weights cannot move: their rates are rounding, and are set to zero."""
    p, size = course.sign.shape[0], course.count[its.SIZE]
    if size == 2 * course.count[its.STUCK_ROWS]:
        for a in range(size):
            if course.keys[a] < p:
                course.slot[1, a] = 0.0
                course.slot[3, a] = 0.0
