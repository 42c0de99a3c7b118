"""Σ h x xᵀ where the x lie across the lines of a table, block by block: copies of the whole take as long."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from dualgap.arrays import Index, Matrix, Vector
from dualgap.design.blas import narrow

BLOCK, LEAST = 1 << 17, 2048  # numbers of a block for BLAS, 1 MiB, and the fewest of one of its lines
MANY = 100_000  # numbers whose lines lie across: a loop of ours turns more of them in a fifth of the time
SINGLE = 2e6  # products from which on 4-byte numbers make a matrix in half the time: true slopes mend a step
TINY = 1e-20  # a square that is as far from one on either side is for 8-byte numbers
RUN = 61  # registers of a line in a block for our loop: 4 lines and 4 others stay in the first cache
REGISTER = 64  # bytes of one: lines that begin elsewhere took up to half as long again


def weighted_products(
    lines: Matrix, h: Vector, which: Index, first: int = 0, *, single: bool = False
) -> tuple[Matrix, Vector]:
    """Those of lines `which[first:]` with all of `which`, and Σ h x over the former; `lines` is in one piece.

    `single`: of 4-byte numbers.
    """
    from dualgap.design.weighted_lines import fill_weighted

    root, size, edge = np.sqrt(h), len(which), np.zeros(len(which))
    step = None if narrow() else max(BLOCK // max(size, 1), LEAST)
    products = _Products(len(h), size, first, step, single=single)
    for i, part in products.parts():
        fill_weighted(lines, which, root, i, part, edge)
    return products.matrix, edge[first:]


def weighted_square(array: Matrix, h: Vector, *, single: bool) -> Matrix:
    """Σ h x xᵀ over the rows of a table, which lies in one piece, by our loop."""
    from dualgap.design.weighted_lines import fill_across, fill_weighted

    root, size = np.sqrt(h), array.shape[1]
    products = _Products(len(h), size, 0, None, single=single)
    which, edge, across = np.arange(size), np.zeros(size), array.flags.c_contiguous
    for i, part in products.parts():
        if across:
            fill_across(array, which, root, i, part)
        else:
            fill_weighted(array.T, which, root, i, part, edge)
    return products.matrix


def rounded_lines(lines: Matrix) -> Any:
    """In 4-byte numbers, each line in one piece."""
    if lines.flags.c_contiguous or lines.size < MANY:
        return lines.astype(np.float32, order="C")
    from dualgap.design.weighted_lines import fill_across

    found: Any = np.empty(lines.shape, dtype=np.float32)
    fill_across(lines.T, np.arange(len(lines)), np.ones(lines.shape[1]), 0, found)
    return found


def products_with_new(columns: Matrix, h: Vector, before: int, *, single: bool = False) -> Matrix:
    """Σ h x xᵀ of the columns from `before` on with all, a line each; the columns lie in one piece."""
    n, size = columns.shape
    if narrow() or (n and h.min() < h.max()):
        return weighted_products(columns.T, h, np.arange(size), before, single=single)[0]
    with np.errstate(over="ignore", invalid="ignore"):  # of 4-byte numbers: who asks for them looks
        some: Any = columns.astype(np.float32) if single else columns  # nothing to copy
        return np.asarray((h[0] if n else 0.0) * (some[:, before:].T @ some), dtype=np.float64)


def rough_products_with_new(columns: Matrix, h: Vector, before: int) -> Matrix:
    """The same in 4-byte numbers, if there are many and these neither overflow nor vanish."""
    n, size = columns.shape
    if float(size) * (size - before) * n > SINGLE:
        found = products_with_new(columns, h, before, single=True)
        squares = found.diagonal(before)
        if squares.max() < 1.0 / TINY and squares.min() > TINY:
            return found
    return products_with_new(columns, h, before)


class _Products:
    """Sums over blocks of lines with all, and with those from `first` on; `step` numbers a block for BLAS."""

    def __init__(self, n: int, size: int, first: int, step: int | None, *, single: bool) -> None:
        self.n, self.first, self.ours = n, first, step is None
        self.kind: Any = np.float32 if single else np.float64
        self.step = _even_runs(n, np.dtype(self.kind).itemsize) if step is None else min(n, step)
        self.room = _aligned(size, self.step, self.kind)
        self.matrix = np.zeros((size - first, size))

    def parts(self) -> Iterator[tuple[int, Any]]:
        """Where each block begins, and the room that is to be filled with it."""
        from dualgap.design.weighted_lines import add_products, mirror

        for i in range(0, self.n, self.step):
            yield i, self.room
            if self.ours:
                add_products(self.room, self.kind(0.0), self.first, self.matrix)
            else:
                self.matrix += self.room[self.first :] @ self.room.T
        if self.ours:
            mirror(self.matrix, self.first)


def _even_runs(n: int, size: int) -> int:
    """How many of n numbers of this size go into one of few equal blocks: whole registers, an odd number.

    Lines an even number apart meet in the same places of the cache.
    """
    blocks = -(-n * size // (RUN * REGISTER))
    return (-(-n * size // (blocks * REGISTER)) | 1) * REGISTER // size


def _aligned(lines: int, run: int, kind: Any) -> Any:
    """Room for so many lines; the first begins where a register does."""
    size = lines * run * np.dtype(kind).itemsize
    raw = np.empty(size + REGISTER, dtype=np.uint8)
    skip = -raw.ctypes.data % REGISTER
    return raw[skip : skip + size].view(kind).reshape(lines, run)
