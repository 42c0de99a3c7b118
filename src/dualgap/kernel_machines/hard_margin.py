"""C = ∞ with a kernel: min ‖f‖² subject to y (f + b) ≥ 1, or the proof that the classes cannot be separated.

A soft margin whose coefficients all stay below C is the hard one, so C is raised until that happens. Where it
does not, the rows at the bound are asked: the nearest points of their hulls in the kernel's space either give
the surface or meet.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dualgap.arrays import Index, Matrix, Vector
from dualgap.errors import DataError, InfeasibleError
from dualgap.kernel_machines.answer import KernelSolution, Statement
from dualgap.kernel_machines.box import Box
from dualgap.kernel_machines.factored import factor
from dualgap.kernel_machines.finish import ActiveSet
from dualgap.kernel_machines.hull import nearest_points
from dualgap.kernel_machines.problem import KernelProblem
from dualgap.kernel_machines.solve import Proposal, decomposition
from dualgap.kernels import Gram, LinearKernel
from dualgap.kernels.base import array_of
from dualgap.losses import Hinge, Loss
from dualgap.problem.certificate import Told
from dualgap.problem.dual_point import balance
from dualgap.problem.problem import FREE_TOLERANCE
from dualgap.solvers.drive import Limits, Status
from dualgap.solvers.trace import Record, Trace

ROUNDING = 1e-8  # allowed in y (f + b) ≥ 1, beside Σ|β| k
STRENGTHS = (1e1, 1e3, 1e5, 1e7, 1e9)
MEET = 1e-13  # a squared distance this small beside k(x, x) is rounding of the kernel matrix
SLACK = 1e-13  # of the largest coefficient: a narrow margin hangs on every digit
BUDGET = 60.0  # seconds where none were given: a margin near rounding is not searched for for ever
FIRST, MORE = 200, 50  # rows in the first working set, and at most added at a time
ROUNDS = 100


@dataclass(frozen=True, eq=False, repr=False)
class HardKernelCertificate(Told):
    """βᵀKβ against Σ|θ| − ¼θᵀKθ for any θ with y θ ≥ 0 (and Σθ = 0); β = ½θ at the optimum."""

    theta: Vector
    beta: Vector
    intercept: float
    objective: float
    bound: float
    sample_weight: Vector
    fit_intercept: bool

    @property
    def gap(self) -> float:
        """objective − bound."""
        return max(self.objective - self.bound, 0.0)

    def recheck(self, K: Any, y: Any) -> HardKernelCertificate:
        """Both values from K and labels ±1; ∞ if a row is inside the margin, −∞ if θ is not feasible."""
        K, y = np.asarray(K, dtype=np.float64), np.asarray(y, dtype=np.float64)
        n = len(self.theta)
        if K.shape != (n, n) or y.shape != (n,):
            raise DataError(f"This certificate is for {n} rows; K has shape {K.shape}, y {y.shape}.")
        used = self.sample_weight > 0
        f = K @ self.beta
        room = ROUNDING * (1.0 + np.abs(K) @ np.abs(self.beta) + abs(self.intercept))
        inside = np.any((y * (f + self.intercept) < 1.0 - room)[used])
        sound = bool(np.all(y * self.theta >= 0) and not self.theta[~used].any())
        if self.fit_intercept:
            sound &= bool(abs(self.theta.sum()) <= FREE_TOLERANCE * np.abs(self.theta).sum())
        return replace(
            self,
            objective=np.inf if inside else float(self.beta @ f),
            bound=float(np.abs(self.theta).sum() - 0.25 * self.theta @ K @ self.theta) if sound else -np.inf,
        )


def refuse_hard(loss: Loss, approximation: str | None) -> None:
    """C = ∞ is for the hinge loss and the exact kernel."""
    if not isinstance(loss, Hinge):
        raise DataError(f'C=inf is the hard margin of loss="hinge", not of {loss}; give a finite C.')
    if approximation is not None:
        raise DataError("C=inf needs the exact kernel: leave out the approximation, or give a finite C.")


def hard_margin(statement: Statement, y: Vector, limits: Limits) -> KernelSolution:
    """The machine for C = ∞; InfeasibleError with the proof where the classes cannot be separated."""
    search = _Search(statement.gram, y[statement.used], statement.fit_intercept, limits)
    try:
        found = search.run()
    except InfeasibleError as error:
        assert error.proof is not None
        proof = np.zeros(len(y))
        proof[statement.used] = error.proof
        raise InfeasibleError(str(error), proof=proof) from None
    return found.told(statement, limits)


@dataclass(frozen=True, eq=False)
class _Found:
    """β and b with every row at margin one or more, the hull's dual point, and how it went."""

    beta: Vector
    b: float
    objective: float
    bound: float
    theta: Vector
    rounds: int
    seconds: float

    @property
    def gap(self) -> float:
        """objective − bound."""
        return abs(self.objective - self.bound)

    def told(self, statement: Statement, limits: Limits) -> KernelSolution:
        """The public answer."""
        used = statement.used
        beta, theta = np.zeros(len(used)), np.zeros(len(used))
        beta[used], theta[used] = self.beta, self.theta
        b = float(self.b - statement.gram.level @ self.beta)
        values = (self.objective, self.bound)
        gap = max(self.objective - self.bound, 0.0)
        relative = gap / self.objective if np.isfinite(self.objective) else np.inf
        proven = relative <= limits.tolerance
        weights, tied = statement.sample_weight, statement.fit_intercept
        record = Record(self.rounds, self.seconds, self.objective, *values, "nearest_points", None, None)
        return KernelSolution(
            beta=beta,
            intercept=b,
            objective=self.objective,
            bound=self.bound,
            relative_gap=relative,
            converged=proven,
            status=(Status.CERTIFIED if proven else Status.STALLED).value,
            solver="nearest_points",
            n_iter=self.rounds,
            seconds=self.seconds,
            trace=Trace([record]),
            certificate=HardKernelCertificate(theta, beta, b, *values, weights, tied),
            null=self.objective,
        )


class _Search:
    def __init__(self, gram: Gram, y: Vector, intercept: bool, limits: Limits) -> None:
        self.gram, self.y, self.intercept, self.limits = gram, y, intercept, limits
        self.began, self.rounds = time.perf_counter(), 0
        self.deadline = self.began + (BUDGET if limits.seconds is None else limits.seconds)

    @property
    def late(self) -> bool:
        """Is the time spent?"""
        return time.perf_counter() > self.deadline

    def run(self) -> _Found:
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
            if found.gap <= self.limits.tolerance * found.objective < np.inf:
                return found
        return self._by_hulls(beta, best)

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
                raise self._no_surface(weights, square)
            stretch = (2.0 if self.intercept else 1.0) / max(square, 1e-300)
            ahead = self._polished(stretch * weights)
            found = ahead if ahead.gap < found.gap else found
            near = self._too_near(chosen, f)
            if not len(near) or self.late or found.gap <= self.limits.tolerance * found.objective < np.inf:
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
        lows = [float((self.y * f)[rows].min()) for rows in self._groups()]
        # with two groups these are the least −f of the one class and the least f of the other
        width = 0.5 * (lows[0] + lows[1]) if self.intercept else lows[0]
        middle = 0.5 * (lows[1] - lows[0]) if self.intercept else 0.0
        square, separates = float(beta @ f), width > 0.0
        width = width if separates else 1.0
        return _Found(
            beta=beta / width,
            b=-middle / width,
            objective=square / width**2 if separates else np.inf,
            bound=2.0 * float(np.abs(beta).sum()) - square,
            theta=2.0 * beta,
            rounds=self.rounds,
            seconds=time.perf_counter() - self.began,
        )

    def _no_surface(self, proof: Vector, square: float) -> InfeasibleError:
        count = int(np.count_nonzero(proof))
        what = "the hulls of the two classes meet" if self.intercept else "none through 0 separates them"
        left = np.sqrt(square)
        return InfeasibleError(
            f"C=inf asks for a surface without any error, but in the space of the kernel {what}: error.proof "
            f"holds weights of {count} rows, one in all for each class, that take both classes to the same "
            f"point, to the rounding of the kernel (‖Σ proof φ(x)‖ = {left:.1e}). Give a finite C.",
            proof=proof,
        )
