"""C = ∞ with a kernel: min ‖f‖² subject to y (f + b) ≥ 1, or the proof that the classes cannot be separated.

A soft margin whose coefficients all stay below C is the hard one, so C is raised until that happens. Where it
does not, the rows at the bound are asked: the nearest points of their hulls in the kernel's space either give
the surface or meet.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from dualgap.arrays import Index, Matrix, Vector
from dualgap.drive.limits import Limits, Status
from dualgap.drive.run import Outcome
from dualgap.drive.trace import Record, Trace
from dualgap.errors import DataError, InfeasibleError
from dualgap.kernel_machines.answer import KernelSolution, Statement, relative
from dualgap.kernel_machines.box import Box
from dualgap.kernel_machines.factored import factor
from dualgap.kernel_machines.finish import ActiveSet
from dualgap.kernel_machines.hull import nearest_points
from dualgap.kernel_machines.problem import KernelProblem
from dualgap.kernel_machines.solve import Proposal, decomposition
from dualgap.kernels import LinearGram, LinearKernel
from dualgap.kernels.base import array_of
from dualgap.losses import Hinge, Loss
from dualgap.problem.dual_point import balance
from dualgap.proof.balance import zero_sum
from dualgap.proof.check import Checked
from dualgap.proof.exact import hulls_meet
from dualgap.proof.kernel import KernelStatement
from dualgap.proof.margin import check_kernel_margin, widest
from dualgap.proof.rounding import U

STRENGTHS = (1e1, 1e3, 1e5, 1e7, 1e9)
MEET = 1e-13  # a squared distance this small beside k(x, x) is rounding of the kernel matrix
SLACK = 1e-13  # of the largest coefficient: a narrow margin hangs on every digit
BUDGET = 60.0  # seconds where none were given: a margin near rounding is not searched for for ever
FIRST, MORE = 200, 50  # rows in the first working set, and at most added at a time
ROUNDS = 100
TRIES = 4  # of scaling β up until its floats keep the margin
ENOUGH = 16.0 * U  # beyond the margin, beside the predictions: what another rounding of them takes
ROOM = 64.0 * U  # beyond the margin, beside |K||β|: a K computed otherwise then keeps it too
SPARE = 0.05  # of the tolerance: the most that is given up for that


def refuse_hard(loss: Loss, approximation: str | None) -> None:
    """C = ∞ is for the hinge loss and the exact kernel."""
    if not isinstance(loss, Hinge):
        raise DataError(f'C=inf is the hard margin of loss="hinge", not of {loss}; give a finite C.')
    if approximation is not None:
        raise DataError("C=inf needs the exact kernel: leave out the approximation, or give a finite C.")


def hard_margin(statement: Statement, y: Vector, limits: Limits) -> KernelSolution:
    """The machine for C = ∞; InfeasibleError where no surface with a margin beyond rounding separates."""
    search = _Search(statement.problem(y), limits)
    try:
        found = search.run()
    except InfeasibleError as error:
        assert error.proof is not None
        proof = np.zeros(len(y))
        proof[statement.used] = error.proof
        raise InfeasibleError(str(error), proof=proof) from None
    gap = relative(found.gap, found.primal, 0.0)
    status = Status.CERTIFIED if gap <= limits.tolerance else Status.STALLED
    seconds = time.perf_counter() - search.began
    record = Record(
        search.rounds, seconds, found.primal, found.primal, found.dual, "nearest_points", None, None
    )
    outcome = Outcome(found, status, "nearest_points", search.rounds, seconds, Trace([record]))
    return statement.solution(outcome, found.primal, limits.tolerance)


@dataclass(frozen=True, eq=False)
class _Found:
    """β whose nearest row would be at margin one, and what that seems to be worth."""

    beta: Vector
    objective: float
    bound: float

    @property
    def gap(self) -> float:
        """What seems to be left."""
        return abs(self.objective - self.bound)


class _Search:
    def __init__(self, problem: KernelProblem, limits: Limits) -> None:
        self.problem, self.limits = problem, limits
        self.gram, self.y, self.intercept = problem.gram, problem.y, problem.intercept
        self.began, self.rounds = time.perf_counter(), 0
        self.deadline = self.began + (BUDGET if limits.seconds is None else limits.seconds)

    @property
    def stated(self) -> KernelStatement:
        """The problem on K as given."""
        return self.problem.stated

    @property
    def late(self) -> bool:
        """Is the time spent?"""
        return time.perf_counter() > self.deadline

    def run(self) -> Checked:
        """The surface, or InfeasibleError."""
        beta = np.zeros(len(self.y))
        best: _Found | None = None
        for C in STRENGTHS:
            soft = self._soft(C, beta)
            if soft is None or self.late:
                break
            beta = soft.beta
            found = self._polished(soft.beta)
            best = found if best is None or found.gap < best.gap else best
            if self._seems(found):
                proven = self._proven(found.beta)
                if proven.gap <= self.limits.tolerance * proven.primal < np.inf:
                    return proven
        return self._proven(self._by_hulls(beta, best).beta)

    def _seems(self, found: _Found) -> bool:
        """Is this near enough to ask for a proof?"""
        return found.gap <= self.limits.tolerance * found.objective < np.inf

    def _soft(self, C: float, start: Vector) -> Proposal | None:
        """The soft margin's exact solution, if one comes in time."""
        n = len(self.y)
        problem = KernelProblem(
            self.gram, self.y, np.full(n, 1.0 / n), Hinge(), 1.0 / (C * n), self.intercept
        )
        with np.errstate(all="ignore"):
            for proposal in decomposition(problem, start):
                self.rounds += 1
                if proposal.certify:
                    return proposal
                if self.late:
                    break
        return None

    def _by_hulls(self, beta: Vector, best: _Found | None) -> _Found:
        """What the rows with the largest coefficients say, and those that then come out too near."""
        chosen = self._first(beta)
        found = best or self._scaled(self._means())
        for _ in range(ROUNDS):
            features = self._features(chosen)
            hulls = nearest_points(features, self.y[chosen], intercept=self.intercept, deadline=self.deadline)
            self.rounds += 1
            weights = np.zeros(len(self.y))
            weights[chosen] = self.y[chosen] * hulls.weights
            f = self.gram.product(weights)
            square = max(float(weights @ f), 0.0)
            if hulls.meet or (square <= MEET * float(self.gram.diagonal.max()) and not self._plane()):
                raise self._no_surface(weights)
            stretch = (2.0 if self.intercept else 1.0) / max(square, 1e-300)
            ahead = self._polished(stretch * weights)
            found = ahead if ahead.gap < found.gap else found
            near = self._too_near(chosen, f)
            if not len(near) or self.late or self._seems(found):
                break
            chosen = np.union1d(chosen, near)
        return found

    def _means(self) -> Vector:
        """The difference of the class means: a point to start from."""
        return np.asarray(self.y / np.where(self.y > 0, np.sum(self.y > 0), np.sum(self.y < 0)))

    def _first(self, beta: Vector) -> Index:
        """The rows with the largest coefficients, some of each class."""
        chosen = []
        for sign in (-1.0, 1.0):
            rows = np.flatnonzero(self.y == sign)
            chosen.append(rows[np.argsort(-np.abs(beta[rows]), kind="stable")[: FIRST // 2]])
        return np.sort(np.concatenate(chosen))

    def _plane(self) -> bool:
        """Is the table itself the space of the kernel, so that no rounding of K is in the way?"""
        return isinstance(self.gram.kernel, LinearKernel) and not self.gram.centred

    def _features(self, rows: Index) -> Matrix:
        """Rows whose inner products are K's: the table's own for the linear kernel."""
        if self._plane():
            return np.asarray(array_of(self.gram.table[rows]))
        return factor(self.gram.block(rows, rows))

    def _too_near(self, chosen: Index, f: Vector) -> Index:
        """Rows outside the working set that lie nearer than those in it, the worst first."""
        side = self.y * f
        outside = np.ones(len(f), dtype=bool)
        outside[chosen] = False
        short = np.zeros(len(f))
        for rows in self._groups():
            short[rows] = side[np.intersect1d(rows, chosen)].min() - side[rows]
        found = np.flatnonzero(outside & (short > 1e-12 * float(np.abs(f).max())))
        return found[np.argsort(-short[found])[:MORE]]

    def _groups(self) -> list[Index]:
        if not self.intercept:
            return [np.arange(len(self.y))]
        return [np.flatnonzero(self.y == sign) for sign in (-1.0, 1.0)]

    def _polished(self, beta: Vector) -> _Found:
        """The better of β and of y (f + b) = 1 solved on its support, which is corrected."""
        best, (low, high), n = self._scaled(beta), self._sides(), len(self.y)
        box = Box(self.y, low, high, np.zeros(n), np.arange(n), n, 1.0)
        parts = np.clip(beta, low, high)
        try:
            for done in ActiveSet(box, self.gram, self.intercept, parts, slack=SLACK).run():
                if self.late:
                    break
                exact = self._scaled(done.beta) if done is not None else best
                best = exact if exact.gap < best.gap else best
        except np.linalg.LinAlgError:
            pass
        return best

    def _sides(self) -> tuple[Vector, Vector]:
        """β lies between these: on the side of its label."""
        return np.where(self.y > 0, 0.0, -np.inf), np.where(self.y > 0, np.inf, 0.0)

    def _scaled(self, beta: Vector) -> _Found:
        """The surface through the middle, scaled so that the nearest row has margin one."""
        low, high = self._sides()
        beta = np.clip(beta, low, high)
        some = beta != 0.0
        if self.intercept and some.any():
            beta[some] = balance(beta[some], low[some], high[some])
        f = self.gram.product(beta)
        width, _ = self._middle(f)
        square, separates = float(beta @ f), width > 0.0
        width = width if separates else 1.0
        return _Found(
            beta=beta / width,
            objective=square / width**2 if separates else np.inf,
            bound=2.0 * float(np.abs(beta).sum()) - square,
        )

    def _proven(self, beta: Vector) -> Checked:
        """β scaled up until its floats keep the margin as real numbers, and what that proves.

        Each scaling rounds β anew, and that may take more from the margin than was added: the widest is kept.
        """
        wanted, best = 1.0, (-np.inf, 0.0, np.zeros(len(beta)))
        for _ in range(TRIES):
            theta = self._signed(2.0 * wanted * beta)
            beta = 0.5 * theta
            image = self.stated.products.times(beta, exact=True)
            f = image.value + image.low
            width, b = self._middle(f)
            best = max(best, (width, b, theta), key=lambda one: one[0])
            most = float(np.abs(f).max(initial=0.0)) + abs(b)
            spare = min(ROOM * float(image.size.max(initial=0.0)), SPARE * self.limits.tolerance)
            room = ENOUGH * (1.0 + most) + spare
            if not 0.0 < width < 1.0 + room:
                break
            wanted = (1.0 + 2.0 * room) / width
        _, b, theta = best
        return check_kernel_margin(self.stated, 0.5 * theta, b, theta, self.limits.tolerance)

    def _signed(self, theta: Vector) -> Vector:
        """y θ ≥ 0 and, where there is an intercept, Σθ = 0 to the last bit."""
        theta = np.where(self.y * theta > 0.0, theta, 0.0)
        return zero_sum(theta) if self.intercept else theta

    def _middle(self, f: Vector) -> tuple[float, float]:
        """Half the width between the classes, and the b that runs through its middle."""
        lows = [float((self.y * f)[rows].min()) for rows in self._groups()]
        # with two groups these are the least −f of the one class and the least f of the other
        return (0.5 * (lows[0] + lows[1]), 0.5 * (lows[0] - lows[1])) if self.intercept else (lows[0], 0.0)

    def _rows(self) -> Any:
        """Rows that combine to zero where the kernel's do: those of the table or of K; None if too large."""
        gram = self.gram
        if isinstance(gram, LinearGram):
            return gram.span
        if isinstance(gram.kernel, LinearKernel):
            return gram.table
        return gram.given if gram.small else None

    def _no_surface(self, weights: Vector) -> InfeasibleError:
        proof, count = weights, int(np.count_nonzero(weights))
        what = "the hulls of the two classes meet" if self.intercept else "none through 0 separates them"
        rows = self._rows()
        if rows is not None and hulls_meet(rows, self.y, np.abs(proof), intercept=self.intercept):
            return InfeasibleError(
                f"C=inf asks for a surface without any error, but in the space of the kernel {what}: "
                f"error.proof holds weights of {count} rows, one in all for each class, near to some that "
                "take both classes to the same point without any rounding. Give a finite C.",
                proof=proof,
            )
        margin = widest(self.stated, proof)
        return InfeasibleError(
            f"C=inf asks for a surface without any error, and none has a margin above {margin:.1e}, which is "
            f"nothing beside the rounding of the kernel: by the weights of {count} rows in error.proof, one "
            f"in all for each class, it is all but so that {what}. Give a finite C.",
            proof=proof,
        )
