"""Slides: where an event leaves a direction without curvature, the weights move along it at fixed s.

The first term met on the way takes the place of the one that was released, and the system is regular again.
The plan of the event (homotopy_pivots) has been made; its column of the inverse is the direction.
"""

from __future__ import annotations

import numpy as np

from dualgap.arrays import Vector
from dualgap.compiled.homotopy_course import (
    BENT_PRICE,
    COLUMN,
    EXPIRY,
    GOING,
    INVERSE_NEW,
    INVERSE_OTHER,
    KINK,
    NEW,
    NOTHING,
    OTHER,
    PIECE,
    RATE,
    SIZE,
    STALE,
    STUCK,
    STUCK_ROWS,
    TRAVELLED,
    UNBOUNDED,
    ZERO,
    Course,
    Integers,
)
from dualgap.compiled.homotopy_events import Event, first_hit
from dualgap.compiled.homotopy_inverse import append_two, column, remove_two, replace, times
from dualgap.compiled.homotopy_pivots import (
    changed,
    drop,
    enter,
    plan_drop,
    plan_enter,
    plan_turn,
    set_aside,
    stand,
    stick,
    turn,
)
from dualgap.compiled.homotopy_system import (
    answer_afresh,
    pool,
    row_over_slots,
    set_right,
    spread,
    weight_over_slots,
)
from dualgap.compiled.mechanism import compiled

DOUBTFUL = 1e-5  # pivots below this share of their scale are computed again from a fresh inverse


@compiled
def note(change: Integers, line: int, key: int, code: int) -> None:
    """A line of the log: the key and its new code."""
    change[line, 0] = key
    change[line, 1] = code


@compiled
def _slide(course: Course, factor: float, own: int, sign: int, row: int) -> Event:
    """The first hit along factor · INVERSE_NEW, weight `own` moving with `sign`, or a row set free to that side.

    The weights are taken there, as far as rows that wait to be looked at are concerned.
    """
    direction, rate = course.slot[INVERSE_NEW], course.weight[RATE]
    for a in range(course.count[SIZE]):
        direction[a] *= factor
    rate[:] = 0.0
    spread(course, direction, rate)
    if own >= 0:
        rate[own] = sign
    hit = first_hit(course, direction, row, sign)
    if hit[1] != NOTHING:
        course.level[TRAVELLED] += hit[0] * np.sqrt(np.dot(rate, rate))
    rate[:] = 0.0
    return hit


@compiled
def _kink_of(course: Course, hit: Event) -> int:
    """The kink that a row was about to meet."""
    at = course.mark[PIECE, hit[2]]
    return int(at + 1 if hit[3] > 0 else at)


@compiled
def leave_by_slide(course: Course, i: int, side: int, change: Integers) -> int:
    """Row i leaves its kink towards `side`, and something takes its place."""
    hit = _slide(course, float(side), -1, side, i)
    if hit[1] == NOTHING:
        return UNBOUNDED
    p, at = course.sign.shape[0], course.mark[PIECE, i]
    k, u = course.place[p + i], course.slot[NEW]
    if hit[1] == KINK and hit[2] == i:
        stick(course, i, at + side)
        set_right(course, k)
        note(change, 0, p + i, 2 * (at + side) + 1)
    else:
        piece = at if side > 0 else at - 1
        stand(course, i, piece)
        note(change, 0, p + i, 2 * piece)
        row_over_slots(course, i, u)
        pool(course, i, u, 1.0)
        if hit[1] == ZERO:
            _vacate(course, k, hit[2])
            note(change, 1, hit[2], 0)
        else:
            kink = _kink_of(course, hit)
            row_over_slots(course, hit[2], u)
            pool(course, hit[2], u, -1.0)
            stick(course, hit[2], kink)
            _replace(course, k, p + hit[2])
            note(change, 1, p + hit[2], 2 * kink + 1)
    changed(course)
    answer_afresh(course)
    return GOING


@compiled
def _vacate(course: Course, k: int, j: int) -> None:
    """The row in slot k and weight j leave together."""
    other, size = course.place[j], course.count[SIZE]
    first, second = course.slot[INVERSE_NEW], course.slot[INVERSE_OTHER]
    column(course.inverse, size, k, first)
    column(course.inverse, size, other, second)
    remove_two(course, k, other, first, second)
    set_aside(course, j)
    course.count[STUCK_ROWS] -= 1


@compiled
def _over_slots(course: Course, key: int, u: Vector) -> float:
    """The column of any key, and its diagonal."""
    p = course.sign.shape[0]
    if key < p:
        return weight_over_slots(course, key, u)
    row_over_slots(course, key - p, u)
    return 0.0


@compiled
def _replace(course: Course, k: int, key: int) -> None:
    """The key takes slot k, with its right side."""
    new, old = course.slot[NEW], course.slot[INVERSE_NEW]
    corner = _over_slots(course, key, new)
    corner -= _over_slots(course, course.keys[k], old)
    for a in range(course.count[SIZE]):
        new[a] -= old[a]
    new[k] = 0.0
    pivot = replace(course, k, key, course.slot[NEW : NEW + 3], corner)
    if not pivot >= DOUBTFUL:
        course.count[STALE] = 1
    set_right(course, k)


@compiled
def enter_by_slide(course: Course, j: int, sign: int, change: Integers) -> int:
    """Weight j enters a system without curvature, and something takes or leaves a place."""
    hit = _slide(course, float(-sign), j, sign, -1)
    if hit[1] == NOTHING and course.weight[BENT_PRICE, j] == 0.0:  # a free weight may go either way
        sign = -sign
        hit = _slide(course, -1.0, j, sign, -1)
    if hit[1] == NOTHING:
        course.sign[j] = 0
        return UNBOUNDED
    course.sign[j] = sign
    course.weight[EXPIRY, j] = -np.inf
    note(change, 0, j, sign)
    if hit[1] == ZERO:
        _replace(course, course.place[hit[2]], j)
        set_aside(course, hit[2])
        note(change, 1, hit[2], 0)
    else:
        kink = _kink_of(course, hit)
        _enter_with_row(course, j, hit[2], kink)
        note(change, 1, course.sign.shape[0] + hit[2], 2 * kink + 1)
    changed(course)
    answer_afresh(course)
    return GOING


@compiled
def _enter_with_row(course: Course, j: int, i: int, kink: int) -> None:
    """Weight j and the row it met join together."""
    slot, size = course.slot, course.count[SIZE]
    row_over_slots(course, i, slot[OTHER])
    pool(course, i, slot[OTHER], -1.0)
    stick(course, i, kink)
    diagonal = weight_over_slots(course, j, slot[NEW])
    times(course.inverse, size, slot[NEW], slot[INVERSE_NEW])
    times(course.inverse, size, slot[OTHER], slot[INVERSE_OTHER])
    corner = (diagonal, course.row[COLUMN, i], 0.0)
    append_two(course, slot[NEW : NEW + 4], corner, (j, course.sign.shape[0] + i))
    course.count[STUCK_ROWS] += 1
    set_right(course, size)
    set_right(course, size + 1)


@compiled
def _apply_hit(course: Course, hit: Event, change: Integers) -> bool:
    """On a slide among curved rows: the weight met leaves, or the row met turns. False if it cannot."""
    if hit[1] == ZERO:
        drop(course, plan_drop(course, hit[2]))
        note(change, 1, hit[2], 0)
        return True
    i, new = hit[2], course.mark[PIECE, hit[2]] + hit[3]
    share = plan_turn(course, i, new)
    if not share > 0.0:
        return False
    turn(course, i, new, share)
    note(change, 1, course.sign.shape[0] + i, 2 * new)
    return True


@compiled
def slide_flat(course: Course, key: int, side: int, change: Integers) -> int:
    """Among curved rows: weight `key` enters, or row `key` − p turns, where no curvature is left for it.

    First what the slide meets, then itself.
    """
    p = course.sign.shape[0]
    weight = key < p
    hit = _slide(course, float(-side if weight else side), key if weight else -1, side, -1)
    if weight:
        course.sign[key] = 0
    if hit[1] == NOTHING:
        return UNBOUNDED
    if not _apply_hit(course, hit, change):
        return STUCK
    course.count[STALE] = 1
    if weight:
        pivot = plan_enter(course, key, side)[0]
        if pivot > 0.0:
            enter(course, key, pivot)
            note(change, 0, key, side)
    else:
        new = course.mark[PIECE, key - p] + side
        pivot = plan_turn(course, key - p, new)
        if pivot > 0.0:
            turn(course, key - p, new, pivot)
            note(change, 0, key, 2 * new)
    return GOING if pivot > 0.0 else STUCK
