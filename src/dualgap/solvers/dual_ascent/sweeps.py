"""Dual coordinate ascent over rows, for losses that are sums of terms (`losses.base.Terms`)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dualgap.arrays import Matrix, Vector
from dualgap.compiled.layout import Lines
from dualgap.compiled.lines import BLOCK, add, add_in, dot, dot_in, shuffle, without
from dualgap.compiled.mechanism import compiled

LEAP = 8  # sweeps between two leaps along what they moved
FAST = 0.5  # rows that moved by less than this share of the largest move take no part in a leap
ROOT, SHORT = 60, 1e-2  # most steps towards a root; a step below SHORT ends them: its square does not count
NEAR = 0.3  # between odds and a prediction nearer than this the logistic loss is as good as quadratic
VANISHED = 1e-300  # a share of an interval whose logarithm is of no use
AHEAD = 3.0  # where rows are curved, the next gap is predicted to be at most 3·gap²/previous
HIGHEST, LOWEST = 0, 1  # places in the window of projected slopes: beyond it rows are dropped


@compiled
def settle(
    pieces: tuple[Matrix, Matrix, Matrix],
    dual: Matrix,
    i: int,
    curvature: tuple[float, float],
    z: float,
    window: tuple[float, float],
) -> tuple[float, float, float, float, bool]:
    """Maximise over the variables of row i, one term after the other.

    `pieces` is (kink, lower, upper), `curvature` (softness, stiffness). Returns their total change, the row's
    part of the duality gap before it, the extremes of their projected slopes, and whether all of them are at
    a bound and pushed against it harder than anything was moved in the last sweep.
    """
    kink, lower, upper = pieces
    softness, stiff = curvature
    highest, lowest = window
    move, gap, top, bottom, idle = 0.0, 0.0, 0.0, 0.0, True
    for k in range(dual.shape[1]):
        here, low, high = dual[i, k], lower[i, k], upper[i, k]
        slope = kink[i, k] + softness * here - z  # of the negated dual
        free = slope
        if here == low:
            if slope > highest:
                continue
            free = min(slope, 0.0)
        elif here == high:
            if slope < lowest:
                continue
            free = max(slope, 0.0)
        idle = False
        top, bottom = max(top, free), min(bottom, free)
        best = low if slope > 0.0 else high
        if softness > 0.0:
            best = min(max(here - slope / softness, low), high)
        gap -= (best - here) * (slope + 0.5 * softness * (best - here))
        if abs(free) > 1e-15:
            bend = softness + stiff
            ahead = here - slope / bend if bend > 0.0 else np.copysign(np.inf, -slope)
            ahead = min(max(ahead, low), high)
            dual[i, k] = ahead
            move += ahead - here
            z -= stiff * (ahead - here)
    return move, gap, top, bottom, idle


@compiled
def settle_entropy(here: float, low: float, high: float, stiff: float, z: float) -> tuple[float, float]:
    """Maximise over a variable that has an entropy; what it becomes, and its row's part of the gap before it.

    With s the place between the bounds and odds = log s/(1 − s) the slope of the negated dual is odds − z.
    The root of odds + stiff·(s − s before) = z is found by Newton's steps within a bracket; the last, short
    one is taken in s by its expansion, so that late sweeps need no exponential.
    """
    width = high - low
    before, rest = (here - low) / width, (high - here) / width
    s, odds = before, z
    least, most = z - stiff * rest, z + stiff * before
    if before > VANISHED and rest > VANISHED:
        odds = np.log(before / rest)
        gap = 0.5 * before * rest * (z - odds) * (z - odds)
        if abs(z - odds) > NEAR:
            gap = softplus(z) - softplus(odds) - before * (z - odds)
    else:
        gap = softplus(z if before <= VANISHED else -z)
        s, rest = halves(odds)
    step = (z - odds - stiff * (s - before)) / (1.0 + stiff * s * rest)
    for _ in range(ROOT):
        if abs(step) < SHORT:
            break
        if step > 0.0:
            least = odds
        else:
            most = odds
        odds += step
        if not least < odds < most:  # strictly: from end to end the steps would go to and fro
            odds = 0.5 * (least + most)
        s, rest = halves(odds)
        step = (z - odds - stiff * (s - before)) / (1.0 + stiff * s * rest)
    last = s * rest * step * (1.0 + 0.5 * (rest - s) * step)
    ahead = low + width * (s + last) if s < rest else high - width * (rest - last)
    return min(max(ahead, low), high), gap


@compiled(inlined=True)
def softplus(x: float) -> float:
    """log(1 + eˣ)."""
    return max(x, 0.0) + np.log1p(np.exp(-abs(x)))


@compiled(inlined=True)
def halves(odds: float) -> tuple[float, float]:
    """s and 1 − s for odds = log s/(1 − s), each with all its digits."""
    e = np.exp(-abs(odds))
    minor = e / (1.0 + e)
    return (1.0 - minor, minor) if odds > 0.0 else (minor, 1.0 - minor)


@compiled
def largest_move(dual: Matrix, before: Matrix, index: NDArray[np.int64]) -> float:
    """Of the variables of the active rows."""
    largest = 0.0
    for s in range(index.shape[0]):
        for k in range(dual.shape[1]):
            largest = max(largest, abs(dual[index[s], k] - before[index[s], k]))
    return largest


@compiled
def go_on(
    bounds: tuple[Matrix, Matrix],
    dual: Matrix,
    since: tuple[Matrix, NDArray[np.int64]],
    least: float,
    step: float,
) -> None:
    """Every move of at least `least` once more, `step` times."""
    lower, upper = bounds
    before, index = since
    for s in range(index.shape[0]):
        i = index[s]
        for k in range(dual.shape[1]):
            move = dual[i, k] - before[i, k]
            if abs(move) >= least:
                dual[i, k] = min(max(dual[i, k] + step * move, lower[i, k]), upper[i, k])


@compiled
def leap(
    rows: Lines,
    terms: tuple[Matrix, Matrix, Matrix, float, float],
    row: tuple[Vector, Vector, Vector],
    dual: Matrix,
    w: Vector,
    since: tuple[Matrix, NDArray[np.int64]],
) -> None:
    """Go on along the largest moves since the last leap, as far as they lead up or a bound is met.

    Rows that are nearly parallel pass each other's share back and forth in small steps, all in one direction.
    `since` is (dual variables then, active rows).
    """
    kink, lower, upper, softness, _ = terms
    weight, _, offset = row
    before, index = since
    least = max(FAST * largest_move(dual, before, index), 1e-300)
    each = dual.shape[1]
    along, bend, longest = 0.0, 0.0, np.inf
    change = np.zeros(w.shape[0])
    for place in range(index.shape[0] * each):
        i, k = index[place // each], place % each
        move = dual[i, k] - before[i, k]
        if abs(move) >= least:
            add(rows, i, -weight[i] * move, change)
            along += weight[i] * move * (kink[i, k] + softness * dual[i, k] - dot(rows, i, w) - offset[i])
            bend += softness * weight[i] * move * move
            room = (upper[i, k] if move > 0.0 else lower[i, k]) - dual[i, k]
            longest = min(longest, room / move)
    for j in range(w.shape[0]):
        bend += change[j] * change[j]
    step = min(-along / bend if bend > 0.0 else np.inf, longest)
    if 1.0 < step < np.inf:
        go_on((lower, upper), dual, (before, index), least, step)
        for j in range(w.shape[0]):
            w[j] += step * change[j]


@compiled
def ascend(
    rows: Lines,
    terms: tuple[Matrix, Matrix, Matrix, float, float],
    row: tuple[Vector, Vector, Vector],
    dual: Matrix,
    w: Vector,
    watch: tuple[NDArray[np.int64], Vector, NDArray[np.int64]],
    stop: tuple[float, int],
) -> tuple[float, int, int]:
    """Sweeps with shrinking (Hsieh et al., 2008, algorithm 3), rows in blocks and the blocks in random order.

    `terms` is (kink, lower, upper, softness, entropy), entropies being 0 or 1; `row` is (weight, square norm,
    offset of the prediction); `watch` is (active rows, window of slopes, state of the random numbers). Keeps
    w = −Σ weight_i Σ_k dual_ik line_i. Ends when the rows' parts of the duality gap sum to stop[0], each
    taken when the row is visited, or after stop[1] visits; returns the sum, the number of active rows left,
    which are put first, and that of visits.
    """
    dense, starts, indices, values = rows
    index, window, random = watch
    kink, lower, upper, softness, entropy = terms
    pieces, (weight, square, offset) = (kink, lower, upper), row
    active, gap, last = index.shape[0], np.inf, 0.0
    drop = np.zeros(active, dtype=np.bool_)
    before = dual.copy()
    sweep, visits = 0, 0
    while visits < stop[1] and active > 0:
        sweep += 1
        visits += active
        if sweep % LEAP == 0 and entropy == 0.0:
            leap(rows, terms, row, dual, w, (before, index[:active]))
            before = dual.copy()
        gap, top, bottom = 0.0, 0.0, 0.0
        beyond = window[HIGHEST], window[LOWEST]
        blocks = (active + BLOCK - 1) // BLOCK
        order = np.arange(blocks)
        shuffle(order, blocks, random)
        for b in range(blocks):
            first = order[b] * BLOCK
            for s in range(first, min(first + BLOCK, active)):
                i = index[s]
                z = dot_in(dense, starts, indices, values, i, w) + offset[i]
                stiff = weight[i] * square[i]
                if entropy > 0.0:
                    ahead, missing = settle_entropy(dual[i, 0], lower[i, 0], upper[i, 0], stiff, z)
                    move = ahead - dual[i, 0]
                    dual[i, 0] = ahead
                else:
                    move, missing, above, below, drop[s] = settle(
                        pieces, dual, i, (softness, stiff), z, beyond
                    )
                    top, bottom = max(top, above), min(bottom, below)
                gap += weight[i] * missing
                if move != 0.0:
                    add_in(dense, starts, indices, values, i, -weight[i] * move, w)
        active = without(index, drop, active)
        window[HIGHEST] = top if top > 0.0 else np.inf
        window[LOWEST] = bottom if bottom < 0.0 else -np.inf
        if entropy + softness > 0.0:  # the gap was summed before the moves; it shrinks by a steady factor
            last, gap = gap, min(gap, AHEAD * gap * (gap / last) if last > 0.0 else gap)
        if gap <= stop[0]:
            break
    return gap, active, visits
