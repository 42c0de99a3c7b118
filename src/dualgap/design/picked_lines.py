"""Products with some lines of a table, read where they lie, four at a time: a copy takes as long as some."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dualgap.arrays import Matrix, Vector
from dualgap.compiled.mechanism import compiled

RUN = 2048  # numbers of a sum that stay in the first cache while the lines pass by


@compiled(reassociate=True)
def picked_products(lines: Matrix, which: NDArray[np.int64], x: Vector, out: Vector) -> None:
    """out_k = line which_k · x."""
    size, whole = which.shape[0], which.shape[0] // 4 * 4
    for k in range(0, whole, 4):
        p, q, r, s = lines[which[k]], lines[which[k + 1]], lines[which[k + 2]], lines[which[k + 3]]
        a, b, c, d = 0.0, 0.0, 0.0, 0.0
        for i in range(x.shape[0]):
            value = x[i]
            a, b, c, d = a + p[i] * value, b + q[i] * value, c + r[i] * value, d + s[i] * value
        out[k], out[k + 1], out[k + 2], out[k + 3] = a, b, c, d
    for k in range(whole, size):
        p, a = lines[which[k]], 0.0
        for i in range(x.shape[0]):
            a += p[i] * x[i]
        out[k] = a


@compiled(reassociate=True)
def picked_combination(lines: Matrix, which: NDArray[np.int64], amounts: Vector, out: Vector) -> None:
    """out += Σ_k amounts_k line which_k."""
    size, whole = which.shape[0], which.shape[0] // 4 * 4
    for first in range(0, out.shape[0], RUN):
        target = out[first : first + RUN]
        for k in range(0, whole, 4):
            p, q = lines[which[k], first : first + RUN], lines[which[k + 1], first : first + RUN]
            r, s = lines[which[k + 2], first : first + RUN], lines[which[k + 3], first : first + RUN]
            a, b, c, d = amounts[k], amounts[k + 1], amounts[k + 2], amounts[k + 3]
            for i in range(target.shape[0]):
                target[i] += (a * p[i] + b * q[i]) + (c * r[i] + d * s[i])
        for k in range(whole, size):
            p, a = lines[which[k], first : first + RUN], amounts[k]
            for i in range(target.shape[0]):
                target[i] += a * p[i]
