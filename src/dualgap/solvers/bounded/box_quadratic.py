"""½ wᵀGw − cᵀw + Σ price |w| + ½ ridge w²  for low ≤ w ≤ high, G at hand: sweeps, and steps of Newton."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from dualgap.arrays import Index, Matrix, Vector
from dualgap.linalg.support_factor import SupportFactor
from dualgap.penalties.weight_bounds import WeightBounds

ROUNDS = (
    12  # of sweeps and a step of Newton, then other columns come in: 60 took three times as long, 500 × 2000
)
SWEEPS = 8  # between two steps: enough for the ends to settle mostly
EXACT = 1e-13  # of the largest force: what is left is rounding


@dataclass(frozen=True, eq=False)
class _Gathered:
    """G and the ridge, as `SupportFactor` asks for them."""

    gram: Matrix
    ridge: Vector

    def block(self, which: Index) -> Matrix:
        """On these columns."""
        from dualgap.design.weighted_lines import gather_block

        block = np.empty((len(which), len(which)))
        gather_block(self.gram, which, block)
        block.flat[:: len(which) + 1] += self.ridge[which]
        return block

    def cross(self, rows: Index, columns: Index) -> Matrix:
        """The same, of two sets that are equal or have nothing in common."""
        return self.block(rows) if np.array_equal(rows, columns) else self.gram[np.ix_(rows, columns)]


def forces(w: Vector, pull: Vector, prices: tuple[Vector, Vector], box: WeightBounds) -> Vector:
    """How strongly each weight is drawn to where it may go; `pull` is what the loss falls by along it."""
    price, ridge = prices
    bend = ridge * w
    up = pull - bend - price * np.where(w < 0.0, -1.0, 1.0)
    down = bend - pull - price * np.where(w > 0.0, -1.0, 1.0)
    found: Vector = np.maximum(np.where(w < box.high, up, 0.0), np.where(w > box.low, down, 0.0))
    return found


def solve_in_box(
    gram: Matrix,
    w: Vector,
    residual: Vector,
    prices: tuple[Vector, Vector],
    ends: tuple[Vector, Vector],
    enough: float = 0.0,
) -> float:
    """w and residual moved, in place, to where no force above `enough` is left; the largest that is."""
    from dualgap.solvers.bounded.box_sweeps import sweep_in_box

    (price, ridge), (low, high) = prices, ends
    scale = float(np.abs(residual).max(initial=0.0) + price.max(initial=0.0)) or 1.0
    force, factor = np.inf, SupportFactor(_Gathered(gram, ridge))
    for _ in range(ROUNDS):
        force = sweep_in_box(gram, w, residual, price, ridge, low, high, SWEEPS)
        if force <= max(EXACT * scale, enough):
            break
        _newton(gram, w, residual, prices, ends, factor)
    return force


def _newton(
    gram: Matrix,
    w: Vector,
    residual: Vector,
    prices: tuple[Vector, Vector],
    ends: tuple[Vector, Vector],
    factor: SupportFactor,
) -> None:
    """A step on the weights that are inside; those that would leave stop at an end or at zero.

    All of them where the model is lower there, else those on the first half of the way, or the first.
    """
    (price, ridge), (low, high) = prices, ends
    inside = np.flatnonzero((w > low) & (w < high) & ((w != 0.0) | (price == 0.0)))
    if not len(inside):
        return
    here, cost, bend = w[inside], price[inside], ridge[inside]
    right = residual[inside] - cost * np.sign(here) - bend * here
    try:
        step = factor.solve(inside, right)
    except np.linalg.LinAlgError:  # columns that repeat each other: sweeps alone
        return
    below = np.where((cost > 0.0) & (here > 0.0), np.maximum(low[inside], 0.0), low[inside])
    above = np.where((cost > 0.0) & (here < 0.0), np.minimum(high[inside], 0.0), high[inside])
    with np.errstate(divide="ignore", invalid="ignore"):
        room = np.where(
            step > 0.0, (above - here) / step, np.where(step < 0.0, (below - here) / step, np.inf)
        )
    change = np.zeros_like(w)
    for share in _shares(room):
        change[inside] = moved = np.clip(here + share * step, below, above) - here
        image = gram @ change
        if float(moved @ (0.5 * (image[inside] + bend * moved) - right)) <= 0.0:
            residual -= image
            w[inside] = here + moved
            return


def _shares(room: Vector) -> Iterator[float]:
    """Of a step: all, then to where half of the weights that would leave still stay, then all of them."""
    yield 1.0
    short = room[room < 1.0]
    if len(short):
        yield float(np.median(short))
        yield float(short.min())
