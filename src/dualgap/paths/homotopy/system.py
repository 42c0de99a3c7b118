"""The optimality system over active weights and kinked rows: its columns, its residual, its answers.

[ X_FᵀCX_F + ridge   X_EFᵀ ] [ w_F ]   [ −(Lw·X_Fᵀslope + Pw·price·sign + s·tilt) ]
[ X_EF               0     ] [ d_E ] = [ kink                                      ]
"""

from __future__ import annotations

import numpy as np

from dualgap.arrays import Matrix, Vector
from dualgap.compiled.lines import add, add_weighted, dot
from dualgap.compiled.mechanism import compiled
from dualgap.paths.homotopy.course import (
    BEND,
    BENT_COLUMN,
    BENT_KINK,
    BENT_PRICE,
    COLUMN,
    CURVED,
    IMAGE,
    KINK_AT,
    LOSS0,
    LOSS1,
    NEW,
    PIECE,
    PRICE,
    PRICE0,
    PRICE1,
    REFACTORED,
    RIDGE,
    SIZE,
    SLOPE,
    SPARE,
    STALE,
    STUCK_ROWS,
    TILT,
    TRUE_SLOPE,
    UPDATES,
    Z0,
    Z1,
    Course,
)
from dualgap.paths.homotopy.inverse import inner, times_four

REFINED = 1e-13  # answers are corrected until the correction is below this, relative,
SOUND = 1e-10  # and a new inverse is asked for where the last one was above this


@compiled(inner=True)
def row_over_slots(course: Course, i: int, u: Vector) -> None:
    """u = row i on the active weights, 0 on the kinked rows: its column of the system."""
    keys, size, p, rows = course.keys, course.count[SIZE], course.sign.shape[0], course.rows
    first = rows.starts[i]
    if rows.dense:
        for a in range(size):
            u[a] = rows.values[first + keys[a]] if keys[a] < p else 0.0
        return
    full = course.weight[SPARE]
    for k in range(first, rows.starts[i + 1]):
        full[rows.indices[k]] = rows.values[k]
    for a in range(size):
        u[a] = full[keys[a]] if keys[a] < p else 0.0
    for k in range(first, rows.starts[i + 1]):
        full[rows.indices[k]] = 0.0


@compiled(inner=True)
def weight_over_slots(course: Course, j: int, u: Vector) -> float:
    """u = the column of weight j in the system; returns its diagonal. Leaves x_j in line COLUMN."""
    keys, size, p = course.keys, course.count[SIZE], course.sign.shape[0]
    plain, bent = course.row[COLUMN], course.row[BENT_COLUMN]
    plain[:] = 0.0
    add(course.columns, j, 1.0, plain)
    diagonal = course.weight[RIDGE, j]
    if course.count[CURVED]:
        bend = course.row[BEND]
        for i in range(plain.shape[0]):
            bent[i] = bend[i] * plain[i]
        diagonal += inner(plain.shape[0], plain, bent)
    for a in range(size):
        if keys[a] >= p:
            u[a] = plain[keys[a] - p]
        else:
            u[a] = dot(course.columns, keys[a], bent) if course.count[CURVED] else 0.0
    return diagonal


@compiled(inner=True)
def predict(course: Course, v: Vector, out: Vector) -> None:
    """out = X v for v on the active weights."""
    p = course.sign.shape[0]
    out[:] = 0.0
    for a in range(course.count[SIZE]):
        if course.keys[a] < p and v[a] != 0.0:
            add(course.columns, course.keys[a], v[a], out)


@compiled(inner=True)
def set_miss(course: Course, key: int) -> None:
    """miss = the four right sides of a key: bent and true, constant and per unit of s."""
    p, miss, level = course.sign.shape[0], course.miss, course.level
    if key >= p:
        i, at = key - p, course.mark[PIECE, key - p]
        miss[0], miss[1] = course.pieces[BENT_KINK, i, at], 0.0
        miss[2], miss[3] = course.pieces[KINK_AT, i, at], 0.0
        return
    bent = dot(course.columns, key, course.row[SLOPE])
    true = dot(course.columns, key, course.row[TRUE_SLOPE])
    sign, tilt = float(course.sign[key]), course.weight[TILT, key]
    first, second = course.weight[BENT_PRICE, key] * sign, course.weight[PRICE, key] * sign
    miss[0] = -(level[LOSS0] * bent + level[PRICE0] * first)
    miss[1] = -(level[LOSS1] * bent + level[PRICE1] * first + tilt)
    miss[2] = -(level[LOSS0] * true + level[PRICE0] * second)
    miss[3] = -(level[LOSS1] * true + level[PRICE1] * second + tilt)


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
    bent, true = share * course.row[SLOPE, i], share * course.row[TRUE_SLOPE, i]
    for a in range(course.count[SIZE]):
        if course.keys[a] < p:
            slot[4, a] -= level[LOSS0] * bent * u[a]
            slot[5, a] -= level[LOSS1] * bent * u[a]
            slot[6, a] -= level[LOSS0] * true * u[a]
            slot[7, a] -= level[LOSS1] * true * u[a]


@compiled(inner=True)
def spread(course: Course, v: Vector, out: Vector) -> None:
    """The active weights of v, in full length; `out` must be zero elsewhere."""
    p = course.sign.shape[0]
    for a in range(course.count[SIZE]):
        if course.keys[a] < p:
            out[course.keys[a]] = v[a]


@compiled(inner=True)
def _image(course: Course, v: Vector, u: Vector, out: Vector) -> None:
    """out = system · v; u is scratch."""
    p, keys, size = course.sign.shape[0], course.keys, course.count[SIZE]
    for a in range(size):
        out[a] = course.weight[RIDGE, keys[a]] * v[a] if keys[a] < p else 0.0
    if course.count[CURVED]:
        z = course.row[IMAGE]
        predict(course, v, z)
        for i in range(z.shape[0]):
            z[i] *= course.row[BEND, i]
        for a in range(size):
            if keys[a] < p:
                out[a] += dot(course.columns, keys[a], z)
    for a in range(size):
        if keys[a] >= p:
            row_over_slots(course, keys[a] - p, u)
            out[a] = inner(size, u, v)
            for c in range(size):
                out[c] += v[a] * u[c]


@compiled(inner=True)
def refine(course: Course) -> float:
    """Correct the answers by G times their residual; the size of that correction, relative."""
    slot, size = course.slot, course.count[SIZE]
    fix, change = slot[NEW : NEW + 4], np.empty((4, size))
    for c in range(4):
        _image(course, slot[c], slot[NEW + 4], slot[NEW + 5])
        for a in range(size):
            fix[c, a] = slot[4 + c, a] - slot[NEW + 5, a]
    times_four(course.inverse, size, fix, change)
    worst = 0.0
    for c in range(4):
        largest, moved = 1e-300, 0.0
        for a in range(size):
            slot[c, a] += change[c, a]
            largest = max(largest, abs(slot[c, a]))
            moved = max(moved, abs(change[c, a]))
        worst = max(worst, moved / largest)
    return worst


@compiled(inner=True)
def hold_vertex(course: Course) -> None:
    """At a vertex the weights cannot move: their rates are rounding, and are set to zero."""
    p, size = course.sign.shape[0], course.count[SIZE]
    if size == 2 * course.count[STUCK_ROWS]:
        for a in range(size):
            if course.keys[a] < p:
                course.slot[1, a] = 0.0
                course.slot[3, a] = 0.0


@compiled(inner=True)
def refresh(course: Course) -> None:
    """Answers corrected by their residual, predictions afresh; STALE if a new inverse is needed."""
    error = 1.0
    for _ in range(3):
        if not error < REFINED:
            error = refine(course)
    if not error < SOUND:
        course.count[STALE] = 1
    settle_predictions(course)


@compiled(inner=True)
def settle_predictions(course: Course) -> None:
    """What follows from new answers: predictions where rows are curved, else the stillness of a vertex."""
    if course.count[CURVED]:
        predict(course, course.slot[0], course.row[Z0])
        predict(course, course.slot[1], course.row[Z1])
    else:
        hold_vertex(course)
    course.count[UPDATES] = 0


@compiled(inner=True)
def _system(course: Course) -> Matrix:
    """The whole matrix."""
    size, keys, p, u = course.count[SIZE], course.keys, course.sign.shape[0], course.slot[NEW]
    M = np.zeros((size, size))
    if course.count[CURVED]:
        half = np.zeros((size, course.row.shape[1]))
        root = np.sqrt(course.row[BEND])
        for a in range(size):
            if keys[a] < p:
                add_weighted(course.columns, keys[a], 1.0, root, half[a])
        M = half @ half.T
    for a in range(size):
        if keys[a] < p:
            M[a, a] += course.weight[RIDGE, keys[a]]
            continue
        row_over_slots(course, keys[a] - p, u)
        for c in range(size):
            if keys[c] < p:
                M[a, c] = u[c]
                M[c, a] = u[c]
    return M


@compiled(inner=True)
def refactor(course: Course) -> None:
    """The inverse from the matrix itself, right sides and answers afresh."""
    size = course.count[SIZE]
    course.count[REFACTORED] += 1
    if size > 0:
        whole = np.linalg.inv(_system(course))
        for a in range(size):
            for c in range(a + 1):
                course.inverse[a, c] = 0.5 * (whole[a, c] + whole[c, a])
    for a in range(size):
        set_right(course, a)
    times_four(course.inverse, size, course.slot[4:8], course.slot)
    refine(course)
    settle_predictions(course)
    course.count[STALE] = 0
