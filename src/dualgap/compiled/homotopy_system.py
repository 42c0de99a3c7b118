"""The optimality system over active weights and kinked rows: its columns, its residual, its answers.

    [ X_FᵀCX_F + ridge   X_EFᵀ ] [ w_F ]   [ −(Lw·X_Fᵀslope + Pw·price·sign + s·tilt) ]
    [ X_EF               0     ] [ d_E ] = [ kink                                      ]
"""

from __future__ import annotations

import numpy as np

from dualgap.arrays import Matrix, Vector
from dualgap.compiled.homotopy_block import inner, invert, times_four
from dualgap.compiled.homotopy_state import (
    KINKED,
    REFACTORED,
    SIZE,
    STALE,
    UPDATES,
    Form,
    Model,
    State,
)
from dualgap.compiled.lines import add, add_weighted, dot
from dualgap.compiled.mechanism import compiled

REFINED = 1e-11  # a residual above this after a correction asks for a new inverse


@compiled
def row_over_slots(model: Model, state: State, i: int, u: Vector) -> None:
    """u = row i on the active weights, 0 on the kinked rows: its column of the system."""
    keys, size, p = state.block.keys, state.count[SIZE], state.weights.sign.shape[0]
    if model.rows.dense:
        first, values = model.rows.starts[i], model.rows.values
        for a in range(size):
            u[a] = values[first + keys[a]] if keys[a] < p else 0.0
        return
    full = state.weights.scratch
    add(model.rows, i, 1.0, full)
    for a in range(size):
        u[a] = full[keys[a]] if keys[a] < p else 0.0
    for k in range(model.rows.starts[i], model.rows.starts[i + 1]):
        full[model.rows.indices[k]] = 0.0


@compiled
def weight_over_slots(model: Model, form: Form, state: State, j: int, u: Vector) -> float:
    """u = the column of weight j in the system; returns its diagonal."""
    keys, size, p = state.block.keys, state.count[SIZE], state.weights.sign.shape[0]
    plain, bent = state.rows.scratch[0], state.rows.scratch[1]
    plain[:] = 0.0
    add(model.columns, j, 1.0, plain)
    diagonal = form.ridge[j]
    if model.curved:
        bent[:] = 0.0
        add_weighted(model.columns, j, 1.0, state.rows.bend, bent)
        diagonal += inner(plain.shape[0], plain, bent)
    for a in range(size):
        if keys[a] >= p:
            u[a] = plain[keys[a] - p]
        elif model.curved:
            u[a] = dot(model.columns, keys[a], bent)
        else:
            u[a] = 0.0
    return diagonal


@compiled
def over_slots(model: Model, form: Form, state: State, key: int, u: Vector) -> float:
    """u = the column of any key; returns its diagonal."""
    p = state.weights.sign.shape[0]
    if key < p:
        return weight_over_slots(model, form, state, key, u)
    row_over_slots(model, state, key - p, u)
    return 0.0


@compiled
def predict(model: Model, state: State, v: Vector, out: Vector) -> None:
    """out = X v for v on the active weights."""
    keys, size, p = state.block.keys, state.count[SIZE], state.weights.sign.shape[0]
    out[:] = 0.0
    for a in range(size):
        if keys[a] < p and v[a] != 0.0:
            add(model.columns, keys[a], v[a], out)


@compiled
def weight_right(model: Model, form: Form, state: State, j: int, out: Vector) -> None:
    """The four right sides of weight j: bent and true, constant and per unit of s."""
    rows, sign = state.rows, float(state.weights.sign[j])
    bent = dot(model.columns, j, rows.slope)
    true = dot(model.columns, j, rows.true_slope)
    out[0] = -(form.loss0 * bent + form.price0 * model.bent_price[j] * sign)
    out[1] = -(form.loss1 * bent + form.price1 * model.bent_price[j] * sign + form.tilt[j])
    out[2] = -(form.loss0 * true + form.price0 * model.price[j] * sign)
    out[3] = -(form.loss1 * true + form.price1 * model.price[j] * sign + form.tilt[j])


@compiled
def row_right(model: Model, state: State, i: int, out: Vector) -> None:
    """The four right sides of a kinked row."""
    at = state.rows.piece[i]
    out[0], out[1] = model.bent.kink[i, at], 0.0
    out[2], out[3] = model.true.kink[i, at], 0.0


@compiled
def set_rights(model: Model, form: Form, state: State) -> None:
    """All right sides afresh."""
    p, out = state.weights.sign.shape[0], state.block.new_right
    for a in range(state.count[SIZE]):
        key = state.block.keys[a]
        if key < p:
            weight_right(model, form, state, key, out)
        else:
            row_right(model, state, key - p, out)
        for c in range(4):
            state.block.right[c, a] = out[c]


@compiled
def pool(model: Model, form: Form, state: State, i: int, u: Vector, share: float) -> None:
    """Row i, whose x over the slots is u, joins (share 1) or leaves (−1) the rows that pull with their slope."""
    right, rows, p = state.block.right, state.rows, state.weights.sign.shape[0]
    bent, true = share * rows.slope[i], share * rows.true_slope[i]
    for a in range(state.count[SIZE]):
        if state.block.keys[a] < p:
            right[0, a] -= form.loss0 * bent * u[a]
            right[1, a] -= form.loss1 * bent * u[a]
            right[2, a] -= form.loss0 * true * u[a]
            right[3, a] -= form.loss1 * true * u[a]


@compiled
def spread(state: State, v: Vector, out: Vector) -> None:
    """The active weights of v, in full length; `out` must be zero elsewhere."""
    p = state.weights.sign.shape[0]
    for a in range(state.count[SIZE]):
        if state.block.keys[a] < p:
            out[state.block.keys[a]] = v[a]


@compiled
def _through_columns(model: Model, form: Form, state: State, v: Vector, out: Vector) -> None:
    """out = system · v where rows have curvature (and none is kinked)."""
    z = state.rows.scratch[2]
    predict(model, state, v, z)
    for i in range(z.shape[0]):
        z[i] *= state.rows.bend[i]
    for a in range(state.count[SIZE]):
        j = state.block.keys[a]
        out[a] = dot(model.columns, j, z) + form.ridge[j] * v[a]


@compiled
def _through_rows(model: Model, form: Form, state: State, v: Vector, out: Vector) -> None:
    """out = system · v where no row has curvature."""
    p, keys, u = state.weights.sign.shape[0], state.block.keys, state.block.scratch[5]
    size = state.count[SIZE]
    for a in range(size):
        out[a] = form.ridge[keys[a]] * v[a] if keys[a] < p else 0.0
    for a in range(size):
        if keys[a] >= p:
            row_over_slots(model, state, keys[a] - p, u)
            out[a] = inner(size, u, v)
            for c in range(size):
                out[c] += v[a] * u[c]


@compiled
def refine(model: Model, form: Form, state: State) -> float:
    """Correct the answers by G times their residual; the size of that correction, relative."""
    block, size = state.block, state.count[SIZE]
    fix, image = block.scratch[0:4], block.scratch[4]
    for c in range(4):
        if model.curved:
            _through_columns(model, form, state, block.answer[c], image)
        else:
            _through_rows(model, form, state, block.answer[c], image)
        for a in range(size):
            fix[c, a] = block.right[c, a] - image[a]
    change = np.zeros((4, size))
    times_four(block.inverse, size, fix, change)
    worst = 0.0
    for c in range(4):
        largest, moved = 1e-300, 0.0
        for a in range(size):
            block.answer[c, a] += change[c, a]
            largest = max(largest, abs(block.answer[c, a]))
            moved = max(moved, abs(change[c, a]))
        worst = max(worst, moved / largest)
    return worst


@compiled
def hold_vertex(state: State, form: Form) -> None:
    """At a vertex the weights cannot move: their rates are rounding, and are set to zero."""
    block, p, size = state.block, state.weights.sign.shape[0], state.count[SIZE]
    if size == 2 * state.count[KINKED]:
        for a in range(size):
            if block.keys[a] < p:
                block.answer[1, a] = 0.0
                block.answer[3, a] = 0.0


@compiled
def answer_afresh(model: Model, form: Form, state: State) -> None:
    """All answers from the inverse; predictions too where they are kept."""
    times_four(state.block.inverse, state.count[SIZE], state.block.right, state.block.answer)
    if not model.curved:
        hold_vertex(state, form)


@compiled
def refresh(model: Model, form: Form, state: State) -> None:
    """One refinement, and predictions afresh; asks for a new inverse where that was not enough."""
    error = refine(model, form, state)
    if not error < REFINED:
        again = refine(model, form, state)
        if not again < REFINED:
            state.count[STALE] = 1
    if model.curved:
        predict(model, state, state.block.answer[0], state.rows.z0)
        predict(model, state, state.block.answer[1], state.rows.z1)
    else:
        hold_vertex(state, form)
    state.count[UPDATES] = 0


@compiled
def _system(model: Model, form: Form, state: State) -> Matrix:
    """The whole matrix."""
    size, keys, p = state.count[SIZE], state.block.keys, state.weights.sign.shape[0]
    M = np.zeros((size, size))
    if model.curved:
        n = state.rows.bend.shape[0]
        half = np.zeros((size, n))
        root = np.sqrt(state.rows.bend)
        for a in range(size):
            if keys[a] < p:
                add_weighted(model.columns, keys[a], 1.0, root, half[a])
        M = half @ half.T
    for a in range(size):
        if keys[a] < p:
            M[a, a] += form.ridge[keys[a]]
    _border(model, state, M)
    return M


@compiled
def _border(model: Model, state: State, M: Matrix) -> None:
    u, p = state.block.scratch[5], state.weights.sign.shape[0]
    for a in range(state.count[SIZE]):
        if state.block.keys[a] >= p:
            row_over_slots(model, state, state.block.keys[a] - p, u)
            for c in range(state.count[SIZE]):
                if state.block.keys[c] < p:
                    M[a, c] = u[c]
                    M[c, a] = u[c]


@compiled
def refactor(model: Model, form: Form, state: State) -> None:
    """The inverse from the matrix itself, right sides and answers afresh."""
    state.count[STALE] = 0
    state.count[REFACTORED] += 1
    if state.count[SIZE] > 0:
        invert(state.block, state.count[SIZE], _system(model, form, state))
    set_rights(model, form, state)
    times_four(state.block.inverse, state.count[SIZE], state.block.right, state.block.answer)
    refresh(model, form, state)
    state.count[STALE] = 0
    state.count[UPDATES] = 0
