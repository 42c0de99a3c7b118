"""Block descent on  ½ wᵀGw − cᵀw + Σ own_j |w_j| + Σ_g price_g ‖w_g‖  with the matrix G at hand."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dualgap.arrays import Matrix, Vector
from dualgap.compiled.mechanism import compiled

INNER = 12  # proximal steps on one group in a sweep: with eigenvalues a factor 9 apart each leaves half
ALMOST = 0.05  # and the share of the first of them at which the group is left for the next sweep


@compiled(reassociate=True, inner=True)
def _ahead(
    w: Vector, residual: Vector, own: Vector, step: Vector, span: tuple[int, int], level: tuple[float, float]
) -> float:
    """A proximal step on the group in this span, into `step`; its length. level: its price and top."""
    first, last = span
    price, top = level
    square = 0.0
    for j in range(first, last):
        point, edge = residual[j] + top * w[j], own[j]
        point = point - edge if point > edge else point + edge if point < -edge else 0.0
        step[j] = point
        square += point * point
    length = np.sqrt(square)
    share = (1.0 - price / length) / top if length > price else 0.0
    far = 0.0
    for j in range(first, last):
        step[j] = share * step[j] - w[j]
        far += step[j] * step[j]
    return np.sqrt(far)  # type: ignore[no-any-return]


@compiled(reassociate=True, inner=True)
def _on_one(
    gram: Matrix,
    w: Vector,
    residual: Vector,
    own: Vector,
    step: Vector,
    span: tuple[int, int],
    level: tuple[float, float],
) -> float:
    """Proximal steps on one group, residuals outside it left behind; the length of the first."""
    first, last = span
    begun = 0.0
    for inner in range(INNER):
        far = _ahead(w, residual, own, step, span, level)
        if far == 0.0:
            break
        if inner == 0:
            begun = far
        for j in range(first, last):
            if step[j] != 0.0:
                w[j] += step[j]
                for k in range(first, last):
                    residual[k] -= step[j] * gram[j, k]
        if far <= ALMOST * begun:
            break
    return begun


@compiled(reassociate=True, inner=True)
def _followed(gram: Matrix, residual: Vector, change: float, j: int, span: tuple[int, int]) -> None:
    """The residuals outside the group, once weight j of it has moved."""
    first, last = span
    for k in range(first):
        residual[k] -= change * gram[j, k]
    for k in range(last, residual.shape[0]):
        residual[k] -= change * gram[j, k]


@compiled(reassociate=True)
def settle(
    gram: Matrix,
    w: Vector,
    residual: Vector,
    prices: tuple[Vector, Vector],
    groups: tuple[NDArray[np.int64], Vector],
    tolerance: float,
    sweeps: int,
) -> float:
    """Sweeps over the groups, in place; what is left of the slopes, in prices. `residual` is c − Gw.

    `prices` are those of the weights and those of the groups; of `groups` the first entry says where each
    begins, the second bounds the eigenvalues of its block.
    """
    own, price = prices
    starts, top = groups
    before, step = np.empty(w.shape[0]), np.empty(w.shape[0])
    worst = np.inf
    for _ in range(sweeps):
        worst = 0.0
        for g in range(price.shape[0]):
            if top[g] <= 0.0:
                continue
            span, unit = (starts[g], starts[g + 1]), price[g]
            for j in range(span[0], span[1]):
                before[j], unit = w[j], max(unit, own[j])
            begun = _on_one(gram, w, residual, own, step, span, (price[g], top[g]))
            worst = max(worst, top[g] * begun / unit)
            for j in range(span[0], span[1]):
                if w[j] != before[j]:
                    _followed(gram, residual, w[j] - before[j], j, span)
        if worst <= tolerance:
            break
    return worst
