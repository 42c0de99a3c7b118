"""The minimum of a programme in rational arithmetic: Newton steps on the face of the kinks that are held.

On a face the objective is a parabola until some φ changes its part; the step to its minimum is cut short at
the kinks where it stops to fall. At the minimum of a face the held kinks have unique multipliers: all inside
their subdifferentials is a proof of optimality in exact arithmetic; one outside tells which kink to let go.
"""

from __future__ import annotations

import bisect
import random
import time
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from exact.arithmetic import Echelon, common, dot, solve_semidefinite
from exact.programme import Programme, Row

NEAR = 1e-7  # a row this close to a kink, beside its terms, starts on it
SECONDS = 0.5  # of a walk: numbers that differ by hundreds of powers of ten make long fractions
PATIENCE = 40  # steps after which ties are broken at random


@dataclass(frozen=True, eq=False)
class Found:
    """The best point; `optimal` where its optimality is proven."""

    u: list[Fraction]
    value: Fraction
    optimal: bool
    steps: int


class Walk:
    """Where the method stands: u = U/D, v = r·u, and the kinks that are held."""

    def __init__(self, programme: Programme, u: Sequence[Fraction], held: dict[int, int]) -> None:
        self.programme = programme
        self.rows = programme.rows
        self.held = dict(held)  # row -> number of its breakpoint
        self.side: dict[int, int] = {}
        self.random = random.Random(1)
        self.move(u)

    def move(self, u: Sequence[Fraction]) -> None:
        """Go there."""
        self.U, self.D = common(u)
        self.V = [dot(row.r, self.U) for row in self.rows]

    @property
    def u(self) -> list[Fraction]:
        """Where it stands."""
        return [Fraction(value, self.D) for value in self.U]

    def part(self, i: int, side: int | None = None) -> int:
        """The part that holds at row i; at a breakpoint the one on that side."""
        row, V = self.rows[i], self.V[i]
        if not row.breaks:
            return 0
        place = sum(t * self.D < V for t in row.breaks)
        if place < len(row.breaks) and row.breaks[place] * self.D == V:
            asked = self.side.get(i, 1) if side is None else side
            ahead = place + 1 if asked > 0 else place
            return ahead if row.parts[ahead] is not None or side is not None else 2 * place + 1 - ahead
        return place

    def at_kink(self, i: int) -> int | None:
        """The number of the kink where row i stands."""
        row = self.rows[i]
        for place, t in enumerate(row.breaks):
            if row.kinks[place] and self.V[i] == t * self.D:
                return place
        return None

    def feasible(self) -> bool:
        """Is every φ finite?"""
        return all(self.rows[i].parts[self.part(i)] is not None for i in range(len(self.rows)))

    def gradient(self) -> list[int]:
        """D·Σ φ′ r over the rows that are not held."""
        g = [0] * self.programme.width
        for i, row in enumerate(self.rows):
            if i not in self.held:
                slope = row.slope(self.part(i), self.V[i], self.D)
                if slope:
                    for j, x in enumerate(row.r):
                        if x:
                            g[j] += slope * x
        return g

    def equations(self) -> Echelon:
        """The held kinks as equations; those that depend on others are let go."""
        system = Echelon(self.programme.width)
        for i, place in list(self.held.items()):
            if not system.offer(self.rows[i].r, self.rows[i].breaks[place], i):
                del self.held[i]
        return system

    def step(self) -> bool:
        """One move, or one change of the held kinks; False where the point is optimal."""
        system = self.equations()
        basis = system.null_basis()
        g = self.gradient()
        right = [-dot(z, g) for z in basis]
        if not any(right):
            return self._release(g)
        q, _ = solve_semidefinite(self._curvature(basis), right)
        whole, _ = common(q)
        direction = [sum(k * z[j] for k, z in zip(whole, basis, strict=True)) for j in range(len(g))]
        self._search(direction)
        return True

    def _curvature(self, basis: list[list[int]]) -> list[list[int]]:
        size = len(basis)
        H = [[0] * size for _ in range(size)]
        for i, row in enumerate(self.rows):
            if i in self.held:
                continue
            part = row.parts[self.part(i)]
            assert part is not None
            if not part[0]:
                continue
            along = [dot(row.r, z) for z in basis]
            for a in range(size):
                if along[a]:
                    weighted = part[0] * along[a]
                    for b in range(a, size):
                        H[a][b] += weighted * along[b]
        for a in range(size):
            for b in range(a):
                H[a][b] = H[b][a]
        return H

    def _release(self, g: list[int]) -> bool:
        """At the minimum of a face: let go a kink whose multiplier is outside its subdifferential."""
        outside: list[tuple[Any, int, int]] = []
        for i, multiplier in self._multipliers(g).items():
            left, right = self.rows[i].edges(self.held[i])
            if multiplier > right:
                outside.append((multiplier - right, i, 1))
            elif multiplier < left:
                outside.append((left - multiplier, i, -1))
        if not outside:
            return False
        _, i, side = max(outside) if self.patient else self.random.choice(outside)
        del self.held[i]
        self.side[i] = side
        return True

    patient = True

    def _multipliers(self, g: list[int]) -> dict[int, Fraction]:
        """μ with g/D + Σ μ r = 0 over the held rows."""
        names = list(self.held)
        if not names:
            return {}
        system = Echelon(len(names))
        for j in range(self.programme.width):
            system.offer([self.rows[i].r[j] for i in names], -g[j], j)
        found = system.completed([Fraction(0)] * len(names))
        return {i: value / self.D for i, value in zip(names, found, strict=True)}

    def _search(self, direction: list[int]) -> None:
        """The lowest point along a direction; where a kink stops the fall, it is held."""
        rates = [0 if i in self.held else dot(row.r, direction) for i, row in enumerate(self.rows)]
        slope, curve, blocked = self._at_start(rates)
        if slope >= 0:
            wrong = [i for i in blocked if rates[i] * self.side.get(i, 1) < 0] or blocked
            i = wrong[0] if self.patient else self.random.choice(wrong)
            place = self.at_kink(i)
            assert place is not None
            self.held[i] = place
            return
        t, stop, at = self._lowest(rates, slope, curve)
        moved = [Fraction(a, self.D) + t * k for a, k in zip(self.U, direction, strict=True)]
        self.side = {k: (1 if rate > 0 else -1) for k, rate in enumerate(rates) if rate}
        self.move(moved)
        if stop is not None:
            self.held[stop] = at

    def _at_start(self, rates: list[int]) -> tuple[Fraction | float, int, list[int]]:
        """One-sided slope and curvature along the direction, and the unheld kinks it leaves."""
        slope: Fraction | float = Fraction(0)
        curve, blocked = 0, []
        for i, rate in enumerate(rates):
            if not rate:
                continue
            part = self.part(i, 1 if rate > 0 else -1)
            held = self.rows[i].parts[part]
            if self.at_kink(i) is not None:
                blocked.append(i)
            if held is None:
                return float("inf"), 0, [i]
            slope += Fraction(self.rows[i].slope(part, self.V[i], self.D) * rate, self.D)
            curve += held[0] * rate * rate
        return slope, curve, blocked

    def _lowest(
        self, rates: list[int], slope: Fraction | float, curve: int
    ) -> tuple[Fraction, int | None, int]:
        """How far to go, and the row and kink that stop it."""
        events: list[tuple[Fraction, int, int]] = []
        for i, rate in enumerate(rates):
            if rate:
                events += self._crossings(i, rate)
        events.sort()
        now = Fraction(0)
        k = 0
        while True:
            ahead = events[k][0] if k < len(events) else None
            if curve:
                root = now - Fraction(slope) / curve
                if ahead is None or root <= ahead:
                    return root, None, 0
            if ahead is None:
                raise ArithmeticError("a programme that falls for ever")
            slope = slope + curve * (ahead - now)
            now = ahead
            while k < len(events) and events[k][0] == now:
                _, i, place = events[k]
                change = self._jump(self.rows[i], place, rates[i])
                if change is None or slope + change[0] >= 0:
                    if self.rows[i].kinks[place]:
                        return now, i, place
                    return now, None, 0
                slope, curve, k = slope + change[0], curve + change[1], k + 1

    def _crossings(self, i: int, rate: int) -> list[tuple[Fraction, int, int]]:
        row, V = self.rows[i], self.V[i]
        return [
            (Fraction(t * self.D - V, rate * self.D), i, place)
            for place, t in enumerate(row.breaks)
            if (t * self.D - V) * rate > 0
        ]

    @staticmethod
    def _jump(row: Row, place: int, rate: int) -> tuple[int, int] | None:
        """What passing a breakpoint adds to slope and curvature along the line; None: a wall."""
        before, after = row.parts[place], row.parts[place + 1]
        if rate < 0:
            before, after = after, before
        if after is None:
            return None
        assert before is not None
        t = row.breaks[place]
        slope = (after[0] - before[0]) * t + after[1] - before[1]
        return slope * rate, (after[0] - before[0]) * rate * rate


def start(programme: Programme, u: Sequence[Fraction], near: float = NEAR) -> Walk:
    """A walk from the floats' neighbourhood: rows that seem to be on a kink are put on it exactly."""
    system = Echelon(programme.width)
    close: list[tuple[float, int, int]] = []
    U, D = common(u)
    for i, row in enumerate(programme.rows):
        if not any(row.kinks):
            continue
        V = dot(row.r, U)
        size = sum(abs(x * v) for x, v in zip(row.r, U, strict=True)) + max(abs(t) for t in row.breaks) * D
        place = min(range(len(row.breaks)), key=lambda k: abs(V - row.breaks[k] * D))
        if row.kinks[place]:
            distance = float(Fraction(abs(V - row.breaks[place] * D), size)) if size else 0.0
            if distance <= near:
                bisect.insort(close, (distance, i, place))
    held = {}
    for _, i, place in close:
        if system.offer(programme.rows[i].r, programme.rows[i].breaks[place], i):
            held[i] = place
    walk = Walk(programme, system.completed(u), held)
    if walk.feasible():
        return walk
    return Walk(programme, u, {})


def minimise(programme: Programme, u: Sequence[Fraction], limit: int = 150) -> Found:
    """The minimum from a start where every φ is finite."""
    walk = start(programme, u)
    steps, optimal = 0, False
    began = time.process_time()
    while steps < limit and time.process_time() - began < SECONDS:
        steps += 1
        walk.patient = steps < PATIENCE
        if not walk.step():
            optimal = True
            break
    value = programme.value(walk.u)
    assert value is not None
    return Found(walk.u, value, optimal, steps)
