"""The explicit inverse G of a symmetric system, lower triangle only, under changes of one or two slots."""

from __future__ import annotations

import numpy as np

from dualgap.arrays import Matrix, Vector
from dualgap.compiled.homotopy_state import SIZE, Block, Integers
from dualgap.compiled.mechanism import compiled


@compiled(reassociate=True)
def times(G: Matrix, size: int, x: Vector, out: Vector) -> None:
    """out = G x."""
    for a in range(size):
        xa, total = x[a], 0.0
        row = G[a]
        for c in range(a):
            total += row[c] * x[c]
            out[c] += row[c] * xa
        out[a] = total + row[a] * xa


@compiled(reassociate=True)
def times_four(G: Matrix, size: int, x: Matrix, out: Matrix) -> None:
    """out = G x for the four rows of x, in one pass over G."""
    x0, x1, x2, x3 = x[0], x[1], x[2], x[3]
    y0, y1, y2, y3 = out[0], out[1], out[2], out[3]
    for a in range(size):
        row = G[a]
        a0, a1, a2, a3 = x0[a], x1[a], x2[a], x3[a]
        t0 = t1 = t2 = t3 = 0.0
        for c in range(a):
            g = row[c]
            t0 += g * x0[c]
            t1 += g * x1[c]
            t2 += g * x2[c]
            t3 += g * x3[c]
            y0[c] += g * a0
            y1[c] += g * a1
            y2[c] += g * a2
            y3[c] += g * a3
        g = row[a]
        y0[a] = t0 + g * a0
        y1[a] = t1 + g * a1
        y2[a] = t2 + g * a2
        y3[a] = t3 + g * a3


@compiled(reassociate=True)
def inner(size: int, x: Vector, y: Vector) -> float:
    """x · y over the slots."""
    total = 0.0
    for a in range(size):
        total += x[a] * y[a]
    return total


@compiled
def column(G: Matrix, size: int, k: int, out: Vector) -> None:
    """out = G[:, k]."""
    for c in range(k + 1):
        out[c] = G[k, c]
    for a in range(k + 1, size):
        out[a] = G[a, k]


@compiled
def rank_one(G: Matrix, size: int, g: Vector, factor: float) -> None:
    """G += factor · g gᵀ."""
    for a in range(size):
        t = factor * g[a]
        if t != 0.0:
            row = G[a]
            for c in range(a + 1):
                row[c] += t * g[c]


@compiled
def rank_two(G: Matrix, size: int, g: Matrix, core: tuple[float, float, float]) -> None:
    """G += core[0] g₀g₀ᵀ + core[1] (g₀g₁ᵀ + g₁g₀ᵀ) + core[2] g₁g₁ᵀ."""
    first, second = g[0], g[1]
    for a in range(size):
        x = core[0] * first[a] + core[1] * second[a]
        y = core[1] * first[a] + core[2] * second[a]
        row = G[a]
        for c in range(a + 1):
            row[c] += x * first[c] + y * second[c]


@compiled
def append(block: Block, count: Integers, g: Vector, sigma: float, key: int) -> None:
    """One slot more; g = G u for its column u, sigma = its diagonal − u·g."""
    G, size = block.inverse, count[SIZE]
    rank_one(G, size, g, 1.0 / sigma)
    for a in range(size):
        G[size, a] = -g[a] / sigma
    G[size, size] = 1.0 / sigma
    block.keys[size] = key
    block.place[key] = size
    count[SIZE] = size + 1


@compiled
def forget(block: Block, count: Integers, k: int) -> None:
    """Take slot k off the books (G already freed of it) and move the last slot into its place."""
    G, last = block.inverse, count[SIZE] - 1
    block.place[block.keys[k]] = -1
    if k != last:
        for c in range(k):
            G[k, c] = G[last, c]
        G[k, k] = G[last, last]
        for a in range(k + 1, last):
            G[a, k] = G[last, a]
        block.keys[k] = block.keys[last]
        block.place[block.keys[k]] = k
        for c in range(4):
            block.answer[c, k] = block.answer[c, last]
            block.right[c, k] = block.right[c, last]
    count[SIZE] = last


@compiled
def remove(block: Block, count: Integers, k: int, g: Vector) -> None:
    """One slot less; g = G[:, k]."""
    rank_one(block.inverse, count[SIZE], g, -1.0 / g[k])
    forget(block, count, k)


@compiled
def remove_two(block: Block, count: Integers, k: int, other: int, g: Matrix) -> None:
    """Two slots less; g[0] = G[:, k], g[1] = G[:, other]."""
    a, b, c = g[0, k], g[0, other], g[1, other]
    determinant = a * c - b * b
    core = (-c / determinant, b / determinant, -a / determinant)
    rank_two(block.inverse, count[SIZE], g, core)
    forget(block, count, max(k, other))
    forget(block, count, min(k, other))


@compiled
def append_two(
    block: Block, count: Integers, u: Matrix, g: Matrix, corner: Vector, keys: tuple[int, int]
) -> None:
    """Two slots more; u their columns, g[k] = G u[k], corner the 2 × 2 among themselves (11, 12, 22)."""
    G, size = block.inverse, count[SIZE]
    s11 = corner[0] - inner(size, u[0], g[0])
    s12 = corner[1] - inner(size, u[0], g[1])
    s22 = corner[2] - inner(size, u[1], g[1])
    determinant = s11 * s22 - s12 * s12
    core = (s22 / determinant, -s12 / determinant, s11 / determinant)
    rank_two(G, size, g, core)
    for a in range(size):
        G[size, a] = -(core[0] * g[0, a] + core[1] * g[1, a])
        G[size + 1, a] = -(core[1] * g[0, a] + core[2] * g[1, a])
    G[size, size], G[size + 1, size], G[size + 1, size + 1] = core
    for k in range(2):
        block.keys[size + k] = keys[k]
        block.place[keys[k]] = size + k
    count[SIZE] = size + 2


@compiled
def replace(block: Block, count: Integers, k: int, key: int, change: Matrix, corner: float) -> float:
    """Slot k gets another column: change[0] is new − old with entry k zero, corner that of the diagonal.

    Returns the pivot, small where the new system is nearly singular. change[1] and [2] are scratch.
    """
    G, size = block.inverse, count[SIZE]
    times(G, size, change[0], change[2])
    column(G, size, k, change[1])
    kk, kc = change[1, k], change[2, k]
    square = inner(size, change[0], change[2])
    pivot, rest = 1.0 + kc, square - corner
    determinant = kk * rest - pivot * pivot
    core = (-rest / determinant, pivot / determinant, -kk / determinant)
    rank_two(G, size, change[1:3], core)
    block.place[block.keys[k]] = -1
    block.keys[k] = key
    block.place[key] = k
    return abs(pivot)


@compiled
def invert(block: Block, size: int, system: Matrix) -> None:
    """G from the system itself."""
    whole = np.linalg.inv(system)
    for a in range(size):
        for c in range(a + 1):
            block.inverse[a, c] = 0.5 * (whole[a, c] + whole[c, a])
