"""One event applied: the system, its answers and the state of a weight or a row change together.

Answers are corrected, not solved again: after one slot changes, the old answers miss the new system in that
slot only, by `miss`, and a multiple of one column of the inverse removes it. The s at which the true answer
does not miss is the true place of the event.
"""

from __future__ import annotations

import numpy as np

from dualgap.arrays import Vector
from dualgap.compiled.homotopy_block import append, column, inner, remove, times
from dualgap.compiled.homotopy_state import (
    KINKED,
    NOW,
    SIZE,
    STALE,
    TRUE,
    UPDATES,
    VERSION,
    Form,
    Integers,
    Model,
    State,
)
from dualgap.compiled.homotopy_system import (
    pool,
    predict,
    refactor,
    row_over_slots,
    weight_over_slots,
    weight_right,
)
from dualgap.compiled.mechanism import compiled

DOUBTFUL = 1e-5  # pivots below this share of their scale are computed again from a fresh inverse
SINGULAR = 1e-10  # and below this count as zero
FLAT = 1e-11
NEAR = 1e-4  # how far the true place of an event may be from the bent one, relative


@compiled
def place_truly(state: State) -> None:
    """level[TRUE] = the s at which the true answers do not miss."""
    miss, s = state.block.miss, state.level[NOW]
    there = -miss[2] / miss[3] if miss[3] != 0.0 else s
    state.level[TRUE] = there if abs(there - s) <= NEAR * abs(s) else s


@compiled
def changed(state: State) -> None:
    """Books after a change of the system."""
    state.count[UPDATES] += 1
    state.count[VERSION] += 1


@compiled
def _follow(model: Model, state: State, t: Vector, first: float, second: float) -> None:
    """z0 += first·t, z1 += second·t."""
    rows = state.rows
    for i in range(t.shape[0]):
        rows.z0[i] += first * t[i]
        rows.z1[i] += second * t[i]


@compiled
def plan_drop(state: State, j: int) -> int:
    """Column of the inverse for weight j in scratch[1], its values in `miss`; returns the slot."""
    block, size, k = state.block, state.count[SIZE], state.block.place[j]
    g = block.scratch[1]
    column(block.inverse, size, k, g)
    largest = 0.0
    for a in range(size):
        largest = max(largest, abs(g[a]))
    if abs(g[k]) < DOUBTFUL * largest:
        state.count[STALE] = 1
    for c in range(4):
        block.miss[c] = block.answer[c, k]
    return int(k)


@compiled
def do_drop(model: Model, state: State, j: int, k: int) -> None:
    """Weight j leaves the system, as planned."""
    block, size = state.block, state.count[SIZE]
    g = block.scratch[1]
    for c in range(4):
        factor = block.miss[c] / g[k]
        for a in range(size):
            block.answer[c, a] -= factor * g[a]
    if model.curved:
        t = state.rows.scratch[2]
        predict(model, state, g, t)
        _follow(model, state, t, -block.miss[0] / g[k], -block.miss[1] / g[k])
    remove(block, state.count, k, g)
    set_aside(state, j)
    changed(state)


@compiled
def set_aside(state: State, j: int) -> None:
    """Weight j is zero and outside."""
    weights = state.weights
    weights.sign[j] = 0
    weights.value[j] = 0.0
    weights.rate[j] = 0.0
    weights.expiry[j] = -np.inf


@compiled
def plan_enter(model: Model, form: Form, state: State, j: int, sign: int) -> tuple[float, float]:
    """Column u in scratch[0], g = Gu in scratch[1], right side and miss; returns sigma and the diagonal."""
    block, size = state.block, state.count[SIZE]
    u, g = block.scratch[0], block.scratch[1]
    diagonal = weight_over_slots(model, form, state, j, u)
    times(block.inverse, size, u, g)
    state.weights.sign[j] = sign
    weight_right(model, form, state, j, block.new_right)
    for c in range(4):
        block.miss[c] = block.new_right[c] - inner(size, u, block.answer[c])
    return diagonal - inner(size, u, g), diagonal


@compiled
def do_enter(model: Model, state: State, j: int, sigma: float) -> None:
    """Weight j joins the system, as planned."""
    _join(state, sigma)
    if model.curved:
        g, t = state.block.scratch[1], state.rows.scratch[2]
        for a in range(state.count[SIZE]):
            g[a] = -g[a]
        predict(model, state, g, t)
        for a in range(state.count[SIZE]):
            g[a] = -g[a]
        plain = state.rows.scratch[0]  # column j, left there by the plan
        for i in range(t.shape[0]):
            t[i] += plain[i]
        _follow(model, state, t, state.block.miss[0] / sigma, state.block.miss[1] / sigma)
    append(state.block, state.count, state.block.scratch[1], sigma, j)
    state.weights.expiry[j] = -np.inf
    changed(state)


@compiled
def _join(state: State, sigma: float) -> None:
    """Answers and right side of one slot more; the answers of that slot start from what is in place."""
    block, size = state.block, state.count[SIZE]
    g = block.scratch[1]
    for c in range(4):
        factor = block.miss[c] / sigma
        for a in range(size):
            block.answer[c, a] -= factor * g[a]
        block.answer[c, size] = factor
        block.right[c, size] = block.new_right[c]


@compiled
def plan_turn(model: Model, state: State, i: int, new: int) -> float:
    """x_i in scratch[0], G x_i in scratch[1], the miss; returns 1 + change of curvature · x_iᵀGx_i."""
    block, size, old = state.block, state.count[SIZE], state.rows.piece[i]
    u, g = block.scratch[0], block.scratch[1]
    row_over_slots(model, state, i, u)
    times(block.inverse, size, u, g)
    bend = model.curvature[i, new] - model.curvature[i, old]
    for c in range(4):
        block.miss[c] = bend * inner(size, u, block.answer[c])
    block.miss[0] += model.bent.slope[i, new] - model.bent.slope[i, old]
    block.miss[2] += model.true.slope[i, new] - model.true.slope[i, old]
    return 1.0 + bend * inner(size, u, g)


@compiled
def do_turn(model: Model, state: State, i: int, new: int, share: float) -> None:
    """Row i goes over to piece `new`, as planned."""
    block, size, rows = state.block, state.count[SIZE], state.rows
    u, g, t, old = block.scratch[0], block.scratch[1], rows.scratch[2], rows.piece[i]
    predict(model, state, g, t)
    _follow(model, state, t, -block.miss[0] / share, -block.miss[1] / share)
    for c in range(4):
        factor = block.miss[c] / share
        for a in range(size):
            block.answer[c, a] -= factor * g[a]
    bent = model.bent.slope[i, new] - model.bent.slope[i, old]
    true = model.true.slope[i, new] - model.true.slope[i, old]
    for a in range(size):
        block.right[0, a] -= bent * u[a]
        block.right[2, a] -= true * u[a]
    bend = model.curvature[i, new] - model.curvature[i, old]
    rank_one_scaled(state, g, -bend / share)
    stand(model, state, i, new)
    changed(state)


@compiled
def rank_one_scaled(state: State, g: Vector, factor: float) -> None:
    """G += factor · g gᵀ."""
    G = state.block.inverse
    for a in range(state.count[SIZE]):
        t = factor * g[a]
        row = G[a]
        for c in range(a + 1):
            row[c] += t * g[c]


@compiled
def stand(model: Model, state: State, i: int, piece: int) -> None:
    """Row i stands on a piece, off its kinks."""
    rows = state.rows
    rows.piece[i] = piece
    rows.kinked[i] = False
    rows.bend[i] = model.curvature[i, piece]
    rows.slope[i] = model.bent.slope[i, piece]
    rows.true_slope[i] = model.true.slope[i, piece]
    rows.dual[i] = rows.slope[i]
    rows.dual_rate[i] = 0.0
    rows.expiry[i] = -np.inf


@compiled
def stick(state: State, i: int, kink: int) -> None:
    """Row i sits on a kink."""
    rows = state.rows
    rows.piece[i] = kink
    rows.kinked[i] = True
    rows.slope[i] = 0.0
    rows.true_slope[i] = 0.0


@compiled
def plan_kink(model: Model, form: Form, state: State, i: int, kink: int) -> tuple[float, float]:
    """x_i in scratch[0], G x_i in scratch[1], right side and miss; returns sigma and its natural scale."""
    block, size, p = state.block, state.count[SIZE], state.weights.sign.shape[0]
    u, g, new = block.scratch[0], block.scratch[1], block.new_right
    row_over_slots(model, state, i, u)
    times(block.inverse, size, u, g)
    new[0], new[1] = model.bent.kink[i, kink], 0.0
    new[2], new[3] = model.true.kink[i, kink], 0.0
    for c in range(4):
        block.miss[c] = new[c] - inner(size, u, block.answer[c])
    scale = 1e-300
    for a in range(size):
        if block.keys[a] < p and form.ridge[block.keys[a]] > 0.0:
            scale += u[a] * u[a] / form.ridge[block.keys[a]]
    return -inner(size, u, g), scale


@compiled
def do_kink(model: Model, form: Form, state: State, i: int, kink: int, sigma: float) -> None:
    """Row i joins the system at its kink; its multiplier starts at the slope it had."""
    block, rows, size = state.block, state.rows, state.count[SIZE]
    bent, true = rows.slope[i], rows.true_slope[i]
    pool(model, form, state, i, block.scratch[0], -1.0)
    _join(state, sigma)
    block.answer[0, size] += form.loss0 * bent
    block.answer[1, size] += form.loss1 * bent
    block.answer[2, size] += form.loss0 * true
    block.answer[3, size] += form.loss1 * true
    append(block, state.count, block.scratch[1], sigma, state.weights.sign.shape[0] + i)
    stick(state, i, kink)
    state.count[KINKED] += 1
    changed(state)


@compiled
def plan_leave(model: Model, form: Form, state: State, i: int, piece: int) -> int:
    """Column of the inverse for row i in scratch[1], the distance of its multiplier to its bound in `miss`."""
    block, size = state.block, state.count[SIZE]
    k = block.place[state.weights.sign.shape[0] + i]
    column(block.inverse, size, k, block.scratch[1])
    bent, true = model.bent.slope[i, piece], model.true.slope[i, piece]
    block.miss[0] = block.answer[0, k] - form.loss0 * bent
    block.miss[1] = block.answer[1, k] - form.loss1 * bent
    block.miss[2] = block.answer[2, k] - form.loss0 * true
    block.miss[3] = block.answer[3, k] - form.loss1 * true
    return int(k)


@compiled
def do_leave(model: Model, form: Form, state: State, i: int, k: int, piece: int) -> None:
    """Row i leaves its kink for a piece, as planned."""
    block, size = state.block, state.count[SIZE]
    g = block.scratch[1]
    for c in range(4):
        factor = block.miss[c] / g[k]
        for a in range(size):
            block.answer[c, a] -= factor * g[a]
    remove(block, state.count, k, g)
    stand(model, state, i, piece)
    row_over_slots(model, state, i, block.scratch[0])
    pool(model, form, state, i, block.scratch[0], 1.0)
    state.count[KINKED] -= 1
    changed(state)


@compiled
def surely_enter(
    model: Model, form: Form, state: State, j: int, sign: int
) -> tuple[float, float]:
    """`plan_enter`, from a fresh inverse where the pivot is doubtful."""
    sigma, scale = plan_enter(model, form, state, j, sign)
    if model.curved and not sigma >= DOUBTFUL * scale:
        if state.count[UPDATES] > 0:
            state.weights.sign[j] = 0
            refactor(model, form, state)
            sigma, scale = plan_enter(model, form, state, j, sign)
        state.count[STALE] = 1
    return sigma, scale


@compiled
def surely_turn(model: Model, form: Form, state: State, i: int, new: int) -> float:
    """`plan_turn`, from a fresh inverse where the pivot is doubtful."""
    share = plan_turn(model, state, i, new)
    if not share >= DOUBTFUL:
        if state.count[UPDATES] > 0:
            refactor(model, form, state)
            share = plan_turn(model, state, i, new)
        state.count[STALE] = 1
    return share


__all__ = ["Integers"]
