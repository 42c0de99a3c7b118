"""One event applied: the system, its answers and the state of a weight or a row change together.

Answers are corrected, not solved again: after one slot changes, the old answers miss the new system in that
slot only, by `miss`, and a multiple of one column of the inverse removes it. The s at which the true answer
does not miss is the true place of the event.
"""

from __future__ import annotations

import numpy as np

from dualgap.arrays import Vector
from dualgap.compiled.mechanism import compiled
from dualgap.paths.homotopy import course as its
from dualgap.paths.homotopy.course import Course
from dualgap.paths.homotopy.system import (
    append,
    column,
    forget,
    inner,
    pool,
    predict,
    rank_one,
    row_over_slots,
    set_miss,
    times,
    weight_over_slots,
)

NEAR = 1e-3  # how far the true place of an event may be from the bent one: this share of s,
NATURAL_NEAR = 1e-4  # and this share of the natural size of s


@compiled(inner=True)
def place_truly(course: Course) -> None:
    """level[TRUE_AT] = the s at which the true answers do not miss."""
    miss, s = course.miss, course.level[its.AT]
    there = max(-miss[2] / miss[3], 0.0) if miss[3] != 0.0 else s
    near = NEAR * abs(s) + NATURAL_NEAR * course.level[its.NATURAL]
    course.level[its.TRUE_AT] = there if abs(there - s) <= near else s


@compiled(inner=True)
def changed(course: Course) -> None:
    """Books after a change of the system."""
    course.count[its.UPDATES] += 1
    course.count[its.VERSION] += 1


@compiled(inner=True)
def correct(course: Course, g: Vector, pivot: float) -> None:
    """answers −= g · miss / pivot, and predictions with them."""
    miss, size, slot = course.miss, course.count[its.SIZE], course.slot
    for c in range(4):
        factor = miss[c] / pivot
        for a in range(size):
            slot[c, a] -= factor * g[a]
    if course.count[its.CURVED]:
        t, row = course.row[its.IMAGE], course.row
        predict(course, g, t)
        first, second = miss[0] / pivot, miss[1] / pivot
        for i in range(t.shape[0]):
            row[its.Z0, i] -= first * t[i]
            row[its.Z1, i] -= second * t[i]


@compiled(inner=True)
def plan_drop(course: Course, j: int) -> int:
    """Column of the inverse for weight j in line INVERSE_NEW, its values in `miss`; returns the slot."""
    k = course.place[j]
    column(course.inverse, course.count[its.SIZE], k, course.slot[its.INVERSE_NEW])
    for c in range(4):
        course.miss[c] = course.slot[c, k]
    return int(k)


@compiled(inner=True)
def drop(course: Course, k: int) -> None:
    """The weight in slot k leaves the system, as planned."""
    g, j = course.slot[its.INVERSE_NEW], course.keys[k]
    pivot = g[k]
    correct(course, g, pivot)
    rank_one(course.inverse, course.count[its.SIZE], g, -1.0 / pivot)
    forget(course, k)
    set_aside(course, j)
    changed(course)


@compiled(inner=True)
def set_aside(course: Course, j: int) -> None:
    """Weight j is zero and outside."""
    course.sign[j] = 0
    course.weight[its.VALUE, j] = 0.0
    course.weight[its.RATE, j] = 0.0
    course.weight[its.EXPIRY, j] = -np.inf


@compiled(inner=True)
def plan_enter(course: Course, j: int, sign: int) -> tuple[float, float]:
    """Column in line NEW, G times it in INVERSE_NEW, miss; returns sigma and the diagonal. Sets the sign."""
    slot, size, miss = course.slot, course.count[its.SIZE], course.miss
    u, g = slot[its.NEW], slot[its.INVERSE_NEW]
    diagonal = weight_over_slots(course, j, u)
    times(course.inverse, size, u, g)
    course.sign[j] = sign
    set_miss(course, j)
    for c in range(4):
        miss[4 + c] = miss[c]
        miss[c] -= inner(size, u, slot[c])
    return diagonal - inner(size, u, g), diagonal


@compiled(inner=True)
def enter(course: Course, j: int, sigma: float) -> None:
    """Weight j joins the system, as planned."""
    slot, size, miss, row = course.slot, course.count[its.SIZE], course.miss, course.row
    correct(course, slot[its.INVERSE_NEW], sigma)
    if course.count[its.CURVED]:
        first, second = miss[0] / sigma, miss[1] / sigma
        for i in range(row.shape[1]):
            row[its.Z0, i] += first * row[its.COLUMN, i]
            row[its.Z1, i] += second * row[its.COLUMN, i]
    for c in range(4):
        slot[c, size] = miss[c] / sigma
        slot[4 + c, size] = miss[4 + c]
    append(course, slot[its.INVERSE_NEW], sigma, j)
    course.weight[its.EXPIRY, j] = -np.inf
    changed(course)


@compiled(inner=True)
def plan_turn(course: Course, i: int, new: int) -> float:
    """x_i in line NEW, G x_i in INVERSE_NEW, the miss; returns 1 + change of curvature · x_iᵀGx_i."""
    slot, size, old, pieces = course.slot, course.count[its.SIZE], course.mark[its.PIECE, i], course.pieces
    u, g = slot[its.NEW], slot[its.INVERSE_NEW]
    row_over_slots(course, i, u)
    times(course.inverse, size, u, g)
    bend = pieces[its.CURVATURE, i, new] - pieces[its.CURVATURE, i, old]
    for c in range(4):
        course.miss[c] = bend * inner(size, u, slot[c])
    course.miss[0] += pieces[its.BENT_SLOPE, i, new] - pieces[its.BENT_SLOPE, i, old]
    course.miss[2] += pieces[its.SLOPE_AT, i, new] - pieces[its.SLOPE_AT, i, old]
    return 1.0 + bend * inner(size, u, g)


@compiled(inner=True)
def turn(course: Course, i: int, new: int, share: float) -> None:
    """Row i goes over to piece `new`, as planned."""
    slot, old, pieces = course.slot, course.mark[its.PIECE, i], course.pieces
    u, g = slot[its.NEW], slot[its.INVERSE_NEW]
    correct(course, g, share)
    bent = pieces[its.BENT_SLOPE, i, new] - pieces[its.BENT_SLOPE, i, old]
    true = pieces[its.SLOPE_AT, i, new] - pieces[its.SLOPE_AT, i, old]
    for a in range(course.count[its.SIZE]):
        slot[4, a] -= bent * u[a]
        slot[6, a] -= true * u[a]
    bend = pieces[its.CURVATURE, i, new] - pieces[its.CURVATURE, i, old]
    rank_one(course.inverse, course.count[its.SIZE], g, -bend / share)
    stand(course, i, new)
    changed(course)


@compiled(inner=True)
def stand(course: Course, i: int, piece: int) -> None:
    """Row i stands on a piece, off its kinks."""
    row, mark, pieces = course.row, course.mark, course.pieces
    mark[its.PIECE, i] = piece
    mark[its.KINKED, i] = 0
    row[its.BEND, i] = pieces[its.CURVATURE, i, piece]
    row[its.SLOPE, i] = pieces[its.BENT_SLOPE, i, piece]
    row[its.TRUE_SLOPE, i] = pieces[its.SLOPE_AT, i, piece]
    row[its.DUAL, i] = row[its.SLOPE, i]
    row[its.DUAL_RATE, i] = 0.0
    row[its.ROW_EXPIRY, i] = -np.inf


@compiled(inner=True)
def stick(course: Course, i: int, kink: int) -> None:
    """Row i sits on a kink."""
    course.mark[its.PIECE, i] = kink
    course.mark[its.KINKED, i] = 1
    course.row[its.SLOPE, i] = 0.0
    course.row[its.TRUE_SLOPE, i] = 0.0


@compiled(inner=True)
def plan_kink(course: Course, i: int, kink: int) -> tuple[float, float]:
    """x_i in line NEW, G x_i in INVERSE_NEW, miss; returns sigma and its natural scale."""
    slot, size, p, miss = course.slot, course.count[its.SIZE], course.sign.shape[0], course.miss
    u, g = slot[its.NEW], slot[its.INVERSE_NEW]
    row_over_slots(course, i, u)
    times(course.inverse, size, u, g)
    miss[4], miss[5] = course.pieces[its.BENT_KINK, i, kink], 0.0
    miss[6], miss[7] = course.pieces[its.KINK_AT, i, kink], 0.0
    for c in range(4):
        miss[c] = miss[4 + c] - inner(size, u, slot[c])
    scale = 1e-300
    for a in range(size):
        if course.keys[a] < p and course.weight[its.RIDGE, course.keys[a]] > 0.0:
            scale += u[a] * u[a] / course.weight[its.RIDGE, course.keys[a]]
    return -inner(size, u, g), scale


@compiled(inner=True)
def catch(course: Course, i: int, kink: int, sigma: float) -> None:
    """Row i joins the system at its kink; its multiplier starts at the slope it had."""
    slot, row, size, level, miss = course.slot, course.row, course.count[its.SIZE], course.level, course.miss
    bent, true = row[its.SLOPE, i], row[its.TRUE_SLOPE, i]
    pool(course, i, slot[its.NEW], -1.0)
    correct(course, slot[its.INVERSE_NEW], sigma)
    for c in range(4):
        slot[c, size] = miss[c] / sigma
        slot[4 + c, size] = miss[4 + c]
    slot[0, size] += level[its.LOSS0] * bent
    slot[1, size] += level[its.LOSS1] * bent
    slot[2, size] += level[its.LOSS0] * true
    slot[3, size] += level[its.LOSS1] * true
    append(course, slot[its.INVERSE_NEW], sigma, course.sign.shape[0] + i)
    stick(course, i, kink)
    course.count[its.STUCK_ROWS] += 1
    changed(course)


@compiled(inner=True)
def plan_leave(course: Course, i: int, piece: int) -> int:
    """Column of the inverse for row i in INVERSE_NEW, how far its multiplier is from its bound in `miss`."""
    level, miss, slot = course.level, course.miss, course.slot
    k = course.place[course.sign.shape[0] + i]
    column(course.inverse, course.count[its.SIZE], k, slot[its.INVERSE_NEW])
    bent, true = course.pieces[its.BENT_SLOPE, i, piece], course.pieces[its.SLOPE_AT, i, piece]
    miss[0] = slot[0, k] - level[its.LOSS0] * bent
    miss[1] = slot[1, k] - level[its.LOSS1] * bent
    miss[2] = slot[2, k] - level[its.LOSS0] * true
    miss[3] = slot[3, k] - level[its.LOSS1] * true
    return int(k)


@compiled(inner=True)
def leave(course: Course, k: int, piece: int) -> None:
    """The row in slot k leaves its kink for a piece, as planned."""
    g, i = course.slot[its.INVERSE_NEW], course.keys[k] - course.sign.shape[0]
    pivot = g[k]
    correct(course, g, pivot)
    rank_one(course.inverse, course.count[its.SIZE], g, -1.0 / pivot)
    forget(course, k)
    stand(course, i, piece)
    row_over_slots(course, i, course.slot[its.NEW])
    pool(course, i, course.slot[its.NEW], 1.0)
    course.count[its.STUCK_ROWS] -= 1
    changed(course)


@compiled(inner=True)
def weak(course: Course, k: int, share: float) -> bool:
    """Is the pivot of slot k below this share of its column of the inverse (in INVERSE_NEW)?"""
    g, largest = course.slot[its.INVERSE_NEW], 0.0
    for a in range(course.count[its.SIZE]):
        largest = max(largest, abs(g[a]))
    return bool(abs(g[k]) <= share * largest)


@compiled(inner=True)
def suspect(course: Course) -> bool:
    """A doubtful pivot: asks for a fresh inverse; False if this one is fresh and must be believed."""
    worn = course.count[its.UPDATES] > 0
    course.count[its.STALE] = 1
    return bool(worn)
