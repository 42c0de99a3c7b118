"""Coordinate descent on the quadratic model of a loss, the matrix itself at hand, not its Gram matrix."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dualgap.arrays import Vector
from dualgap.compiled.gram import soft
from dualgap.compiled.layout import Lines
from dualgap.compiled.lines import add_weighted, dot, draw
from dualgap.compiled.mechanism import compiled


@compiled
def shuffle(order: NDArray[np.int64], active: int, random: NDArray[np.int64]) -> None:
    """The first `active` entries in random order."""
    for b in range(active):
        other = b + draw(random, active - b)
        order[b], order[other] = order[other], order[b]


@compiled
def descend_model(
    columns: Lines,
    model: tuple[Vector, Vector, Vector],
    penalty: tuple[Vector, Vector, Vector],
    change: Vector,
    stop: tuple[float, int],
    random: NDArray[np.int64],
) -> int:
    """Minimise over d  gradientᵀd + ½ (Xd)ᵀ diag(h) (Xd) + ½ dᵀ diag(ridge) d + Σ price |w + d|.

    `model` is (h, gradient, diagonal), `penalty` (w, price, ridge); d is left in `change`. Columns come
    in random order; those at zero well inside their price are left out until the others have settled
    (Yuan, Ho and Lin, 2012, algorithm 3). Ends when the violations of a sweep sum to stop[0], or after
    stop[1] sweeps; returns the number of sweeps.
    """
    h, gradient, curvature = model
    w, price, ridge = penalty
    size, rows = w.shape[0], h.shape[0]
    bend = np.zeros(rows)  # h ∘ Xd
    order = np.arange(size)
    active, slack = size, np.inf
    for sweep in range(stop[1]):
        worst, total, b = 0.0, 0.0, 0
        shuffle(order, active, random)
        while b < active:
            j = order[b]
            here = w[j] + change[j]
            slope = gradient[j] + ridge[j] * change[j] + dot(columns, j, bend)
            if here > 0.0:
                off = abs(slope + price[j])
            elif here < 0.0:
                off = abs(slope - price[j])
            else:
                off = abs(slope) - price[j]
                if off < -slack:
                    active -= 1
                    order[b], order[active] = order[active], j
                    continue
                off = max(off, 0.0)
            worst = max(worst, off)
            total += off
            if curvature[j] > 0.0:
                step = soft(here - slope / curvature[j], price[j] / curvature[j]) - here
                if step != 0.0:
                    change[j] += step
                    add_weighted(columns, j, step, h, bend)
            b += 1
        if total <= stop[0]:
            if active == size:
                return sweep + 1
            active, slack = size, np.inf
        else:
            slack = worst / rows
    return stop[1]
