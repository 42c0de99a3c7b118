"""Slides: where an event leaves a direction without curvature, the weights move along it at fixed s.

The first term met on the way takes the place of the one that was released, and the system is regular again.
The plan of the event (pivots.py) has been made; its column of the inverse is the direction.
"""

from __future__ import annotations

import numpy as np

from dualgap.arrays import Vector
from dualgap.compiled.mechanism import compiled
from dualgap.compiled.small_vectors import fill
from dualgap.paths.homotopy import course as its
from dualgap.paths.homotopy.course import Course
from dualgap.paths.homotopy.events import Event, first_hit, stepped
from dualgap.paths.homotopy.pivots import (
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
from dualgap.paths.homotopy.system import (
    append_two,
    column,
    hold_vertex,
    inner,
    pool,
    remove_two,
    replace,
    row_over_slots,
    set_miss,
    set_right,
    spread,
    times,
    weight_over_slots,
)

DOUBTFUL = 1e-5  # pivots below this share of their scale are computed again from a fresh inverse


@compiled(inner=True)
def note(course: Course, line: int, key: int, code: int) -> None:
    """For the log: a key and its new code."""
    course.change[line, 0] = key
    course.change[line, 1] = code


@compiled(inner=True)
def _slide(course: Course, factor: float, own: int, sign: int, row: int) -> Event:
    """The first hit along factor · INVERSE_NEW, weight `own` moving with `sign`, or a row freed to that side.

    The weights are taken there, as far as rows that wait to be looked at are concerned.
    """
    direction, rate = course.slot[its.INVERSE_NEW], course.weight[its.RATE]
    for a in range(course.count[its.SIZE]):
        direction[a] *= factor
    fill(rate, 0, rate.shape[0], 0.0)
    spread(course, direction, rate)
    if own >= 0:
        rate[own] = sign
    hit = first_hit(course, direction, row, sign)
    if hit[1] != its.NOTHING:
        length = hit[0] * np.sqrt(inner(rate.shape[0], rate, rate))
        course.level[its.TRAVELLED] += length
        stepped(course, length, its.LEAP)
    fill(rate, 0, rate.shape[0], 0.0)
    return hit


@compiled(inner=True)
def _kink_of(course: Course, hit: Event) -> int:
    """The kink that a row was about to meet."""
    at = course.mark[its.PIECE, hit[2]]
    return int(at + 1 if hit[3] > 0 else at)


@compiled(inner=True)
def leave_by_slide(course: Course, i: int, side: int) -> int:
    """Row i leaves its kink towards `side`, and something takes its place."""
    hit = _slide(course, float(side), -1, side, i)
    if hit[1] == its.NOTHING:
        return its.UNBOUNDED
    p, at = course.sign.shape[0], course.mark[its.PIECE, i]
    k = course.place[p + i]
    if hit[1] == its.KINK and hit[2] == i:
        _hop(course, i, k, at + side)
        note(course, 0, p + i, 2 * (at + side) + 1)
    else:
        piece = at if side > 0 else at - 1
        stand(course, i, piece)
        note(course, 0, p + i, 2 * piece)
        row_over_slots(course, i, course.slot[its.NEW])
        pool(course, i, course.slot[its.NEW], 1.0)
        _lean_on(course, i, k, -1.0)  # G times the pull of row i, which is its own column, is slot k
        if hit[1] == its.ZERO:
            _vacate(course, k, hit[2])
            note(course, 1, hit[2], 0)
        else:
            kink = _kink_of(course, hit)
            _take_over(course, k, hit[2], kink)
            note(course, 1, p + hit[2], 2 * kink + 1)
    changed(course)
    hold_vertex(course)
    return its.GOING


@compiled(inner=True)
def _lean_on(course: Course, i: int, k: int, share: float) -> None:
    """Answers of slot k += share times the slope of row i."""
    slot, level = course.slot, course.level
    bent, true = share * course.row[its.SLOPE, i], share * course.row[its.TRUE_SLOPE, i]
    slot[0, k] += level[its.LOSS0] * bent
    slot[1, k] += level[its.LOSS1] * bent
    slot[2, k] += level[its.LOSS0] * true
    slot[3, k] += level[its.LOSS1] * true


@compiled(inner=True)
def _hop(course: Course, i: int, k: int, kink: int) -> None:
    """Row i, in slot k, goes from one kink to the next."""
    g, slot, size = course.slot[its.INVERSE_NEW], course.slot, course.count[its.SIZE]
    column(course.inverse, size, k, g)
    stick(course, i, kink)
    for c in range(4):
        course.miss[4 + c] = slot[4 + c, k]
    set_right(course, k)
    for c in range(4):
        step = slot[4 + c, k] - course.miss[4 + c]
        for a in range(size):
            slot[c, a] += step * g[a]


@compiled(inner=True)
def _vacate(course: Course, k: int, j: int) -> None:
    """The row in slot k and weight j leave together."""
    other, size = course.place[j], course.count[its.SIZE]
    first, second = course.slot[its.INVERSE_NEW], course.slot[its.INVERSE_OTHER]
    column(course.inverse, size, k, first)
    column(course.inverse, size, other, second)
    remove_two(course, k, other, first, second)
    set_aside(course, j)
    course.count[its.STUCK_ROWS] -= 1


@compiled(inner=True)
def _take_over(course: Course, k: int, i: int, kink: int) -> None:
    """Row i takes slot k from another row. Its pull goes: G times it is slot k plus G times the change."""
    slot, size, level = course.slot, course.count[its.SIZE], course.level
    bent, true = course.row[its.SLOPE, i], course.row[its.TRUE_SLOPE, i]
    row_over_slots(course, i, slot[its.OTHER])
    pool(course, i, slot[its.OTHER], -1.0)
    _lean_on(course, i, k, 1.0)
    stick(course, i, kink)
    _compare(course, k, course.sign.shape[0] + i)
    for a in range(size):
        g = slot[its.NEW + 2, a]
        slot[0, a] += level[its.LOSS0] * bent * g
        slot[1, a] += level[its.LOSS1] * bent * g
        slot[2, a] += level[its.LOSS0] * true * g
        slot[3, a] += level[its.LOSS1] * true * g
    _replace(course, k, course.sign.shape[0] + i)


@compiled(inner=True)
def _over_slots(course: Course, key: int, u: Vector) -> float:
    """The column of any key, and its diagonal."""
    p = course.sign.shape[0]
    if key < p:
        return weight_over_slots(course, key, u)
    row_over_slots(course, key - p, u)
    return 0.0


@compiled(inner=True)
def _compare(course: Course, k: int, key: int) -> None:
    """Line NEW = column of the key − column of slot k, then G[:, k] and G times NEW; miss[4] the corner."""
    new, old, after = course.slot[its.NEW], course.slot[its.NEW + 1], course.slot[its.NEW + 2]
    corner = _over_slots(course, key, new)
    corner -= _over_slots(course, course.keys[k], old)
    for a in range(course.count[its.SIZE]):
        new[a] -= old[a]
    new[k] = 0.0
    column(course.inverse, course.count[its.SIZE], k, old)
    times(course.inverse, course.count[its.SIZE], new, after)
    course.miss[8] = corner


@compiled(inner=True)
def _replace(course: Course, k: int, key: int) -> None:
    """The key takes slot k, as compared, with its right side."""
    slot, miss = course.slot, course.miss
    set_miss(course, key)
    for c in range(4):
        step = miss[c] - slot[4 + c, k]
        slot[4 + c, k] = miss[c]
        for a in range(course.count[its.SIZE]):
            slot[c, a] += step * slot[its.NEW + 1, a]
    pivot = replace(course, k, key, slot[its.NEW : its.NEW + 3], miss[8])
    if not pivot >= DOUBTFUL:
        course.count[its.STALE] = 1


@compiled(inner=True)
def enter_by_slide(course: Course, j: int, sign: int) -> int:
    """Weight j enters a system without curvature, and something takes or leaves a place."""
    hit = _slide(course, float(-sign), j, sign, -1)
    if hit[1] == its.NOTHING and course.weight[its.BENT_PRICE, j] == 0.0:  # a free weight may go either way
        sign = -sign
        hit = _slide(course, -1.0, j, sign, -1)
    if hit[1] == its.NOTHING:
        course.sign[j] = 0
        return its.UNBOUNDED
    course.sign[j] = sign
    course.weight[its.EXPIRY, j] = -np.inf
    note(course, 0, j, sign)
    if hit[1] == its.ZERO:
        slot = course.place[hit[2]]
        _compare(course, slot, j)
        _replace(course, slot, j)
        set_aside(course, hit[2])
        note(course, 1, hit[2], 0)
    else:
        kink = _kink_of(course, hit)
        _enter_with_row(course, j, hit[2], kink)
        note(course, 1, course.sign.shape[0] + hit[2], 2 * kink + 1)
    changed(course)
    hold_vertex(course)
    return its.GOING


@compiled(inner=True)
def _enter_with_row(course: Course, j: int, i: int, kink: int) -> None:
    """Weight j and the row it met join together."""
    slot, size, level = course.slot, course.count[its.SIZE], course.level
    bent, true = course.row[its.SLOPE, i], course.row[its.TRUE_SLOPE, i]
    row_over_slots(course, i, slot[its.OTHER])
    pool(course, i, slot[its.OTHER], -1.0)
    times(course.inverse, size, slot[its.OTHER], slot[its.INVERSE_OTHER])
    for a in range(size):
        g = slot[its.INVERSE_OTHER, a]
        slot[0, a] += level[its.LOSS0] * bent * g
        slot[1, a] += level[its.LOSS1] * bent * g
        slot[2, a] += level[its.LOSS0] * true * g
        slot[3, a] += level[its.LOSS1] * true * g
    stick(course, i, kink)
    diagonal = weight_over_slots(course, j, slot[its.NEW])
    times(course.inverse, size, slot[its.NEW], slot[its.INVERSE_NEW])
    corner = (diagonal, course.row[its.COLUMN, i], 0.0)
    keys = (j, course.sign.shape[0] + i)
    for place in range(2):
        set_miss(course, keys[place])
        for c in range(4):
            slot[4 + c, size + place] = course.miss[c]
    append_two(course, slot[its.NEW : its.NEW + 4], corner, keys)
    course.count[its.STUCK_ROWS] += 1


@compiled(inner=True)
def _apply_hit(course: Course, hit: Event) -> bool:
    """On a slide among curved rows: the weight met leaves, or the row met turns. False if it cannot."""
    if hit[1] == its.ZERO:
        drop(course, plan_drop(course, hit[2]))
        note(course, 1, hit[2], 0)
        return True
    i, new = hit[2], course.mark[its.PIECE, hit[2]] + hit[3]
    share = plan_turn(course, i, new)
    if not share > 0.0:
        return False
    turn(course, i, new, share)
    note(course, 1, course.sign.shape[0] + i, 2 * new)
    return True


@compiled(inner=True)
def slide_flat(course: Course, key: int, side: int) -> int:
    """Among curved rows: weight `key` enters, or row `key` − p turns, where no curvature is left for it.

    First what the slide meets, then itself.
    """
    p = course.sign.shape[0]
    weight = key < p
    hit = _slide(course, float(-side if weight else side), key if weight else -1, side, -1)
    if weight:
        course.sign[key] = 0
    if hit[1] == its.NOTHING:
        return its.UNBOUNDED
    if not _apply_hit(course, hit):
        return its.STUCK
    course.count[its.STALE] = 1
    if weight:
        pivot = plan_enter(course, key, side)[0]
        if pivot > 0.0:
            enter(course, key, pivot)
            note(course, 0, key, side)
    else:
        new = course.mark[its.PIECE, key - p] + side
        pivot = plan_turn(course, key - p, new)
        if pivot > 0.0:
            turn(course, key - p, new, pivot)
            note(course, 0, key, 2 * new)
    return its.GOING if pivot > 0.0 else its.STUCK
