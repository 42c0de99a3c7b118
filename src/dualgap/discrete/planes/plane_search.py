"""What the searches for the zero_one loss share: what penalties do to it, and how planes become weights."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from dualgap.arrays import Index, Mask, Matrix, Vector
from dualgap.discrete.base import Finding, unmet
from dualgap.discrete.planes.sides import Signs, statements, surrogates
from dualgap.discrete.subset.selection import chooses_columns
from dualgap.drive.registry import solver
from dualgap.penalties.forms import unregularised
from dualgap.problem.problem import Problem
from dualgap.proof.statement import SMALL
from dualgap.traits import Trait

NO_ERRORS = "the loss does not count errors"
NOT_ATTAINED = (
    "The infimum is not attained: shrinking all weights together leaves the errors as they are and takes the "
    "penalty to zero; these weights are shrunk until it is nothing."
)


def counts_errors(problem: Problem) -> bool:
    """Is the loss a step, of which no slope tells anything?"""
    traits = problem.loss.traits
    return Trait.CLASSIFICATION in traits and not traits & (Trait.CONVEX | Trait.SMOOTH)


@dataclass(frozen=True)
class PlaneSearch:
    """The sides do not change when the weights are scaled, so a penalty that does can be made as small as
    wished, and a ball of any radius above zero forbids nothing: the problem is the one without a penalty.
    """

    seconds: float | None = 60.0
    name: ClassVar[str]

    def missing(self, problem: Problem) -> tuple[str, ...]:
        plain = not chooses_columns(problem)
        return unmet((counts_errors(problem), NO_ERRORS), (plain, "the penalty counts columns"))

    def cost(self, problem: Problem) -> float:
        return float(problem.n * problem.p)

    def planes(self, signs: Signs, start: Vector | None) -> Iterator[Finding]:
        """Findings for the problem without a penalty, in the coordinates of `signs`."""
        raise NotImplementedError

    def iterates(self, problem: Problem, start: Finding) -> Iterator[Finding]:
        bare, keep = _unpenalised(problem)
        for stated in statements(bare):
            for finding in self.planes(stated, None if start.w is None else start.w[keep]):
                bound = stated.below(finding.bound) if stated.integers is not None else -np.inf
                if finding.w is None:
                    yield replace(finding, bound=bound)
                    continue
                w = np.zeros(problem.p)
                w[keep] = stated.weights(finding.w)
                small = scaled(problem, w, start.wanted)
                shrunk = not problem.regulariser.constrained and small is not w
                yield replace(finding, w=small, bound=bound, remark=NOT_ATTAINED if shrunk else "")


def _unpenalised(problem: Problem) -> tuple[Problem, Mask]:
    """The problem without its penalty, on the columns that may have a weight at all."""
    keep = np.ones(problem.p, dtype=bool)
    if problem.regulariser.constrained and problem.regulariser.radius == 0.0:
        keep = problem.free
    return on_columns(problem, keep), keep


def on_columns(problem: Problem, live: Index | Mask) -> Problem:
    """The problem on some columns, the ones of an intercept among them, without a penalty."""
    design = problem.design.columns(live)
    return replace(problem, design=design, regulariser=unregularised(design.shape[1]))


def scaled(problem: Problem, w: Vector, tolerance: float) -> Vector:
    """The same plane with weights so small that the penalty is nothing, or inside its ball."""
    regulariser = problem.regulariser
    if problem.free.all() or not np.any(w[~problem.free]):
        return w
    if not regulariser.constrained:
        allowed = 1e-3 * max(tolerance, 1e-9) * max(problem.risk(problem.design.matvec(w)), SMALL)
        target = allowed / regulariser.strength
    else:
        target = regulariser.radius
    size = 1.0
    while regulariser.gauge.value(size * w) > target and size > 1e-290:
        size *= 0.5
    return size * w


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

    def planes(self, signs: Signs, start: Vector | None) -> Iterator[Finding]:
        _, u = good_plane(signs, start, self.rounds)
        yield Finding(u, signs.lost, 1, ending=NOT_PROVEN)
