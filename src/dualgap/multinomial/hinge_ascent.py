"""The joint hinge with a squared penalty: its dual, one row at a time, and Newton steps between the rows.

Sweeps find which rows and classes matter but agree slowly on their shares. These are few in the end: over the
shares that are not zero, the dual is a small quadratic whose top is one factorisation away. The way there is
bent at the edges of the simplices, and taken as far as it leads up.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from dualgap.arrays import Index, Matrix, Vector
from dualgap.drive.registry import solver
from dualgap.drive.solver import STEP, Iterate
from dualgap.linalg.cholesky import cholesky
from dualgap.multinomial.hinge import JointHingeProblem
from dualgap.solvers.prices import lacks_prices, prices

MOST_FREE = 4  # a choice: free columns, whose multipliers take a proximal step each iterate
SHARE = 0.05  # of the square norm of a row, the free columns' part: more couples the rows, less slows b
BATCH = 50  # sweeps before a Newton step is tried: with 25 digits took a tenth longer, 20000x20x20 a fifth
NEWTON, WORTH = 4, 0.1  # such steps in a row, while each raises the dual by this share of the gap aimed at
LARGEST = 1500  # shares that are not zero, up to which they are factored: 1e9 operations
BENT = 8  # lengths tried along a bent way, each half of the one before
DAMPED = 1e-10  # share of the mean diagonal: more shares than weights have no single top
LIMIT = 2000  # batches: the end of a loop that cannot go on for ever
LOOK = 3  # batches between two looks at the whole, at most
FIRST, LOWER = 0.1, 0.1  # share of the null objective at which rows are looked at again, and the next such
NEAR = 3.0  # times the gap wanted: with free columns, whose multipliers are not in the rows' gap
SELDOM = 20  # visits a row between two looks from outside, each of which takes as long as two or three
AIM = 0.3  # share of the gap wanted: it is summed while it shrinks
TINY = 1e-16  # a relative gap that is rounding
PASSES = 1000.0  # visits a row before another solver has its turn: digits took 110 at C' = 100
ROW_BY_ROW = 10.0  # an operation on one row takes as long as this many on blocks
USUAL = 60.0  # visits a row, most of them to few classes: 13 to 110 on digits from C' = 0.01 to 100
TALL = 10.0  # rows a weight, beyond which many rows keep several shares for long and Newton steps do not help


@solver("joint_hinge_ascent", kind="joint hinge")
@dataclass(frozen=True)
class JointHingeAscent:
    """max D over one row's shares at a time, w = Λ⁻¹Xᵀθ kept, and Newton steps on the shares not zero.

    Free columns ask for x_j·θ_k = 0: the method of multipliers, as in `dual_coordinate_ascent`. Cost per
    sweep: a pass over the rows for each class that is still in play. Memory: a scaled copy of the rows, four
    numbers for each row and class.
    """

    passes: float = np.inf
    name: ClassVar[str] = "joint_hinge_ascent"

    def missing(self, problem: JointHingeProblem) -> tuple[str, ...]:
        lacking = lacks_prices(problem)
        if lacking:
            return lacking
        price, ridge = (one.reshape(problem.classes, problem.width) for one in prices(problem))
        if price.any() or not ridge.any():
            return ("the penalty is not l2",)
        if np.any(ridge != ridge[0]):
            return ("the classes pay different prices",)
        if np.count_nonzero(ridge[0] == 0.0) > MOST_FREE:
            return (f"more than {MOST_FREE} columns are free",)
        return ()

    def attempts(self, problem: JointHingeProblem) -> list[tuple[float, JointHingeAscent]]:
        """For so many visits only."""
        return [(self.cost(problem), replace(self, passes=PASSES))]

    def cost(self, problem: JointHingeProblem) -> float:
        visits = USUAL
        if problem.n > TALL * problem.p:  # as for `dual_coordinate_ascent`: rows that share columns
            ridge = prices(problem)[1][: problem.width]
            inverse = 1.0 / np.where(ridge > 0.0, ridge, np.inf)
            stiff = float(problem.a @ problem.a) * float(problem.column_squares[: problem.width] @ inverse)
            visits = 12.0 + 20.0 * stiff * (problem.n / problem.width) ** 0.4
        return float(STEP + 4.0 * visits * ROW_BY_ROW * problem.design.stored * np.sqrt(problem.classes))

    def iterates(self, problem: JointHingeProblem, start: Iterate) -> Iterator[Iterate]:
        run = _Ascent(problem, start)
        unit = abs(problem.null)
        goal, blind, shown = FIRST * unit, 0, 0
        for _ in range(LIMIT):
            reached = run.sweep(goal)
            if reached > goal:
                run.climb(WORTH * goal)
                blind += 1
                if blind % LOOK:
                    continue
            iterate, primal, apart = run.look()
            near = problem.relative(apart, primal) <= start.wanted * (1.0 if run.plain else NEAR)
            seen = near or not start.wanted or run.visits >= shown + SELDOM * problem.n
            shown = run.visits if seen else shown
            yield replace(iterate, look=seen, outright=near and run.plain)
            unit = min(unit, primal)
            drift = run.multipliers()
            least = max(AIM * start.wanted * unit, 0.1 * drift)
            if reached <= goal:
                goal = max(LOWER * goal, least) if goal > least else 0.3 * goal
            if goal < TINY * abs(problem.null) or run.visits >= self.passes * problem.n:
                return


class _Ascent:
    """The shares π of the classes in every row, weights that go with them, multipliers of free columns."""

    def __init__(self, problem: JointHingeProblem, start: Iterate) -> None:
        from dualgap.compiled.lines import square_norms
        from dualgap.solvers.design_lines import scaled_rows

        self.problem = problem
        ridge = prices(problem)[1].reshape(problem.classes, problem.width)[0]
        self.free = ridge == 0.0
        inverse = np.where(self.free, 0.0, 1.0 / np.where(self.free, 1.0, ridge))
        squares = problem.design.weighted_square_norms(problem.a)
        self.scale = np.sqrt(np.where(self.free, SHARE * float(squares @ inverse), inverse))
        self.rows = scaled_rows(problem.design, self.scale, compact=False)
        self.square = square_norms(self.rows)
        self.own = problem.y.astype(np.int64)
        self.shares = problem.hot.copy()
        if start.theta is not None and start.theta.any():
            self.shares = onto_simplices(problem.probabilities(start.theta))
        self.centre = np.where(self.free, start.w.reshape(problem.classes, problem.width), 0.0)
        self.offset = self._predicted(self.centre)
        self.random = np.array([20080824], dtype=np.int64)
        self.visits, self.beyond = 0, np.inf
        self._everything()
        self._refresh()

    def _predicted(self, W: Matrix) -> Matrix:
        return np.ascontiguousarray(self.problem.predict(W.ravel()))

    def _everything(self) -> None:
        """All rows and classes are in play."""
        n, count = self.shares.shape
        self.classes = np.tile(np.arange(count, dtype=np.int32), (n, 1))
        self.left, self.active = np.full(n, count), np.arange(n)

    @property
    def theta(self) -> Matrix:
        return np.asarray(self.problem.a[:, None] * (self.problem.hot - self.shares))

    def _refresh(self) -> Vector:
        """The weights from the shares, free of accumulated rounding; Xᵀθ."""
        pulled = self.problem.correlation(self.theta)
        self.W = np.ascontiguousarray(pulled.reshape(self.centre.shape) * self.scale)
        return pulled

    def sweep(self, goal: float) -> float:
        """Sweep until the gap of the rows in play is no more than the goal; what it is."""
        from dualgap.multinomial.hinge_sweeps import ascend_joint

        row = (self.own, self.problem.a.copy(), self.square, self.offset)
        watch = (self.classes, self.left, self.active, self.random)
        gap, active, visits, self.beyond = ascend_joint(
            self.rows, row, self.shares, self.W, watch, (goal, BATCH, self.beyond)
        )
        self.visits += visits
        self.active = self.active[:active].copy()
        return float(gap)

    @property
    def plain(self) -> bool:
        """Is no column free? Then the rows' gap is all of it."""
        return not self.free.any()

    def look(self) -> tuple[Iterate, float, float]:
        """The primal point that the dual one proposes, its objective, and the gap of all rows.

        In play from there on are the classes that have a share, or lead one that has.
        """
        from dualgap.multinomial.hinge_sweeps import put_in_play

        problem, pulled = self.problem, self._refresh()
        w = (self.W * self.scale + self.centre).ravel()
        prediction = problem.predict(w)
        row = self.own, problem.a.copy(), np.ascontiguousarray(prediction)
        risk, gap = put_in_play(row, self.shares, self.classes, self.left)
        self.active = np.flatnonzero(self.left > 1)
        found = Iterate(w, self.theta, prediction, correlation=pulled)
        return found, risk + problem.regulariser.value(w), gap

    def multipliers(self) -> float:
        """A proximal step on the free coordinates; what their imbalance adds to the gap."""
        if not self.free.any():
            return 0.0
        drift = float(np.square(self.W[:, self.free]).sum())
        self.centre = np.where(self.free, self.scale * self.W + self.centre, 0.0)
        self.offset = self._predicted(self.centre)
        return drift

    def climb(self, enough: float) -> None:
        """Newton steps on the shares that are not zero, while they lead up by enough."""
        for _ in range(NEWTON):
            shared = self.shares > 0.0
            some = np.flatnonzero(shared.sum(axis=1) > 1)
            if not 0 < int(shared[some].sum()) - len(some) <= LARGEST:
                return
            face = _Face(self, some)
            moved, raised = face.best()
            if not raised > 0.0:
                return
            self.shares[some] = moved
            self.W += face.weights(moved)
            if raised < enough:
                return

    def lines(self, which: Index) -> Any:
        """Some of the scaled rows."""
        dense, starts, indices, values = self.rows
        shape = (len(starts) - 1, len(self.scale))
        if dense:
            return values.reshape(shape)[which]
        return sp.csr_array((values, indices, starts), shape=shape)[which]


class _Face:
    """Rows with several shares above zero: how the dual changes while the other shares stay at zero."""

    def __init__(self, run: _Ascent, some: Index) -> None:
        self.shares, self.weight, self.lines = run.shares[some], run.problem.a[some], run.lines(some)
        self.ahead = self.lines @ run.W.T + run.offset[some] + (1.0 - run.problem.hot[some])

    def weights(self, shares: Matrix) -> Matrix:
        """How W changes when the shares become these."""
        fallen = self.weight[:, None] * (self.shares - shares)
        return np.asarray((self.lines.T @ fallen).T)

    def raised(self, shares: Matrix) -> float:
        """How much the dual rises."""
        rise = float((self.weight[:, None] * (shares - self.shares) * self.ahead).sum())
        return rise - 0.5 * float(np.square(self.weights(shares)).sum())

    def best(self) -> tuple[Matrix, float]:
        """The highest point met along the way to the top, bent at the edges."""
        way, held = self._newton(), self.shares > 0.0
        best, most = self.shares, 0.0
        for length in [*(0.5 ** np.arange(BENT)), self._room(way)]:
            wanted = np.where(held, self.shares + length * way, -np.inf)
            tried = onto_simplices(wanted)
            raised = self.raised(tried)
            if raised > most:
                best, most = tried, raised
            elif most > 0.0:
                break
            if length == 1.0 and (wanted[held] > 0.0).all():
                break
        return best, most

    def _room(self, way: Matrix) -> float:
        """How far along the way the first share is gone: up to there it is straight, and leads up."""
        falling = way < 0.0
        return min(float((self.shares[falling] / -way[falling]).min(initial=1.0)), 1.0)

    def _newton(self) -> Matrix:
        """To the top over the shares above zero, of which the largest of each row gives what others take."""
        largest, taking = self.shares.argmax(axis=1), self.shares > 0.0
        taking[np.arange(len(largest)), largest] = False
        i, k = np.nonzero(taking)
        given, root = largest[i], np.sqrt(self.weight[i])
        gram = self.lines @ self.lines.T
        gram = np.asarray(gram.toarray() if sp.issparse(gram) else gram)
        same = (k[:, None] == k) + (given[:, None] == given) * 1.0
        system = (same - (k[:, None] == given) - (given[:, None] == k)) * gram[np.ix_(i, i)]
        system *= root[:, None] * root
        system.flat[:: len(i) + 1] += DAMPED * float(np.trace(system)) / len(i)
        step = cholesky(system)(root * (self.ahead[i, k] - self.ahead[i, given])) / root
        way = np.zeros_like(self.shares)
        way[i, k] = step
        np.subtract.at(way, (i, given), step)
        return way


def onto_simplices(wanted: Matrix) -> Matrix:
    """The nearest shares of one, row by row; −∞ stays without a share."""
    falling = -np.sort(-wanted, axis=1)
    totals = np.cumsum(np.where(np.isfinite(falling), falling, 0.0), axis=1) - 1.0
    levels = totals / np.arange(1, wanted.shape[1] + 1)
    last = (falling > levels).sum(axis=1) - 1
    return np.asarray(np.maximum(wanted - levels[np.arange(len(wanted)), last][:, None], 0.0))
