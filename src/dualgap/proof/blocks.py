"""Rows that come in blocks and are gone again: the same gap as for rows in memory, from sums over the blocks.

θ is not a vector but a rule for the slope of each row: θ_i = −a_i u(x_i, y_i), exactly, with a_i = s_i/Σs.
What a rule says is clipped to the loss's domain. Free columns (the intercept among them) need x_j·θ = 0: rows
are put in groups, and θ' = Σ t_g θ_g with 0 ≤ t_g ≤ 1 stays in the domain and costs, by convexity, at most

    Σ_g t_g Σ a [L + L*(u) − zu]  +  (1 − t_g) Σ a L          (no loss is below zero).

Shares t that make every free column exactly orthogonal provably exist within a known distance of those
computed. Every sum carries the error that rounding may have made in it, block by block.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from dualgap.arrays import Index, Matrix, Vector
from dualgap.device.spaces import space
from dualgap.losses import Loss
from dualgap.losses.base import FAINT
from dualgap.penalties import Regulariser
from dualgap.proof.balance import Balanced
from dualgap.proof.check import SHARE, SLACK, Checked, _box, inside, slopes, told
from dualgap.proof.processor import PlainArithmetic
from dualgap.proof.rounding import FEW, LEAST, U, added_up, gamma, share_of, sums_of
from dualgap.proof.statement import SMALL, Statement
from dualgap.traits import Trait

DEPENDENT = 1e-9  # of a free column's sums, what is left beside those of the others, at which it is left open


@dataclass(frozen=True, eq=False)
class Charged:
    """A sum, and how far off it may be, entry by entry."""

    value: Any
    error: Any

    def plus(self, other: Charged) -> Charged:
        """Of both; a rounded addition is off by U of what it gives."""
        value = self.value + other.value
        return Charged(value, (self.error + other.error + U * np.abs(value)) * (1.0 + 4.0 * U))

    @property
    def most(self) -> Any:
        """The sum is at most this."""
        return (self.value + self.error) * (1.0 + 4.0 * U)


@dataclass(frozen=True, eq=False)
class StreamStatement(Statement):
    """A statement whose rows are elsewhere. `largest` is the largest |x| of each column, once known."""

    largest: Vector | None = None

    @classmethod
    def stated(cls, loss: Loss, regulariser: Regulariser, *, intercept: bool) -> StreamStatement:
        """Loss and regulariser alone."""
        return cls(None, np.empty(0), np.empty(0), loss, regulariser, intercept)

    @cached_property
    def rows(self) -> Any:
        """What is known of them: no column is longer than its largest entry, for Σa = 1."""
        return _Lengths(np.zeros(self.columns) if self.largest is None else self.largest)

    @property
    def columns(self) -> int:
        """Without the intercept."""
        return len(self.free) - self.intercept

    def of_block(self, X: Any, y: Vector, weight: Vector) -> Statement:
        """The statement on one block; `weight` are the rows' own, not divided by their sum."""
        return Statement(_Held(X), y, weight, self.loss, self.regulariser, self.intercept)

    @property
    def tied(self) -> Index:
        """The coordinates that must be orthogonal to θ; the intercept is the last."""
        return np.flatnonzero(self.free)

    def tied_sums(self, count: int) -> Index:
        """Where their sums are among those of a pull."""
        rows = self.tied.copy()
        if self.intercept:
            rows[-1] = count - 1
        return rows

    def weigh(
        self, X: Any, y: Vector, weight: Vector | None, w: Vector, u: Any, *, exact: bool = False
    ) -> Weighed:
        """One block: w, and the slopes that a rule gives its rows; None: all zero, which prove nothing."""
        return weigh(self, X, y, weight, w, u, exact=exact)


@dataclass(frozen=True, eq=False)
class _Lengths:
    tops: Vector

    def lengths(self, a: Vector, which: Index) -> Vector:
        return self.tops[which]


@dataclass(frozen=True, eq=False)
class _Held:
    matrix: Any


@dataclass(frozen=True, eq=False)
class Weighed:
    """What one block, or all of them, say of w and a rule: sums over the groups of rows."""

    weight: Charged  # Σs
    risk: Charged  # Σ s L, a number a group
    terms: Charged  # Σ s [L + L*(u) − zu], a number a group
    pull: Charged  # Σ s u x, a column a group; the last row is that of ones
    spread: float  # what the error of z may change of Σ s L, and
    apart: float  # of the terms
    size: float  # Σ s|u|
    tops: Vector  # the largest |x| of each column
    least: float  # the smallest weight
    rows: int

    def plus(self, other: Weighed) -> Weighed:
        """Of both lots of rows."""
        up = 1.0 + 4.0 * U
        return Weighed(
            self.weight.plus(other.weight),
            self.risk.plus(other.risk),
            self.terms.plus(other.terms),
            self.pull.plus(other.pull),
            (self.spread + other.spread) * up,
            (self.apart + other.apart) * up,
            (self.size + other.size) * up,
            np.maximum(self.tops, other.tops),
            min(self.least, other.least),
            self.rows + other.rows,
        )

    @property
    def finite(self) -> bool:
        """False where a number of the rows, or of what is made of them, is none."""
        return bool(np.isfinite(self.weight.value + self.risk.value.sum()) and np.isfinite(self.tops).all())


def weigh(
    problem: StreamStatement,
    X: Any,
    y: Vector,
    weight: Vector | None,
    w: Vector,
    u: Vector | None,
    *,
    exact: bool = False,
) -> Weighed:
    """One block: w, and the slopes that the rule gives its rows; None: all zero, which prove nothing."""
    return visited(problem, X, y, weight, w, lambda y, z: u, exact=exact).weighed()


Slopes = Callable[[Any, Any], Any]  # of targets and predictions, or of zeros and misses where those suffice


def visited(
    problem: StreamStatement,
    X: Any,
    y: Any,
    weight: Any,
    w: Vector,
    slope: Slopes,
    *,
    exact: bool = False,
) -> Visit:
    """One product with w and one with the slopes that are chosen at its outcome."""
    return all_visited([problem], X, y, weight, [w], [slope], exact=exact)[0]


def all_visited(
    problems: Sequence[StreamStatement],
    X: Any,
    y: Any,
    weight: Any,
    ws: Sequence[Vector],
    chosen: Sequence[Slopes],
    *,
    exact: bool = False,
) -> list[Visit]:
    """The same for problems with the same free columns: the slopes of all of them meet the rows at once."""
    xp, first = space(y), y if y.ndim == 1 else y[:, 0]  # targets may stand beside an offset
    s = xp.ones_like(first) if weight is None else weight
    if len(problems) == 1 and isinstance(chosen[0], RowSlopes) and not exact:
        with PlainArithmetic():
            visit = _swept(problems[0], X, y, s, weight is None, ws[0], chosen[0])
        if visit is not None:
            return [visit]
    found = []
    with PlainArithmetic():
        for problem, w, slope in zip(problems, ws, chosen, strict=True):
            block = problem.of_block(X, y, s)
            t, error = block.misses(w, exact=exact)
            u, nothing = slope(block.centre, t), False
            if u is None:
                u, nothing = xp.zeros_like(first), True
            u = xp.clip(xp.finite(u), *problem.loss.domain(y))
            found.append(
                (problem, block, weight is None, w, t, error, u, _sides(problem, block.rows, u), nothing)
            )
        rows, slips = found[0][1].rows, 0.0 if weight is None else 2.0 * U
        lots = [([one[6] if weight is None else s * one[6]], one[7]) for one in found if not one[8]]
        met = iter(_all_pulls(rows, lots, exact=exact, slips=slips) if lots else ())
        pulls = [no_pull(rows, one[7]) if one[8] else next(met) for one in found]
    return [Visit(*one[:8], pull, one[8]) for one, pull in zip(found, pulls, strict=True)]


@dataclass(frozen=True, eq=False)
class RowSlopes:
    """Slopes as a formula of a row: of its target and prediction, of numbers, and of what else it has.

    Where the formula is one that can be written down, a device works it out while it reads the row.
    """

    formula: Any  # hashable: equal formulas are one
    numbers: tuple[float, ...] = ()
    arrays: tuple[Any, ...] = ()

    def __call__(self, y: Any, t: Any) -> Any:
        return self.formula(y, t, *self.arrays, *self.numbers)


@dataclass(frozen=True)
class OwnSlopes:
    """Those of a loss."""

    loss: Loss

    def __call__(self, y: Any, t: Any) -> Any:
        return self.loss.derivative(y, t)


@dataclass(frozen=True)
class _RowFormula:
    """What `visited` makes of a row: its miss, the slope within the domain, and that times the weight; what
    was added to Xw; and the loss.
    """

    loss: Loss
    formula: Any
    weighted: bool
    tied: bool  # is the last number the intercept?

    def __call__(self, dot: Any, y: Any, *rest: Any) -> tuple[Any, Any, Any, Any, Any]:
        s, rest = (rest[0], rest[1:]) if self.weighted else (None, rest)
        inner, centre, shifts = self.loss.centred(y)
        base: Any = 0.0
        if self.tied:
            base, rest = rest[-1], rest[:-1]
        for shift in shifts:
            base = base + shift
        t, xp = dot + base, space(y)
        u = xp.clip(xp.finite(self.formula(centre, t, *rest)), *self.loss.domain(y))
        risk = inner.value(centre, t)
        return t, u, u if s is None else s * u, base, risk if s is None else s * risk


def _swept(
    problem: StreamStatement, X: Any, y: Any, s: Any, whole: bool, w: Vector, chosen: RowSlopes
) -> Visit | None:
    """All of it by one look at the rows, where they can do that and no column is free but the intercept's.

    Rows then are in two groups by the sign of their slopes.
    """
    block, tied = problem.of_block(X, y, s), len(problem.tied) > 0
    if len(problem.tied) > problem.intercept:
        return None
    if not hasattr(block.rows, "swept") or len(problem.loss.centred(y[:1])[2]) > 1:
        return None
    arrays = [y, *(() if whole else (s,)), *chosen.arrays]
    formula = _RowFormula(problem.loss, chosen.formula, not whole, tied)
    numbers = (*chosen.numbers, float(w[-1])) if tied else chosen.numbers
    met = block.rows.swept(w[: problem.columns], formula, arrays, numbers, parted=tied)
    if met is None:
        return None
    slip = np.zeros(len(met.size)) if whole else _slipped(2.0 * U, met.size, len(met.u))
    off = (met.off + slip * block.rows.tops[:, None]) * (1.0 + FEW)
    # where it is not free nobody asks for the pull at the column of ones, no more than the slopes' sizes
    ones = met.sums * [1.0, -1.0] if tied else np.zeros(1)
    loose = (met.loose + FEW * met.size + slip if tied else met.size) * (1.0 + FEW)
    pull = Charged(np.vstack([met.pull, ones]), np.vstack([off, loose]))
    error = met.error + 4.0 * U * (met.base + met.far)
    side = space(met.u).where(met.u < 0.0, 1.0, 0.0) if tied else None
    sides = [(slice(0, len(met.u)), side)]
    return Visit(problem, block, whole, w, met.t, error, met.u, sides, pull, known=met.risk)


@dataclass(frozen=True, eq=False)
class Visit:
    """Rows gone over at w: misses, slopes, and how these pull at the columns; values are still to come."""

    problem: StreamStatement
    block: Statement
    whole: bool  # every row weighs one
    w: Vector
    t: Any
    error: Any
    u: Any
    sides: list[tuple[slice, Any]]
    pull: Charged
    nothing: bool = False
    known: float | None = None  # Σ s L, where it came along

    @property
    def scores(self) -> Any:
        """Xw + b to a few roundings, for whoever makes no claim of it."""
        shifts = self.block.centred[2]
        return self.t - sum(shifts) if shifts else self.t

    @cached_property
    def risk(self) -> float:
        """Σ s L, for whoever makes no claim of it."""
        if self.known is not None:
            return self.known
        s = () if self.whole else (self.block.a,)
        loss, centre, _ = self.block.centred
        return float(sums_of(Risked(loss), [centre, self.t, *s]).values[0])

    def weighed(self, tau: float = 1.0) -> Weighed:
        """The sums, with τu for the slopes, 0 ≤ τ ≤ 1: as u is in its domain, so is that."""
        t, (loss, centre, _) = self.t, self.block.centred
        s = () if self.whole else (self.block.a,)
        with PlainArithmetic():
            formula = _Weighing(loss, bool(s), self.sides[0][1] is not None, self.nothing, tau != 1.0)
            found = []
            for run, side in self.sides:
                given = [centre, t, self.u, *s]
                given = given if len(self.sides) == 1 else [one[run] for one in given]
                given += [] if side is None else [side]
                error = self.error[run] if np.ndim(self.error) and len(self.sides) > 1 else self.error
                found.append(sums_of(formula, given, (error, tau)))
            few = FEW + max(one.share for one in found)
            up = (1.0 + few) * (1.0 + 8.0 * len(found) * U)
            spread, off, size = (float(sum(one.values[k] for one in found)) * up for k in range(3))
            values = np.concatenate([one.values[3:].reshape(2, -1) for one in found], axis=1)
            risk, paid = values
            heavy, n = 0.0 if self.whole else added_up(self.block.a), len(t)
            pull = self.pull if tau == 1.0 else self._shrunk(tau, size, float(n) if self.whole else heavy)
        # products that underflow: none where the loss is flat, as exponentials never are
        flat = Trait.PIECEWISE_QUADRATIC in loss.traits and all(float(one.tops.sum()) == 0.0 for one in found)
        under = 0.0 if flat else 8.0 * LEAST * (n + len(self.w))
        return Weighed(
            Charged(float(n) if self.whole else heavy, 0.0 if self.whole else (FEW + share_of(t)) * heavy),
            Charged(risk, few * risk + under),
            Charged(paid, few * (paid + risk) + under),
            pull,
            spread,
            off,
            size,
            self.block.rows.tops,
            1.0 if self.whole else _least(self.block.a),
            n,
        )

    def _shrunk(self, tau: float, size: float, heavy: float) -> Charged:
        """τ times the pull: each slope is rounded once more, or underflows, and so is each sum."""
        tops, n = np.append(self.block.rows.tops, 1.0)[:, None], self.block.rows.n
        under = tops * (2.0 * heavy + n) * LEAST + n * LEAST
        more = 2.0 * U * (np.abs(self.pull.value) + tops * size) + under
        return Charged(self.pull.value * tau, (self.pull.error * tau + more) * (1.0 + FEW))


def _least(s: Any) -> float:
    """The smallest weight that is none of zero."""
    return float(space(s).where(s > 0.0, s, np.inf).min()) if len(s) else np.inf


@dataclass(frozen=True)
class Risked:
    """s L of a row, of which there may be no s."""

    loss: Loss

    def __call__(self, y: Any, t: Any, *s: Any) -> tuple[list[Any], list[Any]]:
        found = self.loss.value(y, t)
        return [s[0] * found if s else found], []


@dataclass(frozen=True)
class _Weighing:
    """What `weighed` adds up of each row: what the error of t may change, |τu|, the losses and terms (of both
    sides, where there are two), and how steep the loss is at most.
    """

    loss: Loss
    weighted: bool
    sided: bool
    nothing: bool
    shrunk: bool

    def __call__(self, y: Any, t: Any, u: Any, *rest: Any) -> tuple[list[Any], list[Any]]:
        *own, error, tau = rest
        loss, xp = self.loss, space(t)
        low, high = slopes(loss, y, t, error)
        v = u * tau if self.shrunk else u
        apart = xp.maximum(xp.maximum(v, 0.0) - low, high - xp.minimum(v, 0.0)) + FAINT
        steep = xp.maximum(-low, high)
        losses = loss.value(y, t)
        terms = losses if self.nothing else loss.fenchel_young(y, t, v)
        found = [error * steep, error * apart, abs(v), losses, terms]
        if self.weighted:
            found = [own[0] * one for one in found]
        if self.sided:
            side = own[-1]
            found = [*found[:3], *(part for one in found[3:] for part in (one * (1.0 - side), one * side))]
        flat = Trait.PIECEWISE_QUADRATIC in loss.traits
        return found, [xp.maximum(abs(low), abs(high))] if flat else []


def _sides(problem: StreamStatement, rows: Any, u: Any) -> list[tuple[slice, Any]]:
    """Runs of rows, one for each free column, and which of their rows pull it down; None where none is free.

    Two groups of rows a column, that pull it to and fro: shares near one can then balance them all.
    """
    tied, n = problem.tied, len(u)
    if not len(tied):
        return [(slice(0, n), None)]
    runs = []
    for k in range(len(tied)):
        run = slice(k * n // len(tied), (k + 1) * n // len(tied))
        signed = u[run] * rows.cells(run, tied[k]) if tied[k] < rows.p else u[run]
        runs.append((run, space(signed).where(signed < 0.0, 1.0, 0.0)))
    return runs


def _parted(values: Any, run: slice, side: Any) -> list[Any]:
    """The values of a run's groups, two of them, or one where no column is free."""
    return [values[run]] if side is None else [values[run] * (1.0 - side), values[run] * side]


def _by_side(values: Any, sides: list[tuple[slice, Any]]) -> Vector:
    """Sums over the groups."""
    return np.array([added_up(part) for run, side in sides for part in _parted(values, run, side)])


def no_pull(rows: Any, sides: list[tuple[slice, Any]], classes: int = 1) -> Charged:
    """That of slopes which are all zero."""
    groups = sum(1 if side is None else 2 for _, side in sides)
    zero = np.zeros((classes * (rows.p + 1), groups))
    return Charged(zero, zero)


def _pulls(
    rows: Any, tilted: list[Any], sides: list[tuple[slice, Any]], *, exact: bool, slips: float
) -> Charged:
    """Xᵀ(su) of every group, ones behind, and what it may be off by; for several u below each other.

    `slips` is the share by which su is rounded.
    """
    return _all_pulls(rows, [(tilted, sides)], exact=exact, slips=slips)[0]


def _all_pulls(
    rows: Any, lots: list[tuple[list[Any], list[tuple[slice, Any]]]], *, exact: bool, slips: float
) -> list[Charged]:
    """The same for several lots, whose runs are the same, by one look at the rows."""
    few = FEW + max(share_of(one) for tilted, _ in lots for one in tilted)
    values: list[list[Matrix]] = [[] for _ in lots]
    errors: list[list[Matrix]] = [[] for _ in lots]
    for k, (run, _) in enumerate(lots[0][1]):
        part = rows if len(lots[0][1]) == 1 else rows.taken(run)
        groups = [
            [theta for one in tilted for theta in _parted(one, run, sides[k][1])] for tilted, sides in lots
        ]
        thetas = [theta for group in groups for theta in group]
        size = np.array([added_up(abs(theta)) for theta in thetas]) * (1.0 + few)
        if exact:
            pairs = [part.against(theta, exact=True) for theta in thetas]
            found, off = (np.array(one) for one in zip(*pairs, strict=True))
        else:
            found, off = part.against_many(thetas)
        ones = np.array([added_up(theta) for theta in thetas])
        slip = _slipped(slips, size, part.n)
        off = (off + slip[:, None] * part.tops) * (1.0 + FEW)
        table, loose = np.column_stack([found, ones]), np.column_stack([off, few * size + slip])
        start = 0
        for j, group in enumerate(groups):
            own, start = slice(start, start + len(group)), start + len(group)
            values[j].append(_below(table[own], len(lots[j][0])))
            errors[j].append(_below(loose[own], len(lots[j][0])))
    return [Charged(np.hstack(one), np.hstack(other)) for one, other in zip(values, errors, strict=True)]


def _slipped(share: float, size: Any, rows: int) -> Any:
    """What weights times slopes are off by, all together: a share of their sizes, and what underflows."""
    return share * size + (2.0 * rows * LEAST if share else 0.0)


def _below(table: Matrix, count: int) -> Matrix:
    """A column for each group of a run, its `count` rows of the table below each other."""
    groups = len(table) // count
    return np.asarray(table.reshape(count, groups, -1).transpose(0, 2, 1).reshape(-1, groups))


def judged(
    problem: StreamStatement, seen: Weighed, w: Vector, tolerance: float = 0.0, null: float = 0.0
) -> Checked:
    """What is true of w, and of the rule whose slopes were weighed beside it. `theta` is Σ|θ| alone."""
    with PlainArithmetic():
        given, w = w, inside(problem, w)
        if w is not given:  # the sums are those of other weights
            return _nothing(problem, given, np.inf)
        found = _judged(problem, seen, w, tolerance, null)
    return found


def _judged(problem: StreamStatement, seen: Weighed, w: Vector, tolerance: float, null: float) -> Checked:
    least = seen.weight.value - seen.weight.error
    n = 1.0 / (least * (1.0 - 8.0 * U))  # a sum times this is at least what it is divided by Σs
    risk, spread = float(seen.risk.most.sum()) * n, seen.spread * n
    priced, doubt = problem.regulariser.priced(w)
    exact = (float(seen.risk.most.sum()) - float((seen.risk.value - seen.risk.error).sum())) * n
    # Σs is known to a share: so is each value that is divided by it
    share = 2.0 * seen.weight.error / least + FEW
    lost = share * (risk + spread + priced) + doubt + (LEAST if risk > 0.0 else 0.0)
    objective = risk + spread + priced + lost
    if not (seen.least >= FAINT and objective < np.inf):
        return _nothing(problem, w, np.inf)
    width = 2.0 * (spread + lost) + exact
    shares = _shares(problem, seen)
    if shares is None:
        return _nothing(problem, w, objective, width)
    t, off = shares.share, shares.off
    low, high = np.maximum(t - off, 0.0), np.minimum(t + off, 1.0)
    paid = [s * seen.terms.most + (1.0 - s) * seen.risk.most for s in (low, high)]
    under = 4.0 * len(t) * LEAST if any(one.any() for one in paid) or risk else 0.0
    terms = (float(np.maximum(*paid).sum()) + under) * n * (1.0 + FEW)
    size = np.abs(seen.pull.value)
    v = -(seen.pull.value @ t) * n
    reach = seen.pull.error @ high + size @ off + (gamma(len(t) + 8) + share) * (size @ high)
    reach = (reach + 4.0 * len(t) * LEAST) * n + LEAST  # products of small sums underflow
    v, reach = v[: len(problem.free)], reach[: len(problem.free)] * (1.0 + FEW)
    pull = np.abs(v) + reach
    v[problem.free], reach[problem.free] = 0.0, 0.0
    bracket, excess = problem.regulariser.fenchel_young(w, v, reach)
    along = float(np.abs(w) @ np.abs(v))
    rounding = width + seen.apart * n + (SLACK + share) * (objective + bracket + along) + excess * objective
    none = np.zeros(0)
    box, charge = _box(
        w,
        Balanced(none, none, shares.open_, pull[shares.open_]),
        SHARE * tolerance * max(objective, SMALL * null),
    )
    gap = terms + bracket + rounding + charge
    theta = np.array([seen.size * n])
    return told(Checked(w, theta, objective, gap, rounding, v, reach, box, width))


def _nothing(problem: StreamStatement, w: Vector, objective: float, width: float = 0.0) -> Checked:
    """No loss is below zero, and that is all."""
    zero = np.zeros(len(problem.free))
    return Checked(w, np.zeros(1), objective, 0.0, 0.0, zero, zero, None, width)


@dataclass(frozen=True, eq=False)
class _Shares:
    """Somewhere within `off` of these shares, all of them in [0, 1], free columns are orthogonal to θ.

    But for those in `open_`, numbers of coordinates.
    """

    share: Vector
    off: Vector
    open_: Index


def _shares(problem: StreamStatement, seen: Weighed) -> _Shares | None:
    tied, count = problem.tied, seen.pull.value.shape[1]
    if not len(tied):
        return _Shares(np.ones(count), np.zeros(count), tied)
    rows = problem.tied_sums(seen.pull.value.shape[0])
    A, E = seen.pull.value[rows], seen.pull.error[rows]
    size = np.abs(A).sum(axis=1) + E.sum(axis=1)
    unit = np.ldexp(1.0, np.frexp(size)[1])  # powers of two round nothing
    A, E = A / unit[:, None], E / unit[:, None]
    kept, open_ = _independent(A, size)
    found = _balanced(A[kept], E[kept])
    if found is None:
        return None
    share, off = found
    top = float((share + off).max()) * (1.0 + 4.0 * U)
    if np.any(share - off < 0.0) or not top > 0.0:
        return None
    return _Shares(share / top, (off / top) + 4.0 * U, tied[open_])


def _independent(A: Matrix, size: Vector) -> tuple[Index, Index]:
    """Rows that are more than rounding beside those before them, and the others; zeros need nothing."""
    span: list[Vector] = []
    kept, others = [], []
    for k in np.flatnonzero(size):
        length = float(np.linalg.norm(A[k]))
        left = A[k] / length if length else A[k]
        for _ in range(2):
            for one in span:
                left = left - one * float(one @ left)
        if float(np.linalg.norm(left)) > DEPENDENT:
            span.append(left / np.linalg.norm(left))
            kept.append(k)
        else:
            others.append(k)
    return np.array(kept, dtype=np.intp), np.array(others, dtype=np.intp)


def _balanced(A: Matrix, E: Matrix) -> tuple[Vector, Vector] | None:
    """Shares t near one, and how far from them some t with At = 0 is, for every A within E of the one given.

    With C = MA nearly orthonormal, d = Cᵀx for the x with (MA'Cᵀ)x = −MA't balances A' exactly; MA'Cᵀ is one
    up to η, and so ‖x‖ ≤ ‖MA't‖/(1 − η). M need not be accurate, only known.
    """
    k, count = A.shape
    t = np.ones(count)
    if not k:
        return t, np.zeros(count)
    try:
        M = np.linalg.inv(np.asarray(np.linalg.qr(A.T, mode="r")).T)
    except np.linalg.LinAlgError:
        return None
    C = M @ A
    for _ in range(3):
        t = t - C.T @ (M @ (A @ t))
    size, few = np.abs(M), 1.0 + FEW + gamma(count + k)
    loose = gamma(count + 2 * k + 4) * np.abs(A) + E  # entry by entry, of A and of what is made of it
    eta = (
        float(np.linalg.norm(M @ (A @ C.T) - np.eye(k)) + np.linalg.norm(size @ (loose @ np.abs(C).T))) * few
    )
    if not eta < 0.5:
        return None
    left = np.abs(M @ (A @ t)) + size @ (loose @ np.abs(t)) * few
    length = float(np.linalg.norm(left)) / (1.0 - eta) * few
    return t, (np.linalg.norm(C, axis=0) * length + LEAST) * few
