"""Slides: where an event leaves a direction without curvature, the weights move along it at fixed s.

The first term met on the way takes the place of the one that was released, and the system is regular again.
"""

from __future__ import annotations

import numpy as np

from dualgap.arrays import Vector
from dualgap.compiled.homotopy_block import append_two, column, remove_two, replace, times
from dualgap.compiled.homotopy_events import Event, first_hit
from dualgap.compiled.homotopy_pivots import (
    DOUBTFUL,
    changed,
    do_drop,
    do_enter,
    do_turn,
    plan_drop,
    set_aside,
    stand,
    stick,
    surely_enter,
    surely_turn,
)
from dualgap.compiled.homotopy_state import (
    GOING,
    KINK,
    KINKED,
    NOTHING,
    SIZE,
    STALE,
    STUCK,
    TRAVELLED,
    UNBOUNDED,
    ZERO,
    Form,
    Integers,
    Model,
    State,
)
from dualgap.compiled.homotopy_system import (
    answer_afresh,
    over_slots,
    pool,
    row_over_slots,
    row_right,
    spread,
    weight_over_slots,
    weight_right,
)
from dualgap.compiled.mechanism import compiled


@compiled
def head_for(state: State, direction: Vector, own: int, sign: float) -> None:
    """`weights.rate` = the direction on the active weights, and `sign` on the weight that enters."""
    state.weights.rate[:] = 0.0
    spread(state, direction, state.weights.rate)
    if own >= 0:
        state.weights.rate[own] = sign


@compiled
def _arrive(state: State, hit: Event) -> None:
    rate = state.weights.rate
    state.level[TRAVELLED] += hit[0] * np.sqrt(np.dot(rate, rate))
    rate[:] = 0.0


@compiled
def note(change: Integers, place: int, key: int, code: int) -> None:
    """A line of the log: the key and its new code."""
    change[place, 0] = key
    change[place, 1] = code


@compiled
def _kink_of(state: State, hit: Event) -> int:
    """The kink that a row was about to meet."""
    at = state.rows.piece[hit[2]]
    return int(at + 1 if hit[3] > 0 else at)


@compiled
def release_by_slide(
    model: Model, form: Form, state: State, i: int, side: int, change: Integers
) -> int:
    """Row i leaves its kink towards `side`, and something takes its place. Its plan is made."""
    direction = state.block.scratch[1]
    for a in range(state.count[SIZE]):
        direction[a] *= side
    head_for(state, direction, -1, 0.0)
    hit = first_hit(model, state, direction, i, side)
    if hit[1] == NOTHING:
        return UNBOUNDED
    _arrive(state, hit)
    p = state.weights.sign.shape[0]
    piece = state.rows.piece[i] if side > 0 else state.rows.piece[i] - 1
    if hit[1] == KINK and hit[2] == i:
        stick(state, i, state.rows.piece[i] + side)
        slot = state.block.place[p + i]
        _set_right(model, form, state, slot)
        note(change, 0, p + i, 2 * state.rows.piece[i] + 1)
    else:
        stand(model, state, i, piece)
        note(change, 0, p + i, 2 * piece)
        _fill_row(model, form, state, i, hit, change)
    changed(state)
    answer_afresh(model, form, state)
    return GOING


@compiled
def _fill_row(model: Model, form: Form, state: State, i: int, hit: Event, change: Integers) -> None:
    """The slot of row i is freed, or taken by the row that was met."""
    block, p = state.block, state.weights.sign.shape[0]
    u, k = block.scratch[0], block.place[state.weights.sign.shape[0] + i]
    row_over_slots(model, state, i, u)
    pool(model, form, state, i, u, 1.0)
    if hit[1] == ZERO:
        other = block.place[hit[2]]
        column(block.inverse, state.count[SIZE], k, block.scratch[1])
        column(block.inverse, state.count[SIZE], other, block.scratch[2])
        remove_two(block, state.count, k, other, block.scratch[1:3])
        set_aside(state, hit[2])
        state.count[KINKED] -= 1
        note(change, 1, hit[2], 0)
        return
    row_over_slots(model, state, hit[2], u)
    pool(model, form, state, hit[2], u, -1.0)
    stick(state, hit[2], _kink_of(state, hit))
    _replace(model, form, state, k, p + hit[2])
    note(change, 1, p + hit[2], 2 * state.rows.piece[hit[2]] + 1)


@compiled
def _replace(model: Model, form: Form, state: State, k: int, key: int) -> None:
    """The key takes slot k, with its right side."""
    block, size = state.block, state.count[SIZE]
    new, old = block.scratch[0], block.scratch[1]
    corner = over_slots(model, form, state, key, new)
    corner -= over_slots(model, form, state, block.keys[k], old)
    for a in range(size):
        new[a] -= old[a]
    new[k] = 0.0
    pivot = replace(block, state.count, k, key, block.scratch[0:3], corner)
    if not pivot >= DOUBTFUL:
        state.count[STALE] = 1
    _set_right(model, form, state, k)


@compiled
def _set_right(model: Model, form: Form, state: State, slot: int) -> None:
    block, p = state.block, state.weights.sign.shape[0]
    if block.keys[slot] < p:
        weight_right(model, form, state, block.keys[slot], block.new_right)
    else:
        row_right(model, state, block.keys[slot] - p, block.new_right)
    for c in range(4):
        block.right[c, slot] = block.new_right[c]


@compiled
def enter_by_slide(
    model: Model, form: Form, state: State, j: int, sign: int, change: Integers
) -> int:
    """Weight j enters a system without curvature, and something takes or leaves a place. Its plan is made."""
    block = state.block
    direction = block.scratch[1]
    for a in range(state.count[SIZE]):
        direction[a] *= -sign
    head_for(state, direction, j, float(sign))
    hit = first_hit(model, state, direction, -1, 0)
    if hit[1] == NOTHING and model.bent_price[j] == 0.0:  # a free weight may go either way
        sign = -sign
        for a in range(state.count[SIZE]):
            direction[a] = -direction[a]
        head_for(state, direction, j, float(sign))
        hit = first_hit(model, state, direction, -1, 0)
    if hit[1] == NOTHING:
        state.weights.sign[j] = 0
        return UNBOUNDED
    _arrive(state, hit)
    state.weights.sign[j] = sign
    state.weights.expiry[j] = -np.inf
    note(change, 0, j, sign)
    if hit[1] == ZERO:
        slot = block.place[hit[2]]
        _replace(model, form, state, slot, j)
        set_aside(state, hit[2])
        note(change, 1, hit[2], 0)
    else:
        _enter_with_row(model, form, state, j, hit)
        note(change, 1, state.weights.sign.shape[0] + hit[2], 2 * state.rows.piece[hit[2]] + 1)
    changed(state)
    answer_afresh(model, form, state)
    return GOING


@compiled
def _enter_with_row(model: Model, form: Form, state: State, j: int, hit: Event) -> None:
    """Weight j and the row it met join together."""
    block, i, p = state.block, hit[2], state.weights.sign.shape[0]
    u, g = block.scratch[0:2], block.scratch[2:4]
    row_over_slots(model, state, i, u[1])
    pool(model, form, state, i, u[1], -1.0)
    stick(state, i, _kink_of(state, hit))
    corner = np.zeros(3)
    corner[0] = weight_over_slots(model, form, state, j, u[0])
    corner[1] = state.rows.scratch[0, i]  # column j, left there
    times(block.inverse, state.count[SIZE], u[0], g[0])
    times(block.inverse, state.count[SIZE], u[1], g[1])
    append_two(block, state.count, u, g, corner, (j, p + i))
    state.count[KINKED] += 1
    _set_right(model, form, state, state.count[SIZE] - 2)
    _set_right(model, form, state, state.count[SIZE] - 1)


@compiled
def _apply_hit(model: Model, form: Form, state: State, hit: Event, change: Integers) -> bool:
    """On a slide among curved rows: the weight met leaves, or the row met turns. False if it cannot."""
    if hit[1] == ZERO:
        do_drop(model, state, hit[2], plan_drop(state, hit[2]))
        note(change, 1, hit[2], 0)
        return True
    i, new = hit[2], state.rows.piece[hit[2]] + hit[3]
    share = surely_turn(model, form, state, i, new)
    if not share > 0.0:
        return False
    do_turn(model, state, i, new, share)
    note(change, 1, state.weights.sign.shape[0] + i, 2 * new)
    return True


@compiled
def enter_along_flat(
    model: Model, form: Form, state: State, j: int, sign: int, change: Integers
) -> int:
    """Weight j enters where its column adds no curvature: first what it meets, then itself. Plan made."""
    direction = state.block.scratch[1]
    for a in range(state.count[SIZE]):
        direction[a] *= -sign
    head_for(state, direction, j, float(sign))
    hit = first_hit(model, state, direction, -1, 0)
    state.weights.sign[j] = 0
    if hit[1] == NOTHING:
        return UNBOUNDED
    _arrive(state, hit)
    if not _apply_hit(model, form, state, hit, change):
        return STUCK
    sigma, scale = surely_enter(model, form, state, j, sign)
    if not sigma > 0.0:
        return STUCK
    do_enter(model, state, j, sigma)
    note(change, 0, j, sign)
    return GOING


@compiled
def turn_along_flat(
    model: Model, form: Form, state: State, i: int, side: int, change: Integers
) -> int:
    """Row i loses the last curvature of a direction: first what that direction meets, then itself."""
    direction = state.block.scratch[1]
    new = state.rows.piece[i] + side
    pull = np.sign(np.dot(state.block.scratch[0, : state.count[SIZE]], direction[: state.count[SIZE]]))
    for a in range(state.count[SIZE]):
        direction[a] *= side * pull
    head_for(state, direction, -1, 0.0)
    hit = first_hit(model, state, direction, -1, 0)
    if hit[1] == NOTHING:
        return UNBOUNDED
    _arrive(state, hit)
    if not _apply_hit(model, form, state, hit, change):
        return STUCK
    share = surely_turn(model, form, state, i, new)
    if not share > 0.0:
        return STUCK
    do_turn(model, state, i, new, share)
    note(change, 0, state.weights.sign.shape[0] + i, 2 * new)
    return GOING
