"""The one loop. Solvers yield; here the gap is computed, the clock read, and the end decided."""

from __future__ import annotations

import enum
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from dualgap.problem.certificate import Bounds, bounds, confirmed
from dualgap.problem.precondition import Working
from dualgap.solvers.base import Iterate, Solver


class Status(enum.Enum):
    """How a fit ended, as a sentence."""

    CERTIFIED = "The duality gap is below the tolerance."
    ITERATIONS = "The iteration limit came first; the certificate says how far the answer can be."
    TIME = "The time limit came first; the certificate says how far the answer can be."
    INTERRUPTED = "Interrupted; this is the best answer so far, and the certificate says how far it can be."
    STOPPED = "The callback asked to stop; the certificate says how far the answer can be."
    STALLED = (
        "The gap has stopped shrinking at this precision; rescale the columns or loosen the tolerance."
    )


@dataclass(frozen=True)
class Record:
    """One line of a trace, in the units of the problem that was asked."""

    iteration: int
    seconds: float
    objective: float
    bound: float
    solver: str

    @property
    def gap(self) -> float:
        """objective − bound."""
        return self.objective - self.bound


Callback = Callable[[Record], bool | None]


@dataclass(frozen=True)
class Limits:
    """When to stop: relative gap, iterations, seconds, or a callback that returns True."""

    tolerance: float = 1e-6
    iterations: int | None = None
    seconds: float | None = None
    callback: Callback | None = None


@dataclass(frozen=True, eq=False)
class Outcome:
    """The best primal and dual points on the asked problem, and how the run went."""

    bounds: Bounds
    status: Status
    solver: str
    iterations: int
    seconds: float
    trace: list[Record] = field(default_factory=list)


class _Run:
    """State of one drive: the clock, the best points, the trace."""

    def __init__(self, working: Working, limits: Limits) -> None:
        self.working, self.limits = working, limits
        self.began = time.perf_counter()
        self.count = 0
        self.trace: list[Record] = []
        self.solver = "null"
        self.best: Bounds | None = None
        self.final: Bounds | None = None

    def see(self, iterate: Iterate) -> Status | None:
        """Take an iterate in; say how the run ends, if it does."""
        inner = self.working.problem
        seen = bounds(inner, iterate.w, iterate.theta, iterate.prediction)
        self.best = seen if self.best is None else self.best.improved(seen)
        if self._proven(self.best):
            return Status.CERTIFIED
        unit = self.working.objective_unit
        record = Record(
            self.count, self.elapsed, self.best.primal * unit, self.best.dual * unit, self.solver
        )
        self.trace.append(record)
        return self._limit(record)

    def _limit(self, record: Record) -> Status | None:
        limits = self.limits
        if limits.callback is not None and limits.callback(record):
            return Status.STOPPED
        if limits.iterations is not None and self.count >= limits.iterations:
            return Status.ITERATIONS
        if limits.seconds is not None and self.elapsed >= limits.seconds:
            return Status.TIME
        return None

    def _proven(self, best: Bounds) -> bool:
        """Is the gap small on the working problem, and then on the problem that was asked?"""
        inner = self.working.problem
        if inner.relative(best.gap, best.primal) > self.limits.tolerance:
            return False
        self.final = self.asked(best)
        asked = self.working.asked
        proven = asked.relative(self.final.gap, self.final.primal) <= self.limits.tolerance
        if proven:
            self.trace.append(
                Record(self.count, self.elapsed, self.final.primal, self.final.dual, self.solver)
            )
        return proven

    def asked(self, best: Bounds) -> Bounds:
        """The best points on the asked problem, both values recomputed there."""
        problem = self.working.asked
        found = bounds(problem, self.working.weights(best.w), self.working.theta(best.theta))
        return confirmed(problem, found)

    @property
    def elapsed(self) -> float:
        return time.perf_counter() - self.began


def drive(
    working: Working, solvers: Callable[[], Sequence[Solver]], start: Iterate | None, limits: Limits
) -> Outcome:
    """Run the solvers in turn until the gap is proven, a limit is met, or none makes progress.

    `solvers` is asked only if the start and w = 0 are not optimal already.
    """
    run = _Run(working, limits)
    try:
        status = _try_all(run, solvers, start)
    except KeyboardInterrupt:
        status = Status.INTERRUPTED
        if run.best is None:
            raise
    assert run.best is not None
    final = run.final
    if final is None or status is not Status.CERTIFIED:
        final = run.asked(run.best)
        if working.asked.relative(final.gap, final.primal) <= limits.tolerance:
            status = Status.CERTIFIED
    return Outcome(final, status, run.solver, run.count, run.elapsed, run.trace)


def _try_all(
    run: _Run, solvers: Callable[[], Sequence[Solver]], start: Iterate | None
) -> Status:
    problem = run.working.problem
    null = Iterate(problem.null_weights, problem.null_dual)
    nothing = Iterate(problem.null_weights, np.zeros_like(null.theta))  # no loss is below its minimum
    for first in (nothing, null, start):
        if first is not None:
            status = run.see(first)
            if status is not None:
                return status
    for candidate in solvers():
        run.solver = candidate.name
        assert run.best is not None
        origin = Iterate(run.best.w, run.best.theta)
        status = _run_one(run, candidate.iterates(problem, origin))
        if status is not None:
            return status
    return Status.STALLED


def _run_one(run: _Run, iterates: Iterator[Iterate]) -> Status | None:
    """One solver until it ends. A failed factorisation is an end like any other: the next one is tried."""
    while True:
        try:
            with np.errstate(all="ignore"):
                iterate = next(iterates, None)
        except np.linalg.LinAlgError:
            return None
        if iterate is None:
            return None
        run.count += 1
        if not np.all(np.isfinite(iterate.w)):
            return None
        with np.errstate(all="ignore"):
            status = run.see(iterate)
        if status is not None:
            return status

