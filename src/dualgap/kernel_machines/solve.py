"""The loop: methods pause and propose, here the gap is computed, the clock read, and the end decided."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from dualgap.arrays import Vector
from dualgap.kernel_machines.block import Blocks
from dualgap.kernel_machines.box import Box, box_of
from dualgap.kernel_machines.factored import LARGEST, factor, lifted, linear_outcome, pulled_back
from dualgap.kernel_machines.finish import ActiveSet
from dualgap.kernel_machines.newton import newton
from dualgap.kernel_machines.problem import KernelProblem
from dualgap.kernel_machines.refined import RefinedSet, free_variables
from dualgap.problem.certificate import Bounds
from dualgap.solvers.drive import Limits, Outcome, Status
from dualgap.solvers.trace import Record, Trace
from dualgap.traits import Trait

STAGES = (0.1, 1e-2, 1e-3, 1e-4, 1e-6)  # violation at which the block method hands over, in units
CERTIFY_BELOW = 5e-2  # crude stages are not worth a product in double precision


@dataclass(frozen=True, eq=False)
class Proposal:
    """A point to look at; without f = Kβ it is only a pause in which the clock is read."""

    name: str
    beta: Vector
    f: Vector | None = None
    b: float | None = None
    certify: bool = True
    fixed: bool = False  # the intercept is settled


Method = Callable[[KernelProblem, Vector], Iterator[Proposal]]


class _Run:
    """State of one solve: the clock, the best points, the trace."""

    def __init__(self, problem: KernelProblem, limits: Limits) -> None:
        self.problem, self.limits = problem, limits
        self.began, self.count, self.trace = time.perf_counter(), 0, Trace()
        self.name = "null"
        self.best = problem.bounds(np.zeros(problem.n), np.zeros(problem.n))
        self.last: Vector | None = None

    @property
    def elapsed(self) -> float:
        return time.perf_counter() - self.began

    def see(self, seen: Proposal) -> Status | None:
        """Take a point in; say how the run ends, if it does."""
        self.name, self.last = seen.name, None if seen.certify else seen.beta
        self.count += 1
        if seen.certify:
            self.take(self.problem.bounds(seen.beta, seen.f, seen.b, fixed=seen.fixed))
            if self.proven:
                return Status.CERTIFIED
        limits = self.limits
        if limits.callback is not None and self.trace and limits.callback(self.trace[-1]):
            return Status.STOPPED
        if limits.iterations is not None and self.count >= limits.iterations:
            return Status.ITERATIONS
        if limits.seconds is not None and self.elapsed >= limits.seconds:
            return Status.TIME
        return None

    def take(self, found: Bounds) -> None:
        """Keep the better half of each."""
        if np.isfinite(found.primal) and np.all(np.isfinite(found.w)):
            self.best = self.best.improved(found)
            support = int(np.count_nonzero(self.best.w[:-1]))
            values = (found.primal, self.best.primal, self.best.dual)
            self.trace.append(Record(self.count, self.elapsed, *values, self.name, None, support))

    @property
    def proven(self) -> bool:
        gap = self.problem.relative(self.best.gap, self.best.primal)
        return gap <= self.limits.tolerance

    def settle(self) -> None:
        """The proof for a point that was only passed by."""
        if self.last is not None:
            self.take(self.problem.bounds(self.last))


def solve(problem: KernelProblem, limits: Limits, start: Vector | None = None) -> Outcome:
    """The problem solved until the gap is proven, a limit is met, or no method makes progress."""
    run = _Run(problem, limits)
    run.take(run.best)
    status = Status.CERTIFIED if run.proven else None
    try:
        if status is None:
            with np.errstate(all="ignore"):
                status = _through(run, start)
    except KeyboardInterrupt:
        status = Status.INTERRUPTED
    run.settle()
    if status is None or status is not Status.CERTIFIED:
        status = Status.CERTIFIED if run.proven else status or Status.STALLED
    return Outcome(run.best, status, run.name, run.count, run.elapsed, run.trace)


def _through(run: _Run, start: Vector | None) -> Status | None:
    for method in _methods(run.problem):
        try:
            for proposal in method(run.problem, start if start is not None else run.best.w[:-1]):
                status = run.see(proposal)
                if status is not None:
                    return status
        except np.linalg.LinAlgError:
            continue
    return _by_factor(run)


def _methods(problem: KernelProblem) -> list[Method]:
    traits = problem.loss.traits
    if Trait.PIECEWISE_QUADRATIC in traits:
        rest: list[Method] = [smooth] if Trait.SMOOTH in traits else []
        direct = Trait.QUADRATIC in traits
        return [*rest, decomposition] if direct and problem.n > 6000 else [decomposition, *rest]
    return [smooth]


def decomposition(problem: KernelProblem, start: Vector) -> Iterator[Proposal]:
    """Blocks until the violation is small, then the active set; a smaller violation where that fails."""
    box, gram = box_of(problem), problem.gram
    if Trait.QUADRATIC in problem.loss.traits:
        yield from _finish(problem, box, np.zeros(len(box.kink)))
        return
    parts = box.split(start)
    blocks = Blocks(box, gram.quick, problem.intercept, parts, gram.product(start))
    for stage in STAGES:
        before = blocks.parts.copy()
        for _ in blocks.run(stage * box.unit):
            yield Proposal("block", box.joined(blocks.parts), certify=False)
        if stage < STAGES[0] and np.array_equal(before, blocks.parts):
            continue
        beta = box.joined(blocks.parts)
        yield from _finish(problem, box, box.split(beta), blocks.f)
        if stage <= CERTIFY_BELOW:
            yield Proposal("block", beta)
        blocks = replace(blocks, parts=box.split(beta), f=gram.product(beta) if stage < 1e-2 else blocks.f)


def _finish(problem: KernelProblem, box: Box, parts: Vector, f: Vector | None = None) -> Iterator[Proposal]:
    """The active set; in single precision first where f = Kβ came from there."""
    try:
        if f is not None and problem.gram.quick is not problem.gram.exact and free_variables(box, parts):
            try:
                for done in RefinedSet(problem, box, parts, f).run():
                    if done is None:
                        yield Proposal("active_set", box.joined(parts), certify=False)
                    else:
                        yield Proposal("active_set", done.beta, done.f, done.b, fixed=True)
                return
            except np.linalg.LinAlgError:
                pass
        for found in ActiveSet(box, problem.gram, problem.intercept, parts).run():
            if found is not None:
                yield Proposal("active_set", found.beta, found.f, found.b)
    except np.linalg.LinAlgError:
        return


def smooth(problem: KernelProblem, start: Vector) -> Iterator[Proposal]:
    """Newton's iterates, each with the dual point of its slopes."""
    level = problem.best_intercept(problem.gram.product(start))
    for found in newton(problem, start, level):
        if found is None:
            yield Proposal("newton", start, certify=False)
        else:
            start, f, b = found
            yield Proposal("newton", start, f, b)


def _by_factor(run: _Run) -> Status | None:
    """K = RRᵀ and the linear solvers: slow, and always there."""
    problem, limits = run.problem, run.limits
    if problem.n > LARGEST:
        return None
    left = None if limits.seconds is None else max(limits.seconds - run.elapsed, 1e-3)
    stricter = replace(limits, tolerance=0.1 * limits.tolerance, seconds=left, callback=None, rule=None)
    R = factor(problem.gram.whole)
    outcome = linear_outcome(problem, R, stricter)
    run.name = f"factor, {outcome.solver}"
    run.take(pulled_back(problem, R, outcome))
    return run.see(Proposal(run.name, lifted(problem, outcome)))
