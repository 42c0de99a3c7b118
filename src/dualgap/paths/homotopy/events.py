"""What happens next: the smallest step at which a weight, a row or a multiplier meets its bound.

Lazy and exact: a row whose prediction is `slack` away from its kinks cannot meet one before the weights have
travelled slack / ‖x_i‖, so that one number per row says when it must be looked at again; columns likewise,
with the length that the dual has travelled.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dualgap.arrays import Vector
from dualgap.compiled.layout import Lines
from dualgap.compiled.lines import dot
from dualgap.compiled.mechanism import compiled
from dualgap.paths.homotopy import course as its
from dualgap.paths.homotopy.course import Course
from dualgap.paths.homotopy.system import inner, spread
from dualgap.paths.homotopy.watch import components, new_snapshot, open_step, within

STILL = 1e-12  # rates below this share of what they are a sum of are rounding

SEVERAL = 3.0  # usual steps that a first look covers

Event = tuple[float, int, int, int]  # step, kind, key, side


@compiled(inner=True)
def settle(course: Course) -> None:
    """Values and rates of every slot at the present s."""
    slot, s, way, p = course.slot, course.level[its.AT], course.level[its.WAY], course.sign.shape[0]
    length = 0.0
    for a in range(course.count[its.SIZE]):
        slot[its.NOW, a] = slot[0, a] + s * slot[1, a]
        slot[its.SPEED, a] = way * slot[1, a]
        if course.keys[a] < p:
            length += slot[1, a] * slot[1, a]
    course.level[its.PACE] = np.sqrt(length)
    spread(course, slot[its.NOW], course.weight[its.VALUE])
    spread(course, slot[its.SPEED], course.weight[its.RATE])


@compiled(inner=True)
def next_event(course: Course, end: float) -> Event:
    """The first thing to happen on the way to `end`."""
    settle(course)
    room = abs(end - course.level[its.AT])
    best = (room * (1.0 - 1e-10), its.END, -1, 0)
    best = _weights_to_zero(course, course.slot[its.SPEED], best)
    if course.count[its.STUCK_ROWS] > 0:
        best = _multipliers_to_bounds(course, best)
    if course.level[its.PACE] > 0.0 and course.pieces.shape[2] > 2:
        curved, pace = course.count[its.CURVED], course.level[its.PACE]
        best = _curved_rows(course, best) if curved else _soon(course, pace, best)
    course.level[its.DUAL_PACE] = 0.0
    if course.count[its.STUCK_ROWS] + course.sign.shape[0] > course.count[its.SIZE]:
        best = _weights_to_enter(course, best)
    return best if best[1] != its.END else (room, its.END, -1, 0)


@compiled(inner=True)
def next_smooth(course: Course, end: float) -> Event:
    """The same where no row has a kink."""
    settle(course)
    room = abs(end - course.level[its.AT])
    best = _weights_to_zero(course, course.slot[its.SPEED], (room * (1.0 - 1e-10), its.END, -1, 0))
    course.level[its.DUAL_PACE] = 0.0
    if course.sign.shape[0] > course.count[its.SIZE]:
        best = _weights_to_enter(course, best)
    return best if best[1] != its.END else (room, its.END, -1, 0)


@compiled(inner=True)
def _weights_to_zero(course: Course, rate: Vector, best: Event) -> Event:
    p, keys = course.sign.shape[0], course.keys
    for a in range(course.count[its.SIZE]):
        j = keys[a]
        if j < p and course.weight[its.BENT_PRICE, j] > 0.0:
            closing = -rate[a] * course.sign[j]
            if closing > 0.0:
                step = max(course.slot[its.NOW, a] * course.sign[j], 0.0) / closing
                if step < best[0]:
                    best = (step, its.ZERO, j, 0)
    return best


@compiled(inner=True)
def _multipliers_to_bounds(course: Course, best: Event) -> Event:
    p, keys, slot, level = course.sign.shape[0], course.keys, course.slot, course.level
    strength, gain = level[its.LOSS0] + level[its.LOSS1] * level[its.AT], level[its.WAY] * level[its.LOSS1]
    total = 0.0
    for a in range(course.count[its.SIZE]):
        if keys[a] >= p:
            total += slot[its.SPEED, a] * slot[its.SPEED, a]
    noise = STILL * np.sqrt(total)
    for a in range(course.count[its.SIZE]):
        if keys[a] < p:
            continue
        i = keys[a] - p
        at = course.mark[its.PIECE, i]
        left, right = course.pieces[its.BENT_SLOPE, i, at - 1], course.pieces[its.BENT_SLOPE, i, at]
        closing = slot[its.SPEED, a] - gain * right
        if closing > noise:
            step = max(strength * right - slot[its.NOW, a], 0.0) / closing
            if step < best[0]:
                best = (step, its.LEAVE, i, 1)
        closing = gain * left - slot[its.SPEED, a]
        if closing > noise:
            step = max(slot[its.NOW, a] - strength * left, 0.0) / closing
            if step < best[0]:
                best = (step, its.LEAVE, i, -1)
    return best


@compiled(inner=True)
def _meeting(below: float, above: float, rate: float, i: int, best: Event) -> Event:
    """Row i on its way to the kink ahead; `below` and `above` are its distances to the two."""
    step = max(above, 0.0) / rate if rate > 0.0 else max(below, 0.0) / -rate
    return (step, its.KINK, i, 1 if rate > 0.0 else -1) if step < best[0] else best


@compiled(inner=True)
def _curved_rows(course: Course, best: Event) -> Event:
    row, s, way, noise = (
        course.row,
        course.level[its.AT],
        course.level[its.WAY],
        STILL * course.level[its.PACE],
    )
    kink, piece = course.pieces[its.BENT_KINK], course.mark[its.PIECE]
    for i in range(row.shape[1]):
        rate = way * row[its.Z1, i]
        if abs(rate) > noise * row[its.ROW_SIZE, i]:
            z = row[its.Z0, i] + s * row[its.Z1, i]
            best = _meeting(z - kink[i, piece[i]], kink[i, piece[i] + 1] - z, rate, i, best)
    return best


@compiled(inner=True)
def _straight_rows(course: Course, pace: float, best: Event) -> Event:
    """Rows off their kinks, while the weights move along line RATE at this pace."""
    rows, value, rate = course.rows, course.weight[its.VALUE], course.weight[its.RATE]
    expiry, sizes, kink = course.row[its.ROW_EXPIRY], course.row[its.ROW_SIZE], course.pieces[its.BENT_KINK]
    kinked, banned, piece = course.mark[its.KINKED], course.mark[its.BANNED], course.mark[its.PIECE]
    travelled, version, evaluated = course.level[its.TRAVELLED], course.count[its.VERSION], 0
    for i in range(expiry.shape[0]):
        if sizes[i] * (travelled + best[0] * pace) < expiry[i] or kinked[i]:
            continue
        if banned[i] == version:
            continue
        z, r = two_dots(rows, i, value, rate)
        below, above = z - kink[i, piece[i]], kink[i, piece[i] + 1] - z
        expiry[i] = max(min(below, above), 0.0) + sizes[i] * travelled
        evaluated += 1
        if abs(r) > STILL * sizes[i] * pace:
            best = _meeting(below, above, r, i, best)
    course.count[its.EVALUATED] += evaluated
    return best


@compiled(inner=True)
def _soon(course: Course, pace: float, best: Event) -> Event:
    """Rows to meet a kink: first within a few usual steps, then, if there is none, as far as `best`."""
    near = SEVERAL * course.level[its.LEAP] / pace
    if near < best[0]:
        found = _straight_rows(course, pace, (near, its.NOTHING, -1, 0))
        if found[1] != its.NOTHING:
            return found
    return _straight_rows(course, pace, best)


@compiled(inner=True)
def stepped(course: Course, length: float, which: int) -> None:
    """The usual length of a step, kept up to date."""
    course.level[which] += 0.25 * (length - course.level[which])


def _numpy_two_dots(columns: Lines, j: int, x: Vector, y: Vector) -> tuple[Any, Any]:
    line = slice(columns.starts[j], columns.starts[j + 1])
    if columns.dense:
        return np.dot(columns.values[line], x), np.dot(columns.values[line], y)
    where = columns.indices[line]
    return np.dot(columns.values[line], x[where]), np.dot(columns.values[line], y[where])


@compiled(reassociate=True, inner=True, in_numpy=_numpy_two_dots)
def two_dots(columns: Lines, j: int, x: Vector, y: Vector) -> tuple[float, float]:
    """Column j times two vectors, read once."""
    first, last = columns.starts[j], columns.starts[j + 1]
    one = two = 0.0
    if columns.dense:
        for k in range(last - first):
            one += columns.values[first + k] * x[k]
            two += columns.values[first + k] * y[k]
    else:
        for k in range(first, last):
            one += columns.values[k] * x[columns.indices[k]]
            two += columns.values[k] * y[columns.indices[k]]
    return one, two


@compiled(inner=True)
def _dual_along(course: Course) -> float:
    """The dual (over s where s = 1/λ) and its rate in λ or s; returns the size of that rate."""
    row, slot, p = course.row, course.slot, course.sign.shape[0]
    s, way, total = course.level[its.AT], course.level[its.WAY], 0.0
    if course.count[its.CURVED]:
        for i in range(row.shape[1]):
            row[its.DUAL, i] = row[its.BEND, i] * (row[its.Z0, i] + s * row[its.Z1, i]) + row[its.SLOPE, i]
            row[its.DUAL_RATE, i] = way * row[its.BEND, i] * row[its.Z1, i]
            total += row[its.DUAL_RATE, i] * row[its.DUAL_RATE, i]
        return np.sqrt(total)
    for a in range(course.count[its.SIZE]):
        if course.keys[a] >= p:
            i = course.keys[a] - p
            if course.count[its.INVERSE]:
                row[its.DUAL, i] = slot[1, a] + slot[0, a] / s
                row[its.DUAL_RATE, i] = -way * slot[0, a]
            else:
                row[its.DUAL, i] = slot[its.NOW, a]
                row[its.DUAL_RATE, i] = slot[its.SPEED, a]
            total += row[its.DUAL_RATE, i] * row[its.DUAL_RATE, i]
    return np.sqrt(total)


@compiled(inner=True)
def span_of(course: Course, step: float) -> float:
    """How far λ (or s itself) moves while s moves by `step`."""
    if not course.count[its.INVERSE]:
        return step
    s = course.level[its.AT]
    return abs(1.0 / s - 1.0 / (s + course.level[its.WAY] * step)) if s > 0.0 else 0.0


@compiled(inner=True)
def _step_of(course: Course, span: float) -> float:
    """The inverse of `span_of`."""
    if not course.count[its.INVERSE]:
        return span
    s = course.level[its.AT]
    there = 1.0 / s - course.level[its.WAY] * span
    return abs(1.0 / there - s) if there > 0.0 else np.inf


@compiled(inner=True)
def _weights_to_enter(course: Course, best: Event) -> Event:
    """Weights whose gradient meets its price: first within a few usual steps, then as far as `best`."""
    course.level[its.DUAL_PACE] = _dual_along(course)
    span, near = span_of(course, best[0]), SEVERAL * course.level[its.DUAL_LEAP]
    found = (span, -1, 0)
    if near < span:
        found = _entrants(course, near)
    if found[1] < 0:
        found = _entrants(course, span)
    return best if found[1] < 0 else (_step_of(course, found[0]), its.ENTER, found[1], found[2])


@compiled(inner=True)
def _entrants(course: Course, span: float) -> tuple[float, int, int]:
    """The first weight to enter while λ (or s) moves by `span`: where, which, and its sign."""
    level, dual, rate, new = course.level, course.row[its.DUAL], course.row[its.DUAL_RATE], -1
    price, expiry, sizes = (
        course.weight[its.BENT_PRICE],
        course.weight[its.EXPIRY],
        course.weight[its.COLUMN_SIZE],
    )
    tilt, seen, snap, columns = (
        course.weight[its.TILT],
        course.weight[its.SEEN : its.SEEN + 2],
        course.snap,
        course.columns,
    )
    way, floor, slope, at = level[its.WAY], level[its.PRICE0], level[its.PRICE1], level[its.AT]
    if course.count[its.INVERSE]:
        way, floor, slope, at = -way, 0.0, 1.0, 1.0 / at
    strength, pace, first, side = floor + slope * at, level[its.DUAL_PACE], -1, 0
    travelled, paid = level[its.DUAL_TRAVELLED], level[its.PRICE_TRAVELLED]
    watched = course.basis.shape[0] > 0 and not course.count[its.TILTED]
    if watched:
        open_step(course, span)
    lowest = min(strength, strength + way * slope * span)
    for j in range(price.shape[0]):
        drift = abs(slope) * price[j] + abs(tilt[j])
        if sizes[j] * (travelled + span * pace) + drift * (paid + span) < expiry[j] or course.sign[j] != 0:
            continue
        if (
            watched and within(course.reach, snap[j], seen[0, j], seen[1, j], sizes[j]) < lowest * price[j]
        ) or (price[j] == np.inf):
            continue
        g, r = two_dots(columns, j, dual, rate)
        if watched:
            new = new_snapshot(course) if new < 0 else new
            snap[j] = new
            seen[0, j], seen[1, j] = components(course.reach, g, r)
        g, r = g + level[its.AT] * tilt[j], r + way * tilt[j]
        expiry[j] = max(strength * price[j] - abs(g), 0.0) + sizes[j] * travelled + drift * paid
        noise = STILL * (sizes[j] * pace + drift)
        far, sign = _entering(g, r, strength * price[j], way * slope * price[j], noise)
        if far < span:
            span, first, side = far, j, sign
    return span, first, side


@compiled(inner=True)
def _entering(g: float, rate: float, bound: float, widening: float, noise: float) -> tuple[float, int]:
    """When |g| meets the bound: how far away, and the sign that the weight will have."""
    far, sign = np.inf, 0
    closing = rate - widening
    if closing > noise:
        far, sign = max(bound - g, 0.0) / closing, -1
    closing = -rate - widening
    if closing > noise:
        other = max(bound + g, 0.0) / closing
        if other < far:
            far, sign = other, 1
    return far, sign


@compiled(inner=True)
def first_hit(course: Course, direction: Vector, own: int, side: int) -> Event:
    """The first term met when the weights slide along `direction` at fixed s.

    `own` is the row that was released from a kink towards `side`, or −1. Line RATE of the weights must hold
    the direction in full length.
    """
    best = (np.inf, its.NOTHING, -1, 0)
    best = _weights_to_zero(course, direction, best)
    rate = course.weight[its.RATE]
    pace = np.sqrt(inner(rate.shape[0], rate, rate))
    if course.count[its.CURVED]:
        return _flat_rows(course, pace, best)
    if own >= 0:
        at = course.mark[its.PIECE, own]
        speed = abs(dot(course.rows, own, rate))
        far = abs(course.pieces[its.BENT_KINK, own, at + side] - course.pieces[its.BENT_KINK, own, at])
        if far < best[0] * speed:
            best = (far / speed, its.KINK, own, side)
    return _soon(course, pace, best) if pace > 0.0 else best


@compiled(inner=True)
def _flat_rows(course: Course, pace: float, best: Event) -> Event:
    """Rows without curvature that meet a kink on a slide; those with curvature cannot move."""
    row, s, rate = course.row, course.level[its.AT], course.weight[its.RATE]
    kink, piece = course.pieces[its.BENT_KINK], course.mark[its.PIECE]
    for i in range(row.shape[1]):
        if row[its.BEND, i] == 0.0:
            r = dot(course.rows, i, rate)
            if abs(r) > STILL * row[its.ROW_SIZE, i] * pace:
                z = row[its.Z0, i] + s * row[its.Z1, i]
                best = _meeting(z - kink[i, piece[i]], kink[i, piece[i] + 1] - z, r, i, best)
    return best
