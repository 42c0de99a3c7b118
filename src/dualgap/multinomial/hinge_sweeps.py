"""Dual ascent for the joint hinge: one row's shares of the classes at a time, of those still in play."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dualgap.arrays import Matrix, Vector
from dualgap.compiled.layout import Lines
from dualgap.compiled.lines import add_in, dot_in, shuffle
from dualgap.compiled.mechanism import compiled

LEVEL = 1e-15  # beside a margin of one: classes of a row this near to each other are level
FLAT = 1e-12  # the least stiffness of a row: one without numbers goes to its best class at once


@compiled(inner=True)
def level_of(wanted: Vector, count: int) -> float:
    """The t for which Σ max(wanted − t, 0) = 1 over the first `count` numbers."""
    total = 0.0
    for q in range(count):
        total += wanted[q]
    above, t = count, (total - 1.0) / count
    while True:
        total, left = 0.0, 0
        for q in range(count):
            if wanted[q] > t:
                total += wanted[q]
                left += 1
        if left >= above or left == 0:  # more: rounding, which would go to and fro
            return t
        above, t = left, (total - 1.0) / left


@compiled(inner=True)
def keep_near(classes: NDArray[np.int32], count: int, shares: Vector, ahead: Vector, threshold: float) -> int:
    """Put the classes without a share that are below the threshold behind the others; how many are left."""
    q = 0
    while q < count:
        k = classes[q]
        if shares[k] == 0.0 and ahead[q] < threshold:
            count -= 1
            classes[q], classes[count] = classes[count], k
            ahead[q] = ahead[count]
        else:
            q += 1
    return count


@compiled(inner=True)
def settle_shares(
    classes: NDArray[np.int32], count: int, shares: Vector, ahead: Vector, stiff: float, move: Vector
) -> None:
    """A row's best shares of the classes in play, the others' fixed at zero, and how far each has fallen.

    They are those nearest to where the slopes `ahead` lead.
    """
    for q in range(count):
        move[q] = shares[classes[q]] + ahead[q] / stiff
    t = level_of(move, count)
    for q in range(count):
        share = max(move[q] - t, 0.0)
        move[q] = shares[classes[q]] - share
        shares[classes[q]] = share


@compiled
def ascend_joint(
    rows: Lines,
    row: tuple[NDArray[np.int64], Vector, Vector, Matrix],
    shares: Matrix,
    W: Matrix,
    watch: tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]],
    stop: tuple[float, int, float],
) -> tuple[float, int, int, float]:
    """Sweeps in random order with shrinking of rows and of their classes (Keerthi et al., 2008).

    The loss of row i is max_k g_k − z_y with g_k = 1[k ≠ y] + z_k, its dual Σ_k π_k g_k over shares π of one.
    `row` is (own class, weight, square norm, offsets of the predictions), `watch` is (classes of each row,
    those in play first; how many these are; active rows; state of the random numbers), `stop` is (a gap,
    sweeps, how far below its row a class is out of play). Keeps W = Σ_i weight_i (hot_i − π_i) line_i. Ends
    when the rows' parts of the duality gap sum to stop[0], each taken when the row is visited, or after
    stop[1] sweeps; returns the sum, the number of active rows, which are put first, that of visits, and the
    next stop[2].
    """
    dense, starts, indices, values = rows
    own, weight, square, offset = row
    classes, left, index, random = watch
    goal, sweeps, beyond = stop
    ahead, move = np.empty(W.shape[0]), np.empty(W.shape[0])
    active, visits, gap = index.shape[0], 0, np.inf
    for _ in range(sweeps):
        gap, most, s = 0.0, 0.0, 0
        shuffle(index, active, random)
        while s < active:
            i = index[s]
            count = left[i]
            visits += 1
            top, low, mean = -np.inf, np.inf, 0.0
            for q in range(count):
                k = classes[i, q]
                g = dot_in(dense, starts, indices, values, i, W[k]) + offset[i, k] + (k != own[i])
                ahead[q] = g
                top = max(top, g)
                mean += shares[i, k] * g
                low = min(low, g) if shares[i, k] > 0.0 else low
            gap += weight[i] * max(top - mean, 0.0)
            most = max(most, top - low)
            if top - low > LEVEL:
                stiff = max(weight[i] * square[i], FLAT)
                settle_shares(classes[i], count, shares[i], ahead, stiff, move)
                for q in range(count):
                    if move[q] != 0.0:
                        add_in(dense, starts, indices, values, i, weight[i] * move[q], W[classes[i, q]])
            left[i] = keep_near(classes[i], count, shares[i], ahead, low - beyond)
            s += 1
            if left[i] == 1:
                s, active = s - 1, active - 1
                index[s], index[active] = index[active], i
        beyond = most if most > 0.0 else np.inf
        if gap <= goal:
            break
    return gap, active, visits, beyond


@compiled
def put_in_play(
    row: tuple[NDArray[np.int64], Vector, Matrix],
    shares: Matrix,
    classes: NDArray[np.int32],
    left: NDArray[np.int64],
) -> tuple[float, float]:
    """First in each row the classes that have a share, or lead one that has, and how many these are.

    `row` is (own class, weight, predictions). Returns the loss, and the rows' part of the duality gap.
    """
    own, weight, prediction = row
    n, count = shares.shape
    risk, gap = 0.0, 0.0
    for i in range(n):
        top, low, mean = -np.inf, np.inf, 0.0
        for k in range(count):
            g = prediction[i, k] + (k != own[i])
            top = max(top, g)
            mean += shares[i, k] * g
            low = min(low, g) if shares[i, k] > 0.0 else low
        risk += weight[i] * (top - prediction[i, own[i]])
        gap += weight[i] * max(top - mean, 0.0)
        inside, outside = 0, count
        for k in range(count):
            if shares[i, k] > 0.0 or prediction[i, k] + (k != own[i]) > low:
                classes[i, inside] = k
                inside += 1
            else:
                outside -= 1
                classes[i, outside] = k
        left[i] = inside
    return risk, gap
