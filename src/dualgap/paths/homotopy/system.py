"""The optimality system over active weights and kinked rows (see follow.py): its columns and right sides."""

from __future__ import annotations

from dualgap.arrays import Vector
from dualgap.compiled.lines import add, dot
from dualgap.compiled.mechanism import compiled
from dualgap.compiled.small_vectors import fill
from dualgap.paths.homotopy import course as its
from dualgap.paths.homotopy.course import Course
from dualgap.paths.homotopy.inverse import inner


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
