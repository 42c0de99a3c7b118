"""arrangement: the fewest errors of any plane, by looking at every cell that the rows cut out."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import comb, log2
from typing import TYPE_CHECKING

import numpy as np

from dualgap.arrays import Index, Vector
from dualgap.discrete import integers as exact
from dualgap.discrete.base import Finding
from dualgap.discrete.planes.cover import Cover
from dualgap.discrete.planes.plane_search import PlaneSearch, good_plane
from dualgap.discrete.planes.sides import Signs, packing
from dualgap.drive.registry import solver
from dualgap.problem.problem import Problem

if TYPE_CHECKING:
    from dualgap.discrete.planes.cells import DoubtfulPlanes, Sides


AT_ONCE = 4096  # planes noted between two looks: beyond that the search is by subsets of rows


class HiddenCells:
    """Cells that rounding hides: their planes are swept again, in integers.

    The planes found so far: what their cells may cost at least, what was spent, the rows that vanish.
    """

    def __init__(self, signs: Signs) -> None:
        from dualgap.discrete.planes.cells import DoubtfulPlanes

        self.signs, self.lost = signs, False
        self.planes: list[tuple[float, float, Index]] = []
        entered = np.zeros((AT_ONCE, max(signs.dimension - 2, 0)), np.int64)
        self.room = DoubtfulPlanes(entered, np.zeros(AT_ONCE), np.zeros(AT_ONCE), np.zeros(2, np.int64))

    @property
    def least(self) -> float:
        """What the cheapest cell may cost."""
        return min((plane[0] for plane in self.planes), default=np.inf)

    def empty(self) -> DoubtfulPlanes:
        """Room for a loop to note them."""
        self.room.tally[:] = 0
        return self.room

    def take(self) -> None:
        """What the loop has noted."""
        room = self.room
        for at in range(int(room.tally[0])):
            self.planes.append((float(room.hidden[at]), float(room.spent[at]), room.vanishing[at].copy()))
        self.lost = self.lost or bool(room.tally[1])

    def settled(self, upper: float) -> Iterator[float]:
        """Bounds on the least cost, the last of them exact; the most doubtful planes come first."""
        signs, least = self.signs, upper
        for hidden, spent, rows in sorted(self.planes, key=lambda plane: plane[0]):
            if hidden >= least:
                break
            yield hidden
            assert signs.integers is not None  # without them nothing is in doubt
            plane = exact.quotient(signs.integers, rows)
            least = min(least, spent + exact.sweep(plane, signs.plus, signs.minus))
        yield least


PAUSE = 0.05  # seconds of cells between two findings: a choice
SOON = 1e7  # work that is done before a bound could be of use: a fraction of a second
HIDDEN = (
    "In exact arithmetic a plane does better, or may, by differences between rows that rounding hides; no "
    "weights were found whose predictions show them."
)


@solver("arrangement", kind="search")
@dataclass(frozen=True)
class Arrangement(PlaneSearch):
    """Exact for the zero_one loss in few dimensions: C(n, d−2) sweeps of n log n, the intercept being one."""

    def cost(self, problem: Problem) -> float:
        return sweep_work(problem.n, problem.p)

    def planes(self, signs: Signs, start: Vector | None) -> Iterator[Finding]:
        best = good_plane(signs, start, 3)
        floor = signs.lost
        if sweep_work(*signs.rows.shape) > SOON:
            floor += packing(signs)
        yield Finding(best[1], floor, 1)
        yield from cells(signs, best, floor)


def sweep_work(rows: int, dimension: int) -> float:
    """Operations of the whole search, about."""
    return float(comb(rows, max(dimension - 2, 0)) * rows) * log2(rows + 1)


def cells(signs: Signs, best: tuple[float, Vector], floor: float) -> Iterator[Finding]:
    """All cells, a few rows at a time; what is better than `best`, and the bound once all are done.

    Where rounding hides cells the planes they are on are swept again, exactly. If there are too many of them,
    or rows that only seem to vanish, it is left to the subsets of rows that cannot all be right.
    """
    from dualgap.discrete.planes.cells import cheapest_cell

    upper, u = best
    if signs.dimension < 3 or not len(signs.rows):
        u, least = _flat(signs)
        yield Finding(u, signs.lost + least, 2, ending=HIDDEN)
        return
    sides, doubts = _sides(signs), HiddenCells(signs)
    count, step, at = len(signs.rows), 1, 0
    while at < count:
        began = time.perf_counter()
        last = min(at + step, count)
        goal = upper - signs.lost - signs.rounding
        found, entered, angle = cheapest_cell(sides, at, last, goal, doubts.empty())
        if entered[0] >= 0:
            upper, u = signs.lost + found, signs.clear(_inside(signs, entered, angle))
        doubts.take()
        at = last
        if at < count:
            yield Finding(u, floor, at)
        step = step * 2 if time.perf_counter() - began < PAUSE else max(step // 2, 1)
    if doubts.lost:
        for finding in Cover(signs, upper, u).findings():
            bound = max(floor, finding.bound)
            yield replace(finding, bound=bound, nodes=count + finding.nodes, ending=HIDDEN)
        return
    for more, least in enumerate(doubts.settled(upper - signs.lost)):
        yield Finding(u, max(floor, signs.lost + least), count + more, ending=HIDDEN)


def _sides(signs: Signs) -> Sides:
    from dualgap.discrete.planes.cells import Sides

    return Sides(signs.rows, signs.plus, signs.minus, signs.residues)


def _flat(signs: Signs) -> tuple[Vector, float]:
    """One or two dimensions: the direction, and a bound on what any costs."""
    from dualgap.discrete.planes.cells import cheapest_cell

    if signs.dimension == 1:
        side = signs.rows[:, 0]
        pairs = (signs.minus, signs.plus), (signs.plus, signs.minus)
        costs = [float(np.where(side > 0.0, *pair).sum()) for pair in pairs]
        return np.array([1.0 if costs[0] <= costs[1] else -1.0]), min(costs)
    doubts = HiddenCells(signs)
    cost, _, angle = cheapest_cell(_sides(signs), 0, 1, np.inf, doubts.empty())
    doubts.take()
    if signs.integers is not None and (doubts.lost or doubts.least < cost):
        cost = exact.sweep(signs.integers, signs.plus, signs.minus)
    return np.array([np.cos(angle), np.sin(angle)]), cost


def _inside(signs: Signs, entered: Index, angle: float) -> Vector:
    """A point of the cell: from the plane of the last facet outwards, to the cheaper side of each."""
    from dualgap.discrete.planes.cells import ROUNDING, project

    tables, blur = [signs.rows], ROUNDING
    for pick in entered:
        below = np.zeros((len(signs.rows), tables[-1].shape[1] - 1))
        blur = project(tables[-1], len(signs.rows), int(pick), blur, below)
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


# -- by subsets that cannot be right ------------------------------------------------------------------


PLENTY = 2e8  # work at which this is expected to beat the arrangement
SWEEP_SECONDS = 2e-8  # a unit of the arrangement's work (measured)
LONGEST = 120.0  # seconds of it that are worth beginning


@solver("hitting_set", kind="search")
@dataclass(frozen=True)
class HittingSet(PlaneSearch):
    """Exact for the zero_one loss in any dimension while the errors are few; a bound at any time.

    Where the arrangement would have been done by now it goes over to that.
    """

    def cost(self, problem: Problem) -> float:
        return PLENTY

    def planes(self, signs: Signs, start: Vector | None) -> Iterator[Finding]:
        best, u = good_plane(signs, start, 10)
        yield Finding(u, signs.lost, 1)
        if not len(signs.rows):
            return
        cover = Cover(signs, best, u)
        patience = SWEEP_SECONDS * sweep_work(len(signs.rows), signs.dimension)
        patience = patience if patience < LONGEST else np.inf
        began = time.perf_counter()
        for finding in cover.findings():
            yield finding
            if time.perf_counter() - began > patience:
                break
        else:
            return
        for finding in cells(signs, (cover.best, cover.u), cover.bound):
            yield replace(finding, bound=max(finding.bound, cover.bound))
