"""The one loop. Solvers yield; here the gap is computed, the clock read, and the end decided."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from dualgap.arrays import Vector
from dualgap.drive.limits import Limits, Status
from dualgap.drive.proof_schedule import affordable
from dualgap.drive.solver import Adviser, Divergence, Iterate, Solver
from dualgap.drive.stopping import Moment
from dualgap.drive.trace import Record, Trace
from dualgap.problem.as_given import AsGiven
from dualgap.problem.certificate import Bounds, bounds, proven
from dualgap.problem.precondition import Working
from dualgap.problem.problem import Problem
from dualgap.proof.check import Checked
from dualgap.traits import Trait

PROMISING = 0.3  # relative gap of a start
MOSTLY = 0.3  # share of a gap that rounding makes up when it is to blame
HORIZON = 10_000  # iterates of an algorithm that is watched, where no limit was given


@dataclass(frozen=True, eq=False)
class Outcome:
    """The best primal and dual points on the asked problem, and how the run went."""

    bounds: Checked
    status: Status
    solver: str
    iterations: int
    seconds: float
    trace: Trace = field(default_factory=Trace)
    remark: str = ""  # what the solver has to say about its end

    @property
    def sentence(self) -> str:
        """How it ended, for people."""
        return self.remark or self.status.value


class _Run:
    """State of one drive: the clock, the best points, the trace."""

    def __init__(self, working: Working, limits: Limits) -> None:
        self.working, self.limits = working, limits
        self.began = time.perf_counter()
        self.count = 0
        self.trace = Trace()
        self.remark = ""
        self.rule = limits.rule.watch() if limits.rule is not None else None
        self.solver = "null"
        self.best: Bounds | None = None
        self.final: Checked | None = None
        self._seen: tuple[Vector, Vector, Checked] | None = (
            None  # the last points looked at on the asked problem
        )
        self.unproven = False  # the last iterate came without a bound
        self.horizon: int | None = limits.iterations

    def see(self, iterate: Iterate) -> Status | None:
        """Take an iterate in; say how the run ends, if it does."""
        self.remark = iterate.remark
        self.unproven = not iterate.certify
        seen = self._look(iterate)
        self.best = self._kept(iterate, seen)
        if iterate.certify and self._proven(self.best):
            return Status.CERTIFIED
        unit = self.working.objective_unit
        record = Record(
            self.count,
            self.elapsed,
            seen.primal * unit,
            self.best.primal * unit,
            self.best.dual * unit,
            self.solver,
            iterate.step,
            int(np.count_nonzero(seen.w)),
        )
        self.trace.append(record)
        return self._limit(record, seen)

    def _look(self, iterate: Iterate) -> Bounds:
        """Objective and bound; the objective alone, in the best bound's company, where no proof is due."""
        inner = self.working.problem
        if iterate.outright and iterate.theta is not None and self.best is not None:
            return self._outright(iterate.w, iterate.theta)
        if iterate.certify or self.best is None:
            return bounds(inner, iterate.w, iterate.theta, iterate.prediction, iterate.correlation)
        inside = inner.regulariser.feasible(iterate.w)
        prediction = iterate.prediction if inside is iterate.w else None
        primal = inner.primal(inside, prediction)
        value = primal if np.isfinite(primal) else np.inf
        return replace(self.best, w=inside, primal=value)

    def _outright(self, w: Vector, theta: Vector) -> Bounds:
        """Both values from the asked problem at once: a point that is likely to be the answer."""
        found = self.asked(Bounds(w, theta, np.inf, -np.inf))
        unit = self.working.objective_unit
        return Bounds(w, theta, found.primal / unit, found.dual / unit)

    def _kept(self, iterate: Iterate, seen: Bounds) -> Bounds:
        if self.best is None:
            return seen
        if not iterate.answer:
            return self.best.improved(seen)
        proof = seen if seen.dual >= self.best.dual else self.best
        return replace(proof, w=seen.w, primal=seen.primal)

    @property
    def watched(self) -> bool:
        """Does anybody wait for this very iterate: a rule, a callback, a limit?"""
        limits = self.limits
        late = limits.late(self.elapsed)
        last = self.horizon is not None and self.count >= self.horizon
        return self.rule is not None or limits.callback is not None or late or last

    def settle(self) -> None:
        """The proof that the last iterates went without."""
        inner = self.working.problem
        if not self.unproven or self.best is None or not affordable(inner):
            return
        with np.errstate(all="ignore"):
            self.best = self.best.improved(bounds(inner, self.best.w))
        last = self.trace[-1]
        self.trace[-1] = replace(last, bound=max(last.bound, self.best.dual * self.working.objective_unit))

    def _limit(self, record: Record, seen: Bounds) -> Status | None:
        limits = self.limits
        if limits.callback is not None and limits.callback(record):
            return Status.STOPPED
        if self.rule is not None and self.count and self.rule(self._moment(record, seen)):
            return Status.RULE
        if self.horizon is not None and self.count >= self.horizon:
            return Status.ITERATIONS
        if limits.late(self.elapsed):
            return Status.TIME
        return None

    def _moment(self, record: Record, seen: Bounds) -> Moment:
        relative = self.working.asked.relative(record.gap, record.best)
        return Moment(record, self.working.weights(seen.w), relative)

    def _proven(self, best: Bounds) -> bool:
        """Is the gap small on the working problem, and then on the problem that was asked?"""
        inner = self.working.problem
        if inner.relative(best.gap, best.primal) > self.limits.tolerance:
            return False
        self.final = self.asked(best)
        asked = self.working.asked
        proven = asked.relative(self.final.gap, self.final.primal) <= self.limits.tolerance
        if proven:
            value = self.final.primal
            nonzero = int(np.count_nonzero(self.final.w))
            self.trace.append(
                Record(self.count, self.elapsed, value, value, self.final.dual, self.solver, None, nonzero)
            )
        return proven

    @property
    def promising(self) -> bool:
        """Is the start so near the optimum that w = 0 need not be looked at?"""
        best = self.best
        return best is not None and self.working.problem.relative(best.gap, best.primal) < PROMISING

    def asked(self, best: Bounds) -> Checked:
        """What the kernel says of the best points on the asked problem."""
        if self._seen is None or self._seen[0] is not best.w or self._seen[1] is not best.theta:
            w, theta = self.working.weights(best.w), self.working.theta(best.theta)
            self._seen = best.w, best.theta, proven(self.working.asked, w, theta, self.limits.tolerance)
        return self._seen[2]

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
    except Divergence as told:
        status, run.remark = Status.DIVERGED, str(told)
    assert run.best is not None
    run.settle()
    final = run.final
    if final is None or status is not Status.CERTIFIED:
        final = run.asked(run.best)
        if not isinstance(working, AsGiven):
            final = _no_worse_than_nothing(working.asked, final, limits.tolerance)
        if working.asked.relative(final.gap, final.primal) <= limits.tolerance:
            status = Status.CERTIFIED
        elif status is Status.STALLED and final.rounding >= MOSTLY * final.gap:
            status = Status.ROUNDING
    return Outcome(final, status, run.solver, run.count, run.elapsed, run.trace, run.remark)


def _no_worse_than_nothing(asked: Problem, final: Checked, tolerance: float) -> Checked:
    """w = 0 where the weights found lose all their digits on the way back from good coordinates."""
    if final.primal <= asked.null:
        return final
    return final.improved(proven(asked, asked.null_weights, final.theta, tolerance))


def _try_all(run: _Run, solvers: Callable[[], Sequence[Solver]], start: Iterate | None) -> Status:
    problem = run.working.problem
    if isinstance(run.working, AsGiven):
        return _watch_one(run, solvers()[0], start)
    for first in _firsts(problem, start):
        status = run.see(first)
        if status is not None:
            return status
        if first is start and run.promising:
            break
    for candidate in solvers() if problem.p else ():
        run.solver = candidate.name
        best = run.best
        assert best is not None
        origin = Iterate(best.w, best.theta, correlation=best.correlation, wanted=run.limits.tolerance)
        with np.errstate(all="ignore"):
            iterates = candidate.iterates(problem, origin)
        status = _run_one(run, iterates)
        if status is not None:
            return status
    return Status.STALLED


def _firsts(problem: Problem, start: Iterate | None) -> Iterator[Iterate]:
    """The start, if there is one; then w = 0 with the dual point 0, and with its own if it may be optimal."""
    if start is not None:
        yield start
    w, prediction, theta = problem.null_weights, problem.null_prediction, problem.null_dual
    yield Iterate(w, np.zeros_like(theta), prediction)  # no loss is below its minimum
    if Trait.QUADRATIC not in problem.regulariser.traits or problem.free.any() or not problem.p:
        yield Iterate(w, theta, prediction)


def _watch_one(run: _Run, chosen: Solver, start: Iterate | None) -> Status:
    """An algorithm that is to be watched: from w = 0 or the start given, even where that is optimal."""
    problem = run.working.problem
    run.solver = chosen.name
    origin = start if start is not None else Iterate(np.zeros(problem.p))
    run.see(replace(origin, theta=np.zeros(problem.n), certify=False))
    limits = run.limits
    if limits.iterations is None and limits.seconds is None and limits.rule is None:
        run.horizon = getattr(chosen, "horizon", HORIZON)
    status = _run_one(run, chosen.iterates(problem, origin)) or Status.STALLED
    if status is not Status.CERTIFIED and isinstance(chosen, Adviser) and not run.remark:
        rising = not run.trace[-1].objective <= run.trace[0].objective
        run.remark = f"{status.value} {chosen.advice(problem, rising=rising)}".rstrip()
    return status


def _run_one(run: _Run, iterates: Iterator[Iterate]) -> Status | None:
    """One solver until it ends. A failed factorisation is an end like any other: the next one is tried."""
    while True:
        try:
            with np.errstate(all="ignore"):
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
        run.count += 1
        if not np.all(np.isfinite(iterate.w)):
            return None
        if not iterate.look and not run.watched:
            continue
        with np.errstate(all="ignore"):
            status = run.see(iterate)
        if status is not None:
            return status
