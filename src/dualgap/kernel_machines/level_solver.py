"""ν-machines solved: blocks of pairs within each side, then the active set, each side's sum held."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Generator, Iterator

import numpy as np

from dualgap.arrays import Index, Mask, Matrix, Vector
from dualgap.drive.limits import Limits
from dualgap.drive.registry import candidates, solver
from dualgap.drive.run import Outcome, run
from dualgap.kernel_machines.block import Blocks
from dualgap.kernel_machines.box import Box
from dualgap.kernel_machines.finish import EDGE, JITTER, MOST_FREE, SLACK, FreeGuess, merged, refining
from dualgap.kernel_machines.levels import LevelProblem, LevelProposal, LevelPursuit
from dualgap.kernel_machines.pairs import grouped_steps
from dualgap.linalg.cholesky import cholesky

STEPS = 60  # from the middle of the box to rounding takes 15 to 30
SHORT = 0.995  # of the way to the nearest bound: the usual
CLOSED = 1e-14  # complementarity beside where it began: no digits are left
FIRST = 1e-3  # of the width: the first point is so far from its bounds

Step = Callable[[Vector, Vector], tuple[Vector, Vector]]


def inside_steps(K: Matrix, box: Box, group: Index, totals: Vector) -> Iterator[Vector]:
    """Variables strictly inside their box, nearer and nearer to the best, by Mehrotra's steps.

    Interior point for ½βᵀKβ − Σ kink β, each side keeping its sum. With v the variables, S adding up those of
    a row and D = z/(v − low) + z'/(high − v), a step asks for (D + SᵀKS) dv = right. For W = (S D⁻¹ Sᵀ)⁻¹, a
    diagonal, (K + W) S dv = W S D⁻¹ right.
    """
    sides = (group[None, :] == np.arange(len(totals))[:, None]).astype(np.float64)
    width, full = box.high - box.low, np.where(totals[group] > 0.0, box.high, box.low)
    share = totals / np.bincount(group, full, len(totals))
    v = np.clip(share[group] * full, box.low + FIRST * width, box.high - FIRST * width)
    lift = float(np.abs(box.slope(v, K @ box.joined(v))).max(initial=0.0)) + 1e-300
    low, high, y = np.full(len(v), lift), np.full(len(v), lift), np.zeros(len(totals))
    first = np.inf
    for _ in range(STEPS):
        below, above = v - box.low, box.high - v
        rest = box.slope(v, K @ box.joined(v)) + y @ sides + low - high
        gap = float(low @ below + high @ above) / (2 * len(v))
        first = min(first, gap) if first == np.inf else first
        if not CLOSED * first < gap < np.inf:
            return
        solve, short = _system(K, box, low / below + high / above, sides), totals - sides @ v
        aims = np.zeros(len(v)), np.zeros(len(v))  # of low·below and of high·above
        for last in (False, True):
            dv, dy = solve(rest - low + aims[0] / below + high - aims[1] / above, short)
            dl, dh = (aims[0] - low * dv) / below - low, (aims[1] + high * dv) / above - high
            t = min(_room(below, dv), _room(above, -dv), _room(low, dl), _room(high, dh), 1.0)
            if not last:
                ahead = float((low + t * dl) @ (below + t * dv) + (high + t * dh) @ (above - t * dv))
                centre = gap * (ahead / (2 * len(v)) / gap) ** 3
                aims = centre - dl * dv, centre + dh * dv
        t = min(SHORT * t, 1.0)
        v, y, low, high = v + t * dv, y + t * dy, low + t * dl, high + t * dh
        if not np.all(np.isfinite(v)):
            return
        yield v.copy()


def _room(value: Vector, step: Vector) -> float:
    """How far along the step the values stay positive."""
    falls = step < 0.0
    return float(np.min(-value[falls] / step[falls], initial=np.inf))


def _system(K: Matrix, box: Box, D: Vector, sides: Matrix) -> Step:
    """(right, short) ↦ dv, dy with (D + SᵀKS) dv − sidesᵀdy = right and sides dv = short."""
    inverse = 1.0 / D
    W = 1.0 / inverse.reshape(box.terms, box.n).sum(axis=0)
    A = K.copy()
    A[np.diag_indices(len(A))] += W
    factor = cholesky(A)

    def plain(right: Vector) -> Vector:
        found = np.zeros(len(right))
        for _ in range(2):  # the second takes the rounding of the first away
            left = right - D * found - np.tile(K @ box.joined(found), box.terms)
            mean = box.joined(inverse * left)
            found = found + inverse * (left - np.tile(W * (mean - factor(W * mean)), box.terms))
        return found

    across = np.array([plain(side) for side in sides])
    small = sides @ across.T

    def step(right: Vector, short: Vector) -> tuple[Vector, Vector]:
        base = plain(right)
        dy = np.linalg.solve(small, short - sides @ base)
        return base + dy @ across, dy

    return step


STAGES = (1.0, 1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-8)  # violation at which blocks pause, in units
CRUDE = 3e-2  # above it the active set guessed for long: at 0.1, 2000 rows took 25 guesses and none stood
LARGEST = 2000  # rows up to which K is factorised
NEAR = (1e-6, 1e-4, 1e-2)  # of the box: variables this near to a bound are guessed to lie on it
GUESSES = 6  # near the answer two or three were seen to do; further off, blocks are cheaper than guesses


def solve_levels(problem: LevelProblem, limits: Limits) -> Outcome:
    """The problem solved until the gap is proven, a limit is met, or nothing moves."""
    pursuit = LevelPursuit(problem, limits.tolerance)
    return run(pursuit, lambda: candidates(problem, "auto"), None, limits)


@solver("level_decomposition", kind="kernel levels")
class LevelDecomposition:
    """Blocks until the violation is small, then the active set."""

    def missing(self, problem: LevelProblem) -> tuple[str, ...]:
        return ()

    def cost(self, problem: LevelProblem) -> float:
        return float(problem.n**2)

    def iterates(self, problem: LevelProblem, start: LevelProposal) -> Iterator[LevelProposal]:
        box = problem.box
        blocks = TiedBlocks(problem, start.parts.copy())
        unit = box.unit
        for stage in STAGES:
            before = blocks.parts.copy()
            for _ in blocks.run(stage * unit):
                yield LevelProposal("block", blocks.parts, certify=False)
            if stage < STAGES[0] and np.array_equal(before, blocks.parts):
                continue
            blocks.parts = problem.kept(blocks.parts)
            blocks.f = problem.gram.product(box.joined(blocks.parts))
            unit = float(np.std(problem.c - blocks.f)) or unit  # the first point says little of the last
            if stage > CRUDE:
                continue
            yield LevelProposal("block", blocks.parts.copy(), blocks.f)
            with contextlib.suppress(np.linalg.LinAlgError):
                yield from filter(None, TiedSet(problem, blocks.parts, blocks.f).run())


@solver("level_interior_point", kind="kernel levels")
class LevelInteriorPoint:
    """Few steps whatever the conditioning, each a factorisation of K; the active set from where it ends."""

    def missing(self, problem: LevelProblem) -> tuple[str, ...]:
        few = problem.n <= LARGEST
        return () if few else (f"{problem.n} rows are more than {LARGEST}: K is not factorised",)

    def cost(self, problem: LevelProblem) -> float:
        """Others go first."""
        return 9.0 * LARGEST * problem.n**2

    def iterates(self, problem: LevelProblem, start: LevelProposal) -> Iterator[LevelProposal]:
        parts = start.parts
        with contextlib.suppress(np.linalg.LinAlgError):
            for parts in inside_steps(problem.gram.whole, problem.box, problem.group, problem.totals):
                yield LevelProposal("interior_point", parts)
        for near in NEAR:
            snapped = problem.kept(problem.box.snapped(parts, near))
            image = problem.gram.product(problem.box.joined(snapped))
            with contextlib.suppress(np.linalg.LinAlgError):
                yield from filter(None, TiedSet(problem, snapped, image).run())


class TiedBlocks(Blocks):
    """Blocks in which each side keeps its sum: slopes are counted from the middle of their side's."""

    def __init__(self, problem: LevelProblem, parts: Vector) -> None:
        f = problem.gram.product(problem.box.joined(parts))
        super().__init__(problem.box, problem.gram.quick, True, parts, f)
        self.group, self.groups = problem.group, len(problem.totals)

    def _slope(self) -> Vector:
        slope = self.box.slope(self.parts, self.f)
        for side in range(self.groups):
            own = self.group == side
            top = np.max(slope, where=own & (self.parts < self.box.high), initial=-np.inf)
            bottom = np.min(slope, where=own & (self.parts > self.box.low), initial=np.inf)
            middle = 0.5 * (top + bottom)
            slope[own] -= middle if np.isfinite(middle) else max(top, -np.inf if bottom == np.inf else bottom)
        return slope

    def _steps(self, Q: Matrix, beta: Vector, slope: Vector, until: float, most: int) -> None:
        box, chosen = self.box, self._set
        limits = box.low[chosen], box.high[chosen]
        grouped_steps(Q, limits, self.group[chosen], self.groups, beta, slope, until, most)


class TiedSet(FreeGuess):
    """The active set in double precision; every side has a level of its own."""

    most = GUESSES

    def __init__(self, problem: LevelProblem, parts: Vector, f: Vector) -> None:
        super().__init__(problem.box, parts)
        self.problem, self.gram, self.group = problem, problem.gram, problem.group
        self._held, self._held_f = problem.box.joined(parts), f.copy()

    def _tried(self) -> Generator[None, None, bytes | None]:
        yield from ()
        box, free = self.box, np.flatnonzero(self.free)
        rows = box.row[free]
        if len(free) > MOST_FREE or len(np.unique(rows)) < len(rows):
            return None
        held = box.joined(np.where(self.free, 0.0, self.parts))
        moved = held - self._held
        if moved.any():
            self._held_f += self.gram.product(moved)
        self._held, held_f = held, self._held_f
        left = self.problem.totals - np.bincount(
            self.group, np.where(self.free, 0.0, self.parts), len(self.problem.totals)
        )
        f = held_f
        if len(free):
            right = box.kink[free] - held_f[rows]
            self.parts[free] = tied_solution(self.gram.square(rows), right, self.group[free], left)
            f = held_f + self.gram.combine(*merged(rows, self.parts[free]))
        self._found = LevelProposal("active_set", self.parts.copy(), f)
        slope = box.slope(self.parts, f)
        edge = EDGE * max(box.unit, 1e-300)
        return self._correct(slope - self._levels(slope)[self.group], SLACK, edge)

    def _levels(self, slope: Vector) -> Vector:
        """Of each side: the slope of what is free there, or between what the held variables ask for."""
        found = np.zeros(len(self.problem.totals))
        for side in range(len(found)):
            own = self.group == side
            if (own & self.free).any():
                found[side] = float(slope[own & self.free].mean())
                continue
            top = np.max(slope, where=own & (self.parts < self.box.high), initial=-np.inf)
            bottom = np.min(slope, where=own & (self.parts > self.box.low), initial=np.inf)
            both = np.isfinite(top) and np.isfinite(bottom)
            found[side] = 0.5 * (top + bottom) if both else (top if np.isfinite(top) else bottom)
        return found

    def _let_go(self, eager: Mask, pull: Vector) -> Mask:
        """The worst pair alone in a side where nothing is free."""
        found = eager.copy()
        for side in range(len(self.problem.totals)):
            own = self.group == side
            if not (own & self.free).any() and (eager & own).any():
                found &= ~own
                up = np.where(own & (self.parts < self.box.high), pull, -np.inf)
                down = np.where(own & (self.parts > self.box.low), pull, np.inf)
                found[[int(np.argmax(up)), int(np.argmin(down))]] = True
        return found

    def _answer(self) -> LevelProposal:
        return self._found


def tied_solution(A: Matrix, right: Vector, group: Index, totals: Vector) -> Vector:
    """β with Aβ + level = right, a level a group, and Σβ = total in each group that has a variable.

    Differences to a group's last variable take the levels out, as in `finish.py` for one group.
    """
    size = len(A)
    last = np.zeros(size, dtype=np.intp)
    for side in np.unique(group):
        last[group == side] = np.flatnonzero(group == side)[-1]
    ends = np.unique(last)
    rest = np.setdiff1d(np.arange(size), ends)
    base = np.zeros(size)
    base[ends] = totals[group[ends]]
    side = right - A @ base
    if not len(rest):
        return base
    tails = last[rest]
    reduced = (
        A[np.ix_(rest, rest)] - A[np.ix_(tails, rest)] - A[np.ix_(rest, tails)] + A[np.ix_(tails, tails)]
    )
    found = refining(reduced, JITTER)(side[rest] - side[tails])
    beta = base.copy()
    beta[rest] += found
    beta[ends] -= np.bincount(np.searchsorted(ends, tails), found, len(ends))
    return np.asarray(beta)
