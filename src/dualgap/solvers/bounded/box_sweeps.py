"""Coordinate descent on  ½ wᵀGw − cᵀw + Σ price |w| + ½ ridge w²  inside bounds, the matrix G at hand."""

from __future__ import annotations

from dualgap.arrays import Matrix, Vector
from dualgap.compiled.mechanism import compiled


@compiled(reassociate=True)
def sweep_in_box(  # noqa: PLR0913
    gram: Matrix,
    w: Vector,
    residual: Vector,
    price: Vector,
    ridge: Vector,
    low: Vector,
    high: Vector,
    sweeps: int,
) -> float:
    """Sweeps over all coordinates, in place; `residual` is c − Gw and is kept so. The last largest force."""
    size = w.shape[0]
    largest = 0.0
    for _ in range(sweeps):
        largest = 0.0
        for j in range(size):
            curvature = gram[j, j] + ridge[j]
            if curvature <= 0.0:
                continue
            point = residual[j] + gram[j, j] * w[j]
            if point > price[j]:
                point -= price[j]
            elif point < -price[j]:
                point += price[j]
            else:
                point = 0.0
            ahead = min(max(point / curvature, low[j]), high[j])
            step = ahead - w[j]
            if step != 0.0:
                largest = max(largest, abs(step) * curvature)
                w[j] = ahead
                for k in range(size):
                    residual[k] -= step * gram[j, k]
        if largest == 0.0:
            break
    return largest
