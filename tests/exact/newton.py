"""Minimisers to many digits where no rational arithmetic reaches: logistic, exponential and round norms.

Newton steps on the face of the kinks that are held, cut at the next kink; at a minimum of the face a kink
whose multiplier is outside its subdifferential is let go. A budget on a round norm is one more equation, with
a multiplier of its own. Slopes are computed to a hundred digits, curvatures in floats wherever they are well
conditioned: each step then gains many digits, and few are needed. Nothing here is trusted: what comes out is
a candidate, judged by its exact value.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from exact.active_set import NEAR
from exact.arithmetic import FAR, Echelon, as_rational, as_real, power_of_e, rational, real, solve_square
from exact.programme import Programme
from exact.statement import GROUPED, MEANS, TRANSCENDENTAL, Statement, as_values, mean_loss, mean_slopes

TINY = real.mpf(10) ** -90  # a pivot this small beside the scaled diagonal is none
DONE = real.mpf(10) ** -25  # a step this small beside the point ends the search: values are off by its square
FLAT = real.mpf(10) ** -18  # a slope this small beside its terms is none
WELL = 1e9  # condition numbers that floats solve
SECONDS = 1.0  # of a search: what it has by then is a candidate as well

Reals = list[Any]
Entries = list[tuple[int, Any]]
Array = NDArray[np.float64]


@dataclass(eq=False)
class Local:
    """The slope, and what makes up the Hessian: rows with a curvature, softmax blocks and single entries."""

    slope: Reals
    size: Reals  # of the terms that cancel in the slope
    value: float = 0.0
    rows: list[tuple[int, Any]] = field(default_factory=list)
    blocks: list[tuple[int, int, int, Any]] = field(default_factory=list)
    entries: list[tuple[int, int, Any]] = field(default_factory=list)


class Space:
    """The rows that curvature is made of, exactly and as floats whose columns are alike in size."""

    def __init__(self, programme: Programme) -> None:
        self.width = programme.width
        self.each = len(programme.units) // programme.blocks
        self.blocks = programme.blocks
        whole = [(*line, *([0] * (self.width - len(line)))) for line in programme.lines]
        self.rows = [*whole, *(row.r for row in programme.rows)]
        self.entries: list[Entries] = [[(j, real.mpf(x)) for j, x in enumerate(r) if x] for r in self.rows]
        bits = [max((abs(r[j]).bit_length() for r in self.rows), default=0) for j in range(self.width)]
        if self.blocks > 1:  # one line serves every class
            for j in range(self.each * self.blocks):
                bits[j] = max(bits[j], bits[j % self.each])
        self.bits = bits
        self.size = [real.ldexp(1, k) for k in bits]
        self.floats = np.array([[_shifted(x, k) for x, k in zip(r, bits, strict=True)] for r in self.rows])

    def inner_basis(self, basis: list[list[int]]) -> tuple[Array, Reals]:
        """A basis in the floats' coordinates, each vector of size one, and what each was divided by."""
        found, sizes = np.empty((self.width, len(basis))), []
        for k, z in enumerate(basis):
            top = max(abs(x).bit_length() + b for x, b in zip(z, self.bits, strict=True) if x)
            found[:, k] = [_shifted(x, top - b) for x, b in zip(z, self.bits, strict=True)]
            sizes.append(real.ldexp(1, top))
        return found, sizes

    def hessian(self, local: Local) -> tuple[Array, Any]:
        """The Hessian in floats' coordinates over its unit."""
        parts = [c for _, c in local.rows] + [c for *_, c in local.blocks]
        scaled = [(j, k, c / self.size[j] / self.size[k]) for j, k, c in local.entries]
        unit = max((abs(c) for c in [*parts, *(c for *_, c in scaled)]), default=real.zero)
        H = np.zeros((self.width, self.width))
        if not unit:
            return H, real.one
        if local.rows:
            F = self.floats[[i for i, _ in local.rows]]
            H += F.T @ (np.array([float(c / unit) for _, c in local.rows])[:, None] * F)
        for i, k, other, c in local.blocks:
            line = self.floats[i][: self.each]
            block = float(c / unit) * np.outer(line, line)
            a, b = k * self.each, other * self.each
            H[a : a + self.each, b : b + self.each] += block
            if k != other:
                H[b : b + self.each, a : a + self.each] += block.T
        for j, k, c in scaled:
            H[j, k] += float(c / unit)
            if j != k:
                H[k, j] += float(c / unit)
        return H, unit

    def exact_hessian(self, local: Local) -> list[Reals]:
        """The Hessian to all digits."""
        H = [[real.zero] * self.width for _ in range(self.width)]
        for i, c in local.rows:
            for j, x in self.entries[i]:
                weighted = c * x
                for k, other in self.entries[i]:
                    H[j][k] += weighted * other
        for i, a, b, c in local.blocks:
            for j, x in self.entries[i]:
                for k, other in self.entries[i]:
                    value = c * x * other
                    H[a * self.each + j][b * self.each + k] += value
                    if a != b:
                        H[b * self.each + k][a * self.each + j] += value
        for j, k, c in local.entries:
            H[j][k] += c
            if j != k:
                H[k][j] += c
        return H


def _shifted(x: int, bits: int) -> float:
    """x / 2^bits as a float, whatever the sizes."""
    drop = max(abs(x).bit_length() - 60, 0)
    return float(np.ldexp(float(x >> drop), drop - bits)) if x else 0.0


class Losses:
    """Σ a L of the logistic or exponential loss, or of the softmax of more than two classes."""

    def __init__(self, statement: Statement, space: Space) -> None:
        total = sum(statement.s)
        self.a = [as_real(s / total) for s in statement.s]
        self.name, self.power = statement.loss
        self.y: list[Any] = []
        if self.name in MEANS:
            self.y = [rational(y) for y in statement.y]
        elif self.name in TRANSCENDENTAL:
            self.y = [int(y) for y in statement.y]
        self.offsets = [as_real(o) for o in statement.offsets]
        self.space = space

    def add(self, u: Reals, to: Local) -> None:
        """Slope and curvature at u."""
        for i, y in enumerate(self.y):
            if self.space.blocks > 1:
                self._softmax(u, to, i, y)
                continue
            a, line = self.a[i], self.space.entries[i]
            m = sum((x * u[j] for j, x in line), self.offsets[i])
            if self.name in MEANS:
                if abs(m) > FAR // 10:
                    to.value = float("inf")
                    return
                slope, curve = (a * part for part in mean_slopes(self.name, self.power, as_real(y), m))
                to.value += float(a * mean_loss(self.name, self.power, y, as_rational(m)))
                _add_slope(to, line, slope)
                to.rows.append((i, curve))
                continue
            x = m if y < 0 else -m
            if x > FAR // 10:
                to.value = float("inf")
                return
            e = power_of_e(x)
            if self.name == "exponential":
                slope, curve, value = a * e, a * e, a * e
            else:
                share = e / (1 + e)
                slope, curve = a * share, a * share / (1 + e)
                value = a * float(np.logaddexp(0.0, float(x)))
            to.value += float(value)
            _add_slope(to, line, -slope if y > 0 else slope)
            to.rows.append((i, curve))

    def _softmax(self, u: Reals, to: Local, i: int, label: int) -> None:
        each, line, a = self.space.each, self.space.entries[i], self.a[i]
        scores = [sum((x * u[k * each + j] for j, x in line), real.zero) for k in range(self.space.blocks)]
        top = max(scores)
        powers = [power_of_e(score - top) for score in scores]
        whole = sum(powers)
        to.value += float(a * (top + real.log(whole) - scores[label]))
        shares = [power / whole for power in powers]
        for k, share in enumerate(shares):
            weight = a * (share - (k == label))
            _add_slope(to, [(k * each + j, x) for j, x in line], weight)
            for other in range(k + 1):
                to.blocks.append((i, k, other, a * share * ((k == other) - shares[other])))


def _add_slope(to: Local, line: Entries, slope: Any) -> None:
    for j, x in line:
        term = slope * x
        to.slope[j] += term
        to.size[j] += abs(term)


class Ball:
    """G(u) = Σ |size u|^t, or Σ f (|size u| + α (size u)²), at most `radius`; or λ G^(1/t) as a penalty."""

    def __init__(self, statement: Statement, programme: Programme) -> None:
        name, t = statement.penalty
        self.places = [
            (j, as_real(factor), as_real(abs(size))) for j, factor, size in programme.sized if factor
        ]
        self.t = as_real(t) if name == "lp" else real.mpf(2)
        self.linear = as_real(Fraction(name == "elastic_net"))
        self.square = as_real(t) if name == "elastic_net" else real.one
        self.lam = None if statement.budget is not None else as_real(statement.lam or Fraction(0))
        budget = real.zero if statement.budget is None else as_real(statement.budget)
        self.radius = budget**2 if name == "l2_norm" else budget**self.t if name == "lp" else budget

    def idle(self, u: Reals) -> list[int]:
        """Coordinates at zero, where a round norm has a corner."""
        return [j for j, _, _ in self.places if not u[j]]

    def gauge(self, u: Reals) -> tuple[Any, dict[int, tuple[Any, Any]]]:
        """G, and for each coordinate the slope and curvature of its term."""
        value, found = real.zero, {}
        for j, factor, size in self.places:
            x = abs(u[j] * size)
            sign = 1 if u[j] > 0 else -1
            if self.t == 2:
                value += factor * (self.linear * x + self.square * x * x)
                slope = factor * size * (self.linear + 2 * self.square * x)
                found[j] = (slope * sign, 2 * factor * self.square * size * size)
            elif x:
                power = x ** (self.t - 2)
                value += power * x * x
                found[j] = (self.t * power * x * size * sign, self.t * (self.t - 1) * power * size * size)
            else:
                found[j] = (real.zero, real.zero)
        return value, found

    def add(self, u: Reals, to: Local) -> None:
        """λ G^(1/t), where it is a penalty and not zero."""
        if self.lam is None:
            return
        whole, terms = self.gauge(u)
        if not whole:
            return
        norm = whole ** (1 / self.t)
        to.value += float(self.lam * norm)
        first = self.lam * norm / (self.t * whole)  # d norm / dG
        second = first * (1 / self.t - 1) / whole
        for j, (slope, curve) in terms.items():
            to.slope[j] += first * slope
            to.size[j] += abs(first * slope)
            to.entries.append((j, j, first * curve))
            to.entries += [(j, k, second * slope * other) for k, (other, _) in terms.items() if k <= j]


class Lengths(Ball):
    """λ (1 − α) Σ √|g| ‖(f ∘ size ∘ u)_g‖; the l1 part of it is in the programme's rows."""

    def __init__(self, statement: Statement, programme: Programme) -> None:
        super().__init__(statement, programme)
        each = len(programme.sized) // programme.blocks  # columns of a class
        at = {k: j for k, (j, _, _) in enumerate(programme.sized)}
        assert each == statement.p
        weight = as_real((statement.lam or Fraction(0)) * (1 - statement.share))
        self.own = {
            j: as_real((statement.lam or Fraction(0)) * statement.share) * f * s for j, f, s in self.places
        }
        self.each = {j: f * s for j, f, s in self.places}
        self.parts = [
            ([at[k] for k in members if at[k] in self.each], root * weight)
            for members, root in statement.lengths()
        ]

    def idle(self, u: Reals) -> list[int]:
        """Coordinates of groups that are zero."""
        return [j for members, _ in self.parts for j in members if not any(u[k] for k in members)]

    def add(self, u: Reals, to: Local) -> None:
        for members, price in self.parts:
            norm = real.sqrt(sum((self.each[j] * u[j]) ** 2 for j in members))
            if not norm:
                continue
            to.value += float(price * norm)
            slope = {j: self.each[j] ** 2 * u[j] / norm for j in members}
            for j in members:
                to.slope[j] += price * slope[j]
                to.size[j] += abs(price * slope[j])
                to.entries.append((j, j, price * self.each[j] ** 2 / norm))
                to.entries += [(j, k, -price * slope[j] * slope[k] / norm) for k in members if k <= j]

    def holds(self, pull: dict[int, Any]) -> bool:
        """Do the groups at zero stay there, against these slopes of all else?"""
        for members, price in self.parts:
            if not members or not all(j in pull for j in members):
                continue
            left = [max(abs(pull[j]) - self.own[j], real.zero) / self.each[j] for j in members]
            if sum(v * v for v in left) > price * price:
                return False
        return True


class Descent:
    """Where the search stands."""

    def __init__(
        self, statement: Statement, programme: Programme, u: Sequence[Fraction], held: dict[int, int]
    ) -> None:
        self.programme = programme
        self.space = Space(programme)
        self.first = len(programme.lines)  # of the programme's rows among those of the space
        self.u: Reals = [as_real(v) for v in u]
        self.held = dict(held)
        self.unit = as_real(programme.unit)
        self.losses = Losses(statement, self.space)
        name = statement.penalty[0]
        curved: tuple[str, ...] = (
            ("l2_norm", "lp") if statement.budget is None else ("l2_norm", "lp", "l2", "elastic_net")
        )
        if name == "lp" and statement.penalty[1] == 1:
            curved = ()
        self.ball = Ball(statement, programme) if name in curved and not statement.free else None
        if name in GROUPED and statement.budget is None and not statement.free:
            self.ball = Lengths(statement, programme)
        self.fixed = [] if self.ball is None else self.ball.idle(self.u)
        self.bound = self.ball is not None and self.ball.lam is None and self._reaches()

    def _reaches(self) -> bool:
        assert self.ball is not None
        return bool(self.ball.gauge(self.u)[0] >= self.ball.radius * (1 - real.mpf(10) ** -4))

    def along(self, i: int, u: Reals) -> Any:
        """r·u for a row of the programme."""
        return sum((x * u[j] for j, x in self.space.entries[self.first + i]), real.zero)

    def local(self, u: Reals) -> Local:
        """The objective near u, held rows left out."""
        found = Local([real.zero] * self.programme.width, [real.zero] * self.programme.width)
        self.losses.add(u, found)
        if self.ball is not None:
            self.ball.add(u, found)
        for i, row in enumerate(self.programme.rows):
            if i not in self.held:
                self._add_row(i, row.parts, row.breaks, u, found)
        return found

    def _add_row(self, i: int, parts: Any, breaks: Any, u: Reals, to: Local) -> None:
        v = self.along(i, u)
        part = parts[sum(v > t for t in breaks)]
        if part is None:
            near = min(breaks, key=lambda t: abs(v - t))
            if abs(v - near) > DONE * (abs(v) + abs(near)):
                to.value = float("inf")
            return
        c, s, k = part
        to.value += float(self.unit * ((c * v / 2 + s) * v + k))
        slope = self.unit * (c * v + s)
        if slope:
            _add_slope(to, self.space.entries[self.first + i], slope)
        if c:
            to.rows.append((self.first + i, self.unit * c))

    def basis(self) -> list[list[int]]:
        """Directions that keep the held kinks."""
        system = Echelon(self.programme.width)
        for j in self.fixed:
            system.offer([int(k == j) for k in range(self.programme.width)], 0, -1 - j)
        for i, place in list(self.held.items()):
            if not system.offer(self.programme.rows[i].r, self.programme.rows[i].breaks[place], i):
                del self.held[i]
        return system.null_basis()

    def newton(self, here: Local) -> Reals:
        """The Newton direction in the face; on a budget that binds, also towards its surface."""
        basis = self.basis()
        self.flat = True
        if not basis:
            return [real.zero] * self.programme.width
        vectors = [[(j, real.mpf(x)) for j, x in enumerate(z) if x] for z in basis]
        slope = [sum((x * here.slope[j] for j, x in z), real.zero) for z in vectors]
        edge = None
        if self.bound:
            assert self.ball is not None
            whole, terms = self.ball.gauge(self.u)
            normal = [sum((x * terms[j][0] for j, x in z if j in terms), real.zero) for z in vectors]
            above = sum(a * a for a in normal)
            price = -sum(a * b for a, b in zip(slope, normal, strict=True)) / above if above else real.zero
            price = max(price, real.zero)
            here.entries += [(j, j, price * bend) for j, (_, bend) in terms.items()]
            slope = [
                a + price * b for a, b in zip(slope, normal, strict=True)
            ]  # of the Lagrangian: it vanishes
            edge = (normal, self.ball.radius - whole)
        sizes = [sum((abs(x) * here.size[j] for j, x in z), real.zero) for z in vectors]
        self.flat = all(abs(a) <= FLAT * b for a, b in zip(slope, sizes, strict=True))
        q = self._in_floats(here, basis, slope, edge)
        if q is None:
            q = self._in_reals(here, vectors, slope, edge)
        found = [real.zero] * self.programme.width
        for k, z in zip(q, vectors, strict=True):
            for j, x in z:
                found[j] += k * x
        return found

    def _in_floats(self, here: Local, basis: list[list[int]], slope: Reals, edge: Any) -> Reals | None:
        """The step from a Hessian in floats, None where that is too badly conditioned."""
        Z, sizes = self.space.inner_basis(basis)
        H, unit = self.space.hessian(here)
        inner = [value / size for value, size in zip(slope, sizes, strict=True)]
        top = max(abs(v) for v in inner) or real.one
        right = np.array([-float(v / top) for v in inner])
        with np.errstate(all="ignore"):
            A = Z.T @ H @ Z
            if edge is not None:
                normal = [value / size for value, size in zip(edge[0], sizes, strict=True)]
                longest = max(abs(v) for v in normal) or real.one
                row = np.array([float(v / longest) for v in normal])
                A = np.block([[A, row[:, None]], [row[None], np.zeros((1, 1))]])
                right = np.append(right, float(edge[1] / longest * unit / top))
            scale = np.sqrt(np.abs(np.diag(A)))
            scale[scale == 0] = 1.0
            A = A / scale[:, None] / scale
            if not (np.all(np.isfinite(A)) and np.all(np.isfinite(right)) and np.linalg.cond(A) < WELL):
                return None
            q = np.linalg.solve(A, right / scale) / scale
        return [real.mpf(float(v)) * (top / unit / size) for v, size in zip(q, sizes, strict=False)]

    def _in_reals(self, here: Local, vectors: list[Entries], slope: Reals, edge: Any) -> Reals:
        full = self.space.exact_hessian(here)
        size = len(vectors)
        A = [[real.zero] * size for _ in range(size)]
        for a in range(size):
            image = [sum((line[k] * x for k, x in vectors[a]), real.zero) for line in full]
            for b in range(a + 1):
                A[a][b] = A[b][a] = sum((x * image[j] for j, x in vectors[b]), real.zero)
        right = [-value for value in slope]
        if edge is not None:
            for a in range(size):
                A[a].append(edge[0][a])
            A.append([*edge[0], real.zero])
            right.append(edge[1])
        return _scaled_solve(A, right)[:size]

    def _price(self, here: Local) -> Any:
        """λ, or the multiplier of the budget where it binds."""
        assert self.ball is not None
        if self.ball.lam is not None:
            return self.ball.lam
        if not self.bound:
            return real.zero
        _, terms = self.ball.gauge(self.u)
        along = sum((slope * here.slope[j] for j, (slope, _) in terms.items()), real.zero)
        above = sum((slope * slope for slope, _ in terms.values()), real.zero)
        return -along / above if above else real.zero

    def drawn_in(self) -> bool:
        """The optimum without the budget is outside it: then it binds."""
        if self.ball is None or self.ball.lam is not None or self.bound:
            return False
        whole, _ = self.ball.gauge(self.u)
        if whole <= self.ball.radius:
            return False
        factor = (self.ball.radius / whole) ** (1 / self.ball.t)
        for j, _, _ in self.ball.places:
            self.u[j] *= factor
        self.bound = True
        return True

    flat = False

    def stationary(self, here: Local) -> bool:
        """Do weights that a round norm keeps at zero stay there? Does a budget that binds push outwards?"""
        if not self.flat:
            return False
        if self.ball is None:
            return True
        price = self._price(here)
        if price < 0:
            return False
        fixed = [(j, size) for j, _, size in self.ball.places if j in self.fixed]
        if not fixed:
            return True
        slope = dict.fromkeys(self.fixed, real.zero)
        for i, multiplier in self.multipliers(here).items():
            for j, x in self.space.entries[self.first + i]:
                if j in slope:
                    slope[j] += multiplier * self.unit * x
        return self._stays(price, {j: here.slope[j] + slope[j] for j, _ in fixed}, fixed)

    def _stays(self, price: Any, slope: dict[int, Any], fixed: list[tuple[int, Any]]) -> bool:
        """Is what is at zero kept there, against these slopes of all else?"""
        assert self.ball is not None
        if isinstance(self.ball, Lengths):
            return self.ball.holds(slope)
        pull = [abs(slope[j]) / size for j, size in fixed]
        if self.ball.linear:
            factors = {j: factor for j, factor, _ in self.ball.places}
            return all(p <= price * factors[j] for p, (j, _) in zip(pull, fixed, strict=True))
        if len(fixed) == len(self.ball.places) and self.ball.lam is not None:
            q = self.ball.t / (self.ball.t - 1)
            return bool(sum(p**q for p in pull) <= price**q)
        return all(p <= FLAT * price for p in pull)

    def reach(self, direction: Reals) -> tuple[Any, int | None, int]:
        """How far until a kink, and which."""
        best: tuple[Any, int | None, int] = (real.one, None, 0)
        for i, row in enumerate(self.programme.rows):
            if i in self.held or not any(row.kinks):
                continue
            rate, v = self.along(i, direction), self.along(i, self.u)
            for place, t in enumerate(row.breaks):
                if row.kinks[place] and rate and 0 < (t - v) / rate < best[0]:
                    best = ((t - v) / rate, i, place)
        return best

    def multipliers(self, here: Local) -> dict[int, Any]:
        """μ with slope + Σ μ r = 0 over the held rows (least squares), in units of φ."""
        names = list(self.held)
        if not names:
            return {}
        columns = [
            {j: x for j, x in self.space.entries[self.first + i] if j not in self.fixed} for i in names
        ]
        if self.bound:
            assert self.ball is not None
            _, terms = self.ball.gauge(self.u)
            columns.append({j: value for j, (value, _) in terms.items() if j not in self.fixed})
        gram = [
            [sum((x * b[j] for j, x in a.items() if j in b), real.zero) for b in columns] for a in columns
        ]
        right = [-sum((x * here.slope[j] for j, x in a.items()), real.zero) for a in columns]
        found = _scaled_solve(gram, right)
        return {i: value / self.unit for i, value in zip(names, found, strict=False)}

    def release(self, here: Local) -> bool:
        """Let go the kink whose multiplier is farthest outside; False if none is."""
        worst: tuple[Any, int, int] | None = None
        for i, multiplier in self.multipliers(here).items():
            left, right = self.programme.rows[i].edges(self.held[i])
            room = real.mpf(10) ** -20 * (1 + abs(multiplier))
            for edge, side in ((right, 1), (left, -1)):
                if abs(edge) == float("inf"):
                    continue
                over = side * (multiplier - edge)
                if over > room and (worst is None or over > worst[0]):
                    worst = (over, i, side)
        if worst is None:
            return False
        self._leave(worst[1], worst[2])
        return True

    def _leave(self, i: int, side: int) -> None:
        """Step off a kink to one side, by nearly nothing."""
        place = self.held.pop(i)
        r = self.space.entries[self.first + i]
        t = self.programme.rows[i].breaks[place]
        best: tuple[Any, Entries] | None = None
        for z in self.basis():
            vector = [(j, real.mpf(x)) for j, x in enumerate(z) if x]
            inner = dict(vector)
            along = sum((x * inner[j] for j, x in r if j in inner), real.zero)
            if along and (best is None or abs(along) > abs(best[0])):
                best = (along, vector)
        if best is None:
            return
        size = max(real.mpf(abs(t)), *(abs(x * self.u[j]) for j, x in r), real.mpf(10) ** -300)
        step = side * size * real.mpf(10) ** -25 / best[0]
        for j, x in best[1]:
            self.u[j] += step * x


def _scaled_solve(A: list[Reals], right: Reals) -> Reals:
    """A x = right after making the rows and columns alike in size."""
    size = len(A)
    scale = []
    for k in range(size):
        own = abs(A[k][k]) if A[k][k] else max((abs(x) for x in A[k]), default=real.zero)
        scale.append(1 / real.sqrt(own) if own else real.one)
    inner = [[A[a][b] * scale[a] * scale[b] for b in range(size)] for a in range(size)]
    found = solve_square(inner, [v * k for v, k in zip(right, scale, strict=True)], TINY)
    return [v * k for v, k in zip(found, scale, strict=True)]


def closest(programme: Programme, u: Sequence[Fraction], near: float = NEAR) -> dict[int, int]:
    """The kinks that a point seems to stand on."""
    held = {}
    for i, row in enumerate(programme.rows):
        if not any(row.kinks):
            continue
        v = sum((x * value for x, value in zip(row.r, u, strict=True) if x), Fraction(0))
        size = sum((abs(x * value) for x, value in zip(row.r, u, strict=True) if x), Fraction(0))
        for place, t in enumerate(row.breaks):
            if row.kinks[place] and abs(v - t) <= Fraction(near) * (size + abs(t)):
                held[i] = place
    return held


@dataclass(frozen=True, eq=False)
class Polished:
    """A point, and whether the search ended there by itself."""

    w: list[Fraction]
    b: Any
    settled: bool


def polish(
    statement: Statement, programme: Programme, u: Sequence[Fraction], held: dict[int, int], limit: int = 30
) -> Polished:
    """The minimum near u, to as many digits as there are."""
    search = Descent(statement, programme, u, held)
    settled, best = False, float("inf")
    previous: tuple[Reals, Reals, Any] | None = None
    began = time.process_time()
    for _ in range(limit):
        if time.process_time() - began > SECONDS:
            break
        here = search.local(search.u)
        if previous is not None and not here.value <= best + 1e-9 * abs(best):
            before, direction, length = previous  # it rose, beyond what floats round: a shorter step
            length = length / 8
            if length < DONE:
                break
            search.u = [a + length * d for a, d in zip(before, direction, strict=True)]
            previous = (before, direction, length)
            continue
        if not np.isfinite(here.value):
            break
        best = min(best, here.value) if not search.bound else float("inf")
        direction = search.newton(here)
        size = max((abs(v) for v in search.u), default=real.zero)
        if all(abs(d) <= DONE * (abs(v) + size * DONE) for d, v in zip(direction, search.u, strict=True)):
            previous = None
            if search.release(here) or search.drawn_in():
                continue
            settled = search.stationary(here)
            break
        length, i, place = search.reach(direction)
        previous = (search.u, direction, length) if i is None and not search.bound else None
        search.u = [a + length * d for a, d in zip(search.u, direction, strict=True)]
        if i is not None:
            search.held[i] = place
    w, b = programme.weights(as_values(search.u))
    return Polished(w, b, settled)


def shrunk(statement: Statement, w: list[Fraction]) -> list[Fraction]:
    """The weights inside the budget, by as little as a hundred digits show."""
    if statement.within(w):
        return w
    size = statement.size(w)
    assert statement.budget is not None
    over = size if isinstance(size, Fraction) else as_rational(size)
    start = min(Fraction(1), statement.budget / over)
    if statement.penalty[0] == "l2":
        start = as_rational(real.sqrt(as_real(start)))
    free = [not factor for factor in statement.factors * (len(w) // statement.p)]
    for digits in (90, 70, 60, 50, 40, 30):
        factor = start * (1 - Fraction(1, 10**digits))
        found = [v if loose else v * factor for v, loose in zip(w, free, strict=True)]
        if statement.within(found):
            return found
    return [v if loose else Fraction(0) for v, loose in zip(w, free, strict=True)]
