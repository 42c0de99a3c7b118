"""hitting_set: the fewest errors of any plane, from sets of rows that cannot all be right."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from dualgap.arrays import Vector
from dualgap.discrete.base import Finding
from dualgap.discrete.planes.arrangement import cells, sweep_work
from dualgap.discrete.planes.cover import Cover
from dualgap.discrete.planes.plane_search import PlaneSearch, good_plane
from dualgap.discrete.planes.sides import Signs
from dualgap.drive.registry import solver
from dualgap.problem.problem import Problem

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
