"""Coordinate descent on  ½ wᵀGw − cᵀw + Σ h_j(|w_j|)  with the matrix G at hand, h_j of mcp or scad."""

from __future__ import annotations

import numpy as np

from dualgap.arrays import Matrix, Vector
from dualgap.compiled.mechanism import compiled


@compiled(inner=True)
def _paid(size: float, price: float, bend: float, start: float) -> float:
    """h of a weight of this size."""
    if bend > 0.0:
        size = min(size, start + price / bend)
    beyond = max(size - start, 0.0)
    return price * size - 0.5 * bend * beyond * beyond


@compiled(inner=True)
def _best(pull: float, top: float, price: float, bend: float, start: float) -> float:
    """The size ≥ 0 with the least ½ top·size² − pull·size + h(size): the best of those of each piece."""
    size = max(pull - price, 0.0) / top
    if bend == 0.0:
        return size
    flat = start + price / bend
    size = min(size, start)
    found, least = 0.0, 0.0
    for piece in range(3):
        if piece == 1:
            if top <= bend:
                continue
            size = min(max((pull - price - bend * start) / (top - bend), start), flat)
        elif piece == 2:
            size = max(pull / top, flat)
        value = size * (0.5 * top * size - pull) + _paid(size, price, bend, start)
        if value < least:
            found, least = size, value
    return found


@compiled(reassociate=True)
def settle(
    gram: Matrix,
    w: Vector,
    residual: Vector,
    prices: tuple[Vector, Vector, Vector],
    tolerance: float,
    sweeps: int,
) -> float:
    """Sweeps over the weights, in place; by how much the last ones moved slopes, in prices.

    `residual` is c − Gw; `prices` are the slope at zero, by how much it falls a step, and from which size.
    """
    price, bend, start = prices
    size, worst = w.shape[0], np.inf
    for _ in range(sweeps):
        worst = 0.0
        for j in range(size):
            top = gram[j, j]
            if top <= 0.0:
                continue
            pull = residual[j] + top * w[j]
            if w[j] == 0.0 and abs(pull) <= price[j]:  # stationary, whatever a far place would be worth
                continue
            new = _best(abs(pull), top, price[j], bend[j], start[j])
            new = new if pull >= 0.0 else -new
            step = new - w[j]
            if step != 0.0:
                w[j] = new
                worst = max(worst, abs(step) * top / price[j])
                for k in range(size):
                    residual[k] -= step * gram[j, k]
        if worst <= tolerance:
            break
    return worst
