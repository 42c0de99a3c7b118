"""Which products x_k·v can have reached a bound, when v moves and few of them are to be computed.

When products are computed, v and its rate are kept as two orthonormal directions e, f (a snapshot), with
x_k·e and x_k·f of every line computed then. Later, with v = αe + βf + rest,

    |x_k·v − α (x_k·e) − β (x_k·f)| ≤ ‖x_k‖ ‖rest‖,

and since ‖rest‖ is convex along a straight step, a bound that holds at both ends of the step holds on it.
"""

from __future__ import annotations

import numpy as np

from dualgap.arrays import Matrix
from dualgap.compiled.mechanism import compiled
from dualgap.paths.homotopy.course import DUAL, DUAL_RATE, SNAPSHOTS, Course
from dualgap.paths.homotopy.system import inner

ROUNDING = 1e-15  # share of a square norm that a difference of two may lose


@compiled(inner=True)
def open_step(course: Course, step: float) -> None:
    """A new step of the dual: line k of `reach` = ‖rest‖, α, β now, then at its end, for every snapshot.

    reach[-1, 0] is where the next snapshot goes, the rest of that line the squares of the step.
    """
    reach, basis, v, rate = course.reach, course.basis, course.row[DUAL], course.row[DUAL_RATE]
    size = v.shape[0]
    square, mixed, fast = inner(size, v, v), inner(size, v, rate), inner(size, rate, rate)
    later = square + step * (2.0 * mixed + step * fast)
    reach[-1, 1], reach[-1, 2], reach[-1, 3] = square, mixed, fast
    for k in range(SNAPSHOTS):
        e, f = basis[2 * k], basis[2 * k + 1]
        a, b = inner(size, v, e), inner(size, v, f)
        c, d = a + step * inner(size, rate, e), b + step * inner(size, rate, f)
        reach[k, 0] = np.sqrt(max(square - a * a - b * b, 0.0) + ROUNDING * square)
        reach[k, 1], reach[k, 2] = a, b
        reach[k, 3] = np.sqrt(max(later - c * c - d * d, 0.0) + ROUNDING * (square + later))
        reach[k, 4], reach[k, 5] = c, d


@compiled(inner=True)
def within(reach: Matrix, k: int, first: float, second: float, size: float) -> float:
    """A bound on |x·v| over the step, from the products of x with snapshot k; infinite if there is none."""
    if k < 0:
        return np.inf
    here = abs(reach[k, 1] * first + reach[k, 2] * second) + size * reach[k, 0]
    there = abs(reach[k, 4] * first + reach[k, 5] * second) + size * reach[k, 3]
    return max(here, there)


@compiled(inner=True)
def new_snapshot(course: Course) -> int:
    """Take the oldest place; columns that relied on it must be computed again. Returns the place."""
    reach, snap, v, rate = course.reach, course.snap, course.row[DUAL], course.row[DUAL_RATE]
    k = int(reach[-1, 0])
    reach[-1, 0] = (k + 1) % SNAPSHOTS
    for j in range(snap.shape[0]):
        if snap[j] == k:
            snap[j] = -1
    e, f, size = course.basis[2 * k], course.basis[2 * k + 1], v.shape[0]
    long, fast = np.sqrt(reach[-1, 1]), np.sqrt(reach[-1, 3])
    along = reach[-1, 2] / long if long > 0.0 else 0.0
    for a in range(size):
        e[a] = v[a] / long if long > 0.0 else 0.0
        f[a] = rate[a] - along * e[a]
    rest = np.sqrt(inner(size, f, f))
    if not rest > 1e-6 * fast:
        rest = np.inf
    for a in range(size):
        f[a] /= rest
    reach[-2, 1], reach[-2, 2], reach[-2, 3] = long, along, rest
    return k


@compiled(inner=True)
def components(reach: Matrix, product: float, rate: float) -> tuple[float, float]:
    """x·e and x·f of the newest snapshot from x·v and x·rate."""
    long = reach[-2, 1]
    first = product / long if long > 0.0 else 0.0
    return first, (rate - reach[-2, 2] * first) / reach[-2, 3]
