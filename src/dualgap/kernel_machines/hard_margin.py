"""C = ∞ with a kernel: min ‖f‖² subject to y (f + b) ≥ 1, or the proof that the classes cannot be separated.

A soft margin whose coefficients all stay below C is the hard one, so C is raised until that happens. Where it
does not, the rows at the bound are asked: the nearest points of their hulls in the kernel's space either give
the surface or meet.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dualgap.arrays import Index, Matrix, Vector
from dualgap.drive.limits import Limits
from dualgap.drive.pursuit import Look, Pursuit
from dualgap.drive.registry import candidates, solver
from dualgap.drive.run import run
from dualgap.errors import DataError, InfeasibleError
from dualgap.kernel_machines.answer import KernelSolution, StatedKernel
from dualgap.kernel_machines.box import Box
from dualgap.kernel_machines.factored import factor
from dualgap.kernel_machines.finish import ActiveSet
from dualgap.kernel_machines.hull import nearing, rounded_up
from dualgap.kernel_machines.problem import KernelProblem
from dualgap.kernel_machines.pursuit import Proposal
from dualgap.kernel_machines.solve import decomposition
from dualgap.kernels.base import array_of
from dualgap.linalg.balance import balance
from dualgap.losses import Hinge, Loss
from dualgap.problem.problem import relative_gap
from dualgap.proof.balance import zero_sum
from dualgap.proof.check import Checked
from dualgap.proof.exact import hulls_meet
from dualgap.proof.margin import check_kernel_margin, widest
from dualgap.proof.rounding import U

STRENGTHS = (1e1, 1e3, 1e5, 1e7, 1e9)  # C of soft margins, one after the other: a choice
MEET = 1e-13  # a squared distance this small beside k(x, x) is rounding of the kernel matrix
SLACK = 1e-13  # of the largest coefficient: a narrow margin hangs on every digit
BUDGET = 60.0  # seconds where none were given: a margin near rounding is not searched for for ever
FIRST, MORE = 200, 50  # rows in the first working set, and at most added at a time: a choice
ROUNDS = 100  # of adding rows: a choice, far more than were seen
TRIES = 4  # of scaling β up until its floats keep the margin
ENOUGH = 16.0 * U  # beyond the margin, beside the predictions: what another rounding of them takes
ROOM = 64.0 * U  # beyond the margin, beside |K||β|: a K computed otherwise then keeps it too
SPARE = 0.05  # of the tolerance: the most that is given up for that


def refuse_hard(loss: Loss, approximation: str | None) -> None:
    """C = ∞ is for the hinge loss and the exact kernel."""
    if loss != Hinge():
        raise DataError(f'C=inf is the hard margin of loss="hinge", not of {loss}; give a finite C.')
    if approximation is not None:
        raise DataError("C=inf needs the exact kernel: leave out the approximation, or give a finite C.")


def hard_margin(statement: StatedKernel, y: Vector, limits: Limits) -> KernelSolution:
    """The machine for C = ∞; InfeasibleError where no surface with a margin beyond rounding separates."""
    problem = statement.problem(y)
    pursuit = SurfacePursuit(problem, limits.tolerance)
    try:
        outcome = run(pursuit, lambda: candidates(problem, "auto"), None, limits.or_seconds(BUDGET))
    except InfeasibleError as error:
        assert error.proof is not None
        proof = np.zeros(len(y))
        proof[statement.terms.used] = error.proof
        raise InfeasibleError(str(error), proof=proof) from None
    return statement.solution(outcome, outcome.bounds.primal, limits.tolerance)


@dataclass(frozen=True, eq=False)
class Surface:
    """β whose nearest row would be at margin one, and what that seems to be worth.

    Without `look` it is only a pause, in which the clock is read. Of a start, `wanted` is the relative gap
    that will be asked for.
    """

    beta: Vector
    objective: float = np.inf
    bound: float = 0.0
    look: bool = True
    wanted: float = 0.0

    @property
    def gap(self) -> float:
        """What seems to be left."""
        return abs(self.objective - self.bound)


PAUSE = Surface(np.zeros(0), look=False)


class _Sides:
    """The classes on their sides of a surface."""

    def __init__(self, problem: KernelProblem) -> None:
        self.gram, self.y, self.intercept = problem.gram, problem.y, problem.intercept
        self.low = np.where(self.y > 0, 0.0, -np.inf)  # β lies between this
        self.high = np.where(self.y > 0, np.inf, 0.0)  # and that: on the side of its label
        groups = [self.y == sign for sign in (-1.0, 1.0)] if self.intercept else [self.y == self.y]
        self.groups: list[Index] = [np.flatnonzero(group) for group in groups]

    def middle(self, f: Vector) -> tuple[float, float]:
        """Half the width between the classes, and the b that runs through its middle."""
        lows = [float((self.y * f)[rows].min()) for rows in self.groups]
        # with two groups these are the least −f of the one class and the least f of the other
        return (0.5 * (lows[0] + lows[1]), 0.5 * (lows[0] - lows[1])) if self.intercept else (lows[0], 0.0)

    def scaled(self, beta: Vector) -> Surface:
        """The surface through the middle, scaled so that the nearest row has margin one."""
        beta = np.clip(beta, self.low, self.high)
        some = beta != 0.0
        if self.intercept and some.any():
            beta[some] = balance(beta[some], self.low[some], self.high[some])
        f = self.gram.product(beta)
        width, _ = self.middle(f)
        square, separates = float(beta @ f), width > 0.0
        width = width if separates else 1.0
        objective = square / width**2 if separates else np.inf
        return Surface(beta / width, objective, 2.0 * float(np.abs(beta).sum()) - square)

    def signed(self, theta: Vector) -> Vector:
        """y θ ≥ 0 and, where there is an intercept, Σθ = 0 to the last bit."""
        theta = np.where(self.y * theta > 0.0, theta, 0.0)
        return zero_sum(theta) if self.intercept else theta


class SurfacePursuit(Pursuit[KernelProblem, Surface]):
    """C = ∞ with a kernel, as the loop wants it: the surface with the smallest gap, and its proof."""

    def __init__(self, problem: KernelProblem, tolerance: float) -> None:
        self.problem, self.tolerance = problem, tolerance
        self.sides = _Sides(problem)
        self.best = Surface(np.zeros(problem.n))
        self._judged: tuple[Surface, Checked] | None = None

    @property
    def empty(self) -> bool:
        return not self.best.objective < np.inf

    def starts(self, start: Surface | None) -> Iterator[Surface]:
        """The difference of the class means."""
        y = self.problem.y
        yield self.sides.scaled(y / np.where(y > 0, np.sum(y > 0), np.sum(y < 0)))

    def origin(self, most: int | None) -> Surface:
        return replace(self.best, wanted=self.tolerance)

    def take(self, iterate: Surface, *, watched: bool) -> Look | None:
        if not iterate.look:
            return None
        self.best = iterate if iterate.gap < self.best.gap or self.empty else self.best
        values, best = (iterate.objective, self.best.objective, self.best.bound), self.best
        return Look(*values, nonzero=int(np.count_nonzero(best.beta)), solver="nearest_points")

    def proven(self) -> Checked | None:
        if not self.best.gap <= self.tolerance * self.best.objective < np.inf:
            return None
        found = self.settled()
        return found if self.relative(found.gap, found.primal) <= self.tolerance else None

    def settled(self) -> Checked:
        """What the kernel says of the best surface."""
        if self._judged is None or self._judged[0] is not self.best:
            self._judged = self.best, self._proof(self.best.beta)
        return self._judged[1]

    def _proof(self, beta: Vector) -> Checked:
        """β scaled up until its floats keep the margin as real numbers, and what that proves.

        Each scaling rounds β anew, and that may take more from the margin than was added: the widest is kept.
        """
        stated, sides = self.problem.stated, self.sides
        wanted, best = 1.0, (-np.inf, 0.0, np.zeros(len(beta)))
        for _ in range(TRIES):
            theta = sides.signed(2.0 * wanted * beta)
            beta = 0.5 * theta
            image = stated.products.times(beta, exact=True)
            f = image.value + image.low
            width, b = sides.middle(f)
            best = max(best, (width, b, theta), key=lambda one: one[0])
            most = float(np.abs(f).max(initial=0.0)) + abs(b)
            spare = min(ROOM * float(image.size.max(initial=0.0)), SPARE * self.tolerance)
            room = ENOUGH * (1.0 + most) + spare
            if not 0.0 < width < 1.0 + room:
                break
            wanted = (1.0 + 2.0 * room) / width
        _, b, theta = best
        return check_kernel_margin(stated, 0.5 * theta, b, theta, self.tolerance)

    def relative(self, gap: float, objective: float) -> float:
        return relative_gap(gap, objective, 0.0)

    def nonzero(self, w: Vector) -> int | None:
        return int(np.count_nonzero(w[:-1]))

    def weights(self) -> Vector:
        return self.best.beta


@solver("kernel_nearest_points", kind="kernel margin")
class KernelNearestPoints:
    """Soft margins with C raised until no coefficient is at its bound, then the nearest points of hulls."""

    def missing(self, problem: KernelProblem) -> tuple[str, ...]:
        return ()

    def cost(self, problem: KernelProblem) -> float:
        return float(len(STRENGTHS)) * problem.n**2

    def iterates(self, problem: KernelProblem, start: Surface) -> Iterator[Surface]:
        return _Search(problem, start.wanted).surfaces()


class _Search:
    def __init__(self, problem: KernelProblem, wanted: float) -> None:
        self.problem, self.wanted, self.sides = problem, wanted, _Sides(problem)
        self.gram, self.y, self.intercept = problem.gram, problem.y, problem.intercept

    def surfaces(self) -> Iterator[Surface]:
        """Better and better ones, or InfeasibleError."""
        beta = np.zeros(len(self.y))
        for C in STRENGTHS:
            soft = yield from self._soft(C, beta)
            if soft is None:
                break
            beta = soft.beta
            yield (yield from self._polished(beta))
        yield from self._by_hulls(beta)

    def _seems(self, found: Surface) -> bool:
        """Is this near enough?"""
        return found.gap <= self.wanted * found.objective < np.inf

    def _soft(self, C: float, start: Vector) -> Generator[Surface, None, Proposal | None]:
        """The soft margin's exact solution, if there is one."""
        n = len(self.y)
        shares = np.full(n, 1.0 / n)
        problem = KernelProblem(self.gram, self.y, shares, Hinge(), 1.0 / (C * n), self.intercept)
        for proposal in decomposition(problem, start):
            if proposal.certify:
                return proposal
            yield PAUSE
        return None

    def _by_hulls(self, beta: Vector) -> Iterator[Surface]:
        """What the rows with the largest coefficients say, and those that then come out too near."""
        chosen = self._first(beta)
        for _ in range(ROUNDS):
            for hulls in nearing(self._features(chosen), self.y[chosen], intercept=self.intercept):  # noqa: B007
                yield PAUSE  # the last are the nearest
            weights = np.zeros(len(self.y))
            weights[chosen] = self.y[chosen] * hulls.weights
            f = self.gram.product(weights)
            square = max(float(weights @ f), 0.0)
            if hulls.meet or (square <= MEET * float(self.gram.diagonal.max()) and not self._plane()):
                raise self._no_surface(weights)
            stretch = (2.0 if self.intercept else 1.0) / max(square, 1e-300)
            found = yield from self._polished(stretch * weights)
            yield found
            near = self._too_near(chosen, f)
            if not len(near) or self._seems(found):
                return
            chosen = np.union1d(chosen, near)

    def _first(self, beta: Vector) -> Index:
        """The rows with the largest coefficients, some of each class."""
        chosen = []
        for sign in (-1.0, 1.0):
            rows = np.flatnonzero(self.y == sign)
            chosen.append(rows[np.argsort(-np.abs(beta[rows]), kind="stable")[: FIRST // 2]])
        return np.sort(np.concatenate(chosen))

    def _plane(self) -> bool:
        """Is the table itself the space of the kernel, so that no rounding of K is in the way?"""
        return self.gram.span is not None and not self.gram.centred

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
        for rows in self.sides.groups:
            short[rows] = side[np.intersect1d(rows, chosen)].min() - side[rows]
        found = np.flatnonzero(outside & (short > 1e-12 * float(np.abs(f).max())))
        return found[np.argsort(-short[found])[:MORE]]

    def _polished(self, beta: Vector) -> Generator[Surface, None, Surface]:
        """The better of β and of y (f + b) = 1 solved on its support, which is corrected."""
        sides, n = self.sides, len(self.y)
        best = sides.scaled(beta)
        box = Box(self.y, sides.low, sides.high, np.zeros(n), np.arange(n), n, 1.0)
        parts = np.clip(beta, sides.low, sides.high)
        try:
            for done in ActiveSet(box, self.gram, self.intercept, parts, slack=SLACK).run():
                exact = sides.scaled(done.beta) if done is not None else best
                best = exact if exact.gap < best.gap else best
                yield PAUSE
        except np.linalg.LinAlgError:
            pass
        return best

    def _rows(self) -> Any:
        """Rows that combine to zero where the kernel's do: those of the table or of K; None if too large."""
        gram = self.gram
        if gram.span is not None:
            return gram.span
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
        margin = widest(self.problem.stated, proof)
        return InfeasibleError(
            "C=inf asks for a surface without any error, and none has a margin above "
            f"{rounded_up(margin)}, which is "
            f"nothing beside the rounding of the kernel: by the weights of {count} rows in error.proof, one "
            f"in all for each class, it is all but so that {what}. Give a finite C.",
            proof=proof,
        )
