"""Conjugate gradients with a diagonal preconditioner."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dualgap.arrays import Vector


def conjugate_gradients(
    apply: Callable[[Vector], Vector], right: Vector, diagonal: Vector, accuracy: float, limit: int = 1000
) -> Vector:
    """x with apply(x) ≈ right, residual below `accuracy` in the norm of the preconditioner."""
    x, residual = np.zeros_like(right), right.copy()
    scaled = residual / diagonal
    direction = scaled.copy()
    size = float(residual @ scaled)
    goal = accuracy * accuracy * size
    for _ in range(limit):
        if size <= goal:
            break
        image = apply(direction)
        along = float(direction @ image)
        if not along > 0.0:
            break
        x += (size / along) * direction
        residual -= (size / along) * image
        scaled = residual / diagonal
        before, size = size, float(residual @ scaled)
        direction *= size / before
        direction += scaled
    return x
