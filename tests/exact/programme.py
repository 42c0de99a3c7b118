"""A statement in integers: Σ φ_i(r_i·u), each φ a convex function of one number made of parabolas.

Columns and targets are multiples of powers of two, so u_j = w_j·2^k makes every r an integer vector. Losses
are rows of the data, separable penalties are rows of the unit matrix; max|w| and budgets are written with
further coordinates and with φ that are infinite on one side. What has no such form (logistic and exponential
losses, round norms) is left out here and added by `newton`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import pairwise
from typing import Any

from exact.arithmetic import common, dot, low_bit, power_of_two, rational
from exact.statement import CLASSIFICATION, MEANS, TRANSCENDENTAL, Statement

Part = tuple[Fraction, Fraction, Fraction]  # c, s, k of ½ c v² + s v + k
IntPart = tuple[int, int, int]

NOTHING: Part = (Fraction(0), Fraction(0), Fraction(0))
DEGREE_TWO = ("squared", "huber", "squared_epsilon_insensitive", "squared_hinge")


@dataclass(frozen=True, eq=False)
class Row:
    """φ(r·u): breakpoints rise, parts[k] holds between breaks[k − 1] and breaks[k]; None is infinite."""

    r: tuple[int, ...]
    breaks: tuple[int, ...]
    parts: tuple[IntPart | None, ...]
    kinks: tuple[bool, ...]  # does the slope jump there?

    def slope(self, part: int, V: int, D: int) -> int:
        """φ′(V/D)·D on a part that is finite."""
        held = self.parts[part]
        assert held is not None
        return held[0] * V + held[1] * D

    def edges(self, place: int) -> tuple[float | int, float | int]:
        """The slopes left and right of a breakpoint."""
        t = self.breaks[place]
        left, right = self.parts[place], self.parts[place + 1]
        return (
            -math.inf if left is None else left[0] * t + left[1],
            math.inf if right is None else right[0] * t + right[1],
        )


@dataclass(frozen=True, eq=False)
class Programme:
    """The rows with the way from weights to coordinates: u_j = w_j·units[j], a class's intercept behind it.

    Further coordinates follow. The objective is `unit`·Σ φ. `lines` are the rows of the data, whether or not
    they have a φ here. `sized` has for each weight its coordinate, its factor, and scale·w over that.
    """

    rows: tuple[Row, ...]
    units: tuple[Fraction, ...]
    width: int
    unit: Fraction
    lines: tuple[tuple[int, ...], ...]
    height: Fraction  # z = height · (line·u)
    blocks: int
    sized: tuple[tuple[int, Fraction, Fraction], ...]
    lifts: tuple[tuple[int, ...], ...]  # for each further coordinate the rows that it must lie above
    ranks: tuple[int, ...]  # and above all but so many of them, where the others cost it nothing more

    def coordinates(self, w: Sequence[Fraction], b: Any) -> list[Fraction]:
        """u of some weights; further coordinates as small as the rows let them be."""
        given: list[Fraction] = []
        p = len(w) // self.blocks
        for k, level in enumerate(b if self.blocks > 1 else [b]):
            given += w[k * p : (k + 1) * p]
            if len(self.units) > len(w):
                given.append(level)
        return self.lifted([v * k for v, k in zip(given, self.units, strict=True)])

    def lifted(self, u: Sequence[Fraction]) -> list[Fraction]:
        """The same with the further coordinates put down anew."""
        found = list(u[: len(self.units)]) + [Fraction(0)] * (self.width - len(self.units))
        for extra, places in enumerate(self.lifts):
            at = len(self.units) + extra
            needs = []
            for place in places:
                row = self.rows[place]
                needs.append(
                    sum(x * v for x, v in zip(row.r, found, strict=True) if x) / Fraction(-row.r[at])
                )
            found[at] = sorted(needs, reverse=True)[self.ranks[extra]]
        return found

    def weights(self, u: Sequence[Fraction]) -> tuple[list[Fraction], Any]:
        """w and b at u."""
        found = [v / k for v, k in zip(u, self.units, strict=False)]
        each = len(self.units) // self.blocks
        p = len(self.sized) // self.blocks
        w = [v for k in range(self.blocks) for v in found[k * each : k * each + p]]
        b = [found[k * each + p] if each > p else Fraction(0) for k in range(self.blocks)]
        return w, (b if self.blocks > 1 else b[0])

    def value(self, u: Sequence[Fraction]) -> Fraction | None:
        """unit·Σ φ, None where it is infinite."""
        U, D = common(u)
        total = 0
        for row in self.rows:
            V = dot(row.r, U)
            place = sum(t * D < V for t in row.breaks)
            part = row.parts[place]
            if part is None and place < len(row.breaks) and row.breaks[place] * D == V:
                part = row.parts[place + 1]
            if part is None:
                return None
            total += (part[0] * V + 2 * part[1] * D) * V + 2 * part[2] * D * D
        return self.unit * Fraction(total, 2 * D * D)


def loss_parts(name: str, t: Fraction, y: Fraction) -> tuple[list[Fraction], list[Part]]:
    """Breakpoints and parts of L(y, ·)."""
    one, zero = Fraction(1), Fraction(0)
    if name in CLASSIFICATION:
        margin = zero if name == "perceptron" else one
        short: Part = (2 * one, -2 * y * margin, margin) if name == "squared_hinge" else (zero, -y, margin)
        return [y * margin], [short, NOTHING] if y > 0 else [NOTHING, short]
    square: Part = (2 * one, -2 * y, y * y)
    if name == "squared":
        return [], [square]
    if name in ("absolute", "quantile"):
        q = one / 2 if name == "absolute" else t
        weight = 2 if name == "absolute" else 1
        return [y], [(zero, -q * weight, q * y * weight), (zero, (1 - q) * weight, -(1 - q) * y * weight)]
    if name == "huber":
        left, right = (zero, -2 * t, 2 * t * y - t * t), (zero, 2 * t, -2 * t * y - t * t)
        return [y - t, y + t], [left, square, right]
    low, high = y - t, y + t
    if name == "epsilon_insensitive":
        outer = [(zero, -one, low), (zero, one, -high)]
    else:
        outer = [(2 * one, -2 * low, low * low), (2 * one, -2 * high, high * high)]
    if not t:
        return [y], outer
    return [low, high], [outer[0], NOTHING, outer[1]]


class Builder:
    """Rows with rational parts, made integer at the end."""

    def __init__(self, statement: Statement) -> None:
        self.statement = statement
        name, t = statement.loss
        fixed = name in CLASSIFICATION or name in MEANS
        sizes = [] if fixed else [v for v in (*statement.y, *statement.offset, float(t)) if v]
        self.q = 0 if fixed else min((low_bit(v) for v in sizes), default=0)
        columns = list(zip(*statement.X, strict=True)) if statement.p else []
        shifts = [min((low_bit(v) for v in column if v), default=0) for column in columns]
        self.blocks = statement.classes if statement.classes > 2 else 1
        level = [power_of_two(-self.q)] if statement.intercept else []
        self.units = ([power_of_two(k - self.q) for k in shifts] + level) * self.blocks
        self.width = len(self.units)
        each = self.width // self.blocks
        self.sized = [
            (k * each + j, factor, scale / self.units[j])
            for k in range(self.blocks)
            for j, (factor, scale) in enumerate(zip(statement.factors, statement.scale, strict=True))
        ]
        self.rows: list[tuple[dict[int, Fraction], list[Fraction], list[Part | None]]] = []
        self.lifts: list[tuple[int, ...]] = []
        self.ranks: dict[int, int] = {}
        ones = (1,) if statement.intercept else ()
        shrunk = [power_of_two(-k) for k in shifts]
        self.lines = [
            tuple(int(rational(x) * k) for x, k in zip(row, shrunk, strict=True)) + ones
            for row in statement.X
        ]
        self.degree = 2 if name in DEGREE_TWO else 1

    def losses(self) -> None:
        """A row of the data each."""
        statement = self.statement
        name, t = statement.loss
        if name in TRANSCENDENTAL:
            return
        small = power_of_two(-self.q)
        total = sum(statement.s)
        offsets = statement.offsets
        for y, o, s, line in zip(statement.y, offsets, statement.s, self.lines, strict=True):
            scaled = (rational(y) - o) * small if name not in CLASSIFICATION else rational(y)
            inner = t if name == "quantile" else t * small
            breaks, parts = loss_parts(name, inner, scaled)
            if name in CLASSIFICATION and o:
                breaks, parts = [t - o for t in breaks], [_moved(part, o) for part in parts]
            weight = s / total * power_of_two(self.degree * self.q)
            self.rows.append(
                (
                    {j: Fraction(v) for j, v in enumerate(line) if v},
                    breaks,
                    [(weight * c, weight * slope, weight * k) for c, slope, k in parts],
                )
            )

    def penalties(self) -> None:
        """Separable ones as rows of the unit matrix, the others with further coordinates."""
        statement = self.statement
        name = statement.penalty[0]
        if name == "lp" and statement.penalty[1] == 1:
            name = "l1"
        if statement.free:
            return
        if name == "slope":
            self._sorted(statement.lam if statement.budget is None else None, statement.budget)
            return
        if statement.budget is not None:
            walls = {
                "l1": self._within_l1,
                "fused": self._within_sum,
                "linf": self._within_box,
            }
            walls.get(name, lambda budget: None)(statement.budget)
            return
        assert statement.lam is not None
        priced = {
            "linf": self._largest,
            "fused": self._steps,
            "sparse_group": lambda lam: self._separable("l1", lam * statement.share),
            **{one: partial(self._separable, one) for one in ("l1", "l2", "elastic_net")},
        }
        priced.get(name, lambda lam: None)(statement.lam)

    def _separable(self, name: str, lam: Fraction) -> None:
        alpha = self.statement.penalty[1] if name == "elastic_net" else Fraction(1)
        for j, factor, size in self.sized:
            price = lam * factor
            if not price:
                continue
            linear = price * abs(size) if name != "l2" else Fraction(0)
            curve = 2 * price * alpha * size * size if name != "l1" else Fraction(0)
            if linear:
                parts: list[Part | None] = [(curve, -linear, Fraction(0)), (curve, linear, Fraction(0))]
                self.rows.append(({j: Fraction(1)}, [Fraction(0)], parts))
            else:
                self.rows.append(({j: Fraction(1)}, [], [(curve, Fraction(0), Fraction(0))]))

    def _new(self) -> int:
        self.width += 1
        return self.width - 1

    def _above(self, j: int, extra: int, size: Fraction) -> tuple[int, int]:
        """|size · u_j| ≤ u_extra, as two rows."""
        first = len(self.rows)
        for sign in (1, -1):
            wall: list[Part | None] = [NOTHING, None]
            self.rows.append(({j: sign * size, extra: Fraction(-1)}, [Fraction(0)], wall))
        return first, first + 1

    def _largest(self, lam: Fraction) -> None:
        extra = self._new()
        self.rows.append(({extra: Fraction(1)}, [], [(Fraction(0), lam, Fraction(0))]))
        pairs = [self._above(j, extra, size) for j, _, size in self.sized]
        self.lifts.append(tuple(place for pair in pairs for place in pair))

    def _within_box(self, budget: Fraction) -> None:
        for j, _, size in self.sized:
            self.rows.append(({j: size}, [-budget, budget], [None, NOTHING, None]))

    def _differences(self) -> list[dict[int, Fraction]]:
        """Those of neighbours, taken as often as the penalty says."""
        rows = [{j: size} for j, _, size in self.sized]
        for _ in range(int(self.statement.penalty[1])):
            rows = [
                {j: after.get(j, Fraction(0)) - before.get(j, Fraction(0)) for j in {*before, *after}}
                for before, after in pairwise(rows)
            ]
        return rows

    def _steps(self, lam: Fraction) -> None:
        parts: list[Part | None] = [(Fraction(0), slope, Fraction(0)) for slope in (-lam, lam)]
        self.rows += [(row, [Fraction(0)], parts) for row in self._differences()]

    def _within_sum(self, budget: Fraction) -> None:
        whole: dict[int, Fraction] = {}
        for row in self._differences():
            extra, first = self._new(), len(self.rows)
            for sign in (1, -1):
                wall: list[Part | None] = [NOTHING, None]
                entries = {j: sign * v for j, v in row.items()} | {extra: Fraction(-1)}
                self.rows.append((entries, [Fraction(0)], wall))
            self.lifts.append((first, first + 1))
            whole[extra] = Fraction(1)
        if whole:
            self.rows.append((whole, [budget], [NOTHING, None]))

    def _within_l1(self, budget: Fraction) -> None:
        whole: dict[int, Fraction] = {}
        for j, factor, size in self.sized:
            if factor:
                extra = self._new()
                self.lifts.append(self._above(j, extra, factor * size))
                whole[extra] = Fraction(1)
        if whole:
            self.rows.append((whole, [budget], [NOTHING, None]))

    def _sorted(self, lam: Fraction | None, budget: Fraction | None) -> None:
        """Σ λ_k |w|_(k) = Σ_k (λ_k − λ_(k+1)) (k t_k + Σ_j (|w_j| − t_k)₊) at the least, over all t."""
        prices = self.statement.prices
        sizes, whole = [], {}
        for j, _, size in self.sized:
            sizes.append(self._new())
            self.lifts.append(self._above(j, sizes[-1], size))
            whole[sizes[-1]] = prices[-1]
        for k, fall in enumerate((a - b for a, b in pairwise(prices)), start=1):
            if not fall:
                continue
            t, first, beyond = self._new(), len(self.rows), []
            self.ranks[len(self.lifts)] = k - 1
            walls: list[Part | None] = [NOTHING, None]
            priced: list[Part | None] = [NOTHING, (Fraction(0), (lam or Fraction(0)) * fall, Fraction(0))]
            for s in sizes:
                self.rows.append(({s: Fraction(1), t: Fraction(-1)}, [Fraction(0)], priced))
            self.lifts.append(tuple(range(first, len(self.rows))))
            whole[t] = k * fall
            for s in sizes if budget is not None else []:
                beyond.append(self._new())
                over, least = len(self.rows), len(self.rows) + 1
                row = {s: Fraction(1), t: Fraction(-1), beyond[-1]: Fraction(-1)}
                self.rows.append((row, [Fraction(0)], walls))
                self.rows.append(({beyond[-1]: Fraction(-1)}, [Fraction(0)], walls))
                self.lifts.append((over, least))
                whole[beyond[-1]] = fall
        if lam is not None:
            for place, price in whole.items():
                self.rows.append(({place: Fraction(1)}, [], [(Fraction(0), lam * price, Fraction(0))]))
        else:
            assert budget is not None
            self.rows.append((whole, [budget], [NOTHING, None]))

    def programme(self) -> Programme:
        """Everything over common denominators."""
        made: list[tuple[tuple[int, ...], tuple[int, ...], list[Part | None]]] = []
        for entries, breaks, parts in self.rows:
            values = [*entries.values(), *breaks]
            bottom = math.lcm(*(value.denominator for value in values))
            r = [0] * self.width
            for j, value in entries.items():
                r[j] = int(value * bottom)
            finite: list[Part | None] = [
                None if part is None else (part[0] / bottom**2, part[1] / bottom, part[2]) for part in parts
            ]
            made.append((tuple(r), tuple(int(t * bottom) for t in breaks), finite))
        numbers = [v for _, _, finite in made for part in finite if part is not None for v in part]
        bottom = math.lcm(*(v.denominator for v in numbers)) if numbers else 1
        top = math.gcd(*(int(v * bottom) for v in numbers)) or 1
        factor = Fraction(bottom, top)
        rows = []
        for line, kinks, finite in made:
            whole = tuple(
                None if p is None else (int(p[0] * factor), int(p[1] * factor), int(p[2] * factor))
                for p in finite
            )
            rows.append(Row(line, kinks, whole, _kinks(kinks, whole)))
        lines = tuple(self.lines)
        return Programme(
            tuple(rows),
            tuple(self.units),
            self.width,
            1 / factor,
            lines,
            power_of_two(self.q),
            self.blocks,
            tuple(self.sized),
            tuple(self.lifts),
            tuple(self.ranks.get(extra, 0) for extra in range(len(self.lifts))),
        )


def _moved(part: Part, o: Fraction) -> Part:
    """The part as a function of v where it was one of v + o."""
    c, s, k = part
    return c, c * o + s, (c * o / 2 + s) * o + k


def _kinks(breaks: tuple[int, ...], parts: tuple[IntPart | None, ...]) -> tuple[bool, ...]:
    found = []
    for place, t in enumerate(breaks):
        left, right = parts[place], parts[place + 1]
        smooth = left is not None and right is not None and left[0] * t + left[1] == right[0] * t + right[1]
        found.append(not smooth)
    return tuple(found)


def build(statement: Statement) -> Programme:
    """The programme of a statement; a loss that is not made of parabolas has no rows in it."""
    builder = Builder(statement)
    builder.losses()
    builder.penalties()
    return builder.programme()
