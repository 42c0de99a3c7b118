"""Conjugate gradients with a diagonal preconditioner, or a better one."""

from __future__ import annotations

from collections.abc import Callable, Generator

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
            return end.value  # type: ignore[no-any-return]


def conjugate_steps(
    apply: Callable[[Vector], Vector],
    right: Vector,
    diagonal: Vector,
    accuracy: float,
    limit: int = 1000,
    divide: Callable[[Vector], Vector] | None = None,
) -> Generator[None, None, Vector]:
    """The same with a pause after each product, for callers who watch the clock; vectors may be of a device.

    `divide` is a better preconditioner than the diagonal, if there is one.
    """
    x, residual = 0.0 * right, 1.0 * right
    scaled = residual / diagonal
    goal = accuracy * accuracy * float(residual @ scaled)
    if divide is not None:
        scaled = divide(residual)
    direction = 1.0 * scaled
    size = float(residual @ scaled)
    for _ in range(limit):
        if (size if divide is None else float(residual @ (residual / diagonal))) <= goal:
            break
        image = apply(direction)
        along = float(direction @ image)
        if not along > 0.0:
            break
        x += (size / along) * direction
        residual -= (size / along) * image
        scaled = residual / diagonal if divide is None else divide(residual)
        before, size = size, float(residual @ scaled)
        direction *= size / before
        direction += scaled
        yield
    return x
