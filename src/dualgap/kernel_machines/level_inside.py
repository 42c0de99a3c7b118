"""Interior point for ½βᵀKβ − Σ kink β in a box, where each side keeps its sum: Mehrotra's steps.

With v the variables, S adding up those of a row and D = z/(v − low) + z'/(high − v), a step asks for
(D + SᵀKS) dv = right. For W = (S D⁻¹ Sᵀ)⁻¹, a diagonal, (K + W) S dv = W S D⁻¹ right.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from dualgap.arrays import Index, Matrix, Vector
from dualgap.kernel_machines.box import Box
from dualgap.linalg.cholesky import cholesky

STEPS = 60  # from the middle of the box to rounding takes 15 to 30
SHORT = 0.995  # of the way to the nearest bound: the usual
CLOSED = 1e-14  # complementarity beside where it began: no digits are left
FIRST = 1e-3  # of the width: the first point is so far from its bounds

Step = Callable[[Vector, Vector], tuple[Vector, Vector]]


def inside_steps(K: Matrix, box: Box, group: Index, totals: Vector) -> Iterator[Vector]:
    """Variables strictly inside their box, nearer and nearer to the best."""
    sides = (group[None, :] == np.arange(len(totals))[:, None]).astype(np.float64)
    width, full = box.high - box.low, np.where(totals[group] > 0.0, box.high, box.low)
    share = totals / np.bincount(group, full, len(totals))
    v = np.clip(share[group] * full, box.low + FIRST * width, box.high - FIRST * width)
    lift = float(np.abs(box.slope(v, K @ box.joined(v))).max(initial=0.0)) + 1e-300
    low, high, y = np.full(len(v), lift), np.full(len(v), lift), np.zeros(len(totals))
    first = np.inf
    for _ in range(STEPS):
        below, above = v - box.low, box.high - v
        rest = box.slope(v, K @ box.joined(v)) + y @ sides + low - high
        gap = float(low @ below + high @ above) / (2 * len(v))
        first = min(first, gap) if first == np.inf else first
        if not CLOSED * first < gap < np.inf:
            return
        solve, short = _system(K, box, low / below + high / above, sides), totals - sides @ v
        aims = np.zeros(len(v)), np.zeros(len(v))  # of low·below and of high·above
        for last in (False, True):
            dv, dy = solve(rest - low + aims[0] / below + high - aims[1] / above, short)
            dl, dh = (aims[0] - low * dv) / below - low, (aims[1] + high * dv) / above - high
            t = min(_room(below, dv), _room(above, -dv), _room(low, dl), _room(high, dh), 1.0)
            if not last:
                ahead = float((low + t * dl) @ (below + t * dv) + (high + t * dh) @ (above - t * dv))
                centre = gap * (ahead / (2 * len(v)) / gap) ** 3
                aims = centre - dl * dv, centre + dh * dv
        t = min(SHORT * t, 1.0)
        v, y, low, high = v + t * dv, y + t * dy, low + t * dl, high + t * dh
        if not np.all(np.isfinite(v)):
            return
        yield v.copy()


def _room(value: Vector, step: Vector) -> float:
    """How far along the step the values stay positive."""
    falls = step < 0.0
    return float(np.min(-value[falls] / step[falls], initial=np.inf))


def _system(K: Matrix, box: Box, D: Vector, sides: Matrix) -> Step:
    """(right, short) ↦ dv, dy with (D + SᵀKS) dv − sidesᵀdy = right and sides dv = short."""
    inverse = 1.0 / D
    W = 1.0 / inverse.reshape(box.terms, box.n).sum(axis=0)
    A = K.copy()
    A[np.diag_indices(len(A))] += W
    factor = cholesky(A)

    def plain(right: Vector) -> Vector:
        found = np.zeros(len(right))
        for _ in range(2):  # the second takes the rounding of the first away
            left = right - D * found - np.tile(K @ box.joined(found), box.terms)
            mean = box.joined(inverse * left)
            found = found + inverse * (left - np.tile(W * (mean - factor(W * mean)), box.terms))
        return found

    across = np.array([plain(side) for side in sides])
    small = sides @ across.T

    def step(right: Vector, short: Vector) -> tuple[Vector, Vector]:
        base = plain(right)
        dy = np.linalg.solve(small, short - sides @ base)
        return base + dy @ across, dy

    return step
