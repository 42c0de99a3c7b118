"""The one loop. Solvers yield; here iterates are looked at, the clock is read, and the end is decided.

Nothing is proven here: pursuits ask `proof`, and what it says is handed on.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import Any, Generic, TypeVar

import numpy as np

from dualgap.compiled.clock import CLOCK
from dualgap.drive.limits import Limits, Status
from dualgap.drive.linear import LinearPursuit
from dualgap.drive.progress import ProgressLine
from dualgap.drive.pursuit import End, Look, Pursuit, Yields
from dualgap.drive.solver import Divergence, Iterate, Solver
from dualgap.drive.stopping import Moment
from dualgap.drive.trace import Record, Trace
from dualgap.problem.precondition import Working, unchanged
from dualgap.problem.problem import Problem
from dualgap.problem.repeated import reduced
from dualgap.proof.check import Checked
from dualgap.proof.processor import PlainArithmetic

P = TypeVar("P")
I = TypeVar("I")  # noqa: E741 - an iterate

# A fit inside a search is part of it: it ends when the search must, and Ctrl-C is for the search to take.
_enclosing: ContextVar[float | None] = ContextVar("deadline of the run around this one", default=None)


@dataclass(frozen=True, eq=False)
class Outcome:
    """The best primal and dual points on the asked problem, and how the run went."""

    bounds: Checked
    status: Status
    solver: str
    iterations: int
    seconds: float
    trace: Trace = field(default_factory=Trace)
    said: str = ""  # how it ended, where the status does not tell
    remark: str = ""  # what the solver has to say about its answer
    ran: Any = None  # the solver, with its options; None if there was nothing to do

    @property
    def sentence(self) -> str:
        """How it ended, for people."""
        return self.said or self.status.value

    @property
    def proven(self) -> bool:
        """Is the gap within the tolerance?"""
        return self.status is Status.CERTIFIED

    @property
    def stopped(self) -> bool:
        """Did somebody ask for the end, by Ctrl-C or a callback?"""
        return self.status in (Status.INTERRUPTED, Status.STOPPED)


class _Run(Generic[P, I]):
    """State of one run: the clock, the count, the trace."""

    def __init__(self, pursuit: Pursuit[P, I], limits: Limits, deadline: float) -> None:
        self.pursuit, self.limits = pursuit, limits
        self.began, self.deadline = time.perf_counter(), deadline
        self.count, self.trace = 0, Trace()
        self.most = limits.iterations
        self.rule = limits.rule.watch() if limits.rule is not None else None
        self.solver: Yields[P, I] | None = None
        self.name = "null"
        self.final: Checked | None = None
        self.progress = ProgressLine(wanted=limits.callback is None)

    @property
    def elapsed(self) -> float:
        return time.perf_counter() - self.began

    @property
    def late(self) -> bool:
        return CLOCK.now() >= self.deadline

    @property
    def watched(self) -> bool:
        """Does anybody wait for this very iterate: a rule, a callback, a limit?"""
        last = self.most is not None and self.count >= self.most
        return self.rule is not None or self.limits.callback is not None or self.late or last

    # -- one iterate ---------------------------------------------------------------------------------

    def see(self, iterate: I) -> Status | None:
        """Take an iterate in; say how the run ends, if it does."""
        look = self.pursuit.take(iterate, watched=self.watched)
        if look is None:
            return self._paused()
        self.name = look.solver or self.name
        self.count = self.count if look.count is None else look.count
        self.final = self.pursuit.proven()
        if self.final is not None:
            self.trace.append(self._proven(self.final))
            return Status.CERTIFIED
        record = self._record(look)
        self.trace.append(record)
        self.progress.show(lambda: line(record, self.pursuit.counted))
        return self._limit(record, Status.RULE if self._ruled(record) else None)

    def _record(self, look: Look) -> Record:
        values = look.objective, look.best, look.bound
        return Record(self.count, self.elapsed, *values, self.name, look.step, look.nonzero)

    def _proven(self, final: Checked) -> Record:
        value, nonzero = final.primal, self.pursuit.nonzero(final.w)
        return Record(self.count, self.elapsed, value, value, final.dual, self.name, None, nonzero)

    def _ruled(self, record: Record) -> bool:
        if self.rule is None or not self.count:
            return False
        relative = self.pursuit.relative(record.gap, record.best)
        return self.rule(Moment(record, self.pursuit.weights(), relative))

    def _paused(self) -> Status | None:
        """Between two looks: the clock, and a callback that may stop."""
        if not self.trace or not self.watched:
            return None
        return self._limit(replace(self.trace[-1], iteration=self.count, seconds=self.elapsed), None)

    def _limit(self, record: Record, ruled: Status | None) -> Status | None:
        if self.limits.callback is not None and self.limits.callback(record):
            return Status.STOPPED
        if ruled is not None:
            return ruled
        if self.most is not None and self.count >= self.most:
            return Status.ITERATIONS
        return Status.TIME if self.late else None

    # -- one solver after another --------------------------------------------------------------------

    def follow(self, solvers: Callable[[], Iterable[Yields[P, I]]], start: I | None) -> Status:
        """The starts, then the solvers in turn."""
        for first in self.pursuit.starts(start):
            status = self.see(first)
            if status is not None:
                return status
        for candidate in solvers():
            self.solver, self.name = candidate, candidate.name
            if self.limits.open:
                self.most = self.pursuit.horizon(candidate)
            iterates = candidate.iterates(self.pursuit.problem, self.pursuit.origin(self.most))
            status = self._turn(iterates)
            if status is not None:
                return status
        return Status.STALLED

    def _turn(self, iterates: Iterator[I]) -> Status | None:
        """One solver until it ends. A failed factorisation is an end like any other: the next is tried."""
        while True:
            try:
                iterate = next(iterates, None)
            except (np.linalg.LinAlgError, ArithmeticError):
                return None
            # what SciPy says of numbers that are none; what we say of data is a subclass
            except ValueError as error:
                if type(error) is not ValueError:
                    raise
                return None
            if iterate is None:
                return None
            self.count += 1
            if not self.pursuit.sound(iterate):
                return None
            status = self.see(iterate)
            if status is not None:
                return status

    # -- the end -------------------------------------------------------------------------------------

    def outcome(self, status: Status, said: str) -> Outcome:
        """What the pursuit can prove, and how that came about."""
        pursuit, final = self.pursuit, self.final
        if final is None:
            final = pursuit.settled()
            if pursuit.relative(final.gap, final.primal) <= self.limits.tolerance:
                status = Status.CERTIFIED
            if not self.trace:
                self.trace.append(self._proven(final))
            self.trace[-1] = replace(self.trace[-1], best=final.primal, bound=final.dual)
        status, said = pursuit.told(End(status, final, self.solver, self.trace, said))
        how = self.name, self.count, self.elapsed, self.trace, said, pursuit.remark, self.solver
        return Outcome(final, status, *how)


def run(
    pursuit: Pursuit[P, I], solvers: Callable[[], Iterable[Yields[P, I]]], start: I | None, limits: Limits
) -> Outcome:
    """Run the solvers in turn until the gap is proven, a limit is met, or none makes progress.

    `solvers` is asked only if the starts are not optimal already. Ctrl-C gives back the best so far, and is
    raised where there is nothing yet.
    """
    around, until = _enclosing.get(), limits.shared().until
    deadline = min(math.inf if until is None else until, math.inf if around is None else around)
    state, said = _Run(pursuit, limits, deadline), ""
    token = _enclosing.set(deadline)
    try:
        with PlainArithmetic():  # solvers too: a library may have told the processor otherwise
            status = state.follow(solvers, start)
    except (KeyboardInterrupt, SystemError) as error:
        if not _interrupted(error):
            raise
        if around is not None or pursuit.empty:
            raise KeyboardInterrupt from error
        status = Status.INTERRUPTED
    except Divergence as told:
        status, said = Status.DIVERGED, str(told)
    finally:
        _enclosing.reset(token)
        state.progress.close()
    return state.outcome(status, said)


@contextmanager
def as_part() -> Iterator[None]:
    """Runs in here are parts of a whole, such as a walk or a fold: one Ctrl-C is raised and ends it."""
    around = _enclosing.get()
    token = _enclosing.set(math.inf if around is None else around)
    try:
        yield
    finally:
        _enclosing.reset(token)


def _interrupted(error: BaseException) -> bool:
    """Is this Ctrl-C, or what a compiled loop makes of it on its way in or out?"""
    return isinstance(error, KeyboardInterrupt) or isinstance(error.__cause__, KeyboardInterrupt)


def drive(
    working: Working, solvers: Callable[[], Iterable[Solver]], start: Iterate | None, limits: Limits
) -> Outcome:
    """The run of a convex problem with weights."""
    pursuit = LinearPursuit(working, limits.tolerance)
    return run(pursuit, lambda: solvers() if working.problem.p else (), start, limits)


def drive_asked(
    asked: Problem,
    first: Solver,
    others: Callable[[Working], Iterable[Solver]],
    limits: Limits,
    start: Iterate | None = None,
) -> Outcome:
    """The run of a convex problem that a solver may do at once, as it was asked; if not, the others do.

    These work in good coordinates, which are looked for only then.
    """
    pursuit = LinearPursuit(unchanged(asked), limits.tolerance, bare=True)

    def solvers() -> Iterator[Solver]:
        yield first
        pursuit.move(reduced(asked))
        if pursuit.problem.p:
            done = getattr(first, "given_up", False)  # good coordinates would not help
            yield from (other for other in others(pursuit.working) if not (done and other == first))

    return run(pursuit, solvers, start, limits)


def line(record: Record, counted: str) -> str:
    """Seconds, count, the best objective, the bound and what lies between, as a share of the objective."""
    share = record.gap / abs(record.best) if record.best else 0.0
    return (
        f"{record.solver}: {record.seconds:.0f} s, {record.iteration} {counted}, best {record.best:.6g}, "
        f"proven bound {record.bound:.6g}, gap {100.0 * share:.2g} %"
    )
