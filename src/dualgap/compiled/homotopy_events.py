"""What happens next: the smallest step at which a weight, a row or a multiplier meets its bound.

Lazy and exact: a row whose prediction is `slack` away from its kinks cannot meet one before the weights have
travelled slack / ‖x_i‖, so that one number per row says when it must be looked at again; columns likewise,
with the length that the dual has travelled.
"""

from __future__ import annotations

import numpy as np

from dualgap.arrays import Vector
from dualgap.compiled.homotopy_state import (
    DIRECTION,
    DUAL_PACE,
    DUAL_TRAVELLED,
    END,
    ENTER,
    EVALUATED,
    KINK,
    KINKED,
    LEAVE,
    NOTHING,
    NOW,
    PACE,
    PRICE_TRAVELLED,
    SIZE,
    TRAVELLED,
    VERSION,
    ZERO,
    Form,
    Model,
    State,
)
from dualgap.compiled.homotopy_system import spread
from dualgap.compiled.lines import Lines, dot
from dualgap.compiled.mechanism import compiled

STILL = 1e-12  # rates below this share of what they are a sum of are rounding

Event = tuple[float, int, int, int]  # step, kind, key, side


@compiled
def settle(model: Model, form: Form, state: State) -> None:
    """Values and rates of every slot at the present s."""
    block, s, way = state.block, state.level[NOW], state.level[DIRECTION]
    for a in range(state.count[SIZE]):
        block.now[a] = block.answer[0, a] + s * block.answer[1, a]
        block.rate[a] = way * block.answer[1, a]
    spread(state, block.now, state.weights.value)


@compiled
def next_event(model: Model, form: Form, state: State, end: float) -> Event:
    """The first thing to happen on the way to `end`."""
    settle(model, form, state)
    spread(state, state.block.rate, state.weights.rate)
    state.level[PACE] = _length(state, state.block.rate)
    room = abs(end - state.level[NOW])
    best = (room * (1.0 - 1e-10), END, -1, 0)
    best = _weights_to_zero(model, state, state.block.rate, best)
    if state.count[KINKED] > 0:
        best = _multipliers_to_bounds(model, form, state, best)
    best = _rows_to_kinks(model, state, best)
    best = _weights_to_enter(model, form, state, best)
    if best[1] == END:
        best = (room, END, -1, 0)
    return best


@compiled
def _weights_to_zero(model: Model, state: State, rate: Vector, best: Event) -> Event:
    p, keys = state.weights.sign.shape[0], state.block.keys
    for a in range(state.count[SIZE]):
        j = keys[a]
        if j < p and model.bent_price[j] > 0.0:
            sign = state.weights.sign[j]
            closing = -rate[a] * sign
            if closing > 0.0:
                step = max(state.block.now[a] * sign, 0.0) / closing
                if step < best[0]:
                    best = (step, ZERO, j, 0)
    return best


@compiled
def jump(model: Model, i: int, at: int) -> tuple[float, float]:
    """The bent slopes left and right of kink `at` of row i."""
    z = model.bent.kink[i, at]
    left = model.bent.slope[i, at - 1] + model.curvature[i, at - 1] * z
    return left, model.bent.slope[i, at] + model.curvature[i, at] * z


@compiled
def _dual_rate_size(state: State) -> float:
    p, total = state.weights.sign.shape[0], 0.0
    for a in range(state.count[SIZE]):
        if state.block.keys[a] >= p:
            total += state.block.rate[a] ** 2
    return np.sqrt(total)


@compiled
def _multipliers_to_bounds(model: Model, form: Form, state: State, best: Event) -> Event:
    p, keys, block = state.weights.sign.shape[0], state.block.keys, state.block
    s, way = state.level[NOW], state.level[DIRECTION]
    strength = form.loss0 + form.loss1 * s
    noise = STILL * _dual_rate_size(state)
    for a in range(state.count[SIZE]):
        if keys[a] < p:
            continue
        i = keys[a] - p
        left, right = jump(model, i, state.rows.piece[i])
        closing = block.rate[a] - way * form.loss1 * right
        if closing > noise:
            step = max(strength * right - block.now[a], 0.0) / closing
            if step < best[0]:
                best = (step, LEAVE, keys[a], 1)
        closing = way * form.loss1 * left - block.rate[a]
        if closing > noise:
            step = max(block.now[a] - strength * left, 0.0) / closing
            if step < best[0]:
                best = (step, LEAVE, keys[a], -1)
    return best


@compiled
def _length(state: State, rate: Vector) -> float:
    p, total = state.weights.sign.shape[0], 0.0
    for a in range(state.count[SIZE]):
        if state.block.keys[a] < p:
            total += rate[a] * rate[a]
    return np.sqrt(total)


@compiled
def _rows_to_kinks(model: Model, state: State, best: Event) -> Event:
    if model.bent.kink.shape[1] == 2:
        return best
    if model.curved:
        return _curved_rows(model, state, best)
    pace = state.level[PACE]
    if pace == 0.0:
        return best
    return _straight_rows(model, state, pace, best)


@compiled
def _meeting(model: Model, state: State, i: int, z: float, rate: float, best: Event) -> Event:
    """Row i on its way to the kink ahead."""
    at = state.rows.piece[i]
    if rate > 0.0:
        step = max(model.bent.kink[i, at + 1] - z, 0.0) / rate
        if step < best[0]:
            return (step, KINK, i, 1)
    else:
        step = max(z - model.bent.kink[i, at], 0.0) / -rate
        if step < best[0]:
            return (step, KINK, i, -1)
    return best


@compiled
def _curved_rows(model: Model, state: State, best: Event) -> Event:
    rows, s, way = state.rows, state.level[NOW], state.level[DIRECTION]
    pace = state.level[PACE]
    for i in range(rows.z0.shape[0]):
        rate = way * rows.z1[i]
        if abs(rate) > STILL * model.row_size[i] * pace:
            best = _meeting(model, state, i, rows.z0[i] + s * rows.z1[i], rate, best)
    return best


@compiled
def _straight_rows(model: Model, state: State, pace: float, best: Event) -> Event:
    rows, value, rate = state.rows, state.weights.value, state.weights.rate
    travelled, version = state.level[TRAVELLED], state.count[VERSION]
    for i in range(rows.expiry.shape[0]):
        size = model.row_size[i]
        if size * (travelled + best[0] * pace) < rows.expiry[i] or rows.kinked[i]:
            continue
        if rows.banned[i] == version:
            continue
        z, r = dot(model.rows, i, value), dot(model.rows, i, rate)
        at = rows.piece[i]
        slack = min(z - model.bent.kink[i, at], model.bent.kink[i, at + 1] - z)
        rows.expiry[i] = max(slack, 0.0) + size * travelled
        state.count[EVALUATED] += 1
        if abs(r) > STILL * size * pace:
            best = _meeting(model, state, i, z, r, best)
    return best


@compiled(reassociate=True)
def _two_dots(columns: Lines, j: int, x: Vector, y: Vector) -> tuple[float, float]:
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


@compiled
def _dual_along(model: Model, form: Form, state: State) -> float:
    """The dual (over s where s = 1/λ) and its rate in λ or s; returns the size of that rate."""
    rows, block, s, way = state.rows, state.block, state.level[NOW], state.level[DIRECTION]
    p, total = state.weights.sign.shape[0], 0.0
    if model.curved:
        for i in range(rows.dual.shape[0]):
            rows.dual[i] = rows.bend[i] * (rows.z0[i] + s * rows.z1[i]) + rows.slope[i]
            rows.dual_rate[i] = way * rows.bend[i] * rows.z1[i]
            total += rows.dual_rate[i] ** 2
        return np.sqrt(total)
    for a in range(state.count[SIZE]):
        if block.keys[a] >= p:
            i = block.keys[a] - p
            if form.inverse:
                rows.dual[i] = block.answer[1, a] + block.answer[0, a] / s
                rows.dual_rate[i] = -way * block.answer[0, a]
            else:
                rows.dual[i] = block.now[a]
                rows.dual_rate[i] = block.rate[a]
            total += rows.dual_rate[i] ** 2
    return np.sqrt(total)


@compiled
def span_of(form: Form, state: State, step: float) -> float:
    """How far λ (or s itself) moves while s moves by `step`."""
    if not form.inverse:
        return step
    s = state.level[NOW]
    return abs(1.0 / s - 1.0 / (s + state.level[DIRECTION] * step))


@compiled
def _step_of(form: Form, state: State, span: float) -> float:
    """The inverse of `span_of`."""
    if not form.inverse:
        return span
    s, way = state.level[NOW], state.level[DIRECTION]
    there = 1.0 / s - way * span
    return abs(1.0 / there - s) if there > 0.0 else np.inf


@compiled
def _weights_to_enter(model: Model, form: Form, state: State, best: Event) -> Event:
    weights, level, rows = state.weights, state.level, state.rows
    level[DUAL_PACE] = 0.0
    if state.count[KINKED] + weights.sign.shape[0] == state.count[SIZE]:
        return best
    pace = _dual_along(model, form, state)
    level[DUAL_PACE] = pace
    way, s = level[DIRECTION], level[NOW]
    if form.inverse:
        way, floor, slope = -way, 0.0, 1.0
        at = 1.0 / s
    else:
        floor, slope, at = form.price0, form.price1, s
    strength = floor + slope * at
    span = span_of(form, state, best[0])
    for j in range(weights.sign.shape[0]):
        price = model.bent_price[j]
        if weights.sign[j] != 0 or price == np.inf:
            continue
        drift = abs(slope) * price + abs(form.tilt[j])
        reach = model.column_size[j] * (level[DUAL_TRAVELLED] + span * pace)
        if reach + drift * (level[PRICE_TRAVELLED] + span) < weights.expiry[j]:
            continue
        g, r = _two_dots(model.columns, j, rows.dual, rows.dual_rate)
        g, r = g + s * form.tilt[j], r + way * form.tilt[j]
        state.count[EVALUATED] += 1
        weights.expiry[j] = (
            max(strength * price - abs(g), 0.0)
            + model.column_size[j] * level[DUAL_TRAVELLED]
            + drift * level[PRICE_TRAVELLED]
        )
        side = _entering(g, r, strength * price, way * slope * price, span, (
            STILL * (model.column_size[j] * pace + drift)))
        if side[1] != 0:
            span = side[0]
            best = (_step_of(form, state, span), ENTER, j, side[1])
    return best


@compiled
def _entering(
    g: float, rate: float, bound: float, widening: float, span: float, noise: float
) -> tuple[float, int]:
    """When |g| meets the bound: how far away, and the sign the weight will have; sign 0 if not within span."""
    sign = 0
    closing = rate - widening
    if closing > noise:
        far = max(bound - g, 0.0) / closing
        if far < span:
            span, sign = far, -1
    closing = -rate - widening
    if closing > noise:
        far = max(bound + g, 0.0) / closing
        if far < span:
            span, sign = far, 1
    return span, sign


@compiled
def first_hit(model: Model, state: State, direction: Vector, own: int, side: int) -> Event:
    """The first term met when the weights slide along `direction` at fixed s.

    `own` is the row that was released from a kink towards `side`, or −1.
    `state.weights.rate` must hold the direction in full length.
    """
    best = (np.inf, NOTHING, -1, 0)
    best = _weights_to_zero(model, state, direction, best)
    if model.curved:
        return _curved_hits(model, state, best)
    rate = state.weights.rate
    pace = np.sqrt(np.dot(rate, rate))
    if own >= 0:
        best = _next_kink(model, state, own, side, best)
    if pace == 0.0:
        return best
    return _straight_rows(model, state, pace, best)


@compiled
def _next_kink(model: Model, state: State, i: int, side: int, best: Event) -> Event:
    """A released row meets its own next kink."""
    at = state.rows.piece[i]
    rate = abs(dot(model.rows, i, state.weights.rate))
    far = model.bent.kink[i, at + side] - model.bent.kink[i, at]
    step = abs(far) / rate if rate > 0.0 else np.inf
    return (step, KINK, i, side) if step < best[0] else best


@compiled
def _curved_hits(model: Model, state: State, best: Event) -> Event:
    """Rows without curvature that meet a kink on a slide; those with curvature cannot move."""
    rows, s, rate = state.rows, state.level[NOW], state.weights.rate
    pace = np.sqrt(np.dot(rate, rate))
    for i in range(rows.z0.shape[0]):
        if rows.bend[i] == 0.0:
            r = dot(model.rows, i, rate)
            if abs(r) > STILL * model.row_size[i] * pace:
                best = _meeting(model, state, i, rows.z0[i] + s * rows.z1[i], r, best)
    return best

