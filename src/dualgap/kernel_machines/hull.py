"""Hard margin: the two points of the classes' convex hulls that are nearest to each other.

With d their difference the plane w = 2d/‖d‖² has the largest margin, ½‖d‖; where d = 0 the hulls meet and no
plane exists. Active set (Wolfe 1976; Lawson and Hanson 1974): an affine least-squares problem over the points
in use, those with negative weight let go, the worst violating point taken in.

The search rounds and proves nothing. `plane` gives planes that hold as real numbers; whether the hulls meet,
or how wide a margin can be at most, `proof.exact` says of the weights. `widest_plane` is the whole of it, as
the loop wants it: C = ∞ without a kernel.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from operator import mul
from typing import ClassVar

import numpy as np

from dualgap.arrays import Index, Matrix, Vector
from dualgap.drive.limits import Limits
from dualgap.drive.pursuit import Look, Pursuit
from dualgap.drive.registry import candidates, solver
from dualgap.drive.run import Outcome, run
from dualgap.problem.problem import Problem, relative_gap
from dualgap.proof.check import Checked
from dualgap.proof.exact import clears, whole
from dualgap.proof.margin import check_margin

MEET = 1e-15  # of the size of the points: a distance that is rounding
SURE = 1e-9  # relative gap at which the search may end
STEPS = 64  # per rounding: at 10 to 20 of them the rounding of b happens to be smaller than what w gained
TINY = 4  # steps of one digit before, which do where data and plane are round
LONGEST = 2**1000  # a plane that long has numbers beside the end of the floats


@dataclass(frozen=True, eq=False)
class Hulls:
    """Weights (Σ = 1 in each group), the difference d = Σ sign·weight·x, and the gap of its plane.

    `upper` and `lower` are the least and the greatest x·d in the two groups (the least and 0 with one group):
    `(upper − lower)/‖d‖` is a margin that is there, ‖d‖ one that cannot be beaten.
    """

    weights: Vector
    difference: Vector
    upper: float
    lower: float
    scale: float
    residual: float  # ‖d‖ as the weights give it, with their rounding

    @property
    def meet(self) -> bool:
        """Is the distance zero to rounding? No proof, but a reason to ask `exact.hulls_meet` for one."""
        return self.residual <= MEET * self.scale

    @property
    def relative_gap(self) -> float:
        """1 − margin found / margin possible."""
        square = float(self.difference @ self.difference)
        return 1.0 - (self.upper - self.lower) / square if square > 0 else np.inf


def nearing(X: Matrix, y: Vector, *, intercept: bool, factors: Vector | None = None) -> Iterator[Hulls]:
    """Points of the hulls of x with y = +1 and y = −1, nearer and nearer; without intercept of {y x} and 0.

    The last are the nearest. `factors`: the rows are x / factors, for planes of the least ‖factors ∘ w‖.
    """
    rows = _counted_from_a_row(X, intercept) / (1.0 if factors is None else factors)
    return _Search(rows, y, intercept).states(50 * sum(X.shape) + 1000)


def _counted_from_a_row(X: Matrix, intercept: bool) -> Matrix:
    """x less the row in the middle, which takes an offset away without rounding (Sterbenz 1974)."""
    if not intercept or not len(X):
        return X
    away = X - X.mean(axis=0)
    return np.asarray(X - X[int(np.argmin(np.linalg.norm(away, axis=1)))])


def plane(
    X: Matrix, y: Vector, hulls: Hulls, *, intercept: bool, factors: Vector | None = None
) -> tuple[Vector, float] | None:
    """(w, b) along the difference with y (x·w + b) ≥ 1 as real numbers; None where floats are too coarse.

    What the rounding of w and b takes from the margin is made up for by a w that is a little longer.
    """
    w = hulls.difference / (1.0 if factors is None else factors)
    w = w / (float(np.abs(w).max(initial=0.0)) or 1.0)
    high, low = _ends(X, y, w, intercept)
    if high - low <= Fraction(1, LONGEST):
        return None
    w = w * float(2 / (high - low))
    rounding = float((np.abs(_counted_from_a_row(X, intercept)) @ np.abs(w)).max())
    rounding = 2.0**-52 * (rounding + abs(float((high + low) / (high - low))))
    for step in range(TINY + 3 * STEPS):
        longer = w * (1.0 + 2.0**-52 * step + rounding * max(step - TINY, 0) / STEPS)
        high, low = _ends(X, y, longer, intercept)
        b = 0.0 - float((high + low) / 2)
        if min(high + Fraction(b), -low - Fraction(b)) >= 1 and clears(X, y, longer, b):
            return longer, b
    return None


def _ends(X: Matrix, y: Vector, w: Vector, intercept: bool) -> tuple[Fraction, Fraction]:
    """The least x·w where y > 0 and the greatest where y < 0; without intercept the least y x·w, mirrored."""
    if intercept:
        return _least(X[y > 0], w), -_least(X[y < 0], -w)
    high = _least(X * y[:, None], w)
    return high, -high


def _least(X: Matrix, w: Vector) -> Fraction:
    """The least x·w: floats say which rows may have it, rationals what it is."""
    with np.errstate(all="ignore"):
        along, room = X @ w, (len(w) + 4) * 2.0**-51 * (np.abs(X) @ np.abs(w))
        near = ~(along - room > (along + room).min())
    numbers, below = whole(w.tolist())
    rows = [whole(x) for x in X[near].tolist()]
    return min(Fraction(sum(map(mul, line, numbers)), unit * below) for line, unit in rows)


class _Search:
    def __init__(self, X: Matrix, y: Vector, intercept: bool) -> None:
        self.intercept = intercept
        self.signed = X * y[:, None]
        self.group = (y > 0).astype(int) if intercept else np.zeros(len(y), int)
        self.groups = 2 if intercept else 1
        self.scale = float(np.linalg.norm(self.signed, axis=1).max(initial=0.0)) or 1.0
        self.used = self._first()
        self.weights = np.zeros(len(y))
        self.weights[self.used] = 1.0

    def _first(self) -> list[int]:
        """In each group the point nearest to the other's mean."""
        chosen = []
        for g in range(self.groups):
            rows = np.flatnonzero(self.group == g)
            other = self.signed[self.group != g].mean(axis=0) if self.groups > 1 else 0.0
            chosen.append(int(rows[np.argmin(np.linalg.norm(self.signed[rows] + other, axis=1))]))
        return chosen

    def states(self, most: int) -> Iterator[Hulls]:
        """One after each step, the best so far."""
        best = here = self._state()
        idle, patience = 0, 2 * self.signed.shape[1] + 20
        for _ in range(most):
            yield best if best.upper > best.lower or best.residual <= here.residual else here
            if here.meet or best.relative_gap <= SURE or idle > patience:
                return
            entering = self._violator(here.difference)
            if entering is None:
                return
            self.used.append(entering)
            self._minimise()
            before, here = here, self._state()
            # the distance may have settled to all digits while the direction has not
            shorter = np.linalg.norm(here.difference) < np.linalg.norm(before.difference) * (1 - 1e-14)
            better = here.relative_gap < best.relative_gap
            idle = 0 if shorter or better else idle + 1
            best = here if better or here.meet else best

    def _state(self) -> Hulls:
        raw = self.weights[self.used] @ self.signed[self.used]
        d = self._purified(raw)
        along = self.signed @ d
        lows = [float(along[self.group == g].min()) for g in range(self.groups)]
        # signed rows of the second group are −x: its least −x·d is minus the greatest x·d
        upper, lower = (lows[1], -lows[0]) if self.intercept else (lows[0], 0.0)
        return Hulls(self.weights.copy(), d, upper, lower, self.scale, float(np.linalg.norm(raw)))

    def _violator(self, d: Vector) -> int | None:
        """The point that reaches furthest towards the other side, beyond the points in use."""
        along = self.signed @ d
        worst, found = 0.0, None
        for g in range(self.groups):
            rows = np.flatnonzero(self.group == g)
            level = float(self.weights[rows] @ along[rows])
            lowest = int(rows[np.argmin(along[rows])])
            if level - along[lowest] > worst and lowest not in self.used:
                worst, found = level - float(along[lowest]), lowest
        return found

    def _minimise(self) -> None:
        """The least ‖d‖ over the points in use, weights kept non-negative."""
        for _ in range(len(self.used) + 5):
            ahead = self._affine(np.array(self.used))
            here = self.weights[self.used]
            falling = ahead < 0.0
            if not falling.any():
                self._set(np.maximum(ahead, 0.0))
                return
            ratio = here[falling] / np.maximum(here[falling] - ahead[falling], 1e-300)
            step = float(ratio.min())
            mixed = here + step * (ahead - here)
            mixed[np.flatnonzero(falling)[int(np.argmin(ratio))]] = 0.0
            self._set(np.maximum(mixed, 0.0))

    def _set(self, values: Vector) -> None:
        self.weights[:] = 0.0
        groups = self.group[self.used]
        for g in range(self.groups):
            values[groups == g] /= values[groups == g].sum()
        self.weights[self.used] = values
        self.used = [i for i, value in zip(self.used, values, strict=True) if value > 0.0]

    def _affine(self, used: Index) -> Vector:
        """Weights with Σ = 1 in each group and the least ‖Σ weight · signed‖, negative ones allowed."""
        groups = self.group[used]
        anchors, others, D = self._edges(used)
        base = self.signed[used[anchors]].sum(axis=0)
        weights = np.zeros(len(used))
        if len(others):
            solved = np.linalg.lstsq(D, -base, rcond=1e-14)[0]
            solved += np.linalg.lstsq(D, -(base + D @ solved), rcond=1e-14)[0]
            weights[others] = solved
        for g, anchor in enumerate(anchors):
            weights[anchor] = 1.0 - float(weights[groups == g].sum())
        return weights

    def _edges(self, used: Index) -> tuple[list[int], Index, Matrix]:
        """A point of each group, the other points, and what these differ by from the point of their group."""
        groups = self.group[used]
        anchors = [int(np.flatnonzero(groups == g)[0]) for g in range(self.groups)]
        others = np.array([k for k in range(len(used)) if k not in anchors], dtype=np.intp)
        origin = self.signed[used[np.array(anchors)[groups[others]]]]
        return anchors, others, (self.signed[used[others]] - origin).T

    def _purified(self, d: Vector) -> Vector:
        """d without the rounding along the edges in use, to which it is orthogonal and beside which tiny."""
        _, others, D = self._edges(np.array(self.used))
        if len(others):
            for _ in range(2):
                d = d - D @ np.linalg.lstsq(D, d, rcond=1e-14)[0]
        return d


def rounded_up(value: float) -> str:
    """Two digits that are no less than the number."""
    if not 0.0 < value < np.inf:
        return f"{value:g}"
    shown = f"{value:.1e}"
    return shown if float(shown) >= value else f"{value + 0.05 * 10.0 ** np.floor(np.log10(value)):.1e}"


@dataclass(frozen=True, eq=False)
class PlaneProblem:
    """The least ‖factors ∘ w‖ with y (x·w + b) ≥ 1 in every row."""

    asked: Problem
    factors: Vector

    kind: ClassVar[str] = "margin"

    @cached_property
    def X(self) -> Matrix:
        """The rows, without the ones."""
        table = self.asked.design.toarray()
        return table[:, :-1] if self.intercept else table

    @property
    def y(self) -> Vector:
        """±1."""
        return self.asked.y

    @property
    def intercept(self) -> bool:
        """May the plane miss the origin?"""
        return self.asked.intercept


@solver("nearest_points", kind="margin")
class NearestPoints:
    """An active set of rows whose hulls come nearer and nearer (Wolfe, 1976)."""

    def missing(self, problem: PlaneProblem) -> tuple[str, ...]:
        return ()

    def cost(self, problem: PlaneProblem) -> float:
        return float(problem.X.size * problem.X.shape[1])

    def iterates(self, problem: PlaneProblem, start: Hulls) -> Iterator[Hulls]:
        return nearing(problem.X, problem.y, intercept=problem.intercept, factors=problem.factors)


class PlanePursuit(Pursuit[PlaneProblem, Hulls]):
    """The nearest points so far. Whether their plane separates is decided exactly, at the end alone."""

    def __init__(self, problem: PlaneProblem, tolerance: float) -> None:
        self.problem, self.tolerance = problem, tolerance
        self.hulls: Hulls | None = None
        self._judged: tuple[Hulls, Checked] | None = None

    @property
    def _kept(self) -> Hulls:
        assert self.hulls is not None
        return self.hulls

    @property
    def empty(self) -> bool:
        return self.hulls is None or not self.hulls.upper > self.hulls.lower

    def origin(self, most: int | None) -> Hulls:
        """That the search finds for itself."""
        nothing = np.zeros(0)
        return Hulls(nothing, nothing, 0.0, 0.0, 1.0, 0.0)

    def take(self, iterate: Hulls, *, watched: bool) -> Look | None:
        self.hulls = iterate
        square = float(iterate.difference @ iterate.difference)
        unit, width = 4.0 if self.problem.intercept else 1.0, iterate.upper - iterate.lower
        value = unit * square / width**2 if width > 0.0 else np.inf
        return Look(value, value, unit / square if square > 0.0 else 0.0, nonzero=len(iterate.difference))

    def proven(self) -> Checked | None:
        if self._kept.relative_gap > SURE:
            return None
        found = self.settled()
        return found if self.relative(found.gap, found.primal) <= self.tolerance else None

    def settled(self) -> Checked:
        """What the kernel says of the plane, whose objective is ∞ where it does not separate."""
        hulls, problem = self._kept, self.problem
        if self._judged is None or self._judged[0] is not hulls:
            tied, factors = problem.intercept, problem.factors
            # hulls that meet to rounding may not meet
            found = plane(problem.X, problem.y, hulls, intercept=tied, factors=factors)
            w = np.zeros(problem.asked.p)
            if found is not None:
                w = np.append(found[0], found[1]) if tied else found[0]
            theta = problem.y * hulls.weights * _stretch(hulls, tied)
            self._judged = hulls, check_margin(problem.asked, w, theta, self.tolerance)
        return self._judged[1]

    def relative(self, gap: float, objective: float) -> float:
        return relative_gap(gap, objective, 0.0)

    def nonzero(self, w: Vector) -> int | None:
        return len(self._kept.difference)

    def weights(self) -> Vector:
        w = self._kept.difference / self.problem.factors
        return np.append(w, 0.0) if self.problem.intercept else w


def _stretch(hulls: Hulls, intercept: bool) -> float:
    """α = t·weights at the best t of Σα − ¼‖Σ α y x‖²."""
    square = float(hulls.difference @ hulls.difference)
    return (4.0 if intercept else 2.0) / square if square > 0.0 else 0.0


def widest_plane(problem: PlaneProblem, limits: Limits) -> tuple[Outcome, Hulls]:
    """The plane, with an objective of ∞ where none was found, and the points that tell why."""
    pursuit = PlanePursuit(problem, limits.tolerance)
    outcome = run(pursuit, lambda: candidates(problem, "auto"), None, limits)
    assert pursuit.hulls is not None
    return outcome, pursuit.hulls
