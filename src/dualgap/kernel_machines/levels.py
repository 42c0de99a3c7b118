"""ν-machines: λ βᵀKβ and two levels, as `proof/levels.py` states them; the sums of θ on each side are m."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from dualgap.arrays import Index, Mask, Vector
from dualgap.drive.limits import Status
from dualgap.drive.pursuit import End, Look, Pursuit
from dualgap.kernel_machines.box import Box
from dualgap.kernel_machines.problem import products_of
from dualgap.kernels import Gram
from dualgap.problem.problem import relative_gap
from dualgap.proof.check import Checked
from dualgap.proof.levels import LevelStatement, check_levels

PASSES = 4  # the first moves, the others take away what its rounding left
HOPE = 10.0  # times the tolerance: a gap that seems this small is looked at by the proof's kernel


@dataclass(frozen=True, eq=False)
class LevelProblem:
    """Rows above, rows below, and the mass that either side's θ adds up to; at the optimum β = θ/(2λ)."""

    gram: Gram
    c: Vector
    a: Vector
    upper: Mask
    lower: Mask
    mass: float
    lam: float

    kind = "kernel levels"

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.c)

    @cached_property
    def stated(self) -> LevelStatement:
        """The problem on K as given: what is proven is proven of this."""
        top = float(np.abs(self.gram.given_diagonal).max()) * (
            1.0 + 1e-12
        )  # rows differ from x·x by rounding
        products = products_of(self.gram)
        return LevelStatement(products, top, self.c, self.a, self.upper, self.lower, self.mass, self.lam)

    @cached_property
    def box(self) -> Box:
        """½βᵀKβ − Σ cβ: a variable per row and side."""
        reach, zero = self.a / (2.0 * self.lam), np.zeros(self.n)
        high, low = np.where(self.upper, reach, 0.0), np.where(self.lower, -reach, 0.0)
        if not self.stated.shared:
            box = Box(self.c, low, high, zero, np.arange(self.n), self.n, 1.0)
            spread = float(np.std(self.gram.product(self.first(box))))
            return replace(box, unit=spread if spread > 0.0 else 1.0)
        rows = np.tile(np.arange(self.n), 2)
        kink, none = np.tile(self.c, 2), np.zeros(2 * self.n)
        unit = float(np.std(self.c)) or max(float(np.abs(self.c).max()), 1.0)
        return Box(kink, np.append(zero, low), np.append(high, zero), none, rows, self.n, unit)

    @cached_property
    def group(self) -> Index:
        """The side of each variable: 0 above, 1 below."""
        if self.stated.shared:
            return np.repeat([0, 1], self.n)
        return np.where(self.lower, 1, 0)

    @property
    def totals(self) -> Vector:
        """What the variables of each side add up to."""
        total = self.mass / (2.0 * self.lam)
        return np.array([total, -total]) if self.lower.any() else np.array([total])

    def first(self, box: Box) -> Vector:
        """Variables that keep the sums: each side filled up row by row."""
        parts = np.zeros(len(box.kink))
        for side, wanted in enumerate(self.totals):
            rows = np.flatnonzero(self.group == side)
            room = np.where(wanted > 0.0, box.high[rows], -box.low[rows])
            left = np.clip(abs(wanted) - np.append(0.0, np.cumsum(room)[:-1]), 0.0, room)
            parts[rows] = np.sign(wanted) * left
        return parts

    def kept(self, parts: Vector) -> Vector:
        """Variables moved until they are in their box and add up: what rounding and single precision left."""
        found = np.clip(parts, self.box.low, self.box.high)
        for side, wanted in enumerate(self.totals):
            rows = np.flatnonzero(self.group == side)
            low, high, own = self.box.low[rows], self.box.high[rows], found[rows]
            for _ in range(PASSES):
                short = float(wanted - own.sum())
                room = (own - low) * (high - own) / np.maximum(high - low, 1e-300)  # what is free moves first
                if float(room.sum()) < 2.0 * abs(short):
                    room = high - own if short > 0.0 else own - low
                whole = float(room.sum())
                if whole <= 0.0 or short == 0.0:
                    break
                own = np.clip(own + min(abs(short) / whole, 1.0) * np.sign(short) * room, low, high)
            found[rows] = own
        return found

    def levels(self, e: Vector) -> Vector:
        """The best u and l beside e = c − Kβ: quantiles."""
        u = _level(e[self.upper], self.a[self.upper], self.mass)
        down = -_level(-e[self.lower], self.a[self.lower], self.mass) if self.lower.any() else 0.0
        return np.array([u, down])

    def risk(self, e: Vector, levels: Vector) -> float:
        """All but λβᵀKβ."""
        u, down = levels
        above = float(self.a[self.upper] @ np.maximum(e[self.upper] - u, 0.0)) + self.mass * float(u)
        if not self.lower.any():
            return above
        return (
            above
            + float(self.a[self.lower] @ np.maximum(down - e[self.lower], 0.0))
            - self.mass * float(down)
        )

    @cached_property
    def null(self) -> float:
        """The objective without f."""
        return self.risk(self.c, self.levels(self.c))


def _level(e: Vector, a: Vector, mass: float) -> float:
    """u that minimises Σ a (e − u)₊ + mass·u: the largest e weigh `mass`; the middle, where that is flat."""
    order = np.argsort(-e, kind="stable")
    above = np.cumsum(a[order])
    small = 1e-12 * float(above[-1])  # sums of weights that differ by this are equal
    k = min(int(np.searchsorted(above, mass - small)), len(order) - 1)
    if abs(above[k] - mass) <= small and k + 1 < len(order):
        return 0.5 * float(e[order[k]] + e[order[k + 1]])
    return float(e[order[k]])


@dataclass(frozen=True, eq=False)
class LevelProposal:
    """Variables to look at, which keep their sums, with f = Kβ where it is known; or only a pause."""

    name: str
    parts: Vector
    f: Vector | None = None
    certify: bool = True


class LevelPursuit(Pursuit[LevelProblem, LevelProposal]):
    """The best pair of points as it seems, and what the proof's kernel said of it."""

    def __init__(self, problem: LevelProblem, tolerance: float) -> None:
        self.problem, self.tolerance = problem, tolerance
        self.best: tuple[float, float, Vector, Vector] | None = None  # objective, bound, β, levels
        self._judged: tuple[Vector, Checked] | None = None
        self._passed: Vector | None = None

    @property
    def empty(self) -> bool:
        return self.best is None

    def starts(self, start: LevelProposal | None) -> Iterator[LevelProposal]:
        yield LevelProposal("null", self.problem.first(self.problem.box))

    def origin(self, most: int | None) -> LevelProposal:
        return LevelProposal("", self.problem.first(self.problem.box))

    def take(self, iterate: LevelProposal, *, watched: bool) -> Look | None:
        """A look costs a product with K, so that a pause is none even if somebody waits."""
        self._passed = None if iterate.certify else iterate.parts
        if not iterate.certify or not np.all(np.isfinite(iterate.parts)):
            return None
        problem = self.problem
        beta = problem.box.joined(problem.kept(iterate.parts))
        f = problem.gram.product(beta)
        levels, square = problem.levels(problem.c - f), max(float(beta @ f), 0.0)
        objective = problem.risk(problem.c - f, levels) + problem.lam * square
        bound = 2.0 * problem.lam * (float(problem.c @ beta) - 0.5 * square)
        if self.best is None or objective - bound < self.best[0] - self.best[1]:
            self.best = objective, bound, beta, levels
        nonzero = int(np.count_nonzero(beta))
        return Look(objective, self.best[0], self.best[1], nonzero=nonzero, solver=iterate.name)

    def proven(self) -> Checked | None:
        assert self.best is not None
        objective, bound, _, _ = self.best
        if self.relative(objective - bound, objective) > HOPE * self.tolerance:
            return None
        found = self._checked()
        return found if self.relative(found.gap, found.primal) <= self.tolerance else None

    def settled(self) -> Checked:
        if self._passed is not None:
            self.take(LevelProposal("", self._passed), watched=True)
        return self._checked()

    def _checked(self) -> Checked:
        """What the kernel says of the best; the levels are those of K as given."""
        assert self.best is not None
        problem, beta, levels = self.problem, self.best[2], self.best[3]
        if self._judged is None or self._judged[0] is not beta:
            if problem.gram.moved:
                found = problem.stated.products.times(beta, exact=True)
                levels = problem.levels(problem.c - (found.value + found.low))
            theta = 2.0 * problem.lam * beta
            self._judged = beta, check_levels(problem.stated, beta, levels, theta, self.tolerance)
        return self._judged[1]

    def relative(self, gap: float, objective: float) -> float:
        return relative_gap(gap, objective, self.problem.null)

    def nonzero(self, w: Vector) -> int | None:
        return int(np.count_nonzero(w[:-2]))

    def weights(self) -> Vector:
        assert self.best is not None
        return np.concatenate([self.best[2], self.best[3]])

    def told(self, end: End) -> tuple[Status, str]:
        """A run without progress: are there digits left?"""
        if end.status is not Status.STALLED:
            return end.status, ""
        return end.status, (
            "The gap has stopped shrinking: rounding of the kernel leaves too few digits. Columns about zero "
            "or a looser tolerance would help."
        )
