"""Conjugate gradients with a diagonal preconditioner."""

from __future__ import annotations

from collections.abc import Callable, Generator

import numpy as np

from dualgap.arrays import Vector


def conjugate_gradients(
    apply: Callable[[Vector], Vector], right: Vector, diagonal: Vector, accuracy: float, limit: int = 1000
) -> Vector:
    """x with apply(x) ≈ right, the residual below `accuracy` in the norm of the preconditioner.

    At most `limit` products; it also ends at a direction along which `apply` is not positive.
    """
    steps = conjugate_steps(apply, right, diagonal, accuracy, limit)
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return np.asarray(end.value)


def conjugate_steps(
    apply: Callable[[Vector], Vector], right: Vector, diagonal: Vector, accuracy: float, limit: int = 1000
) -> Generator[None, None, Vector]:
    """The same with a pause after each product, for callers who watch the clock."""
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
        yield
    return x
