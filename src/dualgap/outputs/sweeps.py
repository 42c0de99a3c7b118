"""Block descent on  Σ_k ½ w_kᵀG_kw_k − c_kᵀw_k  +  Σ_j price_j ‖W_j·‖  with the matrices at hand."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dualgap.arrays import Matrix, Vector
from dualgap.compiled.mechanism import compiled


@compiled(reassociate=True, inner=True)
def _stepped(W: Matrix, residual: Matrix, step: Vector, j: int, price: float, top: float) -> float:
    """The move of column j to the minimum of its own model, into `step`; its length."""
    square = 0.0
    for k in range(step.shape[0]):
        step[k] = residual[j, k] + top * W[j, k]
        square += step[k] * step[k]
    length = np.sqrt(square)
    share = (1.0 - price / length) / top if length > price else 0.0
    far = 0.0
    for k in range(step.shape[0]):
        step[k] = share * step[k] - W[j, k]
        far += step[k] * step[k]
    return np.sqrt(far)  # type: ignore[no-any-return]


@compiled(reassociate=True, inner=True)
def _followed(grams: NDArray[np.float64], residual: Matrix, step: Vector, j: int) -> None:
    """The residuals, once column j has moved."""
    count, outputs = residual.shape
    if grams.shape[0] == 1:
        for i in range(count):
            pull = grams[0, j, i]
            for k in range(outputs):
                residual[i, k] -= pull * step[k]
        return
    for k in range(outputs):
        for i in range(count):
            residual[i, k] -= grams[k, j, i] * step[k]


@compiled(reassociate=True)
def settle_outputs(
    grams: NDArray[np.float64],
    W: Matrix,
    residual: Matrix,
    price: Vector,
    top: Vector,
    tolerance: float,
    sweeps: int,
) -> float:
    """Sweeps over the columns, in place; what is left of the slopes, in prices. `residual` is c − GW.

    `grams` has a matrix for each output, or one for all; a row of W and of the residual is a column of X.
    `top` bounds the diagonal entries of each column.
    """
    count, outputs = W.shape
    step = np.empty(outputs)
    worst = np.inf
    for _ in range(sweeps):
        worst = 0.0
        for j in range(count):
            far = _stepped(W, residual, step, j, price[j], top[j]) if top[j] > 0.0 else 0.0
            if far == 0.0:
                continue
            worst = max(worst, top[j] * far / (price[j] if price[j] > 0.0 else 1.0))
            for k in range(outputs):
                W[j, k] += step[k]
            _followed(grams, residual, step, j)
        if worst <= tolerance:
            break
    return worst
