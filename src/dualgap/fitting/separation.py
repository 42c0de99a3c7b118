"""No finite minimiser: is there a direction along which a loss that never reaches its infimum falls for ever?

Such a direction moves free coordinates only and has y_i (x_i·d) ≥ 0 in every row, > 0 in some. A fit with
gap γ narrows the search: the rows that d separates could lose all of their loss, so together they hold at
most γ of it. Every other row must have x_i·d = 0, which leaves d no room at all on most data. Of losses whose
targets are no labels the rows with a minimum, such as a count that is not zero, are firm: x_i·d = 0, which is
asked of them as of two rows, one on either side.

The search rounds; what it finds is told only if `proof.exact` agrees, on the numbers that were given.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from operator import mul
from typing import cast

import numpy as np
from scipy.special import softmax

from dualgap.arrays import Index, Mask, Matrix, Vector
from dualgap.design import Design
from dualgap.drive.solver import Iterate, Solver
from dualgap.errors import UnboundedError
from dualgap.fitting.feasibility import endless
from dualgap.fitting.reading import Reading
from dualgap.linalg.cone import ROUNDING, separating
from dualgap.multinomial.problem import MultinomialProblem
from dualgap.problem.certificate import Bounds, bounds
from dualgap.problem.precondition import Working
from dualgap.problem.problem import Problem
from dualgap.proof import exact
from dualgap.proof.check import Checked
from dualgap.traits import Trait

RANK = 1e-11  # a singular value this small beside the largest is zero
FLAT = 1e-6  # a singular value this small beside the largest leaves room for a direction
ROUGHLY = 1e-3  # the same before offsets are taken away, which may have cost the columns many digits
ENOUGH = 20  # rows per weight that are looked at first
EVERY = 25  # iterates between two looks
LARGEST = 50_000_000  # numbers in the matrix of differences between classes
FEW = 3  # columns that the message writes out
DIGITS = (2, 4, 8, 12)  # decimals that a direction is rounded to: the rounder the better to read
GRIDS = (1, 2, 4, 16, 2**8, 2**16, 2**26)  # fractions of one for what exact planes leave open
SOLVED = 40  # weights that planes are solved for: 0.6 s where no number is round, 0.3 s for small integers
PER_WEIGHT = 8  # rows on the plane that are looked at, per weight
REMEDY = (
    "Give every column a penalty (a tiny one will do, "
    'such as penalty="l2", lam=1e-6), or leave those columns out.'
)


@dataclass(frozen=True, eq=False)
class Direction:
    """d with y (x·d + b) ≥ 0 everywhere; a row per class where there are more than two.

    `signs` holds the sign of that for every row, or every row and other class, as real numbers.
    """

    coef: Vector
    intercept: Vector
    signs: exact.Signs


def may_be_unattained(problem: Problem) -> bool:
    """Could the objective fall for ever along some direction?"""
    return not problem.loss_has(Trait.ATTAINED) and bool(_free_columns(problem).size)


@dataclass(frozen=True, eq=False)
class Watched:
    """A solver whose iterates are looked at from time to time: those that run away need not run for long."""

    solver: Solver
    working: Working
    reading: Reading

    @property
    def name(self) -> str:
        """That of the solver."""
        return self.solver.name

    def iterates(self, problem: Problem, start: Iterate) -> Iterator[Iterate]:
        """Those of the solver; UnboundedError as soon as they show that there is no end."""
        for count, iterate in enumerate(self.solver.iterates(problem, start), start=1):
            yield iterate
            if count % EVERY == 0:
                seen = bounds(problem, iterate.w, iterate.theta)
                best = bounds(
                    self.working.asked, self.working.weights(seen.w), self.working.theta(seen.theta)
                )
                refuse_unattained(self.working, best, self.reading)


def watched(solvers: Sequence[Solver], working: Working, reading: Reading) -> Sequence[Solver]:
    """The solvers, under watch where the objective may have no minimiser."""
    if not may_be_unattained(working.asked):
        return solvers
    return [cast(Solver, Watched(one, working, reading)) for one in solvers]


def refuse_unattained(working: Working, best: Bounds | Checked, reading: Reading) -> None:
    """Raise UnboundedError, with the direction, if the objective is shown to have no minimiser."""
    asked, inner = working.asked, working.problem
    if not may_be_unattained(asked):
        return
    free = np.flatnonzero(inner.free[: inner.design.shape[1]])
    rows = _pairs(working, inner.design.columns(free).toarray(), best)
    if rows is None or not rows.suspects.any() or not rows.room(ROUGHLY).shape[1]:
        return
    judge = _Judge(asked)
    found = _single_column(judge) or _iterate_itself(judge, best) or _combination(working, judge, best)
    if found is not None and endless(reading.terms, found.coef):
        level = found.intercept if np.ndim(found.intercept) else float(found.intercept)
        raise UnboundedError(_message(found, reading), direction=found.coef, intercept=level)


def _free_columns(problem: Problem) -> Index:
    """Free columns of one class, without the intercept."""
    width = problem.design.shape[1]
    free = problem.free[:width]
    return np.flatnonzero(free[:-1] if problem.intercept else free)


@dataclass(frozen=True, eq=False)
class _Pairs:
    """Signed rows: d separates where signed·d > 0, which only `suspects` may have; the others have 0."""

    signed: Matrix
    suspects: Mask

    def room(self, flat: float = FLAT) -> Matrix:
        """An orthonormal basis of the directions that leave the rows that are no suspects where they are."""
        firm, width = np.flatnonzero(~self.suspects), self.signed.shape[1]
        basis = np.eye(width)
        for some in (firm[: ENOUGH * width], firm):  # a few rows leave no room on most data
            rows = self.signed[some]
            scale = np.linalg.norm(rows, axis=1)
            long = scale > ROUNDING * scale.max(initial=0.0)
            rows = rows[long] / scale[long, None]
            if len(rows):
                sizes, vectors = np.linalg.eigh(rows.T @ rows)
                basis = vectors[:, sizes <= flat**2 * float(sizes[-1])]
            if not basis.shape[1] or len(some) == len(firm):
                break
        return np.asarray(basis)

    def direction(self) -> Vector | None:
        """One that separates as many suspects as any, to rounding."""
        room = self.room()
        if not room.shape[1]:
            return None
        inside = self.signed[self.suspects] @ room
        length = np.linalg.norm(inside, axis=1)
        alive = length > ROUNDING * np.linalg.norm(self.signed[self.suspects], axis=1)
        found = separating(inside[alive] / length[alive, None]) if alive.any() else None
        return None if found is None else room @ found


def _pairs(working: Working, columns: Matrix, best: Bounds | Checked) -> _Pairs | None:
    """The rows of the working problem in these coordinates, and which of them hold little enough loss."""
    asked, inner = working.asked, working.problem
    allowed = max(best.gap, 0.0) + 1e-15 * abs(best.primal)
    prediction = asked.predict(best.w)
    if not isinstance(asked, MultinomialProblem):
        held = inner.a * inner.loss.value(inner.y, working.rows(prediction))
        side = inner.loss.falls_towards(inner.y)
        return _Pairs(columns * np.where(side, side, 1.0)[:, None], (held <= allowed) & (side != 0.0))
    return _differences(asked, columns, prediction, allowed)


def _differences(asked: MultinomialProblem, columns: Matrix, z: Matrix, allowed: float) -> _Pairs | None:
    """A row per pair (row, other class): the own class's block minus the other's."""
    n, f = columns.shape
    if n * f * asked.classes * (asked.classes - 1) > LARGEST:
        return None
    signed, held = [], []
    with np.errstate(divide="ignore"):
        loss = -np.log1p(-np.minimum(softmax(z, axis=1), 1.0))  # what removing a class saves
    for other in range(asked.classes):
        where = np.flatnonzero(asked.y != other)
        block = np.zeros((len(where), asked.classes, f))
        block[np.arange(len(where)), asked.y[where].astype(int)] = columns[where]
        block[:, other] -= columns[where]
        signed.append(block.reshape(len(where), -1))
        held.append(asked.a[where] * loss[where, other])
    return _Pairs(np.vstack(signed), np.concatenate(held) <= allowed)


class _Judge:
    """The free columns as given, with two classes as scores 0 and x·d: which directions separate them?"""

    def __init__(self, asked: Problem) -> None:
        self.asked, self.free = asked, _free_columns(asked)
        self.many = isinstance(asked, MultinomialProblem)
        self.design, self.y = (asked.design, asked.y) if self.many else _on_sides(asked)
        self.X = np.asarray(self.design.columns(self.free).toarray(), dtype=np.float64)
        self.own = self.y.astype(np.intp) if self.many else (self.y > 0).astype(np.intp)
        self.classes = asked.classes if isinstance(asked, MultinomialProblem) else 2

    def coordinates(self) -> tuple[Matrix, Matrix]:
        """The free columns as combinations of length one at right angles, and the matrix that makes them.

        Counted from the first row, which takes an offset away without rounding (Sterbenz 1974), then centred.
        """
        size = _power_of_two(self.X)
        X = self.X / size  # so that differences cannot overflow
        if self.asked.intercept:
            X = X - X[0]
        spread = _power_of_two(X)
        X = X / spread
        if self.asked.intercept:
            X = X - X.mean(axis=0)
        left, upper = np.linalg.qr(X)
        turn, sizes, right = np.linalg.svd(upper)
        rank = int(np.count_nonzero(sizes > RANK * sizes.max(initial=0.0)))
        columns = (left @ turn[:, :rank]) * np.sqrt(len(X))
        made_by = right[:rank].T / sizes[:rank] * np.sqrt(len(X)) / spread[:, None] / size[:, None]
        if self.asked.intercept:
            columns = np.column_stack([columns, np.ones(len(X))])
        return columns, made_by

    def blocks(self, rows: Matrix) -> Matrix:
        """Weights of the free columns, a row per class."""
        return rows if self.many else np.vstack([np.zeros(len(self.free)), rows])

    def judged(self, blocks: Matrix) -> Direction | None:
        """The direction with the floats that are the best levels for it, if that separates."""
        room, levels = self._levels(blocks)
        if room < 0:
            return None
        coef = np.zeros((self.classes, self.asked.design.shape[1] - self.asked.intercept))
        coef[:, self.free] = blocks
        level = np.array([float(value - levels[0]) for value in levels])
        matrix, y = self.design.matrix, self.y
        told = (coef, level) if self.many else (coef[1], level[1])
        if not exact.separates(matrix, y, *told):
            return None
        ahead = exact.leads(matrix, self.own, coef, level)
        return Direction(told[0], told[1], np.asarray(ahead[self.own[:, None] != np.arange(len(coef))]))

    def _levels(self, blocks: Matrix) -> tuple[Fraction, list[Fraction]]:
        """By how much every row can be ahead with these blocks, and the levels that make it so."""
        ahead = self._ahead(blocks)
        if not self.asked.intercept:
            return min(map(min, ahead)), [Fraction(0)] * self.classes
        return _potentials(ahead)

    def _ahead(self, blocks: Matrix) -> list[list[Fraction]]:
        """The least x·(w_c − w_k) in class c, without rounding: floats say which rows may have it."""
        found = [[Fraction(0)] * self.classes for _ in range(self.classes)]
        used = blocks.any(axis=0)  # one word may tell classes apart, of thousands
        if not used.any():
            return found
        blocks = blocks[:, used]
        numbers, below = exact.whole(blocks.ravel().tolist())
        numbers = numbers.reshape(blocks.shape)
        for c in range(self.classes):
            X = self.X[self.own == c][:, used]
            if not len(X):
                continue
            with np.errstate(all="ignore"):
                score, size = X @ blocks.T, np.abs(X) @ np.abs(blocks).T
                along, room = score[:, [c]] - score, (len(self.free) + 4) * 2.0**-51 * (size[:, [c]] + size)
                near = ~(along - room > (along + room).min(axis=0))
            for k in set(range(self.classes)) - {c}:
                rows = [exact.whole(x) for x in np.unique(X[near[:, k]], axis=0).tolist()]
                mix = numbers[c] - numbers[k]
                found[c][k] = min(Fraction(sum(map(mul, x, mix)), unit * below) for x, unit in rows)
        return found

    def on_plane(self, blocks: Matrix) -> Iterator[Matrix]:
        """Directions near this one on whose planes the rows that seem to touch them lie exactly.

        Those rows are equations for the weights, solved with integers: some weights are kept, the others
        follow. Weights that no float holds are left out.
        """
        rows = self._touching(blocks)
        if not len(rows) or rows.shape[1] > SOLVED:
            return
        last = 1 if self.asked.intercept else 0
        first = slice(None) if self.many else slice(1, None)
        near = np.column_stack([blocks, np.zeros((len(blocks), last))])[first].ravel()
        size = np.abs(near) * np.abs(rows).max(axis=0)
        if last:
            size[len(self.free) :: len(self.free) + 1] = np.inf  # levels always follow
        order = np.argsort(-size, kind="stable")
        lines = [exact.whole(column) for column in rows.T[order].tolist()]
        pivots, solved, unit = exact.eliminated(np.array([line for line, _ in lines], dtype=object).T)
        kept = np.setdiff1d(np.arange(len(near)), pivots)
        for grid in GRIDS:
            t = np.zeros(len(near), dtype=object)
            t[:] = Fraction(0)
            t[kept] = [Fraction(round(grid * near[order[k]]), grid * lines[k][1]) for k in kept]
            t[pivots] = -(solved[: len(pivots)] @ t) / unit
            turned = np.zeros(len(near), dtype=object)
            turned[order] = t * np.array([below for _, below in lines], dtype=object)
            turned = turned.reshape(-1, len(self.free) + last)[:, : len(self.free)]
            found = _floats(turned.ravel())
            if found is not None and found.any():
                yield self.blocks(found.reshape(turned.shape))

    def _touching(self, blocks: Matrix) -> Matrix:
        """Rows [x, 1] on the plane to rounding, for many classes as differences of blocks; some of them."""
        first = [Fraction(value) for value in self.X[0].tolist()]
        start = [
            sum(map(mul, first, map(Fraction, w)), level)
            for w, level in zip(blocks.tolist(), self._levels(blocks)[1], strict=True)
        ]
        score = (self.X - self.X[0]) @ blocks.T + [float(value - start[0]) for value in start]
        ahead = np.take_along_axis(score, self.own[:, None], 1) - score
        flat = np.abs(ahead) <= ROUNDING * float(np.abs(ahead).max())
        rows = np.argwhere(flat & (self.own[:, None] != np.arange(self.classes)))
        if not len(rows):
            return np.zeros((0, 0))
        full = np.column_stack([self.X, np.ones(len(self.X))]) if self.asked.intercept else self.X
        table = np.zeros((len(rows), self.classes, full.shape[1]))
        table[np.arange(len(rows)), self.own[rows[:, 0]]] = full[rows[:, 0]]
        table[np.arange(len(rows)), rows[:, 1]] = -full[rows[:, 0]]
        table = table.reshape(len(rows), -1) if self.many else table[:, 1]
        table = np.unique(table, axis=0)
        return np.random.default_rng(0).permutation(table)[: PER_WEIGHT * table.shape[1]]


def _on_sides(asked: Problem) -> tuple[Design, Vector]:
    """The rows as two classes by where their loss falls; those that are firm in both, again at the end."""
    side = asked.loss.falls_towards(asked.y)
    firm = np.flatnonzero(side == 0.0)
    if not len(firm):
        return asked.design, side
    which = np.append(np.arange(asked.n), firm)
    return asked.design.rows(which), np.append(np.where(side, side, 1.0), np.full(len(firm), -1.0))


def _power_of_two(X: Matrix) -> Vector:
    """The size of each column; dividing by it rounds nothing."""
    return np.asarray(np.exp2(np.frexp(np.abs(X).max(axis=0, initial=0.0))[1].clip(-1000, 1000)))


def _floats(values: exact.Integers) -> Vector | None:
    """Rationals as floats in the same proportions, if there are such."""
    below = math.lcm(*(value.denominator for value in values))
    whole = [int(value * below) for value in values]
    shared = math.gcd(*whole) or 1
    found = [value // shared for value in whole]
    if any(value.bit_length() > 53 for value in found):
        return None
    return np.array(found, dtype=np.float64)


def _potentials(ahead: list[list[Fraction]]) -> tuple[Fraction, list[Fraction]]:
    """Levels b that make the least of ahead_ck + b_c − b_k as large as it can be, and that least.

    It is the least mean of a cycle (Karp 1978); with it taken from every edge, shortest walks are levels.
    """
    K = len(ahead)
    others = [[c for c in range(K) if c != k] for k in range(K)]
    walks = [[Fraction(0)] * K]
    for _ in range(K):
        walks.append([min(walks[-1][c] + ahead[c][k] for c in others[k]) for k in range(K)])
    least = min(max((walks[K][k] - walks[j][k]) / (K - j) for j in range(K)) for k in range(K))
    levels = [min(walks[j][k] - j * least for j in range(K)) for k in range(K)]
    return least, levels


def _single_column(judge: _Judge) -> Direction | None:
    """One column that does it alone: the plainest proof."""
    if judge.many:
        return None
    up, down = judge.X[judge.own == 1], judge.X[judge.own == 0]
    far = np.inf  # where there is no row on a side, nothing holds the other
    least = up.min(axis=0, initial=far), -up.max(axis=0, initial=-far)
    most = down.max(axis=0, initial=-far), -down.min(axis=0, initial=far)
    live = np.minimum(least[0], -most[1]) < np.maximum(-least[1], most[0])
    for side, (low, high) in enumerate(zip(most, least, strict=True)):
        if not judge.asked.intercept:
            low, high = np.maximum(low, 0.0), np.minimum(high, 0.0)
        for j in np.flatnonzero((low <= high) & live):
            rows = np.zeros((1, len(judge.free)))
            rows[0, j] = (1.0, -1.0)[side]
            found = judge.judged(judge.blocks(rows))
            if found is not None:
                return found
    return None


def _iterate_itself(judge: _Judge, best: Bounds | Checked) -> Direction | None:
    """Weights that have run away on fully separated classes have room on both sides: the best direction."""
    rows = best.w.reshape(-1, judge.asked.design.shape[1])[:, judge.free]
    top = float(np.abs(rows).max())
    if not 0.0 < top < np.inf:
        return None
    found = judge.judged(judge.blocks(rows / top))
    return found if found is not None and found.signs.min() > 0 else None


def _combination(working: Working, judge: _Judge, best: Bounds | Checked) -> Direction | None:
    """What a search in good coordinates finds, made exact: the strictest, of those the roundest."""
    columns, made_by = judge.coordinates()
    rows = _pairs(working, working.rows(columns[: judge.asked.n]), best)
    moves = None if rows is None else rows.direction()
    if moves is None:
        return None
    turned = moves.reshape(-1, columns.shape[1])[:, : made_by.shape[1]] @ made_by.T
    top = float(np.abs(turned).max())
    if not 0.0 < top < np.inf:
        return None
    blocks = judge.blocks(turned / top)
    told: list[Direction] = []
    for near in (*(np.round(blocks, digits) for digits in DIGITS), blocks):
        found = judge.judged(near)
        if found is not None and found.signs.min() > 0:
            return found
        told += [found] if found is not None else []
    if told:
        return max(told, key=lambda direction: int(np.count_nonzero(direction.signs > 0)))
    exactly = (judge.judged(near) for near in judge.on_plane(blocks))
    return next((direction for direction in exactly if direction is not None), None)


def _message(found: Direction, reading: Reading) -> str:
    loss = str(reading.terms.loss)
    count = "some" if found.coef.ndim == 2 else int(np.count_nonzero(found.signs > 0))
    if Trait.CLASSIFICATION not in reading.terms.loss.traits:
        return (
            f"No finite minimiser exists: along {_sum(found, reading)} the predictions of {count} rows move, "
            f"whose targets are at the end of their range, and no others; so the {loss} loss falls for ever "
            f"along it and weights grow without end. {REMEDY}"
        )
    whole = bool(np.all(found.signs > 0))
    share = "the classes" if whole else f"{count} rows from the others"
    return (
        f"No finite minimiser exists: {_rule(found, reading)} separates {share}, so the {loss} loss falls "
        f"for ever along it and weights grow without end. {REMEDY}"
    )


def _rule(found: Direction, reading: Reading) -> str:
    coef, names = np.atleast_2d(found.coef), _names(found, reading)
    if len(coef) > 1 or len(names) > FEW:
        return _sum(found, reading)
    level = 0.0 - float(found.intercept)
    if len(names) == 1:
        sign = coef[coef != 0.0][0]
        return f"{names[0]} {'>' if sign > 0 else '<'} {level / sign:.6g}"
    return f"{_sum(found, reading)} > {level:.6g}"


def _sum(found: Direction, reading: Reading) -> str:
    """The columns of the direction: their sum, or the first of many."""
    names = _names(found, reading)
    if found.coef.ndim == 1 and len(names) <= FEW:
        weights = found.coef[found.coef != 0.0]
        return " ".join(f"{weight:+.4g}*{name}" for weight, name in zip(weights, names, strict=True))
    listed = ", ".join(names[:FEW]) + (", …" if len(names) > FEW else "")
    return f"a combination of {len(names)} columns ({listed})"


def _names(found: Direction, reading: Reading) -> list[str]:
    used = np.flatnonzero(np.atleast_2d(found.coef).any(axis=0))
    return [reading.table.names[j] if reading.table.names else f"x{j}" for j in used]
