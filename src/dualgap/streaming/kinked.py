"""Losses of straight pieces: rows far from a kink rest in groups, the others are solved as they are.

Where L is linear on a group of rows, Σ a L(y, z) = A·L(ȳ, z̄) with A = Σ a and the group's means; for any
other w the right side is below the left one (Jensen). So rows within `reach` of a kink and one mean row for
each piece (and label) are an ordinary problem with weights, and its dual point, each group's slope given to
all its rows, is one of all rows with the same value.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dualgap.arrays import Matrix, Vector
from dualgap.blocks.addresses import give_back
from dualgap.blocks.source import RowBlock
from dualgap.drive.scans import ScanRequest, ScanStep
from dualgap.losses.shifted import without_offset
from dualgap.proof.blocks import StreamStatement, Weighed, judged, visited
from dualgap.proof.check import inside
from dualgap.streaming.asked import InOneGroup, ScanTask, SlopeRule, SmallProblem, Targets, countable
from dualgap.streaming.far import KeptRows, emptied, far_out, shortest, suspects
from dualgap.streaming.rules import PieceSlopes, pieces
from dualgap.streaming.sampling import Start
from dualgap.traits import Trait

WIDTH = 3.5  # standard deviations of the sample's answer: what crosses from beyond costs 1e-8 to 1e-7
NEXT, MOVED, MOST = 0.2, 2.0, 4.0  # next reach: share of this one, of the move seen; times the first at most
SAME = 1e-12  # share by which two sums of the same losses may differ
WIDER = 4.0  # times the reach where weights got worse by the last one
FINE = 0.1  # of the tolerance: the gap of the small problem
SETTLED = 1e-8  # of a jump: a slope as near to that of its piece is that
LOST = (
    0.3  # of the gap wanted: up to here the next scan is likely to prove it, and gathers no rows for another
)
LOT = 1 << 10  # rows that are summed at a time: of all rows of a block it took three times as long
LIVE = 1 << 25  # numbers of live rows held at a time, 256 MB; beyond, the nearest to a kink, and another scan


@dataclass(frozen=True, eq=False)
class KinkedWish:
    """What a scan is to compute at w: the rule's proof, and the rows within reach of a kink, with groups."""

    statement: StreamStatement
    targets: Targets
    w: Vector
    rule: SlopeRule | None
    constant: float | None
    reach: float
    share: float  # of a block's rows that may be live
    groups: int
    unit: tuple[Vector, Vector]  # centre and scale: rows far out are solved as they are
    gather: bool  # or is a proof all that is expected of the scan?
    exact: bool  # in twice the digits?


@dataclass(frozen=True, eq=False)
class KinkedSums:
    """What it found: a row [Σs, Σsy, Σsx] for each group of resting rows, Σs·offset behind Σsy."""

    weighed: Weighed
    live: KeptRows
    resting: Matrix
    null: float
    reach: float  # up to which all rows near a kink are among the live ones

    def plus(self, other: KinkedSums) -> KinkedSums:
        """Of both lots of rows."""
        return KinkedSums(
            self.weighed.plus(other.weighed),
            self.live.plus(other.live),
            self.resting + other.resting,
            self.null + other.null,
            min(self.reach, other.reach),
        )

    @property
    def finite(self) -> bool:
        """False where a number of the rows is none."""
        return countable(self.weighed)


def kinked_scan(block: RowBlock, wish: KinkedWish) -> KinkedSums:
    """One block."""
    X, y, weight, numbers = wish.targets.of(block)
    loss, rule, n = wish.statement.loss, wish.rule, len(y)
    s = np.ones(n) if weight is None else weight
    with np.errstate(all="ignore"):
        visit = visited(
            InOneGroup.of(wish.statement) if rule is None else wish.statement,
            X,
            y,
            weight,
            wish.w,
            lambda centre, t: None if rule is None else rule.slopes(X, y, numbers),
            exact=wish.exact,
        )
        seen, z = visit.weighed(), visit.scores
        null = 0.0
        if wish.constant is not None:
            null = float(s @ loss.value(y, np.full(n, wish.constant)))
        told = y[:, None] if y.ndim == 1 else y  # targets, with their offsets if there are any
        count = 1 + told.shape[1]
        resting = np.zeros((wish.groups, X.shape[1] + count))
        if not wish.gather:
            return KinkedSums(seen, KeptRows([], [], [], []), resting, null, wish.reach)
        code, away = pieces(loss, y, z, wish.groups)
        away[far_out(X, suspects(seen.tops, *wish.unit), *wish.unit)] = 0.0
        reach, most = wish.reach, int(np.ceil(wish.share * n))
        live = away <= reach
        if np.count_nonzero(live) > most:
            reach = float(np.partition(away, most)[most])
            live = away <= reach
        still = s * ~live
        resting[:, 0] = np.bincount(code, still, wish.groups)
        some = np.flatnonzero(resting[:, 0])
        shares = np.array([still * (code == k) for k in some]).reshape(len(some), n)
        resting[some, 1:count], resting[some, count:] = shares @ told, pulled(X, shares)
    which = np.flatnonzero(live)
    rows = KeptRows([shortest(X[which])], [y[which]], [s[which]], [numbers[which]])
    return KinkedSums(seen, rows, resting, null, reach)


def pulled(X: Any, shares: Matrix) -> Matrix:
    """Σ of the rows of X, for each row of shares; a lot at a time, which a product goes over at once."""
    if hasattr(X, "indptr"):
        return np.asarray((X.T @ shares.T).T)
    found = np.zeros((len(shares), X.shape[1]))
    for i in range(0, len(X), LOT):
        found += shares[:, i : i + LOT] @ X[i : i + LOT]
    return found


class KinkedPursuit:
    """From the sample's answer to the proven one."""

    name = "streamed pieces"

    def __init__(
        self, asked: ScanTask, start: Start, n: int | None, constant: float, width: float | None = None
    ) -> None:
        self.asked, self.constant = asked, constant
        self.width = asked.p if width is None else width  # numbers of a row
        self._null: float | None = None
        self.tops: Vector | None = None
        self.rows = 0
        loss = without_offset(asked.statement.loss)
        labels = Trait.CLASSIFICATION in loss.traits
        self.groups = (loss.terms(np.ones(1)).kink.shape[1] + 1) * (2 if labels else 1)
        self.labels, self.n = labels, n
        terms = loss.terms(np.array([1.0, -1.0]))
        self.jump = float(np.max(terms.upper - terms.lower))
        self.w, self.unit = inside(asked.statement, start.w), (start.centre, start.scale)
        self.first = self.reach = WIDTH * start.sigma
        self.rule: SlopeRule | None = None  # the slopes of a sample prove next to nothing
        self.step = 0.0
        self.gather, self.exact = True, False
        self.best: tuple[float, Vector, float] = (np.inf, self.w, self.reach)

    @property
    def null(self) -> float:
        return 0.0 if self._null is None else self._null

    def _whole(self, w: Vector) -> Vector:
        return w if self.asked.statement.intercept else np.append(w, 0.0)

    def begin(self) -> ScanStep:
        return ScanStep(None, None, self._request())

    def resumed(self) -> Start:
        return Start(self.w, self.reach / WIDTH, *self.unit, self.rows)

    def _request(self) -> ScanRequest:
        constant = self.constant if self._null is None else None
        asked = self.asked
        share = 1.0 if self.n is None else min(1.0, LIVE / (self.width + 2.0) / self.n)
        wish = KinkedWish(
            asked.statement,
            asked.targets,
            self.w,
            self.rule,
            constant,
            self.reach,
            share,
            self.groups,
            self.unit,
            self.gather,
            self.exact,
        )
        return ScanRequest(kinked_scan, (wish,))

    def advance(self, result: KinkedSums) -> ScanStep:
        asked, weight = self.asked, result.weighed.weight.value
        self.tops, self.rows = result.weighed.tops, result.weighed.rows
        if self._null is None:
            self._null = result.null / weight
        found, rule = judged(asked.statement, result.weighed, self.w, asked.tolerance, self.null), self.rule
        scale = max(found.primal, 1e-4 * self.null)
        if found.gap <= asked.tolerance * scale:
            return ScanStep(found, rule, None)
        if rule is not None and not self.exact and asked.blurred(found, self.null):
            self.exact = True
            return ScanStep(found, rule, self._request())
        gathered, self.gather = self.gather, True
        if found.primal > self.best[0] * (1.0 + SAME):
            self._widen()
        else:
            self.best = (found.primal, self.w, self.reach)
            if gathered:
                size = sum(one.size for one in result.live.X)  # which are gone once that is solved
                lost = self._solve(result)
                give_back(size)
                self.gather = lost > LOST * asked.tolerance * scale
        return ScanStep(found, rule, self._request())

    def _widen(self) -> None:
        """The groups promised too much: from the best weights again, with more rows as they are."""
        primal, self.w, reach = self.best
        self.reach = max(WIDER * reach, self.step)
        self.first = max(self.first, self.reach / MOST)
        self.best = (primal, self.w, self.reach)

    def _solve(self, result: KinkedSums) -> float:
        """The small problem: its weights are the next, its slopes the next rule. What that rule is likely to
        lose by resting rows that cross their kinks.
        """
        asked, live = self.asked, result.live
        some = np.flatnonzero(result.resting[:, 0] > 0.0)
        sums = result.resting[some]
        count = sums.shape[1] - asked.p
        X = emptied(live.X, sums[:, count:] / sums[:, :1])
        targets = sums[:, 1:count] / sums[:, :1]
        if self.labels:
            targets[:, 0] = np.sign(targets[:, 0])
        targets = targets[:, 0] if count == 2 else targets
        y, weight = np.concatenate([*live.y, targets]), np.concatenate([*live.weight, sums[:, 0]])
        plain = bool(np.all(weight == 1.0))
        problem = SmallProblem(X, y, None if plain else weight, False, FINE * asked.tolerance, self.w)
        small = asked.solve(problem)
        slopes = -small.theta * (weight.sum() / weight)
        held = len(y) - len(some)
        groups = np.zeros(self.groups)
        groups[some] = slopes[held:]
        numbers = np.concatenate(live.numbers)
        loss, last = asked.statement.loss, self.w
        self.w = inside(asked.statement, small.w)
        own = self._settled(slopes[:held], y[:held], asked.scores(X[:held], self.w))
        self.rule = PieceSlopes(loss, self._whole(last), groups, numbers, own)
        moved = np.abs(asked.scores(X, self.w) - asked.scores(X, last))
        self.step = float(np.sqrt(weight @ (moved * moved) / weight.sum()))
        self.reach = min(max(NEXT * self.reach, MOVED * self.step), MOST * self.first)
        return self._crossing(moved[:held], result.reach, float(weight[:held].sum() / weight.sum()))

    def _settled(self, slopes: Vector, y: Vector, z: Vector) -> Vector:
        """Slopes that the small problem leaves a hair beside that of their piece, or beside none, as that.

        A free column that only such rows have is orthogonal to them then, not nearly so.
        """
        piece, hair = self.asked.statement.loss.derivative(y, z), SETTLED * self.jump
        slopes = np.where(np.abs(slopes - piece) <= hair, piece, slopes)
        return np.where(np.abs(slopes) <= hair, 0.0, slopes)

    def _crossing(self, moved: Vector, reach: float, share: float) -> float:
        """The mean loss of resting rows that cross their kinks, if these move as live ones do.

        As many rows are beyond the reach, for each unit of it, as within it; half of them go the right way.
        """
        if not (len(moved) and reach > 0.0):
            return np.inf
        beyond = np.maximum(moved - reach, 0.0)
        return float(share / reach * 0.25 * self.jump * np.mean(beyond * beyond))
