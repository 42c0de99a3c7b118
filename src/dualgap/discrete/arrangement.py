"""arrangement: the fewest errors of any plane, by looking at every cell that the rows cut out."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from math import comb, log2
from typing import ClassVar

import numpy as np

from dualgap.arrays import Index, Vector
from dualgap.discrete.base import Finding
from dualgap.discrete.local_planes import good_plane
from dualgap.discrete.plane_search import PlaneSearch
from dualgap.discrete.registry import search
from dualgap.discrete.signs import Signs, packing
from dualgap.problem.problem import Problem

PAUSE = 0.05


@search("arrangement")
@dataclass(frozen=True)
class Arrangement(PlaneSearch):
    """Exact for the zero_one loss in few dimensions: C(n, d−2) sweeps of n log n, the intercept being one."""

    name: ClassVar[str] = "arrangement"

    def cost(self, problem: Problem) -> float:
        return sweep_work(problem.n, problem.p)

    def planes(self, signs: Signs, start: Vector | None) -> Iterator[Finding]:
        best = good_plane(signs, start, 3)
        floor = signs.lost + packing(signs)
        yield Finding(best[1], floor, 1)
        yield from cells(signs, best, floor)


def sweep_work(rows: int, dimension: int) -> float:
    """Operations of the whole search, about."""
    return float(comb(rows, max(dimension - 2, 0)) * rows) * log2(rows + 1)


def cells(signs: Signs, best: tuple[float, Vector], floor: float) -> Iterator[Finding]:
    """All cells, a few rows at a time; what is better than `best`, and the bound once all are done."""
    from dualgap.compiled.arrangement import cheapest_cell

    upper, u = best
    if signs.dimension < 3 or not len(signs.rows):
        flat = _flat(signs)
        yield Finding(flat, min(signs.cost(flat), upper), 2)
        return
    count, step, at = len(signs.rows), 1, 0
    while at < count:
        began = time.perf_counter()
        last = min(at + step, count)
        below = upper - signs.lost - 1e-12
        found, entered, angle = cheapest_cell(signs.rows, signs.plus, signs.minus, at, last, below)
        if entered[0] >= 0:
            upper, u = signs.lost + found, signs.clear(_inside(signs, entered, angle))
        at = last
        yield Finding(u, upper if at == count else floor, at)
        step = step * 2 if time.perf_counter() - began < PAUSE else max(step // 2, 1)


def _flat(signs: Signs) -> Vector:
    """One or two dimensions."""
    from dualgap.compiled.arrangement import sweep

    if signs.dimension == 1:
        side = float(signs.rows[:, 0] @ (signs.plus - signs.minus)) if len(signs.rows) else 1.0
        return np.array([1.0 if side >= 0.0 else -1.0])
    _, angle = sweep(signs.rows, len(signs.rows), signs.plus, signs.minus)
    return np.array([np.cos(angle), np.sin(angle)])


def _inside(signs: Signs, entered: Index, angle: float) -> Vector:
    """A point of the cell: from the plane of the last facet outwards, to the cheaper side of each."""
    from dualgap.compiled.arrangement import project

    tables = [signs.rows]
    for pick in entered:
        below = np.zeros((len(signs.rows), tables[-1].shape[1] - 1))
        project(tables[-1], len(signs.rows), int(pick), below)
        tables.append(below)
    u = np.array([np.cos(angle), np.sin(angle)])
    for rows, below, pick in zip(tables[-2::-1], tables[:0:-1], entered[::-1], strict=True):
        u = _lifted(signs, rows, below, int(pick), u)
    return u


def _lifted(signs: Signs, rows: Vector, below: Vector, pick: int, u: Vector) -> Vector:
    pivot = rows[pick]
    mirror = pivot.copy()
    mirror[-1] += np.copysign(np.linalg.norm(pivot), mirror[-1] if mirror[-1] != 0.0 else 1.0)
    lifted = np.append(u, 0.0)
    lifted -= 2.0 * mirror * (mirror @ lifted) / (mirror @ mirror)
    vanishing = rows.any(axis=1) & ~below.any(axis=1)
    across = rows @ pivot
    here = np.where(across > 0.0, signs.minus, signs.plus)[vanishing].sum()
    there = np.where(across > 0.0, signs.plus, signs.minus)[vanishing].sum()
    outward = pivot / np.linalg.norm(pivot) * (1.0 if here <= there else -1.0)
    margins, slopes = np.abs(rows @ lifted), np.abs(rows @ outward)
    others = below.any(axis=1) & (slopes > 0.0)
    reach = float((margins[others] / slopes[others]).min(initial=1.0))
    return np.asarray(lifted + 0.5 * reach * outward)
