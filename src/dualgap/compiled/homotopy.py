"""The homotopy: from event to event along s, writing the true answer at each."""

from __future__ import annotations

import numpy as np

from dualgap.compiled.homotopy_events import Event, next_event, settle, span_of
from dualgap.compiled.homotopy_pivots import (
    DOUBTFUL,
    FLAT,
    SINGULAR,
    do_drop,
    do_enter,
    do_kink,
    do_leave,
    do_turn,
    place_truly,
    plan_drop,
    plan_kink,
    plan_leave,
    stand,
    stick,
    surely_enter,
    surely_turn,
)
from dualgap.compiled.homotopy_slides import (
    enter_along_flat,
    enter_by_slide,
    note,
    release_by_slide,
    turn_along_flat,
)
from dualgap.compiled.homotopy_state import (
    ARRIVED,
    DIRECTION,
    DUAL_PACE,
    DUAL_TRAVELLED,
    END,
    FULL,
    GOING,
    KINK,
    KINKED,
    LAST,
    LEAVE,
    LIMIT,
    NOW,
    PACE,
    PRICE_TRAVELLED,
    ROOM,
    SIZE,
    STALE,
    STANDING,
    STORED,
    STUCK,
    TRAVELLED,
    TRUE,
    UPDATES,
    VALUES,
    VERSION,
    ZERO,
    Form,
    Integers,
    Log,
    Model,
    State,
)
from dualgap.compiled.homotopy_system import refactor, refresh
from dualgap.compiled.mechanism import compiled

REFRESH = 40  # events between two corrections of the answers by their residual
PATIENCE = 2000  # steps of length zero in a row before giving up


@compiled
def begin(model: Model, form: Form, state: State, start: float, end: float) -> None:
    """Take the signs, pieces and kinks in `state` as they are, and solve there."""
    state.level[:] = 0.0
    state.level[NOW] = start
    state.level[LAST] = start
    state.level[DIRECTION] = 1.0 if end > start else -1.0
    state.count[:] = 0
    state.block.place[:] = -1
    p = state.weights.sign.shape[0]
    for j in range(p):
        state.weights.value[j] = 0.0
        state.weights.rate[j] = 0.0
        state.weights.expiry[j] = -np.inf
        if state.weights.sign[j] != 0:
            _seat(state, j)
    for i in range(state.rows.piece.shape[0]):
        state.rows.banned[i] = -1
        if state.rows.kinked[i]:
            stick(state, i, state.rows.piece[i])
            state.rows.bend[i] = 0.0
            state.rows.dual_rate[i] = 0.0
            _seat(state, p + i)
            state.count[KINKED] += 1
        else:
            stand(model, state, i, state.rows.piece[i])
    refactor(model, form, state)


@compiled
def _seat(state: State, key: int) -> None:
    slot = state.count[SIZE]
    state.block.keys[slot] = key
    state.block.place[key] = slot
    state.count[SIZE] = slot + 1


@compiled
def advance(model: Model, form: Form, state: State, log: Log, end: float, limit: int) -> int:
    """Follow s to `end`; stops early where the log or the block is full, and can be called again."""
    change = np.zeros((2, 2), np.int64)
    for _ in range(limit):
        if state.count[SIZE] + 3 > state.block.keys.shape[0]:
            return ROOM
        if _is_full(state, log):
            return FULL
        if state.count[STALE]:
            refactor(model, form, state)
        elif state.count[UPDATES] >= REFRESH:
            refresh(model, form, state)
        event = next_event(model, form, state, end)
        _move(form, state, event)
        if event[1] == END:
            state.level[NOW] = end
            state.level[TRUE] = end
            write(state, log, np.full((2, 2), -1))
            return ARRIVED
        if state.count[STANDING] > PATIENCE:
            return STUCK
        settle(model, form, state)
        change[:] = -1
        outcome = _pivot(model, form, state, event, change)
        if outcome != GOING:
            return outcome
        if change[0, 0] >= 0:
            write(state, log, change)
    return LIMIT


@compiled
def _is_full(state: State, log: Log) -> bool:
    if state.count[STORED] >= log.level.shape[0]:
        return True
    return bool(state.count[VALUES] + state.count[SIZE] + 2 > log.values.shape[0])


@compiled
def _move(form: Form, state: State, event: Event) -> None:
    level, step = state.level, event[0]
    span = span_of(form, state, step) if level[NOW] != 0.0 or not form.inverse else 0.0
    level[TRAVELLED] += step * level[PACE]
    level[DUAL_TRAVELLED] += span * level[DUAL_PACE]
    level[PRICE_TRAVELLED] += span
    level[NOW] += level[DIRECTION] * step
    standing = step <= 1e-15 * max(1.0, abs(level[NOW]))
    state.count[STANDING] = state.count[STANDING] + 1 if standing else 0


@compiled
def _pivot(model: Model, form: Form, state: State, event: Event, change: Integers) -> int:
    if event[1] == ZERO:
        slot = plan_drop(state, event[2])
        place_truly(state)
        do_drop(model, state, event[2], slot)
        note(change, 0, event[2], 0)
        return GOING
    if event[1] == KINK:
        if model.curved:
            return _turn(model, form, state, event, change)
        return _kink(model, form, state, event, change)
    if event[1] == LEAVE:
        return _leave(model, form, state, event, change)
    return _enter(model, form, state, event, change)


@compiled
def _turn(model: Model, form: Form, state: State, event: Event, change: Integers) -> int:
    """A row of a curved loss goes over to the next piece."""
    i, side = event[2], event[3]
    new = state.rows.piece[i] + side
    share = surely_turn(model, form, state, i, new)
    place_truly(state)
    if share < FLAT:
        return turn_along_flat(model, form, state, i, side, change)
    do_turn(model, state, i, new, share)
    note(change, 0, state.weights.sign.shape[0] + i, 2 * new)
    return GOING


@compiled
def _kink(model: Model, form: Form, state: State, event: Event, change: Integers) -> int:
    """A row of a straight loss sticks to a kink; a row that depends on those stuck only seems to move."""
    i, at = event[2], state.rows.piece[event[2]]
    kink = at + 1 if event[3] > 0 else at
    sigma, scale = plan_kink(model, form, state, i, kink)
    if abs(sigma) <= FLAT * scale:
        state.rows.banned[i] = state.count[VERSION]
        return GOING
    if abs(sigma) < DOUBTFUL * scale:
        state.count[STALE] = 1
    place_truly(state)
    do_kink(model, form, state, i, kink, sigma)
    note(change, 0, state.weights.sign.shape[0] + i, 2 * kink + 1)
    return GOING


@compiled
def _leave(model: Model, form: Form, state: State, event: Event, change: Integers) -> int:
    """A multiplier reaches the end of its interval: its row leaves the kink, by a slide if need be."""
    p = state.weights.sign.shape[0]
    i, side = event[2] - p, event[3]
    piece = state.rows.piece[i] if side > 0 else state.rows.piece[i] - 1
    slot = plan_leave(model, form, state, i, piece)
    place_truly(state)
    if _holds_free(form, state, slot):
        return release_by_slide(model, form, state, i, side, change)
    do_leave(model, form, state, i, slot, piece)
    note(change, 0, p + i, 2 * piece)
    return GOING


@compiled
def _holds_free(form: Form, state: State, slot: int) -> bool:
    """Does this kinked row hold a weight that nothing else holds?"""
    block, p, free = state.block, state.weights.sign.shape[0], 0
    largest = 0.0
    for a in range(state.count[SIZE]):
        if block.keys[a] < p and form.ridge[block.keys[a]] == 0.0:
            free += 1
        largest = max(largest, abs(block.scratch[1, a]))
    if free == state.count[KINKED]:
        return True
    if abs(block.scratch[1, slot]) < DOUBTFUL * largest:
        state.count[STALE] = 1
    return free > 1 and bool(abs(block.scratch[1, slot]) <= FLAT * largest)


@compiled
def _enter(model: Model, form: Form, state: State, event: Event, change: Integers) -> int:
    """A gradient reaches its price: the weight enters, by a slide if nothing curves along it."""
    j, sign = event[2], event[3]
    sigma, scale = surely_enter(model, form, state, j, sign)
    place_truly(state)
    if not model.curved and form.ridge[j] == 0.0:
        return enter_by_slide(model, form, state, j, sign, change)
    if sigma <= SINGULAR * scale:
        return enter_along_flat(model, form, state, j, sign, change)
    do_enter(model, state, j, sigma)
    note(change, 0, j, sign)
    return GOING


@compiled
def write(state: State, log: Log, change: Integers) -> None:
    """A record: the true place of the event (never backwards) and the true answer there."""
    count, level, block = state.count, state.level, state.block
    k, first = count[STORED], count[VALUES]
    if level[DIRECTION] > 0.0:
        level[LAST] = max(level[LAST], level[TRUE])
    else:
        level[LAST] = min(level[LAST], level[TRUE])
    s = level[LAST]
    log.level[k] = s
    for row in range(2):
        log.keys[k, row] = change[row, 0]
        log.codes[k, row] = change[row, 1]
    for a in range(count[SIZE]):
        log.slots[first + a] = block.keys[a]
        log.values[first + a] = block.answer[2, a] + s * block.answer[3, a]
    count[STORED] = k + 1
    count[VALUES] = first + count[SIZE]
    log.start[k + 1] = count[VALUES]
