"""½ wᵀGw − cᵀw + Σ price |w| + ½ ridge w²  for low ≤ w ≤ high, G at hand: sweeps, and steps of Newton."""

from __future__ import annotations

import numpy as np

from dualgap.arrays import Matrix, Vector
from dualgap.linalg.cholesky import cholesky

ROUNDS = 60  # of sweeps and a step of Newton; 5 to 20 are usual
SWEEPS = 8  # between two steps: enough for the ends to settle mostly
EXACT = 1e-13  # of the largest force: what is left is rounding


def solve_in_box(
    gram: Matrix, w: Vector, residual: Vector, prices: tuple[Vector, Vector], ends: tuple[Vector, Vector]
) -> None:
    """w and residual moved, in place, to where no force is left."""
    from dualgap.solvers.bounded.box_sweeps import sweep_in_box

    (price, ridge), (low, high) = prices, ends
    scale = float(np.abs(residual).max(initial=0.0) + price.max(initial=0.0)) or 1.0
    for _ in range(ROUNDS):
        force = sweep_in_box(gram, w, residual, price, ridge, low, high, SWEEPS)
        if force <= EXACT * scale:
            break
        _newton(gram, w, residual, prices, ends)


def _newton(
    gram: Matrix, w: Vector, residual: Vector, prices: tuple[Vector, Vector], ends: tuple[Vector, Vector]
) -> None:
    """A step on the weights that are inside, as far as the first of them meets an end or zero."""
    (price, ridge), (low, high) = prices, ends
    inside = np.flatnonzero((w > low) & (w < high) & ((w != 0.0) | (price == 0.0)))
    if not len(inside):
        return
    system = gram[np.ix_(inside, inside)].copy()
    system.flat[:: len(inside) + 1] += ridge[inside]
    here, own = w[inside], price[inside]
    right = residual[inside] - own * np.sign(here) - ridge[inside] * here
    try:
        step = cholesky(system)(right)
    except np.linalg.LinAlgError:  # columns that repeat each other: sweeps alone
        return
    below = np.where((own > 0.0) & (here > 0.0), np.maximum(low[inside], 0.0), low[inside])
    above = np.where((own > 0.0) & (here < 0.0), np.minimum(high[inside], 0.0), high[inside])
    with np.errstate(divide="ignore", invalid="ignore"):
        room = np.where(
            step > 0.0, (above - here) / step, np.where(step < 0.0, (below - here) / step, np.inf)
        )
    share = min(1.0, float(room.min(initial=np.inf)))
    moved = np.clip(here + share * step, below, above)
    residual -= (moved - here) @ gram[inside]
    w[inside] = moved
