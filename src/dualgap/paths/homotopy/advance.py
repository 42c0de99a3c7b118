"""The homotopy: from event to event along s, writing the true answer at each."""

from __future__ import annotations

from dualgap.compiled.mechanism import compiled
from dualgap.paths.homotopy import course as its
from dualgap.paths.homotopy.course import Course, Log
from dualgap.paths.homotopy.events import Event, next_event, next_smooth, settle, span_of, stepped
from dualgap.paths.homotopy.pivots import (
    catch,
    drop,
    enter,
    leave,
    place_truly,
    plan_drop,
    plan_enter,
    plan_kink,
    plan_leave,
    plan_turn,
    suspect,
    turn,
    weak,
)
from dualgap.paths.homotopy.slides import DOUBTFUL, enter_by_slide, leave_by_slide, note, slide_flat

REFRESH = 50  # events between two corrections of the answers by their residual
PATIENCE = 2000  # steps of length zero in a row before giving up
SINGULAR = 1e-10  # pivots of weights below this share of their scale count as zero
FLAT = 1e-11  # and those of rows below this


def _goes_on(outcome: int, *_: object) -> bool:
    return outcome == its.LIMIT


@compiled(pauses=_goes_on)
def any_loss(course: Course, log: Log, end: float, limit: int) -> int:
    """Follow s to `end`; stops early where something else is to be done first. No event: write a record."""
    if limit == 0:
        _write(course, log)
    for _ in range(limit):
        outcome = _ready(course, log)
        if outcome != its.GOING:
            return outcome
        event = next_event(course, end)
        if _move(course, event, end):
            return its.ARRIVED
        outcome = _pivot(course, event)
        if outcome >= its.SLIDE_LEAVE:
            if (
                course.count[its.CURVED] or course.count[its.INVERSE]
            ):  # else the answer is constant up to here
                _write(course, log)
            outcome = _slide_on(course, outcome, event)
        if outcome != its.GOING:
            return outcome
        if course.change[0, 0] >= 0:
            _write(course, log)
    return its.LIMIT


@compiled(pauses=_goes_on)
def no_kinks(course: Course, log: Log, end: float, limit: int) -> int:
    """The same for a loss without kinks, compiled twice as fast; slides are left to the other."""
    if limit == 0:
        _write(course, log)
    for _ in range(limit):
        outcome = _ready(course, log)
        if outcome != its.GOING:
            return outcome
        event = next_smooth(course, end)
        if _move(course, event, end):
            return its.ARRIVED
        if event[1] == its.ZERO:
            _drop(course, event[2])
        elif _enter(course, event[2], event[3]) == its.FLAT_ENTER:
            course.sign[event[2]] = 0
            return its.FLAT_ENTER
        if course.change[0, 0] >= 0:
            _write(course, log)
    return its.LIMIT


@compiled(inner=True)
def _ready(course: Course, log: Log) -> int:
    """Room in block and log, a sound inverse, and progress."""
    count = course.count
    if count[its.SIZE] + 3 > course.keys.shape[0]:
        return its.ROOM
    if (
        count[its.STORED] + 1 >= log.level.shape[0]
        or count[its.VALUES] + 2 * count[its.SIZE] + 2 > log.values.shape[0]
    ):
        return its.FULL
    if count[its.STANDING] > PATIENCE:
        return its.STUCK
    return its.WORN if count[its.STALE] or count[its.UPDATES] >= REFRESH else its.GOING


@compiled(inner=True)
def _move(course: Course, event: Event, end: float) -> bool:
    """On to the event; True if that is the end."""
    level, step, change = course.level, event[0], course.change
    span = span_of(course, step)
    stepped(course, step * level[its.PACE], its.LEAP)
    stepped(course, span, its.DUAL_LEAP)
    level[its.TRAVELLED] += step * level[its.PACE]
    level[its.DUAL_TRAVELLED] += span * level[its.DUAL_PACE]
    level[its.PRICE_TRAVELLED] += span
    level[its.AT] += level[its.WAY] * step
    standing = step <= 1e-15 * max(1.0, abs(level[its.AT]))
    course.count[its.STANDING] = course.count[its.STANDING] + 1 if standing else 0
    change[0, 0] = change[0, 1] = change[1, 0] = change[1, 1] = -1
    if event[1] == its.END:
        level[its.AT] = end
        level[its.TRUE_AT] = end
        return True
    settle(course)
    return False


@compiled(inner=True)
def _pivot(course: Course, event: Event) -> int:
    """Apply the event; or say which slide it needs; or leave it for a fresh inverse (no change noted)."""
    kind, key, side = event[1], event[2], event[3]
    if kind == its.ZERO:
        return _drop(course, key)
    if kind == its.KINK:
        return _turn(course, key, side) if course.count[its.CURVED] else _kink(course, key, side)
    if kind == its.LEAVE:
        return _leave(course, key, side)
    return _enter(course, key, side)


@compiled(inner=True)
def _drop(course: Course, j: int) -> int:
    """A weight reaches zero, and leaves."""
    slot = plan_drop(course, j)
    place_truly(course)
    if weak(course, slot, DOUBTFUL) and suspect(course):
        return its.GOING
    drop(course, slot)
    note(course, 0, j, 0)
    return its.GOING


@compiled(inner=True)
def _slide_on(course: Course, kind: int, event: Event) -> int:
    key, side = event[2], event[3]
    if kind == its.SLIDE_LEAVE:
        return leave_by_slide(course, key, side)
    if kind == its.SLIDE_ENTER:
        return enter_by_slide(course, key, side)
    return slide_flat(course, key + (course.sign.shape[0] if kind == its.FLAT_TURN else 0), side)


@compiled(inner=True)
def _turn(course: Course, i: int, side: int) -> int:
    """A row of a curved loss goes over to the next piece."""
    new = course.mark[its.PIECE, i] + side
    share = plan_turn(course, i, new)
    if not share >= DOUBTFUL and suspect(course):
        return its.GOING
    place_truly(course)
    if share < FLAT:
        return its.FLAT_TURN
    turn(course, i, new, share)
    note(course, 0, course.sign.shape[0] + i, 2 * new)
    return its.GOING


@compiled(inner=True)
def _kink(course: Course, i: int, side: int) -> int:
    """A row of a straight loss sticks to a kink; a row that depends on those stuck only seems to move."""
    at = course.mark[its.PIECE, i]
    kink = at + 1 if side > 0 else at
    sigma, scale = plan_kink(course, i, kink)
    if abs(sigma) < DOUBTFUL * scale and suspect(course):
        return its.GOING
    if abs(sigma) <= FLAT * scale:
        course.mark[its.BANNED, i] = course.count[its.VERSION]
        return its.GOING
    place_truly(course)
    catch(course, i, kink, sigma)
    note(course, 0, course.sign.shape[0] + i, 2 * kink + 1)
    return its.GOING


@compiled(inner=True)
def _leave(course: Course, i: int, side: int) -> int:
    """A multiplier reaches the end of its interval: its row leaves the kink, by a slide if it must."""
    p, at, free = course.sign.shape[0], course.mark[its.PIECE, i], 0
    piece = at if side > 0 else at - 1
    slot = plan_leave(course, i, piece)
    place_truly(course)
    for a in range(course.count[its.SIZE]):
        if course.keys[a] < p and course.weight[its.RIDGE, course.keys[a]] == 0.0:
            free += 1
    if free == course.count[its.STUCK_ROWS]:
        return its.SLIDE_LEAVE
    if weak(course, slot, DOUBTFUL) and suspect(course):
        return its.GOING
    if free > 1 and weak(course, slot, FLAT):
        return its.SLIDE_LEAVE
    leave(course, slot, piece)
    note(course, 0, p + i, 2 * piece)
    return its.GOING


@compiled(inner=True)
def _enter(course: Course, j: int, sign: int) -> int:
    """A gradient reaches its price: the weight enters, by a slide if nothing curves along it."""
    sigma, scale = plan_enter(course, j, sign)
    place_truly(course)
    if not course.count[its.CURVED] and course.weight[its.RIDGE, j] == 0.0:
        return its.SLIDE_ENTER
    if not sigma >= DOUBTFUL * scale and suspect(course):
        course.sign[j] = 0
        return its.GOING
    if sigma <= SINGULAR * scale:
        return its.FLAT_ENTER
    enter(course, j, sigma)
    note(course, 0, j, sign)
    return its.GOING


@compiled(inner=True)
def _write(course: Course, log: Log) -> None:
    """A record: the true place of the event (never backwards) and the true answer there."""
    count, level, slot = course.count, course.level, course.slot
    k, first = count[its.STORED], count[its.VALUES]
    if level[its.WAY] > 0.0:
        level[its.LAST] = max(level[its.LAST], level[its.TRUE_AT])
    else:
        level[its.LAST] = min(level[its.LAST], level[its.TRUE_AT])
    s = level[its.LAST]
    log.level[k] = s
    for line in range(2):
        log.keys[k, line] = course.change[line, 0]
        log.codes[k, line] = course.change[line, 1]
    for a in range(count[its.SIZE]):
        log.slots[first + a] = course.keys[a]
        log.values[first + a] = slot[2, a] + s * slot[3, a]
    count[its.STORED] = k + 1
    count[its.VALUES] = first + count[its.SIZE]
    log.start[k + 1] = count[its.VALUES]
