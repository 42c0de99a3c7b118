"""local_planes: a plane with few errors, from convex fits and exact searches along lines."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dualgap.arrays import Matrix, Vector
from dualgap.discrete.base import Finding
from dualgap.discrete.planes.plane_search import PlaneSearch
from dualgap.discrete.planes.sides import Signs, surrogates
from dualgap.drive.registry import solver

AFFORDABLE, FEWEST = 500_000, 20  # rows times lines of one search, and lines of it in any case
KICK = 0.3  # length of a random step away from the best plane, whose normal has length one
NOT_PROVEN = "A plane with few errors, not proven to have the fewest; hitting_set and arrangement can prove."


def good_plane(signs: Signs, start: Vector | None, rounds: int) -> tuple[float, Vector]:
    """The best of the surrogate fits, polished along coordinates, rows and random lines."""
    from dualgap.discrete.planes.line_walk import wander

    if not len(signs.rows):
        return signs.lost, np.ones(signs.dimension)
    starts = surrogates(signs)
    if start is not None:
        starts.append(signs.coordinates.coordinates(start))
    rng = np.random.default_rng(0)
    sides = signs.rows, signs.plus, signs.minus
    found = []
    for u in starts:
        if np.any(u != 0.0):
            found.append(wander(*sides, u, _lines(signs, rng, 1)))
    if not found:
        found.append(wander(*sides, np.ones(signs.dimension), _lines(signs, rng, 1)))
    found.sort(key=lambda pair: pair[0])
    best = found[0]
    for _, u in found[:2]:
        best = min(best, wander(*sides, u, _lines(signs, rng, rounds)), key=lambda pair: pair[0])
    for _ in range(rounds):
        kicked = best[1] + KICK * rng.standard_normal(signs.dimension) / np.sqrt(signs.dimension)
        best = min(best, wander(*sides, kicked, _lines(signs, rng, 2)), key=lambda pair: pair[0])
    u = signs.clear(best[1])
    return signs.cost(u), u


def _lines(signs: Signs, rng: np.random.Generator, rounds: int) -> Matrix:
    """Axes, random directions and random rows; fewer where there are many rows to sort along each."""
    q, n = signs.dimension, len(signs.rows)
    parts = []
    for _ in range(rounds):
        some = rng.choice(n, size=min(n, 4 * q), replace=False)
        parts += [np.eye(q), rng.standard_normal((4 * q, q)), signs.rows[some]]
    lines = np.vstack(parts)
    most = max(FEWEST, AFFORDABLE // n)
    if len(lines) > most:
        lines = lines[rng.choice(len(lines), size=most, replace=False)]
    return np.ascontiguousarray(lines)


@solver("local_planes", kind="search", manual=True)
@dataclass(frozen=True)
class LocalPlanes(PlaneSearch):
    """Logistic and squared hinge fits, then the exact best point of line after line. Proves nothing."""

    rounds: int = 20
    name: ClassVar[str] = "local_planes"

    def planes(self, signs: Signs, start: Vector | None) -> Iterator[Finding]:
        _, u = good_plane(signs, start, self.rounds)
        yield Finding(u, signs.lost, 1, ending=NOT_PROVEN)
