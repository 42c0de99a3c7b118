"""Accelerated proximal steps on  ½ wᵀGw − cᵀw + Σ price_i |w|_(i)  with the matrix G at hand."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dualgap.arrays import Matrix, Vector
from dualgap.compiled.mechanism import compiled

RISE = 1.5  # of the bound on the curvature, where a step shows that it was too low
ROOM = 1.0 + 1e-9  # for rounding, before it shows that


@compiled(inner=True)
def _sort(size: Vector, order: NDArray[np.int64]) -> None:
    """The largest first. By insertion: from one step to the next the order hardly changes."""
    for i in range(1, order.shape[0]):
        j, k = order[i], i
        here = size[j]
        while k > 0 and size[order[k - 1]] < here:
            order[k] = order[k - 1]
            k -= 1
        order[k] = j


@compiled(inner=True)
def _shrink(
    point: Vector,
    size: Vector,
    order: NDArray[np.int64],
    price: Vector,
    step: float,
    w: Vector,
    room: tuple[Vector, NDArray[np.int64]],
) -> None:
    """The prox of the prices, into w: sizes less prices, neighbours pooled where they would rise."""
    total, count = room
    blocks = 0
    for i in range(order.shape[0]):
        total[blocks], count[blocks] = size[order[i]] - step * price[i], 1
        blocks += 1
        while blocks > 1 and total[blocks - 2] * count[blocks - 1] <= total[blocks - 1] * count[blocks - 2]:
            total[blocks - 2] += total[blocks - 1]
            count[blocks - 2] += count[blocks - 1]
            blocks -= 1
    i = 0
    for b in range(blocks):
        level = max(total[b] / count[b], 0.0)
        for _ in range(count[b]):
            j = order[i]
            w[j] = level if point[j] > 0.0 or level == 0.0 else -level
            i += 1


@compiled(reassociate=True, inner=True)
def _image(gram: Matrix, w: Vector, image: Vector) -> None:
    """Gw; weights of zero cost nothing."""
    image[:] = 0.0
    for j in range(w.shape[0]):
        if w[j] != 0.0:
            for k in range(w.shape[0]):
                image[k] += w[j] * gram[j, k]


@compiled(reassociate=True, inner=True)
def _bend(step: Vector, before: Vector, after: Vector) -> tuple[float, float]:
    """‖d‖² and dᵀGd of a step d, from the images of its ends."""
    square, bent = 0.0, 0.0
    for j in range(step.shape[0]):
        square += step[j] * step[j]
        bent += step[j] * (after[j] - before[j])
    return square, bent


@compiled(reassociate=True)
def descend(
    gram: Matrix,
    target: Vector,
    price: Vector,
    order: NDArray[np.int64],
    state: Matrix,
    way: Vector,
    limits: tuple[int, float],
) -> float:
    """Steps, in place; the slope that is left, in prices.

    With momentum, which begins anew where it points uphill. `target` is c, `order` one of falling |w| or
    nearly. `state` is w, Gw, where the momentum leads and its image; `way` the momentum and a guess of the
    largest eigenvalue, which rises as need be. At most limits[0] steps, down to limits[1].
    """
    steps, tolerance = limits
    size = target.shape[0]
    w, image, ahead, ahead_image = state
    point, sizes, total = np.empty(size), np.empty(size), np.empty(size)
    new, new_image, change = np.empty(size), np.empty(size), np.empty(size)
    count = np.empty(size, dtype=np.int64)
    momentum, top = way
    unit = price.mean()  # slopes that are all off by this are off by the whole price
    left = np.inf
    for _ in range(steps):
        for j in range(size):
            point[j] = ahead[j] + (target[j] - ahead_image[j]) / top
            sizes[j] = abs(point[j])
        _sort(sizes, order)
        _shrink(point, sizes, order, price, 1.0 / top, new, (total, count))
        _image(gram, new, new_image)
        for j in range(size):
            change[j] = new[j] - ahead[j]
        square, bent = _bend(change, ahead_image, new_image)
        if bent > ROOM * top * square:
            top = max(RISE * top, bent / square)
            continue
        uphill, far = 0.0, 0.0
        for j in range(size):
            uphill -= change[j] * (new[j] - w[j])
            far = max(far, abs(change[j]))
        left = top * far / unit
        following = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * momentum * momentum))
        onward = 0.0 if uphill > 0.0 else (momentum - 1.0) / following
        momentum = 1.0 if uphill > 0.0 else following
        for j in range(size):
            ahead[j] = new[j] + onward * (new[j] - w[j])
            ahead_image[j] = new_image[j] + onward * (new_image[j] - image[j])
            w[j], image[j] = new[j], new_image[j]
        if left <= tolerance:
            break
    way[0], way[1] = momentum, top
    return left
